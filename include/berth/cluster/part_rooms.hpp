#pragma once
/// \file
/// How devices may be cut, as the cluster keeps it, and how many tasks fit on devices with some room each.

#include <cstdint>

#include "berth/cluster/part_catalogue.hpp"
#include "berth/core/bits.hpp"
#include "berth/topology/node_shape.hpp"

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
[[nodiscard]] inline std::uint32_t tasks_in(const part_rooms& r, device_mask devices, unsigned count, bool apart,
                                            std::uint32_t limit) noexcept {
  std::uint64_t sum = 0;
  for_each_bit(r.able & devices, [&](unsigned d) { sum += r.of[d]; });
  std::uint64_t n = sum / count < limit ? sum / count : limit;
  for (; apart && count > 1 && n != 0; --n) {
    std::uint64_t usable = 0;
    for_each_bit(r.able & devices, [&](unsigned d) { usable += r.of[d] < n ? r.of[d] : n; });
    if (usable >= n * count) break;
    // No more tasks than what is usable serves: skips what a step at a time would reach anyway.
    if (usable / count + 1 < n) n = usable / count + 1;
  }
  return static_cast<std::uint32_t>(n);
}

}  // namespace berth::detail
