#pragma once
/// \file
/// Proves at a glance that several task shapes together ask for more than a domain has, where each by itself would fit:
/// the usual reason why a mixed gang does not.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "berth/cluster/cluster.hpp"
#include "berth/job/gang.hpp"

namespace berth::detail {

/// Sums what sets of groups can use of the nodes of a domain, and compares it with what they need. On a node a set of
/// groups can use no more devices than it may, no more than as many tasks of each as fit alone would, and only
/// multiples of the greatest common divisor of their sizes; likewise CPU and memory. For up to four groups every set is
/// looked at, for more only the whole gang.
class joint_bound {
 public:
  /// \param counts  tasks wanted, by group
  joint_bound(const cluster& c, const gang& g, std::span<const std::uint64_t> counts) noexcept
      : cluster_{c},
        gang_{g},
        counts_{counts},
        sets_{g.groups.size() <= most_groups ? (1U << g.groups.size()) - 1U : 1U} {
    for (std::size_t i = 0; i < g.groups.size(); ++i)
      for (unsigned s = 0; s < sets_; ++s)
        if (counts[i] != 0 && holds(s, i)) step_[s] = common_divisor(step_[s], g.groups[i].shape.devices);
  }

  /// Adds what a node offers. O(groups × sets).
  void add(node_id n) noexcept {
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

  /// Whether some set of groups needs more than all nodes added offer it.
  [[nodiscard]] bool exceeded() const noexcept {
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

 private:
  static constexpr std::size_t most_groups = 4;
  static constexpr unsigned most_sets = (1U << most_groups) - 1U;
  struct amount {
    std::uint64_t devices = 0, cpu = 0, memory = 0;
  };
  /// Whether set `s` holds group `i`; a single set holds all.
  [[nodiscard]] bool holds(unsigned s, std::size_t i) const noexcept { return sets_ == 1 || ((s + 1U) >> i & 1U) != 0; }
  [[nodiscard]] static std::uint32_t common_divisor(std::uint32_t a, std::uint32_t b) noexcept {
    while (b != 0) {
      const std::uint32_t rest = a % b;
      a = b;
      b = rest;
    }
    return a;
  }
  /// How often `need` fits into `have`.
  [[nodiscard]] static std::uint64_t room(std::int64_t have, std::int64_t need) noexcept {
    return need == 0 ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(have / need);
  }
  [[nodiscard]] static std::uint64_t least(std::uint64_t a, std::uint64_t b) noexcept { return a < b ? a : b; }

  const cluster& cluster_;
  const gang& gang_;
  std::span<const std::uint64_t> counts_;
  unsigned sets_;
  std::uint32_t step_[most_sets] = {};  ///< greatest common divisor of the device counts
  amount have_[most_sets];
};

}  // namespace berth::detail
