#pragma once
/// \file
/// What one task needs from the node it lands on.

#include <cstdint>

#include "berth/core/id.hpp"
#include "berth/core/units.hpp"

namespace berth {

/// Devices, CPU and memory of one task, and which nodes and devices may serve it. At least one amount is positive.
struct task_shape {
  std::uint32_t devices = 0;  ///< whole devices, at most `max_devices_per_node`
  cpu_millis cpu{};           ///< >= 0
  bytes memory{};             ///< >= 0
  filter_id filter{0};        ///< made by `cluster::add_filter`; 0 admits every node and every device

  friend constexpr bool operator==(const task_shape&, const task_shape&) noexcept = default;
};

}  // namespace berth
