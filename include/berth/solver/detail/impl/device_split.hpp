#pragma once
/// \file
/// Bodies of `berth/solver/detail/device_split.hpp`.

#include "berth/solver/detail/device_split.hpp"

namespace berth::detail {

BERTH_INLINE void device_split::add(device_mask may, unsigned need) noexcept {
  may_[groups_] = may;
  need_[groups_++] = need;
}

BERTH_INLINE bool device_split::solve() noexcept {
  for (std::size_t g = 0; g < groups_; ++g)
    for (unsigned k = 0; k < need_[g]; ++k) {
      device_mask seen = 0;
      if (!augment(g, seen)) return false;
    }
  return true;
}

BERTH_INLINE bool device_split::augment(std::size_t g, device_mask& seen) noexcept {
  for (;;) {
    const device_mask left = may_[g] & ~given_[g] & ~seen;
    if (left == 0) return false;
    const device_mask d = left & (~left + 1);
    seen |= d;
    std::size_t owner = 0;
    while (owner < groups_ && (given_[owner] & d) == 0) ++owner;
    if (owner < groups_ && !augment(owner, seen)) continue;
    if (owner < groups_) given_[owner] &= ~d;
    given_[g] |= d;
    return true;
  }
}

}  // namespace berth::detail
