#pragma once
/// \file
/// How devices may be cut, as the cluster keeps it, and how many tasks fit on devices with some room each.

#include <cstdint>

#include "berth/cluster/part_catalogue.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/separate.hpp"

namespace berth::detail {

/// How devices of one kind may be cut; as `part_model`.
struct device_limits {
  std::uint32_t memory_mib = 0;
  std::uint16_t thousandths = 0;
  std::uint16_t clients = 0;
  std::uint8_t product = part_model::no_product;
  bool one_user = false, exclusive_whole = false;
  friend constexpr bool operator==(const device_limits&, const device_limits&) noexcept = default;
};
/// Parts that fit on each device of a node.
struct part_rooms {
  std::uint32_t of[max_devices_per_node];  ///< read where `able` says so
  device_mask able = 0;                    ///< devices with room
};

/// How many tasks that want `count` parts each fit on devices with these rooms, at most `limit`. `apart`: the parts of
/// a task on different devices, and then n tasks fit where the sum of min(room, n) is at least n × count (Gale and
/// Ryser). O(devices), apart O(devices × tasks).
[[nodiscard]] std::uint32_t tasks_in(const part_rooms& r, device_mask devices, unsigned count, bool apart,
                                     std::uint32_t limit) noexcept;

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/part_rooms.hpp"
#endif
