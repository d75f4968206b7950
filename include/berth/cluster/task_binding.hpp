#pragma once
/// \file
/// What a task may ask of the inside of its node beyond devices, CPU and memory: how near CPU and memory are, bandwidth
/// to the host, a network card of its own, CPUs left for the other devices.

#include <cstdint>

#include "berth/core/units.hpp"

namespace berth {

/// How devices, CPUs and memory of a task share NUMA nodes; the words and their meaning follow the topology manager of
/// Kubernetes (https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/).
///
/// Bound CPUs and memory come out of the NUMA node's own; those of a task without a rule may be anywhere on the machine
/// and move out of the way, as processes without a CPU set do.
enum class numa_rule : std::uint8_t {
  none,         ///< anywhere
  best_effort,  ///< as `restricted` where that is possible, else anywhere; never refused for it
  restricted,   ///< devices, CPUs and memory each on the fewest NUMA nodes that such a machine, empty, needs for them,
                ///< and with one NUMA node in common; else refused
  single_node,  ///< everything on one NUMA node, or refused
};

/// Conditions on the inside of the node. The default asks nothing.
struct binding_need {
  numa_rule numa = numa_rule::none;
  bool near_nic = false;    ///< every device has a working NIC of the compute fabric beside it (see `nic_shape`)
  bool keep_ratio = false;  ///< leaves every other free device its share of the CPUs, or takes no more than the share
                            ///< of its own devices
  bytes_per_second host{};  ///< per task, between its devices and their NUMA nodes; reserved on every link on the way,
                            ///< in equal parts per device, rounded up

  /// Whether anything is asked.
  [[nodiscard]] constexpr bool asks() const noexcept {
    return numa != numa_rule::none || near_nic || keep_ratio || host.count() != 0;
  }
  /// What one of `devices` devices reserves. \pre devices != 0
  [[nodiscard]] constexpr std::int64_t per_device(std::uint32_t devices) const noexcept {
    return (host.count() + devices - 1) / devices;
  }
  friend constexpr bool operator==(const binding_need&, const binding_need&) noexcept = default;
};

/// What a committed task reserves inside its node. Of an amount that does not divide evenly over NUMA nodes, the first
/// ones give one more.
struct task_binding {
  std::uint64_t cpu_nodes = 0;       ///< NUMA nodes its CPUs come from, in equal parts; 0: anywhere
  std::uint64_t memory_nodes = 0;    ///< the same for memory
  std::int64_t host_per_device = 0;  ///< bytes per second on the way of every device to its NUMA node
  friend constexpr bool operator==(const task_binding&, const task_binding&) noexcept = default;
};

}  // namespace berth
