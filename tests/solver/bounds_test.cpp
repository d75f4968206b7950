/// \file
/// Fewer exact counters than kinds of requests: shapes asked for once are answered by coarser bounds. The answers must
/// be as right as with counters for all: nothing refused that fits, nothing placed that does not.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/core/random.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "cluster/effort.hpp"
#include "solver/plain_scan.hpp"

namespace {

using namespace berth;

gang of(std::uint32_t tasks, const task_shape& s, std::uint32_t minimum) {
  gang g;
  g.groups = {{"g", s, tasks, minimum}};
  return g;
}

/// Random requests of almost as many shapes as requests, against a scan.
/// \returns how many answers came from a coarser shape's counters
std::size_t run(std::size_t live_shapes, std::uint64_t seed, std::size_t requests, std::uint32_t grain) {
  random_source random{seed};
  const cluster_spec spec = berth_test::random_events::make_spec(random, 3, 4, 8);
  cluster c{spec, {.jobs = 1024, .tasks = 16'384, .live_shapes = live_shapes, .journal = 64, .shared_bounds = true}};
  placer place{c, fewest_domains{}, bin_pack{}, best_bandwidth{}, {.tasks = 512, .groups = 2}};
  berth_test::random_events events{c, spec, seed};
  berth_test::plain_scan scan{c};
  std::vector<task_shape> again;
  std::size_t coarse = 0;
  for (std::size_t i = 0; i < requests; ++i) {
    // One in three was asked for before.
    task_shape s = events.make_shape(grain);
    if (!again.empty() && random.below(3) == 0) s = again[random.below(again.size())];
    if (again.size() < 20) again.push_back(s);
    else again[random.below(20)] = s;
    const gang g = events.make_gang(s, 16);
    const decision d = place(g);
    const berth_test::scan_answer expected = scan.ask(g);
    // A bound may choose another domain of the level, or know no narrower one: then the exact counters were asked.
    const std::string wrong = berth_test::disagreement(c, g, d, scan, expected);
    CAPTURE(seed);
    CAPTURE(i);
    CAPTURE(live_shapes);
    REQUIRE(wrong == "");
    if (i % 16 == 0) {
      const task_shape probe = events.make_shape(grain);
      static_cast<void>(scan.ask(of(1, probe, 1)));
      const live_shape* b = c.bounds(probe);
      REQUIRE(b != nullptr);
      for (std::uint32_t n = 0; n < c.node_count(); ++n) REQUIRE(b->fits(n) >= scan.fits(n));
      coarse += b->shape() == probe ? 0U : 1U;
    }
    if (d && random.below(2) == 0) REQUIRE(events.commit(d.where));
    while (events.jobs() > 900 || (random.below(3) == 0 && events.jobs() != 0)) REQUIRE(events.release_one());
    if (random.below(16) == 0) events.incident();
  }
  REQUIRE(c.check_invariants());
  return coarse;
}

TEST_CASE("two live shapes and any number of request shapes: the answers are those of a scan") {
  std::size_t coarse = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) coarse += run(2, seed, effort(20'000), 1000);
  MESSAGE(coarse << " samples of coarser counters");
  CHECK(coarse > effort(20'000) / 8);
}

TEST_CASE("one live shape, eight live shapes, few and many different amounts: the same") {
  for (std::uint64_t seed = 11; seed <= 13; ++seed) {
    run(1, seed, effort(10'000), 3);
    run(1, seed, effort(10'000), 7919);
    run(8, seed, effort(10'000), 64);
    run(32, seed, effort(10'000), 8);
  }
}

/// One leaf of two nodes with 8 devices and 10 CPUs each.
cluster two_nodes(std::size_t live_shapes) {
  cluster_spec spec;
  spec.tree = domain_tree_builder::regular({"cluster", "leaf"}, {1}, 2);
  spec.shapes.push_back(make_plain_shape("machine", 8, "a", cpus(10), gibibytes(10)));
  for (int n = 0; n < 2; ++n) spec.nodes.push_back({"n", shape_id{0}, {}, cpus(10), gibibytes(10)});
  return cluster{spec, {.jobs = 8, .tasks = 64, .live_shapes = live_shapes, .journal = 8, .shared_bounds = true}};
}
TEST_CASE("a bound that promises too much is caught on the nodes, and what really fits is placed") {
  cluster c = two_nodes(1);
  placer place{c};
  REQUIRE(place(of(1, {8, {}, {}, filter_id{0}}, 1)));  // takes the only live shape
  // Rounded down to 2,048 millicores four tasks would fit on a node; of 3,000 only three do.
  const task_shape s{1, cpus(3), {}, filter_id{0}};
  const live_shape* b = c.bounds(s);
  REQUIRE(b != nullptr);
  REQUIRE(b->shape() != s);
  CHECK(b->fits(0) == 4);
  const auto fresh = [&](std::uint32_t tasks, std::uint32_t minimum, std::int64_t extra) {
    // Another amount each time, so that no shape is asked for twice.
    return place(of(tasks, {1, cpus(3) + cpu_millis{extra}, {}, filter_id{0}}, minimum));
  };
  CHECK(fresh(6, 6, 1).result == verdict::placed);
  CHECK(fresh(7, 7, 2).result == verdict::never);
  const decision elastic = fresh(8, 2, 3);
  REQUIRE(elastic.result == verdict::placed);
  CHECK(elastic.where.tasks.size() == 6);
  CHECK(elastic.score.tasks_missing == 2);
  CHECK(c.commit(job_key{1}, elastic.where));
}

TEST_CASE("a shape asked for again gets exact counters, and keeps them while it is used") {
  cluster c = two_nodes(1);
  const task_shape whole{8, {}, {}, filter_id{0}}, odd{1, cpu_millis{3001}, {}, filter_id{0}};
  REQUIRE(c.bounds(whole)->shape() == whole);
  CHECK(c.bounds(odd)->shape() == task_shape{1, cpu_millis{2048}, {}, filter_id{0}});
  CHECK(c.bounds(odd)->shape() == odd);
  CHECK(c.bounds(odd)->shape() == odd);
  CHECK(c.counters(odd)->fits(0) == 3);
}

TEST_CASE("without shared bounds, what was asked before has no say in what is chosen") {
  random_source random{5};
  const cluster_spec spec = berth_test::random_events::make_spec(random, 3, 4, 8);
  // The same requests and commits on two clusters; one is asked for many other shapes in between.
  cluster quiet{spec, {.jobs = 512, .tasks = 8192, .live_shapes = 64, .journal = 8}};
  cluster busy{spec, {.jobs = 512, .tasks = 8192, .live_shapes = 2, .journal = 8}};
  placer a{quiet}, b{busy};
  berth_test::random_events events{quiet, spec, 5};
  std::uint64_t key = 0, same = 0;
  std::uint16_t filters = 0;
  const auto ask = [&] {
    const task_shape s = events.make_shape(7919);
    for (; filters <= s.filter.raw(); ++filters)  // filters are made on the first cluster; ids agree
      REQUIRE(busy.add_filter(quiet.filter(filter_id{filters})) == filter_id{filters});
    return events.make_gang(s, 16);
  };
  for (int i = 0; i < 1000; ++i) {
    const gang g = ask();
    for (std::size_t k = random.below(4); k > 0; --k) REQUIRE(b(ask()).result != verdict::invalid);
    const decision x = a(g), y = b(g);
    REQUIRE(x.result == y.result);
    REQUIRE(x.level == y.level);
    REQUIRE(x.domain == y.domain);
    REQUIRE(x.where.tasks.size() == y.where.tasks.size());
    for (std::size_t t = 0; t < x.where.tasks.size(); ++t) REQUIRE(x.where.tasks[t] == y.where.tasks[t]);
    if (!x) continue;
    ++same;
    REQUIRE(quiet.commit(job_key{key}, x.where));
    REQUIRE(busy.commit(job_key{key++}, y.where));
    if (key > 20) {
      const job_key old{key - 1 - random.below(20)};
      REQUIRE(quiet.release(old).has_value() == busy.release(old).has_value());
    }
  }
  CHECK(same > 50);
}

TEST_CASE("without live shapes a placer says that it cannot tell") {
  cluster_spec spec;
  spec.tree = domain_tree_builder::regular({"cluster", "leaf"}, {1}, 2);
  spec.shapes.push_back(make_plain_shape("machine", 8, "a", cpus(10), gibibytes(10)));
  for (int n = 0; n < 2; ++n) spec.nodes.push_back({"n", shape_id{0}, {}, cpus(10), gibibytes(10)});
  cluster c{spec, {.jobs = 8, .tasks = 64, .live_shapes = 0, .journal = 8}};
  placer place{c};
  CHECK(place(of(1, {8, {}, {}, filter_id{0}}, 1)).result == verdict::capacity_exhausted);
}

}  // namespace
