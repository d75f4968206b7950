#pragma once
/// \file
/// Bodies of `berth/solver/device_matching.hpp`.

#include "berth/solver/device_matching.hpp"

namespace berth::detail {

BERTH_INLINE std::vector<device_mask> device_matching::find(const std::vector<device_want>& wants) {
  device_matching m{wants};
  for (std::size_t w = 0; w < wants.size(); ++w)
    for (unsigned k = 0; k < wants[w].count; ++k) {
      device_mask seen = 0;
      m.augment(w, seen);
    }
  return m.given_;
}

BERTH_INLINE bool device_matching::augment(std::size_t w, device_mask& seen) {
  for (;;) {
    const device_mask left = wants_[w].may & ~given_[w] & ~seen;
    if (left == 0) return false;
    const device_mask d = left & (~left + 1);
    seen |= d;
    std::size_t owner = 0;
    while (owner < given_.size() && (given_[owner] & d) == 0) ++owner;
    if (owner < given_.size() && !augment(owner, seen)) continue;
    if (owner < given_.size()) given_[owner] &= ~d;
    given_[w] |= d;
    return true;
  }
}

BERTH_INLINE device_matching::device_matching(const std::vector<device_want>& wants)
    : wants_{wants}, given_(wants.size(), 0) {}

}  // namespace berth::detail
