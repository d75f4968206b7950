// Jobs of Kubernetes: the samples in data/ (sources and licences in its README), and what these do not show, written
// after the APIs named in the readers.
#include "berth/io/job/kubernetes_jobs.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "describe.hpp"

namespace {

using jobs_test::row;
using jobs_test::with_pods;

std::string read(const std::string& text) {
  return jobs_test::describe_all(berth::read_kubernetes_jobs({"j.yaml", text}));
}
berth::job_spec one(const std::string& text) {
  auto r = berth::read_kubernetes_jobs({"j.yaml", text});
  REQUIRE_MESSAGE(r.has_value(), samples::failure(r));
  REQUIRE(r->size() == 1);
  return r->front();
}
TEST_SUITE("io/job/kubernetes_jobs") {
  TEST_CASE("the samples") {
    const row rows[] = {
        {"dra-gpu-test4-mig.yaml",
         "pod: pods 1-4 x mig=1g.5gb:2 mig=2g.10gb:1 mig=3g.20gb:1 tolerates=nvidia.com/gpu:NoSchedule"},
        {"dra-gpu-test5.yaml", "pod0: pod 1 x gpus=2 tolerates=nvidia.com/gpu:NoSchedule"},
        {"dra-imex-test1.yaml",
         "deployment0 within=nvidia.com/gpu.clique: pods 1-2 x gpus=1\n"
         "deployment1 within=nvidia.com/gpu.clique: pods 1-2 x gpus=1\n"
         "deployment2 within=nvidia.com/gpu.clique: pods 1-2 x gpus=1\n"
         "deployment3 within=nvidia.com/gpu.clique: pods 1-2 x gpus=1"},
        {"gcp-block-job.yaml",
         "tas-sample-small-preferred-block- queue=tas-user-queue within=cloud.google.com/gce-topology-block: pods 2 x "
         "gpus=1 tolerates=nvidia.com/gpu:NoSchedule"},
        {"hived-itc-gang.yaml", "itc-gang queue=vc1 class=prod: train 6 x gpus=1 cpus=4 memory=8GiB model=K80"},
        {"hived-requests-basic.yaml",
         "demo1 queue=VC1 class=PROD: a 1-5 x gpus=1 model=K80\n"
         "demo2nopinned queue=VC2 class=PROD: a 1-5 x gpus=1 model=K80\n"
         "demo2pinned queue=VC2 class=PROD: a 1-5 x gpus=1 label=hivedscheduler.microsoft.com/pinned-cell=VC2-K80\n"
         "demo1 queue=VC1 priority=1000: a 1-5 x gpus=1 cpus=4 memory=8GiB model=K80\n"
         "demo2nopinned queue=VC2 priority=1000: a 1-5 x gpus=1 cpus=4 memory=8GiB model=K80\n"
         "demo2pinned queue=VC2 priority=1000: a 1-5 x gpus=1 cpus=4 memory=8GiB "
         "label=hivedscheduler.microsoft.com/pinned-cell=VC2-K80\n"
         "demo1-a-0 queue=VC1 priority=1000: pod 1 x gpus=1 cpus=4 memory=8GiB model=K80\n"
         "demo2nopinned-a-0 queue=VC2 priority=1000: pod 1 x gpus=1 cpus=4 memory=8GiB model=K80\n"
         "demo2pinned-a-0 queue=VC2 priority=1000: pod 1 x gpus=1 cpus=4 memory=8GiB "
         "label=hivedscheduler.microsoft.com/pinned-cell=VC2-K80"},
        {"hived-requests-design.yaml",
         "JOBX/PCN-ABC queue=VC1 class=PROD: A 1 x gpus=16 model=DGX2-V100; B 3 x gpus=8 model=DGX2-V100; C 1 x gpus=4 "
         "model=DGX2-V100\n"
         "JOBX/PCN-D queue=VC1 class=PROD: D 2 x gpus=3\n"
         "JOBX/E queue=VC1 class=PROD: E 1-2 x gpus=16 model=DGX2-V100\n"
         "JOBX/PCN-F queue=VC1 class=PROD: F 2 x gpus=3 "
         "label=hivedscheduler.microsoft.com/pinned-cell=VC1-YQW-IB-DGX2\n"
         "JOBX/PCN-ABC queue=VC1 priority=1000: A 1 x gpus=16 cpus=48 memory=1536GiB model=DGX2-V100; B 3 x gpus=8 "
         "cpus=24 memory=768GiB model=DGX2-V100; C 1 x gpus=4 cpus=12 memory=384GiB model=DGX2-V100\n"
         "JOBX/PCN-D queue=VC1 priority=1000: D 2 x gpus=3 cpus=9 memory=192GiB\n"
         "JOBX/E queue=VC1 priority=1000: E 1-2 x gpus=16 cpus=48 memory=1536GiB model=DGX2-V100\n"
         "JOBX/PCN-F queue=VC1 priority=1000: F 2 x gpus=3 cpus=9 memory=288GiB "
         "label=hivedscheduler.microsoft.com/pinned-cell=VC1-YQW-IB-DGX2\n"
         "JOBX/PCN-ABC queue=VC1 priority=1000: pods-of-16 1 x gpus=16 cpus=48 memory=1536GiB model=DGX2-V100; "
         "pods-of-8 3 x gpus=8 cpus=24 memory=768GiB model=DGX2-V100; pods-of-4 1 x gpus=4 cpus=12 memory=384GiB "
         "model=DGX2-V100\n"
         "JOBX/PCN-D queue=VC1 priority=1000: pods 2 x gpus=3 cpus=9 memory=192GiB\n"
         "JOBX-E-0 queue=VC1 priority=1000: pod 1 x gpus=16 cpus=48 memory=1536GiB model=DGX2-V100\n"
         "JOBX/PCN-F queue=VC1 priority=1000: pods 2 x gpus=3 cpus=9 memory=288GiB "
         "label=hivedscheduler.microsoft.com/pinned-cell=VC1-YQW-IB-DGX2"},
        {"jobset-depends-on.yaml",
         "multiple-depends-on: dataset-initializer 1 x cpus=0.001; model-initializer 1 x cpus=0.001; worker 4 x "
         "cpus=0.001 after=dataset-initializer after=model-initializer"},
        {"jobset-exclusive.yaml",
         "exclusive-placement segments=3:cloud.google.com/gke-nodepool:spread exclusive-domain: workers 9 x "
         "cpus=0.001"},
        {"jobset-nwtopo.knavigator.yaml",
         "! jobset-nwtopo.knavigator.yaml:33: found a Go template ({{ … }}), expected its output, as of `helm "
         "template` or the tool it belongs to"},
        {"jobset-pytorch.yaml", "pytorch: workers 4 x cpus=0.001"},
        {"kai-batch-min-member.yaml", "batch-job-min-member queue=default-queue: pods 2-6 x gpus=1"},
        {"kai-external-podgroup.yaml", "external-batch-job queue=default-queue: pods 2 x gpus=1"},
        {"kai-gpu-pod.yaml", "gpu-pod queue=default-queue: pod 1 x gpus=1"},
        {"kai-oscillation-jobs.yaml",
         "team-a-training-job queue=team-a: pod 1 x gpus=8 cpus=1 memory=4GiB\n"
         "team-b-training-job queue=team-b: pod 1 x gpus=8 cpus=1 memory=4GiB"},
        {"kai-topology-aliases.yaml",
         "aliased-topology-job queue=default-queue within=rack: pods 3 x gpus=1 cpus=0.25"},
        {"kueue-dra-counter-job.yaml",
         "sample-dra-counter-job- queue=user-queue: pods 1 x gpus=1 cpus=1 memory=200MiB"},
        {"kueue-jobset-tas-combined.yaml",
         "jobset-tas-combined queue=user-queue within=cloud.provider.com/topology-block "
         "segments=2:cloud.provider.com/topology-rack: workers 8 x cpus=1 memory=200MiB"},
        {"kueue-jobset-tas-sliced.yaml",
         "jobset-tas-sliced queue=user-queue segments=2:cloud.provider.com/topology-rack: workers 8 x cpus=1 "
         "memory=200MiB"},
        {"kueue-lws-tas.yaml",
         "nginx-leaderworkerset queue=tas-user-queue segments=2:cloud.provider.com/topology-rack: leader 1-2 x "
         "cpus=0.1; worker 2-4 x gpus=1 cpus=0.2"},
        {"kueue-pytorchjob.yaml",
         "pytorch-simple queue=user-queue: master 1 x cpus=1 memory=200MiB; worker 1 x cpus=1 memory=200MiB"},
        {"kueue-tas-job-preferred.yaml",
         "tas-sample-preferred queue=tas-user-queue prefer=cloud.provider.com/topology-block: pods 40 x cpus=1 "
         "memory=200MiB"},
        {"kueue-tas-job-required.yaml",
         "tas-sample-required queue=tas-user-queue within=cloud.provider.com/topology-rack: pods 10 x cpus=1 "
         "memory=200MiB"},
        {"lws-exclusive-placement.yaml",
         "leaderworkerset-sample segments=3:cloud.google.com/gke-nodepool:spread exclusive-domain: pods 4-12 x "
         "cpus=0.05"},
        {"lws-multi-template.yaml",
         "leaderworkerset-multi-template segments=3:cluster: leader 1-3 x cpus=0.05; worker 3-9 x cpus=0.05"},
        {"lws-vllm-gpu.yaml",
         "vllm segments=2:cluster: leader 1-2 x gpus=8 cpus=125 memory=1124GiB other=ephemeral-storage:858993459200; "
         "worker 1-2 x gpus=8 cpus=125 memory=1124GiB other=ephemeral-storage:858993459200"},
        {"pod-fractional.yaml",
         "frac-1-0-0 priority=0: pod 1 x cpus=0.1 memory=100000000B share=1x500 not=runai/node-pool=* "
         "tolerates=node.kubernetes.io/not-ready:NoExecute tolerates=node.kubernetes.io/unreachable:NoExecute"},
        {"pod-gpu-00.yaml", "gpu-pod-00: pod 1 x cpus=4 memory=9GiB share=1x500"},
        {"pod-mig-1g5gb.yaml",
         "job-2-0-0 queue=team-a priority=0: pod 1 x cpus=0.5 mig=1g.5gb:1 "
         "tolerates=node.kubernetes.io/not-ready:NoExecute tolerates=node.kubernetes.io/unreachable:NoExecute"},
        {"raycluster-kai-gpu-sharing.yaml",
         "raycluster-half-gpu queue=team-a: head 1 x cpus=1 memory=2GiB; shared-gpu 2 x cpus=1 memory=1GiB "
         "share=1x500"},
        {"raycluster-tpu-256.yaml",
         "raycluster-tpu-v6e-multihost: head 1 x cpus=8 memory=39062500KiB; tpu-group 64 x cpus=24 memory=195312500KiB "
         "other=google.com/tpu:4 label=cloud.google.com/gke-tpu-accelerator=tpu-v6e-slice "
         "label=cloud.google.com/gke-tpu-topology=16x16"},
        {"rayjob-kueue.yaml", "rayjob-sample-: head 1 x cpus=1 memory=2GiB; small-group 1 x cpus=1 memory=1GiB"},
        {"rayjob-placement-group.yaml",
         "rayjob-historyserver: head 1 x cpus=0.05 memory=1000000000B; cpu 1 x cpus=0.05 memory=1000000000B\n"
         "rayjob-historyserver/test_pg after=rayjob-historyserver: bundle 1 x cpus=0.5"},
        {"trainjob-multi-node.yaml",
         "! trainjob-multi-node.yaml:36: found ClusterTrainingRuntime 'torch-distributed', which is not in the file, "
         "expected the runtime beside the TrainJob that uses it (kubectl get clustertrainingruntime torch-distributed "
         "-o yaml)"},
        {"trainjob-runtime-torch.yaml",
         "! trainjob-runtime-torch.yaml: found no job among the objects (ClusterTrainingRuntime), expected a Job, "
         "JobSet, Pod, PyTorchJob or another kind that makes pods"},
        {"trainjob-volcano.yaml", "volcano-example: node 4 x cpus=1 memory=2GiB"},
        {"volcano-hierarchical-jobs.yaml",
         "eng-prod-job queue=root-eng-prod: default-nginx 1-6 x cpus=0.5\n"
         "eng-dev-job queue=root-eng-dev: default-nginx 1-6 x cpus=0.5\n"
         "sci-prod-job queue=root-sci-prod: default-nginx 1-6 x cpus=0.5\n"
         "sci-dev-job queue=root-sci-dev: default-nginx 1-6 x cpus=0.5"},
        {"volcano-job-nettopo.yaml", "mindspore-cpu queue=default within=tier 2: pod 3 x cpus=1"},
        {"volcano-job.yaml", "test-job queue=default: default-nginx 3-6 x cpus=1"},
        {"volcano-mpi.yaml", "lm-mpi-job: mpimaster 1 x cpus=0.001; mpiworker 2 x cpus=0.001"},
        {"extender-args.json", "podname: pod 1 x cpus=0.001"},
    };
    for (const auto& r : rows) jobs_test::check_row(r, berth::read_kubernetes_jobs(jobs_test::sample(r.input)));
  }
  TEST_CASE("a TrainJob finds its runtime beside its file") {
    const auto job = berth::read_kube_documents(jobs_test::sample("trainjob-multi-node.yaml"));
    const auto runtime = berth::read_kube_documents(jobs_test::sample("trainjob-runtime-torch.yaml"));
    REQUIRE(job.has_value());
    REQUIRE(runtime.has_value());
    CHECK(jobs_test::describe_all(berth::kubernetes_jobs_of(*job, {&*runtime})) ==
          "multi-node-example: node 3 x cpus=0.001");
    CHECK(berth::has_kubernetes_jobs(*job));
    CHECK_FALSE(berth::has_kubernetes_jobs(*runtime));
  }
  TEST_CASE("amounts of a pod") {
    const row rows[] = {
        // requests before limits, sums over containers, the largest init container, sidecars stay
        {"{containers: [{resources: {requests: {cpu: 1}, limits: {cpu: 4, memory: 1Gi}}}, {resources: {limits: {cpu: "
         "500m}}}],"
         " initContainers: [{resources: {requests: {cpu: 3}}}, {restartPolicy: Always, resources: {requests: {cpu: "
         "1}}}],"
         " overhead: {memory: 1Gi}}",
         "p: pod 1 x cpus=3 memory=2GiB"},
        {"{containers: [{resources: {limits: {amd.com/gpu: 2}}}, {resources: {limits: {gpu.intel.com/i915: 1}}}]}",
         "p: pod 1 x gpus=3"},
        {"{containers: [{resources: {limits: {nvidia.com/mig-1g.5gb: 2, nvidia.com/gpu.shared: 1, rdma/hca: 1}}}]}",
         "p: pod 1 x mig=1g.5gb:2 other=nvidia.com/gpu.shared:1 other=rdma/hca:1"},
        {"{containers: [{resources: {limits: {koordinator.sh/gpu-core: 50, koordinator.sh/gpu-memory-ratio: 50}}}]}",
         "p: pod 1 x share=1x500"},
        {"{containers: [{resources: {limits: {koordinator.sh/gpu: 200}}}]}", "p: pod 1 x gpus=2"},
        {"{containers: [{resources: {limits: {nvidia.com/gpu: 2, nvidia.com/gpumem: 8192}}}]}",
         "p: pod 1 x share=2x8GiB"},
        {"{containers: [{resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpucores: 30}}}]}",
         "p: pod 1 x share=1x300"},
        {"{containers: [{resources: {limits: {nvidia.com/gpu: 2, nvidia.com/gpucores: 30, nvidia.com/gpumem: 8192}}}]}",
         "p: pod 1 x share=2x300"},
        {"{containers: [{resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpucores: 100}}}]}", "p: pod 1 x gpus=1"},
        {"{containers: [{resources: {limits: {nvidia.com/gpucores: 130}}}]}", "! more than 100 percent"},
        {"{containers: [{resources: {limits: {volcano.sh/vgpu-number: 2, volcano.sh/vgpu-memory: 1024}}}]}",
         "p: pod 1 x share=2x1GiB"},
        {"{containers: [{resources: {limits: {aliyun.com/gpu-mem: 3}}}]}", "p: pod 1 x share=1x3GiB"},
        {"{containers: [{resources: {limits: {cpu: many}}}]}", "! j.yaml:4: found cpu: 'many', expected a quantity"},
        {"{containers: [{resources: {limits: {nvidia.com/gpu: 500m}}}]}",
         "! nvidia.com/gpu: '500m', expected a whole number"},
        {"{containers: [{resources: {limits: {memory: 900Pi}}}]}", "! memory: '900Pi'"},
        {"{containers: 3}", "! containers: 3"},
    };
    for (const auto& r : rows)
      jobs_test::check_row(
          r, berth::read_kubernetes_jobs(
                 {"j.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: " + std::string{r.input}}));
  }
  TEST_CASE("annotated shares") {
    const auto pod = [](const char* notes) {
      return read("kind: Pod\nmetadata: {name: p, annotations: {" + std::string{notes} + "}}\nspec: {containers: []}");
    };
    CHECK(pod("gpu-fraction: '0.25', gpu-fraction-num-devices: '2'") == "p: pod 1 x share=2x250");
    CHECK(pod("gpu-memory: '2000'") == "p: pod 1 x share=1x2000MiB");
    CHECK(pod("gpu-fraction: '1'") == "p: pod 1 x gpus=1");
    CHECK(pod("alibabacloud.com/gpu-milli: '1000', alibabacloud.com/gpu-count: '2', alibabacloud.com/gpu-card-model: "
              "'V100M16|P100'") ==
          "p: pod 1 x gpus=2 any=alibabacloud.com/gpu-card-model=V100M16|alibabacloud.com/gpu-card-model=P100");
    CHECK(samples::contains(pod("gpu-fraction: '1.5'"), "gpu-fraction: '1.5', expected a share"));
  }
  TEST_CASE("where pods may and must be") {
    const char* head =
        "kind: Job\nmetadata: {name: j}\nspec:\n  parallelism: 4\n  template:\n    metadata: {labels: {app: a}}\n    "
        "spec:\n"
        "      containers: [{resources: {limits: {nvidia.com/gpu: 8}}}]\n      ";
    const row rows[] = {
        {"nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3, zone: a}",
         "j: pods 4 x gpus=8 label=nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3 label=zone=a"},
        {"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
         "[{matchExpressions: ["
         "{key: a, operator: In, values: [x]}, {key: b, operator: In, values: [y, z]}, {key: c, operator: NotIn, "
         "values: [w]},"
         "{key: d, operator: Exists}, {key: e, operator: DoesNotExist}, {key: f, operator: Gt, values: ['7']}]}]}}}",
         "j: pods 4 x gpus=8 label=a=x label=d=* label=f>7 not=c=w not=e=* any=b=y|b=z"},
        {"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
         "[{matchExpressions: ["
         "{key: a, operator: In, values: [x]}]}, {matchExpressions: [{key: b, operator: In, values: [y]}]}]}}}",
         "j: pods 4 x gpus=8 any=a=x|b=y"},
        {"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
         "[{matchExpressions: ["
         "{key: a, operator: Is}]}]}}}",
         "! operator: 'Is'"},
        {"affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: rack, labelSelector: "
         "{matchLabels: {app: a}}}]}}",
         "j within=rack: pods 4 x gpus=8 spread=rack:beside:declared!own+app=a;"},
        {"affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: "
         "{topologyKey: rack, labelSelector: {matchExpressions: [{key: app, operator: In, values: [a]}]}}}]}}",
         "j prefer=rack: pods 4 x gpus=8"},
        {"tolerations: [{key: a, operator: Equal, value: b, effect: NoSchedule}]\n      priorityClassName: high",
         "j class=high: pods 4 x gpus=8 tolerates=a=b:NoSchedule"},
    };
    for (const auto& r : rows)
      jobs_test::check_row(r, berth::read_kubernetes_jobs({"j.yaml", head + std::string{r.input}}));
  }
  TEST_CASE("kinds that the samples do not show") {
    const row rows[] = {
        {"kind: MPIJob\napiVersion: kubeflow.org/v2beta1\nmetadata: {name: m}\nspec:\n  slotsPerWorker: 8\n  "
         "runPolicy: {activeDeadlineSeconds: 60, schedulingPolicy: {queue: q, minAvailable: 3, priorityClass: pc}}\n"
         "  mpiReplicaSpecs:\n    Launcher: {replicas: 1, template: @CPU}\n    Worker: {replicas: 2, template: @GPU}\n",
         "m queue=q class=pc seconds=60: launcher 1 x cpus=2 memory=4GiB; worker 2 x gpus=8"},
        {"kind: TFJob\nmetadata: {name: t}\nspec:\n  tfReplicaSpecs:\n    PS: {replicas: 2, template: @CPU}\n    "
         "Worker: {replicas: 4, template: @GPU}\n    Evaluator: {replicas: 0, template: @CPU}\n"
         "  runPolicy: {schedulingPolicy: {minAvailable: 4}}\n",
         "t min=4: ps 1-2 x cpus=2 memory=4GiB; worker 1-4 x gpus=8"},
        {"kind: PyTorchJob\nmetadata: {name: p}\nspec:\n  elasticPolicy: {minReplicas: 2, maxReplicas: 16}\n  "
         "pytorchReplicaSpecs: {Worker: {replicas: 8, template: @GPU}}\n",
         "p: worker 2-8 x gpus=8 most=16"},
        {"kind: PyTorchJob\nmetadata: {name: p}\nspec:\n  elasticPolicy: {minReplicas: 9}\n  pytorchReplicaSpecs: "
         "{Worker: {replicas: 8, template: @GPU}}\n",
         "! minReplicas: 9 of 8"},
        {"kind: Workload\napiVersion: kueue.x-k8s.io/v1beta1\nmetadata: {name: w}\nspec:\n  queueName: lq\n  priority: "
         "5\n  priorityClassName: pc\n  maximumExecutionTimeSeconds: 10\n"
         "  podSets:\n  - {name: driver, count: 1, template: @CPU, topologyRequest: {required: rack, podSetGroupName: "
         "g}}\n  - {name: workers, count: 8, minCount: 4, template: @GPU, topologyRequest: {required: rack, "
         "podSetGroupName: g}}\n",
         "w queue=lq class=pc priority=5 seconds=10 within=rack: driver 1 x cpus=2 memory=4GiB; workers 4-8 x gpus=8"},
        {"kind: Workload\napiVersion: kueue.x-k8s.io/v1beta1\nmetadata: {name: w}\nspec:\n  podSets:\n"
         "  - {name: a, count: 2, template: @GPU, topologyRequest: {preferred: block}}\n  - {name: b, count: 8, "
         "template: @GPU, topologyRequest: {podSetSliceRequiredTopology: rack, podSetSliceSize: 2}}\n",
         "w: a 2 x gpus=8 prefer=block; b 8 x gpus=8 segments=4:rack"},
        {"kind: JobSet\nmetadata: {name: s}\nspec:\n  startupPolicy: {startupPolicyOrder: InOrder}\n  replicatedJobs:\n"
         "  - {name: a, template: {spec: {template: @CPU}}}\n  - {name: b, replicas: 2, template: {metadata: "
         "{annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack}}, spec: {parallelism: 4, completions: 4, "
         "template: @GPU}}}\n",
         "s exclusive-domain: a 1 x cpus=2 memory=4GiB; b 8 x gpus=8 segments=2:rack:spread after=a"},
        {"kind: JobSet\nmetadata: {name: s}\nspec:\n  replicatedJobs:\n  - {name: a, dependsOn: [{name: z}], template: "
         "{spec: {template: @CPU}}}\n",
         "! dependsOn 'z'"},
        {"kind: LeaderWorkerSet\nmetadata: {name: l, annotations: "
         "{leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology: rack}}\nspec:\n  replicas: 2\n  "
         "leaderWorkerTemplate: {size: 8, subGroupPolicy: {subGroupSize: 4}, workerTemplate: @GPU}\n",
         "l segments=4:rack:spread exclusive-domain: pods 8-16 x gpus=8"},
        {"kind: LeaderWorkerSet\nmetadata: {name: l}\nspec:\n  replicas: 3\n  leaderWorkerTemplate: {size: 2, "
         "workerTemplate: {metadata: {annotations: {kueue.x-k8s.io/podset-preferred-topology: rack}}, spec: "
         "{containers: [{resources: {limits: {nvidia.com/gpu: 8}}}]}}}\n",
         "l prefer=rack copies=3: pods 2 x gpus=8"},
        {"kind: RayCluster\nmetadata: {name: r}\nspec:\n  enableInTreeAutoscaling: true\n  headGroupSpec: {template: "
         "@CPU}\n  workerGroupSpecs:\n"
         "  - {groupName: w, replicas: 4, minReplicas: 2, maxReplicas: 8, numOfHosts: 2, template: @GPU}\n  - "
         "{groupName: none, replicas: 0, template: @GPU}\n",
         "r: head 1 x cpus=2 memory=4GiB; w 4-8 x gpus=8 most=16"},
        {"kind: RayJob\nmetadata: {name: r}\nspec:\n  clusterSelector: {ray.io/cluster: c}\n",
         "! RayCluster 'c', which runs already"},
        {"kind: RayJob\nmetadata: {name: r}\nspec:\n  entrypoint: |\n    python -c \"pg = placement_group([{'GPU': 1, "
         "'CPU': 2}] * 4, strategy='STRICT_PACK', name='g')\"\n  rayClusterSpec:\n    headGroupSpec: {template: "
         "@CPU}\n",
         "r: head 1 x cpus=2 memory=4GiB\nr/g within=node after=r: bundle 4 x gpus=1 cpus=2"},
        {"kind: Deployment\nmetadata: {name: d}\nspec: {replicas: 3, template: @GPU}\n", "d: pods 1-3 x gpus=8"},
        {"kind: CronJob\nmetadata: {name: c}\nspec: {jobTemplate: {spec: {parallelism: 2, activeDeadlineSeconds: 9, "
         "template: @GPU}}}\n",
         "c seconds=9: pods 2 x gpus=8"},
        {"kind: Notebook\nmetadata: {name: n}\nspec: {template: @GPU}\n", "n: pods 1 x gpus=8"},
        {"kind: Job\napiVersion: batch.volcano.sh/v1alpha1\nmetadata: {name: v}\nspec:\n  minAvailable: 2\n  "
         "networkTopology: {mode: soft, highestTierAllowed: 1}\n  tasks:\n"
         "  - {name: a, replicas: 2, template: @CPU}\n  - {name: b, replicas: 4, template: @GPU, dependsOn: {name: "
         "[a]}, "
         "partitionPolicy: {totalPartitions: 2, partitionSize: 2, networkTopology: {highestTierAllowed: 1}}}\n",
         "v prefer=tier 1 min=2: a 1-2 x cpus=2 memory=4GiB; b 2-4 x gpus=8 segments=2:tier 1 after=a"},
        {"kind: Job\napiVersion: batch.volcano.sh/v1alpha1\nmetadata: {name: v}\nspec:\n  tasks:\n  - {name: a, "
         "replicas: 2, minAvailable: 3, template: @CPU}\n",
         "! minAvailable: 3 of 2"},
        {"kind: Framework\nmetadata: {name: f}\nspec:\n  taskRoles:\n  - {name: ps, taskNumber: 1, task: {pod: "
         "@CPU}}\n "
         " - {name: w, taskNumber: 4, task: {pod: @GPU}}\n",
         "f: ps 1 x cpus=2 memory=4GiB; w 4 x gpus=8"},
        {"kind: AppWrapper\nmetadata: {name: a, labels: {kueue.x-k8s.io/queue-name: q}}\nspec:\n  components:\n  - "
         "template: {apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {parallelism: 2, template: @GPU}}\n",
         "j queue=q: pods 2 x gpus=8"},
        {"kind: CronJob\napiVersion: batch.volcano.sh/v1alpha1\nmetadata: {name: c}\nspec: {jobTemplate: {spec: "
         "{tasks: [{replicas: 2, template: @GPU}]}}}\n",
         "c: default0 2 x gpus=8"},
        {"kind: RayCronJob\nmetadata: {name: r}\nspec: {jobTemplate: {rayClusterSpec: {headGroupSpec: {template: "
         "@CPU}}}}\n",
         "r: head 1 x cpus=2 memory=4GiB"},
        {"kind: SparkApplication\nmetadata: {name: s}\nspec:\n  type: Python\n  dynamicAllocation: {enabled: true, "
         "minExecutors: 2, maxExecutors: 8}\n  driver: {cores: 2, memory: 1g}\n  executor: {instances: 4, cores: 4, "
         "memory: 10G, memoryOverhead: 512m, gpu: {name: nvidia.com/gpu, quantity: 1}}\n",
         "s: driver 1 x cpus=2 memory=1503238553B; executor 2-4 x gpus=1 cpus=4 memory=10752MiB most=8"},
        {"kind: SparkApplication\nmetadata: {name: s}\nspec:\n  driver: {memory: lots}\n", "! memory: 'lots'"},
        {"kind: PyTorchJob\nmetadata: {name: p}\nspec:\n  pytorchReplicaSpecs:\n    Master: {template: @NOTED}\n    "
         "Worker: {replicas: 3, template: @NOTED}\n",
         "p within=rack: master 1 x gpus=8; worker 3 x gpus=8"},
        {"kind: PodGroup\nmetadata: {name: g}\nspec: {minSubGroup: 1, subGroups: [{name: x, minMember: 2}, {name: y, "
         "minMember: 3}]}\n---\n"
         "kind: Job\nmetadata: {name: a}\nspec: {parallelism: 2, template: {metadata: {annotations: {pod-group-name: "
         "g}, labels: {kai.scheduler/subgroup-name: x}}, spec: {containers: [{resources: {limits: {nvidia.com/gpu: "
         "1}}}]}}}\n---\n"
         "kind: Job\nmetadata: {name: b}\nspec: {parallelism: 4, template: {metadata: {annotations: {pod-group-name: "
         "g}, labels: {kai.scheduler/subgroup-name: y}}, spec: {containers: [{resources: {limits: {nvidia.com/gpu: "
         "2}}}]}}}\n",
         "g: pods 2 x gpus=1; b 3-4 x gpus=2"},
    };
    for (const auto& r : rows) jobs_test::check_row(r, berth::read_kubernetes_jobs({"j.yaml", with_pods(r.input)}));
  }
  TEST_CASE("rules about other pods, of every kind of job") {
    const std::pair<const char*, const char*> words[] = {
        {"@HARD", "topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: DoNotSchedule, "},
        {"@SOFT", "topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, "},
        {"@APART",
         "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: rack, "},
        {"@WITH", "labelSelector: {matchLabels: "}};
    // What stands in the pod, and the rules; the job is a Job 'j' of 4 pods with the label app=a.
    const row pods[] = {
        {"@HARDmaxSkew: 2, minDomains: 3, @WITH{app: a}}}]",
         " spread=zone:skew=2:least=3:declared:any-taints!own+app=a;"},
        {"@HARDmaxSkew: 1, labelSelector: {}, nodeAffinityPolicy: Ignore, nodeTaintsPolicy: Honor}]",
         " spread=zone:skew=1:declared:any-labels!own+"},
        {"@HARDmaxSkew: 1, labelSelector: {matchExpressions: [{key: app, operator: NotIn, values: [a, b]}, {key: x, "
         "operator: DoesNotExist}]}}]",
         " spread=zone:skew=1:declared:any-taints!+-app=a|b;-x;"},
        {"@SOFTmaxSkew: 1, @WITH{app: a}}, matchLabelKeys: [app, unknown, controller-uid]}]",
         " spread=zone:skew=1:any-taints?own+app=a;app=a;controller-uid=;"},
        {"@HARDmaxSkew: 1, @WITH{job-name: j}}}, {topologyKey: kubernetes.io/hostname, whenUnsatisfiable: "
         "DoNotSchedule, maxSkew: 3, @WITH{job-name: other}}}]",
         " spread=zone:skew=1:declared:any-taints!own+job-name=j; "
         "spread=kubernetes.io/hostname:skew=3:declared:any-taints!+job-name=other;"},
        {"@APART@WITH{app: b}}, namespaces: [x, y]}]}}", " spread=rack:most=0!+app=b;berth/namespace=x|y;"},
        {"@APART@WITH{app: a}}, namespaceSelector: {}}, {topologyKey: rack, @WITH{app: a}}, namespaceSelector: "
         "{matchLabels: {kubernetes.io/metadata.name: x}}}]}}",
         " spread=rack:most=1!own+app=a; spread=rack:most=0!+app=a;berth/namespace=x;"},
        {"@APARTlabelSelector: {matchExpressions: [{key: job-name, operator: Exists}]}, mismatchLabelKeys: "
         "[job-name]}]}}",
         " spread=rack:most=0!+job-name;-job-name=j;"},
        {"affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 5, podAffinityTerm: "
         "{topologyKey: rack, @WITH{app: a}}}}, {weight: 50, podAffinityTerm: {topologyKey: zone, @WITH{app: b}}}}]}}",
         " spread=zone:most=0?+app=b; spread=rack:skew=1?own+app=a;"},
        {"affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: rack, @WITH{app: "
         "db}}}], preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone, "
         "@WITH{app: web}}}}]}}",
         " spread=rack:beside:declared!+app=db; spread=zone:beside?+app=web;"},
        {"topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: Never, maxSkew: 1}]",
         "! j.yaml:8: found whenUnsatisfiable: 'Never', expected DoNotSchedule or ScheduleAnyway"},
        {"topologySpreadConstraints: [{whenUnsatisfiable: DoNotSchedule, maxSkew: 1}]",
         "! j.yaml:8: found no topologyKey"},
        {"topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]", "! without maxSkew"},
        {"@HARDmaxSkew: 0}]", "! maxSkew: 0"},
        {"@SOFTmaxSkew: 1, minDomains: 2}]", "! minDomains beside ScheduleAnyway"},
        {"@HARDmaxSkew: 1, nodeTaintsPolicy: Maybe}]", "! nodeTaintsPolicy: 'Maybe', expected Honor or Ignore"},
        {"@HARDmaxSkew: 1, @WITH{batch.kubernetes.io/job-completion-index: '0'}}}]", "! which differs from pod to pod"},
        {"@APARTlabelSelector: {}, namespaceSelector: {matchLabels: {team: x}}}]}}",
         "! a namespaceSelector on labels of namespaces"},
        {"affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: rack}]}}",
         "! required pod affinity without labelSelector"},
        {"@APARTlabelSelector: {matchExpressions: [{key: a, operator: Like}]}}]}}", "! operator: 'Like'"},
    };
    for (const auto& r : pods) {
      std::string text =
          "kind: Job\nmetadata: {name: j}\nspec:\n  parallelism: 4\n  template:\n    metadata: {labels: {app: a}}\n"
          "    spec:\n      " +
          std::string{r.input} + "\n      containers: [{resources: {limits: {nvidia.com/gpu: 8}}}]\n";
      for (const auto& [word, by] : words)
        for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word))
          text.replace(at, std::string_view{word}.size(), by);
      const std::string expected = r.expected[0] == '!' ? r.expected : "j: pods 4 x gpus=8" + std::string{r.expected};
      jobs_test::check_row({r.input, expected.c_str()}, berth::read_kubernetes_jobs({"j.yaml", text}));
    }
    // @ANTI: a pod that keeps those of its kind on different racks, KEY the label that its controller adds.
    const row kinds[] = {
        {"kind: Deployment\nmetadata: {name: d, namespace: n}\nspec: {replicas: 3, template: @(app: a)}\n",
         "d: pods 1-3 x gpus=8 spread=rack:most=1!own+app=a;berth/namespace=n;"},
        {"kind: JobSet\nmetadata: {name: s}\nspec:\n  replicatedJobs:\n  - {name: w, replicas: 2, template: {spec: "
         "{parallelism: 2, template: @(jobset.sigs.k8s.io/replicatedjob-name: w)}}}\n",
         "s: w 4 x gpus=8 spread=rack:most=1!own+jobset.sigs.k8s.io/replicatedjob-name=w;"},
        {"kind: JobSet\nmetadata: {name: s}\nspec:\n  replicatedJobs:\n  - {name: w, replicas: 2, template: {spec: "
         "{parallelism: 2, template: @(jobset.sigs.k8s.io/job-index: '1')}}}\n",
         "! 'jobset.sigs.k8s.io/job-index', which differs from pod to pod"},
        {"kind: LeaderWorkerSet\nmetadata: {name: l}\nspec: {replicas: 2, leaderWorkerTemplate: {size: 2, "
         "workerTemplate: @(leaderworkerset.sigs.k8s.io/name: l)}}\n",
         "l: pods 4 x gpus=8 spread=rack:most=1!own+leaderworkerset.sigs.k8s.io/name=l;"},
        {"kind: PyTorchJob\nmetadata: {name: p}\nspec:\n  pytorchReplicaSpecs:\n    Worker: {replicas: 2, template: "
         "@(training.kubeflow.org/job-name: p)}\n",
         "p: worker 2 x gpus=8 spread=rack:most=1!own+training.kubeflow.org/job-name=p;"},
        {"kind: MPIJob\nmetadata: {name: p}\nspec:\n  mpiReplicaSpecs:\n    Launcher: {template: @(a: b)}\n    "
         "Worker: {replicas: 2, template: @(training.kubeflow.org/replica-type: worker)}\n",
         "p: launcher 1 x gpus=8 spread=rack:most=0!+a=b;; worker 2 x gpus=8 "
         "spread=rack:most=1!own+training.kubeflow.org/replica-type=worker;"},
        {"kind: TFJob\nmetadata: {name: p}\nspec:\n  tfReplicaSpecs:\n    Worker: {replicas: 2, template: "
         "@(training.kubeflow.org/replica-index: '0')}\n",
         "! which differs from pod to pod"},
        {"kind: TrainingRuntime\nmetadata: {name: r}\nspec: {template: {spec: {replicatedJobs: [{name: node, template: "
         "{spec: {template: @(jobset.sigs.k8s.io/jobset-name: t)}}}]}}}\n---\nkind: TrainJob\nmetadata: {name: "
         "t}\nspec: {runtimeRef: {kind: TrainingRuntime, name: r}, trainer: {numNodes: 3}}\n",
         "t: node 3 x gpus=8 spread=rack:most=1!own+jobset.sigs.k8s.io/jobset-name=t;"},
        {"kind: Job\napiVersion: batch.volcano.sh/v1alpha1\nmetadata: {name: v}\nspec: {tasks: [{name: w, replicas: 2, "
         "template: @(volcano.sh/task-spec: w)}]}\n",
         "v: w 2 x gpus=8 spread=rack:most=1!own+volcano.sh/task-spec=w;"},
        {"kind: RayCluster\nmetadata: {name: r}\nspec: {headGroupSpec: {template: @(ray.io/cluster: r)}}\n",
         "r: head 1 x gpus=8 spread=rack:most=1!own+ray.io/cluster=r;"},
        {"kind: StatefulSet\nmetadata: {name: s}\nspec: {replicas: 3, template: @(apps.kubernetes.io/pod-index: "
         "'0')}\n",
         "! which differs from pod to pod"},
        {"kind: Pod\nmetadata: {name: a, annotations: {pod-group-name: g}, labels: {app: a}}\nspec: @SPEC(app: "
         "a)\n---\n"
         "kind: Pod\nmetadata: {name: b, annotations: {pod-group-name: g}, labels: {app: a}}\nspec: @SPEC(app: a)\n",
         "g: pod 2 x gpus=8 spread=rack:most=1!own+app=a;"},
        {"kind: Job\nmetadata: {name: j}\nspec: {parallelism: 4, template: {metadata: {labels: {app: a}, annotations: "
         "{kueue.x-k8s.io/podset-slice-required-topology: rack, kueue.x-k8s.io/podset-slice-size: '2'}}, spec: "
         "@SPEC(app: a)}}\n",
         "! j.yaml:3: found a rule about where pods lie to one another in a job of slices"},
    };
    for (const auto& r : kinds) {
      std::string text = r.input;
      for (const bool whole : {false, true})
        for (std::size_t at = text.find(whole ? "@(" : "@SPEC("); at != std::string::npos;
             at = text.find(whole ? "@(" : "@SPEC(")) {
          const std::size_t open = text.find('(', at), close = text.find(')', at);
          const std::string label = text.substr(open + 1, close - open - 1);
          const std::string spec =
              "{affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: rack, "
              "labelSelector: {matchLabels: {" +
              label +
              "}}}]}}, containers: [{resources: {limits: {nvidia.com/gpu: "
              "8}}}]}";
          text.replace(at, close + 1 - at, whole ? "{metadata: {labels: {app: a}}, spec: " + spec + "}" : spec);
        }
      jobs_test::check_row({r.input, r.expected}, berth::read_kubernetes_jobs({"j.yaml", text}));
    }
  }
  TEST_CASE("a TrainJob with an MPI runtime, amounts per node, dependencies") {
    CHECK(read(with_pods("kind: TrainingRuntime\nmetadata: {name: mpi}\nspec:\n  mlPolicy: {numNodes: 1, mpi: "
                         "{runLauncherAsNode: true}}\n  podGroupPolicy: {volcano: {networkTopology: "
                         "{highestTierAllowed: 1}}}\n  template:\n    spec:\n      replicatedJobs:\n"
                         "      - {name: dataset, template: {spec: {template: @CPU}}}\n"
                         "      - {name: launcher, dependsOn: [{name: dataset}], template: {metadata: {labels: "
                         "{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: @CPU}}}\n"
                         "      - {name: node, template: {spec: {template: @CPU}}}\n"
                         "---\nkind: TrainJob\nmetadata: {name: t}\nspec:\n  runtimeRef: {kind: TrainingRuntime, name: "
                         "mpi}\n  trainer: {numNodes: 4, resourcesPerNode: {limits: {nvidia.com/gpu: 4}}}\n")) ==
          "t within=tier 1: dataset 1 x cpus=2 memory=4GiB; launcher 1 x gpus=4 after=dataset; node 3 x gpus=4");
  }
  TEST_CASE("devices claimed through dynamic resource allocation") {
    const auto claim = [](const std::string& request) {
      return read("kind: ResourceClaimTemplate\nmetadata: {name: t}\nspec: {spec: {devices: {requests: [{name: r, " +
                  request +
                  "}]}}}\n---\nkind: Pod\nmetadata: {name: p}\nspec: {resourceClaims: [{name: c, "
                  "resourceClaimTemplateName: t}], containers: []}\n");
    };
    CHECK(claim("exactly: {deviceClassName: gpu.nvidia.com, count: 4, selectors: [{cel: {expression: "
                "\"device.attributes['gpu.nvidia.com'].productName == 'NVIDIA A100-SXM4-80GB'\"}}]}") ==
          "p: pod 1 x gpus=4 model=NVIDIA A100-SXM4-80GB");
    CHECK(claim("deviceClassName: mig.nvidia.com, selectors: [{cel: {expression: "
                "\"device.attributes['gpu.nvidia.com'].profile == '3g.40gb'\"}}]") == "p: pod 1 x mig=3g.40gb:1");
    CHECK(claim("firstAvailable: [{name: a, deviceClassName: gpu.nvidia.com}, {name: b, deviceClassName: "
                "mig.nvidia.com}]") == "p: pod 1 x gpus=1");
    CHECK(claim("exactly: {deviceClassName: gpu.nvidia.com, selectors: [{cel: {expression: "
                "\"device.capacity['gpu.nvidia.com'].memory.isGreaterThan(quantity('40Gi'))\"}}]}")
              .starts_with("p: pod 1 x gpus=1 other=devices with device.capacity"));
    CHECK(claim("exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All}") ==
          "p: pod 1 x other=all devices of class gpu.nvidia.com:1");
    CHECK(claim("exactly: {deviceClassName: gpu.example.com, count: 2, capacity: {requests: {gpu.example.com/memory: "
                "4Gi}}}") == "p: pod 1 x share=2x4GiB");
    CHECK(claim("exactly: {deviceClassName: nic.example.com, count: 2}") == "p: pod 1 x other=nic.example.com:2");
    CHECK(samples::contains(claim("exactly: {}"), "without deviceClassName"));
    CHECK(samples::contains(read("kind: Pod\nmetadata: {name: p}\nspec: {resourceClaims: [{name: c, "
                                 "resourceClaimTemplateName: t}], containers: []}\n"),
                            "j.yaml:3: found ResourceClaimTemplate 't', which is not in the file"));
    CHECK(samples::contains(read("kind: Pod\nmetadata: {name: p}\nspec: {resourceClaims: [{name: c, resourceClaimName: "
                                 "t}], containers: []}\n"),
                            "ResourceClaim 't', which is not in the file"));
  }
  TEST_CASE("assumptions are said with file and line") {
    const auto j = one("kind: Pod\nmetadata: {name: p}\nspec:\n  nodeName: n1\n  containers: []\n");
    CHECK(samples::any_contains(j.assumptions, "j.yaml:4: the pod runs on 'n1' already"));
    CHECK(samples::any_contains(j.assumptions, "request nothing"));
    const auto k = one("kind: Pod\nmetadata: {annotations: {kai.scheduler/segment-size: '2'}}\nspec: {}\n");
    CHECK(samples::any_contains(k.assumptions, "j.yaml:2: the annotation 'kai.scheduler/segment-size' is not read"));
    const auto t = one("kind: Job\nspec: {template: {metadata: {labels: {kai.scheduler/quee: q}}, spec: {}}}\n");
    CHECK(samples::any_contains(t.assumptions, "j.yaml:2: the label 'kai.scheduler/quee' is passed over"));
  }
  TEST_CASE("files without jobs, and lists of objects") {
    CHECK(samples::contains(read("kind: Queue\n---\nkind: Node\n"), "no job among the objects (Queue, Node)"));
    CHECK(read("{\"kind\": \"List\", \"items\": [{\"kind\": \"Pod\", \"metadata\": {\"name\": \"p\"}, \"spec\": "
               "{\"containers\": [{\"resources\": {\"limits\": {\"cpu\": \"2\"}}}]}},"
               "{\"kind\": \"Pod\", \"metadata\": {\"name\": \"q\"}, \"status\": {\"phase\": \"Succeeded\"}}]}") ==
          "p: pod 1 x cpus=2");
    CHECK(samples::contains(read("kind: Job\nspec: {parallelism: 0, template: {}}\n"), "a Job of 0 pods"));
    CHECK(samples::contains(read("kind: Job\n"), "no spec"));
  }
}

}  // namespace
