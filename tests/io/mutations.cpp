// Thousands of broken inputs per reader: each must give a value or an error, never a crash, a hang or a memory blow-up.
// The inputs are the same on every run. Under AddressSanitizer and UndefinedBehaviorSanitizer this is where they earn
// their keep.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/io/cluster_json.hpp"
#include "berth/io/gang_text.hpp"
#include "berth/io/job_json.hpp"
#include "berth/io/occupied.hpp"
#include "io/broken_text.hpp"
#include "samples.hpp"

namespace {

constexpr int rounds = 4000;
constexpr std::size_t max_names = 5000;  // keeps a round short; the real limit works the same way

/// Pieces that readers care about.
const std::vector<std::string_view> pieces{"[",
                                           "]",
                                           "[0-999999999999]",
                                           "[1-4]",
                                           "[4-1]",
                                           ",",
                                           ",,",
                                           "-",
                                           "=",
                                           "\"",
                                           "\\\n",
                                           "#",
                                           "\r\n",
                                           "\n",
                                           "\t",
                                           "NodeName=",
                                           "Nodes=",
                                           "Switches=",
                                           "SwitchName=",
                                           "BlockName=",
                                           "DEFAULT",
                                           "Gres=gpu:",
                                           "gpu:x:64",
                                           "(S:0-1)",
                                           "Name=gpu",
                                           "File=",
                                           "Count=",
                                           "include x",
                                           "{",
                                           "}",
                                           ":",
                                           "null",
                                           "1e999",
                                           "-1",
                                           "0",
                                           "64",
                                           "4294967296",
                                           "GiB",
                                           "\"nodes\"",
                                           "\xEF\xBB\xBF",
                                           "\xFF",
                                           "\xC3",
                                           "AutoDetect=nvml",
                                           "CPUs=",
                                           "!unhealthy",
                                           "cpus=",
                                           "memory=",
                                           "18446744073709551616"};

struct tally {
  int good = 0, bad = 0;
  template <class T>
  void count(const berth::expected<T, berth::input_error>& r) {
    if (r) {
      ++good;
      return;
    }
    ++bad;
    CHECK(!r.error().source.empty());
    CHECK(!r.error().found.empty());
    CHECK(!r.error().expected.empty());
    CHECK_MESSAGE(!berth::io_text::find_bad_utf8(r.error().message()), r.error().message());
  }
};

/// A spec is whole: every node named and shaped, ids within bounds.
void check_whole(const berth::cluster_spec& s) {
  REQUIRE(s.tree.node_count() == s.nodes.size());
  for (const auto& n : s.nodes) {
    REQUIRE(!n.name.empty());
    REQUIRE(n.shape.index() < s.shapes.size());
    REQUIRE(n.cpu.count() >= 0);
    REQUIRE(n.memory.count() >= 0);
  }
}

TEST_SUITE("io/mutations") {
  TEST_CASE("mutated Slurm files give a whole spec or an error") {
    const std::string topologies[] = {
        samples::example("azure-tree.topology.conf").text, samples::example("topograph-tree.topology.conf").text,
        samples::example("gcp-nodesets.topology.conf").text, samples::example("tara-mixed.topology.conf").text};
    const std::string nodes = samples::example("aws-gpu.partition.conf").text;
    const std::string gres = samples::example("aws-gpu.gres.conf").text;
    const std::string tara =
        "NodeName=DEFAULT CPUs=4 RealMemory=512 Sockets=2 CoresPerSocket=2 ThreadsPerCore=1 State=UNKNOWN\n"
        "NodeName=tara-c-[001-006]\nNodeName=tara-m-[001-002] CPUs=8 CoresPerSocket=4\n"
        "NodeName=tara-dgx1-[001-002] Gres=gpu:volta:8(S:0-1) Feature=a,b\nDownNodes=tara-m-001 State=DOWN\n";
    auto o = samples::with_shape();
    o.max_nodes = max_names;
    berth::random_source rng{1};
    tally t;
    for (int i = 0; i < rounds; ++i) {
      const auto& top = topologies[rng.below(4)];
      std::vector<berth::named_text> files;
      switch (rng.below(4)) {
        case 0:
          files = {{"t", broken::mutated(top, pieces, rng, nodes)}};
          break;
        case 1:
          files = {{"n", broken::mutated(nodes, pieces, rng, gres)}, {"g", gres}};
          break;
        case 2:
          files = {{"n", nodes}, {"g", broken::mutated(gres, pieces, rng, top)}};
          break;
        default:
          files = {{"t", topologies[3]}, {"n", broken::mutated(tara, pieces, rng, nodes)}};
      }
      const auto r = berth::read_slurm(files, o);
      t.count(r);
      if (r) check_whole(*r);
    }
    MESSAGE("Slurm: " << t.good << " read, " << t.bad << " refused");
    CHECK(t.good > rounds / 20);
    CHECK(t.bad > rounds / 20);
  }
  TEST_CASE("mutated cluster files give a whole spec or an error, and what is read can be written and read again") {
    auto seed =
        berth::read_slurm({samples::example("lambda-8gpu.slurm.conf"), samples::example("lambda-8gpu.gres.conf")});
    REQUIRE(seed.has_value());
    const std::string a = berth::write_cluster_json(*seed);
    const std::string b = R"({"berth_cluster": 1, "shapes": ["azure-ndv5", {"name": "x", "devices": 2, "bandwidth": 5}],
      "levels": ["zone", "rack"], "domains": [{"name": "d", "domains": [{"name": "e", "nodes": [{"names": "n[01-04]",
      "shape": 0, "labels": ["x", "y"], "cpus": 1.5, "memory": "1.5GiB"}]}]}],
      "nodes": [{"names": "q[1-2]", "shape": "x", "path": ["z", "r"]}], "assumptions": ["s"]})";
    berth::random_source rng{2};
    tally t;
    for (int i = 0; i < rounds; ++i) {
      const berth::named_text file{
          "c.json", rng.below(2) == 0 ? broken::mutated(a, pieces, rng, b) : broken::mutated(b, pieces, rng, a)};
      const auto r = berth::read_cluster_json(file, samples::catalogue, max_names);
      t.count(r);
      if (!r) continue;
      check_whole(*r);
      if (i % 8 == 0) {
        const auto again = berth::read_cluster_json({"again", berth::write_cluster_json(*r)}, nullptr, max_names);
        REQUIRE_MESSAGE(again.has_value(), samples::failure(again) << "\n" << file.text);
        samples::check_same(*r, *again);
      }
    }
    MESSAGE("cluster files: " << t.good << " read, " << t.bad << " refused");
    CHECK(t.good > rounds / 50);
    CHECK(t.bad > rounds / 20);
  }
  TEST_CASE("mutated jobs give a sound job or an error") {
    const std::string file = samples::example("two-groups.job.json").text;
    const std::string text =
        "name=llm,tasks=8,min=4,gpus=8,cpus=16,memory=100GiB,model=h100,label=ib,within=leaf,segments=2:leaf:spread";
    berth::random_source rng{3};
    tally t;
    for (int i = 0; i < 2 * rounds; ++i) {
      const auto r = rng.below(2) == 0 ? berth::read_job_json({"j", broken::mutated(file, pieces, rng, text)})
                                       : berth::parse_gang(broken::mutated(text, pieces, rng, file), "--gang");
      t.count(r);
      if (!r) continue;
      REQUIRE(!berth::fault_of(*r).has_value());
      for (const auto& g : r->groups) {
        REQUIRE(g.minimum >= 1);
        REQUIRE(g.minimum <= g.wanted);
      }
    }
    MESSAGE("jobs: " << t.good << " read, " << t.bad << " refused");
    CHECK(t.good > rounds / 20);
    CHECK(t.bad > rounds / 20);
  }
  TEST_CASE("mutated occupancy files give lines or an error, and resolve or not") {
    auto spec = berth::read_slurm({samples::example("azure-tree.topology.conf")}, samples::with_shape());
    REQUIRE(spec.has_value());
    const std::string file = samples::example("azure-tree.occupied").text;
    berth::random_source rng{4};
    tally read, resolved;
    for (int i = 0; i < rounds; ++i) {
      const auto r = berth::read_occupancy({"o", broken::mutated(file, pieces, rng, file)}, max_names);
      read.count(r);
      if (r) resolved.count(berth::resolve_occupancy(*r, *spec));
    }
    MESSAGE("occupancy: " << read.good << " read, " << read.bad << " refused, " << resolved.good << " resolved");
    CHECK(read.good > rounds / 20);
    CHECK(read.bad > rounds / 20);
    CHECK(resolved.bad > 0);
  }
  TEST_CASE("mutated host lists never exceed their limit") {
    berth::random_source rng{5};
    const std::string seeds[] = {"gpu[001-128,200]", "r[1-2]n[01-04]-ib,x,y[7]", "[1101-1102]", "a[0-9][0-9][0-9]"};
    for (int i = 0; i < 4 * rounds; ++i) {
      const std::string& seed = seeds[rng.below(4)];
      const std::string& other = seeds[rng.below(4)];
      const auto r = berth::expand_hostlist(broken::mutated(seed, pieces, rng, other), 2000);
      if (r) REQUIRE(r->size() <= 2000);
      if (r) REQUIRE(!r->empty());
    }
  }
}

}  // namespace
