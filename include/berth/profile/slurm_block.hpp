#pragma once
/// \file
/// Slurm's topology/block: base blocks, aggregates of neighbouring ones, segments. Whole nodes. Source: SchedMD/slurm
/// src/plugins/topology/block/eval_nodes_block.c, topology_block.c, doc/html/topology.shtml.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "berth/core/expected.hpp"
#include "berth/profile/slurm_tree.hpp"

namespace berth {

struct slurm_block_job {
  std::uint32_t nodes = 1;
  std::uint32_t segment = 0;  ///< --segment: nodes of a segment; 0, or more than the job has, for none
  bool spread = false;        ///< --spread-segments: no two segments share a base block
  bool consolidate = false;   ///< --consolidate-segments: all of them inside one aggregate
};

/// Why a job has no nodes.
enum class slurm_block_refusal : std::uint8_t {
  bad_segment,  ///< the segment does not divide the job
  no_fit,       ///< no block, or not enough blocks, hold it
};

class slurm_block {
 public:
  /// `base`: the nodes of every base block, in the order in which they neighbour. `levels`: sizes of aggregates as
  /// powers of two of base blocks (BlockSizes: 0 is the base block, 2 are four of them); 0 is always there. The size of
  /// a base block is that of the first.
  slurm_block(std::vector<std::vector<std::uint32_t>> base, const std::vector<std::uint32_t>& levels)
      : base_{std::move(base)} {
    levels_ |= 1;
    for (const std::uint32_t l : levels)
      if (l < 32) levels_ |= std::uint64_t{1} << l;
    size_ = base_.empty() || base_[0].empty() ? 1 : static_cast<std::uint32_t>(base_[0].size());
  }

  /// The nodes of the job, segment after segment. O(segments × base blocks^2).
  [[nodiscard]] expected<std::vector<std::vector<std::uint32_t>>, slurm_block_refusal> place(
      const std::vector<slurm_node>& nodes, const slurm_block_job& job) const {
    const std::uint32_t segment = job.segment > job.nodes ? 0 : job.segment;
    if (segment != 0 && job.nodes % segment != 0) return unexpected{slurm_block_refusal::bad_segment};
    const std::uint32_t segments = segment == 0 ? 1 : job.nodes / segment;
    const std::uint32_t need = segment == 0 ? job.nodes : segment;
    const plan p = plan_for(need);
    std::uint32_t around = 0;  // blocks of the consolidating aggregate; 0: none
    if (segment != 0 && job.consolidate) {
      const std::uint32_t all = job.spread ? (segment + size_ - 1) / size_ * size_ * segments : job.nodes;
      const auto level = plan_for(all).level;
      around = level ? std::uint32_t{1} << (*level - *p.level) : blocks();
    }
    std::vector<bool> usable(nodes.size(), false);
    for (std::uint32_t n = 0; n < nodes.size(); ++n) usable[n] = nodes[n].free;
    std::vector<std::vector<std::uint32_t>> out;
    for (std::uint32_t s = 0; s < segments; ++s) {
      std::vector<bool> touched(base_.size(), false);
      std::optional<std::uint32_t> block;
      auto taken = one(nodes, usable, need, p, s == 0 ? around : 0, s == 0 ? job.nodes : 0, touched, block);
      if (!taken) return unexpected{slurm_block_refusal::no_fit};
      if (s == 0 && around != 0) {
        // Everything else comes from the same aggregate.
        for (std::uint32_t b = 0; b < base_.size(); ++b)
          if (b / p.per_block / around != *block / around)
            for (const std::uint32_t n : base_[b]) usable[n] = false;
      }
      for (const std::uint32_t n : *taken) usable[n] = false;
      if (job.spread)
        for (std::uint32_t b = 0; b < base_.size(); ++b)
          if (touched[b])
            for (const std::uint32_t n : base_[b]) usable[n] = false;
      out.push_back(std::move(*taken));
    }
    return out;
  }

  /// Trial slots of the backfill pass (`bf_topopt_enable`): of the possible starts, each a set of nodes, the one that
  /// alone on an empty machine of `machine` nodes breaks the least; the first of equal ones. It may delay a job for a
  /// better place. Source: src/plugins/sched/backfill/oracle.c, which calls its rule an example. \pre !starts.empty()
  [[nodiscard]] std::size_t best_start(const std::vector<std::vector<std::uint32_t>>& starts,
                                       std::uint32_t machine) const {
    std::size_t best = 0;
    std::uint64_t least = 0;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      std::vector<bool> usable(machine, true);
      for (const std::uint32_t n : starts[i])
        if (n < machine) usable[n] = false;
      const std::uint64_t broken = fragmentation(usable);
      if (i == 0 || broken < least) best = i, least = broken;
    }
    return best;
  }

