#pragma once
/// \file
/// Splits the devices of one node between groups of tasks that may not all use the same ones.

#include <cstddef>

#include "berth/core/bits.hpp"
#include "berth/core/separate.hpp"

namespace berth::detail {

/// A maximum flow from groups to devices by augmenting paths (Ford and Fulkerson). O(devices² × groups); no allocation.
class device_split {
 public:
  static constexpr std::size_t most_groups = 16;

  /// Adds a group that may use `may` and needs `need` of them. \pre fewer than `most_groups` so far
  void add(device_mask may, unsigned need) noexcept;
  /// \returns whether all groups get what they need
  [[nodiscard]] bool solve() noexcept;
  [[nodiscard]] device_mask given(std::size_t group) const noexcept { return given_[group]; }

 private:
  /// One more device for `g`, if need be by giving another group a different one. As deep as there are devices.
  [[nodiscard]] bool augment(std::size_t g, device_mask& seen) noexcept;

  std::size_t groups_ = 0;
  device_mask may_[most_groups] = {}, given_[most_groups] = {};
  unsigned need_[most_groups] = {};
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/solver/detail/impl/device_split.hpp"
#endif
