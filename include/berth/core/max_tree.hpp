#pragma once
/// \file
/// The largest of many numbers, kept while single ones change.
///
/// A tree of maxima, sixteen children each, in one array: a change mostly ends one level up, and what is looked at lies
/// side by side. Cost   `set` and `best` O(16 log₁₆ n), `set` O(1) where the maximum of the sixteen stays.

#include <cstddef>
#include <limits>
#include <vector>

#include "berth/core/prefetch.hpp"
#include "berth/core/separate.hpp"

namespace berth {

class max_tree {
 public:
  /// Less than every number; what no number was given to.
  static constexpr double none = -std::numeric_limits<double>::infinity();

  /// `n` places, all `none`. O(n).
  void assign(std::size_t n);
  [[nodiscard]] std::size_t size() const noexcept { return begin_.size() < 2 ? 0 : begin_[1]; }
  [[nodiscard]] double operator[](std::size_t i) const noexcept { return keys_[i]; }

  /// Begins to bring in what stands at a place.
  void prefetch(std::size_t i) const noexcept { prefetch_write(keys_.data() + i); }
  /// \pre i < size()
  void set(std::size_t i, double key) noexcept;
  /// The same for many: `put` each, then `settle` once. O(n).
  void put(std::size_t i, double key) noexcept { keys_[i] = key; }
  void settle() noexcept;

  /// The lowest place of the largest number; `size()` where there is none.
  [[nodiscard]] std::size_t best() const noexcept;

 private:
  static constexpr std::size_t fan = 16;
  [[nodiscard]] double largest(std::size_t level, std::size_t parent) const noexcept;
  std::vector<double> keys_;        // level by level, from below
  std::vector<std::size_t> begin_;  // of each level; one more for the end
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/core/impl/max_tree.hpp"
#endif
