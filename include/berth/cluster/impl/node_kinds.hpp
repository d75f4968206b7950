#pragma once
/// \file
/// Changes of nodes that make them others: added, broken links, labels; and which needs for parts its kinds can mean.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/task_part.hpp"

namespace berth {

BERTH_INLINE expected<void, cluster_error> cluster::set_link_health(node_id n, unsigned a, unsigned b, bool healthy) {
  if (n.index() >= nodes_.size() || !is_member(n)) return unexpected{cluster_error{cluster_errc::bad_argument, n}};
  const node_shape now = shape_of(n);
  if (a == b || a >= now.devices || b >= now.devices) return unexpected{cluster_error{cluster_errc::bad_argument, n}};
  const node_shape& whole = shapes()[registry_.whole_shape(class_of(n).shape).index()];
  node_shape next = now;
  next.bandwidth.set(a, b, healthy ? whole.bandwidth.between(a, b) : whole.host_path(a, b));
  // A broken link is not a link of unknown rate: only the whole one has an order.
  if (const auto order = whole.bandwidth.order(a, b); healthy && order) next.bandwidth.set_unknown(a, b, *order);
  if (next.bandwidth == now.bandwidth) return {};
  node_class c = class_of(n);
  c.shape = registry_.find_or_add_variant(next, registry_.whole_shape(c.shape));
  if (!c.shape) return unexpected{cluster_error{cluster_errc::capacity_exhausted, n}};
  return move_to_class(n, std::move(c));
}

BERTH_INLINE expected<void, cluster_error> cluster::relabel(node_id n, std::vector<std::string> labels) {
  if (n.index() >= nodes_.size() || !is_member(n)) return unexpected{cluster_error{cluster_errc::bad_argument, n}};
  node_class c = class_of(n);
  if (c.labels == labels) return {};
  c.labels = std::move(labels);
  return move_to_class(n, std::move(c));
}

BERTH_INLINE expected<node_id, cluster_error> cluster::add_node(domain_id leaf, const node_spec& spec) {
  if (leaf.index() >= tree_.domain_count(tree_.leaf_level()) || spec.shape.index() >= shapes().size() || open_ != 0 ||
      spec.cpu.count() < 0 || spec.memory.count() < 0)
    return unexpected{cluster_error{cluster_errc::bad_argument, {}}};
  if (const std::optional<node_id> known = find_node(spec.name)) {
    const node_class& c = class_of(*known);
    // Which links are broken is health: a shape with broken links, as `shapes` lists them too, stands for the whole
    // one.
    const bool same = nodes_[known->index()].leaf == leaf.raw() &&
                      registry_.whole_shape(c.shape) == registry_.whole_shape(spec.shape) && c.labels == spec.labels &&
                      c.cpu == spec.cpu && c.memory == spec.memory;
    if (!same) return unexpected{cluster_error{cluster_errc::key_in_use, *known}};
    return *known;
  }
  const id_range range = tree_.at(tree_.leaf_level(), leaf).nodes;
  for (std::uint32_t n = range.first; n < range.last; ++n)
    if (!is_member(node_id{n}) && install(n, spec)) {
      membership_changed(node_id{n});
      return node_id{n};
    }
  return unexpected{cluster_error{cluster_errc::capacity_exhausted, {}}};
}

BERTH_INLINE expected<void, cluster_error> cluster::set_mig_switch(node_id n, unsigned device, mig_switch to) noexcept {
  detail::device_parts& parts = inside_.parts();
  if (!parts.is_on()) return unexpected{cluster_error{cluster_errc::capacity_exhausted, n}};
  if (n.index() >= nodes_.size() || device >= 64 || (nodes_[n.index()].installed & bit(device)) == 0 ||
      (to == mig_switch::on && (parts.mig_able(nodes_[n.index()].node_class) & bit(device)) == 0))
    return unexpected{cluster_error{cluster_errc::bad_argument, n}};
  const mig_switch before = parts.switch_of(n.raw(), device);
  if (before == to) return {};
  node_state& s = nodes_[n.index()];
  const bool held = before == mig_switch::on ? parts.use(n.raw(), device).instances != 0 : (s.held & bit(device)) != 0;
  if (held) return unexpected{cluster_error{cluster_errc::still_in_use, n}};
  if (!journal_has_room()) return unexpected{cluster_error{cluster_errc::capacity_exhausted, n}};
  note({change::switched, n.raw(), device, static_cast<std::uint64_t>(before)});
  parts.set_switch(n.raw(), s, device, to);
  index_.kinds_changed();  // potentials depend on switches
  changed(n.raw());
  return {};
}

/// Whether a need means something here: its request is known, and on some product that has it a task gets no more
/// instances than one may have.
BERTH_INLINE bool cluster::is_valid_part(const part_need& need) const noexcept {
  if (!need.has_places() || !inside_.parts().is_on()) return true;
  if (!inside_.parts().knows(need.request())) return false;
  if (need.is_nested()) {
    for (const mig_request::on_product& p : inside_.parts().request(need.request()).products)
      if (p.count > 1) return false;
    return true;
  }
  for (const mig_request::on_product& p : inside_.parts().request(need.request()).products)
    if (p.count * need.count() > max_task_instances) return false;
  return true;
}

}  // namespace berth
