#pragma once
/// \file
/// Puts n tasks of one shape below a domain: picks children level by level down to nodes and devices, as the policies
/// say. The workhorse of `placer`.
///
/// All tasks are alike, so capacities are exact and no step can fail: what `live_shape` says fits, fits.
///
/// Cost        O(domains touched + nodes touched) with indexed policies; O(children) per domain touched with scored ones.
/// No allocation after `reserve`.

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/policy/concepts.hpp"
#include "berth/solver/decision.hpp"

namespace berth::detail {

template <domain_policy Domain, node_policy Node, device_policy Devices>
class tree_filler {
 public:
  tree_filler(const cluster& c, Domain domain, Node node, Devices devices)
      : cluster_{&c}, domain_{std::move(domain)}, node_{std::move(node)}, devices_{std::move(devices)} {
    const auto& tree = c.tree();
    levels_ = tree.level_count();
    scratch_.resize(levels_);
    for (std::uint8_t l = 0; l < levels_; ++l) {
      std::uint32_t widest = 0;
      for (std::uint32_t d = 0; d < tree.domain_count(level_id{l}); ++d)
        if (tree.at(level_id{l}, domain_id{d}).children.size() > widest)
          widest = tree.at(level_id{l}, domain_id{d}).children.size();
      scratch_[l].words.assign((widest + 63) / 64, 0);
      scratch_[l].amount.assign(widest, 0);
      scratch_[l].order.assign(widest, 0);
      used_.emplace_back((tree.domain_count(level_id{l}) + 63) / 64, 0);
    }
    compile_tables();
  }

  void reserve(std::size_t tasks) { out_.resize(tasks); }
  [[nodiscard]] std::size_t task_limit() const noexcept { return out_.size(); }

  /// Starts a new gang. Compiles device tables if the cluster learnt new node shapes (allocates then, only then).
  void begin() {
    if (tables_.size() != cluster_->shapes().size()) compile_tables();
    count_ = 0;
    visited_ = 0;
    for (auto& u : score_.domains_used) u = 0;
  }
  /// Chooses the shape and group of the tasks to come.
  void select(const live_shape& s, std::uint32_t group) noexcept { shape_ = &s, group_ = group, whole_ = 0; }
  /// Prefers domains that this gang uses already, for gangs of several shapes.
  void prefer_used(bool on) noexcept {
    if (remember_ == on) return;
    remember_ = on;
    for (auto& level : used_)
      for (auto& w : level) w = 0;
  }
  void forget_used() noexcept {
    for (auto& level : used_)
      for (auto& w : level) w = 0;
  }

