#pragma once
/// \file
/// How many replicas each domain gets under caps and skews at several levels at once: exact, by counting alone.
///
/// Once the least total m of every rule with a skew is fixed, the rules are bounds: an eligible domain d of the rule's
/// level gets at least m - E(d), and any domain gets at most m + skew - E(d) or nothing. Domains of a tree are nested,
/// so one pass upwards tells which totals each domain can have (all whole numbers from LO to HI, LO(d) = max(own least,
/// sum of the children's LO), HI(d) = min(own most, sum of the children's HI)), and one pass downwards hands them out.
/// An m that is claimed too small only makes the bounds narrower, so trying every m decides. Few need a try: with N
/// replicas to place, sum over eligible d of max(0, m - E(d)) <= N <= sum of max(0, m + skew - E(d)), which leaves at
/// most skew + 1 values a rule.
///
/// Cost        O(domains × product over the rules of (min(skew, N / domains) + 1)); allocates. `visits`
///             bounds the product, past it the answer is `gave_up`.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "berth/core/expected.hpp"
#include "berth/topology/domain_tree.hpp"

namespace berth {

/// A rule with a skew, by domain of its level.
struct spread_skew {
  std::size_t level = 0;
  std::int64_t skew = 1;                    ///< at least 1
  std::vector<std::int64_t> existing = {};  ///< E(d)
  std::vector<std::uint8_t> eligible = {};  ///< 1: counts for the least total
  bool least_is_zero = false;               ///< too few eligible domains: m is 0
};

/// A tree of levels, outermost first, with what its domains can take at most: nothing where a domain is not eligible
/// for every skew of its level. Children of a domain are neighbours.
struct spread_tree {
  std::vector<std::vector<id_range>> children = {};      ///< by level and domain; none at the last level
  std::vector<std::vector<std::int64_t>> most = {};      ///< by level and domain: room and caps, whichever is less
  std::vector<std::vector<std::int64_t>> existing = {};  ///< by level and domain, for evenness; empty: a level to pack
};

struct spread_refusal {
  enum class cause : std::uint8_t {
    room,     ///< room and caps do not hold so many, skews apart
    skew,     ///< a domain that can take no more holds the others back
    gave_up,  ///< too many combinations of least totals
  };
  cause why = cause::room;
  std::int64_t holds = 0;    ///< for `room`: what does fit
  std::size_t rule = 0;      ///< for `skew`: the rule that allows the fewest
  std::uint32_t domain = 0;  ///< for `skew`: the eligible domain with the least that its total can be
  std::int64_t total = 0;    ///< for `skew`: that total
  bool few_domains = false;  ///< for `skew`: too few are eligible, so the least total is 0 and no domain is at fault
};

/// Shares by level and domain.
using spread_shares = std::vector<std::vector<std::int64_t>>;

class spread_solver {
 public:
  /// Domains that a call looks at before it gives up, unless told otherwise: some tens of milliseconds.
  static constexpr std::size_t default_visits = 20'000'000;

  spread_solver(spread_tree tree, std::vector<spread_skew> skews, bool even, std::size_t visits = default_visits)
      : tree_{std::move(tree)}, skews_{std::move(skews)}, even_{even} {
    std::size_t domains = 0;
    for (const auto& l : tree_.most) domains += l.size();
    tries_ = visits / (domains == 0 ? 1 : domains) + 1;
    const std::size_t levels = tree_.most.size();
    low_.resize(levels), high_.resize(levels);
    for (std::size_t l = 0; l < levels; ++l)
      low_[l].resize(tree_.most[l].size()), high_[l].resize(tree_.most[l].size());
    least_.resize(skews_.size());
    from_.resize(skews_.size()), to_.resize(skews_.size());
    room_ = bounds(nullptr) ? high_ : tree_.most;
  }

  /// How many replicas fit when skews are left out: no answer has more.
  [[nodiscard]] std::int64_t room() const noexcept { return sum(room_.front()); }

  /// Shares of `n` replicas. \pre n >= 0
  [[nodiscard]] expected<spread_shares, spread_refusal> solve(std::int64_t n) {
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

 private:
  [[nodiscard]] static std::int64_t sum(const std::vector<std::int64_t>& v) noexcept {
    std::int64_t s = 0;
    for (const std::int64_t x : v) s += x;
    return s;
  }
  [[nodiscard]] static std::int64_t above(std::int64_t a, std::int64_t b) noexcept { return a > b ? a - b : 0; }

  /// What eligible domains of a rule take until all are filled up to `mark`.
  [[nodiscard]] std::int64_t fill_up(const spread_skew& s, std::int64_t mark) const noexcept {
    std::int64_t out = 0;
    for (std::size_t d = 0; d < s.existing.size(); ++d)
      if (s.eligible[d] != 0) out += above(mark, s.existing[d]);
    return out;
  }
  /// The most that a rule's least total can be, whatever the others say; none where no domain is eligible.
  [[nodiscard]] std::int64_t pinned(const spread_skew& s, std::uint32_t& domain) const noexcept {
    std::int64_t out = std::numeric_limits<std::int64_t>::max();
    for (std::size_t d = 0; d < s.existing.size(); ++d)
      if (s.eligible[d] != 0 && s.existing[d] + room_[s.level][d] < out)
        out = s.existing[d] + room_[s.level][d], domain = static_cast<std::uint32_t>(d);
    return out;
  }
  /// How many replicas a rule alone allows.
  [[nodiscard]] std::int64_t limit(std::size_t r) const noexcept {
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
  [[nodiscard]] spread_refusal held_back(std::size_t r) const noexcept {
    spread_refusal no;
    no.why = spread_refusal::cause::skew;
    no.rule = r;
    no.few_domains = skews_[r].least_is_zero;
    if (!no.few_domains) no.total = pinned(skews_[r], no.domain);
    no.holds = limit(r);
    return no;
  }

  /// The least totals of a rule that are worth a try. False: there is none.
  [[nodiscard]] bool range_of(std::size_t r, std::int64_t n) noexcept {
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

  /// Which totals each domain can have, for these least totals (null: without skews). False: one can have none.
  [[nodiscard]] bool bounds(const std::int64_t* least) {
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

  /// Hands `n` down the tree, within the bounds. \pre bounds() held, and the outermost level takes n
  [[nodiscard]] spread_shares hand_out(std::int64_t n) const {
    spread_shares out(low_.size());
    for (std::size_t l = 0; l < out.size(); ++l) out[l].resize(low_[l].size());
    split(out, 0, {0, static_cast<std::uint32_t>(low_.front().size())}, n);
    for (std::size_t l = 0; l + 1 < out.size(); ++l)
      for (std::size_t d = 0; d < out[l].size(); ++d)
        if (out[l][d] != 0) split(out, l + 1, tree_.children[l][d], out[l][d]);
    return out;
  }
  void split(spread_shares& out, std::size_t level, id_range in, std::int64_t n) const {
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
  /// Raises the least totals until `n` more are handed out; what does not go around goes to the lowest ids.
  static void level_up(std::vector<std::int64_t>& share, const std::vector<std::int64_t>& existing,
                       const std::vector<std::int64_t>& low, const std::vector<std::int64_t>& high, id_range in,
                       std::int64_t n) {
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

  spread_tree tree_;
  std::vector<spread_skew> skews_;
  bool even_;
  std::size_t tries_ = 0;  ///< combinations of least totals
  std::vector<std::vector<std::int64_t>> low_, high_, room_;
  std::vector<std::int64_t> least_, from_, to_;
};

}  // namespace berth
