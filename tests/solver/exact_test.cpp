// The references judge the placer; here they judge each other. `solve_exhaustively` tries every placement one task at a
// time, `solve_exactly` computes; they must agree on everything that a few nodes and tasks can make up.
#include "berth/solver/exact.hpp"

#include <doctest/doctest.h>

#include "berth/solver/exhaustive.hpp"
#include "berth/solver/validate.hpp"
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
