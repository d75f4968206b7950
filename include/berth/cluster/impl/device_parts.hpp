#pragma once
/// \file
/// Bodies of `berth/cluster/device_parts.hpp`.

#include "berth/cluster/device_parts.hpp"

namespace berth::detail {

BERTH_INLINE void device_parts::enable(const part_catalogue& catalogue, std::span<const node_class> classes,
                                       std::span<const node_shape> shapes, std::span<const node_state> nodes,
                                       unsigned ranks) {
  if (is_on()) return;
  catalogue_ = &catalogue;
  ranks_ = ranks;
  add_classes(classes, shapes);
  std::size_t devices = 0;
  requests_.begin(catalogue);
  used_units_.assign(catalogue.products.size(), 0);
  for (const node_state& n : nodes) devices += limits_.devices(n.node_class);
  buckets_.begin(catalogue.products, nodes.size(), devices);
  use_.reserve(devices);
  at_.resize(nodes.size());
  room_.resize(nodes.size());
  masks_.resize(nodes.size());
  near_.resize(nodes.size());
  for (std::uint32_t n = 0; n < nodes.size(); ++n) add_devices(n, nodes[n].node_class);
  reserve_holds(holds_);
}

BERTH_INLINE void device_parts::reserve_holds(std::size_t tasks) {
  if (tasks > holds_) holds_ = tasks;
  if (is_on() && holds_ > held_.size()) held_.resize(holds_);
}

BERTH_INLINE void device_parts::replace(std::uint32_t n, class_id c) {
  if (!is_on()) return;
  masks_[n] = {};
  // What was there before is blank by now and makes way, so that nodes which come and go take no more memory each
  // time.
  if (limits_.devices(c) > room_[n]) add_devices(n, c);
}

BERTH_INLINE device_mask device_parts::devices_in(std::uint32_t n, std::uint32_t state) const noexcept {
  device_mask out = 0;
  for_each_bit(masks_[n].mig, [&](unsigned d) { out |= buckets_.state_of(at_[n] + d) == state ? bit(d) : 0; });
  return out;
}

BERTH_INLINE device_mask device_parts::candidates(std::uint32_t n, const node_state& s, device_mask eligible,
                                                  const part_need& need) const noexcept {
  const part_masks& m = masks_[n];
  const device_mask idle_or_open = need.has_places() ? limits_.mig_able(s.node_class) & ((s.free & ~m.off) | m.mig)
                                                     : limits_.share_able(s.node_class) & (s.free | m.shared);
  return s.usable ? idle_or_open & eligible & ~s.unhealthy & (need.near_nic() ? near_[n] : ~device_mask{0}) : 0;
}

BERTH_INLINE const instance_limits* device_parts::inside(unsigned product, unsigned profile) const noexcept {
  const auto& all = catalogue_->inside;
  return product < all.size() && profile < all[product].size() && all[product][profile].clients != 0
             ? &all[product][profile]
             : nullptr;
}

BERTH_INLINE std::uint32_t device_parts::room_on(const device_limits& l, const device_use& u, const part_need& need,
                                                 const instance_use* shared) const noexcept {
  if (!need.is_nested()) return room_on(l, u, need);
  if (l.product == part_model::no_product) return 0;
  const mig_request::on_product& want = request(need.request()).products[l.product];
  const instance_limits* const in = want.count == 1 ? inside(l.product, want.profiles[0]) : nullptr;
  if (in == nullptr) return 0;
  return room(need.request(), l.product, u.state) * share_room(*in, instance_use{}, need) +
         room_of_shared(shared, product(l.product).geometry().of_profile[want.profiles[0]], *in, need);
}

BERTH_INLINE std::uint32_t device_parts::room_on(const device_limits& l, const device_use& u,
                                                 const part_need& need) const noexcept {
  if (need.is_mig()) return l.product == part_model::no_product ? 0 : room(need.request(), l.product, u.state);
  return share_room(l, u, need);
}

BERTH_INLINE std::uint32_t device_parts::rank_on(const device_limits& l, const device_use& u, const part_need& need,
                                                 const instance_use* shared) const noexcept {
  if (need.is_mig()) return requests_.rank(need.request(), l.product, u.state);
  if (need.is_nested()) {  // beside others in an instance costs nothing that could still be cut
    const std::uint8_t profile = request(need.request()).products[l.product].profiles[0];
    const mig_set places = product(l.product).geometry().of_profile[profile];
    if (room_of_shared(shared, places, *inside(l.product, profile), need) != 0) return 0;
    return requests_.rank(need.request(), l.product, u.state);
  }
  // What stays free of the scarcer of the two.
  std::uint64_t left = 0;
  if (const std::uint32_t t = need.thousandths(); t != 0)
    left = std::uint64_t{l.thousandths - u.thousandths - t} * (part_ranks - 1) / l.thousandths;
  if (const std::uint32_t m = need.memory_on(l.memory_mib); m != 0) {
    const std::uint64_t x = std::uint64_t{l.memory_mib - u.memory_mib - m} * (part_ranks - 1) / l.memory_mib;
    left = x > left || need.thousandths() == 0 ? x : left;
  }
  return static_cast<std::uint32_t>(left);
}

BERTH_INLINE part_rooms device_parts::rooms(std::uint32_t n, const node_state& s, device_mask eligible,
                                            const part_need& need) const noexcept {
  part_rooms out;
  for_each_bit(candidates(n, s, eligible, need), [&](unsigned d) {
    out.of[d] = room_on(limits(s.node_class, d), use(n, d), need, shared_instances(n, d));
    if (out.of[d] != 0) out.able |= bit(d);
  });
  return out;
}

BERTH_INLINE std::uint32_t device_parts::count(std::uint32_t n, const node_state& s, device_mask eligible,
                                               const part_need& need, std::uint32_t limit) const noexcept {
  std::uint32_t rank = 0;
  return count(n, s, eligible, need, limit, rank);
}

BERTH_INLINE std::uint32_t device_parts::count(std::uint32_t n, const node_state& s, device_mask eligible,
                                               const part_need& need, std::uint32_t limit,
                                               std::uint32_t& rank) const noexcept {
  if (!is_on() || limit == 0 || (need.has_places() && !knows(need.request()))) return 0;
  const part_rooms r = rooms(n, s, eligible, need);
  const device_mask open = masks_[n].open();
  if (tasks_in(r, open, need.count(), need.apart(), 1) == 0) {
    rank = ranks_ - 1 + count_bits(s.free);
  } else {
    rank = 0;
    if (need.count() == 1 && ranks_ != 1) {
      rank = ranks_;
      for_each_bit(r.able & open, [&](unsigned d) {
        const std::uint32_t x = rank_on(limits(s.node_class, d), use(n, d), need, shared_instances(n, d));
        rank = x < rank ? x : rank;
      });
    }
  }
  return tasks_in(r, ~device_mask{0}, need.count(), need.apart(), limit);
}

BERTH_INLINE std::uint32_t device_parts::potential(std::uint32_t n, class_id c, device_mask eligible,
                                                   const part_need& need, std::uint32_t limit) const noexcept {
  if (!is_on() || limit == 0 || (need.has_places() && !knows(need.request()))) return 0;
  part_rooms r;
  const part_masks& m = masks_[n];
  const device_mask able = need.has_places() ? limits_.mig_able(c) & ~m.off : limits_.share_able(c) & ~m.on;
  for_each_bit(eligible & able, [&](unsigned d) {
    r.of[d] = room_on(limits(c, d), {}, need, nullptr);
    if (r.of[d] != 0) r.able |= bit(d);
  });
  return tasks_in(r, ~device_mask{0}, need.count(), need.apart(), limit);
}

BERTH_INLINE bool device_parts::equal(std::uint32_t a, std::uint32_t b) const noexcept {
  if (!(masks_[a] == masks_[b])) return false;
  bool same = true;
  for_each_bit(masks_[a].open(),
               [&](unsigned d) { same = same && use(a, d) == use(b, d) && shared_.equal(at_[a] + d, at_[b] + d); });
  return same;
}

BERTH_INLINE bool device_parts::alike(std::uint32_t n, const node_state& s) const noexcept {
  bool out = (s.free & masks_[n].off) == 0 || (s.free & ~masks_[n].off) == 0;
  for_each_bit(s.free,
               [&](unsigned d) { out = out && limits(s.node_class, d) == limits(s.node_class, lowest_bit(s.free)); });
  return out;
}

BERTH_INLINE bool device_parts::take(std::uint32_t slot, std::uint32_t n, node_state& s, const part_need& need,
                                     device_mask devices, const part_places* places) noexcept {
  task_parts& t = of_task_[slot];
  t = {need, places != nullptr ? *places : part_places{}};
  if (acquire(n, s, t, devices)) return true;
  t = {};
  return false;
}

BERTH_INLINE void device_parts::hold(std::uint32_t n, node_state& s, const part_need& need, device_mask devices,
                                     const part_places& places) noexcept {
  task_parts& t = held_[held_count_++];
  t = {need, places};
  add(n, s, t, devices);
}

BERTH_INLINE void device_parts::set_switch(std::uint32_t n, node_state& s, unsigned device, mig_switch to) noexcept {
  part_masks& m = masks_[n];
  const device_mask d = bit(device);
  if ((m.on & d) != 0) leave_state(n, s.node_class, device);
  m.on &= ~d;
  m.off &= ~d;
  m.mig &= ~d;
  s.held &= ~d;
  if (to == mig_switch::off) m.off |= d;
  if (to != mig_switch::on) return;
  m.on |= d;
  m.mig |= d;
  s.held |= d;
  enter_state(n, s.node_class, device, 0);
}

BERTH_INLINE mig_switch device_parts::switch_of(std::uint32_t n, unsigned device) const noexcept {
  return (masks_[n].on & bit(device)) != 0    ? mig_switch::on
         : (masks_[n].off & bit(device)) != 0 ? mig_switch::off
                                              : mig_switch::as_needed;
}

BERTH_INLINE void device_parts::vacate(std::uint32_t n, node_state& s) noexcept {
  if (is_on())
    for_each_bit(masks_[n].on | masks_[n].off, [&](unsigned d) { set_switch(n, s, d, mig_switch::as_needed); });
}

BERTH_INLINE void device_parts::clear(std::uint32_t n, node_state& s) noexcept {
  if (!is_on()) return;
  part_masks& m = masks_[n];
  for_each_bit(m.mig, [&](unsigned d) { leave_state(n, s.node_class, d); });
  for_each_bit(m.open(), [&](unsigned d) {
    use_[at_[n] + d] = {};
    shared_.set(at_[n] + d, nullptr);
  });
  m.mig = m.on;
  m.shared = 0;
  for_each_bit(m.mig, [&](unsigned d) { enter_state(n, s.node_class, d, 0); });
  s.held |= m.on;
}

BERTH_INLINE bool device_parts::overwrite(std::uint32_t n, class_id was_of, class_id c,
                                          const published_parts& p) noexcept {
  const part_masks was = masks_[n];
  bool same = was == *p.masks;
  masks_[n] = *p.masks;
  for_each_bit(was.open() | p.masks->open(), [&](unsigned d) {
    device_use& u = use_[at_[n] + d];
    const device_use next = (p.masks->open() & bit(d)) != 0 ? p.use[d] : device_use{};
    same = same && u == next;
    const bool nests = p.shared_instances != nullptr && (p.masks->mig & bit(d)) != 0;
    same = !shared_.set(at_[n] + d, nests ? p.shared_instances + d * max_task_instances : nullptr) && same;
    if ((was.mig & bit(d)) != 0) leave_state(n, was_of, d);
    u = next;
    if ((p.masks->mig & bit(d)) != 0) enter_state(n, c, d, u.state);
  });
  return !same;
}

BERTH_INLINE bool device_parts::assume(std::uint32_t n, node_state& s, const part_need& need, device_mask devices,
                                       const part_places& places) noexcept {
  return acquire(n, s, {need, places}, devices);
}

BERTH_INLINE std::size_t device_parts::memory() const noexcept {
  return use_.capacity() * sizeof(device_use) + shared_.memory() +
         masks_.size() * (sizeof(part_masks) + sizeof(device_mask)) + at_.size() * 5 +
         (of_task_.size() + held_.size()) * sizeof(task_parts) + buckets_.memory() + requests_.memory();
}

BERTH_INLINE void device_parts::add_devices(std::uint32_t n, class_id c) {
  const std::uint32_t devices = limits_.devices(c);
  if (!catalogue_->inside.empty()) shared_.add_devices(devices);
  at_[n] = static_cast<std::uint32_t>(use_.size());
  room_[n] = static_cast<std::uint8_t>(devices);
  for (std::uint32_t d = 0; d < devices; ++d) use_.append({});
  buckets_.add_devices(devices);
}

BERTH_INLINE void device_parts::enter_state(std::uint32_t n, class_id c, unsigned device, mig_state_id s) noexcept {
  const unsigned p = limits(c, device).product;
  used_units_[p] += product(p).used_units(s);
  buckets_.enter(first_state(p) + s, n, at_[n], limits_.devices(c), device);
}

BERTH_INLINE void device_parts::leave_state(std::uint32_t n, class_id c, unsigned device) noexcept {
  const unsigned p = limits(c, device).product;
  used_units_[p] -=
      product(p).used_units(static_cast<mig_state_id>(buckets_.state_of(at_[n] + device) - first_state(p)));
  buckets_.leave(n, at_[n], limits_.devices(c), device);
}

BERTH_INLINE const instance_limits& device_parts::limits_of(const node_state& s, part_place at) const noexcept {
  const unsigned p = limits(s.node_class, at.device).product;
  return catalogue_->inside[p][product(p).geometry().placement[at.placement].profile];
}

BERTH_INLINE bool device_parts::may_join(std::uint32_t n, const node_state& s, const task_parts& t) const noexcept {
  const part_place at = t.places.at[0];
  const unsigned p = limits(s.node_class, at.device).product;
  const mig_request::on_product& want = request(t.need.request()).products[p];
  const mig_geometry& g = product(p).geometry();
  const instance_limits* const l = want.count == 1 ? inside(p, want.profiles[0]) : nullptr;
  if (t.need.count() != 1 || l == nullptr || at.placement >= g.placements ||
      g.placement[at.placement].profile != want.profiles[0])
    return false;
  const instance_use* const u = shared_.find(at_[n] + at.device, at.placement);
  if (u != nullptr) return share_room(*l, *u, t.need) != 0;
  return (product(p).open(use(n, at.device).state) >> at.placement & 1U) != 0 &&
         share_room(*l, instance_use{}, t.need) != 0;
}

BERTH_INLINE bool device_parts::are_legal(std::uint32_t n, const node_state& s, unsigned d) const noexcept {
  bool ok = true;
  shared_.each(at_[n] + d, [&](const instance_use& u) {
    const instance_limits& l = limits_of(s, {static_cast<std::uint8_t>(d), u.placement});
    ok = ok && (use(n, d).instances >> u.placement & 1U) != 0 && u.clients <= l.clients &&
         u.thousandths <= l.thousandths && u.memory_mib <= l.memory_mib;
  });
  return ok;
}

BERTH_INLINE bool device_parts::acquire(std::uint32_t n, node_state& s, const task_parts& t,
                                        device_mask devices) noexcept {
  const device_mask able = candidates(n, s, s.installed, t.need);
  if ((devices & ~able) != 0) return false;
  if (t.need.is_share()) {
    if (count_bits(devices) != t.need.count()) return false;
    bool ok = true;
    for_each_bit(devices, [&](unsigned d) { ok = ok && room_on(limits(s.node_class, d), use(n, d), t.need) != 0; });
    if (ok) add(n, s, t, devices);
    return ok;
  }
  if (!knows(t.need.request()) || t.places.count > max_task_instances || t.places.devices() != devices) return false;
  if (t.need.is_nested()) {
    if (t.places.count != 1 || !may_join(n, s, t)) return false;
    return add(n, s, t, devices), true;
  }
  const mig_request& want = request(t.need.request());
  unsigned i = 0, times = 0;
  device_mask met = 0;
  for (; i < t.places.count; ++times) {
    const unsigned d = t.places.at[i].device;
    if (d >= max_devices_per_node) break;
    const unsigned product_of = limits(s.node_class, d).product;
    const mig_request::on_product& r = want.products[product_of];
    if (r.count == 0 || i + r.count > t.places.count || (t.need.apart() && (met & bit(d)) != 0)) break;
    met |= bit(d);
    unsigned k = 0;
    for (; k < r.count; ++k) {
      const part_place at = t.places.at[i + k];
      const mig_geometry& g = product(product_of).geometry();
      if (at.device != d || at.placement >= g.placements || g.placement[at.placement].profile != r.profiles[k] ||
          (product(product_of).open(use(n, d).state) >> at.placement & 1U) == 0)
        break;
      add_instance(n, s, at);
    }
    i += k;
    if (k != r.count) break;
  }
  if (i == t.places.count && times == t.need.count()) return true;
  while (i-- > 0) remove_instance(n, s, t.places.at[i]);
  s.refresh();
  return false;
}

BERTH_INLINE void device_parts::add(std::uint32_t n, node_state& s, const task_parts& t, device_mask devices) noexcept {
  if (t.need.is_mig()) {
    for (unsigned i = 0; i < t.places.count; ++i) add_instance(n, s, t.places.at[i]);
    return;
  }
  if (t.need.is_nested()) return add_client(n, s, t.places.at[0], t.need);
  for_each_bit(devices, [&](unsigned d) { add_share(limits(s.node_class, d), use_[at_[n] + d], t.need); });
  masks_[n].shared |= devices;
  s.held |= devices;
  s.free &= ~devices;
}

BERTH_INLINE void device_parts::release(std::uint32_t n, node_state& s, const task_parts& t,
                                        device_mask devices) noexcept {
  if (t.need.is_mig()) {
    for (unsigned i = t.places.count; i-- > 0;) remove_instance(n, s, t.places.at[i]);
    return;
  }
  if (t.need.is_nested()) return remove_client(n, s, t.places.at[0], t.need);
  for_each_bit(devices, [&](unsigned d) {
    if (!remove_share(limits(s.node_class, d), use_[at_[n] + d], t.need)) return;
    masks_[n].shared &= ~bit(d);
    s.held &= ~bit(d);
  });
}

BERTH_INLINE void device_parts::add_instance(std::uint32_t n, node_state& s, part_place at) noexcept {
  part_masks& m = masks_[n];
  device_use& u = use_[at_[n] + at.device];
  if ((m.mig & bit(at.device)) == 0) {
    m.mig |= bit(at.device);
    s.held |= bit(at.device);
    s.free &= ~bit(at.device);
  } else {
    leave_state(n, s.node_class, at.device);
  }
  u.state = product(limits(s.node_class, at.device).product).after(u.state, at.placement);
  u.instances |= mig_set{1} << at.placement;
  enter_state(n, s.node_class, at.device, u.state);
}

BERTH_INLINE void device_parts::remove_instance(std::uint32_t n, node_state& s, part_place at) noexcept {
  part_masks& m = masks_[n];
  device_use& u = use_[at_[n] + at.device];
  leave_state(n, s.node_class, at.device);
  u.state = product(limits(s.node_class, at.device).product).without(u.state, at.placement);
  u.instances &= ~(mig_set{1} << at.placement);
  if (u.instances == 0 && (m.on & bit(at.device)) == 0) {
    m.mig &= ~bit(at.device);
    s.held &= ~bit(at.device);
  } else {
    enter_state(n, s.node_class, at.device, u.state);
  }
}

BERTH_INLINE void device_parts::reserve_tasks(std::size_t slots) {
  if (is_on() && slots > of_task_.size()) of_task_.resize(slots);
}

BERTH_INLINE void device_parts::add_classes(std::span<const node_class> classes, std::span<const node_shape> shapes) {
  if (is_on()) limits_.add_classes(*catalogue_, classes, shapes);
}

}  // namespace berth::detail
