#include "berth/io/occupied.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "samples.hpp"

namespace {

using samples::contains;
using samples::failure;

berth::occupancy good(std::string text) {
  auto r = berth::read_occupancy({"jobs", std::move(text)});
  REQUIRE_MESSAGE(r.has_value(), failure(r));
  return *r;
}
std::string fault(std::string text) {
  const auto r = berth::read_occupancy({"jobs", std::move(text)});
  REQUIRE(!r.has_value());
  return failure(r);
}
berth::cluster_spec azure() {
  auto s = berth::read_slurm({samples::example("azure-tree.topology.conf")}, samples::with_shape());
  REQUIRE(s.has_value());
  return std::move(*s);
}
std::string unfit(const std::string& text) {
  return failure(berth::resolve_occupancy(good(text), azure()));
}

TEST_SUITE("io/occupied") {
  TEST_CASE("occupancy: jobs, host lists, devices, amounts, comments, CRLF") {
    const auto o = good(
        "# head\r\njobA node[1-4] 0-3,6 cpus=8 memory=64GiB\r\n\r\n  jobB\tlogin1 - cpus=0.5 # half\n"
        "!unhealthy node7 2\n!unhealthy node[8-9] -");
    REQUIRE(o.lines.size() == 4);
    CHECK(o.lines[0].job == "jobA");
    CHECK(o.lines[0].line == 2);
    CHECK(o.lines[0].nodes.size() == 4);
    CHECK(o.lines[0].devices == 0x4FU);
    CHECK(o.lines[0].cpu == berth::cpus(8));
    CHECK(o.lines[0].memory == berth::gibibytes(64));
    CHECK(o.lines[1].devices == 0);
    CHECK(o.lines[1].cpu == berth::cpu_millis{500});
    CHECK(o.lines[2].unhealthy);
    CHECK(o.lines[3].nodes.size() == 2);
    const auto rates = good("j n1 0-3 host-rate=100 between-nodes=400Gb/s numa=restricted\n").lines.at(0);
    CHECK(rates.bind.host == berth::bytes_per_second{100'000'000'000});
    CHECK(rates.between_nodes == berth::bytes_per_second{50'000'000'000});
    CHECK(rates.bind.numa == berth::numa_rule::restricted);
    CHECK(good("").lines.empty());
    CHECK(good("# nothing\n").lines.empty());
  }
  TEST_CASE("occupancy: faults are named with their line") {
    CHECK(fault("\njobA node1") ==
          "jobs:2: found 2 words, expected JOB NODES DEVICES [cpus=N] [memory=SIZE], with - for "
          "no devices");
    CHECK(contains(fault("jobA node[3-1] 0"), "jobs:1: found range '3-1'"));
    CHECK(contains(fault("jobA node[0-99999999999] 0"), "too many names"));
    CHECK(contains(fault("a n[1-600000] 0\nb m[1-600000] 0"), "jobs:2: found host list"));
    for (const char* d : {"64", "3-1", "x", "0,0", "0-3,2", "0-", "-1", ",", "0,", "1.5"})
      CHECK_MESSAGE(contains(fault(std::string{"jobA n1 "} + d), "devices '"), d);
    CHECK(contains(fault("jobA n1 0 cpus=x"), "'cpus=x'"));
    CHECK(contains(fault("jobA n1 0 memory=64"), "'memory=64'"));
    CHECK(contains(fault("jobA n1 0 cpus=1 cpus=2"), "each once"));
    CHECK(contains(fault("jobA n1 0 colour=red"), "'colour=red'"));
    CHECK(contains(fault("jobA n1 -"), "holds nothing"));
    CHECK(contains(fault("!broken n1 0"), "'!broken'"));
    CHECK(contains(fault("!unhealthy n1 0 cpus=1"), "amounts on an"));
    CHECK(contains(fault("job\x01 n1 0"), "control character"));
    CHECK(contains(fault("job\xFF n1 0"), "UTF-8"));
  }
  TEST_CASE("occupancy: against a cluster, unknown nodes, missing devices and double use are errors") {
    CHECK(contains(unfit("a nowhere 0"), "jobs:1: found unknown node nowhere"));
    CHECK(contains(unfit("a hpcbench-hpc-36 0-8"), "device 8 on node hpcbench-hpc-36, expected devices 0 to 7"));
    CHECK(contains(unfit("a hpcbench-hpc-36 0-3\nb hpcbench-hpc-36 3"),
                   "jobs:2: found device 3 on node hpcbench-hpc-36 held twice"));
    CHECK(contains(unfit("a hpcbench-hpc-36 0 cpus=60\nb hpcbench-hpc-36 1 cpus=60"), "120 CPUs held on node"));
    CHECK(contains(unfit("a hpcbench-hpc-36 0 memory=2TiB"),
                   "2TiB held on node hpcbench-hpc-36, expected at most its 1900GiB"));
  }
  TEST_CASE("occupancy: the example leaves ten free nodes, of which eight lie under two leaves and no fewer") {
    auto file = berth::read_occupancy(samples::example("azure-tree.occupied"));
    REQUIRE_MESSAGE(file.has_value(), failure(file));
    const auto spec = azure();
    auto o = berth::resolve_occupancy(*file, spec);
    REQUIRE_MESSAGE(o.has_value(), failure(o));
    CHECK(o->jobs == std::vector<std::string>{"llm-eval", "diffusion", "notebooks", "speech", "protein-fold"});
    REQUIRE(o->unhealthy.size() == 1);
    CHECK(o->unhealthy[0].devices == 0x80U);
    std::vector<bool> busy(spec.nodes.size(), false);
    for (const auto& h : o->held) busy[h.node.index()] = true;
    for (const auto& h : o->unhealthy) busy[h.node.index()] = true;
    std::vector<int> free(spec.tree.domain_count(spec.tree.leaf_level()), 0);
    for (std::uint32_t n = 0; n < spec.nodes.size(); ++n)
      if (!busy[n]) ++free[spec.tree.leaf_of(berth::node_id{n}).index()];
    CHECK(free == std::vector<int>{1, 6, 1, 2, 0});
  }
}

}  // namespace
