// Gangs of several groups or in segments that ask something of the fabric, against trying everything: placed exactly
// when some placement keeps it, with as many tasks and as few domains as any.
#include "berth/solver/count_search.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include "allocation_count.hpp"
#include "berth/cluster/presets.hpp"
#include "berth/core/random.hpp"
#include "berth/solver/exact.hpp"
#include "berth/solver/exhaustive.hpp"
#include "berth/solver/placer.hpp"
#include "berth/solver/validate.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "solver/random_fabric.hpp"
#include "solver/random_instance.hpp"
#include "solver/sanitized.hpp"

using namespace berth;
using namespace berth_test;

namespace {

constexpr std::int64_t giga = 1'000'000'000;

/// A random fabric of nodes with few CPUs, of two models or one.
cluster_spec unlike_fabric(random_source& r) {
  cluster_spec s = random_fabric(r);
  node_shape mixed = s.shapes[0];
  mixed.name = "mixed";
  for (std::size_t d = 0; d < mixed.models.size(); d += 2) mixed.models[d] = "other";
  s.shapes.push_back(mixed);
  const bool unlike = r.below(4) == 0;
  for (auto& n : s.nodes) {
    n.shape = shape_id{static_cast<std::uint16_t>(unlike ? r.below(2) : 0)};
    n.cpu = cpus(static_cast<std::int64_t>(r.between(2, 8)));
    n.memory = gibibytes(8);
  }
  return s;
}

gang random_gang(random_source& r, cluster& c) {
  for (;;) {
    gang g;
    const bool segments = r.below(2) == 0;
    const auto groups = static_cast<std::uint32_t>(segments ? r.between(1, 2) : r.between(2, 3));
    const auto levels = c.tree().level_count();
    if (segments)
      g.segments = {static_cast<std::uint32_t>(r.between(1, 3)), level_id{static_cast<std::uint8_t>(r.below(levels))},
                    static_cast<segment_layout>(r.below(3))};
    std::uint32_t tasks = 0;
    const bool elastic = r.below(2) == 0;
    for (std::uint32_t i = 0; i < groups; ++i) {
      task_group t;
      t.name = "g" + std::to_string(i);
      t.shape.devices = static_cast<std::uint32_t>(r.between(r.below(5) == 0 ? 0 : 1, 3));
      if (t.shape.devices == 0 || r.below(4) == 0) t.shape.cpu = cpus(static_cast<std::int64_t>(r.between(1, 3)));
      if (r.below(5) == 0) t.shape.per_node = static_cast<std::uint32_t>(r.between(1, 2));
      if (r.below(6) == 0) {
        node_filter f;
        f.models = {"other"};
        t.shape.filter = c.add_filter(f);
      }
      const std::uint32_t size = static_cast<std::uint32_t>(r.between(1, segments ? 2 : 4));
      t.wanted = segments ? size * g.segments->count : size;
      t.minimum = !elastic   ? t.wanted
                  : segments ? size * static_cast<std::uint32_t>(r.between(1, g.segments->count))
                             : static_cast<std::uint32_t>(r.between(1, t.wanted));
      tasks += t.wanted;
      g.groups.push_back(t);
    }
    if (tasks > 7) continue;
    g.between_nodes = bytes_per_second{static_cast<std::int64_t>(r.between(1, 11)) * 5 * giga};
    if (r.below(3) == 0) g.where = locality::required, g.level = level_id{static_cast<std::uint8_t>(r.below(levels))};
    return g;
  }
}

}  // namespace

