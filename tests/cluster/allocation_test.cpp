// The hot path does not allocate: the global allocation functions count, for this whole test program.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/transaction.hpp"
#include "berth/core/random.hpp"
#include "berth/policy/compose.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "counting_new.hpp"

namespace {

using namespace berth;

static_assert(noexcept(std::declval<placer<>&>()(std::declval<const gang&>())));

/// Allocations during `f`.
template <class F>
std::uint64_t counted(F&& f) {
  const std::uint64_t before = counting_new::count();
  f();
  return counting_new::count() - before;
}

cluster_spec machines() {
  cluster_spec s;
  s.tree = domain_tree_builder::regular({"cluster", "spine", "leaf"}, {4, 4}, 70);
  node_shape eight = make_plain_shape("eight", 8, "m", cpus(96), gibibytes(1024));
  for (unsigned a = 0; a < 8; a += 2) eight.bandwidth.set(a, a + 1, gigabytes_per_second{50});
  s.shapes = {eight, make_plain_shape("four", 4, "n", cpus(48), gibibytes(512))};
  for (std::uint32_t n = 0; n < s.tree.node_count(); ++n) {
    const bool small = n % 5 == 0;
    s.nodes.push_back(
        {"n" + std::to_string(n), shape_id{small ? std::uint16_t{1} : std::uint16_t{0}}, {}, cpus(48), gibibytes(512)});
  }
  return s;
}

const task_shape shapes[] = {{8, cpus(8), gibibytes(64)}, {1, cpus(1), {}}, {2, {}, gibibytes(8)}, {0, cpus(3), {}}};

/// Jobs that come and go, with a part of the changes undone.
void churn(cluster& c, random_source& random, int steps) {
  for (int i = 0; i < steps; ++i) {
    const job_key key{random.below(200)};
    const node_id n{static_cast<std::uint32_t>(random.below(c.node_count()))};
    const task_shape& s = shapes[random.below(4)];
    const task_placement task{lowest_set(c.node(n).free, s.devices), n, 0};
    transaction outer{c};
    static_cast<void>(c.commit(key, {{&task, 1}, {&s, 1}}));
    {
      transaction inner{c};
      static_cast<void>(c.release(job_key{random.below(200)}));
      static_cast<void>(c.set_device_health(n, static_cast<unsigned>(random.below(8)), random.below(4) != 0));
      static_cast<void>(c.set_node_usable(n, random.below(4) != 0));
      static_cast<void>(c.set_uplink_health(level_id{2}, domain_id{static_cast<std::uint32_t>(random.below(16))},
                                            random.below(4) != 0));
      static_cast<void>(c.counters(shapes[random.below(4)]));
      if (random.below(2) == 0) inner.commit();
    }
    static_cast<void>(c.counters(s));
    if (random.below(4) != 0) outer.commit();
  }
}

gang alike(std::uint32_t count, std::uint32_t devices) {
  gang g;
  g.groups.push_back({"w", {devices, cpus(1), gibibytes(1)}, count, count});
  return g;
}
gang mixed() {
  gang g;
  g.groups.push_back({"leader", {1, cpus(4), gibibytes(8)}, 1, 1});
  g.groups.push_back({"worker", {8, cpus(16), gibibytes(64)}, 6, 4});
  g.groups.push_back({"data", {0, cpus(8), gibibytes(16)}, 3, 3});
  return g;
}
gang segmented() {
  gang g;
  g.groups.push_back({"leader", {1, cpus(1), {}}, 4, 4});
  g.groups.push_back({"worker", {4, cpus(2), {}}, 12, 6});
  g.segments = segment_request{4, level_id{2}, segment_layout::spread};
  return g;
}

}  // namespace

TEST_CASE("the counter counts") {
  CHECK(counted([] { std::vector<int>(10).push_back(1); }) >= 2);
  struct alignas(64) wide {
    char c[64];
  };
  CHECK(counted([] { std::vector<wide>(3).shrink_to_fit(); }) >= 1);
  CHECK(counted([] {}) == 0);
}

