// One row per sample file: what kind of input it is, and facts about it. The facts were counted in the files, see
// tests/io/data/inputs/README.md.
//
//   whole    a cluster by itself, be it of one machine: everything that placing needs is stated
//   part     a part of a cluster: without other files, or --node-shape, something is unknown; with 0 machines it names
//   none job      what asks for nodes refused  the reader says why

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/io/cluster_files.hpp"
#include "berth/io/merge/site_check.hpp"
#include "berth/io/read_site.hpp"
#include "io/samples.hpp"

#ifndef BERTH_SOURCE_DIR
#define BERTH_SOURCE_DIR "."
#endif

namespace {

enum class kind { whole, part, job, refused };

struct row {
  const char* file;
  kind what;
  std::uint32_t machines;  // of a job: jobs
  std::uint64_t gpus;      // of a job: tasks
  std::uint64_t domains;   // of the innermost level; of a job: GPUs of all tasks
  const char* reason;      // of a refusal: a part of what was found
};

// clang-format off: one line per file
const row rows[] = {
    {"dcgm/dcgm-fraction.prom", kind::whole, 1, 2, 1, ""},
    {"dcgm/dcgm-h100-8gpu.prom", kind::whole, 1, 8, 1, ""},
    {"dcgm/dcgm-mig-4-workloads.prom", kind::whole, 1, 1, 1, ""},
    {"dcgm/dcgm-mig-disabled.prom", kind::whole, 1, 1, 1, ""},
    {"dcgm/nvidia-smi-L-h100-mig.txt", kind::whole, 1, 1, 1, ""},
    {"dcgm/nvidia-smi-L-h100.txt", kind::whole, 1, 1, 1, ""},
    {"dcgm/nvidia-smi-q-x.xml", kind::whole, 1, 2, 1, ""},
    {"dcgm/nvidia-smi-query-h100-mig.csv", kind::whole, 1, 1, 1, ""},
    {"dcgm/nvidia-smi-query-h100.csv", kind::whole, 1, 1, 1, ""},
    {"dcgm/nvlink-status-a100.txt", kind::whole, 1, 8, 1, ""},
    {"hwloc/corona-4xvega.xml", kind::whole, 1, 4, 1, ""},
    {"hwloc/corona-8xmi50.xml", kind::whole, 1, 8, 1, ""},
    {"hwloc/dgx2-16xv100-nvswitch.v3.xml", kind::whole, 1, 16, 1, ""},
    {"hwloc/g4dnmetal-8xt4.xml", kind::whole, 1, 8, 1, ""},
    {"hwloc/heteromem-64intel64.xml", kind::whole, 1, 0, 1, ""},
    {"hwloc/intel-4n16p.xml", kind::whole, 1, 0, 1, ""},
    {"hwloc/lassen-power9-4xv100.xml", kind::whole, 1, 4, 1, ""},
    {"hwloc/pascal-2xp100.xml", kind::whole, 1, 2, 1, ""},
    {"hwloc/rzansel-power9.hwloc1.xml", kind::whole, 1, 4, 1, ""},
    {"hwloc/tioga-mi250x.xml", kind::whole, 1, 8, 1, ""},
    {"hwloc/turin-4xh200-nvml.xml", kind::whole, 1, 4, 1, ""},
    {"infiniband/dgx-superpod-ndr.ibnetdiscover", kind::part, 121, 0, 8, ""},
    {"infiniband/hdr-modular.ibnetdiscover", kind::part, 10, 0, 5, ""},
    {"infiniband/hdr-modular.ibstat", kind::part, 10, 0, 1, ""},
    {"infiniband/links-p.ibnetdiscover", kind::part, 3, 0, 2, ""},
    {"infiniband/simple.ibsim-net", kind::part, 2, 0, 1, ""},
    {"infiniband/switch-status.ibswinfo", kind::part, 0, 0, 0, ""},
    {"infiniband/two-switch-4hca.ibsim-net", kind::part, 4, 0, 1, ""},
    {"kubernetes/aws-node-topology.json", kind::part, 3, 0, 3, ""},
    {"kubernetes/dra-gpu-test4-mig.yaml", kind::job, 1, 4, 0, ""},
    {"kubernetes/dra-gpu-test5.yaml", kind::job, 1, 1, 2, ""},
    {"kubernetes/dra-imex-test1.yaml", kind::job, 4, 8, 8, ""},
    {"kubernetes/dra-resourceslice-devices.yaml", kind::whole, 1, 1, 1, ""},
    {"kubernetes/extender-args.json", kind::part, 2, 0, 1, ""},
    {"kubernetes/extender-bind-args.json", kind::refused, 0, 0, 0,
     "ExtenderBindingArgs, which bind one pod and hold no nodes"},
    {"kubernetes/extender-filter-result.json", kind::refused, 0, 0, 0,
     "an ExtenderFilterResult, the answer for one pod and no list "},
    {"kubernetes/extender-preempt-args.json", kind::refused, 0, 0, 0,
     "ExtenderPreemptionArgs, which name victims and hold no nodes"},
    {"kubernetes/extender-priority.json", kind::refused, 0, 0, 0, "a HostPriority, a score and no node"},
    {"kubernetes/gcp-block-job.yaml", kind::job, 1, 2, 2, ""},
    {"kubernetes/gcp-tas-queues.yaml", kind::part, 0, 0, 0, ""},
    {"kubernetes/jobset-depends-on.yaml", kind::job, 1, 6, 0, ""},
    {"kubernetes/jobset-exclusive.yaml", kind::job, 1, 9, 0, ""},
    {"kubernetes/jobset-nwtopo.knavigator.yaml", kind::refused, 0, 0, 0, "a Go template ({{ … }})"},
    {"kubernetes/jobset-pytorch.yaml", kind::job, 1, 4, 0, ""},
    {"kubernetes/kai-batch-min-member.yaml", kind::job, 1, 6, 6, ""},
    {"kubernetes/kai-external-podgroup.yaml", kind::job, 1, 2, 2, ""},
    {"kubernetes/kai-gpu-pod.yaml", kind::job, 1, 1, 1, ""},
    {"kubernetes/kai-oscillation-jobs.yaml", kind::job, 2, 2, 16, ""},
    {"kubernetes/kai-oscillation-queues.yaml", kind::refused, 0, 0, 0,
     "only 3 Queue, which share out nodes and list none"},
    {"kubernetes/kai-queues.yaml", kind::refused, 0, 0, 0, "only 2 Queue, which share out nodes and list none"},
    {"kubernetes/kai-topology-aliases.yaml", kind::part, 0, 0, 0, ""},
    {"kubernetes/koordinator-clusternetworktopology.yaml", kind::part, 0, 0, 0, ""},
    {"kubernetes/koordinator-device.yaml", kind::whole, 1, 2, 1, ""},
    {"kubernetes/kueue-cluster-queues.yaml", kind::refused, 0, 0, 0,
     "only 4 ClusterQueue, which share out nodes and list none"},
    {"kubernetes/kueue-cohorts.yaml", kind::refused, 0, 0, 0, "only 5 Cohort, which share out nodes and list none"},
    {"kubernetes/kueue-dra-counter-job.yaml", kind::job, 1, 1, 1, ""},
    {"kubernetes/kueue-jobset-tas-combined.yaml", kind::job, 1, 8, 0, ""},
    {"kubernetes/kueue-jobset-tas-sliced.yaml", kind::job, 1, 8, 0, ""},
    {"kubernetes/kueue-lws-tas.yaml", kind::job, 1, 6, 4, ""},
    {"kubernetes/kueue-pytorchjob.yaml", kind::job, 1, 2, 0, ""},
    {"kubernetes/kueue-tas-gpu-queues.yaml", kind::part, 0, 0, 0, ""},
    {"kubernetes/kueue-tas-job-preferred.yaml", kind::job, 1, 40, 0, ""},
    {"kubernetes/kueue-tas-job-required.yaml", kind::job, 1, 10, 0, ""},
    {"kubernetes/lws-exclusive-placement.yaml", kind::job, 1, 12, 0, ""},
    {"kubernetes/lws-multi-template.yaml", kind::job, 1, 12, 0, ""},
    {"kubernetes/lws-vllm-gpu.yaml", kind::job, 1, 4, 32, ""},
    {"kubernetes/networktopology-cr.yaml", kind::part, 0, 0, 0, ""},
    {"kubernetes/node-fraction.yaml", kind::whole, 1, 2, 1, ""},
    {"kubernetes/node-mig-mixed-a100.yaml", kind::whole, 1, 1, 1, ""},
    {"kubernetes/node-pai-00.yaml", kind::whole, 1, 2, 1, ""},
    {"kubernetes/nodes-nwtopo-12.knavigator.yaml", kind::whole, 12, 96, 4, ""},
    {"kubernetes/nrt-worker-a.yaml", kind::whole, 1, 0, 1, ""},
    {"kubernetes/nrt-worker-b.yaml", kind::whole, 1, 0, 1, ""},
    {"kubernetes/oci-rdma-kueue.yaml", kind::part, 0, 0, 0, ""},
    {"kubernetes/pod-fractional.yaml", kind::job, 1, 1, 0, ""},
    {"kubernetes/pod-gpu-00.yaml", kind::job, 1, 1, 0, ""},
    {"kubernetes/pod-mig-1g5gb.yaml", kind::job, 1, 1, 0, ""},
    {"kubernetes/raycluster-kai-gpu-sharing.yaml", kind::job, 1, 3, 0, ""},
    {"kubernetes/raycluster-tpu-256.yaml", kind::job, 1, 65, 0, ""},
    {"kubernetes/rayjob-kueue.yaml", kind::job, 1, 2, 0, ""},
    {"kubernetes/rayjob-placement-group.yaml", kind::job, 2, 3, 0, ""},
    {"kubernetes/slinky-annotated-nodes.yaml", kind::part, 4, 0, 2, ""},
    {"kubernetes/trainjob-multi-node.yaml", kind::refused, 0, 0, 0,
     "ClusterTrainingRuntime 'torch-distributed', which is not in "},
    {"kubernetes/trainjob-runtime-torch.yaml", kind::refused, 0, 0, 0,
     "no job among the objects (ClusterTrainingRuntime)"},
    {"kubernetes/trainjob-volcano.yaml", kind::job, 1, 4, 0, ""},
    {"kubernetes/volcano-hierarchical-jobs.yaml", kind::job, 4, 24, 0, ""},
    {"kubernetes/volcano-hierarchical-queues.yaml", kind::refused, 0, 0, 0,
     "only 4 Queue, which share out nodes and list none"},
    {"kubernetes/volcano-hypernode-discovery.yaml", kind::part, 0, 0, 0, ""},
    {"kubernetes/volcano-hypernodes-leaf.yaml", kind::part, 8, 0, 4, ""},
    {"kubernetes/volcano-hypernodes-upper.yaml", kind::part, 0, 0, 0, ""},
    {"kubernetes/volcano-job-nettopo.yaml", kind::job, 1, 3, 0, ""},
    {"kubernetes/volcano-job.yaml", kind::job, 1, 6, 0, ""},
    {"kubernetes/volcano-mpi.yaml", kind::job, 1, 3, 0, ""},
    {"nccl-topo/aws-g5.48xl-topo.xml", kind::whole, 1, 0, 1, ""},
    {"nccl-topo/aws-p4d-24xl-topo.xml", kind::whole, 1, 8, 1, ""},
    {"nccl-topo/aws-p4de-24xl-topo.xml", kind::whole, 1, 8, 1, ""},
    {"nccl-topo/azure-ncv4-topo.xml", kind::whole, 1, 4, 1, ""},
    {"nccl-topo/azure-ndv2-topo.xml", kind::whole, 1, 8, 1, ""},
    {"nccl-topo/azure-ndv4-topo.xml", kind::whole, 1, 8, 1, ""},
    {"nccl-topo/azure-ndv5-topo-superbench.xml", kind::whole, 1, 8, 1, ""},
    {"nccl-topo/azure-ndv5-topo.xml", kind::whole, 1, 8, 1, ""},
    {"nccl-topo/elasticflow-azure-a100-topo.xml", kind::whole, 1, 8, 1, ""},
    {"nccl-topo/mlperf-dgxa100-nic-affinity.xml", kind::whole, 1, 8, 1, ""},
    {"nccl-topo/mlperf-hpe-675d-nic-affinity.xml", kind::whole, 1, 8, 1, ""},
    {"nccl-topo/mlperf-inspur-nf5488.xml", kind::whole, 1, 8, 1, ""},
    {"nccl-topo/oci-a100-topo-flattened.xml", kind::whole, 1, 8, 1, ""},
    {"nccl-topo/oci-h100-topology.xml", kind::whole, 1, 8, 1, ""},
    {"nccl-topo/rccl-mi100-collnet-n4.xml", kind::whole, 1, 8, 1, ""},
    {"nccl-topo/rccl-mi210-8p-4nic.xml", kind::whole, 1, 8, 1, ""},
    {"nccl-topo/rccl-mi250x-16p1h.xml", kind::whole, 1, 16, 1, ""},
    {"nccl-topo/rccl-mi300a-4p.xml", kind::whole, 1, 4, 1, ""},
    {"nccl-topo/rccl-mi300x-8p.xml", kind::whole, 1, 8, 1, ""},
    {"nccl-topo/rccl-mi50-8p6l.xml", kind::whole, 1, 8, 1, ""},
    {"other-schedulers/hived-basic.yaml", kind::whole, 3, 12, 1, ""},
    {"other-schedulers/hived-design.yaml", kind::whole, 20, 270, 11, ""},
    {"other-schedulers/hived-feature-2.yaml", kind::whole, 5, 20, 2, ""},
    {"other-schedulers/hived-itc-gang.yaml", kind::job, 1, 6, 6, ""},
    {"other-schedulers/hived-requests-basic.yaml", kind::job, 9, 33, 33, ""},
    {"other-schedulers/hived-requests-design.yaml", kind::job, 12, 32, 248, ""},
    {"other-schedulers/kai-fairshare-sim.yaml", kind::whole, 1, 8, 1, ""},
    {"other-schedulers/tony-job.xml", kind::job, 1, 5, 0, ""},
    {"other-schedulers/yarn-capacity-scheduler.xml", kind::refused, 0, 0, 0,
     "queues of YARN's scheduler, which share out nodes and list n"},
    {"other-schedulers/yarn-resource-types.xml", kind::refused, 0, 0, 0,
     "kinds of resources and plug-ins of YARN, and no machines"},
    {"other-schedulers/yarn-site-gpu.xml", kind::refused, 0, 0, 0,
     "kinds of resources and plug-ins of YARN, and no machines"},
    {"other-schedulers/yunikorn-limits.yaml", kind::refused, 0, 0, 0, "queues and quota"},
    {"other-schedulers/yunikorn-priority.yaml", kind::refused, 0, 0, 0, "only ConfigMap"},
    {"other-schedulers/yunikorn-queues.yaml", kind::refused, 0, 0, 0, "queues and quota"},
    {"slurm/aws-custom.partition.conf", kind::whole, 15, 90, 1, ""},
    {"slurm/aws-gpu.gres.conf", kind::whole, 15, 90, 1, ""},
    {"slurm/aws-gpu.partition.conf", kind::whole, 15, 90, 1, ""},
    {"slurm/aws-include.gres.conf", kind::refused, 0, 0, 0,
     "include of 'slurm/<DIR>/pcluster/slurm_parallelcluster_multi"},
    {"slurm/azure-block-commented-out.topology.conf", kind::part, 54, 0, 3, ""},
    {"slurm/azure-block-gb200.topology.conf", kind::part, 72, 0, 4, ""},
    {"slurm/azure-tree-guids.topology.conf", kind::refused, 0, 0, 0, "switch ibsw47 under ibsw26 and under ibsw14"},
    {"slurm/azure-tree.topology.conf", kind::part, 16, 0, 5, ""},
    {"slurm/gcp-nodesets.topology.conf", kind::part, 28, 0, 8, ""},
    {"slurm/homelab.gres.conf", kind::whole, 1, 1, 1, ""},
    {"slurm/homelab.slurm.conf", kind::whole, 1, 1, 1, ""},
    {"slurm/lambda-8gpu.gres.conf", kind::whole, 1, 8, 1, ""},
    {"slurm/lambda-8gpu.slurm.conf", kind::whole, 1, 8, 1, ""},
    {"slurm/oci-gres.conf.j2", kind::refused, 0, 0, 0, "without '='"},
    {"slurm/ports-range.slurm.conf", kind::whole, 3, 0, 1, ""},
    {"slurm/sinfo-json.json", kind::whole, 4, 0, 1, ""},
    {"slurm/slinky.topology.yaml", kind::part, 4, 0, 2, ""},
    {"slurm/squeue-json.json", kind::job, 1, 1, 0, ""},
    {"slurm/tara-example.topology.conf", kind::part, 10, 0, 3, ""},
    {"slurm/tara-mixed.topology.conf", kind::part, 10, 0, 4, ""},
    {"slurm/tara.slurm.conf", kind::whole, 10, 0, 1, ""},
    {"slurm/taranis.gres.conf", kind::whole, 3, 12, 1, ""},
    {"slurm/taranis.topology.conf", kind::part, 4, 0, 1, ""},
    {"slurm/topograph-block.topology.conf", kind::part, 96, 0, 12, ""},
    {"slurm/topograph-tree.topology.conf", kind::part, 96, 0, 12, ""},
    {"slurm/wsl-dxg.gres.conf", kind::whole, 1, 1, 1, ""},
    {"slurm/wsl-dxg.slurm.conf", kind::whole, 2, 1, 1, ""},
    {"topo-m/4gpu-mlx4-soc.txt", kind::whole, 1, 4, 1, ""},
    {"topo-m/esc8000a-4gpu-4nic.txt", kind::whole, 1, 4, 1, ""},
    {"topo-m/facts-3xa6000-one-bridge.txt", kind::whole, 1, 3, 1, ""},
    {"topo-m/facts-4x3090-crossed-nvlink.txt", kind::whole, 1, 4, 1, ""},
    {"topo-m/facts-4xa100-roce-legend.txt", kind::whole, 1, 4, 1, ""},
    {"topo-m/facts-4xv100-mixed-nvlink.txt", kind::whole, 1, 4, 1, ""},
    {"topo-m/facts-8x4090-all-sys.txt", kind::whole, 1, 8, 1, ""},
    {"topo-m/facts-dgx-a100-8gpu-12nic.txt", kind::whole, 1, 8, 1, ""},
    {"topo-m/facts-gb200-tray-4gpu-6nic.txt", kind::whole, 1, 4, 1, ""},
    {"topo-m/facts-hgx-b300-8gpu-9nic.txt", kind::whole, 1, 8, 1, ""},
    {"topo-m/facts-p100-k-2gpu-soc.txt", kind::whole, 1, 2, 1, ""},
    {"topo-m/facts-power9-4gpu-nv3.txt", kind::whole, 1, 4, 1, ""},
    {"topo-m/h100-vm-1gpu-ansi.txt", kind::whole, 1, 1, 1, ""},
    {"topo-m/k80-4gpu-node.txt", kind::whole, 1, 4, 1, ""},
    {"topo-m/l40s-vm-1gpu-ansi.txt", kind::whole, 1, 1, 1, ""},
    {"topo-m/mi300-tpx-rocm-smi-showtopo.txt", kind::whole, 1, 12, 1, ""},
    {"topo-m/turin-8numa-4gpu.txt", kind::whole, 1, 4, 1, ""},
    {"topo-m/v100-dgx1-4nic.txt", kind::whole, 1, 8, 1, ""},
    {"topo-m/wrx90-2gpu-2nic.txt", kind::whole, 1, 2, 1, ""},
    {"topograph/model-dual-xclr-regular.yaml", kind::part, 96, 0, 12, ""},
    {"topograph/model-large.yaml", kind::part, 96, 0, 12, ""},
    {"topograph/model-medium.yaml", kind::part, 8, 0, 4, ""},
    {"topograph/model-nvl72.yaml", kind::part, 72, 0, 4, ""},
    {"topograph/model-small-tree.yaml", kind::part, 6, 0, 2, ""},
    {"topograph/netq-computeNodes.json", kind::whole, 2, 8, 1, ""},
    {"topograph/payload-aws-sim-block.json", kind::refused, 0, 0, 0,
     "a request to topograph, which names a provider or a model bu"},
};
// clang-format on

const std::string folder = std::string{BERTH_SOURCE_DIR} + "/tests/io/data/inputs/";

berth::named_text sample(const std::string& name) {
  auto text = berth::load_text_file(folder + name);
  REQUIRE_MESSAGE(text.has_value(), "cannot read " << name);
  return {name, std::move(*text)};
}
berth::site_options options(bool needed) {
  berth::site_options o;
  o.merge.hardware_needed = needed;
  o.load = [](const std::string&) -> std::optional<std::string> { return std::nullopt; };
  return o;
}
berth::expected<berth::site, berth::input_error> read(const std::vector<berth::site_input>& in, bool needed = false) {
  return berth::read_site(in, options(needed));
}
std::uint64_t gpus_of(const berth::site& s) {
  std::uint64_t n = 0;
  for (const auto& m : s.spec.nodes) n += s.spec.shapes[m.shape.index()].devices;
  return n;
}
bool any(const std::vector<std::string>& all, const std::string& part) {
  return std::any_of(all.begin(), all.end(), [&](const auto& s) { return s.find(part) != s.npos; });
}

void check_site_row(const row& r) {
  const std::vector<berth::site_input> in{{sample(r.file), ""}};
  const auto needed = read(in, true);
  if (r.what == kind::whole) {
    REQUIRE_MESSAGE(needed.has_value(), needed.error().message());
  } else {
    REQUIRE_MESSAGE(!needed.has_value(), "a part of a cluster that is enough by itself");
    CHECK(needed.error().message().find(r.file) == 0);
  }
  const auto s = read(in);
  if (r.machines == 0) {
    REQUIRE(!s.has_value());
    CHECK(s.error().found.find("no machine") != std::string::npos);
    const auto report = berth::read_report(in.front().file, {});
    REQUIRE(report.has_value());
    CHECK(report->topologies.size() + report->fabrics.size() > 0);
    return;
  }
  REQUIRE_MESSAGE(s.has_value(), s.error().message());
  CHECK(s->spec.nodes.size() == r.machines);
  CHECK(gpus_of(*s) == r.gpus);
  CHECK(s->spec.tree.domain_count(s->spec.tree.leaf_level()) == r.domains);
  CHECK(s->net.nodes.size() == r.machines);
  CHECK(s->net.shape_of.size() == r.machines);
  static_cast<void>(berth::check_site(*s));
  // Our JSON gives the same again, graphs included.
  const std::string text = berth::write_site_json(*s);
  const auto again = berth::read_site_json({"again.json", text});
  REQUIRE_MESSAGE(again.has_value(), again.error().message());
  CHECK(berth::write_site_json(*again) == text);
  // A live cluster can be made of it.
  const berth::cluster live{s->spec, berth::cluster_limits{1, 1, 8, 8}};
  CHECK(live.tree().node_count() == r.machines);
}

void check_job_row(const row& r) {
  const auto report = berth::read_report(sample(r.file), {});
  REQUIRE_MESSAGE(report.has_value(), report.error().message());
  CHECK(report->machines.empty());
  CHECK(report->jobs.size() == r.machines);
  std::uint64_t tasks = 0, gpus = 0;
  for (const auto& j : report->jobs) {
    CHECK(!berth::fault_of(j).has_value());
    for (const auto& g : j.groups) tasks += g.wanted, gpus += std::uint64_t{g.wanted} * g.gpus;
  }
  CHECK(tasks == r.gpus);
  CHECK(gpus == r.domains);
}

TEST_SUITE("io/samples") {
  TEST_CASE("samples: every file has its row, and every row holds") {
    std::vector<std::string> files;
    for (const auto& e : std::filesystem::recursive_directory_iterator(folder))
      if (e.is_regular_file() && e.path().filename() != "README.md")
        files.push_back(std::filesystem::relative(e.path(), folder).string());
    std::sort(files.begin(), files.end());
    CHECK(files.size() == std::size(rows));
    for (std::size_t i = 0; i < files.size() && i < std::size(rows); ++i) CHECK(files[i] == rows[i].file);
    for (const auto& r : rows) {
      CAPTURE(std::string{r.file});
      if (r.what == kind::job) {
        check_job_row(r);
      } else if (r.what == kind::refused) {
        const auto report = berth::read_report(sample(r.file), {});
        REQUIRE(!report.has_value());
        CHECK(report.error().source == r.file);
        CHECK_MESSAGE(report.error().found.find(r.reason) != std::string::npos, report.error().message());
      } else {
        check_site_row(r);
      }
    }
  }
  TEST_CASE("samples: a fabric of one file and the insides of another are one graph") {
    const auto s =
        read({{sample("infiniband/links-p.ibnetdiscover"), ""}, {sample("topo-m/facts-hgx-b300-8gpu-9nic.txt"), "?0*"}},
             true);
    REQUIRE_MESSAGE(s.has_value(), s.error().message());
    CHECK(s->spec.nodes.size() == 3);
    CHECK(gpus_of(*s) == 24);
    CHECK(s->has_fabric);
    CHECK(s->off_fabric.empty());
  }
  TEST_CASE("samples: what the uplinks of a real fabric carry") {
    const auto s = read({{sample("infiniband/dgx-superpod-ndr.ibnetdiscover"), ""}});
    REQUIRE_MESSAGE(s.has_value(), s.error().message());
    const auto leaf = s->spec.tree.leaf_level().index();
    REQUIRE(s->spec.uplinks.levels.size() > leaf);
    const auto& up = s->spec.uplinks.levels[leaf];
    CHECK(up.planes == 4);
    REQUIRE(up.rates.size() == 32);
    std::size_t known = 0;  // some leaves of a rail are not cabled yet
    for (const auto& rate : up.rates) {
      if (!rate) continue;
      ++known;
      CHECK(rate->count() >= 500);  // 10 to 20 cables of 50 GB/s
      CHECK(rate->count() <= 1000);
    }
    CHECK(known >= 28);
  }
  TEST_CASE("samples: Slurm's switches, its nodes and another's insides merge by name") {
    const auto s = read({{sample("slurm/tara-mixed.topology.conf"), ""},
                         {sample("slurm/tara.slurm.conf"), ""},
                         {sample("topo-m/v100-dgx1-4nic.txt"), "tara-dgx1-[001-002]"}});
    REQUIRE_MESSAGE(s.has_value(), s.error().message());
    CHECK(s->spec.nodes.size() == 10);
    CHECK(gpus_of(*s) == 16);
    CHECK(s->spec.tree.domain_count(s->spec.tree.leaf_level()) == 4);
    CHECK(s->spec.nodes[9].name == "tara-dgx1-002");
    CHECK(s->spec.nodes[9].memory == berth::mebibytes(1024));
  }
  TEST_CASE("samples: two files about one kind of virtual machine") {
    // The two publish mirrored CPU masks; GPUs, NICs and counts of CPUs agree.
    const auto s = read(
        {{sample("nccl-topo/azure-ndv5-topo.xml"), "vm"}, {sample("nccl-topo/azure-ndv5-topo-superbench.xml"), "vm"}},
        true);
    REQUIRE_MESSAGE(s.has_value(), s.error().message());
    CHECK(s->spec.nodes.size() == 1);
    CHECK(s->spec.nodes[0].name == "vm");
    CHECK(gpus_of(*s) == 8);
  }
  TEST_CASE("samples: our JSON stands beside other files") {
    const auto first =
        read({{sample("slurm/azure-tree.topology.conf"), ""}, {sample("topo-m/v100-dgx1-4nic.txt"), "hpcbench-*"}});
    REQUIRE_MESSAGE(first.has_value(), first.error().message());
    CHECK(gpus_of(*first) == 128);
    const auto again =
        read({{{"site.json", berth::write_site_json(*first)}, ""}, {sample("slurm/squeue-json.json"), ""}});
    REQUIRE_MESSAGE(again.has_value(), again.error().message());
    CHECK(again->spec.nodes.size() == 16);
    CHECK(gpus_of(*again) == 128);
    CHECK(again->spec.tree.domain_count(again->spec.tree.leaf_level()) == 5);
    CHECK(again->jobs.size() == 1);
  }
  TEST_CASE("samples: what is no known kind of file says which kinds there are") {
    const auto s = read({{{"notes.txt", "\nbuy milk\n"}, ""}});
    REQUIRE(!s.has_value());
    CHECK(s.error().message().find(
              "notes.txt:2: found text of no known kind, 'buy milk', expected one of berth cluster") == 0);
    CHECK(read({{{"empty", " \n"}, ""}}).error().found == "an empty file");
    const auto job = read({{sample("kubernetes/volcano-job.yaml"), ""}});
    CHECK(job.error().found == "a job and no machine");
    CHECK(any(read({{sample("topo-m/k80-4gpu-node.txt"), ""}})->spec.assumptions, "names no machine"));
  }
  TEST_CASE("cluster files: any files of one site, told apart by content") {
    auto s = berth::read_cluster_files({samples::example_path("azure-tree.topology.conf")}, samples::with_shape());
    REQUIRE_MESSAGE(s.has_value(), samples::failure(s));
    CHECK(s->nodes.size() == 16);
    CHECK(samples::contains(samples::failure(berth::read_cluster_files({samples::example_path("two-groups.job.json")})),
                            "found a job and no machine"));
    const auto both = berth::read_cluster_files(
        {samples::example_path("two-groups.job.json"), samples::example_path("tara.slurm.conf")});
    REQUIRE_MESSAGE(both.has_value(), samples::failure(both));
    CHECK(both->nodes.size() == 10);
    CHECK(samples::contains(samples::failure(berth::read_cluster_files({"/nonexistent"})), "no readable file"));
    CHECK(samples::contains(samples::failure(berth::read_cluster_files({})), "no file"));
  }
}

}  // namespace
