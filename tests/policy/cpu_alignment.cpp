// CPUs from the NUMA nodes of the GPUs, and in their proportion, as preferences between nodes.

#include "berth/policy/cpu_alignment.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/policy/compose.hpp"
#include "berth/policy/domain_fit.hpp"
#include "berth/policy/node_fit.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace {

using namespace berth;
using aligned = lexicographic<aligned_first, ratio_kept, bin_pack>;
static_assert(explain_policy<tightest, aligned, best_bandwidth>::ok);
static_assert(normalized_policy<ratio_kept>);

/// One rack of `nodes` machines: two NUMA nodes of two devices, 16 CPUs and 64 GiB each.
cluster rack_of(std::uint32_t nodes, bool bindings = true) {
  node_shape s = make_plain_shape("two-sockets", 4, "m", cpus(32), gibibytes(128));
  s.numa = {{0b0011, cpus(16), gibibytes(64)}, {0b1100, cpus(16), gibibytes(64)}};
  cluster_spec spec;
  spec.tree = domain_tree_builder::regular({"cluster", "rack"}, {1}, nodes);
  spec.shapes = {s};
  for (std::uint32_t n = 0; n < nodes; ++n) spec.nodes.push_back({"", shape_id{0}, {}, s.cpu, s.memory});
  return cluster{spec, {.jobs = 200, .tasks = 400, .bindings = bindings}};
}
gang one(std::uint32_t devices, std::int64_t cores, std::int64_t memory, numa_rule rule) {
  gang g;
  g.groups.push_back({.name = "w",
                      .shape = {.devices = devices, .cpu = cpus(cores), .memory = gibibytes(memory)},
                      .wanted = 1,
                      .minimum = 1});
  g.groups[0].shape.bind.numa = rule;
  return g;
}
/// Whether some devices of the node serve the task under the rule, by trying all.
bool serves(const cluster& c, node_id n, task_shape t, numa_rule rule) {
  t.bind.numa = rule;
  const node_state& s = c.node(n);
  if (s.cpu < t.cpu || s.memory < t.memory) return false;
  const auto inside = c.residual(n, s.free);
  for (device_mask m = 0; m < 16; ++m)
    if (count_bits(m) == t.devices && (m & ~s.free) == 0 && inside.admits(t, m)) return true;
  return false;
}
/// Random arrivals and departures; how many placements were not aligned though a node could have aligned them.
template <class Node>
int missed(Node make) {
  random_source random{17};
  int out = 0;
  for (int round = 0; round < 8; ++round) {
    cluster c = rack_of(4);
    placer place{c, tightest{}, make(c)};
    std::vector<job_key> running;
    std::uint64_t key = 0;
    for (int step = 0; step < 80; ++step) {
      if (!running.empty() && random.below(100) < 45) {
        const std::size_t at = random.below(running.size());
        REQUIRE(c.release(running[at]));
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
        continue;
      }
      const auto devices = static_cast<std::uint32_t>(random.below(4));
      const auto cores = static_cast<std::int64_t>(random.between(1, 14));
      const auto memory = static_cast<std::int64_t>(random.between(1, 30));
      const gang g = one(devices, cores, memory, numa_rule::best_effort);
      const task_shape& t = g.groups[0].shape;
      bool could = false;
      for (std::uint32_t n = 0; n < c.node_count(); ++n)
        could = could || serves(c, node_id{n}, t, numa_rule::restricted);
      const decision d = place(g);
      if (d.result != verdict::placed) {
        for (std::uint32_t n = 0; n < c.node_count(); ++n) CHECK_FALSE(serves(c, node_id{n}, t, numa_rule::none));
        continue;
      }
      task_shape strict = t;
      strict.bind.numa = numa_rule::restricted;
      const task_placement where = d.where.tasks[0];
      const bool is_aligned = c.residual(where.node, c.node(where.node).free).admits(strict, where.devices);
      if (could && !is_aligned) ++out;
      REQUIRE(c.commit(job_key{++key}, d.where));
      running.push_back(job_key{key});
    }
  }
  return out;
}

}  // namespace

