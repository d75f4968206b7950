#pragma once
/// \file
/// Hands devices out to several tasks of one node that may not all use the same ones.

#include <cstddef>
#include <vector>

#include "berth/core/bits.hpp"

namespace berth::detail {

/// What one task asks of a node's devices.
struct device_want {
  device_mask may = 0;  ///< devices that may serve it
  unsigned count = 0;
};

/// A maximum matching between tasks and devices, by augmenting paths (Ford and Fulkerson). O(devices² × tasks);
/// allocates.
class device_matching {
 public:
  /// Per want the devices it gets: `count` of them whenever all wants can be served.
  [[nodiscard]] static std::vector<device_mask> find(const std::vector<device_want>& wants) {
    device_matching m{wants};
    for (std::size_t w = 0; w < wants.size(); ++w)
      for (unsigned k = 0; k < wants[w].count; ++k) {
        device_mask seen = 0;
        m.augment(w, seen);
      }
    return m.given_;
  }

 private:
  explicit device_matching(const std::vector<device_want>& wants) : wants_{wants}, given_(wants.size(), 0) {}

  /// Finds one more device for `w`, if need be by giving others a different one.
  bool augment(std::size_t w, device_mask& seen) {
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

  const std::vector<device_want>& wants_;
  std::vector<device_mask> given_;
};

}  // namespace berth::detail
