#pragma once
/// \file
/// The largest of many numbers, kept while single ones change.
///
/// A tree of maxima, sixteen children each, in one array: a change mostly ends one level up, and what is looked at lies
/// side by side. Cost   `set` and `best` O(16 log₁₆ n), `set` O(1) where the maximum of the sixteen stays.

#include <cassert>
#include <cstddef>
#include <limits>
#include <vector>

#include "berth/core/prefetch.hpp"

namespace berth {

class max_tree {
 public:
  /// Less than every number; what no number was given to.
  static constexpr double none = -std::numeric_limits<double>::infinity();

  /// `n` places, all `none`. O(n).
  void assign(std::size_t n) {
    begin_.assign(1, 0);
    for (std::size_t w = n;; w = (w + fan - 1) / fan) {
      begin_.push_back(begin_.back() + w);
      if (w <= fan) break;
    }
    keys_.assign(begin_.back(), none);
  }
  [[nodiscard]] std::size_t size() const noexcept { return begin_.size() < 2 ? 0 : begin_[1]; }
  [[nodiscard]] double operator[](std::size_t i) const noexcept { return keys_[i]; }

  /// Begins to bring in what stands at a place.
  void prefetch(std::size_t i) const noexcept { prefetch_write(keys_.data() + i); }
  /// \pre i < size()
  void set(std::size_t i, double key) noexcept {
    assert(i < size());
    double old = keys_[i];
    keys_[i] = key;
    for (std::size_t level = 0; level + 2 < begin_.size(); ++level) {
      i /= fan;
      double& up = keys_[begin_[level + 1] + i];
      if (key < up) {
        if (old < up) return;  // another one is the largest
        key = largest(level, i);
      }
      if (key == up) return;
      old = up;
      up = key;
    }
  }
  /// The same for many: `put` each, then `settle` once. O(n).
  void put(std::size_t i, double key) noexcept { keys_[i] = key; }
  void settle() noexcept {
    for (std::size_t level = 0; level + 2 < begin_.size(); ++level)
      for (std::size_t i = 0; i < begin_[level + 2] - begin_[level + 1]; ++i)
        keys_[begin_[level + 1] + i] = largest(level, i);
  }

  /// The lowest place of the largest number; `size()` where there is none.
  [[nodiscard]] std::size_t best() const noexcept {
    if (size() == 0) return 0;
    std::size_t level = begin_.size() - 2, at = begin_[level];
    for (std::size_t i = at; i < begin_[level + 1]; ++i)
      if (keys_[i] > keys_[at]) at = i;
    const double key = keys_[at];
    if (key == none) return size();
    std::size_t i = at - begin_[level];
    while (level-- != 0) {
      at = begin_[level] + i * fan;
      while (keys_[at] != key) ++at;
      i = at - begin_[level];
    }
    return i;
  }

 private:
  static constexpr std::size_t fan = 16;
  [[nodiscard]] double largest(std::size_t level, std::size_t parent) const noexcept {
    const std::size_t first = begin_[level] + parent * fan;
    const std::size_t end = first + fan < begin_[level + 1] ? first + fan : begin_[level + 1];
    double out = none;
    for (std::size_t i = first; i < end; ++i) out = keys_[i] > out ? keys_[i] : out;
    return out;
  }
  std::vector<double> keys_;        // level by level, from below
  std::vector<std::size_t> begin_;  // of each level; one more for the end
};

}  // namespace berth
