#include "berth/io/slurm.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "samples.hpp"

namespace {

using samples::contains;
using samples::failure;

TEST_SUITE("io/slurm") {
  TEST_CASE("Slurm files: topology and nodes of one real site merge by name") {
    const std::vector<berth::named_text> files{samples::example("tara-mixed.topology.conf"),
                                               samples::example("tara.slurm.conf")};
    auto s = berth::read_slurm(files);
    REQUIRE_MESSAGE(s.has_value(), failure(s));
    REQUIRE(s->nodes.size() == 10);
    CHECK(s->tree.domain_count(s->tree.leaf_level()) == 4);
    CHECK(s->nodes[0].name == "tara-c-001");
    CHECK(s->nodes[0].cpu == berth::cpus(4));
    CHECK(s->nodes[0].memory == berth::mebibytes(512));
    CHECK(s->nodes[9].name == "tara-dgx1-002");
    CHECK(s->nodes[9].memory == berth::mebibytes(1024));
    CHECK(s->shapes.size() == 3);
    CHECK(s->assumptions.empty());
    // The order of the files does not matter.
    auto turned = berth::read_slurm({files[1], files[0]});
    REQUIRE(turned.has_value());
    samples::check_same(*s, *turned);
  }
  TEST_CASE("Slurm files: nodes with GPUs and no topology hang on one assumed switch") {
    auto s = berth::read_slurm({samples::example("aws-gpu.partition.conf"), samples::example("aws-gpu.gres.conf")});
    REQUIRE_MESSAGE(s.has_value(), failure(s));
    REQUIRE(s->nodes.size() == 15);
    REQUIRE(s->shapes.size() == 2);
    CHECK(s->shapes[0].name == "2xm60");
    CHECK(s->shapes[1].name == "8xv100");
    CHECK(s->shapes[1].models == std::vector<std::string>(8, "v100"));
    CHECK(s->nodes[14].name == "gpu-dy-gpu-p3dn24xlarge-10");
    CHECK(s->nodes[14].cpu == berth::cpus(48));
    CHECK(s->nodes[14].memory == berth::mebibytes(747110));
    CHECK(s->tree.domain_count(s->tree.leaf_level()) == 1);
    CHECK(samples::any_contains(s->assumptions, "No file gives a topology"));
  }
  TEST_CASE("Slurm files: names must match between topology and slurm.conf") {
    const berth::named_text topology{"topology.conf", "SwitchName=s0 Nodes=n[1-2]\nSwitchName=s1 Nodes=n[3-4]\n"};
    CHECK(failure(berth::read_slurm({topology, {"slurm.conf", "NodeName=n[1-3] CPUs=4\n"}})) ==
          "topology.conf:2: found unknown node n4 under s1, expected a node with a NodeName= line in slurm.conf");
    CHECK(failure(berth::read_slurm(
              {topology, {"slurm.conf", "NodeName=n[1-4] CPUs=4\nNodeName=x CPUs=4 Gres=gpu:1\n"}})) ==
          "slurm.conf:2: found node x with GPUs under no switch of the topology file, expected its name in a Nodes= "
          "list");
    auto s = berth::read_slurm({topology, {"slurm.conf", "NodeName=n[1-4] CPUs=4\nNodeName=login[1-2] CPUs=4\n"}});
    REQUIRE(s.has_value());
    CHECK(s->nodes.size() == 4);
    CHECK(samples::any_contains(s->assumptions, "2 nodes (login[1-2]): under no switch and without GPUs; left out."));
    auto future = berth::read_slurm({topology, {"slurm.conf", "NodeName=n[1-3] CPUs=4\nNodeName=n4 State=FUTURE\n"}});
    REQUIRE(future.has_value());
    CHECK(future->nodes.size() == 3);
  }
  TEST_CASE("Slurm files: without hardware the error says how to give it") {
    const auto e = berth::read_slurm({samples::example("azure-tree.topology.conf")});
    CHECK(failure(e) ==
          "azure-tree.topology.conf:2: found node hpcbench-hpc-36, whose hardware no file states, expected a file that "
          "states it (slurm.conf, a node list, topo -m, …)");
    berth::slurm_options o;
    o.hardware.ways.shape = "--machine";
    CHECK(samples::contains(failure(berth::read_slurm({samples::example("azure-tree.topology.conf")}, o)),
                            "topo -m, …), or --machine"));
  }
  TEST_CASE("Slurm files: a catalogue shape wires nodes whose stated GPUs it has, and no others") {
    auto o = samples::with_shape();
    o.model_ids = {"h100-sxm5-80gb", "h100-pcie-80gb", "t4"};
    auto s =
        berth::read_slurm({{"slurm.conf",
                            "NodeName=a CPUs=10 RealMemory=100 Gres=gpu:h100:8\nNodeName=b CPUs=10 RealMemory=100 "
                            "Gres=gpu:8\nNodeName=c CPUs=10 RealMemory=100 Gres=gpu:a100:8\n"
                            "NodeName=d CPUs=10 RealMemory=100 Gres=gpu:h100:4\nNodeName=e CPUs=10 RealMemory=100\n"}},
                          o);
    REQUIRE_MESSAGE(s.has_value(), failure(s));
    const auto name = [&](std::size_t n) { return s->shapes[s->nodes[n].shape.index()].name; };
    CHECK(name(0) == "azure-ndv5");
    CHECK(name(1) == "azure-ndv5");
    CHECK(name(2) == "8xa100");
    CHECK(name(3) == "4xh100");
    CHECK(name(4) == "cpu");
    CHECK(s->nodes[0].cpu == berth::cpus(10));
    CHECK(s->nodes[0].memory == berth::mebibytes(100));
    CHECK(samples::any_contains(s->assumptions, "2 nodes (a,b): the files give no wiring"));
  }
  TEST_CASE("Slurm files: a shape without memory is said to have none") {
    auto o = samples::with_shape();
    o.hardware.shape->memory = {};
    auto s = berth::read_slurm({samples::example("azure-tree.topology.conf")}, o);
    REQUIRE(s.has_value());
    CHECK(s->nodes[0].memory == berth::bytes{0});
    CHECK(samples::any_contains(s->assumptions, "memory unknown and taken as 0"));
    o.hardware.memory = berth::gibibytes(1900);
    s = berth::read_slurm({samples::example("azure-tree.topology.conf")}, o);
    REQUIRE(s.has_value());
    CHECK(s->nodes[0].memory == berth::gibibytes(1900));
  }
  TEST_CASE("Slurm files: GPU words become catalogue ids only when they can mean one model") {
    const std::vector<std::string> ids{"h100-sxm5-80gb", "h100-pcie-80gb", "t4", "l4", "l40s", "b200-sxm-180gb",
                                       "a100-sxm4-80gb", "a100-sxm4-40gb"};
    CHECK(berth::gpu_model_of("h100", ids) == "h100");
    CHECK(berth::gpu_model_of("H100-PCIe-80GB", ids) == "h100-pcie-80gb");
    CHECK(berth::gpu_model_of("b200", ids) == "b200-sxm-180gb");
    CHECK(berth::gpu_model_of("t4", ids) == "t4");
    CHECK(berth::gpu_model_of("l4", ids) == "l4");
    CHECK(berth::gpu_model_of("m60", ids) == "m60");
    CHECK(berth::gpu_model_of("nvidia_a100-sxm4-80gb", ids) == "a100-sxm4-80gb");
    CHECK(berth::gpu_model_of("Volta", ids) == "Volta");
    CHECK(berth::gpu_model_of("", ids) == "");
  }
  TEST_CASE("Slurm files: topology with gres.conf alone has no CPUs and memory but those that the user gives") {
    const std::vector<berth::named_text> files{
        {"topology.conf", "SwitchName=s Nodes=n[1-2]"},
        {"gres.conf", "NodeName=n[1-2] Name=gpu Type=v100 File=/dev/nvidia[0-3]"}};
    berth::slurm_options o;
    const auto bare = berth::read_slurm(files, o);
    REQUIRE_MESSAGE(bare.has_value(), failure(bare));
    CHECK(bare->nodes[0].cpu == berth::cpus(0));
    CHECK(samples::any_contains(bare->assumptions, "2 nodes (n[1-2]): no file states the CPUs; taken as 0"));
    CHECK(samples::any_contains(bare->assumptions, "2 nodes (n[1-2]): no file states the memory; taken as 0"));
    o.hardware.cpu = berth::cpus(40);
    o.hardware.memory = berth::gibibytes(256);
    auto s = berth::read_slurm(files, o);
    REQUIRE_MESSAGE(s.has_value(), failure(s));
    CHECK(s->shapes[0].name == "4xv100");
    CHECK(s->nodes[1].cpu == berth::cpus(40));
  }
  TEST_CASE("Slurm files: the limit on nodes holds") {
    auto o = samples::with_shape();
    o.max_nodes = 15;
    CHECK(contains(failure(berth::read_slurm({samples::example("azure-tree.topology.conf")}, o)), "at most"));
  }
  TEST_CASE("Slurm files: 131072 nodes are read in one go") {
    std::string topology, conf = "NodeName=gpu[000001-131072] CPUs=96 RealMemory=2000000 Gres=gpu:h100:8\n";
    for (int leaf = 0; leaf < 4096; ++leaf)
      topology += "SwitchName=leaf" + std::to_string(leaf) + " Nodes=gpu[" +
                  std::to_string(1000000 + leaf * 32 + 1).substr(1) + "-" +
                  std::to_string(1000000 + leaf * 32 + 32).substr(1) + "]\n";
    for (int spine = 0; spine < 128; ++spine)
      topology += "SwitchName=spine" + std::to_string(spine) + " Switches=leaf[" + std::to_string(spine * 32) + "-" +
                  std::to_string(spine * 32 + 31) + "]\n";
    auto s = berth::read_slurm({{"topology.conf", topology}, {"slurm.conf", conf}});
    REQUIRE_MESSAGE(s.has_value(), failure(s));
    CHECK(s->nodes.size() == 131072);
    CHECK(s->shapes.size() == 1);
    CHECK(s->tree.level_count() == 3);
    CHECK(s->nodes.back().name == "gpu131072");
  }
}

}  // namespace
