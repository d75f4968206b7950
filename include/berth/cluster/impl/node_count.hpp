#pragma once
/// \file
/// Bodies of `berth/cluster/node_count.hpp`.

#include "berth/cluster/node_count.hpp"

namespace berth::detail {

BERTH_INLINE void apply_binding(const machine_layout& y, std::int64_t* left, const task_binding& b, cpu_millis cpu,
                                bytes memory, device_mask devices, std::int64_t sign) noexcept {
  const auto share = [&](std::uint64_t nodes, std::int64_t amount, std::size_t first) {
    const auto parts = static_cast<std::int64_t>(count_bits(nodes));
    std::int64_t extra = parts == 0 ? 0 : amount % parts;
    for_each_bit(nodes, [&](unsigned m) {
      left[first + m] += sign * (amount / parts + (extra > 0 ? 1 : 0));
      --extra;
    });
  };
  share(b.cpu_nodes, cpu.count(), 0);
  share(b.memory_nodes, memory.count(), y.memory_at(0));
  if (b.host_per_device == 0) return;
  for (std::size_t l = 0; l < y.links(); ++l)
    left[y.link_at(l)] += sign * b.host_per_device * static_cast<std::int64_t>(count_bits(devices & y.link_devices(l)));
}

BERTH_INLINE std::uint32_t count_fits(node_residual node, const task_shape& t, std::uint32_t limit) noexcept {
  const machine_layout& y = *node.layout;
  const auto k = static_cast<std::int64_t>(t.devices);
  const device_mask usable = node.usable(t);
  // Devices out of a set that the links carry at once. Links nest, so growing in any order reaches the most.
  const auto carried = [&](device_mask from) -> std::int64_t {
    if (t.bind.host.count() == 0) return count_bits(from);
    return count_bits(node.fill(t, from, max_devices_per_node));
  };
  const auto keeps_share = [&](std::int64_t tasks, std::int64_t cpu, std::int64_t have, std::int64_t free,
                               std::int64_t share) {
    return cpu <= share * k || have - tasks * cpu >= share * (free - tasks * k);
  };
  const auto within = [&](std::int64_t tasks) {
    if (tasks > limit) tasks = limit;
    if (t.bind.keep_ratio)
      while (tasks > 0 && !keeps_share(tasks, t.cpu.count(), node.cpu.count(), count_bits(node.free), y.cpu_share()))
        --tasks;
    return static_cast<std::uint32_t>(tasks);
  };
  if (t.bind.numa == numa_rule::none || t.bind.numa == numa_rule::best_effort)
    return within(k == 0 ? limit : carried(usable) / k);

  const bool one_node =
      t.bind.numa == numa_rule::single_node ||
      ((k == 0 || y.fewest_nodes(t.devices) == 1) && (t.cpu.count() == 0 || y.fewest_for(t.cpu.count(), 0) == 1) &&
       (t.memory.count() == 0 || y.fewest_for(t.memory.count(), y.memory_at(0)) == 1));
  if (one_node) {
    std::int64_t sum = 0;
    for (std::size_t m = 0; m < y.numa_nodes(); ++m) {
      std::int64_t fit = k == 0 ? limit : carried(usable & y.numa_devices(m)) / k;
      if (t.cpu.count() != 0 && node.left[m] / t.cpu.count() < fit) fit = node.left[m] / t.cpu.count();
      const std::int64_t memory = node.left[y.memory_at(m)];
      if (t.memory.count() != 0 && memory / t.memory.count() < fit) fit = memory / t.memory.count();
      const device_mask here = y.numa_devices(m);
      if (t.bind.keep_ratio && here != 0 && t.cpu.count() != 0) {
        const std::int64_t share = y.capacity()[m] / static_cast<std::int64_t>(count_bits(here));
        while (fit > 0 && !keeps_share(fit, t.cpu.count(), node.left[m], count_bits(here & node.free), share)) --fit;
      }
      sum += fit;
    }
    return within(sum);
  }
  std::int64_t left[most_amounts];
  for (std::size_t i = 0; i < y.amounts(); ++i) left[i] = node.left[i];
  node.left = left;
  std::uint32_t fit = 0;
  for (; fit < limit; ++fit) {
    device_mask set = 0;
    task_binding b;
    if (!node.first_fit(t, set, b)) break;
    apply_binding(y, left, b, t.cpu, t.memory, set, -1);
    node.pool &= ~set;
    node.free &= ~set;
    node.cpu -= t.cpu;
    node.memory -= t.memory;
  }
  return fit;
}

}  // namespace berth::detail
