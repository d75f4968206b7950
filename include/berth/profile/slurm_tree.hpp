#pragma once
/// \file
/// Slurm's topology/tree: the fewest leaf switches, near one another. Whole nodes. Source: SchedMD/slurm
/// src/plugins/topology/tree/eval_nodes_tree.c, doc/html/topology.shtml.
///
/// The top switch is the highest one that holds the job with nodes of the lowest weight. Nodes of lower weight come
/// before any topology; then leaves are added one at a time, each the nearest to those already used, or of equally near
/// ones the one that `compare` likes better; nodes inside a leaf in their order.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace berth {

/// One node, in Slurm's order of nodes.
struct slurm_node {
  bool free = true;
  std::uint64_t weight = 1;  ///< lower first
};

/// A switch. Parents may come in any order; level 0 are the leaves.
struct slurm_switch {
  static constexpr std::uint32_t no_parent = ~std::uint32_t{0};
  std::uint32_t parent = no_parent;
  std::uint32_t level = 0;
  std::vector<std::uint32_t> nodes;  ///< of a leaf; those of the others are the sum
};

struct slurm_tree_job {
  std::uint32_t min_nodes = 1;
  std::uint32_t nodes = 1;     ///< wanted; more than `min_nodes` for a range
  std::uint32_t switches = 0;  ///< --switches: at most so many leaves; 0 for any number
  std::int64_t waited = 0;     ///< seconds
  std::int64_t wait = 300;     ///< --switches=N@t, at most `max_switch_wait`
};

struct slurm_choice {
  std::vector<std::uint32_t> nodes;  ///< ascending
  std::uint32_t leaves = 0;
  bool good_switches = true;  ///< false: found, but over too many leaves, so the job waits
};

class slurm_tree {
 public:
  static constexpr std::int64_t max_switch_wait = 300;

  /// `dragonfly`: TopologyParam=dragonfly, one leaf if it holds everything, else as many as possible in turn.
  /// O(switches^2 + nodes × depth). \pre parents form a forest, levels fall towards the leaves
  explicit slurm_tree(std::vector<slurm_switch> switches, bool dragonfly = false)
      : switches_{std::move(switches)}, dragonfly_{dragonfly} {
    const std::size_t n = switches_.size();
    members_.resize(n);
    for (std::uint32_t s = 0; s < n; ++s)
      for (std::uint32_t up = s; up != slurm_switch::no_parent; up = switches_[up].parent)
        members_[up].insert(members_[up].end(), switches_[s].nodes.begin(), switches_[s].nodes.end());
    distance_.assign(n, std::vector<std::uint32_t>(n, apart));
    for (std::uint32_t a = 0; a < n; ++a)
      for (std::uint32_t b = 0; b < n; ++b) distance_[a][b] = hops(a, b);
  }

  /// The job's nodes; empty where they are not to be had. O(leaves^2 × depth + nodes).
  [[nodiscard]] std::optional<slurm_choice> place(const std::vector<slurm_node>& nodes,
                                                  const slurm_tree_job& job) const {
    for (std::uint32_t wanted = job.nodes > job.min_nodes ? job.nodes : job.min_nodes;; --wanted) {
      auto found = place_once(nodes, job.min_nodes, wanted);
      if (!found || job.switches == 0) return found;
      const std::int64_t limit = job.wait < max_switch_wait ? job.wait : max_switch_wait;
      if (job.waited >= limit || found->leaves <= job.switches) return found;
      if (wanted <= job.min_nodes) {
        found->good_switches = false;
        return found;
      }
    }
  }

 private:
  static constexpr std::uint32_t apart = ~std::uint32_t{0};
  struct state {
    std::vector<std::vector<std::uint32_t>> there;  // candidates by switch
    std::vector<std::uint32_t> count;
  };