  /// How broken the machine is where only `usable` nodes are left: every base block that is not whole, and every
  /// aggregate with such a block, counts its size; and so does every node that is not usable. O(base blocks × levels).
  [[nodiscard]] std::uint64_t fragmentation(const std::vector<bool>& usable) const {
    std::uint64_t blocks_lost = 0, nodes = 0, there = 0;
    std::vector<bool> whole;
    for (const auto& b : base_) {
      std::uint32_t n = 0;
      for (const std::uint32_t m : b) n += m < usable.size() && usable[m] ? 1U : 0U;
      whole.push_back(n >= size_);
      nodes += b.size();
      there += n;
    }
    for (std::uint32_t l = 0; l < 32; ++l) {
      if ((levels_ >> l & 1) == 0) continue;
      const std::uint64_t per = std::uint64_t{1} << l;
      for (std::uint64_t first = 0; first + per <= base_.size(); first += per) {
        bool all = true;
        for (std::uint64_t b = first; b < first + per; ++b) all = all && whole[b];
        if (!all) blocks_lost += per;
      }
    }
    return blocks_lost * size_ + nodes - there;
  }

 private:
  struct plan {
    std::optional<std::uint32_t> level;  // of the block that is chosen; empty: the whole system
    std::uint32_t lower = 0;             // of the blocks below it
    std::uint32_t per_block = 1;         // base blocks
    std::uint32_t per_lower = 1;
    std::uint32_t most_lower = 0;  // that may be touched
    std::uint32_t count = 1;       // of blocks
  };
  using node_list = std::vector<std::uint32_t>;

  [[nodiscard]] std::uint32_t blocks() const noexcept { return static_cast<std::uint32_t>(base_.size()); }
  [[nodiscard]] plan plan_for(std::uint32_t nodes) const noexcept {
    plan p;
    const std::uint32_t wanted = (nodes + size_ - 1) / size_;
    std::uint32_t power = 0;
    while ((std::uint64_t{1} << power) < wanted) ++power;
    for (std::uint32_t l = 0; l < power; ++l)
      if ((levels_ >> l & 1) != 0) p.lower = l;
    for (std::uint32_t l = power; l < 32 && !p.level; ++l)
      if ((levels_ >> l & 1) != 0) p.level = l;
    p.per_block = p.level ? std::uint32_t{1} << *p.level : (base_.empty() ? 1 : blocks());
    p.count = p.level ? (blocks() + p.per_block - 1) / p.per_block : 1;
    p.per_lower = std::uint32_t{1} << p.lower;
    const std::uint32_t lower_nodes = p.per_lower * size_;
    p.most_lower = (nodes + lower_nodes - 1) / lower_nodes;
    return p;
  }
  [[nodiscard]] static std::uint32_t usable_in(const node_list& all, const std::vector<bool>& usable) {
    std::uint32_t n = 0;
    for (const std::uint32_t m : all) n += m < usable.size() && usable[m] ? 1U : 0U;
    return n;
  }

