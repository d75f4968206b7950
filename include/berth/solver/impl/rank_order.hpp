#pragma once
/// \file
/// Bodies of `berth/solver/rank_order.hpp`.

#include "berth/solver/rank_order.hpp"

namespace berth::detail {

BERTH_INLINE void rank_order::reserve(std::size_t tasks) {
  slots_.resize(tasks);
  by_node_.resize(tasks);
  slot_of_.resize(tasks);
}

BERTH_INLINE bool rank_order::bring_leaders_forward(const cluster& c, const gang& g,
                                                    std::span<task_placement> tasks) noexcept {
  if (in_order(tasks)) return false;
  // One slot per node, in order of id.
  for (std::size_t k = 0; k < tasks.size(); ++k)
    slots_[k] = {tasks[k].node, tasks[k].group, static_cast<std::uint32_t>(k)};
  sort(tasks.size(), [](const slot& a, const slot& b) {
    return a.node != b.node                 ? a.node < b.node
           : a.first_group != b.first_group ? a.first_group < b.first_group
                                            : a.at < b.at;
  });
  std::size_t count = 0;
  for (std::size_t k = 0; k < tasks.size(); ++k) {
    const slot s = slots_[k];
    if (k == 0 || s.node != slots_[count - 1].node)
      slots_[count++] = {s.node, s.first_group, static_cast<std::uint32_t>(count)};
    slot_of_[s.at] = static_cast<std::uint32_t>(count - 1);
  }
  // Sorted by state, once by node and once by group: the k-th node gets the k-th content.
  const auto state = [&](const slot& a, const slot& b) {
    const node_state &x = c.node(a.node), &y = c.node(b.node);
    if (g.segments && x.leaf != y.leaf) return x.leaf <=> y.leaf;
    if (x.node_class != y.node_class) return x.node_class <=> y.node_class;
    if (x.free != y.free) return x.free <=> y.free;
    if (x.cpu != y.cpu) return x.cpu <=> y.cpu;
    return x.memory <=> y.memory;
  };
  sort(count, [&](const slot& a, const slot& b) {
    const auto s = state(a, b);
    return s != 0 ? s < 0 : a.node < b.node;
  });
  for (std::size_t k = 0; k < count; ++k) by_node_[k] = slots_[k].node;
  sort(count, [&](const slot& a, const slot& b) {
    const auto s = state(a, b);
    return s != 0 ? s < 0 : a.first_group != b.first_group ? a.first_group < b.first_group : a.node < b.node;
  });
  bool moved = false;
  for (std::size_t k = 0; k < count; ++k) {
    moved = moved || slots_[k].node != by_node_[k];
    slots_[k].node = by_node_[k];
  }
  if (!moved) return false;
  sort(count, [](const slot& a, const slot& b) { return a.at < b.at; });
  for (std::size_t k = 0; k < tasks.size(); ++k) tasks[k].node = slots_[slot_of_[k]].node;
  return true;
}

BERTH_INLINE bool rank_order::in_order(std::span<const task_placement> tasks) noexcept {
  const task_placement* last = nullptr;
  for (std::size_t k = 0; k < tasks.size(); ++k) {
    if (k != 0 && tasks[k].group == tasks[k - 1].group) continue;
    if (last != nullptr && tasks[k].node < last->node) return false;
    last = &tasks[k];
  }
  return true;
}

}  // namespace berth::detail
