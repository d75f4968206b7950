#pragma once
/// \file
/// Hands devices out to several tasks of one node that may not all use the same ones.

#include <cstddef>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/core/separate.hpp"

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
  [[nodiscard]] static std::vector<device_mask> find(const std::vector<device_want>& wants);

 private:
  explicit device_matching(const std::vector<device_want>& wants);

  /// Finds one more device for `w`, if need be by giving others a different one.
  bool augment(std::size_t w, device_mask& seen);

  const std::vector<device_want>& wants_;
  std::vector<device_mask> given_;
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/solver/impl/device_matching.hpp"
#endif
