#include "berth/io/topograph/model.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "io/broken_text.hpp"
#include "berth/io/slurm/report.hpp"
#include "berth/io/slurm/write_topology.hpp"

namespace {

using berth::site_report;

site_report good(const berth::named_text& file) {
  CHECK(berth::looks_like_topograph(file.text));
  CHECK_FALSE(berth::looks_like_slurm(file.text));
  auto r = berth::read_topograph(file);
  REQUIRE_MESSAGE(r.has_value(), r.error().message());
  return std::move(*r);
}
std::size_t members(const berth::topology_report& t, std::string_view domain) {
  std::size_t n = 0;
  for (const auto& m : t.members)
    for (std::uint32_t d = m.domain; d != berth::domain_declaration::no_parent; d = t.domains[d].parent)
      if (t.domains[d].name == domain) ++n;
  return n;
}
bool has_label(const berth::machine_report& m, std::string_view label) {
  for (const auto& l : m.labels)
    if (l == label) return true;
  return false;
}
std::string fault(std::string text) {
  const auto r = berth::read_topograph({"m", std::move(text)});
  return r ? "" : r.error().message();
}

TEST_SUITE("io/topograph") {
  TEST_CASE("models: switches, NVLink domains and labels of every sample") {
    const auto small = good(broken::input("topograph/model-small-tree.yaml"));
    REQUIRE(small.topologies.size() == 2);
    CHECK(members(small.topologies[0], "S1") == 6);
    CHECK(members(small.topologies[0], "S2") == 3);
    CHECK(members(small.topologies[1], "nvl3") == 3);
    CHECK(small.topologies[1].what == berth::topology_report::kind::nvlink);
    CHECK(small.machines.at(2).name == "I25");
    const auto medium = good(broken::input("topograph/model-medium.yaml"));
    CHECK(members(medium.topologies.at(0), "sw3") == 8);
    CHECK(members(medium.topologies[0], "sw22") == 4);
    CHECK(medium.machines.at(0).name == "1101");
    CHECK(has_label(medium.machines[0], "topology.kubernetes.io/region=us-west"));
    CHECK(has_label(medium.machines[0], "topology.kubernetes.io/zone=zone1"));
    CHECK(has_label(medium.machines.at(7), "topology.kubernetes.io/zone=zone2"));
    const auto racks = good(broken::input("topograph/model-nvl72.yaml"));
    CHECK(racks.machines.size() == 72);
    CHECK(members(racks.topologies.at(1), "nvl-2-1") == 18);
    CHECK(racks.topologies[1].domains.at(0).level == "nvlink");
    const auto dual = good(broken::input("topograph/model-dual-xclr-regular.yaml"));
    CHECK(dual.machines.size() == 96);
    CHECK(members(dual.topologies.at(1), "nvl-1") == 48);
    CHECK(members(dual.topologies[1], "rack07") == 8);
    CHECK(dual.topologies[1].domains.at(1).level == "nvlink-sub");
  }
  TEST_CASE("models: the large one has the tree that topograph writes for Slurm") {
    const auto model = good(broken::input("topograph/model-large.yaml"));
    const auto conf = berth::read_slurm_report({broken::input("slurm/topograph-tree.topology.conf")});
    REQUIRE(conf.has_value());
    const auto& a = model.topologies.at(0);
    const auto& b = conf->topologies.at(0);
    CHECK(a.domains.size() == b.domains.size());
    REQUIRE(a.members.size() == b.members.size());
    for (std::size_t i = 0; i < a.members.size(); ++i) CHECK(a.members[i].machine == b.members[i].machine);
    CHECK(members(a, "core") == 96);
    CHECK(members(a, "spine-3") == members(b, "switch.2.3"));
    // The tree can be written as Slurm wants it.
    const auto written = berth::write_slurm_topology_conf(a);
    REQUIRE(written.has_value());
    CHECK(written->find("SwitchName=leaf-1-1 Nodes=srv[1101-1108]\n") != std::string::npos);
  }
  TEST_CASE("models of older versions: lists of switches, capacity blocks, nvlink") {
    const auto r = good({"m",
                         "switches:\n- name: core\n  switches: [leaf]\n- name: leaf\n  capacity_blocks: [cb1]\n"
                         "capacity_blocks:\n- name: cb1\n  type: H100\n  nvlink: nvl1\n  nodes: ['n[1-2]']\n"});
    CHECK(members(r.topologies.at(0), "core") == 2);
    CHECK(members(r.topologies.at(1), "nvl1") == 2);
    CHECK(r.machines.at(0).gpu_model == "H100");
  }
  TEST_CASE("the graph engine and NetQ") {
    // Layout: topograph docs/engines/graph.md.
    const auto g = good({"g", R"({"instances": [
      {"id": "I21", "network_layers": ["leaf-a", "spine-a"], "labels": {"accelerator.topograph.run/domain": "nvl-1",
       "accelerator.topograph.run/sub-domain": "nvl-1.rack-1"}},
      {"id": "I22", "network_layers": ["leaf-b", "spine-a"], "labels": {"accelerator.topograph.run/domain": "nvl-1"}}]})"});
    CHECK(members(g.topologies.at(0), "spine-a") == 2);
    CHECK(members(g.topologies[0], "leaf-b") == 1);
    CHECK(members(g.topologies.at(1), "nvl-1") == 2);
    CHECK(members(g.topologies[1], "nvl-1.rack-1") == 1);
    const auto n = good(broken::input("topograph/netq-computeNodes.json"));
    REQUIRE(n.machines.size() == 2);
    CHECK(n.machines[0].gpus == 4);
    CHECK(n.machines[0].usable == true);
    CHECK(n.machines[1].aliases == std::vector<std::string>{"690a2d9cc5e905fa41a87d7a"});
    CHECK(members(n.topologies.at(0), "3fbfc98b-7f95-4749-ab11-bd351a2aab3e") == 2);
  }
  TEST_CASE("Slinky: Slurm's files inside a ConfigMap, faults with the line of the object") {
    // Layout: topograph docs/engines/slinky.md.
    const std::string head =
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: slurm-config\n  annotations:\n"
        "    topograph.run/plugin: \"topology/tree\"\ndata:\n  topology.conf: |\n    SwitchName=sw1 Switches=sw[2-3]\n"
        "    SwitchName=sw2 Nodes=node[1-4]\n";
    const auto r = good({"map", head + "    SwitchName=sw3 Nodes=node[5-8]\n"});
    CHECK(members(r.topologies.at(0), "sw1") == 8);
    CHECK(r.topologies[0].domain_places.at(2).line == 11);
    CHECK(fault(head + "    SwitchName=sw3 Nodes=node[8-5]\n").find("m:11: found range '8-5'") == 0);
    CHECK(fault("apiVersion: v1\nkind: ConfigMap\ndata:\n  other: x\n").find("without Slurm's files") !=
          std::string::npos);
  }
  TEST_CASE("topograph: what is wrong is named with its line; requests are refused") {
    const auto request = broken::input("topograph/payload-aws-sim-block.json");
    CHECK(berth::looks_like_topograph(request.text));
    CHECK(berth::read_topograph(request).error().message().find("a request to topograph") != std::string::npos);
    CHECK(fault("switches:\n  a:\n    switches: [c]\n  b:\n    switches: [c]\nblocks:\n- nodes: [n]\n")
              .find("m:5: found switch c under b and under a") == 0);
    CHECK(
        fault("switches:\n  a:\n    switches: [b]\n  b:\n    switches: [a]\nblocks:\n- nodes: [n]\n").find("a cycle") !=
        std::string::npos);
    CHECK(fault("blocks:\n- nodes: [n]\n- nodes: ['n']\n") ==
          "m:3: found node n again (first on line 2), expected each node once");
    CHECK(fault("blocks:\n- nodes: [n]\n  switch: s\n").find("m:3: found unknown switch 's'") == 0);
    CHECK(fault("blocks:\n- switch: s\n").find("m:2: found a block without nodes") == 0);
    CHECK(fault("blocks:\n- nodes: ['n[1-99999999999]']\n").find("m:2: found host list") == 0);
    CHECK(fault("blocks:\n- nodes: [n]\n  colour: red\n").find("m:3: found key 'colour'") == 0);
  }
  TEST_CASE("broken models give a report or an error") {
    const std::vector<berth::named_text> seeds{broken::input("topograph/model-dual-xclr-regular.yaml"),
                                               broken::input("topograph/model-medium.yaml"),
                                               broken::input("topograph/netq-computeNodes.json")};
    const std::vector<std::string_view> pieces{"- ", ": ",  "[",     "]",         "{",      "}",
                                               "\n", "  ",  "[1-4]", "switches:", "nodes:", "null",
                                               "\"", "&a ", "*a",    "sw11",      "<<: ",   "[1-999999999]"};
    berth::reader_options o;
    o.max_machines = 2000;
    for (const auto& seed : seeds)
      broken::run(
          {seed}, pieces, 400, 13, [&](const berth::named_text& f) { return berth::read_topograph(f, o); },
          [](const site_report& r) {
            for (const auto& t : r.topologies)
              for (const auto& m : t.members) REQUIRE(m.domain < t.domains.size());
          });
  }
}

}  // namespace
