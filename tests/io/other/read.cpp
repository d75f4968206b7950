// HiveD, Flux, Ray and YARN: samples of real sites, fixtures in the form that the tools' sources and documents give,
// and broken copies.
//
// The Flux graph has the form of flux-framework/flux-sched `t/data/resource/jgfs/tiny.json`, its newer form that of
// RFC 40. The texts of `ray status` follow ray-project/ray `python/ray/autoscaler/v2/utils.py` and the outputs in Ray's
// documentation, the JSON `python/ray/util/state/common.py` and `ray.nodes()`. YARN's nodes follow the table "Cluster
// Nodes API" of Hadoop's ResourceManager REST documentation.

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "../kubernetes/describe.hpp"
#include "berth/io/other/flux_jgf.hpp"
#include "berth/io/other/hived.hpp"
#include "berth/io/other/ray_status.hpp"
#include "berth/io/other/yarn.hpp"

namespace {

using site_test::describe;
using site_test::failure;

template <class Read>
std::string shown(Read read, const std::string& text) {
  const auto r = read(berth::named_text{"f", text}, berth::reader_options{});
  return r ? describe(*r) : r.error().message();
}
const auto hived = [](const berth::named_text& f, const berth::reader_options& o) { return berth::read_hived(f, o); };
const auto flux = [](const berth::named_text& f, const berth::reader_options& o) { return berth::read_flux_jgf(f, o); };
const auto ray = [](const berth::named_text& f, const berth::reader_options& o) {
  return berth::read_ray_status(f, o);
};
const auto yarn = [](const berth::named_text& f, const berth::reader_options& o) { return berth::read_yarn(f, o); };

std::string vertex(int id, const std::string& type, int number, const std::string& more = "") {
  return R"({"id": ")" + std::to_string(id) + R"(", "metadata": {"type": ")" + type + R"(", "basename": ")" + type +
         R"(", "name": ")" + type + std::to_string(number) + R"(", "id": )" + std::to_string(number) +
         R"(, "uniq_id": )" + std::to_string(id) +
         R"(, "rank": -1, "exclusive": false, "unit": "", "size": 1, "paths": {"containment": "/x"})" + more + "}}";
}
std::string edge(int a, int b) {
  return R"({"source": ")" + std::to_string(a) + R"(", "target": ")" + std::to_string(b) +
         R"(", "metadata": {"name": {"containment": "contains"}}})";
}
/// A cluster, two racks, a node in each with a socket, two cores, 16 GB and a GPU.
std::string two_racks() {
  std::string v = vertex(0, "cluster", 0), e;
  int id = 1;
  for (int rack = 0; rack < 2; ++rack) {
    const int r = id++, n = id++, s = id++;
    v += ",\n" + vertex(r, "rack", rack) + ",\n" + vertex(n, "node", rack) + ",\n" + vertex(s, "socket", 0);
    e += (e.empty() ? "" : ",\n") + edge(0, r) + "," + edge(r, n) + "," + edge(n, s) + "," + edge(s, id) + "," +
         edge(s, id + 1) + "," + edge(s, id + 2) + "," + edge(s, id + 3);
    v += ",\n" + vertex(id, "core", 0) + ",\n" + vertex(id + 1, "core", 1) + ",\n" + vertex(id + 2, "gpu", 0) + R"(,
{"id": ")" +
         std::to_string(id + 3) +
         R"(", "metadata": {"type": "memory", "basename": "memory", "id": 0, "size": 16, "unit": "GB"}})";
    id += 4;
  }
  return "{\"graph\": {\"nodes\": [\n" + v + "],\n\"edges\": [\n" + e + "]}}\n";
}
const std::string status =
    "======== Autoscaler status: 2025-02-11 20:50:28.351629 ========\nNode "
    "status\n---------------------------------------------------------------\n"
    "Active:\n 1 node_9ea7\n 1 node_4914\nPending:\n (no pending nodes)\nRecent failures:\n (no "
    "failures)\n\nResources\n"
    "---------------------------------------------------------------\nUsage:\n 0.0/128.0 CPU\n 2.0/16.0 GPU (1.0 used "
    "of 2.0 reserved in placement "
    "groups)\n 0.0/2.0 accelerator_type:H200\n 0B/1.78TiB memory\n 0B/124.0GiB object_store_memory\n\nDemands:\n (no "
    "resource demands)\n";

}  // namespace

