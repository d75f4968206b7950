#include "berth/io/slurm_topology.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "io/broken_text.hpp"
#include "samples.hpp"

namespace {

using samples::contains;
using samples::failure;

berth::expected<berth::cluster_spec, berth::input_error> read(std::string text) {
  return berth::read_slurm({{"topology.conf", std::move(text)}}, samples::with_shape());
}
berth::cluster_spec good(std::string text) {
  auto r = read(std::move(text));
  REQUIRE_MESSAGE(r.has_value(), failure(r));
  return std::move(*r);
}
std::vector<std::string> node_names(const berth::cluster_spec& s) {
  std::vector<std::string> out;
  for (const auto& n : s.nodes) out.push_back(n.name);
  return out;
}
berth::cluster_spec example(const std::string& name) {
  auto r = berth::read_slurm({samples::example(name)}, samples::with_shape());
  REQUIRE_MESSAGE(r.has_value(), failure(r));
  return std::move(*r);
}
std::uint32_t nodes_of(const berth::cluster_spec& s, std::string_view domain) {
  for (std::uint8_t i = 0; i < s.tree.level_count(); ++i)
    for (std::uint32_t d = 0; d < s.tree.domain_count(berth::level_id{i}); ++d)
      if (s.tree.name(berth::level_id{i}, berth::domain_id{d}) == domain)
        return s.tree.at(berth::level_id{i}, berth::domain_id{d}).nodes.size();
  return 0;
}

TEST_SUITE("io/slurm_topology") {
  TEST_CASE("topology.conf: the Azure tree has five leaves of 3, 6, 3, 2 and 2 nodes under one spine") {
    const auto s = example("azure-tree.topology.conf");
    REQUIRE(s.nodes.size() == 16);
    REQUIRE(s.tree.level_count() == 3);
    CHECK(s.tree.level_name(berth::level_id{1}) == "spine");
    CHECK(s.tree.level_name(berth::level_id{2}) == "leaf");
    CHECK(s.tree.domain_count(berth::level_id{1}) == 1);
    CHECK(nodes_of(s, "sw00") == 3);
    CHECK(nodes_of(s, "sw01") == 6);
    CHECK(nodes_of(s, "sw02") == 3);
    CHECK(nodes_of(s, "sw03") == 2);
    CHECK(nodes_of(s, "sw04") == 2);
    CHECK(nodes_of(s, "sw05") == 16);
    CHECK(s.nodes[0].name == "hpcbench-hpc-36");
    CHECK(s.nodes[3].name == "hpcbench-hpc-1");
    CHECK(s.tree.path(berth::node_id{3}) == std::vector<std::string>{"sw05", "sw01"});
    REQUIRE(s.shapes.size() == 1);
    CHECK(samples::any_contains(s.assumptions,
                                "16 nodes (hpcbench-hpc-[1,35-49]): no file states the hardware; taken "
                                "to be azure-ndv5 (8 GPUs, 96 CPUs, 1900GiB)"));
  }
  TEST_CASE("topology.conf: topograph's tree has a core, 6 spines, 12 leaves and 96 nodes, parents first in the file") {
    const auto s = example("topograph-tree.topology.conf");
    REQUIRE(s.nodes.size() == 96);
    REQUIRE(s.tree.level_count() == 4);
    CHECK(s.tree.domain_count(berth::level_id{1}) == 1);
    CHECK(s.tree.domain_count(berth::level_id{2}) == 6);
    CHECK(s.tree.domain_count(berth::level_id{3}) == 12);
    CHECK(s.nodes[0].name == "srv1101");
    CHECK(s.nodes[95].name == "srv6208");
    CHECK(s.tree.path(berth::node_id{95}) == std::vector<std::string>{"switch.3.1", "switch.2.6", "switch.1.12"});
  }
  TEST_CASE("topology.conf: several roots of unlike depth") {
    const auto s = example("gcp-nodesets.topology.conf");
    REQUIRE(s.nodes.size() == 7 + 5 + 4 + 3 + 1 + 3 + 2 + 3);
    REQUIRE(s.tree.level_count() == 4);
    CHECK(nodes_of(s, "nodeset-root") == 16);
    CHECK(nodes_of(s, "nodeset_tpu-root") == 12);
    CHECK(nodes_of(s, "bold-1") == 1);
    CHECK(s.tree.path(berth::node_id{0}) == std::vector<std::string>{"nodeset-root", "blue"});
    CHECK(s.tree.domain_count(berth::level_id{3}) == 8);
  }
  TEST_CASE("topology.conf: blocks are leaves of a level named block") {
    const auto s = example("azure-block-gb200.topology.conf");
    REQUIRE(s.nodes.size() == 72);
    REQUIRE(s.tree.level_count() == 2);
    CHECK(s.tree.level_name(berth::level_id{1}) == "block");
    CHECK(s.tree.domain_count(berth::level_id{1}) == 4);
    CHECK(nodes_of(s, "block_5e797fc6-0f46-421a-8724-0e102c0f723c") == 18);
    const auto b = good("BlockName=a Nodes=n[1-2]\nBlockName=b Nodes=n[3-4]\nBlockSizes=2,4");
    REQUIRE(b.tree.level_count() == 3);
    CHECK(b.tree.level_name(berth::level_id{1}) == "block-4");
    CHECK(nodes_of(b, "a...b") == 4);
    CHECK_FALSE(samples::any_contains(b.assumptions, "BlockSizes="));
    // 12 racks of 8: six pairs, three groups of four.
    const auto site = berth::read_slurm({broken::input("slurm/topograph-block.topology.conf")}, samples::with_shape());
    REQUIRE_MESSAGE(site.has_value(), failure(site));
    const auto& racks = *site;
    REQUIRE(racks.tree.level_count() == 4);
    CHECK(racks.tree.level_name(berth::level_id{1}) == "block-32");
    CHECK(racks.tree.level_name(berth::level_id{2}) == "block-16");
    CHECK(racks.tree.domain_count(berth::level_id{1}) == 3);
    CHECK(racks.tree.domain_count(berth::level_id{2}) == 6);
    CHECK(nodes_of(racks, "rack51...rack62") == 32);
    // The rest of an aggregated block is one only if it is more than one of the size below; empty blocks keep their
    // place.
    const auto rest = good(
        "BlockName=a Nodes=n1\nBlockName=b\nBlockName=c Nodes=n3\nBlockName=d Nodes=n4\n"
        "BlockName=e Nodes=n5\nBlockSizes=1,2,4");
    CHECK(nodes_of(rest, "a...b") == 1);
    CHECK(nodes_of(rest, "c...d") == 2);
    CHECK(nodes_of(rest, "a...d") == 3);
    CHECK(rest.tree.path(berth::node_id{3}) == std::vector<std::string>{"e"});
    const auto rings = good("RingName=r1 Nodes=n[1-4]\nRingName=r2 Nodes=n[5-8]\n");
    CHECK(rings.tree.level_name(berth::level_id{1}) == "ring");
    CHECK(samples::any_contains(rings.assumptions, "neighbours in a ring"));
  }
  TEST_CASE("topology.conf: node ids follow the tree, not the file, and hardware follows the node") {
    // The tree order is s2 (under t1), s1, s3 (under t2): t1 is declared first.
    auto r =
        berth::read_slurm({{"topology.conf",
                            "SwitchName=s1 Nodes=b[1-2]\nSwitchName=s2 Nodes=a[1-2]\nSwitchName=s3 Nodes=c1\n"
                            "SwitchName=t1 Switches=s2\nSwitchName=t2 Switches=s[1,3]\n"},
                           {"slurm.conf", "NodeName=a[1-2] CPUs=1\nNodeName=b[1-2] CPUs=2\nNodeName=c1 CPUs=3\n"}});
    REQUIRE_MESSAGE(r.has_value(), failure(r));
    CHECK(node_names(*r) == std::vector<std::string>{"a1", "a2", "b1", "b2", "c1"});
    CHECK(r->nodes[0].cpu == berth::cpus(1));
    CHECK(r->nodes[3].cpu == berth::cpus(2));
    CHECK(r->nodes[4].cpu == berth::cpus(3));
    for (std::uint32_t n = 0; n < 5; ++n) CHECK(r->tree.path(berth::node_id{n}).front() == (n < 2 ? "t1" : "t2"));
  }
  TEST_CASE("topology.conf: case of keys, LinkSpeed, CRLF, continuations, comments, no newline at the end") {
    const auto s = good(
        "# two leaves\r\nswitchname=s0 NODES=n[1-2] linkspeed=100 # first\r\n"
        "SwitchName=s1 \\\r\n  Nodes=\"n[3-4]\"\r\nSwitchName=top Switches=s[0-1]");
    CHECK(s.nodes.size() == 4);
    CHECK(nodes_of(s, "top") == 4);
  }
  TEST_CASE("topology.conf: a node under two leaves, a switch under two parents") {
    CHECK(failure(read("SwitchName=s1 Nodes=n[1-3]\nSwitchName=s2 Nodes=n[3-5]\n")) ==
          "topology.conf:2: found node n3 under s2 and under s1 (topology.conf:1), expected each node under one switch "
          "or block");
    CHECK(contains(failure(read("SwitchName=s1 Nodes=n1,n1")), "node n1 twice under s1"));
    CHECK(contains(failure(read("SwitchName=s1 Nodes=n1\nSwitchName=t1 Switches=s1\nSwitchName=t2 Switches=s1")),
                   "topology.conf:3: found switch s1 under t2 and under t1"));
    CHECK(contains(failure(read("SwitchName=s1 Nodes=n1\nSwitchName=t1 Switches=s1,s1")), "twice under t1"));
    CHECK(contains(failure(read("SwitchName=s[1-2] Nodes=n1")), "under s2 and under s1"));
  }
  TEST_CASE("topology.conf: cycles") {
    CHECK(contains(failure(read("SwitchName=a Switches=a\nSwitchName=l Nodes=n1")), "topology.conf:1: found a cycle"));
    CHECK(contains(
        failure(
            read("SwitchName=l Nodes=n1\nSwitchName=a Switches=b\nSwitchName=b Switches=c\nSwitchName=c Switches=a")),
        "a cycle"));
    CHECK(contains(failure(read("SwitchName=l Nodes=n1\nSwitchName=a Switches=b,l\nSwitchName=b Switches=a")),
                   "a cycle"));
  }
  TEST_CASE("topology.conf: unknown children, names twice, neither or both of nodes and switches") {
    CHECK(failure(read("SwitchName=s1 Nodes=n1\nSwitchName=t Switches=s[1-2]")) ==
          "topology.conf:2: found switch t over unknown switch s2, expected a SwitchName=s2 line");
    CHECK(failure(read("SwitchName=s1 Nodes=n1\n\nSwitchName=s1 Nodes=n2")) ==
          "topology.conf:3: found second SwitchName=s1 (first at topology.conf:1), expected each name once");
    CHECK(contains(failure(read("SwitchName=s1")), "with neither"));
    CHECK(contains(failure(read("SwitchName=s1 Nodes=n1\nSwitchName=s2 Nodes=n2 Switches=s1")), "with both"));
    CHECK(contains(failure(read("SwitchName=s1 Nodes=")), "without a value"));
    CHECK(
        contains(failure(read("SwitchName=s1 Node=n1")), "topology.conf:1: found unknown key 'Node', expected Nodes"));
    CHECK(contains(failure(read("SwitchName=s1 Nodes=n1 LinkSpeed=fast")), "LinkSpeed='fast'"));
    CHECK(contains(failure(read("SwitchName=s1 Nodes=n1\nPorts=4")), "key 'Ports' in a topology or gres file"));
    CHECK(contains(failure(read("SwitchName=s1 Nodes=n1\nSwithName=s2 Nodes=n2")),
                   "topology.conf:2: found unknown key 'SwithName', expected SwitchName"));
    CHECK(contains(failure(read("SwitchName=s1 Nodes=n1\nBlockName=b1 Nodes=n2")), "switches and blocks"));
    CHECK(contains(failure(read("RingName=r1\n")), "without Nodes="));
    CHECK(contains(failure(read("BlockName=b1\n")), "a topology without any node"));
    CHECK(contains(failure(read("BlockName=b1 Nodes=n1\nBlockSizes=2,6")), "times a power of two"));
    CHECK(contains(failure(read("BlockName=b1 Nodes=n1\nBlockSizes=4,2")), "rising"));
    CHECK(contains(failure(read("BlockName=b1 Nodes=n1\nBlockSizes=1\nBlockSizes=1")), "a second BlockSizes="));
    CHECK(contains(failure(read("BlockSizes=18")), "a topology without any node"));
  }
  TEST_CASE("topology.conf: broken and huge host lists are refused without expanding them") {
    CHECK(contains(failure(read("SwitchName=s1 Nodes=n[4-1]")), "topology.conf:1: found range '4-1' in Nodes="));
    CHECK(contains(failure(read("SwitchName=s1 Nodes=n[0-999999999999]")), "too many names in Nodes="));
    CHECK(contains(failure(read("SwitchName=s1 Nodes=n[1-600000]\nSwitchName=s2 Nodes=m[1-600000]")),
                   "topology.conf:2: found host list"));
    CHECK(contains(failure(read("SwitchName=s[0-999999999] Switches=x")), "too many names"));
    CHECK(contains(failure(read("SwitchName=s1 Nodes=n1\nSwitchName=t Switches=s[0-99999999999]")), "too many names"));
  }
  TEST_CASE("topology.conf: empty files and files of another kind") {
    CHECK(failure(read("")) ==
          "topology.conf: found no line but blanks and comments, expected SwitchName=, NodeName= or Name=gpu lines");
    CHECK(contains(failure(read("# nothing\n\n")), "no line but blanks"));
    CHECK(contains(failure(read("ClusterName=x\n")), "no line about switches, nodes or GPUs"));
    CHECK(contains(failure(berth::read_slurm({{"t", "---\n- key: t\n"}})), "YAML that is no topology.yaml"));
    CHECK(contains(failure(read("# c\n---\n- topology: t\n  tree:\n")), "expected switches: a list"));
    CHECK(contains(failure(berth::read_slurm({})), "no file"));
    CHECK(contains(failure(berth::read_slurm_files({"/nonexistent/topology.conf"})), "no readable file"));
  }
  TEST_CASE("topology.conf: a tree deeper than the tree can hold") {
    std::string text = "SwitchName=s0 Nodes=n1\n";
    for (int i = 1; i < 40; ++i)
      text += "SwitchName=s" + std::to_string(i) + " Switches=s" + std::to_string(i - 1) + "\n";
    CHECK(contains(failure(read(text)), "nested deeper"));
  }
}

}  // namespace
