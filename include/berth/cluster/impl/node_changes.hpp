#pragma once
/// \file
/// Bodies of `berth/cluster/node_changes.hpp`.

#include "berth/cluster/node_changes.hpp"

namespace berth::detail {

BERTH_INLINE bool take_inside(node_resources& inside, std::uint32_t slot, std::uint32_t n, node_state& s,
                              const task_shape& shape, device_mask devices, const part_places* places) noexcept {
  if (inside.is_on() && !inside.take(slot, n, s, shape, devices)) return false;
  if (!inside.parts().is_on()) return true;
  if (shape.part.asks()) return inside.parts().take(slot, n, s, shape.part, devices, places);
  inside.parts().take_none(slot);
  return true;
}

BERTH_INLINE bool admits(const filter_table& table, const node_state& n, device_mask devices) noexcept {
  const std::size_t c = n.node_class.index();
  return n.usable && table.admits[c] != 0 && (devices & ~table.devices[c]) == 0;
}

[[gnu::noinline]] BERTH_INLINE const task_placement* take_alike(const task_placement* t, const task_placement* last,
                                                                node_state* nodes, std::size_t node_limit,
                                                                cpu_millis cpu, bytes memory,
                                                                std::uint32_t kind) noexcept {
  const std::uint32_t group = t->group;
  const device_mask devices = t->devices;
  for (;;) {
    node_state& n = nodes[t->node.index()];
    const device_mask free = n.free ^ devices;
    const cpu_millis cpu_left = n.cpu - cpu;
    const bytes memory_left = n.memory - memory;
    if ((free & devices) != 0 || (cpu_left.count() | memory_left.count()) < 0 || n.kind() != kind) return t;
    n.held |= devices;
    n.free = free;
    n.cpu = cpu_left;
    n.memory = memory_left;
    ++n.tasks;
    if (++t == last || t->group != group || t->devices != devices || t->node.index() >= node_limit) return t;
  }
}

BERTH_INLINE void keep_tasks(std::span<const task_placement> tasks, std::span<const task_shape> shapes,
                             const node_state* nodes, allocation_store::writer& store, capacity_index& index,
                             std::uint64_t commit) noexcept {
  allocation_store::writer writer = store;  // in registers
  capacity_index::run touch{index, false, commit};
  for (const task_placement *t = tasks.data(), *const end = t + tasks.size(); t != end;) {
    const std::uint32_t group = t->group;
    const cpu_millis cpu = shapes[group].cpu;
    const bytes memory = shapes[group].memory;
    const task_placement* stop = end;
    if (shapes.size() != 1)
      for (stop = t + 1; stop != end && stop->group == group;) ++stop;
    for (; t != stop; ++t) {
      const node_id node = t->node;  // read once: compilers cannot know that the store lies elsewhere
      writer.append(t->devices, cpu, memory, node);
      touch(node.raw(), nodes);
    }
  }
  store = writer;
}

}  // namespace berth::detail
