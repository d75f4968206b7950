#pragma once
/// \file
/// Splits the devices of one node between groups of tasks that may not all use the same ones.

#include <cstddef>

#include "berth/core/bits.hpp"

namespace berth::detail {

/// A maximum flow from groups to devices by augmenting paths (Ford and Fulkerson). O(devices² × groups); no allocation.
class device_split {
 public:
  static constexpr std::size_t most_groups = 16;

  /// Adds a group that may use `may` and needs `need` of them. \pre fewer than `most_groups` so far
  void add(device_mask may, unsigned need) noexcept {
    may_[groups_] = may;
    need_[groups_++] = need;
  }
  /// \returns whether all groups get what they need
  [[nodiscard]] bool solve() noexcept {
    for (std::size_t g = 0; g < groups_; ++g)
      for (unsigned k = 0; k < need_[g]; ++k) {
        device_mask seen = 0;
        if (!augment(g, seen)) return false;
      }
    return true;
  }
  [[nodiscard]] device_mask given(std::size_t group) const noexcept { return given_[group]; }

 private:
  /// One more device for `g`, if need be by giving another group a different one. As deep as there are devices.
  [[nodiscard]] bool augment(std::size_t g, device_mask& seen) noexcept {
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

  std::size_t groups_ = 0;
  device_mask may_[most_groups] = {}, given_[most_groups] = {};
  unsigned need_[most_groups] = {};
};

}  // namespace berth::detail
