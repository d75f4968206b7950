#pragma once
/// \file
/// The loops of commit and release over the tasks of a job: what is taken from nodes and given back to them. Apart from
/// each other and from their bookkeeping, so that each has its values in registers.

#include <cstddef>
#include <cstdint>
#include <span>

#include "berth/cluster/allocation_store.hpp"
#include "berth/cluster/capacity_index.hpp"
#include "berth/cluster/class_registry.hpp"
#include "berth/cluster/limits.hpp"
#include "berth/cluster/node_resources.hpp"
#include "berth/cluster/node_state.hpp"
#include "berth/cluster/placement.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/prefetch.hpp"
#include "berth/core/separate.hpp"

namespace berth::detail {

/// What a task takes of the inside of its node or of devices; or nothing. \pre inside.serves(shape)
[[nodiscard]] bool take_inside(node_resources& inside, std::uint32_t slot, std::uint32_t n, node_state& s,
                               const task_shape& shape, device_mask devices, const part_places* places) noexcept;

/// Whether a filter lets tasks have `devices` of a node as it is.
[[nodiscard]] bool admits(const filter_table& table, const node_state& n, device_mask devices) noexcept;

/// Takes a task that may have its devices, and those after it that are like it and may have theirs on nodes of the same
/// kind. \returns the first it did not take. Apart, so that it has its values in registers.
[[nodiscard]] const task_placement* take_alike(const task_placement* t, const task_placement* last, node_state* nodes,
                                               std::size_t node_limit, cpu_millis cpu, bytes memory,
                                               std::uint32_t kind) noexcept;

/// Takes the tasks of a placement from their nodes up to the first one at fault. \returns how many it took
/// \param Inside  whether what tasks hold inside their nodes, or parts of devices, is kept
/// \param tables  what filters leave of classes now, which may be less than when the placement was made
template <bool Inside>
std::size_t take_tasks(const placement& p, flat_array<node_state>& all, const allocation_store& store,
                       std::span<const filter_table> tables, node_resources& inside, cluster_error& error) noexcept {
  node_state* const nodes = all.data();
  const std::size_t node_limit = all.size();
  const task_placement* const first = p.tasks.data();
  const task_placement* const last = first + p.tasks.size();
  const task_placement* t = first;
  [[maybe_unused]] std::uint32_t slot = store.next_task();
  while (t != last) {
    // Tasks of a group often name the same devices: what holds for all of them is looked at once.
    const std::uint32_t group = t->group;
    const device_mask devices = t->devices;
    if (group >= p.shapes.size() || !p.shapes[group].is_valid() || p.shapes[group].filter.index() >= tables.size() ||
        (count_bits(devices) != p.shapes[group].devices && !p.shapes[group].part.asks())) {
      error = {cluster_errc::bad_argument, t->node};
      break;
    }
    const task_shape& shape = p.shapes[group];
    if (Inside ? !inside.serves(shape) : shape.asks_inside()) {
      error = {cluster_errc::capacity_exhausted, t->node};
      break;
    }
    const bool parts = Inside && shape.part.asks();
    if (parts && shape.part.has_places() && p.parts.size() != p.tasks.size()) {
      error = {cluster_errc::bad_argument, t->node};
      break;
    }
    const cpu_millis cpu = shape.cpu;
    const bytes memory = shape.memory;
    const filter_table& table = tables[shape.filter.index()];
    if constexpr (!Inside) {
      while (t != last && t->group == group && t->devices == devices) {
        if (t->node.index() >= node_limit) error = {cluster_errc::bad_argument, t->node};
        else if (const node_state& n = nodes[t->node.index()];
                 (n.free & devices) != devices || n.cpu < cpu || n.memory < memory || !admits(table, n, devices))
          error = {cluster_errc::conflict, t->node};
        else t = take_alike(t, last, nodes, node_limit, cpu, memory, n.kind());
        if (error.code != cluster_errc{}) return static_cast<std::size_t>(t - first);
      }
      continue;
    }
    std::uint32_t admitted = 0xffffffffU;  // a kind of node that the filter is known to admit; at first none
    for (; t != last && t->group == group && t->devices == devices; ++t) {
      if (t->node.index() >= node_limit) {
        error = {cluster_errc::bad_argument, t->node};
        return static_cast<std::size_t>(t - first);
      }
      node_state& n = nodes[t->node.index()];
      const cpu_millis cpu_left = n.cpu - cpu;
      const bytes memory_left = n.memory - memory;
      const std::uint32_t kind = n.kind();
      if (((n.free & devices) != devices && !parts) || (cpu_left.count() | memory_left.count()) < 0 ||
          (kind != admitted && !admits(table, n, devices))) {
        error = {cluster_errc::conflict, t->node};
        return static_cast<std::size_t>(t - first);
      }
      admitted = kind;
      if constexpr (Inside) {
        const part_places* const places = p.parts.empty() ? nullptr : &p.parts[static_cast<std::size_t>(t - first)];
        if (!take_inside(inside, slot, t->node.raw(), n, shape, devices, places)) {
          error = {cluster_errc::conflict, t->node};
          return static_cast<std::size_t>(t - first);
        }
        slot = store.task(slot).next;
      }
      if (!parts) {
        n.held |= devices;
        n.free ^= devices;
      }
      n.cpu = cpu_left;
      n.memory = memory_left;
      ++n.tasks;
    }
  }
  return static_cast<std::size_t>(t - first);
}

/// Copies tasks that were taken into the store, and notes that less fits on their nodes.
/// \param commit  the number of the commit, see `capacity_index::run`
void keep_tasks(std::span<const task_placement> tasks, std::span<const task_shape> shapes, const node_state* nodes,
                allocation_store::writer& store, capacity_index& index, std::uint64_t commit) noexcept;

/// Gives the tasks of a job back to their nodes, and notes that more fits there.
/// \param commit  the number of the commit that took them, see `capacity_index::run`
template <bool Inside>
void give_back_tasks(std::uint32_t first, node_state* nodes, const allocation_store& store, node_resources& inside,
                     capacity_index& index, std::uint64_t commit) noexcept {
  capacity_index::run touch{index, true, commit};
  const committed_task* const tasks = store.tasks();
  for (std::uint32_t t = first; t != allocation_store::none; t = tasks[t].next) {
    const committed_task& c = tasks[t];
    prefetch_read(reinterpret_cast<const char*>(&c) + 8 * sizeof(c));  // most jobs lie in one piece
    node_state& n = nodes[c.node.index()];
    if (Inside && inside.parts().is_on() && inside.parts().has_parts(t))
      inside.parts().give(t, c.node.raw(), n, c.devices);
    else n.held ^= c.devices;
    n.cpu += c.cpu;
    n.memory += c.memory;
    --n.tasks;
    if constexpr (Inside) n.refresh();
    else if (n.usable) n.free |= c.devices & ~n.unhealthy;
    if constexpr (Inside)
      if (inside.is_on()) inside.give(t, c.node.raw(), n.node_class, c.cpu, c.memory, c.devices);
    touch(c.node.raw(), nodes);
  }
}

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/node_changes.hpp"
#endif
