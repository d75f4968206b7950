#pragma once
/// \file
/// Following another cluster: node states as it published them, and what is assumed of it in the meantime.

#include "berth/cluster/cluster.hpp"

namespace berth {

BERTH_INLINE void cluster::overwrite(node_id n, const node_state& state,
                                     const detail::published_parts& parts) noexcept {
  node_state& s = nodes_[n.index()];
  bool cut = false;
  // A class that is not known here, or has more devices than there is room for, calls for a new replica, as whoever
  // catches up is told. Until then the node stays as it was.
  if (state.node_class.index() >= registry_.classes().size()) return;
  if (parts.masks != nullptr && inside_.parts().is_on()) {
    if (!inside_.parts().has_room(n.raw(), state.node_class)) return;
    const detail::part_masks before = inside_.parts().masks(n.raw());
    cut = inside_.parts().overwrite(n.raw(), s.node_class, state.node_class, parts);
    if (before.on != parts.masks->on || before.off != parts.masks->off)
      index_.kinds_changed();  // potentials depend on them
  }
  if (s == state && !cut) return;
  const bool gain = cut || (state.free & ~s.free) != 0 || state.cpu > s.cpu || state.memory > s.memory ||
                    state.usable > s.usable || state.node_class != s.node_class;
  if (s.node_class != state.node_class) index_.kinds_changed();
  s = state;
  changed(n.raw(), gain);
}

BERTH_INLINE void cluster::assume(const task_placement& t, const task_shape& shape,
                                  const part_places& places) noexcept {
  node_state& s = nodes_[t.node.index()];
  const bool parts = shape.part.asks();
  if (s.cpu < shape.cpu || s.memory < shape.memory || (!parts && (t.devices & ~s.free) != 0)) return;
  if (parts && (!inside_.parts().is_on() || !inside_.parts().assume(t.node.raw(), s, shape.part, t.devices, places)))
    return;
  hold(t.node, parts ? 0 : t.devices, shape.cpu, shape.memory);
}

}  // namespace berth