TEST_SUITE("policy/cpu_alignment") {
  TEST_CASE("a task gets CPUs and memory beside its devices whenever a node can give them, by trying all") {
    CHECK(missed([](const cluster& c) { return aligned{aligned_first{&c}, ratio_kept{}, bin_pack{}}; }) == 0);
    CHECK(missed([](const cluster&) { return bin_pack{}; }) > 0);  // so there was something to miss
  }

  TEST_CASE("by hand: the node whose free socket has CPUs left, not the fullest") {
    cluster c = rack_of(2);
    // Node 0: two devices of socket 0 with 12 of its CPUs, one device of socket 1 with 10 of its.
    std::uint64_t key = 0;
    for (const auto& [devices, cores] : {std::pair{0b0011U, 12}, std::pair{0b0100U, 10}}) {
      task_shape s{count_bits(devices), cpus(cores), {}};
      s.bind.numa = numa_rule::single_node;
      const task_placement t{devices, node_id{0}, 0};
      REQUIRE(c.commit(job_key{++key}, {{&t, 1}, {&s, 1}}));
    }
    const gang g = one(1, 8, 1, numa_rule::best_effort);
    placer plain{c, tightest{}, bin_pack{}};
    CHECK(plain(g).where.tasks[0].node == node_id{0});  // device 3, with CPUs of both sockets
    placer near{c, tightest{}, aligned{aligned_first{&c}, ratio_kept{}, bin_pack{}}};
    CHECK(near(g).where.tasks[0].node == node_id{1});
    // Six CPUs are left beside device 3: both nodes align, and which is better is for the policies behind.
    placer packed{c, tightest{}, lexicographic{aligned_first{&c}, bin_pack{}}};
    CHECK(packed(g).where.tasks[0].node == node_id{1});
    CHECK(packed(one(1, 6, 1, numa_rule::best_effort)).where.tasks[0].node == node_id{0});
    CHECK(near(one(1, 6, 1, numa_rule::best_effort)).where.tasks[0].node == node_id{1});
    // Two more tasks of a gang: the second counts what the first took.
    gang pair = one(1, 12, 1, numa_rule::best_effort);
    pair.groups[0].wanted = pair.groups[0].minimum = 2;
    const decision two = near(pair);
    REQUIRE(two.where.tasks.size() == 2);
    for (const auto& t : two.where.tasks) CHECK(t.node == node_id{1});
    // Without books of the inside nothing is known, and nothing is refused for it.
    cluster blind = rack_of(2, false);
    placer any{blind, tightest{}, aligned{aligned_first{&blind}, ratio_kept{}, bin_pack{}}};
    CHECK(any(one(1, 8, 1, numa_rule::none)).result == verdict::placed);
  }

  TEST_CASE("the proportion of CPUs and devices left, worked by hand") {
    node_state s;
    s.installed = s.free = 0xff;
    s.cpu = cpus(64);
    node_shape shape = make_plain_shape("m", 8, "m", cpus(64), gibibytes(1));
    const auto score = [&](std::uint32_t devices, std::int64_t cores, std::uint32_t taken = 0) {
      return ratio_kept{}.score({node_id{0}, s, shape, 9, taken}, task_shape{.devices = devices, .cpu = cpus(cores)});
    };
    CHECK(score(1, 8) == doctest::Approx(1));
    CHECK(score(1, 24) == doctest::Approx(0.75));
    CHECK(score(1, 24, 1) == doctest::Approx(0.5));
    CHECK(score(0, 8) == doctest::Approx(0.875));
    s.free = 0x7f;
    CHECK(score(0, 8) == doctest::Approx(1));
    s.installed = s.free = 0;
    CHECK(score(0, 8) == 1.0);
  }

  TEST_CASE("tasks without devices go where devices are short of work, so that CPUs are not missing elsewhere") {
    cluster c = rack_of(3);
    const task_shape two{2, cpus(2), {}};
    const task_placement t{0b0011, node_id{1}, 0};
    REQUIRE(c.commit(job_key{1}, {{&t, 1}, {&two, 1}}));
    placer place{c, tightest{}, ratio_kept{}};
    CHECK(place(one(0, 12, 1, numa_rule::none)).where.tasks[0].node == node_id{1});
    placer spreads{c, tightest{}, spread{}};
    CHECK(spreads(one(0, 12, 1, numa_rule::none)).where.tasks[0].node == node_id{0});
  }
}
