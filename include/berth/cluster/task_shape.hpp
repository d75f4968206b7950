#pragma once
/// \file
/// What one task needs from the node it lands on.

#include <cstdint>

#include "berth/cluster/task_binding.hpp"
#include "berth/cluster/task_part.hpp"
#include "berth/core/id.hpp"
#include "berth/core/units.hpp"

namespace berth {

/// Devices, CPU and memory of one task, and which nodes and devices may serve it. At least one amount is positive. A
/// task asks for whole devices, for parts of devices, or for neither.
struct task_shape {
  /// CPU and memory of a task stay below this, so that sums over the tasks of a node cannot overflow.
  static constexpr std::int64_t amount_limit = std::int64_t{1} << 47;

  std::uint32_t devices = 0;   ///< whole devices, at most `max_devices_per_node`
  cpu_millis cpu{};            ///< >= 0
  bytes memory{};              ///< >= 0
  filter_id filter{0};         ///< made by `cluster::add_filter`; 0 admits every node and every device
  std::uint32_t per_node = 0;  ///< of one group of a gang at most so many tasks on one node; 0: any number. 1 keeps its
                               ///< tasks on different nodes. Tasks of other groups and gangs do not count
  binding_need bind{};         ///< what it asks of the inside of the node
  part_need part{};            ///< MIG instances or shares of GPUs, with no whole devices and nothing in `bind`

  /// Whether the amounts are legal: something is asked for, nothing is negative or absurdly large, and bandwidth or a
  /// NIC only for devices. What a MIG request says is known to `cluster::is_valid` alone.
  [[nodiscard]] constexpr bool is_valid() const noexcept {
    // Negative amounts are absurdly large ones without a sign.
    const auto legal = [](std::int64_t amount) noexcept {
      return static_cast<std::uint64_t>(amount) < static_cast<std::uint64_t>(amount_limit);
    };
    return devices <= 64 && legal(cpu.count()) && legal(memory.count()) && legal(bind.host.count()) &&
           (devices != 0 || cpu.count() != 0 || memory.count() != 0 || part.asks()) &&
           (devices != 0 || (bind.host.count() == 0 && !bind.near_nic)) &&
           (!part.asks() || (devices == 0 && !bind.asks() && part.is_valid()));
  }
  /// `tasks`, or as many of a group as one node may hold.
  [[nodiscard]] constexpr std::uint64_t capped(std::uint64_t tasks) const noexcept {
    return per_node != 0 && per_node < tasks ? per_node : tasks;
  }
  /// Whether it lets at least as many of its tasks share a node as another shape does.
  [[nodiscard]] constexpr bool shares_as_much_as(const task_shape& o) const noexcept {
    return per_node == 0 || (o.per_node != 0 && o.per_node <= per_node);
  }
  /// Whether nodes that look alike from outside may differ for it.
  [[nodiscard]] constexpr bool asks_inside() const noexcept { return part.asks() || bind.asks(); }
  friend constexpr bool operator==(const task_shape&, const task_shape&) noexcept = default;
};

}  // namespace berth
