#pragma once
/// \file
/// Devices for tasks that ask something of the inside of their node.

#include <cstddef>
#include <cstdint>

#include "berth/cluster/node_count.hpp"
#include "berth/cluster/node_residual.hpp"
#include "berth/cluster/task_shape.hpp"
#include "berth/core/bits.hpp"

namespace berth::detail {

/// A device table that knows about needs.
template <class Table>
concept knows_needs = requires(const Table& t, const node_residual& n, const task_shape& s) {
  { t.choose(n, s) }
  noexcept;
};

/// The devices of one task with needs, by the policy where it knows about needs; else by the policy's plain choice
/// where that satisfies them, out of all devices or out of as few NUMA nodes as are asked for; else any that do. 0:
/// none, or none wanted.
template <class Table>
[[nodiscard]] device_mask choose_for(const Table& table, const node_residual& node, const task_shape& t) noexcept {
  if (t.devices == 0) return 0;
  if constexpr (knows_needs<Table>) {
    return table.choose(node, t);
  } else {
    const device_mask pool = node.usable(t);
    device_mask found = 0;
    const auto attempt = [&](device_mask from) noexcept {
      if (count_bits(from) < t.devices) return false;
      found = table.choose(from, t.devices);
      if (node.admits(t, found)) return true;
      found = 0;
      return false;
    };
    if (t.bind.numa != numa_rule::none) {
      const unsigned nodes = t.bind.numa == numa_rule::single_node ? 1U : node.layout->fewest_nodes(t.devices);
      if (nodes != machine_layout::none && node.each_choice(nodes, pool, 0, 0, attempt)) return found;
    }
    task_binding b;
    if (attempt(pool) || node.first_fit(t, found, b)) return found;
    return 0;
  }
}

/// Calls `write(i, devices)` for `n` tasks of one shape on one node, each out of what those before it left. Where the
/// policy's choices get in each other's way, it starts again with the lowest devices, which is how they were counted.
/// \pre count_fits(node, t, …) >= n
template <class Table, class Write>
void choose_for_all(const Table& table, const node_residual& node, const task_shape& t, std::uint64_t n,
                    Write write) noexcept {
  for (const bool by_policy : {true, false}) {
    std::int64_t left[most_amounts];
    node_residual now = node;
    for (std::size_t i = 0; i < node.layout->amounts(); ++i) left[i] = node.left[i];
    now.left = left;
    std::uint64_t i = 0;
    for (; i < n; ++i) {
      device_mask set = 0;
      task_binding b;
      if (by_policy) {
        set = choose_for(table, now, t);
        if ((t.devices != 0 && set == 0) || !now.bind(t, set, b)) break;
      } else if (!now.first_fit(t, set, b)) {
        break;
      }
      write(i, set);
      apply_binding(*node.layout, left, b, t.cpu, t.memory, set, -1);
      now.free &= ~set;
      now.pool &= ~set;
      now.cpu -= t.cpu;
      now.memory -= t.memory;
    }
    if (i == n) return;
  }
}

}  // namespace berth::detail