TEST_CASE("changes, transactions and counters do not allocate once a cluster is made") {
  cluster c{machines(),
            {.jobs = 300, .tasks = 300, .live_shapes = 3, .journal = 64}};  // fewer shapes than are asked for
  random_source random{5};
  const std::size_t made = counted([&] { churn(c, random, 20'000); });
  CHECK(made == 0);
  CHECK(c.job_count() > 0);
  CHECK(c.check_invariants());
}

TEST_CASE("a refused call does not allocate either") {
  cluster c{machines(), {.jobs = 1, .tasks = 1, .live_shapes = 1, .journal = 1}};
  const task_placement task{1, node_id{0}, 0}, other{2, node_id{0}, 0};
  REQUIRE(c.commit(job_key{1}, {{&task, 1}, {&shapes[1], 1}}));
  CHECK(counted([&] {
          static_cast<void>(c.commit(job_key{1}, {{&other, 1}, {&shapes[1], 1}}));
          static_cast<void>(c.commit(job_key{2}, {{&other, 1}, {&shapes[1], 1}}));
          static_cast<void>(c.release(job_key{3}));
          static_cast<void>(c.set_device_health(node_id{99'999}, 0, false));
          transaction t{c};
          static_cast<void>(c.release(job_key{1}));
          static_cast<void>(c.set_node_usable(node_id{0}, false));
        }) == 0);
}

TEST_CASE("placing does not allocate once a placer is made: alike, mixed and segmented gangs, placed or refused") {
  cluster c{machines(), {.jobs = 400, .tasks = 4000, .live_shapes = 16}};
  placer place{c};
  random_source random{6};
  const std::vector<gang> gangs{alike(1, 1), alike(1, 8), alike(16, 8), alike(200, 8), alike(5, 0),
                                alike(3, 2), mixed(),     segmented(),  alike(2000, 8)};
  std::size_t placed[9] = {}, refused[9] = {};
  const std::size_t made = counted([&] {
    for (int i = 0; i < 600; ++i) {
      const std::size_t which = random.below(gangs.size());
      const decision d = place(gangs[which]);
      if (d) {
        ++placed[which];
        transaction t{c};
        if (c.commit(job_key{static_cast<std::uint64_t>(i)}, d.where) && random.below(4) != 0) t.commit();
      } else {
        ++refused[which];
      }
      if (random.below(3) == 0) static_cast<void>(c.release(job_key{random.below(600)}));
    }
  });
  CHECK(made == 0);
  for (std::size_t g = 0; g < 8; ++g) {
    CAPTURE(g);
    CHECK(placed[g] > 0);
  }
  CHECK(refused[8] > 0);
  CHECK(refused[3] > 0);
  CHECK(c.check_invariants());
}

TEST_CASE("placing with scored policies does not allocate either") {
  cluster c{machines(), {.jobs = 10, .tasks = 100}};
  placer place{c, lexicographic<tightest>{tightest{}}, lexicographic<device_utilisation, bin_pack>{{}, {}},
               lowest_index{}};
  const std::vector<gang> gangs{alike(16, 8), mixed(), segmented()};
  std::uint64_t placed = 0;
  CHECK(counted([&] {
          for (const gang& g : gangs) {
            const decision d = place(g);
            if (d && c.commit(job_key{placed}, d.where)) ++placed;
          }
        }) == 0);
  CHECK(placed == gangs.size());
}

/// Devices in order; its tables take memory that may be lacking.
struct hungry {
  static inline bool starved = false;
  using table = lowest_index::table;
  table compile(const node_shape& s) const {
    if (starved) throw std::bad_alloc{};
    return lowest_index{}.compile(s);
  }
};

TEST_CASE("a broken link makes a shape that placers learn when told to; without memory for it they say so") {
  cluster c{machines(), {.jobs = 10, .tasks = 100}};
  placer place{c, tightest{}, bin_pack{}, hungry{}};
  const gang g = alike(1, 2);
  CHECK(place(g).result == verdict::placed);
  REQUIRE(c.set_link_health(node_id{1}, 0, 1, false));
  hungry::starved = true;
  CHECK_FALSE(place.learn());
  CHECK(place(g).result == verdict::capacity_exhausted);
  hungry::starved = false;
  CHECK(place.learn());
  CHECK(counted([&] { CHECK(place(g).result == verdict::placed); }) == 0);
}