TEST_CASE(
    "mixed gangs with a guaranteed rate: placed exactly when some placement keeps it, and nearly always the best") {
  const int clusters = sanitized ? 60 : 800;
  std::uint64_t possible = 0, impossible = 0, best = 0, most_tasks = 0, gave_up = 0, too_large = 0, named = 0;
  for (int seed = 1; seed <= clusters; ++seed) {
    CAPTURE(seed);
    random_source r{static_cast<std::uint64_t>(seed) * 977};
    cluster c{unlike_fabric(r), {.jobs = 16, .tasks = 64}};
    placer place{c};
    for (std::uint32_t n = 0; n < c.node_count(); ++n)
      for (unsigned d = 0; d < 4; ++d)
        if (r.below(4) == 0) REQUIRE(c.set_device_health(node_id{n}, d, false));
    if (r.below(5) == 0) REQUIRE(c.set_uplink_health(c.tree().leaf_level(), domain_id{1}, false));
    for (std::uint64_t key = 0; key < 4; ++key) {
      CAPTURE(key);
      const gang g = random_gang(r, c);
      INFO(describe(g), " at ", g.between_nodes.count() / giga, " GB/s", describe(c));
      const exact_answer truth = solve_exhaustively(c, g, {0, 300'000});
      const auto amounts = c.uplinks().amounts();
      const std::uint64_t allocated = counting_new::count();
      const decision d = place(g);
      REQUIRE(counting_new::count() == allocated);
      REQUIRE(c.uplinks().amounts() == amounts);
      if (truth.result == exact_verdict::too_large) {
        ++too_large;
        continue;
      }
      (truth.result == exact_verdict::found ? possible : impossible) += 1;
      if (d.result == verdict::gave_up) {
        ++gave_up;
        continue;
      }
      INFO("best: ", describe(truth.score, c.tree().level_count()));
      REQUIRE((d.result == verdict::placed) == (truth.result == exact_verdict::found));
      if (!d) {
        if (d.why.link) ++named;
        continue;
      }
      INFO(describe(d, c));
      REQUIRE(static_cast<int>(validate(c, g, d).fault) == 0);
      REQUIRE(d.score >= truth.score);
      best += d.score == truth.score ? 1U : 0U;
      most_tasks += d.score.tasks_missing == truth.score.tasks_missing ? 1U : 0U;
      if (r.below(2) == 0) REQUIRE(c.commit(job_key{key}, d.where));
      REQUIRE(c.check_invariants());
    }
    for (std::uint64_t key = 0; key < 4; ++key) static_cast<void>(c.release(job_key{key}));
    REQUIRE(c.uplinks().is_untouched());
  }
  MESSAGE(possible, " possible, ", impossible, " impossible, ", too_large, " too large to try, ", best, " best, ",
          most_tasks, " with most tasks, ", gave_up, " given up, ", named, " refusals with a link");
  CHECK(gave_up == 0);
  CHECK(most_tasks == possible);
  CHECK(best * 100 >= possible * 97);
  CHECK(possible > 2U * static_cast<unsigned>(clusters) / 3);
  CHECK(impossible > static_cast<unsigned>(clusters) / 2);
  CHECK(named > static_cast<unsigned>(clusters) / 10);
}

TEST_CASE("mixed gangs on the same rails: placed exactly when some set of rails, or one node, holds them") {
  const auto spec = make_preset("rail:nodes=4,per-leaf=2");
  REQUIRE(spec.has_value());
  const int rounds = sanitized ? 6 : 60;
  int placed = 0, refused = 0, gave_up = 0;
  for (int seed = 1; seed <= rounds; ++seed) {
    CAPTURE(seed);
    random_source r{static_cast<std::uint64_t>(seed) * 31};
    cluster c{*spec, {.jobs = 16, .tasks = 64}};
    placer place{c};
    for (std::uint32_t n = 0; n < c.node_count(); ++n)
      for (unsigned d = 0; d < 8; ++d)
        if (r.below(3) == 0) REQUIRE(c.set_device_health(node_id{n}, d, false));
    gang g{.rails = rail_rule::same};
    for (std::uint32_t i = 0; i < 2; ++i) {
      const auto wanted = static_cast<std::uint32_t>(r.between(1, 4));
      g.groups.push_back(
          {"g" + std::to_string(i), {.devices = static_cast<std::uint32_t>(r.between(1, 3))}, wanted, wanted});
    }
    INFO(describe(g), describe(c));
    // The cluster with nothing but the devices of a set of rails, on nodes that have all of them; with one node alone.
    gang plain = g;
    plain.rails = rail_rule::any;
    bool possible = false;
    for (std::uint32_t set = 1; set < 256 + c.node_count() && !possible; ++set) {
      cluster only{c};
      for (std::uint32_t n = 0; n < c.node_count(); ++n) {
        const device_mask on = set < 256 ? set : n == set - 256 ? 255 : 0;
        const bool all = set < 256 ? (c.node(node_id{n}).free & on) == on : on != 0;
        static_cast<void>(only.set_node_usable(node_id{n}, all));
        for (unsigned d = 0; d < 8; ++d)
          if ((on & bit(d)) == 0) static_cast<void>(only.set_device_health(node_id{n}, d, false));
      }
      possible = solve_exactly(only, plain).result == exact_verdict::found;
    }
    const decision d = place(g);
    if (d.result == verdict::gave_up) ++gave_up;
    REQUIRE((d.result == verdict::placed) == possible);
    if (!d) {
      ++refused;
      continue;
    }
    ++placed;
    REQUIRE(static_cast<int>(validate(c, g, d).fault) == 0);
    std::uint32_t used = 0;
    bool one_node = true;
    for (const auto& t : d.where.tasks) {
      used |= static_cast<std::uint32_t>(t.devices);  // GPU i is on rail i
      one_node = one_node && t.node == d.where.tasks[0].node;
    }
    CHECK(d.rails == used);
    for (const auto& t : d.where.tasks) CHECK((one_node || (c.node(t.node).free & used) == used));
  }
  CHECK(gave_up == 0);
  CHECK(placed > rounds / 5);
  CHECK(refused > rounds / 5);
}

TEST_CASE("uplinks by rail: gangs of whole nodes are decided exactly, others are never refused where one exists") {
  const int clusters = sanitized ? 5 : 30;
  std::uint64_t whole = 0, possible = 0, part = 0, part_possible = 0, gave_up = 0;
  for (int seed = 1; seed <= clusters; ++seed) {
    CAPTURE(seed);
    random_source r{static_cast<std::uint64_t>(seed) * 53};
    auto spec = make_preset("rail:nodes=6,per-leaf=2,oversubscription=2");
    REQUIRE(spec.has_value());
    for (auto& level : spec->uplinks.levels)
      for (auto& rate : level.rates)
        if (rate && r.below(3) == 0) rate = gigabytes_per_second{static_cast<double>(r.between(0, 8)) * 12.5};
    cluster c{*spec, {.jobs = 16, .tasks = 64}};
    placer place{c};
    for (std::uint32_t n = 0; n < c.node_count(); ++n)
      if (r.below(6) == 0) REQUIRE(c.set_node_usable(node_id{n}, false));
    for (int k = 0; k < 3; ++k) {
      const bool small = k == 2;
      gang g;
      if (r.below(2) == 0)
        g.segments = {2, level_id{static_cast<std::uint8_t>(r.below(c.tree().level_count()))},
                      static_cast<segment_layout>(r.below(3))};
      const std::uint32_t groups = g.segments && !small ? 1 : 2;
      for (std::uint32_t i = 0; i < groups; ++i) {
        const std::uint32_t wanted = static_cast<std::uint32_t>(r.between(1, 2)) * (g.segments ? 2 : 1);
        const bool leader = i == 1 && !small;
        g.groups.push_back({"g" + std::to_string(i),
                            {.devices = leader  ? 0U
                                        : small ? static_cast<std::uint32_t>(r.between(2, 6))
                                                : 8U,
                             .cpu = leader ? cpus(1) : cpu_millis{}},
                            wanted,
                            wanted});
      }
      g.between_nodes = bytes_per_second{static_cast<std::int64_t>(r.between(1, 10)) * 5 * giga};
      INFO(describe(g), " at ", g.between_nodes.count() / giga, " GB/s");
      const exact_answer truth = solve_exhaustively(c, g, {0, small ? 2'000U : 40'000U});
      if (truth.result == exact_verdict::too_large) continue;
      const bool found = truth.result == exact_verdict::found;
      const decision d = place(g);
      if (d) REQUIRE(static_cast<int>(validate(c, g, d).fault) == 0);
      if (small) {
        ++part;
        part_possible += found ? 1U : 0U;
        gave_up += d.result == verdict::gave_up ? 1U : 0U;
        if (found) REQUIRE(d.result != verdict::not_now);
        if (found) REQUIRE(d.result != verdict::never);
        continue;
      }
      ++whole;
      possible += found ? 1U : 0U;
      REQUIRE((d.result == verdict::placed) == found);
      REQUIRE(d.result != verdict::gave_up);
      if (d) CHECK(d.score.tasks_missing == truth.score.tasks_missing);
    }
  }
  MESSAGE(whole, " gangs of whole nodes, ", possible, " possible; ", part, " of parts of nodes, ", part_possible,
          " possible, ", gave_up, " given up");
  CHECK(possible > whole / 4);
  CHECK(possible < whole * 9 / 10);
}
