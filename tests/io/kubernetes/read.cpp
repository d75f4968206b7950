// Kubernetes objects about machines and where they hang: every sample of real sites, small documents for what no sample
// shows, thousands of broken copies, and what is written is read back.

#include "berth/io/kubernetes/read.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "berth/io/kubernetes/write.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "describe.hpp"
#include "read_text.hpp"

namespace {

using berth::read_kubernetes;
using site_test::describe;
using site_test::failure;
using site_test::good;
using site_test::read_text;

/// The topologies of several files, joined and completed as the merge does it.
std::vector<berth::topology_report> completed(const std::vector<berth::site_report>& reports) {
  std::vector<berth::topology_report> all;
  std::vector<const berth::site_report*> sources;
  for (const auto& r : reports) {
    sources.push_back(&r);
    all.insert(all.end(), r.topologies.begin(), r.topologies.end());
  }
  CHECK(berth::join_topologies(all).empty());
  for (auto& t : all) CHECK(berth::apply_topology_rules(t, sources).empty());
  return all;
}
std::string node(const std::string& name, const std::string& labels, const std::string& rest = "") {
  return "---\napiVersion: v1\nkind: Node\nmetadata: {name: " + name + ", labels: {" + labels + "}}\n" + rest;
}

}  // namespace

TEST_CASE("Samples of Kubernetes are read as machines, topologies and holdings, or refused with the reason") {
  struct row {
    const char* file;
    const char* text;
  };
  const row rows[] = {
      {"node-mig-mixed-a100.yaml",
       "qa-mig-worker-gpu-a100 gpus=1 model=a100-sxm4-40gb cpus=12 memory=85376MiB mig=1g.5gb:2 mig=2g.10gb:1 up "
       "aka=10.51.0.6\nheld qa-mig-worker-gpu-a100 gpus=1 split by GPUs split by MIG of qa-mig-worker-gpu-a100\n"},
      {"node-fraction.yaml", "qa-mig-worker-gpu-1 gpus=2 model=t4 cpus=32 memory=120664MiB up aka=10.51.0.4\n"},
      {"node-pai-00.yaml", "pai-node-00 gpus=2 model=V100 cpus=64 memory=256000MiB\n"},
      {"pod-mig-1g5gb.yaml", "held qa-mig-worker-gpu-a100 gpus=0 cpus=0.5 0:1g.5gb@6 by runai-team-a/job-2-0-0\n"},
      {"pod-fractional.yaml", "held i-0b498db53280b86a6 gpus=0 cpus=0.1 */500 by runai-pa/frac-1-0-0\n"},
      {"slinky-annotated-nodes.yaml",
       "node1\nnode2\nnode3\nnode4\n[topo-switch]\ns1: node1 node2\ns2: node3 node4\n[topo-block other]\nb1: node1 "
       "node2\nb2: node3 node4\n"},
      {"aws-node-topology.json",
       "ip-192-168-0-1.us-west-2.compute.internal aka=i-1111111111example\n"
       "ip-192-168-50-1.us-west-2.compute.internal aka=i-2222222222example\n"
       "ip-192-168-51-1.us-west-2.compute.internal aka=i-3333333333example\n"
       "[AWS] topology.kubernetes.io/region topology.kubernetes.io/zone topology.k8s.aws/network-node-layer-1 "
       "topology.k8s.aws/network-node-layer-2 topology.k8s.aws/network-node-layer-3\n"
       "us-west-2>us-west-2a>nn-1111111111example>nn-2222222222example>nn-3333333333example: "
       "ip-192-168-0-1.us-west-2.compute.internal\n"
       "us-west-2>us-west-2b>nn-4444444444example>nn-5555555555example>nn-6666666666example: "
       "ip-192-168-50-1.us-west-2.compute.internal\n"
       "us-west-2>us-west-2b>nn-4444444444example>nn-7777777777example>nn-8888888888example: "
       "ip-192-168-51-1.us-west-2.compute.internal\n"},
      {"extender-args.json", "nodename\nnode1\n"},
      {"volcano-hypernodes-leaf.yaml",
       "[HyperNodes]\ns0: node-0 node-1\ns1: node-2 node-3\ns2: node-4 node-5\ns3: node-6 node-7\n"},
      {"volcano-hypernodes-upper.yaml", "[HyperNodes]\n"},
      {"volcano-hypernode-discovery.yaml",
       "[topologyA2] volcano.sh/tor\n[topologyA3 other] volcano.sh/hypercluster volcano.sh/hypernode\n"},
      {"kueue-tas-gpu-queues.yaml", "[default] cloud.provider.com/topology-block cloud.provider.com/topology-rack\n"},
      {"gcp-tas-queues.yaml",
       "[gke-default] cloud.google.com/gce-topology-block cloud.google.com/gce-topology-subblock "
       "cloud.google.com/gce-topology-host\n"},
      {"oci-rdma-kueue.yaml",
       "[oci-rdma] oci.oraclecloud.com/rdma.hpc_island_id oci.oraclecloud.com/rdma.network_block_id "
       "oci.oraclecloud.com/rdma.local_block_id\n"},
      {"kai-topology-aliases.yaml", "[network] accelerator.nvidia.com/rack\n"},
      {"koordinator-clusternetworktopology.yaml",
       "[default] network.topology.nvidia.com/datacenter network.topology.nvidia.com/spine "
       "network.topology.nvidia.com/block\n"
       "[network.topology.nvidia.com/accelerator nvlink] network.topology.nvidia.com/accelerator\n"},
      {"koordinator-device.yaml",
       "node-1 gpus=2 inside=gpu0,gpu1\nheld node-1 gpus=1 by fa8983dc-bb76-4eeb-8dcc-556fbd44d7ce\n"},
      {"nrt-worker-a.yaml", "worker-node-a cpus=6 inside=numa0,numa1\n"},
      {"nrt-worker-b.yaml", "worker-node-b cpus=6 inside=numa0,numa1\n"},
      {"networktopology-cr.yaml", "[UserDefined] topology.kubernetes.io/region topology.kubernetes.io/zone\n"},
      {"dra-resourceslice-devices.yaml",
       "? gpus=1 model=a100-pcie-40gb mig=1g.5gb:1 inside=gpu0,host_bridge0,numa0 split=0\n"},
  };
  for (const auto& r : rows) {
    CAPTURE(r.file);
    const auto file = broken::input(std::string{"kubernetes/"} + r.file);
    CHECK(berth::looks_like_kubernetes(file.text));
    const auto got = read_kubernetes(file);
    REQUIRE_MESSAGE(got.has_value(), failure(got));
    CHECK(describe(*got) == r.text);
    site_test::check_sound(*got);
  }
  const row refused[] = {
      {"extender-filter-result.json", ":1: found an ExtenderFilterResult, the answer for one pod"},
      {"extender-bind-args.json", ":1: found ExtenderBindingArgs"},
      {"extender-preempt-args.json", ":1: found ExtenderPreemptionArgs"},
      {"extender-priority.json", ":1: found a HostPriority"},
      {"jobset-nwtopo.knavigator.yaml", ":33: found a Go template"},
      {"kueue-cohorts.yaml", ":3: found only 5 Cohort, which share out nodes and list none"},
      {"kueue-cluster-queues.yaml", ":2: found only 4 ClusterQueue"},
      {"volcano-job.yaml", ":1: found only Job, which ask for nodes and list none"},
      {"pod-gpu-00.yaml", ":1: found only Pod"},
      {"dra-imex-test1.yaml", ":5: found only 4 Deployment, Namespace, 4 ResourceClaim, ResourceClaimTemplate"},
  };
  for (const auto& r : refused) {
    const auto file = broken::input(std::string{"kubernetes/"} + r.file);
    CHECK(berth::looks_like_kubernetes(file.text));
    CHECK_MESSAGE(failure(read_kubernetes(file)).find(std::string{r.file} + r.text) != std::string::npos,
                  failure(read_kubernetes(file)));
  }
}

