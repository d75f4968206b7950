#pragma once
/// \file
/// The order of ranks along the tree. A search places hard tasks first, so that a light leader may come to stand behind
/// its workers; nodes in equal state may as well exchange what they got.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/placement.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/job/gang.hpp"

namespace berth::detail {

class rank_order {
 public:
  void reserve(std::size_t tasks) {
    slots_.resize(tasks);
    by_node_.resize(tasks);
    slot_of_.resize(tasks);
  }

  /// Where a group begins before the one ahead of it: exchanges the tasks of nodes in equal state (of one leaf, where
  /// there are segments) so that earlier groups come first. The nodes used stay the same, and with them the score. The
  /// tasks need sorting again afterwards. \returns whether anything moved \pre `tasks` sorted by group, then node;
  /// nothing of them held in the cluster Cost        O(tasks) where all is in order, else O(tasks log tasks).
  bool bring_leaders_forward(const cluster& c, const gang& g, std::span<task_placement> tasks) noexcept {
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

 private:
  struct slot {
    node_id node{};
    std::uint32_t first_group = 0;  ///< of the tasks there
    std::uint32_t at = 0;           ///< task, later: position among the nodes
  };

  [[nodiscard]] static bool in_order(std::span<const task_placement> tasks) noexcept {
    const task_placement* last = nullptr;
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      if (k != 0 && tasks[k].group == tasks[k - 1].group) continue;
      if (last != nullptr && tasks[k].node < last->node) return false;
      last = &tasks[k];
    }
    return true;
  }
  /// Shell sort: no allocation, few elements.
  template <class Before>
  void sort(std::size_t count, Before&& before) noexcept {
    for (std::size_t gap = count / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
      for (std::size_t i = gap; i < count; ++i) {
        const slot s = slots_[i];
        std::size_t at = i;
        for (; at >= gap && before(s, slots_[at - gap]); at -= gap) slots_[at] = slots_[at - gap];
        slots_[at] = s;
      }
  }

  flat_array<slot> slots_;
  flat_array<node_id> by_node_;
  flat_array<std::uint32_t> slot_of_;  ///< by task
};

}  // namespace berth::detail
