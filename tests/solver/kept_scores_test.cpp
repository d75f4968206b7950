#include "berth/solver/detail/kept_scores.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "berth/core/random.hpp"

namespace {

using berth::max_tree;
using berth::packing_drifts;
using berth::detail::kept_score;
using berth::detail::kept_scores;

// What some scores are charged, by number.
struct charges {
  double amounts[4]{};
  double operator()(const kept_score& s) const noexcept { return s.base - amounts[s.charge]; }
};

std::size_t best_by_scan(const std::vector<kept_score>& all, unsigned kind, const charges& key) {
  std::size_t best = all.size();
  for (std::size_t n = 0; n < all.size(); ++n)
    if (all[n].kind == kind && all[n].base != max_tree::none && (best == all.size() || key(all[n]) > key(all[best])))
      best = n;
  return best;
}

}  // namespace

TEST_CASE("Kept scores give the lowest of the best nodes of each kind, as a scan does, while charges rise") {
  berth::random_source random{11};
  for (const std::size_t nodes :
       {std::size_t{1}, std::size_t{15}, std::size_t{16}, std::size_t{17}, std::size_t{700}}) {
    kept_scores kept;
    kept.assign(nodes);
    std::vector<kept_score> all(nodes);
    charges key;
    const auto random_score = [&] {
      kept_score s;
      s.base = static_cast<double>(random.below(20)) - 10;  // few, so that they tie
      s.charge = static_cast<std::uint32_t>(random.below(4));
      s.kind = static_cast<std::uint8_t>(random.below(packing_drifts));
      return s;
    };
    const auto check = [&] {
      for (unsigned kind = 0; kind < packing_drifts; ++kind)
        REQUIRE(kept.best(kind, key) == best_by_scan(all, kind, key));
    };
    for (unsigned step = 0; step < 2000; ++step) {
      const std::size_t n = random.below(nodes);
      if (random.below(4) == 0) {
        kept.clear(n);
        all[n] = {};
      } else {
        all[n] = random_score();
        kept.set(n, all[n], key(all[n]));
      }
      // One charge in sixteen steps; every score with it falls.
      if (random.below(16) == 0) key.amounts[1 + random.below(3)] += 1;
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
    kept.settle(key);
    check();
  }
}