TEST_CASE("knavigator's twelve nodes have two NVLink domains that cut across four blocks") {
  const auto r = read_kubernetes(broken::input("kubernetes/nodes-nwtopo-12.knavigator.yaml"));
  REQUIRE(r.has_value());
  REQUIRE(r->machines.size() == 12);
  for (const auto& m : r->machines) {
    CHECK(m.gpus == 8U);
    CHECK(m.shape == "dgx-a100-80gb");
  }
  REQUIRE(r->topologies.size() == 2);
  CHECK(describe(r->topologies[0]) ==
        "[topograph] network.topology.nvidia.com/datacenter network.topology.nvidia.com/spine "
        "network.topology.nvidia.com/block\nsw31>sw21>sw11: n1 n2 n3\nsw31>sw21>sw12: n4 n5 n6\nsw31>sw22>sw13: n7 n8 "
        "n9\nsw31>sw22>sw14: n10 n11 n12");
  CHECK(describe(r->topologies[1]) ==
        "[network.topology.nvidia.com/accelerator nvlink]\nnvl1: n1 n2 n3 n4 n5 n6\nnvl2: n7 n8 n9 n10 n11 n12");
}

TEST_CASE("Nodes: GPUs by resources and labels, MIG, time slicing, cordons, conditions, taints") {
  const std::string status8 =
      "status: {allocatable: {cpu: 95500m, memory: 1900Gi, nvidia.com/gpu: \"7\"}, capacity: "
      "{cpu: 96, memory: 2000Gi, nvidia.com/gpu: 8}, conditions: [{type: Ready, status: 'True'}]}\n";
  CHECK(read_text(node("a",
                       "nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3, nvidia.com/gpu.count: '8', "
                       "node.kubernetes.io/instance-type: p5.48xlarge",
                       status8)) ==
        "a gpus=8 model=h100-sxm5-80gb shape=p5.48xlarge cpus=95.5 memory=1945600MiB up\nheld a gpus=1 by GPUs not "
        "offered of a\n");
  CHECK(read_text(node("a",
                       "nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB-MIG-1g.5gb, nvidia.com/mig.strategy: single, "
                       "nvidia.com/gpu.count: '7'",
                       "status: {allocatable: {nvidia.com/gpu: 7}}\n")) ==
        "a gpus=0 model=a100-sxm4-40gb mig=1g.5gb:7\n");
  CHECK(read_text(node(
            "a", "nvidia.com/gpu.product: Tesla-T4-SHARED, nvidia.com/gpu.count: '2', nvidia.com/gpu.replicas: '4'",
            "status: {allocatable: {nvidia.com/gpu: 8}, capacity: {nvidia.com/gpu: 8}}\n")) == "a gpus=2 model=t4\n");
  CHECK(read_text(node("a", "amd.com/gpu.product-name: AMD_Instinct_MI300X_OAM",
                       "status: {allocatable: {amd.com/gpu: 8}}\n")) == "a gpus=8 model=AMD_Instinct_MI300X_OAM\n");
  CHECK(read_text(node(
            "a",
            "cloud.google.com/gke-accelerator: nvidia-h100-mega-80gb, cloud.google.com/gke-accelerator-count: '8'")) ==
        "a gpus=8 model=h100-sxm5-80gb\n");
  CHECK(read_text(node("a", "", "status: {allocatable: {gpu.intel.com/i915: 4}}\n")) == "a gpus=4\n");
  CHECK(read_text(
            node("a", "", "spec: {unschedulable: true}\nstatus: {conditions: [{type: Ready, status: 'True'}]}\n")) ==
        "a down\n");
  CHECK(read_text(node("a", "", "status: {conditions: [{type: Ready, status: Unknown}]}\n")) == "a down\n");
  const auto tainted =
      good(node("a", "x: y, kubernetes.io/hostname: host-a",
                "spec: {providerID: 'aws:///us-west-2a/i-0123', taints: [{key: nvidia.com/gpu, value: present, "
                "effect: NoSchedule}, {key: soft, effect: PreferNoSchedule}]}\n"));
  CHECK(tainted.machines[0].labels == std::vector<std::string>{"x=y", "taint:nvidia.com/gpu=present:NoSchedule"});
  // What says no more than a cordon or the condition Ready is not kept besides; other conditions of the node are.
  const auto pressed = good(node("a", "",
                                 "spec: {taints: [{key: node.kubernetes.io/not-ready, effect: NoExecute}, {key: "
                                 "node.kubernetes.io/memory-pressure, effect: NoSchedule}, {key: "
                                 "node.kubernetes.io/disk-pressure, effect: NoSchedule}, {key: "
                                 "node.kubernetes.io/out-of-service, value: nodeshutdown, effect: NoExecute}]}\n"));
  CHECK(pressed.machines[0].labels ==
        std::vector<std::string>{"taint:node.kubernetes.io/disk-pressure=:NoSchedule",
                                 "taint:node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"});
  CHECK(tainted.machines[0].aliases == std::vector<std::string>{"host-a", "i-0123"});
  CHECK(site_test::says(good(node("a", "", "status: {allocatable: {rdma/hca: 1, cpu: 1}}\n")), "rdma/hca"));
  // What is wrong has a line.
  CHECK(read_text(node("a", "", "status:\n  allocatable:\n    cpu: many\n")).starts_with("f:7: found cpu: 'many'"));
  CHECK(read_text(node("a", "", "status:\n  allocatable: {nvidia.com/gpu: 65}\n"))
            .starts_with("f:6: found 65 GPUs on one node"));
  CHECK(read_text(node("a", "", "status:\n  allocatable: {nvidia.com/gpu: 1.5}\n"))
            .starts_with("f:6: found nvidia.com/gpu: 1.5"));
  CHECK(read_text(node("a", "", "status:\n  allocatable: {nvidia.com/gpu: 8}\n  capacity: {nvidia.com/gpu: 4}\n"))
            .starts_with("f:6: found nvidia.com/gpu: 8 allocatable of 4"));
  CHECK(read_text(node("a", "") + node("a", "")).starts_with("f:6: found node 'a' a second time (first: line 2)"));
  CHECK(read_text(node("'{{ .name }}'", "")).starts_with("f:4: found name: '{{ .name }}', a Go template"));
  CHECK(read_text("kind: Node\napiVersion: v1\nmetadata: {}\n").starts_with("f:1: found no metadata.name"));
  CHECK(read_text(node("a", "nvidia.com/gpu.count: lots")).starts_with("f:4: found nvidia.com/gpu.count: 'lots'"));
}

