#pragma once
/// \file
/// Nodes whose GPUs are handed out in thousandths: what is free on each, and what a task asks of it. The state that
/// packing policies (`policy/packing.hpp`) score; whole GPUs are shares of 1000.

#include <cassert>
#include <cstdint>

#include "berth/core/bits.hpp"
#include "berth/core/units.hpp"

namespace berth {

/// GPUs of one node that are shared in thousandths.
inline constexpr unsigned max_shared_devices = 16;
/// A whole GPU.
inline constexpr std::uint16_t whole_device = 1000;
/// Numbers of GPU models; the last one is that of nodes without GPUs.
inline constexpr unsigned max_device_models = 64;
inline constexpr std::uint8_t no_device_model = max_device_models - 1;

/// Amounts of one node, free or installed. Integers, so that undoing is exact.
struct share_node {
  cpu_millis cpu{};
  bytes memory{};
  std::uint8_t devices = 0;                  ///< GPUs of the node, at most `max_shared_devices`
  std::uint8_t model = 0;                    ///< of all its GPUs, below `no_device_model`; that where it has none
  std::uint16_t free[max_shared_devices]{};  ///< thousandths free on each GPU; 0 beyond `devices`

  /// Thousandths free on all GPUs together.
  [[nodiscard]] constexpr unsigned free_total() const noexcept {
    unsigned sum = 0;
    for (unsigned g = 0; g < devices; ++g) sum += free[g];
    return sum;
  }
  /// GPUs with at least so much free.
  [[nodiscard]] constexpr unsigned count_with(std::uint16_t share) const noexcept {
    unsigned n = 0;
    for (unsigned g = 0; g < devices; ++g) n += free[g] >= share ? 1U : 0U;
    return n;
  }
  friend constexpr bool operator==(const share_node&, const share_node&) noexcept = default;
};

/// What one task asks of one node: none, one shared, or one or more whole GPUs.
struct share_task {
  cpu_millis cpu{};
  bytes memory{};
  std::uint8_t devices = 0;                  ///< GPUs
  std::uint16_t share = 0;                   ///< thousandths of each; 1000 where `devices` > 1, 0 where there is none
  std::uint64_t models = ~std::uint64_t{0};  ///< bit per GPU model that serves it; all bits: any

  /// Thousandths of GPUs asked for in all.
  [[nodiscard]] constexpr unsigned demand() const noexcept { return unsigned{devices} * share; }
  [[nodiscard]] constexpr bool any_model() const noexcept { return models == ~std::uint64_t{0}; }
  [[nodiscard]] constexpr bool is_valid() const noexcept {
    return cpu.count() >= 0 && memory.count() >= 0 && devices <= max_shared_devices &&
           (devices == 0 ? share == 0 : share >= 1 && share <= whole_device) && (devices <= 1 || share == whole_device);
  }
  friend constexpr bool operator==(const share_task&, const share_task&) noexcept = default;
};

/// Whether the node serves the task now. A task without GPUs runs on any model. O(GPUs).
[[nodiscard]] constexpr bool fits(const share_node& n, const share_task& t) noexcept {
  return t.cpu <= n.cpu && t.memory <= n.memory &&
         (t.devices == 0 || ((t.models >> n.model & 1U) != 0 && n.count_with(t.share) >= t.devices));
}

/// Takes the task's amounts from the node, GPUs from `chosen`. \pre it fits; `chosen` has `t.devices` GPUs with
/// `t.share` free
constexpr void take(share_node& n, const share_task& t, device_mask chosen) noexcept {
  n.cpu -= t.cpu;
  n.memory -= t.memory;
  for_each_bit(chosen, [&](unsigned g) {
    assert(n.free[g] >= t.share);
    n.free[g] = static_cast<std::uint16_t>(n.free[g] - t.share);
  });
}
/// Undoes `take`.
constexpr void give_back(share_node& n, const share_task& t, device_mask chosen) noexcept {
  n.cpu += t.cpu;
  n.memory += t.memory;
  for_each_bit(chosen, [&](unsigned g) { n.free[g] = static_cast<std::uint16_t>(n.free[g] + t.share); });
}

/// Calls `f(chosen)` once for every way to serve the task that leaves a different node behind: for a shared GPU one
/// call per distinct amount free, lowest GPU of that amount; otherwise one call. \pre it fits. O(GPUs²).
template <class F>
constexpr void for_each_choice(const share_node& n, const share_task& t, F&& f) {
  if (t.devices == 1 && t.share < whole_device) {
    for (unsigned g = 0; g < n.devices; ++g) {
      if (n.free[g] < t.share) continue;
      bool seen = false;
      for (unsigned h = 0; h < g && !seen; ++h) seen = n.free[h] == n.free[g];
      if (!seen) f(bit(g));
    }
    return;
  }
  device_mask whole = 0;
  for (unsigned g = 0, left = t.devices; g < n.devices && left != 0; ++g)
    if (n.free[g] == whole_device) {
      whole |= bit(g);
      --left;
    }
  f(whole);
}

/// The choice that leaves the least on the GPU it uses; lowest GPU among equals. \pre it fits. O(GPUs).
[[nodiscard]] constexpr device_mask tightest_choice(const share_node& n, const share_task& t) noexcept {
  if (t.devices != 1 || t.share == whole_device) {
    device_mask whole = 0;
    for_each_choice(n, t, [&](device_mask m) { whole = m; });
    return whole;
  }
  unsigned best = max_shared_devices;
  for (unsigned g = 0; g < n.devices; ++g)
    if (n.free[g] >= t.share && (best == max_shared_devices || n.free[g] < n.free[best])) best = g;
  return bit(best);
}

}  // namespace berth
