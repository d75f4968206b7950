#pragma once
/// \file
/// Splits a gang as evenly as possible over the fewest domains of one level, with the largest possible least share
/// (threshold). Source: kubernetes-sigs/kueue pkg/cache/scheduler/tas_balanced_placement.go.
///
/// Cost        The choice of domains is a dynamic program over (leaders left, tasks left); it gives up beyond
/// `max_steps`, and the caller falls back to the plain walk.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/solver/domain_walk.hpp"

namespace berth {

class balanced_walk {
 public:
  using domains = std::vector<std::uint32_t>;
  static constexpr std::size_t max_steps = 4'000'000;

  balanced_walk(counted_tree& tree, const walk_request& request);

  /// The domains and their level, their shares as counts; empty where an even split is not possible, and then the
  /// counts are as before. The tree must be counted.
  [[nodiscard]] std::optional<std::pair<std::size_t, domains>> choose();

  /// The fewest of `all` that hold `segments` and `leaders`, among those the least capacity; empty where nothing does.
  /// `by_spread`: equal ones in the order of how evenly their children's capacities are spread, not of their names.
  [[nodiscard]] std::optional<domains> fewest(domains all, std::int64_t segments, std::int64_t leaders,
                                              bool by_spread) const;

  /// Gives every one of the fewest sufficient domains `threshold` segments and the rest greedily; their counts become
  /// their shares. Empty where that does not come out.
  [[nodiscard]] std::optional<domains> share_out(const domains& all, std::int64_t segments, std::int64_t leaders,
                                                 std::int64_t threshold);

 private:
  struct greedy_result {
    std::size_t count = 0;
    std::uint32_t last_with_leader = counted_tree::none, last = counted_tree::none;
  };
  [[nodiscard]] static std::int64_t least(std::int64_t a, std::int64_t b) noexcept { return a < b ? a : b; }
  [[nodiscard]] domain_walk<best_fit> plain() const { return {tree_, request_}; }

  [[nodiscard]] std::optional<greedy_result> take_greedily(const domains& all, std::int64_t segments,
                                                           std::int64_t leaders) const;

  /// How evenly the children's capacities are spread: Shannon entropy of their shares.
  [[nodiscard]] double spread(std::uint32_t d) const;

  void clear(std::uint32_t d, bool leader_only);
  void prune(std::uint32_t d, std::int64_t threshold);
  /// Domains that cannot have a share of `threshold` hold nothing; what is around them is counted anew.
  void prune_all(const domains& all, std::int64_t threshold);

  /// Among the groups of siblings at the asked level: the one with the largest threshold, then the fewest domains.
  [[nodiscard]] bool best_siblings();

  [[nodiscard]] std::optional<std::pair<std::size_t, domains>> shares();

  counted_tree& tree_;
  const walk_request& request_;
  std::int64_t threshold_ = 0;
  domains group_;
  std::vector<domain_counts> best_counts_;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/solver/impl/balanced_walk.hpp"
#endif