TEST_CASE("Lists are unpacked, JSON objects may follow one another, quantities come in all spellings") {
  CHECK(
      read_text(
          R"({"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]})") ==
      "a\nb\n");
  CHECK(read_text("{\"kind\": \"Node\", \"apiVersion\": \"v1\", \"metadata\": {\"name\": \"a\"}}\n{\"kind\": \"Node\", "
                  "\"apiVersion\": "
                  "\"v1\", \"metadata\": {\"name\": \"b\"}}\n") == "a\nb\n");
  CHECK(read_text("{\"kind\": \"Node\", \"metadata\": {\"name\": \"a\"}}\n\n{\"kind\": \"Node\", \"metadata\": 5}")
            .starts_with("f:3: found metadata: 5"));
  struct row {
    const char* text;
    std::int64_t whole;
    int thousandths;
  };
  for (const row& r : {row{"87425380Ki", 89523589120, 0},
                       row{"40Gi", 42949672960, 0},
                       row{"2", 2, 0},
                       row{"500m", 0, 500},
                       row{"1e3", 1000, 0},
                       row{"1.5", 1, 500},
                       row{"1.5Gi", 1610612736, 0},
                       row{"100u", 0, 1},
                       row{".5", 0, 500},
                       row{"12E", 0, -1},
                       row{"1E", 1000000000000000000, 0},
                       row{"9223372036854775807", 9223372036854775807, 0},
                       row{"5.", 5, 0},
                       row{"-1", 0, -1},
                       row{"", 0, -1},
                       row{"Gi", 0, -1},
                       row{"1.2.3", 0, -1},
                       row{"1 Gi", 0, -1},
                       row{"1e-3", 0, 1},
                       row{"0.0001", 0, 1},
                       row{"1e99", 0, -1},
                       row{"0e99", 0, 0},
                       row{"+3k", 3000, 0},
                       row{"1Zi", 0, -1}}) {
    CAPTURE(r.text);
    const auto q = berth::parse_quantity(r.text);
    CHECK(q.has_value() == (r.thousandths >= 0));
    if (!q) continue;
    CHECK(q->whole == r.whole);
    CHECK(q->thousandths == r.thousandths);
  }
}