  /// One segment. `around` and `all`: blocks per aggregate, and what it has to hold, where segments are consolidated.
  [[nodiscard]] std::optional<node_list> one(const std::vector<slurm_node>& nodes, const std::vector<bool>& usable,
                                             std::uint32_t need, const plan& p, std::uint32_t around, std::uint32_t all,
                                             std::vector<bool>& touched, std::optional<std::uint32_t>& block) const {
    const bool by_lower = p.per_block != p.per_lower * p.most_lower;
    std::vector<std::uint32_t> on_base(base_.size());
    std::vector<std::uint32_t> on_block(p.count, 0);
    for (std::uint32_t b = 0; b < base_.size(); ++b) {
      on_base[b] = usable_in(base_[b], usable);
      on_block[b / p.per_block] += on_base[b];
    }
    std::uint64_t least_weight = 0;
    for (std::uint32_t k = 0; k < p.count; ++k) {
      if (around != 0) {
        std::uint32_t sum = 0;
        for (std::uint32_t o = k / around * around; o < (k / around + 1) * around && o < p.count; ++o)
          sum += on_block[o];
        if (sum < all) continue;
      }
      std::uint32_t reach = on_block[k];
      if (by_lower) {
        // The best of the lower-level blocks that may be touched.
        std::vector<std::uint32_t> lower;
        for (std::uint32_t b = k * p.per_block; b < (k + 1) * p.per_block && b < blocks(); ++b) {
          if (b % p.per_lower == 0 || lower.empty()) lower.push_back(0);
          lower.back() += on_base[b];
        }
        reach = 0;
        for (std::uint32_t i = 0; i < p.most_lower && !lower.empty(); ++i) {
          std::size_t top = 0;
          for (std::size_t x = 1; x < lower.size(); ++x)
            if (lower[x] > lower[top]) top = x;
          reach += lower[top];
          lower[top] = 0;
        }
      }
      if (reach < need || on_block[k] == 0) continue;
      std::uint64_t weight = ~std::uint64_t{0};
      for_block(p, k, [&](std::uint32_t b) {
        for (const std::uint32_t n : base_[b])
          if (n < usable.size() && usable[n] && nodes[n].weight < weight) weight = nodes[n].weight;
      });
      if (!block || weight < least_weight || (weight == least_weight && on_block[k] <= on_block[*block])) {
        block = k;
        least_weight = weight;
      }
    }
    if (!block) return std::nullopt;

    std::vector<bool> best(nodes.size(), false), taken(nodes.size(), false);
    std::uint32_t rest = need, candidates = 0;
    std::int64_t lower_left = p.most_lower;
    bool lighter = false;
    for (std::optional<std::uint64_t> weight; candidates < need;) {
      std::optional<std::uint64_t> next;
      for_block(p, *block, [&](std::uint32_t b) {
        for (const std::uint32_t n : base_[b])
          if (n < usable.size() && usable[n] && (!weight || nodes[n].weight > *weight) &&
              (!next || nodes[n].weight < *next))
            next = nodes[n].weight;
      });
      if (!next) break;
      if (candidates > 0) {
        for (std::uint32_t n = 0; n < nodes.size(); ++n)
          if (best[n] && !taken[n]) taken[n] = true, --rest;
        lighter = true;
      }
      weight = next;
      for_block(p, *block, [&](std::uint32_t b) {
        for (const std::uint32_t n : base_[b])
          if (n < usable.size() && usable[n] && nodes[n].weight == *weight) best[n] = true, ++candidates;
      });
    }
    if (candidates < need) return std::nullopt;
    if (lighter) {
      std::optional<std::uint32_t> last;
      for_block(p, *block, [&](std::uint32_t b) {
        bool here = false;
        for (const std::uint32_t n : base_[b]) here = here || (n < taken.size() && taken[n]);
        if (!here) return;
        touched[b] = true;
        if (!last || *last >> p.lower != b >> p.lower) {
          --lower_left;
          last = b;
        }
      });
      if (lower_left < 0) return std::nullopt;
      for_block(p, *block, [&](std::uint32_t b) {
        if (!touched[b]) return;
        for (const std::uint32_t n : base_[b])
          if (rest > 0 && n < best.size() && best[n] && !taken[n]) taken[n] = true, --rest;
      });
    }
    std::vector<std::uint32_t> count(base_.size(), 0);
    std::vector<std::uint32_t> on_lower(base_.size() / p.per_lower + 1, 0);
    for_block(p, *block, [&](std::uint32_t b) {
      if (touched[b]) return;
      count[b] = usable_in(base_[b], best);
      on_lower[b / p.per_lower] += count[b];
    });
    while (rest > 0) {
      choice c;
      for_block(p, *block, [&](std::uint32_t b) {
        if (!touched[b]) consider(c, b, p, rest, count, by_lower ? &on_lower : nullptr, touched);
      });
      if (!c.base) break;
      if (lower_left <= 0 && !c.same) break;
      touched[*c.base] = true;
      std::uint32_t got = 0;
      for (const std::uint32_t n : base_[*c.base])
        if (rest > 0 && n < best.size() && best[n] && !taken[n]) taken[n] = true, --rest, ++got;
      if (!c.same) --lower_left;
      if (got == 0) break;
    }
    if (rest > 0) return std::nullopt;
    node_list out;
    for (std::uint32_t n = 0; n < nodes.size(); ++n)
      if (taken[n]) out.push_back(n);
    return out;
  }

  template <class F>
  void for_block(const plan& p, std::uint32_t k, F&& f) const {
    for (std::uint32_t b = k * p.per_block; b < (k + 1) * p.per_block && b < blocks(); ++b) f(b);
  }

  struct choice {
    std::optional<std::uint32_t> base;
    bool fits = false;
    bool same = true;  // in a lower-level block that is used already
  };
  /// Whether base block `b` is better than the best so far: first one in a lower-level block in use, then one whose
  /// lower-level block holds the rest, then the smallest that does or the largest of those that do not; inside of it
  /// the smallest base block that holds the rest, else the largest; the later one on ties.
  static void consider(choice& c, std::uint32_t b, const plan& p, std::uint32_t rest,
                       const std::vector<std::uint32_t>& count, const std::vector<std::uint32_t>* lower,
                       const std::vector<bool>& touched) {
    const bool fits = count[b] >= rest;
    if (lower != nullptr && (!c.base || *c.base >> p.lower != b >> p.lower)) {
      bool same = false;
      for (std::uint32_t o = b >> p.lower << p.lower; o < ((b >> p.lower) + 1) << p.lower && o < touched.size(); ++o)
        same = same || touched[o];
      const auto take = [&] {
        c.base = b;
        c.fits = fits;
        c.same = same;
      };
      if (!c.base || (same && !c.same)) return take();
      if (!same && c.same) return;
      const std::uint32_t mine = (*lower)[b >> p.lower], theirs = (*lower)[*c.base >> p.lower];
      const bool holds = mine >= rest, holds_too = theirs >= rest;
      if (holds != holds_too) return holds ? take() : void();
      if (mine != theirs) return (mine < theirs) == holds ? take() : void();
    }
    if (!c.base || (fits && !c.fits) || (!fits && !c.fits && count[b] >= count[*c.base]) ||
        (fits && count[b] <= count[*c.base])) {
      c.base = b;
      c.fits = fits;
    }
  }

  std::vector<std::vector<std::uint32_t>> base_;
  std::uint64_t levels_ = 0;
  std::uint32_t size_ = 1;
};

}  // namespace berth