TEST_CASE("HiveD's cells are machines, switches and sockets, pinned cells are labels") {
  CHECK(describe(*berth::read_hived(broken::input("other-schedulers/hived-basic.yaml"))) ==
        "10.151.41.20 gpus=4 model=K80\n10.151.41.21 gpus=4 model=K80\n10.151.41.22 gpus=4 "
        "model=K80\n[]\n3-K80-NODE/0: 10.151.41.20 10.151.41.21 "
        "10.151.41.22\n");
  const auto feature = berth::read_hived(broken::input("other-schedulers/hived-feature-2.yaml"));
  REQUIRE(feature.has_value());
  CHECK(describe(feature->machines[0]) == "10.151.41.18 gpus=4 model=K80 cpus=16 memory=32768MiB");
  CHECK(describe(feature->machines[4]) == "10.151.41.26 gpus=4 model=M60 cpus=16 memory=32768MiB");
  const auto design = berth::read_hived(broken::input("other-schedulers/hived-design.yaml"));
  REQUIRE(design.has_value());
  site_test::check_sound(*design);
  CHECK(design->machines.size() == 20);
  // Two GPUs of one type (8 and 9) and eight of another in one machine.
  const auto& mixed = design->machines[2];
  CHECK(mixed.name == "1.0.0.2");
  REQUIRE(mixed.inside.has_value());
  CHECK(mixed.gpus == 10U);
  CHECK((*mixed.inside)[7].model == "DGX1-P100");
  CHECK((*mixed.inside)[8].model == "CT1");
  CHECK(berth::parts_of(*mixed.inside, berth::vertex_kind::pcie_switch).size() == 4);
  CHECK(berth::parts_of(*mixed.inside, berth::vertex_kind::numa).size() == 2);
  CHECK(describe(design->topologies[0]).find("4-DGX2-V100-NODE/0>4-DGX2-V100-NODE/0/0: 0.0.3.0 0.0.3.1") !=
        std::string::npos);
  for (const auto& m : design->machines)
    if (m.name == "0.0.3.1")
      CHECK(m.labels == std::vector<std::string>{"hived/pinned=VC1-YQW-DGX2", "hived/virtual-cluster=VC1"});
  CHECK(berth::looks_like_hived(broken::input("other-schedulers/hived-design.yaml").text));
  CHECK_FALSE(berth::looks_like_hived(broken::input("other-schedulers/hived-requests-design.yaml").text));

  const std::string types =
      "physicalCluster:\n  cellTypes:\n    N: {childCellType: G, childCellNumber: 4, isNodeLevel: true}\n    R: "
      "{childCellType: N, childCellNumber: 2}\n";
  CHECK(shown(hived, types + "  physicalCells:\n  - cellType: R\n    cellChildren: [{cellAddress: a}]\n")
            .starts_with("f:7: found 1 children"));
  CHECK(shown(hived, types + "  physicalCells:\n  - cellType: N\n").find("without cellAddress") != std::string::npos);
  CHECK(shown(hived, types + "  physicalCells:\n  - cellType: G\n    cellAddress: a\n").find("cellType: 'G'") !=
        std::string::npos);
  CHECK(shown(hived, types + "  physicalCells:\n  - {cellType: N, cellAddress: a}\nvirtualClusters: {v: {pinnedCells: "
                             "[{pinnedCellId: x}]}}\n")
            .find("pinnedCellId: 'x'") != std::string::npos);
  CHECK(shown(hived,
              "physicalCluster:\n  cellTypes:\n    A: {childCellType: A, childCellNumber: 2}\n  physicalCells: "
              "[{cellType: A}]\n")
            .find("inside of itself") != std::string::npos);
  // Amounts that are negative, in every way to write them.
  const std::string cells = types + "  physicalCells:\n  - {cellType: N, cellAddress: a}\n";
  for (const char* sku : {"gpu: -1", "gpu: \"-1\"", "gpu: -1.5", "gpu: 1, cpu: -1", "gpu: 1, memory: -1Gi"}) {
    CAPTURE(sku);
    for (const char* list : {"skuTypes", "gpuTypes", "leafCellTypes"})
      CHECK(shown(hived, cells + "  " + list + ": {G: {" + sku + "}}\n").starts_with("f:7: found "));
  }
  CHECK(shown(hived, "physicalCluster:\n  cellTypes: {N: {childCellType: G, childCellNumber: -4, isNodeLevel: true}}\n")
            .starts_with("f:2: found childCellNumber: -4, expected a whole number from 1"));
  CHECK(shown(hived, cells + "virtualClusters: {v: {virtualCells: [{cellType: N, cellNumber: -1}]}}\n")
            .starts_with("f:7: found cellNumber: -1"));
  CHECK(shown(hived,
              "physicalCluster:\n  cellTypes:\n    N: {childCellType: G, childCellNumber: 1000000, isNodeLevel: "
              "true}\n  physicalCells: [{cellType: N, cellAddress: a}]\n")
            .find("1000000 cells") != std::string::npos);
}