TEST_CASE("Labels of clouds and of topograph make levels; NVLink domains come from cliques") {
  CHECK(read_text(node("a", "nvidia.com/gpu.clique: 7b968a6d-c8aa-45e1-9e07-e1e51be99c31.0") +
                  node("b", "nvidia.com/gpu.clique: 7b968a6d-c8aa-45e1-9e07-e1e51be99c31.1") +
                  node("c", "nvidia.com/gpu.clique: 00000000-0000-0000-0000-000000000000.0")) ==
        "a\nb\nc\n[nvidia.com/gpu.clique nvlink]\n7b968a6d-c8aa-45e1-9e07-e1e51be99c31.0: "
        "a\n7b968a6d-c8aa-45e1-9e07-e1e51be99c31.1: b\n");
  CHECK(read_text(node("a", "fabric.topograph.run/tier-0: l1, fabric.topograph.run/tier-1: s1") +
                  node("b", "fabric.topograph.run/tier-0: l2, fabric.topograph.run/tier-1: s1") +
                  node("c", "fabric.topograph.run/tier-1: s1") + node("d", "")) ==
        "a\nb\nc\nd\n[topograph] fabric.topograph.run/tier-1 fabric.topograph.run/tier-0\ns1: c\ns1>l1: a\ns1>l2: b\n");
  CHECK(read_text(node("a", "topology.kubernetes.io/zone: z1, cloud.google.com/gce-topology-block: b1") +
                  node("b", "topology.kubernetes.io/zone: z2, cloud.google.com/gce-topology-block: b1")) ==
        "a\nb\n[GKE] topology.kubernetes.io/zone cloud.google.com/gce-topology-block\nz1>b1: a\nz2>b1: b\n");
  CHECK(read_text(node("a", "topology.kubernetes.io/region: r")) == "a\n[zones] topology.kubernetes.io/region\nr: a\n");
  // A Topology of the file says which labels are levels, wherever it stands; the host name is no level.
  const std::string topology =
      "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: Topology\nmetadata: {name: t}\nspec: {levels: [{nodeLabel: "
      "x/rack}, "
      "{nodeLabel: kubernetes.io/hostname}]}\n";
  CHECK(read_text(node("a", "x/rack: r1, topology.kubernetes.io/zone: z") + topology) == "a\n[t] x/rack\nr1: a\n");
  CHECK(read_text("---\nkind: ResourceFlavor\nspec: {topologyName: u}\n" + topology +
                  "---\nkind: Topology\nmetadata: {name: u}\nspec: {levels: [{nodeLabel: x/row}]}\n") ==
        "[t other] x/rack\n[u] x/row\n");
  CHECK(read_text(
            "apiVersion: grove.io/v1alpha1\nkind: ClusterTopology\nmetadata: {name: g}\nspec: {levels: [{domain: rack, "
            "key: x/rack}, {domain: host, key: kubernetes.io/hostname}]}\n") == "[g] x/rack\n");
  CHECK(read_text("kind: Topology\nspec:\n  levels:\n  - {nodeLabel: a}\n  - {nodeLabel: a}\n")
            .starts_with("f:5: found level 'a' twice"));
  CHECK(
      read_text("kind: ClusterNetworkTopology\nspec: {hierarchy: [{layerName: a, labelKey: x, parentTopologyLayer: b}, "
                "{layerName: b, labelKey: y, parentTopologyLayer: a}]}\n")
          .find("circle") != std::string::npos);
}

