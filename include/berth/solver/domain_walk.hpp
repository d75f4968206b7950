#pragma once
/// \file
/// Choose a level, then descend: puts a gang below the domains of a counted tree. Which domains come first and how the
/// last one is chosen is the policy's (`policy/domain_rank.hpp`). Source of the walk: kubernetes-sigs/kueue
/// pkg/cache/scheduler/tas_flavor_snapshot.go and keps/2724-topology-aware-scheduling.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "berth/core/expected.hpp"
#include "berth/solver/counted_tree.hpp"

namespace berth {

/// What a walk is asked for.
struct walk_request {
  std::int64_t tasks = 0;
  std::int64_t leaders = 0;    ///< 0 or 1
  std::size_t level = 0;       ///< asked for
  bool required = false;       ///< never climb above it
  bool unconstrained = false;  ///< never climb either, but any number of its domains will do
  std::int64_t segment_size = 1;
  std::size_t segment_level = 0;
  /// By level below `segment_level`: tasks are handed to its domains in multiples of this; 0 or 1 for single tasks.
  std::vector<std::int64_t> multiple = {};

  [[nodiscard]] std::int64_t multiple_at(std::size_t l) const noexcept {
    return l < multiple.size() && multiple[l] > 1 ? multiple[l] : 1;
  }
  [[nodiscard]] count_rule counting() const { return {segment_size, segment_level, multiple, false, leaders > 0}; }
};

/// Why a walk found nothing.
struct walk_refusal {
  enum class cause : std::uint8_t { no_domains, does_not_fit };
  cause why = cause::does_not_fit;
  std::size_t level = 0;    ///< where it gave up
  std::int64_t fits = 0;    ///< segments
  std::int64_t needed = 0;  ///< segments
};

/// What one leaf gets.
struct walk_share {
  std::uint32_t domain = 0;
  std::int64_t tasks = 0;
  std::int64_t leaders = 0;
};

template <class Policy>
class domain_walk {
 public:
  using domains = std::vector<std::uint32_t>;

  domain_walk(counted_tree& tree, const walk_request& request, Policy policy = {})
      : tree_{tree}, request_{request}, policy_{std::move(policy)} {}

  [[nodiscard]] domains ranked(domains all, bool leader) const {
    sort_domains(all, rank_before{tree_, policy_.rank, rank_request{leader}});
    return all;
  }

  /// The domains that the gang gets, and their level. The tree must be counted.
  [[nodiscard]] expected<std::pair<std::size_t, domains>, walk_refusal> choose() const {
    return choose(request_.level);
  }

  /// Hands the gang to `chosen` and down to the leaves. `even`: the counts of `chosen` are shares already, and each
  /// keeps its own. Empty where the counts promised more than there is.
  [[nodiscard]] std::vector<walk_share> descend(domains chosen, std::size_t level, bool even = false) {
    chosen = fill(std::move(chosen), request_.tasks, request_.leaders, request_.segment_size, true);
    const std::size_t last = tree_.level_count() - 1;
    for (; level < last && level < request_.segment_level && !even; ++level)
      chosen = fill(ranked(below(chosen), false), request_.tasks, request_.leaders, request_.segment_size, true);
    for (; level < last; ++level) {
      // At and below the level of segments every domain hands on what it got itself.
      const std::int64_t size =
          level >= request_.segment_level ? request_.multiple_at(level + 1) : request_.segment_size;
      domains next;
      for (const std::uint32_t d : chosen) {
        domains children = ranked(tree_.at(d).children, false);
        if (size > 1)
          for (const std::uint32_t c : children) {
            tree_.counts[c].segments = tree_.counts[c].tasks / size;
            tree_.counts[c].segments_with_leader = tree_.counts[c].tasks_with_leader / size;
          }
        const auto own = tree_.counts[d];
        for (const std::uint32_t c : fill(std::move(children), own.tasks, own.leaders, size, size > 1))
          next.push_back(c);
      }
      chosen = std::move(next);
    }
    std::vector<walk_share> out;
    for (const std::uint32_t d : chosen) {
      const auto& c = tree_.counts[d];
      if (c.tasks > 0 || (request_.leaders > 0 && c.leaders > 0))
        out.push_back({d, c.tasks, request_.leaders > 0 ? c.leaders : 0});
    }
    return out;
  }

  [[nodiscard]] domains below(const domains& all) const {
    domains out;
    for (const std::uint32_t d : all)
      for (const std::uint32_t c : tree_.at(d).children) out.push_back(c);
    return out;
  }