TEST_CASE("A Flux resource graph is racks, nodes, cores, memory and GPUs") {
  const std::string text = two_racks();
  CHECK(berth::looks_like_flux_jgf(text));
  CHECK(shown(flux, text) ==
        "node0 gpus=1 cpus=2 memory=16384MiB up inside=gpu0,numa0\nnode1 gpus=1 cpus=2 memory=16384MiB up "
        "inside=gpu0,numa0\n[]\nrack0: node0\nrack1: node1\n");
  CHECK(shown(flux, "{\"version\": 1, \"execution\": {}, \"scheduling\": " + text + "}").find("rack1: node1") !=
        std::string::npos);
  // Newer files leave out what follows.
  CHECK(
      shown(
          flux,
          R"({"graph": {"nodes": [{"id": "0", "metadata": {"type": "cluster"}}, {"id": "1", "metadata": {"type": "node", "name": "n1", "status": 1}},
      {"id": "2", "metadata": {"type": "gpu", "id": 0}}], "edges": [{"source": "0", "target": "1"}, {"source": "1", "target": "2", "metadata": {"subsystem": "containment"}}]}})") ==
      "n1 gpus=1 down\n");
  // What switches carry, where a unit says so.
  const auto with_pools = [&](const std::string& unit) {
    std::string t = text;
    const std::string pool = R"({"id": "91", "metadata": {"type": "edgeswitchbw", "size": 72000, "unit": ")" + unit +
                             R"("}},{"id": "92", "metadata": {"type": "bandwidth", "size": 640, "unit": "MB/s"}},)";
    t.insert(t.find("[\n") + 2, R"({"id": "90", "metadata": {"type": "edgeswitch"}},)" + pool +
                                    R"({"id": "93", "metadata": {"type": "pfs"}},)");
    t.insert(t.rfind("]}}"), "," + edge(1, 90) + "," + edge(90, 91) + "," + edge(0, 93) + "," + edge(93, 92));
    return *berth::read_flux_jgf({"f", t});
  };
  const auto told = with_pools("MB/s");
  REQUIRE(told.topologies.size() == 1);
  REQUIRE(told.topologies[0].uplinks.size() == 2);
  CHECK(told.topologies[0].domains[0].name == "rack0");
  CHECK(told.topologies[0].uplinks[0] == std::vector{std::optional{berth::gigabytes_per_second{72}}});
  CHECK(told.topologies[0].uplinks[1].empty());
  CHECK(told.assumptions.size() == 3);
  CHECK(with_pools("").topologies[0].uplinks.empty());
  CHECK(with_pools("Gb/s").topologies[0].uplinks[0][0] == berth::gigabytes_per_second{9000});
  std::string circle = text;
  circle.replace(circle.rfind("]}}"), 3, "," + edge(2, 0) + "]}}");
  CHECK(shown(flux, circle).find("inside of itself") != std::string::npos);
  CHECK(shown(flux, R"({"graph": {"nodes": [], "edges": [{"source": "0", "target": "1"}]}})").find("an edge to '0'") !=
        std::string::npos);
}

