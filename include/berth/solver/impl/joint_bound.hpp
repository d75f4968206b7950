#pragma once
/// \file
/// Bodies of `berth/solver/joint_bound.hpp`.

#include "berth/solver/joint_bound.hpp"

namespace berth::detail {

BERTH_INLINE joint_bound::joint_bound(const cluster& c, const gang& g, std::span<const std::uint64_t> counts) noexcept
    : cluster_{c},
      gang_{g},
      counts_{counts},
      sets_{g.groups.size() <= most_groups ? (1U << g.groups.size()) - 1U : 1U} {
  for (std::size_t i = 0; i < g.groups.size(); ++i)
    for (unsigned s = 0; s < sets_; ++s)
      if (counts[i] != 0 && holds(s, i)) step_[s] = common_divisor(step_[s], g.groups[i].shape.devices);
}

BERTH_INLINE void joint_bound::add(node_id n) noexcept {
  const node_state& node = cluster_.node(n);
  amount use[most_sets] = {};
  device_mask together[most_sets] = {};
  for (std::size_t i = 0; i < gang_.groups.size(); ++i) {
    const task_shape& shape = gang_.groups[i].shape;
    const eligibility may_use = cluster_.eligible(shape.filter, n);
    const device_mask may = node.free & may_use.devices;
    std::uint64_t tasks = node.usable && may_use.admits ? shape.capped(counts_[i]) : 0;
    if (shape.devices != 0) tasks = least(tasks, count_bits(may) / shape.devices);
    tasks = least(tasks, room(node.cpu.count(), shape.cpu.count()));
    tasks = least(tasks, room(node.memory.count(), shape.memory.count()));
    if (tasks == 0) continue;
    for (unsigned s = 0; s < sets_; ++s) {
      if (!holds(s, i)) continue;
      use[s].devices += tasks * shape.devices;
      use[s].cpu += tasks * static_cast<std::uint64_t>(shape.cpu.count());
      use[s].memory += tasks * static_cast<std::uint64_t>(shape.memory.count());
      if (shape.devices != 0) together[s] |= may;
    }
  }
  for (unsigned s = 0; s < sets_; ++s) {
    const std::uint64_t devices = least(use[s].devices, count_bits(together[s]));
    have_[s].devices += step_[s] == 0 ? 0 : devices - devices % step_[s];
    have_[s].cpu += least(use[s].cpu, static_cast<std::uint64_t>(node.cpu.count()));
    have_[s].memory += least(use[s].memory, static_cast<std::uint64_t>(node.memory.count()));
  }
}

BERTH_INLINE bool joint_bound::exceeded() const noexcept {
  for (unsigned s = 0; s < sets_; ++s) {
    amount need;
    for (std::size_t i = 0; i < gang_.groups.size(); ++i) {
      if (!holds(s, i)) continue;
      const task_shape& shape = gang_.groups[i].shape;
      need.devices += counts_[i] * shape.devices;
      need.cpu += counts_[i] * static_cast<std::uint64_t>(shape.cpu.count());
      need.memory += counts_[i] * static_cast<std::uint64_t>(shape.memory.count());
    }
    if (need.devices > have_[s].devices || need.cpu > have_[s].cpu || need.memory > have_[s].memory) return true;
  }
  return false;
}

BERTH_INLINE std::uint32_t joint_bound::common_divisor(std::uint32_t a, std::uint32_t b) noexcept {
  while (b != 0) {
    const std::uint32_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

}  // namespace berth::detail
