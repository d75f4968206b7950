#pragma once
/// \file
/// Rails: which of the compute fabric's rails a device sends on, and how much of its NICs is its own.

#include <cstdint>
#include <optional>

#include "berth/core/bits.hpp"
#include "berth/core/units.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth {

/// The most rails that are told apart; a NIC of a higher one counts for none.
inline constexpr unsigned max_rails = 16;

/// The rail of a device: that of the NIC of the compute fabric beside it. Where several NICs lie beside the same
/// devices (two GPUs and two NICs under one PCIe switch), they are dealt out in order. Empty: no such NIC. O(NICs).
[[nodiscard]] inline std::optional<std::uint8_t> rail_of(const node_shape& s, unsigned device) noexcept {
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

/// Devices that send on a rail. O(devices × NICs).
[[nodiscard]] inline device_mask devices_on_rail(const node_shape& s, unsigned rail) noexcept {
  device_mask m = 0;
  for (unsigned d = 0; d < s.devices; ++d)
    if (const auto r = rail_of(s, d); r && *r == rail) m |= bit(d);
  return m;
}

/// Bytes per second that every device can send at once: of each rail the rate of its NICs over its devices, the least
/// of all rails; 0 where a device has no NIC or a rate is unknown. Rounded down. O(rails × devices × NICs).
[[nodiscard]] inline bytes_per_second nic_share(const node_shape& s) noexcept {
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
