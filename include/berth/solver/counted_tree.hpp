#pragma once
/// \file
/// A domain tree with what each domain can hold for one gang: counted at the leaves, summed up to the top. The ground
/// of the walks that other schedulers make (`domain_walk.hpp`, `balanced_walk.hpp`); the hot path has the capacity
/// index instead.
///
/// Cost        O(domains) memory and time.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/policy/domain_rank.hpp"

namespace berth {

/// How counts are summed up.
struct count_rule {
  std::int64_t segment_size = 1;
  std::size_t segment_level = 0;  ///< segments are counted in the domains of this level, and summed above
  /// By level: domains of it add to their parent in multiples of this; 0 or 1 where any number will do. May be shorter
  /// than the tree is deep.
  std::vector<std::int64_t> multiple = {};
  bool round_in_place = false;  ///< `tasks` of the domain itself is rounded too
  bool leader = false;          ///< a leader has to be placed

  [[nodiscard]] std::int64_t multiple_at(std::size_t level) const noexcept {
    return level < multiple.size() && multiple[level] > 1 ? multiple[level] : 1;
  }
};

/// A forest of domains, all leaves at the last level.
class counted_tree {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct vertex {
    std::uint32_t parent = none;
    std::uint32_t rank = 0;  ///< place among the domains of its level in the order of their names
    std::uint32_t level = 0;
    std::vector<std::uint32_t> children = {};
  };

  explicit counted_tree(std::size_t levels);

  /// Adds a domain below `parent` (`none` at level 0) and returns its number. \pre level < level_count()
  std::uint32_t add(std::uint32_t parent, std::size_t level);
  /// The place of a domain in the order of names.
  void set_rank(std::uint32_t d, std::uint32_t rank) noexcept { vertices_[d].rank = rank; }

  [[nodiscard]] std::size_t level_count() const noexcept { return levels_.size(); }
  [[nodiscard]] std::size_t size() const noexcept { return vertices_.size(); }
  [[nodiscard]] const vertex& at(std::uint32_t d) const noexcept { return vertices_[d]; }
  [[nodiscard]] const std::vector<std::uint32_t>& level(std::size_t l) const noexcept;
  /// The domain of level `l` around `d`. \pre l <= the level of d
  [[nodiscard]] std::uint32_t ancestor(std::uint32_t d, std::size_t l) const noexcept;

  /// Sums the leaves' counts up below `d`. What a leader takes away: the smallest loss among the children that can host
  /// it. Source: kubernetes-sigs/kueue pkg/cache/scheduler/tas_flavor_snapshot.go (fillInCounts).
  void count_up(std::uint32_t d, const count_rule& rule);
  void count_up(const count_rule& rule);

  std::vector<domain_counts> counts;  ///< by domain; the walks use them as their scratch

 private:
  std::vector<vertex> vertices_;
  std::vector<std::vector<std::uint32_t>> levels_;
};

/// Which of two domains is ranked first.
template <class Rank>
class rank_before {
 public:
  rank_before(const counted_tree& t, const Rank& rank, rank_request r) : tree_{t}, rank_{rank}, request_{r} {}
  [[nodiscard]] bool operator()(std::uint32_t a, std::uint32_t b) const noexcept {
    const auto x = rank_.score(tree_.counts[a], request_), y = rank_.score(tree_.counts[b], request_);
    if (x != y) return x > y;
    return tree_.at(a).rank < tree_.at(b).rank;
  }

 private:
  const counted_tree& tree_;
  const Rank& rank_;
  rank_request request_;
};

/// Sorts domains by a strict order, keeping the order of equals. O(n log n).
template <class Before>
void sort_domains(std::vector<std::uint32_t>& all, const Before& before) {
  std::vector<std::uint32_t> other(all.size());
  for (std::size_t width = 1; width < all.size(); width *= 2) {
    for (std::size_t from = 0; from < all.size(); from += 2 * width) {
      const std::size_t mid = from + width < all.size() ? from + width : all.size();
      const std::size_t to = from + 2 * width < all.size() ? from + 2 * width : all.size();
      std::size_t i = from, k = mid;
      for (std::size_t at = from; at < to; ++at)
        other[at] = k == to || (i < mid && !before(all[k], all[i])) ? all[i++] : all[k++];
    }
    all.swap(other);
  }
}

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/solver/impl/counted_tree.hpp"
#endif
