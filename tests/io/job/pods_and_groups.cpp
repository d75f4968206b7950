// Jobs of Kubernetes beside their own pods, PodGroups with their pods and Kueue's plain pod groups, after the APIs
// named in the readers.
#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

#include "berth/io/job/kubernetes_jobs.hpp"
#include "describe.hpp"

namespace {

std::string read(const std::string& text) {
  return jobs_test::describe_all(berth::read_kubernetes_jobs({"j.yaml", text}));
}
std::vector<berth::job_spec> jobs_of(const std::string& text) {
  auto r = berth::read_kubernetes_jobs({"j.yaml", text});
  REQUIRE_MESSAGE(r.has_value(), samples::failure(r));
  return std::move(*r);
}
bool says(const berth::job_spec& j, const std::string& words) {
  return samples::any_contains(j.assumptions, words);
}

constexpr const char* ask = "containers: [{resources: {limits: {nvidia.com/gpu: 8}}}]";
std::string job(const std::string& name, const std::string& spec, const std::string& status = "{}",
                const std::string& metadata = "") {
  return "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name + metadata + "}\nspec: {" + spec +
         ", template: {spec: {" + ask + "}}}\nstatus: " + status + "\n";
}
std::string owner(const std::string& kind, const std::string& name) {
  return ", ownerReferences: [{kind: " + kind + ", name: " + name + ", controller: true}]";
}
/// \param node  "" for a pod that waits
std::string pod(const std::string& name, const std::string& metadata, const std::string& node,
                const std::string& phase = "Running") {
  return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + metadata + "}\nspec: {" +
         (node.empty() ? "" : "nodeName: " + node + ", ") + ask + "}\nstatus: {phase: " + phase + "}\n";
}

TEST_SUITE("io/job/pods_and_groups") {
  TEST_CASE("pods and their PodGroup") {
    const std::string pods =
        "kind: Pod\nmetadata: {name: a, annotations: {NOTE}, labels: {LABEL}}\nspec: {containers: [{resources: "
        "{limits: {nvidia.com/gpu: 8}}}]}\n---\n"
        "kind: Pod\nmetadata: {name: b, annotations: {NOTE}, labels: {LABEL}}\nspec: {containers: [{resources: "
        "{limits: {nvidia.com/gpu: 8}}}]}\n---\n"
        "kind: Pod\nmetadata: {name: c, annotations: {NOTE}, labels: {LABEL}}\nspec: {containers: [{resources: "
        "{requests: {cpu: 1}}}]}\n---\n";
    const auto with = [&](const std::string& note, const std::string& label, const std::string& rest) {
      std::string s = pods;
      for (const auto& [word, by] : {std::pair{std::string{"NOTE"}, note}, std::pair{std::string{"LABEL"}, label}})
        for (std::size_t at = s.find(word); at != std::string::npos; at = s.find(word)) s.replace(at, word.size(), by);
      return read(s + rest);
    };
    CHECK(with("scheduling.k8s.io/group-name: g", "",
               "kind: PodGroup\napiVersion: scheduling.volcano.sh/v1beta1\nmetadata: {name: g}\nspec: {minMember: 3, "
               "queue: q, networkTopology: {mode: hard, highestTierAllowed: 2}}\n") ==
          "g queue=q within=tier 2: pod 2 x gpus=8; pod-2 1 x cpus=1");
    CHECK(
        with("", "scheduling.x-k8s.io/pod-group: g",
             "kind: PodGroup\napiVersion: scheduling.x-k8s.io/v1alpha1\nmetadata: {name: g}\nspec: {minMember: 2}\n") ==
        "g min=2: pod 1-2 x gpus=8; pod-2 1 x cpus=1");
    CHECK(with("pod-group-name: g", "kai.scheduler/subgroup-name: w", "") == "g: pod 2 x gpus=8; pod-2 1 x cpus=1");
    CHECK(with("", "", "") == "a: pod 1 x gpus=8\nb: pod 1 x gpus=8\nc: pod 1 x cpus=1");
    CHECK(samples::contains(with("", "", "kind: PodGroup\nmetadata: {name: g}\n"),
                            "PodGroup 'g' without pods in the file"));
    CHECK(with("gang.scheduling.koordinator.sh/name: g, gang.scheduling.koordinator.sh/min-available: '3', "
               "gang.scheduling.koordinator.sh/network-topology-spec: "
               "'{\"gatherStrategy\": [{\"layer\": \"spineLayer\", \"strategy\": \"PreferGather\"}, {\"layer\": "
               "\"blockLayer\", \"strategy\": \"MustGather\"}]}'",
               "", "") == "g within=blockLayer and-prefer=spineLayer: pod 2 x gpus=8; pod-2 1 x cpus=1");
    CHECK(read("kind: Pod\nmetadata: {name: a, annotations: {gang.scheduling.koordinator.sh/name: g, "
               "gang.scheduling.koordinator.sh/min-available: '4'}}\n"
               "spec: {containers: [{resources: {limits: {nvidia.com/gpu: 8}}}]}\n") == "g: pod 4 x gpus=8");
    CHECK(read(jobs_test::with_pods(
              "kind: PodGroup\napiVersion: scheduling.run.ai/v2alpha2\nmetadata: {name: g}\nspec:\n  subGroups:\n  - "
              "{name: all}\n  - {name: lead, parent: all, minMember: 1}\n"
              "  - {name: work, parent: all, minMember: 2, topologyConstraint: {requiredTopologyLevel: rack, "
              "preferredTopologyLevel: host}}\n"
              "---\nkind: JobSet\nmetadata: {name: s}\nspec:\n  replicatedJobs:\n"
              "  - {name: l, template: {spec: {template: {metadata: {annotations: {pod-group-name: g}, labels: "
              "{kai.scheduler/subgroup-name: lead}}, spec: {containers: [{resources: {requests: {cpu: 1}}}]}}}}}\n"
              "  - {name: w, template: {spec: {parallelism: 4, template: {metadata: {annotations: {pod-group-name: g}, "
              "labels: {kai.scheduler/subgroup-name: work}}, spec: {containers: [{resources: {limits: {nvidia.com/gpu: "
              "8}}}]}}}}}\n")) == "s: l 1 x cpus=1; w 2-4 x gpus=8 within=rack prefer=host");
  }
  TEST_CASE("a Job whose pods all run is not asked for again, and its pods are no jobs of their own") {
    const std::string of = owner("Job", "train");
    const auto all = jobs_of(job("train", "parallelism: 2, completions: 2") + pod("a", of, "n1") + pod("b", of, "n2"));
    REQUIRE(all.size() == 1);
    CHECK(jobs_test::describe(all[0]) == "train: pods 2 x gpus=8");
    CHECK(all[0].runs_already());
    CHECK(says(all[0], "j.yaml:2: all of its 2 pods run already and hold what they have; it is asked for as if"));
    // Pods may come first, and may be told by their label alone.
    for (const char* label : {"batch.kubernetes.io/job-name", "job-name"}) {
      const std::string by = ", labels: {" + std::string{label} + ": train}";
      CHECK(jobs_of(pod("a", by, "n1") + job("train", "parallelism: 1")).at(0).runs_already());
    }
  }
  TEST_CASE("of a Job some of whose pods run only the others are asked for") {
    const std::string of = owner("Job", "train");
    const auto some = jobs_of(job("train", "parallelism: 4") + pod("a", of, "n1") + pod("b", of, "", "Pending") +
                              pod("c", of, "n2", "Failed"));
    REQUIRE(some.size() == 1);
    CHECK(jobs_test::describe(some[0]) == "train: pods 3 x gpus=8");
    CHECK_FALSE(some[0].runs_already());
    CHECK(says(some[0], "1 of its 4 pods runs already and holds what it has; the other 3 are asked for."));
    // What succeeded is not run again, and a Job that has ended asks for nothing.
    CHECK(read(job("t", "parallelism: 4, completions: 4", "{succeeded: 1}") + pod("a", owner("Job", "t"), "n1")) ==
          "t: pods 2 x gpus=8");
    for (const char* ended : {"{succeeded: 4}", "{conditions: [{type: Complete, status: 'True'}]}",
                              "{conditions: [{type: Failed, status: 'True'}]}"})
      CHECK(read(job("t", "parallelism: 2, completions: 4", ended) + job("u", "parallelism: 1")) ==
            "u: pods 1 x gpus=8");
    // The minimum counts those that run.
    const std::string least = ", annotations: {kueue.x-k8s.io/job-min-parallelism: '3'}";
    CHECK(read(job("t", "parallelism: 4", "{}", least) + pod("a", owner("Job", "t"), "n1")) == "t: pods 2-3 x gpus=8");
  }
  TEST_CASE("pods that are being deleted are neither asked for nor counted as running") {
    const std::string of = owner("ReplicaSet", "d-1"), going = ", deletionTimestamp: '2026-11-30T11:00:00Z'";
    const std::string deployment =
        "---\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 4, template: {spec: {" + std::string{ask} +
        "}}}\n---\nkind: ReplicaSet\nmetadata: {name: d-1" + owner("Deployment", "d") +
        "}\nspec: {replicas: 4, template: {spec: {" + ask + "}}}\n";
    CHECK(read(deployment + pod("a", of, "n1") + pod("b", of + going, "n2") + pod("c", of, "", "Pending")) ==
          "d: pods 1-3 x gpus=8");
    CHECK(read(pod("a", going, "", "Pending") + pod("b", going, "n1") + pod("c", "", "", "Pending")) ==
          "c: pod 1 x gpus=8");
  }
  TEST_CASE("objects that ask for no pods are left out, and are a fault only where nothing else asks") {
    const std::string other = job("u", "parallelism: 1");
    const auto replicas = [](const char* kind) {
      return "---\nkind: " + std::string{kind} + "\nmetadata: {name: z}\nspec: {replicas: 0, template: {spec: {" + ask +
             "}}}\n";
    };
    for (const auto& none :
         {replicas("Deployment"), replicas("ReplicaSet"), replicas("StatefulSet"), job("z", "parallelism: 0")}) {
      CHECK(read(none + other) == "u: pods 1 x gpus=8");
      CHECK(read(other + none + pod("a", owner("ReplicaSet", "z"), "n1")).starts_with("u: pods 1 x gpus=8"));
    }
    CHECK(samples::contains(read(replicas("Deployment")), "j.yaml:4: found 0 replicas, expected at least 1"));
    // Of a queue of work one pod of which has succeeded, no other pods are made.
    CHECK(read(job("w", "parallelism: 4", "{succeeded: 1, active: 2}")) == "w: pods 2 x gpus=8");
    CHECK(read(job("w", "parallelism: 4", "{succeeded: 1}") + other) == "u: pods 1 x gpus=8");
  }
  TEST_CASE("cron jobs that are suspended ask for nothing") {
    const std::string other = job("u", "parallelism: 1"), pods = "template: {spec: {" + std::string{ask} + "}}";
    for (const auto& [head, inner] :
         {std::pair{std::string{"kind: CronJob"}, "{spec: {parallelism: 2, " + pods + "}}"},
          std::pair{std::string{"apiVersion: batch.volcano.sh/v1alpha1\nkind: CronJob"},
                    "{spec: {tasks: [{replicas: 2, " + pods + "}]}}"},
          std::pair{std::string{"kind: RayCronJob"}, "{rayClusterSpec: {headGroupSpec: {" + pods + "}}}"}}) {
      const auto cron = [&head = head, &inner = inner](const std::string& suspend) {
        return "---\n" + head + "\nmetadata: {name: c}\nspec: {suspend: " + suspend + ", jobTemplate: " + inner + "}\n";
      };
      CHECK(jobs_of(cron("false") + other).size() == 2);
      const auto left = jobs_of(cron("true") + other);
      REQUIRE(left.size() == 1);
      CHECK(left[0].name == "u");
      CHECK(says(left[0], "CronJob ('c') left out, as nothing is asked for: suspend: true."));
      CHECK(samples::contains(read(cron("true")), "found suspend: true, expected a cron job that is not suspended"));
    }
  }
  TEST_CASE("a job that refers to what is not in the file is left out and named, the others are read") {
    const std::string other = job("u", "parallelism: 1");
    const std::string trainer = "---\nkind: TrainJob\nmetadata: {name: t}\nspec: {runtimeRef: {name: r}}\n";
    const auto claiming = [](const std::string& reference, const std::string& metadata = "") {
      return "---\nkind: Pod\nmetadata: {name: t" + metadata + "}\nspec: {resourceClaims: [{name: c, " + reference +
             ": r}], containers: []}\n";
    };
    for (const auto& [text, object, lacks] :
         {std::tuple{trainer, "TrainJob 't'", "ClusterTrainingRuntime 'r'"},
          std::tuple{claiming("resourceClaimTemplateName"), "Pod 't'", "ResourceClaimTemplate 'r'"},
          std::tuple{claiming("resourceClaimName"), "Pod 't'", "ResourceClaim 'r'"}}) {
      const auto left = jobs_of(text + other);
      REQUIRE(left.size() == 1);
      CHECK(left[0].name == "u");
      CHECK(says(left[0], std::string{"j.yaml:2: "} + object + " is not asked for: line 4 names " + lacks +
                              ", which is not in the file; expected the "));
      CHECK(samples::contains(read(text), std::string{"j.yaml:4: found "} + lacks + ", which is not in the file"));
    }
    const std::string grouped = claiming("resourceClaimName", ", annotations: {scheduling.k8s.io/group-name: g}");
    CHECK(samples::contains(read(grouped + other), "found ResourceClaim 'r', which is not in the file"));
  }
  TEST_CASE("what is left out is counted by kind and reason, with the first names") {
    std::string text;
    for (const char* name : {"a", "b", "c", "d"}) text += job(name, "completions: 4", "{succeeded: 4}");
    text += job("z", "parallelism: 0") + pod("p", "", "n1", "Succeeded") +
            pod("q", ", deletionTimestamp: '2026-11-30T11:00:00Z'", "n1") + job("u", "parallelism: 1");
    const auto left = jobs_of(text);
    REQUIRE(left.size() == 1);
    CHECK(left[0].assumptions.size() == 4);
    CHECK(says(left[0], "j.yaml:2: 4 of kind Job ('a', 'b', 'c', ...) left out, as nothing is asked for: has ended."));
    CHECK(says(left[0], "1 of kind Job ('z') left out, as nothing is asked for: a Job of 0 pods."));
    CHECK(says(left[0], "1 of kind Pod ('p') left out, as nothing is asked for: has ended."));
    CHECK(says(left[0], "1 of kind Pod ('q') left out, as nothing is asked for: is being deleted."));
  }
  TEST_CASE("jobs of every kind that have ended ask for nothing") {
    const std::string pods = "template: {spec: {" + std::string{ask} + "}}";
    const std::string roles = "{pytorchReplicaSpecs: {Worker: {replicas: 2, " + pods + "}}}";
    const std::string set = "{replicatedJobs: [{name: w, template: {spec: {" + pods + "}}}]}";
    const std::string volcano = "{tasks: [{name: w, replicas: 2, " + pods + "}]}";
    const std::string ray = "{rayClusterSpec: {headGroupSpec: {" + pods + "}}}";
    const std::string sets = "{podSets: [{name: main, count: 2, " + pods + "}]}";
    const std::string spark = "{driver: {cores: 1}, executor: {cores: 1, instances: 2}}";
    const auto condition = [](const char* type) {
      return "{conditions: [{type: " + std::string{type} + ", status: 'True'}]}";
    };
    struct kind_row {
      std::string api, kind, spec, ended, alive;
    };
    for (const kind_row& k :
         {kind_row{"kubeflow.org/v1", "PyTorchJob", roles, condition("Succeeded"), condition("Running")},
          kind_row{"kubeflow.org/v1", "PyTorchJob", roles, condition("Failed"), "{}"},
          kind_row{"jobset.x-k8s.io/v1alpha2", "JobSet", set, condition("Completed"),
                   condition("StartupPolicyInProgress")},
          kind_row{"batch.volcano.sh/v1alpha1", "Job", volcano, "{state: {phase: Completed}}",
                   "{state: {phase: Pending}}"},
          kind_row{"ray.io/v1", "RayJob", ray, "{jobDeploymentStatus: Complete}",
                   "{jobDeploymentStatus: Initializing}"},
          kind_row{"ray.io/v1", "RayJob", ray, "{jobStatus: FAILED}", "{jobStatus: ''}"},
          kind_row{"kueue.x-k8s.io/v1beta1", "Workload", sets, condition("Finished"), condition("Evicted")},
          kind_row{"sparkoperator.k8s.io/v1beta2", "SparkApplication", spark, "{applicationState: {state: COMPLETED}}",
                   "{applicationState: {state: RUNNING}}"}}) {
      const auto with = [&](const std::string& status) {
        return "---\napiVersion: " + k.api + "\nkind: " + k.kind + "\nmetadata: {name: x}\nspec: " + k.spec +
               "\nstatus: " + status + "\n";
      };
      CHECK_MESSAGE(read(with(k.ended) + job("u", "parallelism: 1")) == "u: pods 1 x gpus=8", k.kind);
      CHECK_MESSAGE(samples::contains(read(with(k.ended)), k.kind + " 'x', which has ended"), k.kind);
      CHECK_MESSAGE(read(with(k.alive)).starts_with("x"), k.kind);
    }
    const auto admitted =
        jobs_of("apiVersion: kueue.x-k8s.io/v1beta1\nkind: Workload\nmetadata: {name: x}\nspec: " + sets +
                "\nstatus: " + condition("Admitted") + "\n");
    CHECK(says(admitted.at(0), "Kueue has admitted it already"));
  }
  TEST_CASE("what has a name in two namespaces is two things") {
    const auto in = [](const char* space) { return ", namespace: " + std::string{space}; };
    const auto group = [&](const char* space, const char* least, const char* more = "") {
      return "---\napiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: g" + in(space) + more +
             "}\nspec: {minMember: " + least + "}\n";
    };
    const auto member = [&](const char* name, const char* space) {
      return pod(name, in(space) + ", labels: {scheduling.x-k8s.io/pod-group: g}", "", "Pending");
    };
    CHECK(read(group("x", "2") + group("y", "1") + member("a", "x") + member("b", "x") + member("c", "y") +
               member("d", "y") + member("e", "y")) == "g: pod 2 x gpus=8\ng: pod 1-3 x gpus=8");
    const auto claim = [&](const char* space, const char* count) {
      return "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: t" + in(space) +
             "}\nspec: {spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.nvidia.com, count: " +
             count + "}}]}}}\n";
    };
    const auto claims = [&](const char* name, const char* space) {
      return "---\nkind: Pod\nmetadata: {name: " + std::string{name} + in(space) +
             "}\nspec: {containers: [{name: m}], resourceClaims: [{name: g, resourceClaimTemplateName: t}]}\n";
    };
    CHECK(read(claim("x", "2") + claim("y", "4") + claims("a", "y") + claims("b", "x") + claims("c", "z")) ==
          "a: pod 1 x gpus=4\nb: pod 1 x gpus=2\nc: pod 1 x gpus=2");
    // A group of a cluster outlives its pods; in a file that was written by hand it is a slip.
    CHECK(read(group("x", "2", ", uid: 6b1c2f8e-0000-4000-8000-000000000001") + job("u", "parallelism: 1")) ==
          "u: pods 1 x gpus=8");
    CHECK(samples::contains(read(group("x", "2") + job("u", "parallelism: 1")), "PodGroup 'g' without pods"));
    // What a job made is the job's, also before there are pods.
    CHECK(read("---\nkind: PyTorchJob\nmetadata: {name: p}\nspec: {pytorchReplicaSpecs: {Worker: {replicas: 4, "
               "template: {spec: {" +
               std::string{ask} + "}}}}}\n---\nkind: PodGroup\nmetadata: {name: p" + owner("PyTorchJob", "p") +
               "}\nspec: {minMember: 3, queue: q}\n") == "p queue=q: worker 3-4 x gpus=8");
  }
  TEST_CASE("what only a running pod or a running cluster has need not be in the file") {
    const std::string claims =
        "resourceClaims: [{name: g, resourceClaimTemplateName: t}, {name: h, resourceClaimName: u}]";
    const auto with = [&](const std::string& node) {
      return "---\nkind: Pod\nmetadata: {name: p}\nspec: {" + node + "containers: [{name: m}], " + claims + "}\n";
    };
    const auto all = jobs_of(with("nodeName: n1, ") + job("u", "parallelism: 1"));
    REQUIRE(all.size() == 2);
    CHECK(all[0].runs_already());
    CHECK(says(all[0], "j.yaml:4: ResourceClaimTemplate 't' is not in the file"));
    CHECK(says(all[0], "j.yaml:4: ResourceClaim 'u' is not in the file"));
    const auto waiting = jobs_of(with("") + job("u", "parallelism: 1"));
    REQUIRE(waiting.size() == 1);
    CHECK(says(waiting[0], "is not asked for: line 4 names ResourceClaimTemplate 't', which is not in"));
    CHECK(read("---\nkind: RayJob\nmetadata: {name: r}\nspec: {clusterSelector: {ray.io/cluster: c}}\n" +
               job("u", "parallelism: 1")) == "u: pods 1 x gpus=8");
  }
  TEST_CASE("many unlike pods of one gang have names of their own") {
    std::string pods;
    for (int i = 1; i <= 300; ++i)
      pods +=
          "---\nkind: Pod\nmetadata: {name: p, labels: {scheduling.x-k8s.io/pod-group: g}}\nspec: {containers: "
          "[{resources: {requests: {cpu: " +
          std::to_string(i) + "}}}]}\n";
    const auto all = jobs_of(pods);
    REQUIRE(all.size() == 1);
    REQUIRE(all[0].groups.size() == 300);
    CHECK(all[0].groups[0].name == "pod");
    CHECK(all[0].groups[299].name == "pod-300");
  }
  TEST_CASE("the running pods of a LeaderWorkerSet and of an MPIJob are told apart by what their controllers say") {
    const std::string tpl = "{spec: {" + std::string{ask} + "}}";
    const std::string lws =
        "---\nkind: LeaderWorkerSet\nmetadata: {name: l}\nspec: {replicas: 2, leaderWorkerTemplate: {size: 2, "
        "leaderTemplate: " +
        tpl + ", workerTemplate: " + tpl + "}}\n";
    const auto one = [](const char* name, const char* index) {
      return pod(
          name, owner("LeaderWorkerSet", "l") + ", labels: {leaderworkerset.sigs.k8s.io/worker-index: '" + index + "'}",
          "n1");
    };
    CHECK(read(lws + one("a", "0") + one("b", "1")) == "l segments=1:cluster: leader 1 x gpus=8; worker 1 x gpus=8");
    CHECK(read("---\nkind: MPIJob\nmetadata: {name: m}\nspec: {mpiReplicaSpecs: {Launcher: {replicas: 1, template: " +
               tpl + "}, Worker: {replicas: 3, template: " + tpl + "}}}\n" +
               pod("a", owner("MPIJob", "m") + ", labels: {training.kubeflow.org/job-role: worker}", "n1")) ==
          "m: launcher 1 x gpus=8; worker 2 x gpus=8");
  }
  TEST_CASE("misspelt members of pods and controllers are refused, unknown ones are said") {
    const auto spec = [](const std::string& more) {
      return "kind: Pod\nmetadata: {name: p}\nspec:\n  " + std::string{ask} + "\n  " + more + "\n";
    };
    const std::string affinity =
        "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{";
    for (const auto& [more, fault] :
         {std::pair{std::string{"nodeSelectors: {a: b}"},
                    "j.yaml:5: found unknown key 'nodeSelectors' of a pod's spec, expected nodeSelector"},
          std::pair{std::string{"nodename: n1"}, "unknown key 'nodename' of a pod's spec, expected nodeName"},
          std::pair{std::string{"toleration: []"}, "expected tolerations"},
          std::pair{std::string{"initContainer: []"}, "expected initContainers"},
          std::pair{std::string{"initContainers: [{resource: {limits: {cpu: 1}}}]"},
                    "unknown key 'resource' of a container, expected resources"},
          std::pair{std::string{"initContainers: [{resources: {limit: {cpu: 1}}}]"}, "expected limits"},
          std::pair{std::string{"initContainers: [{restartPolicy: always}]"},
                    "restartPolicy: 'always', expected Always, OnFailure or Never"},
          std::pair{std::string{"affinity: {nodeAfinity: {}}"}, "expected nodeAffinity"},
          std::pair{std::string{"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoreDuringExecution: []}}"},
                    "expected requiredDuringSchedulingIgnoredDuringExecution"},
          std::pair{affinity + "matchExpression: []}]}}}", "expected matchExpressions"},
          std::pair{std::string{"topologySpreadConstraints: [{maxskew: 1}]"}, "expected maxSkew"},
          std::pair{std::string{"tolerations: [{key: a, operator: Exists, efect: NoSchedule}]"}, "expected effect"},
          std::pair{std::string{"tolerations: [{key: a, operator: Exists, effect: NoSchedul}]"},
                    "effect: 'NoSchedul', expected NoSchedule"},
          std::pair{std::string{"tolerations: [{key: a, operator: Exists, value: b}]"},
                    "a value and operator: Exists"}}) {
      const std::string got = more + "\n" + read(spec(more));
      const bool said = samples::contains(got, fault);
      CHECK_MESSAGE(said, got);
    }
    CHECK(samples::contains(read("kind: Pod\nmetadata: {name: p}\nSpec: {}\n"),
                            "unknown key 'Spec' of a pod, expected spec"));
    CHECK(samples::contains(read(job("t", "parralelism: 4")),
                            "unknown key 'parralelism' of a Job's spec, expected parallelism"));
    CHECK(samples::contains(read("kind: Deployment\nmetadata: {name: d}\nspec: {replica: 4, template: {spec: {" +
                                 std::string{ask} + "}}}\n"),
                            "expected replicas"));
    const std::string pods = "template: {spec: {" + std::string{ask} + "}}";
    CHECK(samples::contains(read("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: v}\nspec: "
                                 "{minAvailabe: 1, tasks: [{name: w, " +
                                 pods + "}]}\n"),
                            "expected minAvailable"));
    CHECK(samples::contains(read("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: v}\nspec: {tasks: "
                                 "[{name: w, replica: 2, " +
                                 pods + "}]}\n"),
                            "expected replicas"));
    CHECK(samples::contains(
        read("kind: PyTorchJob\nmetadata: {name: v}\nspec: {pytorchReplicaSpecs: {Worker: {replica: 2, " + pods +
             "}}}\n"),
        "expected replicas"));
    CHECK(samples::contains(read(pod("a", ", labels: {scheduling.x-k8s.io/pod-group: g}", "", "Pending") +
                                 "---\nkind: PodGroup\nmetadata: {name: g}\nspec: {minMembers: 1}\n"),
                            "expected minMember"));
    const auto ray = [&](const std::string& cluster, const std::string& group) {
      return read("apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: r}\nspec: {rayClusterSpec: {headGroupSpec: {" +
                  pods + "}, " + cluster + ": [{groupName: w, " + group + ", " + pods + "}]}}\n");
    };
    CHECK(samples::contains(ray("workerGroupSpecs", "replicas: 3"), "3 x"));
    CHECK(samples::contains(ray("workerGroupSpecs", "replcas: 3"), "of a worker group, expected replicas"));
    CHECK(samples::contains(ray("workerGroupSpecs", "replicas: 3, numOfHost: 2"), "expected numOfHosts"));
    CHECK(samples::contains(ray("workerGroupSpec", "replicas: 3"), "expected workerGroupSpecs"));
    CHECK(samples::contains(ray("workerGroupSpecs", "replicas: 3, somethingOfTomorrow: 2"), "3 x"));
    const auto lws = [&](const std::string& more, const std::string& inside) {
      return read("apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: l}\nspec: {" + more +
                  ", leaderWorkerTemplate: {" + inside + ", workerTemplate: {spec: {" + std::string{ask} + "}}}}\n");
    };
    CHECK(samples::contains(lws("replicas: 2", "size: 3"), "6 x"));
    CHECK(samples::contains(lws("replica: 2", "size: 3"), "expected replicas"));
    CHECK(samples::contains(lws("replicas: 2", "siz: 3"), "of a leaderWorkerTemplate, expected size"));
    const auto newer = jobs_of(spec("somethingOfTomorrow: {a: b}"));
    CHECK(says(newer.at(0), "j.yaml:5: unknown key 'somethingOfTomorrow' of a pod's spec is not read"));
  }
  TEST_CASE("pods of another namespace, of another owner or of none are not a Job's") {
    const std::string of = owner("Job", "train");
    CHECK(read(job("train", "parallelism: 1") + pod("a", of + ", namespace: other", "n1") +
               pod("b", owner("Job", "gone"), "n1") + pod("c", owner("ReplicaSet", "train"), "n1")) ==
          "train: pods 1 x gpus=8\na: pod 1 x gpus=8\nb: pod 1 x gpus=8\nc: pod 1 x gpus=8");
    CHECK(read(job("train", "parallelism: 1", "{}", ", namespace: x") + pod("a", of + ", namespace: x", "n1"))
              .find("\n") == std::string::npos);
  }
  TEST_CASE("what an object made is part of it, up to the outermost") {
    const std::string jobset =
        "---\nkind: JobSet\nmetadata: {name: s}\nspec:\n  replicatedJobs:\n  - {name: lead, template: {spec: "
        "{template: "
        "{spec: {containers: [{resources: {requests: {cpu: 1}}}]}}}}}\n  - {name: work, replicas: 2, template: {spec: "
        "{parallelism: 2, template: {spec: {containers: [{resources: {limits: {nvidia.com/gpu: 8}}}]}}}}}\n";
    const auto child = [&](const std::string& n) { return job(n, "parallelism: 2", "{}", owner("JobSet", "s")); };
    const auto worker = [&](const std::string& n, const std::string& of) {
      return pod(n, owner("Job", of) + ", labels: {jobset.sigs.k8s.io/replicatedjob-name: work}", "n1");
    };
    const std::string jobs = jobset + child("s-work-0") + child("s-work-1");
    CHECK(read(jobs) == "s: lead 1 x cpus=1; work 4 x gpus=8");
    CHECK(read(jobs + worker("a", "s-work-0") + worker("b", "s-work-0")) == "s: lead 1 x cpus=1; work 2 x gpus=8");
    CHECK(read(jobs + worker("a", "s-work-0") + worker("b", "s-work-0") + worker("c", "s-work-1") +
               worker("d", "s-work-1")) == "s: lead 1 x cpus=1");
    // Without the label it is not known whose the pod is.
    const auto some = jobs_of(jobs + pod("a", owner("Job", "s-work-0"), "n1"));
    REQUIRE(some.size() == 1);
    CHECK(jobs_test::describe(some[0]) == "s: lead 1 x cpus=1; work 4 x gpus=8");
    CHECK(says(some[0],
               "1 of its 5 pods runs already and holds what it has; as it is not known of which part they "
               "are, all of it is asked for"));
    // An old ReplicaSet of a Deployment has no pods, a Workload is what Kueue makes of a Job.
    CHECK(read("---\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 3, template: {spec: {" + std::string{ask} +
               "}}}\n---\nkind: ReplicaSet\nmetadata: {name: d-1" + owner("Deployment", "d") +
               "}\nspec: {replicas: 0, template: {spec: {" + ask + "}}}\n" +
               pod("d-1-a", owner("ReplicaSet", "d-1"), "n1")) == "d: pods 1-2 x gpus=8");
    CHECK(read(job("t", "parallelism: 2") +
               "---\napiVersion: kueue.x-k8s.io/v1beta1\nkind: Workload\nmetadata: {name: w" + owner("Job", "t") +
               "}\nspec: {podSets: [{name: main, count: 2, template: {spec: {" + ask + "}}}]}\n") ==
          "t: pods 2 x gpus=8");
    // A CronJob makes more Jobs; objects that say they made each other are read as if they did not.
    CHECK(read("---\nkind: CronJob\nmetadata: {name: c}\nspec: {jobTemplate: {spec: {template: {spec: {" +
               std::string{ask} + "}}}}}\n" + job("c-1", "parallelism: 2", "{}", owner("CronJob", "c"))) ==
          "c: pods 1 x gpus=8\nc-1: pods 2 x gpus=8");
    CHECK(read(job("x", "parallelism: 1", "{}", owner("Job", "y")) +
               job("y", "parallelism: 1", "{}", owner("Job", "x"))) == "x: pods 1 x gpus=8\ny: pods 1 x gpus=8");
  }
  TEST_CASE("running pods are left out slice by slice, or the job says that all of it is asked for") {
    const std::string sliced =
        "---\nkind: Job\nmetadata: {name: t}\nspec: {parallelism: 4, template: {metadata: {annotations: "
        "{kueue.x-k8s.io/podset-slice-required-topology: rack, kueue.x-k8s.io/podset-slice-size: '2'}}, spec: {" +
        std::string{ask} + "}}}\n";
    const auto running = [&](int n) {
      std::string s = sliced;
      for (int i = 0; i < n; ++i) s += pod(std::string(static_cast<std::size_t>(i) + 1, 'p'), owner("Job", "t"), "n1");
      return jobs_of(s).at(0);
    };
    CHECK(jobs_test::describe(running(0)) == "t segments=2:rack: pods 4 x gpus=8");
    CHECK(jobs_test::describe(running(2)) == "t segments=1:rack: pods 2 x gpus=8");
    CHECK(jobs_test::describe(running(3)) == "t segments=2:rack: pods 4 x gpus=8");
    CHECK(says(running(3),
               "3 of its 4 pods run already and hold what they have; as its slices are placed whole, all of "
               "it is asked for"));
    CHECK(running(4).runs_already());
    const auto within = jobs_of(
        "---\nkind: Job\nmetadata: {name: t}\nspec: {parallelism: 2, template: {metadata: "
        "{annotations: {kueue.x-k8s.io/podset-required-topology: rack}}, spec: {" +
        std::string{ask} + "}}}\n" + pod("a", owner("Job", "t"), "n1"));
    CHECK(says(within.at(0), "the other 1 is asked for, wherever these run: that all share a domain is not kept"));
  }
  TEST_CASE("pods of a gang that run are not asked for with the others") {
    const std::string of = ", annotations: {scheduling.k8s.io/group-name: g}";
    const std::string group =
        "---\nkind: PodGroup\napiVersion: scheduling.volcano.sh/v1beta1\nmetadata: {name: g}\nspec: {minMember: 3}\n";
    CHECK(read(pod("a", of, "n1") + pod("b", of, "") + pod("c", of, "") + group) == "g: pod 2 x gpus=8");
    CHECK(jobs_of(pod("a", of, "n1") + pod("b", of, "n1") + pod("c", of, "n2") + group).at(0).runs_already());
    // A PodGroup that only the pods of a Job name is the Job's.
    CHECK(read(job("t", "parallelism: 4") + pod("a", of + owner("Job", "t"), "", "Pending") + group) ==
          "t: pods 3-4 x gpus=8");
    const auto one = jobs_of(pod("a", "", "n1"));
    CHECK(one.at(0).runs_already());
    CHECK(says(one.at(0), "the pod runs on 'n1' already; it is asked for as if it did not"));
  }
  TEST_CASE("a template that names its node is for that node") {
    CHECK(jobs_of("---\nkind: Job\nmetadata: {name: t}\nspec: {template: {spec: {nodeName: n7, " + std::string{ask} +
                  "}}}\n")
              .at(0)
              .groups.at(0)
              .only_nodes == std::vector<std::string>{"n7"});
  }
  TEST_CASE("pods beside the file count for its jobs") {
    const auto file = berth::read_kube_documents({"j.yaml", job("train", "parallelism: 4")});
    const auto pods = berth::read_kube_documents({"p.yaml", pod("a", owner("Job", "train"), "n1")});
    REQUIRE((file && pods));
    CHECK(jobs_test::describe_all(berth::kubernetes_jobs_of(*file, {&*pods})) == "train: pods 3 x gpus=8");
  }
  TEST_CASE("Kueue's plain pod groups are gangs of as many pods as they say") {
    const auto member = [](const std::string& name, const std::string& total, const std::string& node = "",
                           const std::string& phase = "Pending") {
      return pod(name,
                 ", labels: {kueue.x-k8s.io/queue-name: q, kueue.x-k8s.io/pod-group-name: g}, annotations: "
                 "{kueue.x-k8s.io/pod-group-total-count: '" +
                     total + "'}",
                 node, phase);
    };
    const auto whole = jobs_of(member("a", "2") + member("b", "2"));
    REQUIRE(whole.size() == 1);
    CHECK(jobs_test::describe(whole[0]) == "g queue=q: pod 2 x gpus=8");
    CHECK(whole[0].assumptions.empty());
    const auto part = jobs_of(member("a", "3") + member("b", "3"));
    CHECK(jobs_test::describe(part.at(0)) == "g queue=q: pod 3 x gpus=8");
    CHECK(says(part.at(0), "of the group 'g' of 3 pods 2 stand in the file; the others are taken to be equal"));
    CHECK(read(member("a", "3") + member("b", "3") + member("c", "3", "", "Succeeded")) == "g queue=q: pod 2 x gpus=8");
    CHECK(read(member("a", "2", "n1", "Running") + member("b", "2")) == "g queue=q: pod 1 x gpus=8");
    CHECK(samples::contains(read(member("a", "1") + member("b", "1")),
                            "j.yaml:4: found 2 pods of the group 'g' of 1 pods, expected no more pods"));
    CHECK(samples::contains(read(member("a", "2") + member("b", "3")),
                            "j.yaml:10: found pods of group 'g' that say it has 3 and 2 pods, expected one number"));
    CHECK(samples::contains(read(member("a", "x")), "j.yaml:4: found kueue.x-k8s.io/pod-group-total-count: 'x'"));
    CHECK(samples::contains(read(pod("a", ", labels: {kueue.x-k8s.io/pod-group-name: g}", "")),
                            "j.yaml:4: found pod-group-name of Kueue's without pod-group-total-count, expected both"));
    CHECK(samples::contains(read(pod("a", ", annotations: {kueue.x-k8s.io/pod-group-total-count: '2'}", "")),
                            "pod-group-total-count without pod-group-name"));
    // Unlike pods, one of which is missing.
    const std::string other =
        "---\nkind: Pod\nmetadata: {name: z, labels: {kueue.x-k8s.io/pod-group-name: g}, annotations: "
        "{kueue.x-k8s.io/pod-group-total-count: '3'}}\nspec: {containers: [{resources: {requests: {cpu: 1}}}]}\n";
    CHECK(samples::contains(read(member("a", "3") + other),
                            "2 pods of the group 'g' of 3 pods, which ask for unlike amounts"));
    CHECK(read(member("a", "3") + member("b", "3") + other) == "g queue=q: pod 2 x gpus=8; pod-2 1 x cpus=1");
    // The Workload that Kueue makes of the group is the group.
    CHECK(read(member("a", "2") + member("b", "2") +
               "---\napiVersion: kueue.x-k8s.io/v1beta1\nkind: Workload\nmetadata: {name: g, ownerReferences: [{kind: "
               "Pod, name: a}, {kind: Pod, name: b}]}\nspec: {podSets: [{name: main, count: 2, template: {spec: {" +
               ask + "}}}]}\n") == "g queue=q: pod 2 x gpus=8");
  }
}

}  // namespace
