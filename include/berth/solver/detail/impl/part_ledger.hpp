#pragma once
/// \file
/// Bodies of `berth/solver/detail/part_ledger.hpp`.

#include "berth/solver/detail/part_ledger.hpp"

namespace berth::detail {

BERTH_INLINE part_ledger::part_ledger(const cluster& c, node_id n)
    : cluster_{&c}, node_{n}, devices_(c.shape_of(n).devices) {
  const node_state& s = c.node(n);
  const device_parts& parts = c.inside().parts();
  for (unsigned d = 0; d < devices_.size(); ++d) {
    entry& e = devices_[d];
    const device_mask b = bit(d);
    e.healthy = s.usable && (s.installed & b) != 0 && (s.unhealthy & b) == 0;
    e.what = (s.held & b) != 0 ? use::whole : use::idle;
    if (!parts.is_on()) continue;
    const part_masks& m = parts.masks(n.raw());
    e.mig_off = (m.off & b) != 0;
    if ((m.mig & b) != 0) e.what = use::mig;
    if ((m.shared & b) != 0) e.what = use::shared;
    e.instances = parts.use(n.raw(), d).instances;
    e.thousandths = parts.use(n.raw(), d).thousandths;
    e.memory_mib = parts.use(n.raw(), d).memory_mib;
    e.clients = parts.use(n.raw(), d).clients;
    e.user = parts.use(n.raw(), d).user;
    const instance_use* const shared = parts.shared_instances(n.raw(), d);
    for (unsigned k = 0; shared != nullptr && k < max_task_instances && shared[k].clients != 0; ++k)
      e.clients_of.push_back(
          {shared[k].placement, {shared[k].thousandths, shared[k].memory_mib, shared[k].clients, shared[k].user}});
    for (const part_model& x : parts.catalogue().models)
      if (d < c.shape_of(n).models.size() && x.name == c.shape_of(n).models[d]) e.model = &x;
  }
}

BERTH_INLINE const mig_geometry* part_ledger::geometry(unsigned d) const noexcept {
  const part_model* m = d < devices_.size() ? devices_[d].model : nullptr;
  if (m == nullptr || m->product == part_model::no_product) return nullptr;
  return &cluster_->inside().parts().catalogue().products[m->product].geometry();
}

BERTH_INLINE bool part_ledger::take_whole(unsigned d) {
  if (d >= devices_.size() || !devices_[d].healthy || devices_[d].what != use::idle) return false;
  devices_[d].what = use::whole;
  return true;
}

BERTH_INLINE bool part_ledger::put_instance(unsigned d, unsigned placement) {
  if (d >= devices_.size()) return false;
  entry& e = devices_[d];
  const mig_geometry* g = geometry(d);
  if (g == nullptr || !e.healthy || e.mig_off || (e.what != use::idle && e.what != use::mig)) return false;
  const mig_set more = mig_set{1} << placement;
  if (placement >= g->placements || (e.instances & more) != 0 || !g->key_of(e.instances | more)) return false;
  e.instances |= more;
  e.what = use::mig;
  return true;
}

BERTH_INLINE bool part_ledger::join_instance(unsigned d, unsigned placement, const part_need& need) {
  const mig_geometry* const g = d < devices_.size() ? geometry(d) : nullptr;
  if (g == nullptr || placement >= g->placements || !devices_[d].healthy) return false;
  const auto& inside = cluster_->inside().parts().catalogue().inside;
  const unsigned profile = g->placement[placement].profile;
  if (product(d) >= inside.size() || profile >= inside[product(d)].size()) return false;
  const instance_limits& l = inside[product(d)][profile];
  for (auto& [at, s] : devices_[d].clients_of) {
    if (at != placement) continue;
    if (!may_share(s, need, l)) return false;
    s.take(need, l.memory_mib);
    return true;
  }
  if (!may_share({}, need, l) || !put_instance(d, placement)) return false;
  devices_[d].clients_of.push_back({placement, {}});
  devices_[d].clients_of.back().second.take(need, l.memory_mib);
  return true;
}

BERTH_INLINE bool part_ledger::put_share(unsigned d, const part_need& need) {
  if (d >= devices_.size()) return false;
  entry& e = devices_[d];
  if (e.model == nullptr || !e.model->shares || !e.healthy || (e.what != use::idle && e.what != use::shared))
    return false;
  if (!may_share(e, need, *e.model)) return false;
  e.take(need, e.model->memory_mib);
  e.what = use::shared;
  return true;
}

BERTH_INLINE void part_ledger::sums::take(const part_need& need, std::uint32_t device_memory) {
  thousandths += need.thousandths();
  memory_mib += need.memory_on(device_memory);
  user = need.user();
  ++clients;
}

BERTH_INLINE device_mask models_for(const cluster& c, const task_shape& shape, node_id n) {
  const node_filter& f = c.filter(shape.filter);
  const node_shape& hardware = c.shape_of(n);
  device_mask near = c.node(n).installed;
  if (shape.part.near_nic()) {
    near = 0;
    bool rails = false;
    for (const nic_shape& x : hardware.nics) rails = rails || x.rail;
    for (std::size_t x = 0; x < hardware.nics.size() && x < 64 && c.inside().is_on(); ++x)
      if ((c.inside().nics_down(n.raw()) >> x & 1) == 0 && (!rails || hardware.nics[x].rail))
        near |= hardware.nics[x].devices;
  }
  if (f.models.empty()) return near & c.node(n).installed;
  device_mask out = 0;
  for (unsigned d = 0; d < hardware.devices && d < hardware.models.size(); ++d)
    for (const std::string& m : f.models)
      if (m == hardware.models[d]) out |= bit(d);
  return out & near;
}

BERTH_INLINE bool enter_task(part_ledger& l, const cluster& c, const task_shape& shape, const task_placement& t,
                             const part_places* places) {
  bool ok = true;
  if ((t.devices & ~models_for(c, shape, t.node)) != 0) return false;
  if (!shape.part.asks()) {
    for_each_bit(t.devices, [&](unsigned d) { ok = ok && l.take_whole(d); });
    return ok && count_bits(t.devices) == shape.devices;
  }
  if (shape.part.is_share()) {
    for_each_bit(t.devices, [&](unsigned d) { ok = ok && l.put_share(d, shape.part); });
    return ok && count_bits(t.devices) == shape.part.count();
  }
  if (places == nullptr || places->devices() != t.devices) return false;
  if (shape.part.is_nested()) {
    if (places->count != 1) return false;
    const part_place at = places->at[0];
    if (at.device >= l.devices() || l.geometry(at.device) == nullptr) return false;
    const auto& one = c.inside().parts().request(shape.part.request()).products[l.product(at.device)];
    return one.count == 1 && l.join_instance(at.device, at.placement, shape.part) &&
           l.geometry(at.device)->placement[at.placement].profile == one.profiles[0];
  }
  const mig_request& want = c.inside().parts().request(shape.part.request());
  unsigned i = 0, times = 0;
  device_mask met = 0;
  for (; i < places->count; ++times) {
    const unsigned d = places->at[i].device;
    if (d >= l.devices() || l.geometry(d) == nullptr) return false;
    const mig_request::on_product& r = want.products[l.product(d)];
    if (r.count == 0 || i + r.count > places->count || (shape.part.apart() && (met & bit(d)) != 0)) return false;
    met |= bit(d);
    for (unsigned k = 0; k < r.count; ++k, ++i) {
      const part_place at = places->at[i];
      if (at.device != d || !l.put_instance(d, at.placement) ||
          l.geometry(d)->placement[at.placement].profile != r.profiles[k])
        return false;
    }
  }
  return times == shape.part.count();
}

}  // namespace berth::detail
