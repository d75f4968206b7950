#pragma once
/// \file
/// What a packer keeps of the scores of all nodes for one kind of task: the best by kind of drift, and how old it is.
///
/// All there is about a node lies in one line of memory, and so does most of what a change of it touches: above every
/// sixteen nodes stands only the largest key of each kind.
///
/// Cost   `set` and `clear` O(1) where the largest of the sixteen stays, O(16 log₁₆ n) else; `best` O(16 log₁₆ n).

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/core/max_tree.hpp"
#include "berth/core/units.hpp"
#include "berth/policy/packing.hpp"

namespace berth::detail {

struct kept_score {
  double key = max_tree::none;  ///< the score less the policy's drift of that time; `none`: there is no score
  double drift = 0;             ///< of the policy, when it was scored
  std::uint32_t version = 0;    ///< of the node, when it was scored
  std::uint16_t devices = 0;    ///< that the task would get
  std::uint8_t kind = 0;        ///< of drift
};

class kept_scores {
 public:
  /// `n` nodes without scores. O(n).
  void assign(std::size_t n) {
    nodes_.assign(n, {});
    for (auto& l : largest_)
      if (l.size() != 0) l.assign(groups());
  }
  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  [[nodiscard]] const kept_score& operator[](std::size_t n) const noexcept { return nodes_[n]; }
  /// Begins to bring in what `set` will touch.
  void prefetch(std::size_t n) const noexcept { __builtin_prefetch(&nodes_[n], 1); }

  /// Allocates at the first score of a kind.
  void set(std::size_t n, const kept_score& s) {
    const kept_score old = nodes_[n];
    nodes_[n] = s;
    max_tree& tree = of_kind(s.kind);
    if (s.key > tree[n / fan]) tree.set(n / fan, s.key);
    else if (old.kind == s.kind && old.key == tree[n / fan]) find_largest(n / fan, s.kind);
    if (old.kind != s.kind) leave(n, old);
  }
  /// Takes the node's score away.
  void clear(std::size_t n) noexcept {
    const kept_score old = nodes_[n];
    nodes_[n].key = max_tree::none;
    leave(n, old);
  }
  /// For many at once: `put` each, then `settle`. Only after `assign`. O(1), O(n).
  void put(std::size_t n, const kept_score& s) {
    nodes_[n] = s;
    static_cast<void>(of_kind(s.kind));
  }
  void settle() noexcept {
    for (unsigned kind = 0; kind < packing_drifts; ++kind) {
      max_tree& tree = largest_[kind];
      if (tree.size() == 0) continue;
      for (std::size_t g = 0; g < tree.size(); ++g) tree.put(g, largest_of(g, kind));
      tree.settle();
    }
  }

  /// The lowest node with the largest key of that kind; `size()` where there is none.
  [[nodiscard]] std::size_t best(unsigned kind) const noexcept {
    const max_tree& tree = largest_[kind];
    const std::size_t group = tree.best();
    if (group == tree.size()) return size();
    std::size_t n = group * fan;
    while (nodes_[n].kind != kind || nodes_[n].key != tree[group]) ++n;
    return n;
  }

 private:
  static constexpr std::size_t fan = 16;
  [[nodiscard]] std::size_t groups() const noexcept { return (nodes_.size() + fan - 1) / fan; }
  [[nodiscard]] max_tree& of_kind(unsigned kind) {
    max_tree& tree = largest_[kind];
    if (tree.size() == 0) tree.assign(groups());
    return tree;
  }
  [[nodiscard]] double largest_of(std::size_t group, unsigned kind) const noexcept {
    const std::size_t end = (group + 1) * fan < nodes_.size() ? (group + 1) * fan : nodes_.size();
    double out = max_tree::none;
    for (std::size_t n = group * fan; n < end; ++n)
      if (nodes_[n].kind == kind && nodes_[n].key > out) out = nodes_[n].key;
    return out;
  }
  void find_largest(std::size_t group, unsigned kind) noexcept { largest_[kind].set(group, largest_of(group, kind)); }
  // The node has no longer that score.
  void leave(std::size_t n, const kept_score& old) noexcept {
    if (old.key != max_tree::none && old.key == largest_[old.kind][n / fan]) find_largest(n / fan, old.kind);
  }

  std::vector<kept_score> nodes_;
  max_tree largest_[packing_drifts];  // by kind: of every sixteen nodes; empty where no score is of that kind
};

}  // namespace berth::detail
