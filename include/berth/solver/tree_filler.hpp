#pragma once
/// \file
/// Puts n tasks of one shape below a domain: picks children level by level down to the leaves, as the domain policy
/// says; `leaf_filler` does the rest. The workhorse of `placer`.
///
/// All tasks are alike, so capacities are exact and no step can fail: what `live_shape` says fits, fits.
///
/// Cost        O(domains touched + nodes touched) with indexed policies; O(children) per domain touched with scored
/// ones. No allocation after `reserve`.

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "berth/cluster/cluster.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/policy/concepts.hpp"
#include "berth/solver/child_choice.hpp"
#include "berth/solver/decision.hpp"
#include "berth/solver/leaf_filler.hpp"

namespace berth::detail {

template <domain_policy Domain, node_policy Node, device_policy Devices>
class tree_filler final : public leaf_filler<Node, Devices> {
  using leaves = leaf_filler<Node, Devices>;
  using leaves::cluster_;
  using leaves::levels_;
  using leaves::remember_;
  using leaves::score_;
  using leaves::shape_;
  using leaves::used_;

 public:
  tree_filler(const cluster& c, Domain domain, Node node, Devices devices)
      : leaves{c, std::move(node), std::move(devices)}, domain_{std::move(domain)} {
    const auto& tree = c.tree();
    for (std::uint8_t l = 0; l < levels_; ++l) {
      std::uint32_t widest = 0;
      for (std::uint32_t d = 0; d < tree.domain_count(level_id{l}); ++d)
        if (tree.at(level_id{l}, domain_id{d}).children.size() > widest)
          widest = tree.at(level_id{l}, domain_id{d}).children.size();
      if (l + 1U != levels_) scratch_[l].reserve(widest);
    }
  }

  /// Starts a new gang, whose domains are counted in `score`: where they are wanted, as copying them would have to wait
  /// for the writes to land.
  void begin(placement_score& score) {
    leaves::begin();
    score_ = &score;
    this->clear_score();
  }
  /// The domain of level `level` that should hold all `need` tasks, below domain `below` of level `outer`;
  /// `live_shape::no_domain` if none can. \pre level >= outer
  [[nodiscard]] std::uint32_t choose_domain(unsigned outer, std::uint32_t below, unsigned level, std::uint64_t need) {
    if constexpr (indexed_domain_policy<Domain>) {
      if constexpr (Domain::whole == domain_order::emptiest) {
        return shape_->emptiest(outer, below, level, need);
      } else {
        if (domain_.candidates <= 1 || level + 1U >= levels_ || level == outer)
          return shape_->tightest(outer, below, level, need);
        return fewest_parts(outer, below, level, need);
      }
    } else {
      const id_range range = range_below(outer, below, level);
      std::uint32_t best = live_shape::no_domain;
      auto top = std::optional<decltype(domain_.score(view(level, 0), need))>{};
      for (std::uint32_t d = range.first; d < range.last; ++d) {
        if (shape_->capacity(level, d) < need) continue;
        auto s = domain_.score(view(level, d), need);
        if (!top || *top < s) best = d, top = std::move(s);
      }
      return best;
    }
  }

  /// Whether one instance alone goes where the policy for starts says, over all nodes: where domains and nodes are
  /// packed, and so have no wish of their own.
  static constexpr bool packs = [] {
    if constexpr (indexed_domain_policy<Domain> && indexed_node_policy<Node>)
      return Domain::whole == domain_order::tightest && Node::order == node_order::fewest_free;
    else return false;
  }();

  /// For one task that asks for parts, where the domain policy packs: of the leaves with room the one with the node of
  /// the lowest rank, so that whole devices of one leaf are not broken while another has parts; ties by least capacity.
  /// Else `leaf` itself. O(leaves).
  [[nodiscard, gnu::noinline]] std::uint32_t leaf_for_parts(std::uint32_t leaf) const noexcept {
    if constexpr (indexed_domain_policy<Domain>) {
      if constexpr (Domain::whole == domain_order::tightest) {
        const unsigned level = shape_->layout().leaf_level();
        std::uint32_t best = leaf, rank = shape_->lowest_rank(leaf);
        for (std::uint32_t l = 0; l < shape_->layout().domains(level); ++l) {
          if (shape_->capacity(level, l) == 0) continue;
          const std::uint32_t r = shape_->lowest_rank(l);
          if (r < rank || (r == rank && shape_->capacity(level, l) < shape_->capacity(level, best))) best = l, rank = r;
        }
        return best;
      }
    }
    return leaf;
  }