 private:
  using counts = domain_counts;
  [[nodiscard]] static std::int64_t room(const counts& c, bool segments, bool leader) noexcept {
    if (segments) return leader ? c.segments_with_leader : c.segments;
    return leader ? c.tasks_with_leader : c.tasks;
  }
  /// Of the domains from `from` on that are preferred as much as that one: the first of the tightest that suffice; the
  /// first where none does.
  [[nodiscard]] std::uint32_t tightest(const domains& all, std::size_t from, std::int64_t need, std::int64_t leaders,
                                       bool segments) const {
    std::uint32_t best = all[from];
    std::int64_t least = -1;
    for (std::size_t i = from; i < all.size(); ++i) {
      const counts& c = tree_.counts[all[i]];
      if (c.preference != tree_.counts[all[from]].preference) break;
      if (c.leaders < leaders) continue;
      const std::int64_t r = room(c, segments, leaders > 0);
      if (r >= need && (least < 0 || r < least)) best = all[i], least = r;
    }
    return best;
  }
  /// Moves the first domain in front that can take the leader without making the rest too small.
  void leader_first(domains& all, std::int64_t tasks, std::int64_t leaders, std::int64_t size, bool segments) const {
    if (leaders == 0 || all.size() < 2) return;
    const std::int64_t need = segments ? tasks / size : tasks;
    std::int64_t there = 0;
    for (const std::uint32_t d : all) there += room(tree_.counts[d], segments, false);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const counts& c = tree_.counts[all[i]];
      const std::int64_t loss = room(c, segments, false) - room(c, segments, true);
      if (c.leaders < leaders || there - loss < need) continue;
      const std::uint32_t d = all[i];
      for (; i > 0; --i) all[i] = all[i - 1];
      all[0] = d;
      return;
    }
  }

  [[nodiscard]] walk_refusal too_small(std::size_t level, std::int64_t fits, std::int64_t need) const {
    return {walk_refusal::cause::does_not_fit, level, fits, need};
  }

  [[nodiscard]] expected<std::pair<std::size_t, domains>, walk_refusal> choose(std::size_t level) const {
    const std::int64_t need = request_.tasks / request_.segment_size;
    const std::int64_t leaders = request_.leaders;
    for (;; --level) {
      if (tree_.level(level).empty()) return unexpected{walk_refusal{walk_refusal::cause::no_domains, level, 0, need}};
      const domains all = ranked(tree_.level(level), true);
      const auto holds = [&](std::uint32_t d) {
        return tree_.counts[d].segments_with_leader >= need && tree_.counts[d].leaders >= leaders;
      };
      if constexpr (!Policy::tightest_last) {
        for (const std::uint32_t d : all)
          if ((leaders == 0 || tree_.counts[d].leaders >= leaders) && room(tree_.counts[d], true, leaders > 0) >= need)
            return std::pair{level, domains{d}};
        if (request_.required) return unexpected{too_small(level, tree_.counts[all.back()].tasks, need)};
      }
      std::uint32_t top = all[0];
      if (Policy::tightest_last && holds(top)) top = tightest(all, 0, need, leaders, true);
      if (holds(top)) return std::pair{level, domains{top}};
      if (request_.required) {
        // A preferred domain that is too small does not stand in the way of the others.
        for (std::size_t i = 1; i < all.size(); ++i)
          if (holds(all[i])) return std::pair{level, domains{tightest(all, i, need, leaders, true)}};
        return unexpected{too_small(level, tree_.counts[top].segments, need)};
      }
      if (level == 0 || request_.unconstrained) return several(level, all, need);
    }
  }

  /// Several domains of one level: first one for the leader, then by rank until everything is held.
  [[nodiscard]] expected<std::pair<std::size_t, domains>, walk_refusal> several(std::size_t level, domains all,
                                                                                std::int64_t need) const {
    leader_first(all, request_.tasks, request_.leaders, request_.segment_size, true);
    domains out;
    std::int64_t left = need, leaders = request_.leaders;
    std::size_t i = 0;
    for (; leaders > 0 && i < all.size() && tree_.counts[all[i]].leaders > 0; ++i) {
      std::uint32_t d = all[i];
      if (Policy::tightest_last && tree_.counts[d].segments_with_leader >= left)
        d = tightest(all, i, left, leaders, true);
      out.push_back(d);
      leaders -= tree_.counts[d].leaders;
      left -= tree_.counts[d].segments_with_leader;
    }
    if (leaders > 0) return unexpected{too_small(level, request_.leaders - leaders, need)};
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i));
    all = ranked(std::move(all), false);
    for (i = 0; left > 0 && i < all.size(); ++i) {
      std::uint32_t d = all[i];
      if (Policy::tightest_last && tree_.counts[d].segments >= left) d = tightest(all, i, left, 0, true);
      out.push_back(d);
      left -= tree_.counts[d].segments;
    }
    if (left > 0) return unexpected{too_small(level, need - left, need)};
    return std::pair{level, std::move(out)};
  }

  /// Hands `tasks` to domains in their order, in units of `size` tasks or singly; their counts become their shares.
  [[nodiscard]] domains fill(domains all, std::int64_t tasks, std::int64_t leaders, std::int64_t size, bool segments) {
    leader_first(all, tasks, leaders, size, segments);
    const std::int64_t unit = segments ? size : 1;
    std::int64_t left = tasks / unit;
    domains out;
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::uint32_t d = all[i];
      const bool leader = leaders > 0;
      if (Policy::tightest_last && room(tree_.counts[d], segments, leader) >= left &&
          (!leader || tree_.counts[d].leaders >= leaders))
        d = tightest(all, i, left, leaders, segments);
      counts& c = tree_.counts[d];
      out.push_back(d);
      const std::int64_t here = room(c, segments, leader);
      const bool rest = here >= left && (!leader || c.leaders >= leaders);
      const std::int64_t take = here >= left ? left : here;
      c.leaders = leader ? (c.leaders > leaders ? leaders : c.leaders) : 0;
      if (segments) c.segments = take;
      c.tasks = take * unit;
      if (rest) return out;
      leaders -= c.leaders;
      left -= take;
    }
    return {};
  }

  counted_tree& tree_;
  const walk_request& request_;
  Policy policy_;
};

}  // namespace berth
