#pragma once
/// \file
/// Bodies of `berth/core/max_tree.hpp`.

#include <cassert>

#include "berth/core/max_tree.hpp"

namespace berth {

BERTH_INLINE void max_tree::assign(std::size_t n) {
  begin_.assign(1, 0);
  for (std::size_t w = n;; w = (w + fan - 1) / fan) {
    begin_.push_back(begin_.back() + w);
    if (w <= fan) break;
  }
  keys_.assign(begin_.back(), none);
}

BERTH_INLINE void max_tree::set(std::size_t i, double key) noexcept {
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

BERTH_INLINE void max_tree::settle() noexcept {
  for (std::size_t level = 0; level + 2 < begin_.size(); ++level)
    for (std::size_t i = 0; i < begin_[level + 2] - begin_[level + 1]; ++i)
      keys_[begin_[level + 1] + i] = largest(level, i);
}

BERTH_INLINE std::size_t max_tree::best() const noexcept {
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

BERTH_INLINE double max_tree::largest(std::size_t level, std::size_t parent) const noexcept {
  const std::size_t first = begin_[level] + parent * fan;
  const std::size_t end = first + fan < begin_[level + 1] ? first + fan : begin_[level + 1];
  double out = none;
  for (std::size_t i = first; i < end; ++i) out = keys_[i] > out ? keys_[i] : out;
  return out;
}

}  // namespace berth