  void fill(unsigned level, std::uint32_t domain, std::uint64_t n) final {
    if (level + 1U == levels_ && !remember_) {
      ++score_->domains_used[level];
      this->fill_leaf(domain, n);
    } else {
      descend<true>(level, domain, n, score_->domains_used);
    }
  }

  /// Domains per level that `fill` would use, without doing it.
  void survey(unsigned level, std::uint32_t domain, std::uint64_t n, std::uint32_t* domains_used) {
    descend<false>(level, domain, n, domains_used);
  }

 private:
  [[nodiscard]] domain_view view(unsigned level, std::uint32_t d) const noexcept {
    const level_id l{static_cast<std::uint8_t>(level)};
    return {l, domain_id{d}, shape_->capacity(level, d), cluster_->tree().at(l, domain_id{d}).nodes.size(),
            &shape_->shape()};
  }
  /// The ids of the `level` domains below a domain: contiguous.
  [[nodiscard]] id_range range_below(unsigned outer, std::uint32_t below, unsigned level) const noexcept {
    id_range r{below, below + 1};
    const auto& layout = shape_->layout();
    for (unsigned l = outer; l < level; ++l)
      r = {layout.first_child(l, r.first), layout.first_child(l, r.last - 1) + layout.children(l, r.last - 1)};
    return r;
  }

  /// Among the `candidates` tightest domains, the one that needs the fewest sub-domains.
  [[nodiscard]] std::uint32_t fewest_parts(unsigned outer, std::uint32_t below, unsigned level, std::uint64_t need) {
    std::uint32_t best = live_shape::no_domain, tried = 0;
    std::uint32_t best_parts[domain_tree::max_levels] = {};
    std::uint64_t best_capacity = 0;
    for (std::uint32_t b = shape_->next_bucket(outer, level, below, shape_->bucket_of(level, need));
         b != 0 && tried < domain_.candidates; b = shape_->next_bucket(outer, level, below, b + 1)) {
      shape_->each_in_bucket_while(outer, level, below, b, [&](std::uint32_t d) {
        const std::uint64_t capacity = shape_->capacity(level, d);
        if (capacity < need) return true;
        ++tried;
        std::uint32_t parts[domain_tree::max_levels] = {};
        if (level + 2U == levels_ && !remember_ && !cluster_->any_detached())
          parts[level + 1] = count_parts(level, d, need);
        else survey(level, d, need, parts);
        bool better = best == live_shape::no_domain, decided = better;
        for (unsigned l = level + 1; l < levels_ && !decided; ++l)
          if (parts[l] != best_parts[l]) better = parts[l] < best_parts[l], decided = true;
        if (!decided) better = capacity < best_capacity;
        if (better) {
          best = d;
          best_capacity = capacity;
          for (unsigned l = 0; l < levels_; ++l) best_parts[l] = parts[l];
        }
        return tried < domain_.candidates;
      });
    }
    return best;
  }

  /// How many children the emptiest-first split needs, bucket by bucket; the last bucket may be inexact, which can only
  /// misjudge the last child.
  [[nodiscard]] std::uint32_t count_parts(unsigned level, std::uint32_t domain, std::uint64_t n) const noexcept {
    const unsigned inner = level + 1;
    const std::uint32_t words = shape_->layout().words(level, domain);
    std::uint32_t parts = 0;
    shape_->each_bucket_down(level, inner, domain, [&](std::uint32_t b, const std::uint64_t* bits) {
      if (!shape_->is_exact(inner, b))
        return shape_->each_in_bucket_while(level, inner, domain, b, [&](std::uint32_t d) {
          ++parts;
          n -= shape_->capacity(inner, d) < n ? shape_->capacity(inner, d) : n;
          return n != 0;
        });
      std::uint64_t members = 0;
      for (std::uint32_t w = 0; w < words; ++w) members += count_bits(bits[w]);
      if (members * b >= n) members = (n + b - 1) / b, n = 0;
      else n -= members * b;
      parts += static_cast<std::uint32_t>(members);
      return n != 0;
    });
    return parts;
  }

  template <bool Emit>
  void descend(unsigned level, std::uint32_t domain, std::uint64_t n, std::uint32_t* domains_used) {
    if constexpr (Emit) {
      if (remember_) {
        std::uint64_t& w = used_[level][domain / 64];
        if ((w & bit(domain % 64)) == 0) ++domains_used[level];
        w |= bit(domain % 64);
      } else {
        ++domains_used[level];
      }
    } else {
      ++domains_used[level];
    }
    if (level + 1U == levels_) {
      if constexpr (Emit) this->fill_leaf(domain, n);
      return;
    }
    split(level, domain, n);
    child_choice& s = scratch_[level];
    const std::uint32_t base = shape_->layout().first_child(level, domain);
    const std::uint32_t words = shape_->layout().words(level, domain);
    for (std::uint32_t w = 0; w < words; ++w) {
      const std::uint64_t chosen = std::exchange(s.words[w], 0);
      for_each_bit(chosen, [&](unsigned i) {
        const std::uint32_t c = w * 64 + i;
        descend<Emit>(level + 1, base + c, s.amount[c], domains_used);
      });
    }
  }

