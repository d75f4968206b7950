#pragma once
/// \file
/// Bodies of `berth/cluster/part_rooms.hpp`.

#include "berth/cluster/part_rooms.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth::detail {

BERTH_INLINE std::uint32_t tasks_in(const part_rooms& r, device_mask devices, unsigned count, bool apart,
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