TEST_CASE("HyperNodes select members by name, pattern and labels; trees of several files are one") {
  const auto hyper = [](const std::string& name, int tier, const std::string& type, const std::string& selector) {
    return "---\napiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata: {name: " + name +
           "}\nspec: {tier: " + std::to_string(tier) + ", members: [{type: " + type + ", selector: {" + selector +
           "}}]}\n";
  };
  const std::string nodes = node("n-1", "rack: r1") + node("n-2", "rack: r1") + node("m-1", "rack: r2");
  CHECK(read_text(nodes + hyper("s0", 1, "Node", "regexMatch: {pattern: '^n-[0-9]+$'}") +
                  hyper("s1", 1, "Node", "labelMatch: {matchLabels: {rack: r2}}") +
                  hyper("top", 2, "HyperNode", "regexMatch: {pattern: '^s'}")) ==
        "n-1\nn-2\nm-1\n[HyperNodes]\ntop>s0: n-1 n-2\ntop>s1: m-1\n");
  CHECK(read_text(nodes + hyper("s", 1, "Node",
                                "labelMatch: {matchExpressions: [{key: rack, operator: NotIn, values: [r1]}]}")) ==
        "n-1\nn-2\nm-1\n[HyperNodes]\ns: m-1\n");
  // Nodes in one file, leaves in another, the upper tiers in a third.
  std::vector<berth::site_report> reports;
  reports.push_back(good(hyper("top", 2, "HyperNode", "exactMatch: {name: s0}")));
  reports.push_back(good(hyper("s0", 1, "Node", "regexMatch: {pattern: 'n-'}")));
  reports.push_back(good(nodes));
  const auto whole = completed(reports);
  REQUIRE(whole.size() == 1);
  CHECK(describe(whole[0]) == "[HyperNodes]\ntop>s0: n-1 n-2");
  const berth::named_text leaf = broken::input("kubernetes/volcano-hypernodes-leaf.yaml"),
                          upper = broken::input("kubernetes/volcano-hypernodes-upper.yaml");
  std::vector<berth::site_report> two{*read_kubernetes(leaf), *read_kubernetes(upper)};
  CHECK(describe(completed(two)[0]) ==
        "[HyperNodes]\ns6>s4>s0: node-0 node-1\ns6>s4>s1: node-2 node-3\ns6>s5>s2: node-4 node-5\ns6>s5>s3: node-6 "
        "node-7");
  // Faults.
  CHECK(read_text(hyper("a", 1, "Node", "exactMatch: {name: x}") + hyper("b", 1, "Node", "exactMatch: {name: x}"))
            .find("node 'x' in 'a' and in 'b'") != std::string::npos);
  CHECK(read_text(hyper("a", 1, "HyperNode", "exactMatch: {name: b}") + hyper("b", 1, "Node", "exactMatch: {name: x}"))
            .find("of tier 1 with member 'b' of tier 1") != std::string::npos);
  CHECK(read_text(hyper("a", 1, "Node", "exactMatch: {name: x}, regexMatch: {pattern: y}")).find("2 kinds of match") !=
        std::string::npos);
  CHECK(read_text(hyper("a", 1, "Node", "regexMatch: {pattern: '(a'}")).find("pattern: '(a'") != std::string::npos);
  CHECK_FALSE(berth::parse_name_pattern("(a{99}){99}{99}{99}{99}").has_value());
  CHECK(std::regex_search(std::string(250, 'a'), *berth::parse_name_pattern("(a*)*a$")));  // in polynomial time
}

