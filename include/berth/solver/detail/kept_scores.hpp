#pragma once
/// \file
/// What a packer keeps of the scores of all nodes for one kind of task: the best by kind of drift, and how old it is.
///
/// All there is about a node lies side by side. Above every sixteen nodes stands a bound of their keys, for each kind.
/// It is raised at once and lowered only when it comes out best: most never do. Keys are what the owner makes of what
/// is kept; they may fall by themselves, but never rise.
///
/// Cost   `set` O(1) where no bound is raised, O(16 log₁₆ n) else; `clear` O(1); `best` O(16 log₁₆ n) for every bound
///        that has to be lowered, and once more, but no more than O(n).

#include <cstddef>
#include <cstdint>

#include "berth/core/flat_array.hpp"
#include "berth/core/max_tree.hpp"
#include "berth/core/separate.hpp"
#include "berth/policy/packing.hpp"

namespace berth::detail {

struct kept_score {
  /// The score without its charge, where it follows that; else the score less the policy's drift of that time. `none`:
  /// there is no score.
  double base = max_tree::none;
  float amount = 0;           ///< that is charged for
  std::uint32_t charge = 0;   ///< its number; where the score does not follow it, the policy's moves of that time
  std::uint32_t version = 0;  ///< of the node, when it was scored
  std::uint16_t devices = 0;  ///< that the task would get
  std::uint8_t kind = 0;      ///< of drift
  bool follows_charge = true;
};

class kept_scores {
 public:
  /// `n` nodes without scores. O(n).
  void assign(std::size_t n);
  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  [[nodiscard]] const kept_score& operator[](std::size_t n) const noexcept { return nodes_[n]; }
  /// Begins to bring in what `set` will touch.
  void prefetch(std::size_t n) const noexcept;

  /// Begins to bring in what `best` will look at first.
  void prefetch_best() const noexcept;

  /// Allocates at the first score of a kind. \param key  of the score now
  void set(std::size_t n, const kept_score& s, double key);
  /// Takes the node's score away.
  void clear(std::size_t n) noexcept { nodes_[n] = {}; }
  /// For many at once: `put` each, then `settle` before `best` is asked. O(1), O(n).
  void put(std::size_t n, const kept_score& s);
  template <class Key>
  void settle(const Key& key_of) noexcept {
    for (std::size_t g = 0; g < groups(); ++g) {
      double largest[packing_drifts];
      for (double& x : largest) x = max_tree::none;
      const std::size_t end = end_of(g);
      for (std::size_t n = g * fan; n < end; ++n) {
        const double key = key_of(nodes_[n]);
        double& most = largest[nodes_[n].kind];
        most = key > most ? key : most;
      }
      for (unsigned kind = 0; kind < packing_drifts; ++kind)
        if (bounds_[kind].size() != 0) bounds_[kind].put(g, largest[kind]);
    }
    for (max_tree& b : bounds_) b.settle();
  }

  /// The lowest node with the largest key of that kind; `size()` where there is none. \param key_of  gives the key of
  /// what is kept of a node: minus infinity, if nothing
  template <class Key>
  [[nodiscard]] std::size_t best(unsigned kind, const Key& key_of) noexcept {
    max_tree& bounds = bounds_[kind];
    for (unsigned lowered = 0;; ++lowered) {
      if (lowered == most_lowered) settle(key_of);
      const std::size_t group = bounds.best();
      if (group == bounds.size()) return size();
      const auto [n, key] = largest_of(group, kind, key_of);
      if (key == bounds[group]) return n;
      bounds.set(group, key);
    }
  }

 private:
  static constexpr std::size_t fan = 16;
  static constexpr unsigned most_lowered = 32;  // one by one; from there on all at once
  [[nodiscard]] std::size_t groups() const noexcept { return (nodes_.size() + fan - 1) / fan; }
  [[nodiscard]] std::size_t end_of(std::size_t group) const noexcept {
    return (group + 1) * fan < size() ? (group + 1) * fan : size();
  }
  [[nodiscard]] max_tree& of_kind(unsigned kind);
  struct keyed {
    std::size_t node;  // `size()`: none
    double key;
  };
  // The lowest node of a group with the largest key of a kind.
  template <class Key>
  [[nodiscard]] keyed largest_of(std::size_t group, unsigned kind, const Key& key_of) const noexcept {
    const std::size_t end = end_of(group);
    keyed best{size(), max_tree::none};
    for (std::size_t n = group * fan; n < end; ++n) {
      if (nodes_[n].kind != kind) continue;
      const double key = key_of(nodes_[n]);
      if (key > best.key) best = {n, key};
    }
    return best;
  }

  flat_array<kept_score> nodes_;
  max_tree bounds_[packing_drifts];  // by kind: of every sixteen nodes; empty where no score is of that kind
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/solver/detail/impl/kept_scores.hpp"
#endif
