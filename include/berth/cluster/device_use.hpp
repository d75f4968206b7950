#pragma once
/// \file
/// What the devices of a node are used as where they may be cut into parts: plain values, kept by `device_parts` and
/// published to replicas.

#include <cstdint>

#include "berth/cluster/task_part.hpp"
#include "berth/core/bits.hpp"
#include "berth/topology/mig_geometry.hpp"
#include "berth/topology/mig_states.hpp"

namespace berth::detail {

/// What is in use of one device.
struct device_use {
  mig_set instances = 0;          ///< placements held
  std::uint32_t memory_mib = 0;   ///< of shares
  std::uint16_t thousandths = 0;  ///< of shares
  std::uint16_t clients = 0;      ///< tasks with a share
  mig_state_id state = 0;         ///< that follows from `instances`
  std::uint16_t user = 0;         ///< of the tasks with a share, where they are of one user
  friend constexpr bool operator==(const device_use&, const device_use&) noexcept = default;
};
/// What is in use of one MIG instance that tasks share. Those of a device are in the order of their placements, the
/// unused ones last and blank, so that equal states are equal bit for bit.
struct instance_use {
  std::uint32_t memory_mib = 0;
  std::uint16_t thousandths = 0;  ///< of the instance's compute
  std::uint16_t clients = 0;      ///< 0: no instance
  std::uint16_t user = 0;
  std::uint8_t placement = 0;
  friend constexpr bool operator==(const instance_use&, const instance_use&) noexcept = default;
};
/// Devices of one node by what they are used as. Disjoint but for the switches.
struct part_masks {
  device_mask mig = 0;     ///< cut into instances, or ready for them
  device_mask shared = 0;  ///< shared by at least one task
  device_mask on = 0;      ///< `mig_switch::on`, part of `mig`
  device_mask off = 0;     ///< `mig_switch::off`
  [[nodiscard]] constexpr device_mask open() const noexcept { return mig | shared; }
  friend constexpr bool operator==(const part_masks&, const part_masks&) noexcept = default;
};
/// What is published of one node's devices; no masks where its cluster keeps no parts.
struct published_parts {
  const part_masks* masks = nullptr;
  const device_use* use = nullptr;  ///< by device; says something of those that are `open`
  const instance_use* shared_instances = nullptr;  ///< `max_task_instances` by device, where instances are shared at all
};

}  // namespace berth::detail