TEST_CASE("Device lists give the inside of a machine") {
  CHECK(read_text("kind: Device\napiVersion: scheduling.koordinator.sh/v1alpha1\nmetadata: {name: a, labels: "
                  "{node.koordinator.sh/gpu-model: "
                  "Tesla-T4}}\nspec:\n  devices:\n"
                  "  - {type: gpu, minor: 1, id: GPU-b, health: true, topology: {socketID: 0, nodeID: 0, pcieID: p0, "
                  "busID: '0000:1B:00.0'}}\n"
                  "  - {type: gpu, minor: 0, id: GPU-a, health: false, topology: {socketID: 0, nodeID: 0, pcieID: p0, "
                  "busID: '0000:1a:00.0'}}\n"
                  "  - {type: rdma, minor: 0, id: mlx5_0, health: true, topology: {socketID: 0, nodeID: 0, pcieID: p0, "
                  "busID: '0000:1c:00.0'}}\n") ==
        "a gpus=2 model=t4 broken=0 inside=gpu0,gpu1,mlx5_0,pcie_switch0,numa0,socket0\n");
  CHECK(read_text("kind: NodeResourceTopology\napiVersion: topology.node.k8s.io/v1alpha1\nmetadata: {name: a}\nzones:\n"
                  "- {name: node-0, type: Node, costs: [{name: node-0, value: 10}, {name: node-1, value: 20}], "
                  "resources: [{name: cpu, "
                  "capacity: '32', allocatable: '30', available: '30'}, {name: nvidia.com/gpu, capacity: '4', "
                  "allocatable: '4'}]}\n"
                  "- {name: node-1, type: Node, resources: [{name: cpu, capacity: '32'}, {name: nvidia.com/gpu, "
                  "capacity: '2'}]}\n") == "a gpus=6 cpus=62 inside=gpu0,gpu1,gpu2,gpu3,gpu4,gpu5,numa0,numa1\n");
  const std::string zones =
      "---\nkind: NodeResourceTopology\nmetadata: {name: a}\nzones:\n- {name: node-0, type: Node, costs: {node-0: 10}, "
      "resources: [{name: nvidia.com/gpu, capacity: 1}]}\n";
  const std::string device =
      "---\nkind: Device\napiVersion: scheduling.koordinator.sh/v1alpha1\nmetadata: {name: a}\nspec: {devices: [{type: "
      "gpu, "
      "minor: 0, id: GPU-a, health: true}]}\n";
  CHECK(read_text(zones) == "a gpus=1 inside=gpu0,numa0\n");
  CHECK(read_text(zones + device) == "a gpus=1 inside=gpu0\n");
  CHECK(read_text(device + zones) == "a gpus=1 inside=gpu0\n");
  CHECK(read_text(device + device).find("a second list of the devices of node 'a'") != std::string::npos);
  const std::string slice =
      "---\napiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nspec:\n  driver: gpu.nvidia.com\n  nodeName: a\n  "
      "pool: {name: a, generation: GEN}\n"
      "  devices:\n  - name: gpu-0\n    attributes: {type: {string: gpu}, uuid: {string: GPU-x}, productName: {string: "
      "Tesla T4}, "
      "resource.kubernetes.io/pcieRoot: {string: 'pci0000:00'}}\n    capacity: {memory: {value: 15Gi}}\n";
  const auto generation = [&](const char* g) {
    std::string s = slice;
    return s.replace(s.find("GEN"), 3, g);
  };
  CHECK(read_text(generation("1") + node("a", "", "status: {allocatable: {nvidia.com/gpu: 1}}\n")).find("a gpus=1") ==
        0);
  CHECK(read_text(generation("1") + generation("2") + generation("1")) ==
        "a gpus=1 model=t4 inside=gpu0,host_bridge0\n");
  CHECK(read_text(
            "apiVersion: resource.k8s.io/v1beta1\nkind: ResourceSlice\nspec:\n  driver: gpu.nvidia.com\n  nodeName: "
            "a\n  devices:\n"
            "  - {name: m, basic: {attributes: {type: {string: mig}, profile: {string: 1g.5gb}, parentUUID: {string: "
            "GPU-p}}}}\n"
            "  - {name: g, basic: {attributes: {type: {string: gpu}, uuid: {string: GPU-q}, index: {int: 0}}}}\n") ==
        "a gpus=2 mig=1g.5gb:1 inside=gpu0,gpu1 split=1\n");
  CHECK(read_text("apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nspec: {driver: d, nodeName: a, devices: "
                  "[{name: g, attributes: "
                  "{pciBusID: {string: nowhere}}}]}\n")
            .find("bus id 'nowhere'") != std::string::npos);
}

