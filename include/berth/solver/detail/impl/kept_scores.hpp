#pragma once
/// \file
/// Bodies of `berth/solver/detail/kept_scores.hpp`.

#include "berth/core/prefetch.hpp"
#include "berth/solver/detail/kept_scores.hpp"

namespace berth::detail {

BERTH_INLINE void kept_scores::assign(std::size_t n) {
  nodes_.assign(n, {});
  for (max_tree& b : bounds_)
    if (b.size() != 0) b.assign(groups());
}

BERTH_INLINE void kept_scores::prefetch(std::size_t n) const noexcept {
  prefetch_write(&nodes_[n]);
  for (const max_tree& b : bounds_)
    if (b.size() != 0) b.prefetch(n / fan);
}

BERTH_INLINE void kept_scores::prefetch_best() const noexcept {
  for (const max_tree& b : bounds_) {
    const std::size_t group = b.best();
    if (group == b.size()) continue;
    // Every second of them, and the one in whose line of memory the last one ends.
    for (std::size_t n = group * fan; n < end_of(group); n += 2) prefetch_read(&nodes_[n]);
    prefetch_read(&nodes_[end_of(group) - 1]);
  }
}

BERTH_INLINE void kept_scores::set(std::size_t n, const kept_score& s, double key) {
  nodes_[n] = s;
  max_tree& bounds = of_kind(s.kind);
  if (key > bounds[n / fan]) bounds.set(n / fan, key);
}

BERTH_INLINE void kept_scores::put(std::size_t n, const kept_score& s) {
  nodes_[n] = s;
  static_cast<void>(of_kind(s.kind));
}

BERTH_INLINE max_tree& kept_scores::of_kind(unsigned kind) {
  max_tree& bounds = bounds_[kind];
  if (bounds.size() == 0) bounds.assign(groups());
  return bounds;
}

}  // namespace berth::detail
