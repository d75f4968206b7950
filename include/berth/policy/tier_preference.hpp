#pragma once
/// \file
/// Preferences between domains, and between nodes by their domains, in a tree of tiers where tier 1 is the narrowest.
/// Each scores one property of a candidate, larger is better; combine them with `lexicographic` (`compose.hpp`).

#include <cstdint>

namespace berth {

/// A domain, or a node seen through its domains.
struct tier_candidate {
  std::uint32_t index = 0;  ///< of the domain or node
  bool same = false;        ///< is the domain that the job has
  std::int32_t tier = 0;    ///< of the lowest domain that holds both it and what the job has; 0: there is none
  double filled = 0;        ///< used part of its resources with the request, 0 where it does not fit
  double own = 0;           ///< part of the job's tasks that it has already
  double free = 0;          ///< free part of its resources with the request
};
/// The narrowest and the widest tier there are.
struct tier_range {
  std::int32_t least = 1;
  std::int32_t most = 1;
};

/// 1 for the job's own domain, else falling linearly with the tier of the common one: 1 at the narrowest, 0 at the
/// widest, and where there is none.
struct near_tier_first {
  static constexpr bool normalized = true;
  [[nodiscard]] constexpr double score(const tier_candidate& c, const tier_range& r) const noexcept {
    if (c.same) return 1;
    if (c.tier < r.least || c.tier > r.most) return 0;
    if (r.least == r.most) return 1;
    return static_cast<double>(r.most - c.tier) / static_cast<double>(r.most - r.least);
  }
};
/// Where the job has most tasks.
struct most_own_first {
  static constexpr bool normalized = true;
  [[nodiscard]] constexpr double score(const tier_candidate& c, const tier_range&) const noexcept { return c.own; }
};
/// What is fullest with the request.
struct packed_first {
  static constexpr bool normalized = true;
  [[nodiscard]] constexpr double score(const tier_candidate& c, const tier_range&) const noexcept { return c.filled; }
};
/// What is emptiest with the request.
struct roomy_first {
  static constexpr bool normalized = true;
  [[nodiscard]] constexpr double score(const tier_candidate& c, const tier_range&) const noexcept { return c.free; }
};

}  // namespace berth
