#pragma once
/// \file
/// What a node with shared GPUs draws, by what is in use on it.
///
/// A GPU draws `idle` watts while nobody uses it and `busy` once any part of it is in use; a CPU package likewise,
/// packages filled one after the other. With f free and d installed GPUs, c CPUs in use of C, p CPUs a package:
///
///     watts = f × gpu.idle + (d - f) × gpu.busy + (⌈C / p⌉ - ⌈c / p⌉) × cpu.idle + ⌈c / p⌉ × cpu.busy
///
/// Numbers: two T4 (10 and 70 W) beside 96 CPUs in packages of 48 (20 and 165 W): 2 × 10 + 2 × 20 = 60 W with nothing
/// on it, 10 + 70 + 20 + 165 = 265 W with half a GPU and 8 CPUs in use.
///
/// Source   Lettich et al., "Power- and fragmentation-aware online scheduling for GPU datacenters", CCGrid 2025, and
/// the
///          simulator published with it (Fr4nz83/PWR-plugin-kubernetes, pkg/type/resource.go), which counts whole cores
///          of two threads: the same wherever nodes have an even number of CPUs.

#include <cstdint>

#include "berth/cluster/share_node.hpp"
#include "berth/core/separate.hpp"

namespace berth {

/// What a device draws.
struct power_draw {
  double idle = 0;  ///< watts, nothing of it in use
  double busy = 0;  ///< watts, any part of it in use
};
/// Draws of the nodes with one GPU model.
struct model_power {
  power_draw gpu{};
  power_draw cpu{15, 120};       ///< of a CPU package
  cpu_millis package{cpus(32)};  ///< CPUs (hardware threads) of a package, above 0
};

/// Draws by GPU model of the cluster.
struct power_model {
  model_power of[max_device_models]{};

  /// Draw of a node in this state. O(GPUs).
  [[nodiscard]] double watts(const share_node& now, const share_node& installed) const noexcept;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/power_model.hpp"
#endif
