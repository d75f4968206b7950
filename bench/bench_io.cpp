// How fast are files read? MB/s for every kind of file (the samples of tests/io/data/inputs, and two large files made
// here), and the two that matter most to a person who waits: a topology.conf of 16,384 nodes and the nodes of a
// Kubernetes cluster of 10,000, each from text to a merged cluster. Both should take at most one second.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/read_site.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"

namespace {

// A sample file; the program runs where its sources are.
berth::named_text sample(const std::string& name) {
  std::string root{__FILE__};
  root.resize(root.size() - std::string{"bench/bench_io.cpp"}.size());
  auto text = berth::load_text_file(root + "tests/io/data/inputs/" + name);
  if (!text) {
    std::fprintf(stderr, "bench_io: no sample %s\n", name.c_str());
    std::exit(1);
  }
  return {name, std::move(*text)};
}

void stop(const berth::input_error& e) {
  std::fprintf(stderr, "bench_io: %s\n", e.message().c_str());
  std::exit(1);
}

// Three levels: 16 machines of a leaf, 16 leaves of a spine. Names as sites have them, without ranges.
berth::named_text topology_conf(std::uint32_t nodes) {
  std::string out;
  std::string spine, spines;
  std::uint32_t leaf = 0, top = 0;
  for (std::uint32_t n = 0; n < nodes; n += 16, ++leaf) {
    out += "SwitchName=leaf" + std::to_string(leaf) + " Nodes=";
    for (std::uint32_t k = n; k < n + 16 && k < nodes; ++k)
      out += (k == n ? "" : ",") + std::string{"gpu-node-"} + std::to_string(100000 + k);
    out += "\n";
    spine += (spine.empty() ? "" : ",") + std::string{"leaf"} + std::to_string(leaf);
    if (leaf % 16 != 15 && n + 16 < nodes) continue;
    out += "SwitchName=spine" + std::to_string(top) + " Switches=" + spine + "\n";
    spines += (spines.empty() ? "" : ",") + std::string{"spine"} + std::to_string(top++);
    spine.clear();
  }
  return {"topology.conf", out + "SwitchName=core Switches=" + spines + "\n"};
}

// `kubectl get nodes -o json`: labels of GPU feature discovery and of a cloud, and as many more as there are to be 50,
// conditions, images.
berth::named_text node_list(std::uint32_t nodes, unsigned more_labels = 0) {
  std::string more;
  for (unsigned i = 0; i < more_labels; ++i)
    more += "                    \"feature.node.kubernetes.io/cpu-cpuid.FEATURE-" + std::to_string(100 + i) +
            "\": \"value-of-feature-" + std::to_string(1000 + i) + "\",\n";
  std::string out = "{\n    \"apiVersion\": \"v1\",\n    \"kind\": \"List\",\n    \"items\": [\n";
  for (std::uint32_t n = 0; n < nodes; ++n) {
    const std::string name = "gpu-node-" + std::to_string(100000 + n);
    const std::string rack = std::to_string(n / 16), block = std::to_string(n / 256);
    out += n == 0 ? "" : ",\n";
    out += R"(        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": {
)" + more + R"(                    "beta.kubernetes.io/arch": "amd64",
                    "kubernetes.io/hostname": ")" +
           name + R"(",
                    "node.kubernetes.io/instance-type": "p5.48xlarge",
                    "topology.kubernetes.io/zone": "zone-a",
                    "cloud.provider.com/topology-block": "block-)" +
           block + R"(",
                    "cloud.provider.com/topology-rack": "rack-)" +
           rack + R"(",
                    "nvidia.com/gpu.count": "8",
                    "nvidia.com/gpu.family": "hopper",
                    "nvidia.com/gpu.memory": "81559",
                    "nvidia.com/gpu.present": "true",
                    "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
                    "nvidia.com/mig.capable": "true"
                },
                "name": ")" +
           name + R"(",
                "uid": "4b6a0f3e-8c1d-4a55-9d57-0000)" +
           std::to_string(10000000 + n) + R"("
            },
            "spec": { "podCIDR": "10.0.0.0/24", "providerID": "x:///zone-a/i-0)" +
           std::to_string(n) + R"(" },
            "status": {
                "allocatable": { "cpu": "191450m", "ephemeral-storage": "95551679124", "memory": "2097152000Ki",
                    "nvidia.com/gpu": "8", "pods": "110" },
                "capacity": { "cpu": "192", "ephemeral-storage": "104845292Ki", "memory": "2113929216Ki",
                    "nvidia.com/gpu": "8", "pods": "110" },
                "conditions": [
                    { "lastHeartbeatTime": "2026-01-01T00:00:00Z", "message": "kubelet has sufficient memory available",
                      "reason": "KubeletHasSufficientMemory", "status": "False", "type": "MemoryPressure" },
                    { "lastHeartbeatTime": "2026-01-01T00:00:00Z", "message": "kubelet is posting ready status",
                      "reason": "KubeletReady", "status": "True", "type": "Ready" }
                ],
                "images": [ { "names": [ "registry.example/cuda@sha256:0123456789abcdef", "registry.example/cuda:12.4" ],
                    "sizeBytes": 8123456789 } ]
            }
        })";
  }
  return {"nodes.json", out + "\n    ]\n}\n"};
}