TEST_CASE("Ray tells nodes by totals, one by one, and as JSON") {
  CHECK(berth::looks_like_ray_status(status));
  CHECK(shown(ray, status) ==
        "node_9ea7 gpus=8 model=h200-sxm5-141gb cpus=64 memory=933232MiB up\nnode_4914 gpus=8 model=h200-sxm5-141gb "
        "cpus=64 memory=933232MiB up\n");
  CHECK(site_test::says(*berth::read_ray_status({"f", status}), "taken to be alike"));
  std::string odd = status;
  odd.replace(odd.find("2.0/16.0 GPU"), 12, "0.0/15.0 GPU");
  CHECK(shown(ray, odd) ==
        "node_9ea7 model=h200-sxm5-141gb cpus=64 memory=933232MiB up\nnode_4914 model=h200-sxm5-141gb cpus=64 "
        "memory=933232MiB up\n");
  CHECK(shown(ray,
              "======== Autoscaler status: 2022-03-10 07:51:23.027271 ========\nNode status\n---\nHealthy:\n 1 "
              "head-group\nPending:\n (no pending nodes)\n\n"
              "Resources\n---\nUsage:\n 0.5/1.0 CPU\n 0.00/0.931 GiB memory\n\nDemands:\n (no resource demands)\n") ==
        "head-group cpus=1 memory=953MiB up\nheld head-group gpus=0 cpus=0.5 by Ray on head-group\n");
  // `ray status -v`
  CHECK(shown(ray, status + "\nNode: 9ea7 (gpu-group)\n Id: 9ea7\n Usage:\n  4.0/64.0 CPU\n  0.5/8.0 GPU\n  "
                            "0B/890.00GiB memory\n Activity:\n  Busy workers on node.\n\n"
                            "Node: 4914\n Usage:\n  0.0/64.0 CPU\n") ==
        "9ea7 gpus=8 cpus=64 memory=911360MiB aka=9ea7\n4914 cpus=64\nheld 9ea7 gpus=1 cpus=4 by Ray on 9ea7\n");
  CHECK(
      shown(
          ray,
          R"([{"node_id": "abc", "node_ip": "10.0.0.1", "state": "ALIVE", "node_name": "10.0.0.1", "resources_total": {"CPU": 16.0, "GPU": 4.0,
      "memory": 1073741824.0, "node:10.0.0.1": 1.0, "accelerator_type:A100": 1.0}, "labels": {"ray.io/node-id": "abc", "zone": "z"}}])") ==
      "10.0.0.1 gpus=4 model=A100 cpus=16 memory=1024MiB up aka=abc\n");
  CHECK(
      shown(
          ray,
          R"([{"NodeID": "a1", "Alive": false, "NodeManagerAddress": "10.0.0.2", "NodeManagerHostname": "h2", "Resources": {"CPU": 8.0}}])") ==
      "h2 gpus=0 cpus=8 down aka=10.0.0.2 aka=a1\n");
  CHECK(shown(ray, R"([{"NodeID": "a1", "Resources": {"GPU": 0.5}}])")
            .starts_with("f:1: found 500 thousandths of a GPU"));
  std::string broken_line = status;
  broken_line.replace(broken_line.find("0.0/128.0 CPU"), 13, "none of CPU");
  CHECK(shown(ray, broken_line).starts_with("f:15: found 'none of CPU'"));
}