  [[nodiscard]] std::uint32_t hops(std::uint32_t a, std::uint32_t b) const noexcept {
    std::uint32_t i = 0;
    for (std::uint32_t x = a; x != slurm_switch::no_parent; x = switches_[x].parent, ++i) {
      std::uint32_t k = 0;
      for (std::uint32_t y = b; y != slurm_switch::no_parent; y = switches_[y].parent, ++k)
        if (x == y) return i + k;
    }
    return apart;
  }
  /// Positive: switch i is better, negative: j. `i_fits`: whether i, or its ancestor that decided, holds the rest.
  [[nodiscard]] int compare(std::uint32_t i, std::uint32_t j, std::uint32_t rest,
                            const std::vector<std::uint32_t>& count, bool& i_fits) const noexcept {
    for (;;) {
      i_fits = count[i] >= rest;
      const bool j_fits = count[j] >= rest;
      if (i_fits && j_fits) {
        if (count[i] != count[j]) return count[i] < count[j] ? 1 : -1;
        break;
      }
      if (i_fits != j_fits) return i_fits ? 1 : -1;
      const std::uint32_t up = switches_[i].parent, other = switches_[j].parent;
      if (up == other || up == slurm_switch::no_parent || other == slurm_switch::no_parent) break;
      i = up;
      j = other;
    }
    if (count[i] != count[j]) return count[i] > count[j] ? 1 : -1;
    if (switches_[i].level != switches_[j].level) return switches_[i].level < switches_[j].level ? 1 : -1;
    return 0;
  }

