#pragma once
/// \file
/// Rails: which of the compute fabric's rails a device sends on, and how much of its NICs is its own.

#include <cstdint>
#include <optional>

#include "berth/core/bits.hpp"
#include "berth/core/separate.hpp"
#include "berth/core/units.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth {

/// The most rails that are told apart; a NIC of a higher one counts for none.
inline constexpr unsigned max_rails = 16;

/// The rail of a device: that of the NIC of the compute fabric beside it. Where several NICs lie beside the same
/// devices (two GPUs and two NICs under one PCIe switch), they are dealt out in order. Empty: no such NIC. O(NICs).
[[nodiscard]] std::optional<std::uint8_t> rail_of(const node_shape& s, unsigned device) noexcept;

/// Devices that send on a rail. O(devices × NICs).
[[nodiscard]] device_mask devices_on_rail(const node_shape& s, unsigned rail) noexcept;

/// Bytes per second that every device can send at once: of each rail the rate of its NICs over its devices, the least
/// of all rails; 0 where a device has no NIC or a rate is unknown. Rounded down. O(rails × devices × NICs).
[[nodiscard]] bytes_per_second nic_share(const node_shape& s) noexcept;

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/topology/impl/rails.hpp"
#endif