TEST_CASE("YARN's nodes are machines in racks; its configuration is refused with the reason") {
  CHECK(
      shown(yarn,
            "<?xml "
            "version=\"1.0\"?>\n<nodes>\n<node><rack>/dc1/r1</rack><state>RUNNING</state><id>h1:8041</"
            "id><nodeHostName>h1</nodeHostName>"
            "<usedMemoryMB>1024</usedMemoryMB><availMemoryMB>7168</availMemoryMB><usedVirtualCores>1</usedVirtualCores>"
            "<availableVirtualCores>7</"
            "availableVirtualCores><totalResource><resourceInformations><resourceInformation><name>yarn.io/gpu</name>"
            "<value>2</value></resourceInformation></resourceInformations></totalResource></node>\n"
            "<node><rack>/dc1/r2</rack><state>LOST</state><nodeHostName>h2</nodeHostName></node>\n</nodes>\n") ==
      "h1 gpus=2 cpus=8 memory=8192MiB up\nh2 down\n[]\ndc1>r1: h1\ndc1>r2: h2\n");
  CHECK(shown(yarn,
              "<configuration><property><name>yarn.nodemanager.resource.memory-mb</name><value>8192</value></"
              "property></configuration>") == "? memory=8192MiB\n");
  CHECK(shown(yarn, "<nodes>\n<node></node></nodes>").starts_with("f:2: found a node without nodeHostName"));
  CHECK(shown(yarn, "<nodes>\n<node>").starts_with("f:2: found an XML error"));
  struct row {
    const char *file, *text;
  };
  for (const row& r :
       {row{"yarn-capacity-scheduler.xml", ":14: found queues of YARN's scheduler"},
        row{"yarn-site-gpu.xml", ":15: found kinds of resources and plug-ins"},
        row{"yarn-resource-types.xml", ":1: found kinds of resources"}, row{"tony-job.xml", ":1: found a TonY job"}}) {
    const auto file = broken::input(std::string{"other-schedulers/"} + r.file);
    CHECK(berth::looks_like_yarn(file.text));
    CHECK(failure(berth::read_yarn(file)).find(r.text) != std::string::npos);
  }
}

TEST_CASE("Broken files of other schedulers give a value or an error with source and words") {
  const std::vector<std::string_view> words = {"{",
                                               "}",
                                               "[",
                                               "]",
                                               ": ",
                                               "- ",
                                               "\n  ",
                                               "\"",
                                               "null",
                                               "-1",
                                               "1e999",
                                               "<",
                                               ">",
                                               "</node>",
                                               "cellAddress: 1",
                                               "childCellNumber: 999999",
                                               "isNodeLevel: true",
                                               "Node: x",
                                               "Usage:",
                                               "1/1 GPU",
                                               "1B/1TiB memory",
                                               "18446744073709551616",
                                               "\xFF",
                                               "\t",
                                               "true",
                                               "\"size\": 65"};
  const auto check = site_test::check_sound;
  broken::run(
      {broken::input("other-schedulers/hived-basic.yaml"), broken::input("other-schedulers/hived-design.yaml")}, words,
      300, 1, [](const berth::named_text& f) { return berth::read_hived(f); }, check);
  broken::run(
      {{"f", two_racks()}}, words, 800, 2, [](const berth::named_text& f) { return berth::read_flux_jgf(f); }, check);
  broken::run(
      {{"f", status}, {"g", status + "\nNode: 9ea7 (g)\n Usage:\n  4.0/64.0 CPU\n  0.5/8.0 GPU\n"}}, words, 500, 3,
      [](const berth::named_text& f) { return berth::read_ray_status(f); }, check);
  broken::run(
      {{"f",
        "<nodes>\n<node><rack>/a/b</rack><state>RUNNING</state><nodeHostName>h</nodeHostName><availMemoryMB>71</"
        "availMemoryMB></node>\n</nodes>\n"},
       broken::input("other-schedulers/yarn-site-gpu.xml")},
      words, 500, 4, [](const berth::named_text& f) { return berth::read_yarn(f); }, check);
}