TEST_CASE("Other lists of nodes: EC2, extender arguments, simulations, discovery in a ConfigMap") {
  CHECK(
      read_text(
          R"({"Instances": [{"InstanceId": "i-1", "InstanceType": "p5.48xlarge", "NetworkNodes": ["nn-1", "nn-2", "nn-3"], "AvailabilityZone": "us-west-2a"}]})") ==
      "i-1 shape=p5.48xlarge\n[AWS] topology.kubernetes.io/zone topology.k8s.aws/network-node-layer-1 "
      "topology.k8s.aws/network-node-layer-2 topology.k8s.aws/network-node-layer-3\nus-west-2a>nn-1>nn-2>nn-3: i-1\n");
  CHECK(read_text(R"({"pod": {}, "nodenames": ["a", "b"]})") == "a\nb\n");
  CHECK(read_text("Nodes:\n- {GPUs: 8, Count: 2}\n- {GPUs: 4}\nQueues: []\n") ==
        "node-0 gpus=8\nnode-1 gpus=8\nnode-2 gpus=4\n");
  CHECK(read_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  x.conf: |\n    "
                  "networkTopologyDiscovery:\n    - source: label\n"
                  "      enabled: true\n      config:\n        networkTopologyTypes:\n          t: [{nodeLabel: "
                  "volcano.sh/tor}]\n") == "[t] volcano.sh/tor\n");
  CHECK(read_text("apiVersion: v1\nkind: ConfigMap\ndata:\n  x.conf: |\n    networkTopologyDiscovery:\n    - source: "
                  "ufm\n      enabled: yes\n")
            .starts_with("f:7: found enabled: 'yes'"));
  CHECK(read_text("kind: Widget\n").starts_with("f:1: found only Widget, expected"));
  CHECK(site_test::says(good(node("a", "") + "---\nkind: Widget\n"), "Widget"));
}

TEST_CASE("Jobs beside nodes are read by the function that is given, and only then") {
  const std::string text =
      node("a", "") + "---\nkind: PodGroup\napiVersion: scheduling.run.ai/v2alpha2\nmetadata: {name: g}\n";
  CHECK(site_test::says(good(text), "PodGroup"));
  std::size_t asked = 0;
  const auto jobs =
      [&](const berth::kube_documents& d) -> berth::expected<std::vector<berth::job_spec>, berth::input_error> {
    asked += d.objects.size();
    return std::vector<berth::job_spec>(1);
  };
  const auto r = read_kubernetes({"f", text}, {}, jobs);
  REQUIRE(r.has_value());
  CHECK(r->jobs.size() == 1);
  CHECK(asked == 2);
  CHECK_FALSE(site_test::says(*r, "PodGroup"));
  CHECK(read_kubernetes({"f", node("a", "")}, {}, jobs).has_value());
  CHECK(asked == 2);
}

TEST_CASE("Labels that name machines are dropped once there are many, those that tell kinds stay") {
  std::string text;
  for (int i = 0; i < 200; ++i)
    text += node("n" + std::to_string(i), "node-ip: i" + std::to_string(i) + ", pool: p" + std::to_string(i % 3));
  const auto r = good(text);
  CHECK(r.machines[7].labels == std::vector<std::string>{"pool=p1"});
  CHECK(site_test::says(r, "node-ip"));
}

namespace {

/// A cluster of the first topology of a report.
berth::cluster_spec spec_of(const berth::site_report& r) {
  std::vector<std::uint32_t> domain_of;
  std::vector<const berth::topology_member*> members;
  for (const auto& m : r.topologies[0].members) {
    domain_of.push_back(m.domain);
    members.push_back(&m);
  }
  auto built = berth::domain_tree_builder::build(r.topologies[0].domains, domain_of);
  REQUIRE(built.has_value());
  berth::cluster_spec s;
  s.tree = std::move(built->tree);
  s.nodes.resize(members.size());
  s.shapes.push_back(berth::make_plain_shape("box", 8, "h100-sxm5-80gb", berth::cpus(96), berth::gibibytes(100)));
  for (std::size_t i = 0; i < members.size(); ++i) {
    auto& n = s.nodes[built->node_ids[i].index()];
    n.name = members[i]->machine;
    n.shape = berth::shape_id{0};
    n.cpu = berth::cpus(96);
    n.memory = berth::gibibytes(100);
    for (const auto& m : r.machines)
      if (m.name == n.name)
        for (const auto& l : m.labels)
          if (l.find("topology") == std::string::npos && !l.starts_with("nvidia.com") &&
              !l.starts_with("node.kubernetes"))
            n.labels.push_back(l);
    n.usable = i != 1;
  }
  return s;
}

}  // namespace

