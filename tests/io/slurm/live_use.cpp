// What Slurm's files and commands say about the use and the inside of nodes, as a merged site has it.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "../samples.hpp"
#include "berth/io/merge.hpp"
#include "berth/io/merge/site_json.hpp"
#include "berth/io/slurm/report.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"

namespace {

using samples::any_contains;
using samples::failure;

berth::site merged(const std::vector<berth::named_text>& files, const berth::merge_options& options = {}) {
  for (const auto& f : files) CHECK_MESSAGE(berth::looks_like_slurm(f.text), f.name);
  auto r = berth::read_slurm_report(files, {});
  REQUIRE_MESSAGE(r.has_value(), failure(r));
  auto s = berth::merge_site({*r}, options);
  REQUIRE_MESSAGE(s.has_value(), failure(s));
  return std::move(*s);
}
/// GPUs and CPUs of a node that nobody holds.
std::pair<int, std::int64_t> left(const berth::site& s, std::string_view node) {
  for (std::uint32_t n = 0; n < s.spec.nodes.size(); ++n) {
    const auto& spec = s.spec.nodes[n];
    if (spec.name != node) continue;
    berth::device_mask free = s.spec.shapes[spec.shape.index()].all_devices();
    std::int64_t cpu = spec.cpu.count();
    for (const auto& h : s.held.held)
      if (h.node.index() == n) free &= ~h.devices, cpu -= h.cpu.count();
    return {static_cast<int>(berth::count_bits(free)), cpu / 1000};
  }
  FAIL("no node " << node);
  return {};
}
using free_of = std::pair<int, std::int64_t>;

TEST_SUITE("io/slurm/live_use") {
  TEST_CASE("a node that jobs run on is not free where their use is not stated") {
    const std::string rows =
        "n1 1 gpu* idle 128 1031000 gpu:h100:8(S:0-1)\nn2 1 gpu* alloc 128 1031000 gpu:h100:8(S:0-1)\n"
        "n3 1 gpu* mix 128 1031000 gpu:h100:8(S:0-1)\nn4 1 gpu* comp 128 1031000 gpu:h100:8(S:0-1)\n"
        "n5 1 gpu* mix- 128 1031000 gpu:h100:8(S:0-1)\nn6 1 gpu* allocated+ 128 1031000 gpu:h100:8\n";
    const auto s = merged({{"si", "NODELIST NODES PARTITION STATE CPUS MEMORY GRES\n" + rows}});
    CHECK(left(s, "n1") == free_of{8, 128});
    for (const char* n : {"n2", "n3", "n4", "n5", "n6"}) CHECK_MESSAGE((left(s, n) == free_of{0, 0}), n);
    CHECK(any_contains(s.spec.assumptions,
                       "5 nodes (n[2-6]): jobs run there, and which GPUs they hold is not stated; all are"));
    CHECK(s.conflicts.empty());
    // A bar between the cells, with the CPUs stated; a node whose GPUs are stated as well.
    const auto bars = merged({{"si",
                               "NODELIST|STATE|CPUS(A/I/O/T)|MEMORY|GRES|GRES_USED\n"
                               "n4|mixed|64/64/0/128|1031000|gpu:h100:8|(null)\n"
                               "n5|mixed|32/96/0/128|1031000|gpu:h100:8|gpu:h100:2(IDX:0,5)\n"
                               "n6|allocated|128/0/0/128|1031000|gpu:h100:8|\n"
                               "n7|mixed|8/120/0/128|1031000|(null)|\n"}});
    CHECK(left(bars, "n4") == free_of{0, 64});
    CHECK(left(bars, "n5") == free_of{6, 96});
    CHECK(left(bars, "n6") == free_of{0, 0});
    CHECK(left(bars, "n7") == free_of{0, 120});
    CHECK(any_contains(bars.spec.assumptions, "2 nodes (n4,n6): jobs run there") +
              any_contains(bars.spec.assumptions, "2 nodes (n[4,6]): jobs run there") ==
          1);
    CHECK(failure(berth::read_slurm_report({{"s", "NODELIST|STATE\nn1|idle|x\n"}})) ==
          "s:2: found 'n1|idle|x', expected as many cells as the heading has: 2");
  }
  TEST_CASE("the GPUs of a busy node may be told by another file, and its use by another command") {
    const berth::named_text conf{"slurm.conf", "NodeName=n[1-2] CPUs=128 RealMemory=1031000 Gres=gpu:h100:8\n"};
    const berth::named_text listed{"sinfo",
                                   "Mon Nov 30 17:00:00 2026\n"
                                   "NODELIST   NODES PARTITION       STATE CPUS MEMORY\n"
                                   "n1             1      gpu*   allocated 128  1031000\n"
                                   "n2             1      gpu*       mixed 128  1031000\n"};
    const auto s = merged({conf, listed});
    CHECK(left(s, "n1") == free_of{0, 0});
    CHECK(left(s, "n2") == free_of{0, 0});
    const berth::named_text shown{"scontrol",
                                  "NodeName=n2 CPUAlloc=32 CPUTot=128\n   Gres=gpu:h100:8\n   RealMemory=1031000 "
                                  "AllocMem=1000\n   State=MIXED\n   CfgTRES=cpu=128,gres/gpu=8\n"
                                  "   AllocTRES=cpu=32,mem=1000M,gres/gpu=3\n"};
    for (const auto& files : {std::vector{conf, listed, shown}, {shown, listed, conf}}) {
      const auto both = merged(files);
      CHECK(left(both, "n1") == free_of{0, 0});
      CHECK(left(both, "n2") == free_of{5, 96});
    }
    // TRES that do not count GPUs say nothing about them; those that do say that none is held.
    const auto tres = [](const char* configured) {
      return merged({{"scontrol", std::string{"NodeName=n2 CPUAlloc=32 CPUTot=128\n   Gres=gpu:h100:8\n"
                                              "   State=MIXED\n   CfgTRES="} +
                                      configured + "\n   AllocTRES=cpu=32\n"}});
    };
    CHECK(left(tres("cpu=128"), "n2") == free_of{0, 96});
    CHECK(left(tres("cpu=128,gres/gpu=8"), "n2") == free_of{8, 96});
  }
  TEST_CASE("nodes of equal gres.conf lines share one inside, and take the wiring of a shape that fits them") {
    const auto files = [](const char* last) {
      return std::vector<berth::named_text>{
          {"topology.conf", "SwitchName=leaf Nodes=n[1-4]\n"},
          {"slurm.conf",
           "NodeName=n[1-3] Sockets=2 CoresPerSocket=56 ThreadsPerCore=2 RealMemory=1000 Gres=gpu:h100:8\n"
           "NodeName=n4 Sockets=2 CoresPerSocket=56 ThreadsPerCore=2 RealMemory=1000 Gres=gpu:h100:8 Feature=x\n"},
          {"gres.conf", std::string{"NodeName=n[1-4] Name=gpu Type=h100 File=/dev/nvidia[0-3] Cores=0-47\n"} + last}};
    };
    const auto even = files("NodeName=n[1-4] Name=gpu Type=h100 File=/dev/nvidia[4-7] Cores=56-103\n");
    const auto plain = merged(even);
    CHECK(plain.net.shapes.size() == 1);
    CHECK(plain.spec.shapes.size() == 1);
    CHECK_FALSE(plain.spec.shapes[0].bandwidth.between(0, 7).has_value());
    berth::merge_options dgx;
    dgx.hardware.shape = berth::catalogue_shape("dgx-h100");
    REQUIRE(dgx.hardware.shape.has_value());
    const auto wired = merged(even, dgx);
    REQUIRE(wired.spec.shapes.size() == 1);
    CHECK(wired.net.shapes.size() == 1);
    CHECK(wired.spec.shapes[0].bandwidth.between(0, 7) == berth::gigabytes_per_second{450});
    CHECK(wired.spec.shapes[0].numa.at(1).cpu == berth::cpus(96));  // what gres.conf says
    CHECK(wired.spec.nodes[0].cpu == berth::cpus(224));
    CHECK(any_contains(wired.spec.assumptions, "that of dgx-h100 is used, which has the same GPUs."));
    // GPUs on other NUMA nodes than those of the shape: not its wiring, and said.
    auto odd = files(
        "NodeName=n[1-4] Name=gpu Type=h100 File=/dev/nvidia[4-5] Cores=0-47\n"
        "NodeName=n[1-4] Name=gpu Type=h100 File=/dev/nvidia[6-7] Cores=56-103\n");
    const auto unlike = merged(odd, dgx);
    CHECK_FALSE(unlike.spec.shapes.at(0).bandwidth.between(0, 7).has_value());
    CHECK(
        any_contains(unlike.spec.assumptions, "4 nodes (n[1-4]): the files give no wiring between GPUs, and that of"));
  }
  TEST_CASE("a site keeps Slurm's blocks and their sizes, also as our JSON and merged again") {
    const berth::named_text file{"topology.conf",
                                 "BlockName=b1 Nodes=n[1-2]\nBlockName=spare\nBlockName=b3 Nodes=n[5-6]\n"
                                 "BlockName=b4 Nodes=n[3-4]\nBlockSizes=2,4\n"};
    const auto s = merged({file});
    const berth::site_blocks blocks{{"b1", "spare", "b3", "b4"}, {0, 0, 2, 2, 3, 3}, {2, 4}};
    CHECK(s.blocks == blocks);
    const std::string text = berth::write_site_json(s);
    const auto again = berth::read_site_json({"site.json", text});
    REQUIRE_MESSAGE(again.has_value(), failure(again));
    CHECK(again->blocks == blocks);
    CHECK(berth::write_site_json(*again) == text);
    const auto more = berth::merge_site({berth::report_of_site(*again, "site.json")});
    REQUIRE(more.has_value());
    CHECK(more->blocks == blocks);
    CHECK(more->nvlink == s.nvlink);
    CHECK(more->spec.tree.level_count() == s.spec.tree.level_count());
    const auto bad = [&](const char* from, const char* to) {
      std::string t = text;
      const auto at = t.find(from, t.find("\"blocks\""));
      REQUIRE(at != std::string::npos);
      return failure(berth::read_site_json({"j", t.replace(at, std::string_view{from}.size(), to)}));
    };
    CHECK(samples::contains(bad("\"n[5-6]\"", "\"n[2,5]\""), "node n2 in a second block"));
    CHECK(samples::contains(bad("2", "0"), "expected a number of nodes"));
  }
  TEST_CASE("a switch called cluster above all others is the whole cluster") {
    const std::string leaves = "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\n";
    const auto levels = [](const std::string& t) { return int{merged({{"t", t}}).spec.tree.level_count()}; };
    CHECK(levels(leaves) == 2);
    CHECK(levels("SwitchName=cluster Switches=a,b\n" + leaves) == 2);
    CHECK(levels(leaves + "SwitchName=cluster Switches=a,b\n") == 2);
    CHECK(levels(leaves + "SwitchName=top Switches=a,b\n") == 3);
    CHECK(levels(leaves + "SwitchName=cluster Switches=a,b\nSwitchName=c Nodes=n5\n") == 3);
    CHECK(levels("SwitchName=cluster Nodes=n[1-4]\n") == 2);
    const auto s = merged({{"t", "SwitchName=cluster Switches=a,b\n" + leaves}});
    CHECK(s.spec.tree.name(berth::level_id{1}, berth::domain_id{1}) == "b");
    CHECK(any_contains(s.spec.assumptions, "The switch cluster, above all others, is the whole cluster"));
  }
}

}  // namespace
