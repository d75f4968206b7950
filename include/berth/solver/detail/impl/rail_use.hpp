#pragma once
/// \file
/// Bodies of `berth/solver/detail/rail_use.hpp`.

#include "berth/solver/detail/rail_use.hpp"
#include "berth/topology/rails.hpp"

namespace berth::detail {

BERTH_INLINE std::uint32_t rails_of(const cluster& c, const task_placement& t) noexcept {
  std::uint32_t out = 0;
  const class_id k = c.node(t.node).node_class;
  for (unsigned r = 0; r < max_rails; ++r)
    if ((c.uplinks().on_rail(k, r) & t.devices) != 0) out |= 1U << r;
  return out;
}

BERTH_INLINE bool same_rails(const cluster& c, std::span<const task_placement> tasks, std::uint32_t& rails) noexcept {
  rails = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (i != 0 && tasks[i].node == tasks[i - 1].node && tasks[i].group == tasks[i - 1].group) continue;
    std::uint32_t here = 0;
    // Every group has its tasks of this node side by side: skip from group to group by halving.
    for (std::size_t at = 0; at < tasks.size();) {
      const std::uint32_t group = tasks[at].group;
      const auto first_of = [&](std::uint32_t g, node_id n) {
        std::size_t low = at, high = tasks.size();
        while (low < high) {
          const std::size_t mid = low + (high - low) / 2;
          if (tasks[mid].group < g || (tasks[mid].group == g && tasks[mid].node < n)) low = mid + 1;
          else high = mid;
        }
        return low;
      };
      for (std::size_t k = first_of(group, tasks[i].node);
           k < tasks.size() && tasks[k].group == group && tasks[k].node == tasks[i].node; ++k)
        here |= rails_of(c, tasks[k]);
      at = first_of(group + 1, node_id{0});
    }
    if (here == 0) continue;
    if (rails != 0 && rails != here) return false;
    rails = here;
  }
  return true;
}

}  // namespace berth::detail
