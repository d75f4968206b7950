#pragma once
/// \file
/// Whether a committed job is what a placement says: committing it again is a no-op then; and what is noted of a job
/// for that alone.

#include <cstddef>
#include <cstdint>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/task_part.hpp"

namespace berth {

/// Keeps the filters of a job's tasks where they are not all that of the first one.
[[gnu::noinline]] BERTH_INLINE void cluster::note_filters(std::uint32_t j, const placement& p) noexcept {
  bool mixed = false;
  for (const task_placement& t : p.tasks) mixed = mixed || p.shapes[t.group].filter != store_.at(j).filter;
  if (mixed) store_.set_filters(j, [&p](std::size_t k) { return p.shapes[p.tasks[k].group].filter; });
}

/// The same tasks in the same order, each with all that it was committed with. A limit of tasks per node is no part of
/// it: it says which placements are looked for, not what a task holds. O(tasks).
BERTH_INLINE bool cluster::same_content(std::uint32_t j, const placement& p) const noexcept {
  if (store_.at(j).tasks != p.tasks.size() || uplinks_.rate(j) != p.between_nodes.count()) return false;
  const detail::device_parts& parts = inside_.parts();
  std::uint32_t t = store_.at(j).first;
  for (std::size_t i = 0; i < p.tasks.size(); ++i) {
    const task_placement& want = p.tasks[i];
    if (want.group >= p.shapes.size()) return false;
    const task_shape& shape = p.shapes[want.group];
    const committed_task& c = store_.task(t);
    if (c.node != want.node || c.devices != want.devices || c.cpu != shape.cpu || c.memory != shape.memory ||
        store_.filter_of(j, t) != shape.filter || !(inside_.asked(t) == shape.bind) ||
        !((parts.is_on() ? parts.need(t) : part_need{}) == shape.part))
      return false;
    // Only parts that are told where they lie have a place.
    if (shape.part.has_places() && (i >= p.parts.size() || !(parts.places(t) == p.parts[i]))) return false;
    t = c.next;
  }
  return true;
}

}  // namespace berth