  [[nodiscard]] std::optional<slurm_choice> place_once(const std::vector<slurm_node>& nodes, std::uint32_t least,
                                                       std::uint32_t wanted) const {
    const auto free = [&](std::uint32_t n) { return n < nodes.size() && nodes[n].free; };
    std::uint32_t top = slurm_switch::no_parent;
    std::uint64_t top_weight = 0;
    for (std::uint32_t s = 0; s < switches_.size(); ++s) {
      std::uint32_t n = 0;
      std::uint64_t lightest = ~std::uint64_t{0};
      for (const std::uint32_t m : members_[s])
        if (free(m)) {
          ++n;
          if (nodes[m].weight < lightest) lightest = nodes[m].weight;
        }
      if (n < least || n == 0) continue;
      if (top == slurm_switch::no_parent || (switches_[s].level >= switches_[top].level && lightest <= top_weight)) {
        top = s;
        top_weight = lightest;
      }
    }
    if (top == slurm_switch::no_parent) return std::nullopt;
    // Weight classes until there are enough: all but the last are taken whole.
    std::vector<bool> best(nodes.size(), false), taken(nodes.size(), false);
    std::uint32_t rest = wanted, candidates = 0;
    bool lighter = false;
    for (std::optional<std::uint64_t> weight; candidates < wanted;) {
      std::optional<std::uint64_t> next;
      for (const std::uint32_t m : members_[top])
        if (free(m) && (!weight || nodes[m].weight > *weight) && (!next || nodes[m].weight < *next))
          next = nodes[m].weight;
      if (!next) break;
      if (candidates > 0) {
        for (std::uint32_t n = 0; n < nodes.size(); ++n)
          if (best[n] && !taken[n]) taken[n] = true, --rest;
        lighter = true;
      }
      weight = next;
      for (const std::uint32_t m : members_[top])
        if (free(m) && nodes[m].weight == *weight && !best[m]) best[m] = true, ++candidates;
    }
    if (candidates < least) return std::nullopt;

    std::vector<std::uint32_t> count(switches_.size(), 0);
    std::vector<bool> used(switches_.size(), false);
    for (std::uint32_t s = 0; s < switches_.size(); ++s)
      for (const std::uint32_t m : members_[s])
        if (m < nodes.size() && best[m]) {
          ++count[s];
          used[s] = used[s] || taken[m];
        }
    if (dragonfly_) {
      in_turn(best, count, used, taken, rest);
      return result(taken, wanted, rest, least);
    }
    const auto take_from = [&](std::uint32_t s) {
      std::uint32_t n = 0;
      for (std::uint32_t m = 0; m < nodes.size() && rest > 0; ++m)
        if (best[m] && !taken[m] && in(s, m)) taken[m] = true, --rest, ++n;
      return n;
    };
    const auto shrink = [&](std::uint32_t s, std::uint32_t by) {
      for (; s != slurm_switch::no_parent; s = switches_[s].parent) count[s] -= by < count[s] ? by : count[s];
    };
    std::uint32_t drawn = 0;  // Slurm carries this sum from leaf to leaf
    if (lighter)
      for (std::uint32_t s = 0; s < switches_.size() && rest > 0; ++s)
        if (used[s] && switches_[s].level == 0) {
          drawn += take_from(s);
          shrink(s, drawn);
        }
    std::vector<std::uint32_t> distance(switches_.size(), 0);
    const auto add_distance = [&](std::uint32_t s) {
      for (std::uint32_t i = 0; i < switches_.size(); ++i)
        distance[i] = distance[i] == apart || distance_[s][i] == apart ? apart : distance[i] + distance_[s][i];
    };
    for (std::uint32_t s = 0; s < switches_.size(); ++s)
      if (used[s]) add_distance(s);
    while (rest > 0) {
      std::uint32_t chosen = slurm_switch::no_parent;
      for (std::uint32_t s = 0; s < switches_.size(); ++s) {
        if (used[s] || switches_[s].level != 0 || count[s] == 0 || distance[s] == apart) continue;
        if (chosen == slurm_switch::no_parent) {
          chosen = s;
          continue;
        }
        bool fits = false;
        const int better = compare(s, chosen, rest, count, fits);
        if ((distance[s] < distance[chosen] && fits) || (distance[s] == distance[chosen] && better > 0)) chosen = s;
      }
      if (chosen == slurm_switch::no_parent) break;
      add_distance(chosen);
      const std::uint32_t n = take_from(chosen);
      shrink(chosen, count[chosen]);
      count[chosen] = 0;
      if (n == 0) break;
    }
    return result(taken, wanted, rest, least);
  }
  [[nodiscard]] std::optional<slurm_choice> result(const std::vector<bool>& taken, std::uint32_t wanted,
                                                   std::uint32_t rest, std::uint32_t least) const {
    if (wanted - rest < least) return std::nullopt;
    slurm_choice out;
    for (std::uint32_t n = 0; n < taken.size(); ++n)
      if (taken[n]) out.nodes.push_back(n);
    for (std::uint32_t s = 0; s < switches_.size(); ++s) {
      bool here = false;
      for (const std::uint32_t m : members_[s]) here = here || (m < taken.size() && taken[m]);
      if (switches_[s].level == 0 && here) ++out.leaves;
    }
    return out;
  }
  /// The leaf in use, or else the one with most nodes, where it holds the rest; else one node of each leaf in turn.
  void in_turn(const std::vector<bool>& best, const std::vector<std::uint32_t>& count, const std::vector<bool>& used,
               std::vector<bool>& taken, std::uint32_t& rest) const {
    std::vector<std::uint32_t> leaves;
    std::optional<std::uint32_t> one;
    std::uint32_t in_use = 0;
    for (std::uint32_t s = 0; s < switches_.size(); ++s)
      if (switches_[s].level == 0) {
        leaves.push_back(s);
        if (used[s]) one = s, ++in_use;
      }
    if (in_use == 0)
      for (const std::uint32_t s : leaves)
        if (!one || count[s] > count[*one]) one = s;
    const auto next = [&](std::uint32_t s) {
      for (std::uint32_t m = 0; m < best.size(); ++m)
        if (best[m] && !taken[m] && in(s, m)) {
          taken[m] = true;
          --rest;
          return true;
        }
      return false;
    };
    if (one && in_use <= 1) {
      std::uint32_t room = 0;
      for (std::uint32_t m = 0; m < best.size(); ++m) room += best[m] && !taken[m] && in(*one, m) ? 1U : 0U;
      if (room >= rest)
        while (rest > 0 && next(*one)) continue;
    }
    for (bool some = true; rest > 0 && some;) {
      some = false;
      for (const std::uint32_t s : leaves)
        if (rest > 0 && next(s)) some = true;
    }
  }
  [[nodiscard]] bool in(std::uint32_t s, std::uint32_t node) const noexcept {
    for (const std::uint32_t m : members_[s])
      if (m == node) return true;
    return false;
  }

  std::vector<slurm_switch> switches_;
  bool dragonfly_ = false;
  std::vector<std::vector<std::uint32_t>> members_;
  std::vector<std::vector<std::uint32_t>> distance_;
};

}  // namespace berth
