// The references judge the placer; here they judge each other. `solve_exhaustively` tries every placement one task at a
// time, `solve_exactly` computes; they must agree on everything that a few nodes and tasks can make up.
#include "berth/solver/exact.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "berth/cluster/transaction.hpp"
#include "berth/solver/exhaustive.hpp"
#include "berth/solver/validate.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "solver/random_instance.hpp"
#include "solver/sanitized.hpp"

using namespace berth;
using namespace berth_test;

TEST_CASE("exact agrees with trying everything on tiny clusters, and its witness is valid") {
  const std::uint64_t clusters = sanitized ? 600 : 6000;
  std::uint64_t found = 0, impossible = 0, too_large = 0;
  for (std::uint64_t seed = 1; seed <= clusters; ++seed) {
    CAPTURE(seed);
    instance_maker make{seed, {5, 4, 5, 200}};
    if (seed % 2 == 0) make.limit_per_node();
    const cluster_spec spec = make.make_spec();
    cluster c{spec, {.jobs = 8, .tasks = 8}};
    make.disturb(c);
    REQUIRE(!make.broken());
    for (std::size_t k = 0; k < gang_kinds; ++k) {
      const gang g = make.make_gang(c, static_cast<gang_kind>(k), make.chance(50));
      const exact_answer all = solve_exhaustively(c, g, {0, 200'000});
      const exact_answer best = solve_exactly(c, g);
      if (all.result == exact_verdict::too_large) {
        ++too_large;
        continue;
      }
      INFO(describe(g), describe(c));
      REQUIRE(best.result == all.result);
      if (best.result != exact_verdict::found) {
        ++impossible;
        continue;
      }
      ++found;
      INFO("exact: ", describe(best.score, c.tree().level_count()),
           "\nall:   ", describe(all.score, c.tree().level_count()));
      REQUIRE(best.score == all.score);
      const placement_check check = validate(c, g, best.where());
      REQUIRE(static_cast<int>(check.fault) == 0);
      REQUIRE(score_of(c, g, best.where()) == best.score);
      if (g.segments && g.segments->layout == segment_layout::consolidate)
        REQUIRE(is_consolidated(c, g, best.where()) == true);
    }
  }
  MESSAGE("exact against all placements: ", found, " found, ", impossible, " impossible, ", too_large,
          " left out as too large");
  CHECK(found > clusters);
  CHECK(impossible > clusters / 2);
}

TEST_CASE("the references know taints, vacant nodes, needs inside nodes and their own limits of work") {
  cluster_spec spec;
  spec.tree = domain_tree_builder::regular({"cluster", "leaf"}, {1}, 2);
  spec.shapes.push_back(*catalogue_shape("pcie-a100-8"));
  for (std::uint32_t n = 0; n < 2; ++n)
    spec.nodes.push_back({"n" + std::to_string(n), shape_id{0}, {"taint:k=v:NoSchedule"}, cpus(64), gibibytes(512)});
  cluster c{spec, {.jobs = 8, .tasks = 8, .bindings = true}};
  const auto of = [](task_shape shape, std::uint32_t n) {
    gang g;
    g.groups.push_back({.name = "g", .shape = shape, .wanted = n, .minimum = n});
    return g;
  };
  const auto validated = [&](const gang& g, std::vector<task_placement> tasks) {
    return validate(c, g, {tasks, {&g.groups[0].shape, 1}, g.between_nodes}).fault;
  };
  node_filter f;
  f.taints = true;
  const gang kept_away = of({.devices = 1, .filter = c.add_filter(f)}, 1);
  CHECK(validated(kept_away, {{bit(0), node_id{0}, 0}}) == placement_fault::node_not_admitted);
  CHECK(solve_exhaustively(c, kept_away).result == exact_verdict::impossible);
  CHECK(solve_exactly(c, kept_away).result == exact_verdict::impossible);
  f.tolerations = {"k"};
  const gang let_in = of({.devices = 1, .filter = c.add_filter(f)}, 1);
  CHECK(validated(let_in, {{bit(0), node_id{0}, 0}}) == placement_fault::none);
  CHECK(solve_exactly(c, let_in).result == exact_verdict::found);

  // Two tasks that ask for most of one NUMA node's CPUs each do not share it; what is said to fit can be committed.
  const device_mask first = c.shape_of(node_id{0}).numa[0].devices, second = c.shape_of(node_id{0}).numa[1].devices;
  task_shape bound{.devices = 1, .cpu = cpus(20)};
  bound.bind.numa = numa_rule::single_node;
  const gang two = of(bound, 2);
  const std::vector<task_placement> crowded{{lowest_set(first, 1), node_id{0}, 0},
                                            {first & ~lowest_set(first, count_bits(first) - 1), node_id{0}, 0}},
      apart{{lowest_set(first, 1), node_id{0}, 0}, {lowest_set(second, 1), node_id{0}, 0}};
  for (const auto& tasks : {crowded, apart}) {
    const placement p{tasks, {&two.groups[0].shape, 1}};
    transaction undone{c};
    const bool fits = validated(two, tasks) == placement_fault::none;
    CHECK(fits == c.commit(job_key{1}, p).has_value());
  }
  CHECK(validated(two, crowded) == placement_fault::unmet_binding);
  CHECK(validated(two, apart) == placement_fault::none);
  CHECK(solve_exactly(c, two).result == exact_verdict::too_large);
  CHECK(solve_exhaustively(c, two).result == exact_verdict::too_large);
  gang rated = of({.devices = 8}, 2);
  rated.between_nodes = bytes_per_second{1};
  CHECK(solve_exactly(c, rated).result == exact_verdict::too_large);

  // Subsets of devices are work too: here some 8!/2 of them, for one way over the nodes.
  gang many = of({.devices = 1}, 6);
  many.groups.push_back({.name = "h", .shape = {.devices = 3}, .wanted = 4, .minimum = 4});
  CHECK(solve_exhaustively(c, many, {0, 20}).result == exact_verdict::too_large);

  REQUIRE(c.remove_node(node_id{1}).has_value());
  CHECK(solve_exhaustively(c, of({.devices = 8}, 1)).result == exact_verdict::found);
  CHECK(solve_exhaustively(c, of({.devices = 8}, 2)).result == exact_verdict::impossible);
  CHECK(solve_exhaustively(c, of({.cpu = cpus(1)}, 2)).result == exact_verdict::found);
}