  [[nodiscard]] std::span<task_placement> tasks() noexcept { return {out_.data(), count_}; }
  [[nodiscard]] std::size_t task_count() const noexcept { return count_; }
  void truncate(std::size_t n) noexcept { count_ = n; }
  void append(const task_placement& t) noexcept { out_[count_++] = t; }
  /// Marks the domains of all tasks as used, and no others.
  void remember_tasks() noexcept {
    forget_used();
    for (std::size_t i = 0; i < count_; ++i) mark_used(out_[i].node);
  }
  /// Sorts by group, then along the tree.
  void sort_tasks() noexcept {
    const auto before = [](const task_placement& a, const task_placement& b) {
      if (a.group != b.group) return a.group < b.group;
      if (a.node != b.node) return a.node < b.node;
      return a.devices < b.devices;
    };
    for (std::size_t gap = count_ / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
      for (std::size_t i = gap; i < count_; ++i) {
        const task_placement t = out_[i];
        std::size_t at = i;
        for (; at >= gap && before(t, out_[at - gap]); at -= gap) out_[at] = out_[at - gap];
        out_[at] = t;
      }
  }
  /// Counts the domains used, for tasks that were not placed in one go.
  void score_tasks() noexcept {
    for (auto& u : score_.domains_used) u = 0;
    forget_used();
    for (std::size_t i = 0; i < count_; ++i) mark_used(out_[i].node);
    for (std::size_t l = 0; l < used_.size(); ++l)
      for (const std::uint64_t w : used_[l]) score_.domains_used[l] += count_bits(w);
  }
  /// Counts the domains around one of level `level` that alone was filled.
  void count_around(unsigned level) noexcept {
    for (unsigned l = 0; l < level; ++l) score_.domains_used[l] = 1;
  }
  [[nodiscard]] const placement_score& score() const noexcept { return score_; }
  [[nodiscard]] std::uint64_t visited() const noexcept { return visited_; }
  void visit(std::uint64_t n) noexcept { visited_ += n; }

  /// Devices of `node` for one task of shape `s`.
  [[nodiscard]] device_mask choose_devices(node_id node, const live_shape& s) const noexcept {
    const node_state& n = cluster_->node(node);
    if (s.shape().devices == 0) return 0;
    return table(n).choose(n.free & s.eligible(n.node_class), s.shape().devices);
  }

  /// `count` of the devices `pool` of `node`.
  [[nodiscard]] device_mask choose_devices(node_id node, device_mask pool, unsigned count) const noexcept {
    return table(cluster_->node(node)).choose(pool, count);
  }

  /// The domain of level `level` that should hold all `need` tasks, below domain `below` of level `outer`;
  /// `live_shape::no_domain` if none can. \pre level >= outer
  [[nodiscard]] std::uint32_t choose_domain(unsigned outer, std::uint32_t below, unsigned level, std::uint64_t need) {
    if constexpr (indexed_domain_policy<Domain>) {
      if constexpr (Domain::whole == domain_order::emptiest) {
        return shape_->emptiest(outer, below, level, need);
      } else {
        const std::uint32_t first = shape_->tightest(outer, below, level, need);
        if (domain_.candidates <= 1 || first == live_shape::no_domain || level + 1U >= levels_ || level == outer) return first;
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

  /// Places `n` tasks below a domain, in tree order. \pre shape capacity of the domain >= n, room in `out_`
  void fill(unsigned level, std::uint32_t domain, std::uint64_t n) { descend<true>(level, domain, n, score_.domains_used); }

  /// Domains per level that `fill` would use, without doing it.
  void survey(unsigned level, std::uint32_t domain, std::uint64_t n, std::uint32_t* domains_used) {
    descend<false>(level, domain, n, domains_used);
  }

 private:
  /// Per level: which children of the domain at work are chosen, and how many tasks each gets.
  struct level_scratch {
    std::vector<std::uint64_t> words;
    std::vector<std::uint64_t> amount;
    std::vector<std::uint32_t> order;  ///< children in the order chosen, for even splits
  };

  void mark_used(node_id n) noexcept {
    std::uint32_t d = cluster_->tree().leaf_of(n).raw();
    for (std::size_t l = levels_; l-- > 0;) {
      used_[l][d / 64] |= bit(d % 64);
      d = cluster_->tree().at(level_id{static_cast<std::uint8_t>(l)}, domain_id{d}).parent;
    }
  }
  void compile_tables() {
    for (std::size_t s = tables_.size(); s < cluster_->shapes().size(); ++s)
      tables_.push_back(devices_.compile(cluster_->shapes()[s]));
    shape_of_class_.clear();
    for (const auto& c : cluster_->classes()) shape_of_class_.push_back(c.shape.raw());
  }
  [[nodiscard]] const typename Devices::table& table(const node_state& n) const noexcept {
    const std::size_t c = n.node_class.index();
    return tables_[c < shape_of_class_.size() ? shape_of_class_[c] : cluster_->classes()[c].shape.raw()];
  }
  [[nodiscard]] domain_view view(unsigned level, std::uint32_t d) const noexcept {
    const level_id l{static_cast<std::uint8_t>(level)};
    return {l, domain_id{d}, shape_->capacity(level, d), cluster_->tree().at(l, domain_id{d}).nodes.size()};
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
    std::uint32_t best_parts[domain_tree_builder::max_levels] = {};
    std::uint64_t best_capacity = 0;
    for (std::uint32_t b = shape_->next_bucket(outer, level, below, shape_->bucket_of(level, need));
         b != 0 && tried < domain_.candidates; b = shape_->next_bucket(outer, level, below, b + 1)) {
      shape_->each_in_bucket(outer, level, below, b, [&](std::uint32_t d) {
        const std::uint64_t capacity = shape_->capacity(level, d);
        if (tried >= domain_.candidates || capacity < need) return;
        ++tried;
        std::uint32_t parts[domain_tree_builder::max_levels] = {};
        if (level + 2U == levels_ && !remember_ && !cluster_->any_detached()) parts[level + 1] = count_parts(level, d, need);
        else survey(level, d, need, parts);
        bool better = best == live_shape::no_domain, decided = better;
        for (unsigned l = level + 1; l < levels_ && !decided; ++l)
          if (parts[l] != best_parts[l]) better = parts[l] < best_parts[l], decided = true;
        if (!decided) better = capacity < best_capacity;
        if (!better) return;
        best = d;
        best_capacity = capacity;
        for (unsigned l = 0; l < levels_; ++l) best_parts[l] = parts[l];
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
    for (std::uint32_t b = shape_->previous_bucket(level, inner, domain, shape_->layout().buckets(inner)); b != 0;
         b = shape_->previous_bucket(level, inner, domain, b)) {
      const std::uint64_t* bits = shape_->bucket_bits(level, inner, domain, b);
      if (!shape_->is_exact(inner, b)) {
        shape_->each_in_bucket(level, inner, domain, b, [&](std::uint32_t d) {
          if (n == 0) return;
          ++parts;
          n -= shape_->capacity(inner, d) < n ? shape_->capacity(inner, d) : n;
        });
      } else {
        std::uint64_t members = 0;
        for (std::uint32_t w = 0; w < words; ++w) members += count_bits(bits[w]);
        if (members * b >= n) return parts + static_cast<std::uint32_t>((n + b - 1) / b);
        parts += static_cast<std::uint32_t>(members);
        n -= members * b;
      }
      if (n == 0) break;
    }
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
      if constexpr (Emit) fill_leaf(domain, n);
      return;
    }
    split(level, domain, n);
    level_scratch& s = scratch_[level];
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

  void take(level_scratch& s, std::uint32_t child, std::uint64_t n) noexcept {
    s.words[child / 64] |= bit(child % 64);
    s.amount[child] = n;
  }
  [[nodiscard]] static bool taken(const level_scratch& s, std::uint32_t child) noexcept {
    return (s.words[child / 64] & bit(child % 64)) != 0;
  }
  [[nodiscard]] bool attached(unsigned level, std::uint32_t d) const noexcept {
    return !cluster_->any_detached() || !cluster_->is_detached(level_id{static_cast<std::uint8_t>(level)}, domain_id{d});
  }

  /// Shares `n` tasks out among the children of a domain, into the level's scratch.
  void split(unsigned level, std::uint32_t domain, std::uint64_t n) {
    level_scratch& s = scratch_[level];
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
        take(s, c, part);
        n -= part;
      }
      if (n == 0) return;
    }
    if constexpr (!indexed_domain_policy<Domain>) {
      const std::uint32_t count = layout.children(level, domain);
      while (n != 0) {
        std::uint32_t best = live_shape::no_domain;
        auto top = std::optional<decltype(domain_.score(view(inner, 0), n))>{};
        for (std::uint32_t c = 0; c < count; ++c) {
          if (taken(s, c) || shape_->capacity(inner, base + c) == 0 || !attached(inner, base + c)) continue;
          auto v = domain_.score(view(inner, base + c), n);
          if (!top || *top < v) best = c, top = std::move(v);
        }
        assert(best != live_shape::no_domain);
        const std::uint64_t capacity = shape_->capacity(inner, base + best);
        take(s, best, capacity < n ? capacity : n);
        n -= s.amount[best];
      }
    } else if constexpr (Domain::split == split_order::smallest_first) {
      // One child that holds everything is better than several that are fuller.
      std::uint32_t only = tightest_child(level, domain, n, layout.buckets(inner) - 1);
      if (only != live_shape::no_domain) return take(s, only, n);
      for (std::uint32_t b = shape_->next_bucket(level, inner, domain, 1); b != 0 && n != 0;
           b = shape_->next_bucket(level, inner, domain, b + 1))
        drain_bucket<true>(level, domain, b, n, false);
    } else {
      constexpr bool tight_last = Domain::split == split_order::largest_then_tightest;
      chosen_ = 0;
      for (std::uint32_t b = shape_->previous_bucket(level, inner, domain, layout.buckets(inner)); b != 0 && n != 0;
           b = shape_->previous_bucket(level, inner, domain, b))
        drain_bucket<false>(level, domain, b, n, tight_last);
      if constexpr (Domain::split == split_order::even) even_out(s, level, base);
    }
  }

  /// The untaken child with the least capacity >= `n`, looking at buckets up to `last`.
  [[nodiscard]] std::uint32_t tightest_child(unsigned level, std::uint32_t domain, std::uint64_t n, std::uint32_t last) {
    const unsigned inner = level + 1;
    const level_scratch& s = scratch_[level];
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

  /// Takes children of one bucket until `n` is served or the bucket is used up. Inside a bucket of unlike capacities the
  /// largest (or smallest) goes first.
  template <bool Ascending>
  void drain_bucket(unsigned level, std::uint32_t domain, std::uint32_t b, std::uint64_t& n, bool tight_last) {
    const unsigned inner = level + 1;
    level_scratch& s = scratch_[level];
    const auto& layout = shape_->layout();
    const std::uint32_t base = layout.first_child(level, domain), words = layout.words(level, domain);
    const std::uint64_t* bits = shape_->bucket_bits(level, inner, domain, b);
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
      take(s, pick, pick_capacity < n ? pick_capacity : n);
      if constexpr (!Ascending) s.order[chosen_++] = pick;
      n -= s.amount[pick];
    }
  }

  /// Levels the amounts of the chosen children, fullest first, without exceeding any capacity.
  void even_out(level_scratch& s, unsigned level, std::uint32_t base) noexcept {
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < chosen_; ++i) total += s.amount[s.order[i]];
    for (std::uint32_t i = chosen_; i-- > 0;) {
      const std::uint64_t share = total / (i + 1);  // rounded down: what is left over goes to emptier children
      const std::uint64_t capacity = shape_->capacity(level + 1, base + s.order[i]);
      s.amount[s.order[i]] = share < capacity ? share : capacity;
      total -= s.amount[s.order[i]];
    }
  }

  // -- inside a leaf -----------------------------------------------------------------------------------------------

  void fill_leaf(std::uint32_t leaf, std::uint64_t n) {
    level_scratch& s = scratch_[levels_ - 1U];
    const auto& layout = shape_->layout();
    const unsigned level = levels_ - 1U;
    const std::uint32_t base = layout.first_child(level, leaf), words = layout.words(level, leaf);
    bool one_each = false;
    if constexpr (!indexed_node_policy<Node>) {
      choose_nodes_by_score(leaf, n);
    } else if constexpr (Node::order == node_order::fewest_free) {
      one_each = pack_nodes(leaf, n);
    } else {
      spread_nodes(leaf, n);
    }
    for (std::uint32_t w = 0; w < words; ++w) {
      const std::uint64_t chosen = std::exchange(s.words[w], 0);
      if (one_each) emit_one_each(base + w * 64, chosen);
      else for_each_bit(chosen, [&](unsigned i) { emit(base + w * 64 + i, s.amount[w * 64 + i]); });
    }
  }

  /// \returns whether every chosen node gets one task, and no amounts were written
  bool pack_nodes(std::uint32_t leaf, std::uint64_t n) {
    level_scratch& s = scratch_[levels_ - 1U];
    const auto& layout = shape_->layout();
    const unsigned level = levels_ - 1U;
    const std::uint32_t base = layout.first_child(level, leaf), words = layout.words(level, leaf);
    const std::uint32_t ranks = layout.buckets(level + 1);
    const std::uint32_t k = shape_->shape().devices;
    if (n == 1 || 2 * k >= ranks) {
      take_singles(leaf, n);
      return true;
    }
    bool first = true;
    while (n != 0) {
      // The node with the fewest free devices that holds all that is left …
      const std::uint64_t least_rank = n * k;
      for (std::uint32_t r = least_rank < ranks ? static_cast<std::uint32_t>(least_rank) : ranks; r < ranks; ++r) {
        const std::uint64_t* bits = shape_->bucket_bits(level, level + 1, leaf, r);
        for (std::uint32_t w = 0; w < words; ++w)
          for (std::uint64_t m = bits[w] & ~s.words[w]; m != 0; m &= m - 1) {
            const std::uint32_t c = w * 64 + lowest_bit(m);
            if (shape_->fits(base + c) < n) continue;
            take(s, c, n);
            return false;
          }
      }
      // … else the one that holds most; among equals the one with the fewest free devices.
      std::uint32_t pick = live_shape::no_domain, pick_rank = ranks;
      std::uint64_t most = 0;
      for (std::uint32_t r = ranks; r-- > 0;) {
        if (k != 0 && r / k < most) break;
        const std::uint64_t* bits = shape_->bucket_bits(level, level + 1, leaf, r);
        for (std::uint32_t w = 0; w < words; ++w)
          for (std::uint64_t m = bits[w] & ~s.words[w]; m != 0; m &= m - 1) {
            const std::uint32_t c = w * 64 + lowest_bit(m);
            const std::uint64_t fits = shape_->fits(base + c);
            if (fits > most || (fits == most && r < pick_rank)) pick = c, pick_rank = r, most = fits;
          }
      }
      assert(pick != live_shape::no_domain);
      if (most == 1 && first) {
        take_singles(leaf, n);
        return true;
      }
      first = false;
      take(s, pick, most);
      n -= most;
    }
    return false;
  }
  /// One task a node: those with the fewest free devices, lowest id first. Writes no amounts.
  void take_singles(std::uint32_t leaf, std::uint64_t n) noexcept {
    level_scratch& s = scratch_[levels_ - 1U];
    const auto& layout = shape_->layout();
    const unsigned level = levels_ - 1U;
    const std::uint32_t words = layout.words(level, leaf);
    for (std::uint32_t r = shape_->shape().devices; n != 0; ++r) {
      assert(r < layout.buckets(level + 1));
      const std::uint64_t* bits = shape_->bucket_bits(level, level + 1, leaf, r);
      for (std::uint32_t w = 0; w < words && n != 0; ++w) {
        std::uint64_t m = bits[w] & ~s.words[w];
        if (count_bits(m) > n) m = lowest_set(m, static_cast<unsigned>(n));
        s.words[w] |= m;
        n -= count_bits(m);
      }
    }
  }
  void spread_nodes(std::uint32_t leaf, std::uint64_t n) {
    level_scratch& s = scratch_[levels_ - 1U];
    const auto& layout = shape_->layout();
    const unsigned level = levels_ - 1U;
    const std::uint32_t base = layout.first_child(level, leaf), words = layout.words(level, leaf);
    const std::uint32_t per_task = shape_->shape().devices;
    // A round hands every node that still has `free` devices left one more task; with each round the mark sinks.
    for (std::uint32_t mark = layout.buckets(level + 1); n != 0;) {
      const std::uint64_t before = n;
      if (mark != 0) --mark;
      for (std::uint32_t r = layout.buckets(level + 1); r-- > mark && n != 0;) {
        const std::uint64_t* bits = shape_->bucket_bits(level, level + 1, leaf, r);
        for (std::uint32_t w = 0; w < words; ++w)
          for (std::uint64_t m = bits[w]; m != 0 && n != 0; m &= m - 1) {
            const std::uint32_t c = w * 64 + lowest_bit(m);
            const std::uint64_t have = taken(s, c) ? s.amount[c] : 0;
            if (have >= shape_->fits(base + c) || r < have * per_task + mark) continue;
            take(s, c, have + 1);
            --n;
          }
      }
      assert(n != before || mark != 0);
      static_cast<void>(before);
    }
  }
  void choose_nodes_by_score(std::uint32_t leaf, std::uint64_t n) {
    if constexpr (scored_node_policy<Node>) {
      level_scratch& s = scratch_[levels_ - 1U];
      const auto& layout = shape_->layout();
      const std::uint32_t base = layout.first_child(levels_ - 1U, leaf), count = layout.children(levels_ - 1U, leaf);
      const auto look = [&](std::uint32_t c) -> node_view {
        const node_id id{base + c};
        return {id, cluster_->node(id), cluster_->shape_of(id), shape_->fits(base + c),
                taken(s, c) ? static_cast<std::uint32_t>(s.amount[c]) : 0U};
      };
      for (; n != 0; --n) {
        std::uint32_t best = live_shape::no_domain;
        auto top = std::optional<decltype(node_.score(look(0), shape_->shape()))>{};
        for (std::uint32_t c = 0; c < count; ++c) {
          if (shape_->fits(base + c) <= (taken(s, c) ? s.amount[c] : 0)) continue;
          auto v = node_.score(look(c), shape_->shape());
          if (!top || *top < v) best = c, top = std::move(v);
        }
        assert(best != live_shape::no_domain);
        take(s, best, (taken(s, best) ? s.amount[best] : 0) + 1);
      }
    }
  }

  /// Writes one task on every chosen node.
  void emit_one_each(std::uint32_t first, std::uint64_t chosen) {
    const std::uint32_t k = shape_->shape().devices;
    const node_state* const nodes = cluster_->nodes().data() + first;
    task_placement* out = out_.data() + count_;
    device_mask whole = whole_;
    for (; chosen != 0; chosen &= chosen - 1) {
      const unsigned i = lowest_bit(chosen);
      const node_state& st = nodes[i];
      assert(shape_->count(st) >= 1);  // every answer is verified on the node itself
      device_mask pool = st.free & shape_->eligible(st.node_class);
      if (pool != whole) {
        if (count_bits(pool) == k) whole = pool;  // nodes of a gang tend to be alike
        else pool = k == 0 ? 0 : table(st).choose(pool, k);
      }
      *out++ = {pool, node_id{first + i}, group_};
    }
    whole_ = whole;
    visited_ += static_cast<std::size_t>(out - out_.data()) - count_;
    count_ = static_cast<std::size_t>(out - out_.data());
  }

  /// Writes `n` tasks on one node. Several tasks of a gang on one node get devices out of the set that is best for all of
  /// them together.
  void emit(std::uint32_t node, std::uint64_t n) {
    const node_state& st = cluster_->node(node_id{node});
    assert(shape_->count(st) >= n);  // every answer is verified on the node itself
    ++visited_;
    const std::uint32_t k = shape_->shape().devices;
    if (k == 0) {
      for (; n != 0; --n) out_[count_++] = {0, node_id{node}, group_};
      return;
    }
    device_mask pool = st.free & shape_->eligible(st.node_class);
    if (pool == whole_ || count_bits(pool) == k) {
      whole_ = pool;  // nodes of a gang tend to be alike
      out_[count_++] = {pool, node_id{node}, group_};
      return;
    }
    const auto& t = table(st);
    if (n > 1) pool = t.choose(pool, static_cast<unsigned>(n) * k);
    for (; n != 0; --n) {
      const device_mask devices = n == 1 && count_bits(pool) == k ? pool : t.choose(pool, k);
      pool &= ~devices;
      out_[count_++] = {devices, node_id{node}, group_};
    }
  }

  const cluster* cluster_;
  [[no_unique_address]] Domain domain_;
  [[no_unique_address]] Node node_;
  [[no_unique_address]] Devices devices_;
  std::uint8_t levels_ = 0;
  std::vector<level_scratch> scratch_;
  std::vector<std::vector<std::uint64_t>> used_;  ///< per level, domains the gang uses, while `remember_`
  std::vector<typename Devices::table> tables_;   ///< by shape
  std::vector<std::uint16_t> shape_of_class_;
  const live_shape* shape_ = nullptr;
  std::uint32_t group_ = 0;
  std::uint32_t chosen_ = 0;
  device_mask whole_ = 0;  ///< a mask known to hold exactly the devices of one task
  bool remember_ = false;
  std::vector<task_placement> out_;
  std::size_t count_ = 0;
  std::uint64_t visited_ = 0;
  placement_score score_{};
};

}  // namespace berth::detail
