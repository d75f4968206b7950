#pragma once
/// \file
/// What a packer keeps of the scores of all nodes for one kind of task: the best by kind of drift, and how old it is.
///
/// All there is about a node lies side by side. Above every sixteen nodes stands a bound of their keys, for each kind. It
/// is raised at once and lowered only when it comes out best: most never do.
///
/// Cost   `set` O(1) where no bound is raised, O(16 log₁₆ n) else; `clear` O(1); `best` O(16 log₁₆ n) for every bound
///        that has to be lowered, and once more.

#include <cstddef>
#include <cstdint>

#include "berth/core/flat_array.hpp"
#include "berth/core/max_tree.hpp"
#include "berth/policy/packing.hpp"

namespace berth::detail {

struct kept_score {
  double key = max_tree::none;  ///< the score less the policy's drift of that time; `none`: there is no score
  std::uint32_t moves = 0;      ///< of the policy, when it was scored
  std::uint32_t version = 0;    ///< of the node, when it was scored
  std::uint16_t devices = 0;    ///< that the task would get
  std::uint8_t kind = 0;        ///< of drift
};

class kept_scores {
 public:
  /// `n` nodes without scores. O(n).
  void assign(std::size_t n) {
    nodes_.assign(n, {});
    for (max_tree& b : bounds_)
      if (b.size() != 0) b.assign(groups());
  }
  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  [[nodiscard]] const kept_score& operator[](std::size_t n) const noexcept { return nodes_[n]; }
  /// Begins to bring in what `set` will touch.
  void prefetch(std::size_t n) const noexcept {
    __builtin_prefetch(&nodes_[n], 1);
    for (const max_tree& b : bounds_)
      if (b.size() != 0) b.prefetch(n / fan);
  }

  /// Allocates at the first score of a kind.
  void set(std::size_t n, const kept_score& s) {
    nodes_[n] = s;
    max_tree& bounds = of_kind(s.kind);
    if (s.key > bounds[n / fan]) bounds.set(n / fan, s.key);
  }
  /// Takes the node's score away.
  void clear(std::size_t n) noexcept { nodes_[n].key = max_tree::none; }
  /// For many at once: `put` each, then `settle` before `best` is asked. O(1), O(n).
  void put(std::size_t n, const kept_score& s) {
    nodes_[n] = s;
    static_cast<void>(of_kind(s.kind));
  }
  void settle() noexcept {
    for (unsigned kind = 0; kind < packing_drifts; ++kind) {
      max_tree& bounds = bounds_[kind];
      if (bounds.size() == 0) continue;
      for (std::size_t g = 0; g < bounds.size(); ++g) {
        const std::size_t n = largest_of(g, kind);
        bounds.put(g, n == size() ? max_tree::none : nodes_[n].key);
      }
      bounds.settle();
    }
  }

  /// The lowest node with the largest key of that kind; `size()` where there is none.
  [[nodiscard]] std::size_t best(unsigned kind) noexcept {
    max_tree& bounds = bounds_[kind];
    for (;;) {
      const std::size_t group = bounds.best();
      if (group == bounds.size()) return size();
      const std::size_t n = largest_of(group, kind);
      const double key = n == size() ? max_tree::none : nodes_[n].key;
      if (key == bounds[group]) return n;
      bounds.set(group, key);
    }
  }

 private:
  static constexpr std::size_t fan = 16;
  [[nodiscard]] std::size_t groups() const noexcept { return (nodes_.size() + fan - 1) / fan; }
  [[nodiscard]] max_tree& of_kind(unsigned kind) {
    max_tree& bounds = bounds_[kind];
    if (bounds.size() == 0) bounds.assign(groups());
    return bounds;
  }
  // The lowest node of a group with the largest key of a kind; `size()` where there is none.
  [[nodiscard]] std::size_t largest_of(std::size_t group, unsigned kind) const noexcept {
    const std::size_t end = (group + 1) * fan < size() ? (group + 1) * fan : size();
    std::size_t best = size();
    double key = max_tree::none;
    for (std::size_t n = group * fan; n < end; ++n)
      if (nodes_[n].kind == kind && nodes_[n].key > key) key = nodes_[n].key, best = n;
    return best;
  }

  flat_array<kept_score> nodes_;
  max_tree bounds_[packing_drifts];  // by kind: of every sixteen nodes; empty where no score is of that kind
};

}  // namespace berth::detail
