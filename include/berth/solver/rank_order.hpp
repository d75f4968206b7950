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
#include "berth/core/separate.hpp"
#include "berth/job/gang.hpp"

namespace berth::detail {

class rank_order {
 public:
  void reserve(std::size_t tasks);

  /// Where a group begins before the one ahead of it: exchanges the tasks of nodes in equal state (of one leaf, where
  /// there are segments) so that earlier groups come first. The nodes used stay the same, and with them the score. The
  /// tasks need sorting again afterwards. \returns whether anything moved \pre `tasks` sorted by group, then node;
  /// nothing of them held in the cluster Cost        O(tasks) where all is in order, else O(tasks log tasks).
  bool bring_leaders_forward(const cluster& c, const gang& g, std::span<task_placement> tasks) noexcept;

 private:
  struct slot {
    node_id node{};
    std::uint32_t first_group = 0;  ///< of the tasks there
    std::uint32_t at = 0;           ///< task, later: position among the nodes
  };

  [[nodiscard]] static bool in_order(std::span<const task_placement> tasks) noexcept;
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

#if BERTH_WITH_BODIES
#include "berth/solver/impl/rank_order.hpp"
#endif
