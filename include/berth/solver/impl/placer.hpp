#pragma once
/// \file
/// Bodies of `berth/solver/placer.hpp`.

#include "berth/solver/placer.hpp"

namespace berth {

BERTH_INLINE gang_fault check_gang(const gang& g, const cluster& c, std::uint32_t& group) noexcept {
  group = 0;
  if (g.groups.empty()) return gang_fault::no_groups;
  if (g.where != locality::unconstrained && g.level.index() >= c.tree().level_count()) return gang_fault::bad_level;
  if (g.between_nodes.count() < 0 || g.between_nodes.count() >= task_shape::amount_limit)
    return gang_fault::bad_bandwidth;
  if (g.segments && g.segments->level.index() >= c.tree().level_count()) return gang_fault::bad_level;
  for (const task_group& t : g.groups) {
    if (!c.is_valid(t.shape)) return gang_fault::bad_shape;
    if (t.shape.part.asks() && wants_links(g, c.tree())) return gang_fault::parts_without_links;
    if (t.wanted == 0 || t.minimum == 0 || t.minimum > t.wanted) return gang_fault::bad_count;
    if (g.segments) {
      const std::uint32_t n = g.segments->count;
      if (n == 0 || t.wanted % n != 0 || t.minimum % (t.wanted / n) != 0) return gang_fault::bad_segments;
    }
    ++group;
  }
  group = 0;
  return gang_fault::none;
}

}  // namespace berth