  [[nodiscard]] bool attached(unsigned level, std::uint32_t d) const noexcept {
    return !cluster_->any_detached() ||
           !cluster_->is_detached(level_id{static_cast<std::uint8_t>(level)}, domain_id{d});
  }

  /// Shares `n` tasks out among the children of a domain, into the level's scratch.
  void split(unsigned level, std::uint32_t domain, std::uint64_t n) {
    child_choice& s = scratch_[level];
    const unsigned inner = level + 1;
    const auto& layout = shape_->layout();
    const std::uint32_t base = layout.first_child(level, domain);
    if (remember_) {
      const std::uint32_t count = layout.children(level, domain);
      for (std::uint32_t c = 0; c < count && n != 0; ++c) {
        const std::uint32_t d = base + c;
        const std::uint64_t capacity = shape_->capacity(inner, d);
        if ((used_[inner][d / 64] & bit(d % 64)) == 0 || capacity == 0 || !attached(inner, d)) continue;
        const std::uint64_t part = capacity < n ? capacity : n;
        s.take(c, part);
        n -= part;
      }
      if (n == 0) return;
    }
    if constexpr (!indexed_domain_policy<Domain> && splits_domains<Domain>) {
      split_by_room(level, domain, n);
    } else if constexpr (!indexed_domain_policy<Domain>) {
      const std::uint32_t count = layout.children(level, domain);
      while (n != 0) {
        std::uint32_t best = live_shape::no_domain;
        auto top = std::optional<decltype(domain_.score(view(inner, 0), n))>{};
        for (std::uint32_t c = 0; c < count; ++c) {
          if (s.taken(c) || shape_->capacity(inner, base + c) == 0 || !attached(inner, base + c)) continue;
          auto v = domain_.score(view(inner, base + c), n);
          if (!top || *top < v) best = c, top = std::move(v);
        }
        assert(best != live_shape::no_domain);
        const std::uint64_t capacity = shape_->capacity(inner, base + best);
        s.take(best, capacity < n ? capacity : n);
        n -= s.amount[best];
      }
    } else if constexpr (Domain::split == split_order::smallest_first) {
      // One child that holds everything is better than several that are fuller.
      std::uint32_t only = tightest_child(level, domain, n, layout.buckets(inner) - 1);
      if (only != live_shape::no_domain) return s.take(only, n);
      for (std::uint32_t b = shape_->next_bucket(level, inner, domain, 1); b != 0 && n != 0;
           b = shape_->next_bucket(level, inner, domain, b + 1))
        drain_bucket<true>(level, domain, b, shape_->bucket_bits(level, inner, domain, b), n, false);
    } else {
      constexpr bool tight_last = Domain::split == split_order::largest_then_tightest;
      chosen_ = 0;
      shape_->each_bucket_down(level, inner, domain, [&](std::uint32_t b, const std::uint64_t* bits) {
        drain_bucket<false>(level, domain, b, bits, n, tight_last);
        return n != 0;
      });
      if constexpr (Domain::split == split_order::even) even_out(s, level, base);
    }
  }

  /// Splits as the policy's order says, by score where that leaves children equal. O(children) per child used.
  void split_by_room(unsigned level, std::uint32_t domain,
                     std::uint64_t n) requires(scored_domain_policy<Domain>&& splits_domains<Domain>) {
    child_choice& s = scratch_[level];
    const unsigned inner = level + 1;
    const std::uint32_t base = shape_->layout().first_child(level, domain);
    // The untaken child with the least or the most room, of those with room for `least` or more.
    const auto pick = [&](bool fullest, std::uint64_t least) {
      std::uint32_t best = live_shape::no_domain;
      auto top = std::optional<decltype(domain_.score(view(inner, 0), n))>{};
      for (std::uint32_t c = 0; c < shape_->layout().children(level, domain); ++c) {
        const std::uint64_t room = shape_->capacity(inner, base + c);
        if (room == 0 || room < least || s.taken(c) || !attached(inner, base + c)) continue;
        const std::uint64_t other = best == live_shape::no_domain ? room : shape_->capacity(inner, base + best);
        if (fullest ? room > other : room < other) continue;
        auto v = domain_.score(view(inner, base + c), n);
        if (best == live_shape::no_domain || room != other || *top < v) best = c, top = std::move(v);
      }
      return best;
    };
    chosen_ = 0;
    while (n != 0) {
      constexpr split_order order = Domain::split;
      // What one child holds goes to the tightest; `even` only counts how many children it takes.
      std::uint32_t c = live_shape::no_domain;
      if (order == split_order::largest_then_tightest || (order == split_order::smallest_first && chosen_ == 0))
        c = pick(true, n);
      if (c == live_shape::no_domain) c = pick(order == split_order::smallest_first, 1);
      assert(c != live_shape::no_domain);
      const std::uint64_t room = shape_->capacity(inner, base + c);
      s.take(c, room < n ? room : n);
      s.order[chosen_++] = c;
      n -= s.amount[c];
    }
    if constexpr (Domain::split == split_order::even) even_out(s, level, base);
  }

