#include "berth/solver/detail/kept_scores.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "berth/core/random.hpp"

namespace {

using berth::max_tree;
using berth::packing_drifts;
using berth::detail::kept_score;
using berth::detail::kept_scores;

std::size_t best_by_scan(const std::vector<kept_score>& all, unsigned kind) {
  std::size_t best = all.size();
  for (std::size_t n = 0; n < all.size(); ++n)
    if (all[n].kind == kind && all[n].key != max_tree::none && (best == all.size() || all[n].key > all[best].key))
      best = n;
  return best;
}

}  // namespace

TEST_CASE("Kept scores give the lowest of the best nodes of each kind, as a scan does") {
  berth::random_source random{11};
  for (const std::size_t nodes :
       {std::size_t{1}, std::size_t{15}, std::size_t{16}, std::size_t{17}, std::size_t{700}}) {
    kept_scores kept;
    kept.assign(nodes);
    std::vector<kept_score> all(nodes);
    const auto random_score = [&] {
      kept_score s;
      s.key = static_cast<double>(random.below(20)) - 10;  // few, so that they tie
      s.kind = static_cast<std::uint8_t>(random.below(packing_drifts));
      return s;
    };
    const auto check = [&] {
      for (unsigned kind = 0; kind < packing_drifts; ++kind) REQUIRE(kept.best(kind) == best_by_scan(all, kind));
    };
    for (unsigned step = 0; step < 2000; ++step) {
      const std::size_t n = random.below(nodes);
      if (random.below(4) == 0) {
        kept.clear(n);
        all[n].key = max_tree::none;
      } else {
        all[n] = random_score();
        kept.set(n, all[n]);
      }
      check();
    }
    // All anew.
    kept.assign(nodes);
    all.assign(nodes, {});
    check();
    for (std::size_t n = 0; n < nodes; n += 1 + random.below(3)) {
      all[n] = random_score();
      kept.put(n, all[n]);
    }
    kept.settle();
    check();
  }
}
