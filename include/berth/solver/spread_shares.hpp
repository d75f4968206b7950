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
#include <vector>

#include "berth/core/expected.hpp"
#include "berth/core/separate.hpp"
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

  spread_solver(spread_tree tree, std::vector<spread_skew> skews, bool even, std::size_t visits = default_visits);

  /// How many replicas fit when skews are left out: no answer has more.
  [[nodiscard]] std::int64_t room() const noexcept { return sum(room_.front()); }

  /// Shares of `n` replicas. \pre n >= 0
  [[nodiscard]] expected<spread_shares, spread_refusal> solve(std::int64_t n);

 private:
  [[nodiscard]] static std::int64_t sum(const std::vector<std::int64_t>& v) noexcept;
  [[nodiscard]] static std::int64_t above(std::int64_t a, std::int64_t b) noexcept { return a > b ? a - b : 0; }

  /// What eligible domains of a rule take until all are filled up to `mark`.
  [[nodiscard]] std::int64_t fill_up(const spread_skew& s, std::int64_t mark) const noexcept;
  /// The most that a rule's least total can be, whatever the others say; none where no domain is eligible.
  [[nodiscard]] std::int64_t pinned(const spread_skew& s, std::uint32_t& domain) const noexcept;
  /// How many replicas a rule alone allows.
  [[nodiscard]] std::int64_t limit(std::size_t r) const noexcept;
  [[nodiscard]] spread_refusal held_back(std::size_t r) const noexcept;

  /// The least totals of a rule that are worth a try. False: there is none.
  [[nodiscard]] bool range_of(std::size_t r, std::int64_t n) noexcept;

  /// Which totals each domain can have, for these least totals (null: without skews). False: one can have none.
  [[nodiscard]] bool bounds(const std::int64_t* least);

  /// Hands `n` down the tree, within the bounds. \pre bounds() held, and the outermost level takes n
  [[nodiscard]] spread_shares hand_out(std::int64_t n) const;
  void split(spread_shares& out, std::size_t level, id_range in, std::int64_t n) const;
  /// Raises the least totals until `n` more are handed out; what does not go around goes to the lowest ids.
  static void level_up(std::vector<std::int64_t>& share, const std::vector<std::int64_t>& existing,
                       const std::vector<std::int64_t>& low, const std::vector<std::int64_t>& high, id_range in,
                       std::int64_t n);

  spread_tree tree_;
  std::vector<spread_skew> skews_;
  bool even_;
  std::size_t tries_ = 0;  ///< combinations of least totals
  std::vector<std::vector<std::int64_t>> low_, high_, room_;
  std::vector<std::int64_t> least_, from_, to_;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/solver/impl/spread_shares.hpp"
#endif