void count_bytes(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(bytes));
  state.counters["file_MB"] = static_cast<double>(bytes) / 1e6;
}

// One file alone, from text to its report: recognising and reading.
void read_one(benchmark::State& state, const berth::named_text& file) {
  const berth::reader_options options;
  for (auto _ : state) {
    auto report = berth::read_report(file, options);
    if (!report) stop(report.error());
    benchmark::DoNotOptimize(report->machines.data());
  }
  count_bytes(state, file.text.size());
}

// From text to a merged cluster.
void read_whole(benchmark::State& state, const berth::named_text& file, std::uint32_t nodes, bool needed) {
  berth::site_options options;
  options.merge.hardware.shape = berth::catalogue_shape("dgx-h100");
  options.merge.hardware_needed = needed;
  const std::vector<berth::site_input> inputs{{file, ""}};
  for (auto _ : state) {
    auto s = berth::read_site(inputs, options);
    if (!s) stop(s.error());
    if (s->spec.nodes.size() != nodes)
      stop({file.name, 0, std::to_string(s->spec.nodes.size()) + " nodes", std::to_string(nodes)});
    benchmark::DoNotOptimize(s->spec.nodes.data());
  }
  count_bytes(state, file.text.size());
}

}  // namespace

int main(int argc, char** argv) {
  for (const char* name :
       {"topo-m/facts-dgx-a100-8gpu-12nic.txt", "nccl-topo/oci-h100-topology.xml", "hwloc/turin-4xh200-nvml.xml",
        "dcgm/nvidia-smi-q-x.xml", "dcgm/dcgm-h100-8gpu.prom", "infiniband/dgx-superpod-ndr.ibnetdiscover",
        "slurm/topograph-tree.topology.conf", "slurm/sinfo-json.json", "topograph/model-large.yaml",
        "kubernetes/nodes-nwtopo-12.knavigator.yaml", "kubernetes/node-mig-mixed-a100.yaml",
        "kubernetes/trainjob-volcano.yaml", "other-schedulers/hived-design.yaml"}) {
    const auto file = sample(name);
    benchmark::RegisterBenchmark((std::string{"read/"} + name).c_str(),
                                 [file](benchmark::State& state) { read_one(state, file); });
  }
  const auto conf = topology_conf(16384), list = node_list(10000), labels = node_list(10000, 38);
  const auto target = [](const char* name, auto run) {
    benchmark::RegisterBenchmark(name, run)->Unit(benchmark::kMillisecond)->MinTime(0.5);
  };
  target("site/topology.conf/nodes:16384", [conf](benchmark::State& s) { read_whole(s, conf, 16384, true); });
  target("site/topology.conf-with-graph/nodes:16384",
         [conf](benchmark::State& s) { read_whole(s, conf, 16384, false); });
  target("site/kubectl-get-nodes-json/nodes:10000", [list](benchmark::State& s) { read_whole(s, list, 10000, true); });
  target("site/kubectl-get-nodes-json-50-labels/nodes:10000",
         [labels](benchmark::State& s) { read_whole(s, labels, 10000, true); });
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
