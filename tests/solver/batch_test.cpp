/// \file
/// A queue placed in one go: the same as placing its gangs one by one, with fewer searches and without allocating.

#include "berth/solver/batch.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/core/random.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "cluster/effort.hpp"
#include "counting_new.hpp"
#include "solver/plain_scan.hpp"
#include "solver/random_instance.hpp"

namespace {

using namespace berth;

/// Two leaves of four nodes of 8 devices.
cluster eight_nodes() {
  cluster_spec spec;
  spec.tree = domain_tree_builder::regular({"cluster", "leaf"}, {2}, 4);
  spec.shapes.push_back(make_plain_shape("machine", 8, "a", cpus(16), gibibytes(64)));
  for (int n = 0; n < 8; ++n) spec.nodes.push_back({"n", shape_id{0}, {}, cpus(16), gibibytes(64)});
  return cluster{spec, {.jobs = 64, .tasks = 256, .live_shapes = 8, .journal = 8}};
}
constexpr level_id leaf{1};

gang of(std::uint32_t tasks, std::uint32_t devices, bool in_a_leaf = false) {
  gang g;
  g.groups = {{"g", {devices, {}, {}, filter_id{0}}, tasks, tasks}};
  if (in_a_leaf) g.where = locality::required, g.level = leaf;
  return g;
}
std::vector<pending_gang> queue_of(const std::vector<gang>& gangs) {
  std::vector<pending_gang> q;
  for (std::size_t i = 0; i < gangs.size(); ++i) q.push_back({&gangs[i], job_key{i + 1}});
  return q;
}

TEST_CASE("a refused gang excuses the later ones that ask at least as much, and no others") {
  cluster c = eight_nodes();
  placer place{c};
  const std::vector<gang> gangs{
      of(5, 8),        // five of eight nodes
      of(4, 8),        // refused: three are left
      of(4, 8),        // excused
      of(6, 8),        // excused: more tasks
      of(4, 8, true),  // not excused: another level. Refused
      of(5, 8, true),  // excused by that one
      of(4, 4),        // fits: smaller tasks
      of(1, 8),        // fits
      of(4, 8),        // excused still
      of(1, 8),        // refused
      of(2, 8),        // excused by the last one
  };
  std::vector<std::size_t> decided;
  const batch_result r =
      place_all(c, place, queue_of(gangs), [&](std::size_t i, const decision&) { decided.push_back(i); });
  CHECK(r.placed == 3);
  CHECK(r.refused == 3);
  CHECK(r.excused == 5);
  CHECK(r.failed == 0);
  CHECK(decided == std::vector<std::size_t>{0, 1, 4, 6, 7, 9});
  CHECK(c.job_count() == 3);
  CHECK(c.check_invariants());
}

TEST_CASE("a gang that needs fewer than it wants is excused by its minimum only") {
  cluster c = eight_nodes();
  placer place{c};
  gang elastic = of(9, 8);
  elastic.groups[0].minimum = 2;
  const std::vector<gang> gangs{of(9, 8), elastic, of(1, 1)};
  const batch_result r = place_all(c, place, queue_of(gangs));
  CHECK(r.placed == 1);  // the elastic one takes all eight nodes
  CHECK(r.refused == 2);
  CHECK(r.excused == 0);
}

TEST_CASE("what the cluster cannot take is counted apart, and nothing of it stays") {
  cluster c = eight_nodes();
  placer place{c};
  const gang g = of(1, 8), other = of(2, 8);
  const std::vector<pending_gang> q{{&g, job_key{1}}, {&other, job_key{1}}, {&g, job_key{2}}};
  const batch_result r = place_all(c, place, q);
  CHECK(r.placed == 2);
  CHECK(r.failed == 1);
  CHECK(c.job_count() == 2);
  CHECK(c.check_invariants());
}

TEST_CASE("contradictory gangs are refused and excuse nobody") {
  cluster c = eight_nodes();
  placer place{c};
  const std::vector<gang> gangs{of(0, 8), of(1, 8), of(1, 0), of(1, 1), gang{}};
  const batch_result r = place_all(c, place, queue_of(gangs));
  CHECK(r.placed == 2);
  CHECK(r.refused == 3);
  CHECK(r.excused == 0);
}

TEST_CASE("more kinds of refusals than are kept: the later ones are searched for, with the same result") {
  cluster c = eight_nodes();
  placer place{c};
  std::vector<gang> gangs;
  // Ever smaller requests, none of which fits: none excuses the next.
  for (std::uint32_t k = 0; k < 100; ++k) {
    gang g = of(9, 8);
    g.groups[0].shape.cpu = cpu_millis{16'000 - k};
    gangs.push_back(g);
  }
  for (std::uint32_t k = 0; k < 100; ++k) gangs.push_back(gangs[k]);
  const batch_result r = place_all(c, place, queue_of(gangs));
  CHECK(r.placed == 0);
  CHECK(r.refused + r.excused == 200);
  CHECK(r.excused >= 64);
}

TEST_CASE("a batch leaves what placing one by one leaves, on random clusters and queues") {
  std::uint64_t placed = 0, excused = 0, refused = 0;
  const std::size_t rounds = effort(1'500);
  for (std::uint64_t seed = 1; seed <= rounds; ++seed) {
    CAPTURE(seed);
    berth_test::instance_maker make{seed};
    // Exact counters for every shape: coarser ones may choose another domain, depending on what was asked before.
    cluster batch{make.make_spec(), {.jobs = 64, .tasks = 512, .live_shapes = 32, .journal = 64}};
    make.disturb(batch);
    std::vector<gang> kinds;
    for (int i = 0; i < 8; ++i)
      kinds.push_back(make.make_gang(
          batch, static_cast<berth_test::gang_kind>(make.chance(75) ? 0 : make.between(1, 3)), make.chance(30)));
    std::vector<gang> gangs;
    for (int i = 0; i < 40; ++i) {
      gangs.push_back(kinds[make.between(0, 7)]);
      auto& t = gangs.back().groups[0];
      if (!gangs.back().segments && make.chance(30)) ++t.wanted, ++t.minimum;  // a larger one of its kind
    }
    cluster single = batch;
    placer place_batch{batch}, place_single{single};
    auto q = queue_of(gangs);
    for (auto& p : q) p.key = job_key{1000 + static_cast<std::uint64_t>(p.key)};
    std::vector<verdict> verdicts(gangs.size(), verdict::not_now);
    const batch_result r =
        place_all(batch, place_batch, q, [&](std::size_t i, const decision& d) { verdicts[i] = d.result; });
    batch_result expected;
    bool undecided = false;
    for (std::size_t i = 0; i < q.size(); ++i) {
      const decision d = place_single(gangs[i]);
      CAPTURE(i);
      CAPTURE(berth_test::describe(gangs[i]));
      undecided = undecided || d.result == verdict::gave_up || verdicts[i] == verdict::gave_up;
      if (!undecided) REQUIRE((d.result == verdict::placed) == (verdicts[i] == verdict::placed));
      if (!d) ++expected.refused;
      else if (single.commit(q[i].key, d.where)) ++expected.placed;
      else ++expected.failed;
    }
    if (undecided) continue;
    REQUIRE(r.placed == expected.placed);
    REQUIRE(r.failed == expected.failed);
    REQUIRE(r.refused + r.excused == expected.refused);
    REQUIRE(std::vector(batch.nodes().begin(), batch.nodes().end()) ==
            std::vector(single.nodes().begin(), single.nodes().end()));
    REQUIRE(batch.check_invariants());
    placed += r.placed;
    refused += r.refused;
    excused += r.excused;
  }
  MESSAGE(placed << " placed, " << refused << " refused after a look, " << excused << " excused");
  CHECK(placed > 2 * rounds);
  CHECK(excused > refused / 2);
}

TEST_CASE("a batch allocates nothing") {
  random_source random{3};
  const cluster_spec spec = berth_test::random_events::make_spec(random, 3, 4, 8);
  cluster c{spec, {.jobs = 512, .tasks = 4096, .live_shapes = 8, .journal = 8}};
  berth_test::random_events events{c, spec, 3};
  std::vector<gang> gangs;
  for (int i = 0; i < 300; ++i) gangs.push_back(events.make_gang(events.make_shape(3), 12));
  gang mixed;
  mixed.groups = {{"a", {3, {}, {}, filter_id{0}}, 2, 2}, {"b", {2, {}, {}, filter_id{0}}, 2, 2}};
  gangs.push_back(mixed);
  gangs.push_back(of(4, 2));
  gangs.back().segments = segment_request{2, leaf, segment_layout::free};
  const auto q = queue_of(gangs);
  placer place{c};
  const std::uint64_t before = counting_new::count();
  const batch_result r = place_all(c, place, q);
  CHECK(counting_new::count() == before);
  CHECK(r.placed > 10);
  CHECK(r.refused > 2);
  CHECK(r.excused > 10);
  gangs.reserve(gangs.capacity() + 1);  // the counter does count
  CHECK(counting_new::count() > before);
}

}  // namespace
