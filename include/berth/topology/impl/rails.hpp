#pragma once
/// \file
/// Bodies of `berth/topology/rails.hpp`.

#include "berth/topology/rails.hpp"

namespace berth {

BERTH_INLINE std::optional<std::uint8_t> rail_of(const node_shape& s, unsigned device) noexcept {
  unsigned cards = 0;
  device_mask beside = 0;
  for (const nic_shape& n : s.nics)
    if (n.rail && *n.rail < max_rails && (n.devices & bit(device)) != 0 && (beside == 0 || n.devices == beside))
      beside = n.devices, ++cards;
  if (cards == 0) return std::nullopt;
  unsigned skip = count_bits(beside & low_bits(device)) % cards;
  for (const nic_shape& n : s.nics)
    if (n.rail && *n.rail < max_rails && n.devices == beside && skip-- == 0) return n.rail;
  return std::nullopt;
}

BERTH_INLINE device_mask devices_on_rail(const node_shape& s, unsigned rail) noexcept {
  device_mask m = 0;
  for (unsigned d = 0; d < s.devices; ++d)
    if (const auto r = rail_of(s, d); r && *r == rail) m |= bit(d);
  return m;
}

BERTH_INLINE bytes_per_second nic_share(const node_shape& s) noexcept {
  std::int64_t least = -1;
  device_mask served = 0;
  for (unsigned r = 0; r < max_rails; ++r) {
    const device_mask on = devices_on_rail(s, r);
    if (on == 0) continue;
    served |= on;
    std::int64_t sum = 0;
    for (const nic_shape& n : s.nics)
      if (n.rail && *n.rail == r) sum += n.rate ? static_cast<std::int64_t>(n.rate->count() * 1e9) : 0;
    const std::int64_t each = sum / static_cast<std::int64_t>(count_bits(on));
    least = least < 0 || each < least ? each : least;
  }
  return bytes_per_second{least < 0 || served != s.all_devices() ? 0 : least};
}

}  // namespace berth