  /// The untaken child with the least capacity >= `n`, looking at buckets up to `last`.
  [[nodiscard]] std::uint32_t tightest_child(unsigned level, std::uint32_t domain, std::uint64_t n,
                                             std::uint32_t last) {
    const unsigned inner = level + 1;
    const child_choice& s = scratch_[level];
    const auto& layout = shape_->layout();
    const std::uint32_t base = layout.first_child(level, domain), words = layout.words(level, domain);
    for (std::uint32_t b = shape_->next_bucket(level, inner, domain, shape_->bucket_of(inner, n)); b != 0 && b <= last;
         b = shape_->next_bucket(level, inner, domain, b + 1)) {
      const std::uint64_t* bits = shape_->bucket_bits(level, inner, domain, b);
      std::uint32_t best = live_shape::no_domain;
      std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
      for (std::uint32_t w = 0; w < words; ++w)
        for (std::uint64_t m = bits[w] & ~s.words[w]; m != 0; m &= m - 1) {
          const std::uint32_t c = w * 64 + lowest_bit(m);
          const std::uint64_t capacity = shape_->capacity(inner, base + c);
          if (capacity >= n && capacity < least && attached(inner, base + c)) best = c, least = capacity;
          if (best != live_shape::no_domain && shape_->is_exact(inner, b)) return best;
        }
      if (best != live_shape::no_domain) return best;
    }
    return live_shape::no_domain;
  }

  /// Takes children of bucket `b`, whose bits are `bits`, until `n` is served or the bucket is used up. Inside a bucket
  /// of unlike capacities the largest (or smallest) goes first.
  template <bool Ascending>
  void drain_bucket(unsigned level, std::uint32_t domain, std::uint32_t b, const std::uint64_t* bits, std::uint64_t& n,
                    bool tight_last) {
    const unsigned inner = level + 1;
    child_choice& s = scratch_[level];
    const auto& layout = shape_->layout();
    const std::uint32_t base = layout.first_child(level, domain), words = layout.words(level, domain);
    const bool exact = shape_->is_exact(inner, b);
    while (n != 0) {
      std::uint32_t pick = live_shape::no_domain;
      std::uint64_t pick_capacity = 0;
      for (std::uint32_t w = 0; w < words; ++w)
        for (std::uint64_t m = bits[w] & ~s.words[w]; m != 0; m &= m - 1) {
          const std::uint32_t c = w * 64 + lowest_bit(m);
          if (!attached(inner, base + c)) continue;
          const std::uint64_t capacity = shape_->capacity(inner, base + c);
          if (pick == live_shape::no_domain || (Ascending ? capacity < pick_capacity : capacity > pick_capacity))
            pick = c, pick_capacity = capacity;
          if (exact) break;
        }
      if (pick == live_shape::no_domain) return;
      if (tight_last && n <= pick_capacity) {
        pick = tightest_child(level, domain, n, b);
        pick_capacity = n;
      }
      s.take(pick, pick_capacity < n ? pick_capacity : n);
      if constexpr (!Ascending) s.order[chosen_++] = pick;
      n -= s.amount[pick];
    }
  }

  /// Levels the amounts of the chosen children, fullest first, without exceeding any capacity.
  void even_out(child_choice& s, unsigned level, std::uint32_t base) noexcept {
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < chosen_; ++i) total += s.amount[s.order[i]];
    for (std::uint32_t i = chosen_; i-- > 0;) {
      const std::uint64_t share = total / (i + 1);  // rounded down: what is left over goes to emptier children
      const std::uint64_t capacity = shape_->capacity(level + 1, base + s.order[i]);
      s.amount[s.order[i]] = share < capacity ? share : capacity;
      total -= s.amount[s.order[i]];
    }
  }

  [[no_unique_address]] Domain domain_;
  child_choice scratch_[domain_tree::max_levels];  ///< by level, for the children of the domain at work
  std::uint32_t chosen_ = 0;
};

}  // namespace berth::detail
