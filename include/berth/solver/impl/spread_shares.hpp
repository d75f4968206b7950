#pragma once
/// \file
/// Bodies of `berth/solver/spread_shares.hpp`.

#include <limits>
#include <utility>

#include "berth/solver/spread_shares.hpp"

namespace berth {

BERTH_INLINE spread_solver::spread_solver(spread_tree tree, std::vector<spread_skew> skews, bool even,
                                          std::size_t visits)
    : tree_{std::move(tree)}, skews_{std::move(skews)}, even_{even} {
  std::size_t domains = 0;
  for (const auto& l : tree_.most) domains += l.size();
  tries_ = visits / (domains == 0 ? 1 : domains) + 1;
  const std::size_t levels = tree_.most.size();
  low_.resize(levels), high_.resize(levels);
  for (std::size_t l = 0; l < levels; ++l) low_[l].resize(tree_.most[l].size()), high_[l].resize(tree_.most[l].size());
  least_.resize(skews_.size());
  from_.resize(skews_.size()), to_.resize(skews_.size());
  room_ = bounds(nullptr) ? high_ : tree_.most;
}

BERTH_INLINE expected<spread_shares, spread_refusal> spread_solver::solve(std::int64_t n) {
  spread_refusal no;
  if (room() < n) {
    no.holds = room();
    return unexpected{no};
  }
  for (std::size_t r = 0; r < skews_.size(); ++r)
    if (!range_of(r, n)) return unexpected{held_back(r)};
  // The first rule's m moves slowest, so that the first hit is the best for it.
  for (std::size_t r = 0; r < skews_.size(); ++r) least_[r] = even_ ? to_[r] : from_[r];
  for (std::size_t tried = 0; tried < tries_; ++tried) {
    if (bounds(least_.data()) && sum(low_.front()) <= n && n <= sum(high_.front())) return hand_out(n);
    std::size_t r = skews_.size();
    while (r > 0) {
      --r;
      if (least_[r] != (even_ ? from_[r] : to_[r])) {
        least_[r] += even_ ? -1 : 1;
        for (std::size_t s = r + 1; s < skews_.size(); ++s) least_[s] = even_ ? to_[s] : from_[s];
        r = skews_.size() + 1;
        break;
      }
    }
    if (r == skews_.size() + 1) continue;
    std::size_t worst = 0;
    for (std::size_t s = 1; s < skews_.size(); ++s)
      if (limit(s) < limit(worst)) worst = s;
    return unexpected{held_back(worst)};
  }
  no.why = spread_refusal::cause::gave_up;
  return unexpected{no};
}

BERTH_INLINE std::int64_t spread_solver::sum(const std::vector<std::int64_t>& v) noexcept {
  std::int64_t s = 0;
  for (const std::int64_t x : v) s += x;
  return s;
}

BERTH_INLINE std::int64_t spread_solver::fill_up(const spread_skew& s, std::int64_t mark) const noexcept {
  std::int64_t out = 0;
  for (std::size_t d = 0; d < s.existing.size(); ++d)
    if (s.eligible[d] != 0) out += above(mark, s.existing[d]);
  return out;
}

BERTH_INLINE std::int64_t spread_solver::pinned(const spread_skew& s, std::uint32_t& domain) const noexcept {
  std::int64_t out = std::numeric_limits<std::int64_t>::max();
  for (std::size_t d = 0; d < s.existing.size(); ++d)
    if (s.eligible[d] != 0 && s.existing[d] + room_[s.level][d] < out)
      out = s.existing[d] + room_[s.level][d], domain = static_cast<std::uint32_t>(d);
  return out;
}

BERTH_INLINE std::int64_t spread_solver::limit(std::size_t r) const noexcept {
  std::uint32_t d = 0;
  const spread_skew& s = skews_[r];
  const std::int64_t m = s.least_is_zero ? 0 : pinned(s, d);
  std::int64_t out = 0;
  for (std::size_t i = 0; i < s.existing.size(); ++i) {
    const std::int64_t most = m > std::numeric_limits<std::int64_t>::max() - s.skew ? m : m + s.skew;
    const std::int64_t here = above(most, s.existing[i]);
    out += here < room_[s.level][i] ? here : room_[s.level][i];
  }
  return out;
}

BERTH_INLINE spread_refusal spread_solver::held_back(std::size_t r) const noexcept {
  spread_refusal no;
  no.why = spread_refusal::cause::skew;
  no.rule = r;
  no.few_domains = skews_[r].least_is_zero;
  if (!no.few_domains) no.total = pinned(skews_[r], no.domain);
  no.holds = limit(r);
  return no;
}

BERTH_INLINE bool spread_solver::range_of(std::size_t r, std::int64_t n) noexcept {
  const spread_skew& s = skews_[r];
  from_[r] = to_[r] = 0;
  if (s.least_is_zero) return true;
  std::uint32_t domain = 0;
  const std::int64_t top = pinned(s, domain);
  if (top == std::numeric_limits<std::int64_t>::max()) return n == 0;
  std::int64_t first = s.existing[domain];
  for (std::size_t d = 0; d < s.existing.size(); ++d)
    if (s.eligible[d] != 0 && s.existing[d] < first) first = s.existing[d];
  // The largest m up to which all can be filled, by halving; then the smallest from which n find a place.
  std::int64_t lo = first, hi = top;
  while (lo < hi) {
    const std::int64_t mid = lo + (hi - lo + 1) / 2;
    if (fill_up(s, mid) <= n) lo = mid;
    else hi = mid - 1;
  }
  to_[r] = lo;
  std::int64_t a = first, b = lo;
  while (a < b) {
    const std::int64_t mid = a + (b - a) / 2;
    if (fill_up(s, mid + s.skew) >= n) b = mid;
    else a = mid + 1;
  }
  from_[r] = a;
  return fill_up(s, a + s.skew) >= n;
}

BERTH_INLINE bool spread_solver::bounds(const std::int64_t* least) {
  const std::size_t levels = tree_.most.size();
  for (std::size_t l = 0; l < levels; ++l)
    for (std::size_t d = 0; d < low_[l].size(); ++d) low_[l][d] = 0, high_[l][d] = tree_.most[l][d];
  for (std::size_t r = 0; least != nullptr && r < skews_.size(); ++r) {
    const spread_skew& s = skews_[r];
    auto& low = low_[s.level];
    auto& high = high_[s.level];
    for (std::size_t d = 0; d < low.size(); ++d) {
      const std::int64_t most = above(least[r] + s.skew, s.existing[d]), own = above(least[r], s.existing[d]);
      if (most < high[d]) high[d] = most;
      if (s.eligible[d] != 0 && !s.least_is_zero && own > low[d]) low[d] = own;
    }
  }
  for (std::size_t l = levels; l-- > 0;)
    for (std::size_t d = 0; d < low_[l].size(); ++d) {
      if (l + 1 < levels) {
        std::int64_t low = 0, high = 0;
        for (std::uint32_t c = tree_.children[l][d].first; c < tree_.children[l][d].last; ++c)
          low += low_[l + 1][c], high += high_[l + 1][c];
        if (low > low_[l][d]) low_[l][d] = low;
        if (high < high_[l][d]) high_[l][d] = high;
      }
      if (low_[l][d] > high_[l][d]) return false;
    }
  return true;
}

BERTH_INLINE spread_shares spread_solver::hand_out(std::int64_t n) const {
  spread_shares out(low_.size());
  for (std::size_t l = 0; l < out.size(); ++l) out[l].resize(low_[l].size());
  split(out, 0, {0, static_cast<std::uint32_t>(low_.front().size())}, n);
  for (std::size_t l = 0; l + 1 < out.size(); ++l)
    for (std::size_t d = 0; d < out[l].size(); ++d)
      if (out[l][d] != 0) split(out, l + 1, tree_.children[l][d], out[l][d]);
  return out;
}

BERTH_INLINE void spread_solver::split(spread_shares& out, std::size_t level, id_range in, std::int64_t n) const {
  auto& share = out[level];
  const auto& low = low_[level];
  const auto& high = high_[level];
  for (std::uint32_t d = in.first; d < in.last; ++d) share[d] = low[d], n -= low[d];
  const auto& existing = tree_.existing[level];
  if (even_ && !existing.empty()) return level_up(share, existing, low, high, in, n);
  // Packed: those in use first; one that holds all that is left, the tightest such; else the one with most room.
  while (n > 0) {
    std::uint32_t best = in.last;
    const auto rank = [&](std::uint32_t d) {
      const bool used = share[d] > 0 || (!existing.empty() && existing[d] > 0);
      const std::int64_t left = high[d] - share[d];
      return std::pair{used, left >= n ? std::numeric_limits<std::int64_t>::max() - left : left};
    };
    for (std::uint32_t d = in.first; d < in.last; ++d)
      if (share[d] < high[d] && (best == in.last || rank(best) < rank(d))) best = d;
    const std::int64_t left = high[best] - share[best], take = left < n ? left : n;
    share[best] += take;
    n -= take;
  }
}

BERTH_INLINE void spread_solver::level_up(std::vector<std::int64_t>& share, const std::vector<std::int64_t>& existing,
                                          const std::vector<std::int64_t>& low, const std::vector<std::int64_t>& high,
                                          id_range in, std::int64_t n) {
  const auto at = [&](std::uint32_t d, std::int64_t mark) {
    const std::int64_t want = above(mark, existing[d]);
    return want < low[d] ? low[d] : want > high[d] ? high[d] : want;
  };
  const auto taken = [&](std::int64_t mark) {
    std::int64_t t = 0;
    for (std::uint32_t d = in.first; d < in.last; ++d) t += at(d, mark) - low[d];
    return t;
  };
  std::int64_t lo = 0, hi = n;
  for (std::uint32_t d = in.first; d < in.last; ++d)
    if (existing[d] + high[d] > hi) hi = existing[d] + high[d];
  while (lo < hi) {
    const std::int64_t mid = lo + (hi - lo + 1) / 2;
    if (taken(mid) <= n) lo = mid;
    else hi = mid - 1;
  }
  n -= taken(lo);
  for (std::uint32_t d = in.first; d < in.last; ++d) {
    share[d] = at(d, lo);
    if (n > 0 && at(d, lo + 1) > share[d]) ++share[d], --n;
  }
}

}  // namespace berth