TEST_CASE("What is written as Kueue labels or HyperNodes is read back as the same tree") {
  using read_text_fn = berth::expected<std::string, berth::input_error> (*)(const berth::cluster_spec&);
  const std::string uneven =
      node("a", "topology.berth/leaf: L_1, topology.berth/spine: s1, pool: x") +
      node("b", "topology.berth/leaf: L_1, topology.berth/spine: s1, feature.berth/ib: 'true'") +
      node("c", "topology.berth/spine: s2", "spec: {taints: [{key: k, value: v, effect: NoExecute}]}\n") +
      node("d", "topology.berth/leaf: l.9") +
      "---\nkind: Topology\nspec: {levels: [{nodeLabel: topology.berth/spine}, {nodeLabel: topology.berth/leaf}]}\n";
  std::vector<berth::site_report> reports{
      good(uneven), *read_kubernetes(broken::input("kubernetes/nodes-nwtopo-12.knavigator.yaml"))};
  std::vector<berth::site_report> hyper{*read_kubernetes(broken::input("kubernetes/volcano-hypernodes-leaf.yaml")),
                                        *read_kubernetes(broken::input("kubernetes/volcano-hypernodes-upper.yaml"))};
  hyper[0].topologies = completed(hyper);
  reports.push_back(hyper[0]);
  for (const auto& r : reports)
    for (const read_text_fn write :
         {read_text_fn{berth::write_kueue_labels}, read_text_fn{berth::write_volcano_hypernodes}}) {
      const auto spec = spec_of(r);
      const auto once = write(spec);
      REQUIRE_MESSAGE(once.has_value(), failure(once));
      const auto back = good(*once);
      const auto again_spec = spec_of(back);
      REQUIRE(again_spec.nodes.size() == spec.nodes.size());
      REQUIRE(again_spec.tree.level_count() == spec.tree.level_count());
      for (std::uint32_t n = 0; n < spec.nodes.size(); ++n) {
        CHECK(again_spec.nodes[n].name == spec.nodes[n].name);
        CHECK(again_spec.tree.path(berth::node_id{n}) == spec.tree.path(berth::node_id{n}));
      }
      for (std::uint8_t l = 0; l < spec.tree.level_count(); ++l)
        CHECK(again_spec.tree.level_name(berth::level_id{l}) == spec.tree.level_name(berth::level_id{l}));
      if (write == read_text_fn{berth::write_kueue_labels}) {
        for (std::uint32_t n = 0; n < spec.nodes.size(); ++n) {
          CHECK(again_spec.nodes[n].labels == spec.nodes[n].labels);
          CHECK(describe(back.machines[n]) == spec.nodes[n].name +
                                                  " gpus=8 model=h100-sxm5-80gb shape=box cpus=96 memory=102400MiB" +
                                                  (spec.nodes[n].usable ? "" : " down"));
        }
      } else {
        const auto twice = write(again_spec);
        REQUIRE(twice.has_value());
        CHECK(*twice == *once);
      }
    }
  berth::cluster_spec bad = spec_of(reports[0]);
  bad.nodes[0].name = "Node_1";
  CHECK(failure(berth::write_kueue_labels(bad)).find("node 'Node_1'") != std::string::npos);
  CHECK(failure(berth::write_volcano_hypernodes(bad)).find("node 'Node_1'") != std::string::npos);
  bad.nodes[0].name = "ok";
  bad.nodes[0].labels = {"bad key=1"};
  CHECK(failure(berth::write_kueue_labels(bad)).find("label 'bad key=1'") != std::string::npos);
}

TEST_CASE("Broken files give a value or an error with source and words") {
  std::vector<berth::named_text> seeds;
  for (const char* f :
       {"slinky-annotated-nodes.yaml", "node-pai-00.yaml", "aws-node-topology.json", "extender-args.json",
        "volcano-hypernodes-leaf.yaml", "volcano-hypernodes-upper.yaml", "volcano-hypernode-discovery.yaml",
        "kueue-tas-gpu-queues.yaml", "kai-topology-aliases.yaml", "koordinator-device.yaml",
        "koordinator-clusternetworktopology.yaml", "nrt-worker-a.yaml", "networktopology-cr.yaml",
        "dra-resourceslice-devices.yaml", "nodes-nwtopo-12.knavigator.yaml", "pod-mig-1g5gb.yaml"})
    seeds.push_back(broken::input(std::string{"kubernetes/"} + f));
  const std::vector<std::string_view> words = {"{",
                                               "}",
                                               "[",
                                               "]",
                                               ": ",
                                               "- ",
                                               "\n  ",
                                               "&a ",
                                               "*a",
                                               "<<: *a",
                                               "!!str ",
                                               "|\n",
                                               "---\n",
                                               "'",
                                               "\"",
                                               "null",
                                               "-1",
                                               "1e999",
                                               "kind: Node",
                                               "kind: List",
                                               "items:",
                                               "nvidia.com/gpu: 65",
                                               "\"name\"",
                                               "~",
                                               "{{ .x }}",
                                               "regexMatch: {pattern: '(a|b)*'}",
                                               "18446744073709551616",
                                               "\xFF",
                                               "\t",
                                               "#",
                                               "true"};
  broken::run(
      seeds, words, 150, 20261130, [](const berth::named_text& f) { return read_kubernetes(f); },
      site_test::check_sound);
}
