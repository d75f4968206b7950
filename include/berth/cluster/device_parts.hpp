#pragma once
/// \file
/// Which devices of a cluster are cut into parts, and who holds which: the side table of `cluster` for MIG instances
/// and shares. Off until it is switched on; then 20 bytes per device, 45 per node, 32 per task, some 49 per node
/// of eight GPUs for the buckets of states, and 84 per device where MIG instances may be shared.
///
/// A device is whole, MIG or shared; of its instances each is one task's, or shared by several. While it is MIG or
/// shared its `held` bit is set in its node's state, so that counts of whole devices know nothing of parts; when its
/// last part goes it is given back. Every change is an exact addition of integers, so that taking back restores it bit
/// for bit. Only `enable`, `add_…`, `replace` and `reserve_…` allocate.

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "berth/cluster/device_use.hpp"
#include "berth/cluster/instance_shares.hpp"
#include "berth/cluster/mig_buckets.hpp"
#include "berth/cluster/mig_requests.hpp"
#include "berth/cluster/node_filter.hpp"
#include "berth/cluster/node_state.hpp"
#include "berth/cluster/part_catalogue.hpp"
#include "berth/cluster/part_limits.hpp"
#include "berth/cluster/part_rooms.hpp"
#include "berth/cluster/task_part.hpp"
#include "berth/cluster/task_shape.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth::detail {

class device_parts {
 public:
  [[nodiscard]] bool is_on() const noexcept { return catalogue_ != nullptr; }
  [[nodiscard]] const part_catalogue& catalogue() const noexcept { return *catalogue_; }

  /// Switches the table on: what is held by now is held whole. O(nodes + devices). \pre the catalogue outlives this and
  /// its copies
  /// \param ranks  how many the index has room for beside those by number of free devices; at least 1
  void enable(const part_catalogue& catalogue, std::span<const node_class> classes, std::span<const node_shape> shapes,
              std::span<const node_state> nodes, unsigned ranks) {
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
  /// How many ranks the index has for parts, beside those by free devices.
  [[nodiscard]] unsigned ranks() const noexcept { return ranks_; }
  /// As if it had never been on: for copies that follow node states alone.
  void disable() noexcept { catalogue_ = nullptr; }
  void reserve_tasks(std::size_t slots) {
    if (is_on() && slots > of_task_.size()) of_task_.resize(slots);
  }
  void reserve_holds(std::size_t tasks) {
    if (tasks > holds_) holds_ = tasks;
    if (is_on() && holds_ > held_.size()) held_.resize(holds_);
  }
  void add_classes(std::span<const node_class> classes, std::span<const node_shape> shapes) {
    if (is_on()) limits_.add_classes(*catalogue_, classes, shapes);
  }
  /// A node was put in, or taken out, and is empty. \pre its class is known
  void replace(std::uint32_t n, class_id c) {
    if (!is_on()) return;
    masks_[n] = {};
    // What was there before is blank by now and makes way, so that nodes which come and go take no more memory each
    // time.
    if (limits_.devices(c) > room_[n]) add_devices(n, c);
  }

  // -- MIG requests ------------------------------------------------------------------------------------------------

  [[nodiscard]] mig_request_id find_or_add(const mig_request& r) {
    return is_on() ? requests_.find_or_add(r) : mig_request_id{};
  }
  [[nodiscard]] bool knows(mig_request_id r) const noexcept { return is_on() && requests_.knows(r); }
  [[nodiscard]] const mig_request& request(mig_request_id r) const noexcept { return requests_[r]; }
  /// How many times a request fits on a GPU of a product in that state.
  [[nodiscard]] unsigned room(mig_request_id r, unsigned product, mig_state_id s) const noexcept {
    return requests_.room(r, product, s);
  }

  // -- what there is -----------------------------------------------------------------------------------------------

  [[nodiscard]] const part_masks& masks(std::uint32_t n) const noexcept { return masks_[n]; }
  [[nodiscard]] const device_use& use(std::uint32_t n, unsigned device) const noexcept { return use_[at_[n] + device]; }
  [[nodiscard]] const device_limits& limits(class_id c, unsigned device) const noexcept {
    return limits_.of(c, device);
  }
  [[nodiscard]] const mig_state_table& product(unsigned p) const noexcept { return catalogue_->products[p]; }
  /// GPUs of a product that are in MIG mode and in that state.
  [[nodiscard]] std::uint32_t census(unsigned product, mig_state_id s) const noexcept {
    return buckets_.count(first_state(product) + s);
  }
  /// Nodes by the states of their GPUs in MIG mode; those of a product begin at `first_state`, a multiple of 64.
  [[nodiscard]] const mig_buckets& buckets() const noexcept { return buckets_; }
  [[nodiscard]] std::uint32_t first_state(unsigned product) const noexcept { return buckets_.first_state(product); }
  /// GPUs of a node that are in MIG mode and in that state, counted over all products.
  [[nodiscard]] device_mask devices_in(std::uint32_t n, std::uint32_t state) const noexcept {
    device_mask out = 0;
    for_each_bit(masks_[n].mig, [&](unsigned d) { out |= buckets_.state_of(at_[n] + d) == state ? bit(d) : 0; });
    return out;
  }
  /// Placement units of a product that instances hold.
  [[nodiscard]] std::uint64_t used_units(unsigned product) const noexcept { return used_units_[product]; }
  [[nodiscard]] device_mask mig_able(class_id c) const noexcept { return limits_.mig_able(c); }
  [[nodiscard]] bool may_share(class_id c, unsigned d) const noexcept { return (limits_.share_able(c) >> d & 1) != 0; }
  /// Those of one product.
  [[nodiscard]] device_mask mig_able(class_id c, unsigned product) const noexcept {
    return limits_.mig_able(c, product);
  }

  /// Devices of a node that may serve a need now, as far as their mode tells. \param eligible  what the filter leaves
  [[nodiscard]] device_mask candidates(std::uint32_t n, const node_state& s, device_mask eligible,
                                       const part_need& need) const noexcept {
    const part_masks& m = masks_[n];
    const device_mask idle_or_open = need.has_places() ? limits_.mig_able(s.node_class) & ((s.free & ~m.off) | m.mig)
                                                       : limits_.share_able(s.node_class) & (s.free | m.shared);
    return s.usable ? idle_or_open & eligible & ~s.unhealthy & (need.near_nic() ? near_[n] : ~device_mask{0}) : 0;
  }
  /// How instances of a profile may be shared; null where they are not.
  [[nodiscard]] const instance_limits* inside(unsigned product, unsigned profile) const noexcept {
    const auto& all = catalogue_->inside;
    return product < all.size() && profile < all[product].size() && all[product][profile].clients != 0
               ? &all[product][profile]
               : nullptr;
  }
  /// The shared instances of a device, `max_task_instances` of them; null where none may be shared.
  [[nodiscard]] const instance_use* shared_instances(std::uint32_t n, unsigned device) const noexcept {
    return shared_.of(at_[n] + device);
  }
  /// Parts that fit on one device in use as `u`, and for shares of instances with these shared ones.
  [[nodiscard]] std::uint32_t room_on(const device_limits& l, const device_use& u, const part_need& need,
                                      const instance_use* shared) const noexcept {
    if (!need.is_nested()) return room_on(l, u, need);
    if (l.product == part_model::no_product) return 0;
    const mig_request::on_product& want = request(need.request()).products[l.product];
    const instance_limits* const in = want.count == 1 ? inside(l.product, want.profiles[0]) : nullptr;
    if (in == nullptr) return 0;
    return room(need.request(), l.product, u.state) * share_room(*in, instance_use{}, need) +
           room_of_shared(shared, product(l.product).geometry().of_profile[want.profiles[0]], *in, need);
  }
  /// The same for parts that are no shares of instances.
  [[nodiscard]] std::uint32_t room_on(const device_limits& l, const device_use& u,
                                      const part_need& need) const noexcept {
    if (need.is_mig()) return l.product == part_model::no_product ? 0 : room(need.request(), l.product, u.state);
    return share_room(l, u, need);
  }
  /// What one more costs there, as a rank below `part_ranks`. \pre room_on(l, u, need) != 0
  [[nodiscard]] std::uint32_t rank_on(const device_limits& l, const device_use& u, const part_need& need,
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
  [[nodiscard]] part_rooms rooms(std::uint32_t n, const node_state& s, device_mask eligible,
                                 const part_need& need) const noexcept {
    part_rooms out;
    for_each_bit(candidates(n, s, eligible, need), [&](unsigned d) {
      out.of[d] = room_on(limits(s.node_class, d), use(n, d), need, shared_instances(n, d));
      if (out.of[d] != 0) out.able |= bit(d);
    });
    return out;
  }
  /// How many tasks of a shape with parts fit on a node, at most `limit`, which is what CPU and memory allow.
  [[nodiscard]] std::uint32_t count(std::uint32_t n, const node_state& s, device_mask eligible, const part_need& need,
                                    std::uint32_t limit) const noexcept {
    std::uint32_t rank = 0;
    return count(n, s, eligible, need, limit, rank);
  }
  /// The same, and where the node stands among others for one task: first where it fits into what is cut already, those
  /// before others that lose the least by it; then by free devices where a whole one would have to be broken.
  [[nodiscard]] std::uint32_t count(std::uint32_t n, const node_state& s, device_mask eligible, const part_need& need,
                                    std::uint32_t limit, std::uint32_t& rank) const noexcept {
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
  /// The same for an empty and healthy node of a class, whose switches stand as on node `n`.
  [[nodiscard]] std::uint32_t potential(std::uint32_t n, class_id c, device_mask eligible, const part_need& need,
                                        std::uint32_t limit) const noexcept {
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
  /// Whether the devices of two nodes of one class are cut alike, each the same.
  [[nodiscard]] bool equal(std::uint32_t a, std::uint32_t b) const noexcept {
    if (!(masks_[a] == masks_[b])) return false;
    bool same = true;
    for_each_bit(masks_[a].open(),
                 [&](unsigned d) { same = same && use(a, d) == use(b, d) && shared_.equal(at_[a] + d, at_[b] + d); });
    return same;
  }

  /// Whether the free devices of a node may be cut alike, so that it does not matter which of them a task takes whole.
  [[nodiscard]] bool alike(std::uint32_t n, const node_state& s) const noexcept {
    bool out = (s.free & masks_[n].off) == 0 || (s.free & ~masks_[n].off) == 0;
    for_each_bit(s.free,
                 [&](unsigned d) { out = out && limits(s.node_class, d) == limits(s.node_class, lowest_bit(s.free)); });
    return out;
  }

  // -- changes -----------------------------------------------------------------------------------------------------

  /// Takes the parts of a task that is committed as task `slot` of the store, or nothing where that cannot be.
  [[nodiscard]] bool take(std::uint32_t slot, std::uint32_t n, node_state& s, const part_need& need,
                          device_mask devices, const part_places* places) noexcept {
    task_parts& t = of_task_[slot];
    t = {need, places != nullptr ? *places : part_places{}};
    if (acquire(n, s, t, devices)) return true;
    t = {};
    return false;
  }
  /// For a task without parts.
  void take_none(std::uint32_t slot) noexcept { of_task_[slot] = {}; }
  [[nodiscard]] bool has_parts(std::uint32_t slot) const noexcept { return of_task_[slot].need.asks(); }
  [[nodiscard]] const part_need& need(std::uint32_t slot) const noexcept { return of_task_[slot].need; }
  [[nodiscard]] const part_places& places(std::uint32_t slot) const noexcept { return of_task_[slot].places; }
  /// Gives back what task `slot` took. `s.free` is for the caller to refresh.
  void give(std::uint32_t slot, std::uint32_t n, node_state& s, device_mask devices) noexcept {
    release(n, s, of_task_[slot], devices);
  }
  /// Takes it again, whatever the health of the devices. \pre it was given back since, and nothing was taken from it
  void take_again(std::uint32_t slot, std::uint32_t n, node_state& s, device_mask devices) noexcept {
    add(n, s, of_task_[slot], devices);
  }

  /// For searches: takes for a moment; `unhold` gives back, last first. \pre it fits, room for one more
  void hold(std::uint32_t n, node_state& s, const part_need& need, device_mask devices,
            const part_places& places) noexcept {
    task_parts& t = held_[held_count_++];
    t = {need, places};
    add(n, s, t, devices);
  }
  void unhold(std::uint32_t n, node_state& s, device_mask devices) noexcept {
    release(n, s, held_[--held_count_], devices);
  }

  /// \pre the device is idle
  void set_switch(std::uint32_t n, node_state& s, unsigned device, mig_switch to) noexcept {
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
  /// Devices of a node that have a working NIC beside them; none until this is said.
  void set_near_nic(std::uint32_t n, device_mask near) noexcept { near_[n] = near; }
  [[nodiscard]] mig_switch switch_of(std::uint32_t n, unsigned device) const noexcept {
    return (masks_[n].on & bit(device)) != 0    ? mig_switch::on
           : (masks_[n].off & bit(device)) != 0 ? mig_switch::off
                                                : mig_switch::as_needed;
  }
  /// Before an idle node is taken out: its switches go with it.
  void vacate(std::uint32_t n, node_state& s) noexcept {
    if (is_on())
      for_each_bit(masks_[n].on | masks_[n].off, [&](unsigned d) { set_switch(n, s, d, mig_switch::as_needed); });
  }
  /// As if no part of a node were held; what is switched on stays so, and held.
  void clear(std::uint32_t n, node_state& s) noexcept {
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

  // -- for replicas --------------------------------------------------------------------------------------------------

  [[nodiscard]] published_parts published(std::uint32_t n) const noexcept {
    return is_on() ? published_parts{&masks_[n], use_.data() + at_[n], shared_instances(n, 0)} : published_parts{};
  }
  /// Whether there is room for the devices of a node of that class.
  [[nodiscard]] bool has_room(std::uint32_t n, class_id c) const noexcept { return limits_.devices(c) <= room_[n]; }
  /// Sets a node as another cluster's table published it. \returns whether anything is different now
  /// \param was_of, c  the node's class until now, and from now on. \pre has_room(n, c)
  bool overwrite(std::uint32_t n, class_id was_of, class_id c, const published_parts& p) noexcept {
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
  /// Takes parts that no task of the store holds, until `overwrite`; or nothing where that cannot be.
  [[nodiscard]] bool assume(std::uint32_t n, node_state& s, const part_need& need, device_mask devices,
                            const part_places& places) noexcept {
    return acquire(n, s, {need, places}, devices);
  }

  /// Whether all that is kept agrees with the tasks that `each(f)` names: it calls `f(slot, node, devices)` for each.
  /// For tests. Allocates.
  template <class Each>
  [[nodiscard]] bool agrees(std::span<const node_state> nodes, Each each) const {
    if (!is_on()) return true;
    device_parts fresh{*this};
    for (auto& u : fresh.use_) u = {};
    fresh.shared_.clear();
    fresh.buckets_.clear();
    for (auto& u : fresh.used_units_) u = 0;
    flat_array<node_state> states(nodes.size());
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
      states[n] = nodes[n];
      fresh.masks_[n].mig = fresh.masks_[n].shared = fresh.masks_[n].on = 0;
      for_each_bit(masks_[n].on, [&](unsigned d) { fresh.set_switch(n, states[n], d, mig_switch::on); });
    }
    bool ok = true;
    each([&](std::uint32_t slot, std::uint32_t n, device_mask devices) {
      if (!of_task_[slot].need.asks()) return;
      if (of_task_[slot].need.has_places()) ok = ok && of_task_[slot].places.devices() == devices;
      fresh.add(n, states[n], of_task_[slot], devices);
    });
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
      const part_masks& m = masks_[n];
      ok = ok && m == fresh.masks_[n] && (m.mig & m.shared) == 0 && (m.on & ~m.mig) == 0 && (m.on & m.off) == 0 &&
           (m.open() & ~nodes[n].held) == 0;
      for (unsigned d = 0; d < count_bits(nodes[n].installed); ++d) {
        ok = ok && use(n, d) == fresh.use(n, d);
        ok = ok && are_legal(n, nodes[n], d);
        const device_limits& l = limits(nodes[n].node_class, d);
        ok = ok && use(n, d).thousandths <= l.thousandths && use(n, d).memory_mib <= l.memory_mib &&
             use(n, d).clients <= l.clients;
        if (l.product != part_model::no_product)
          ok = ok &&
               product(l.product).geometry().key_of(use(n, d).instances) == product(l.product).key(use(n, d).state);
      }
    }
    return ok && shared_ == fresh.shared_ && buckets_ == fresh.buckets_ && used_units_ == fresh.used_units_;
  }
  [[nodiscard]] std::size_t memory() const noexcept {
    return use_.capacity() * sizeof(device_use) + shared_.memory() +
           masks_.size() * (sizeof(part_masks) + sizeof(device_mask)) + at_.size() * 5 +
           (of_task_.size() + held_.size()) * sizeof(task_parts) + buckets_.memory() + requests_.memory();
  }

 private:
  struct task_parts {
    part_need need{};
    part_places places{};
  };
  void add_devices(std::uint32_t n, class_id c) {
    const std::uint32_t devices = limits_.devices(c);
    if (!catalogue_->inside.empty()) shared_.add_devices(devices);
    at_[n] = static_cast<std::uint32_t>(use_.size());
    room_[n] = static_cast<std::uint8_t>(devices);
    for (std::uint32_t d = 0; d < devices; ++d) use_.append({});
    buckets_.add_devices(devices);
  }
  /// A device is in MIG mode, in that state.
  void enter_state(std::uint32_t n, class_id c, unsigned device, mig_state_id s) noexcept {
    const unsigned p = limits(c, device).product;
    used_units_[p] += product(p).used_units(s);
    buckets_.enter(first_state(p) + s, n, at_[n], limits_.devices(c), device);
  }
  void leave_state(std::uint32_t n, class_id c, unsigned device) noexcept {
    const unsigned p = limits(c, device).product;
    used_units_[p] -=
        product(p).used_units(static_cast<mig_state_id>(buckets_.state_of(at_[n] + device) - first_state(p)));
    buckets_.leave(n, at_[n], limits_.devices(c), device);
  }

  [[nodiscard]] const instance_limits& limits_of(const node_state& s, part_place at) const noexcept {
    const unsigned p = limits(s.node_class, at.device).product;
    return catalogue_->inside[p][product(p).geometry().placement[at.placement].profile];
  }
  /// A client joins an instance, or opens it. \pre there is room
  void add_client(std::uint32_t n, node_state& s, part_place at, const part_need& need) noexcept {
    if (shared_.join(at_[n] + at.device, at.placement, limits_of(s, at), need)) add_instance(n, s, at);
  }
  /// A client leaves; the last one closes the instance.
  void remove_client(std::uint32_t n, node_state& s, part_place at, const part_need& need) noexcept {
    if (shared_.leave(at_[n] + at.device, at.placement, limits_of(s, at), need)) remove_instance(n, s, at);
  }
  /// Whether a client may join the instance there, or open it. \pre the device is one of the candidates
  [[nodiscard]] bool may_join(std::uint32_t n, const node_state& s, const task_parts& t) const noexcept {
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
  /// Whether the shared instances of a device are there, and within their limits. For tests.
  [[nodiscard]] bool are_legal(std::uint32_t n, const node_state& s, unsigned d) const noexcept {
    bool ok = true;
    shared_.each(at_[n] + d, [&](const instance_use& u) {
      const instance_limits& l = limits_of(s, {static_cast<std::uint8_t>(d), u.placement});
      ok = ok && (use(n, d).instances >> u.placement & 1U) != 0 && u.clients <= l.clients &&
           u.thousandths <= l.thousandths && u.memory_mib <= l.memory_mib;
    });
    return ok;
  }

  /// Checks geometry, modes, limits and health, and takes all or nothing.
  [[nodiscard]] bool acquire(std::uint32_t n, node_state& s, const task_parts& t, device_mask devices) noexcept {
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
  void add(std::uint32_t n, node_state& s, const task_parts& t, device_mask devices) noexcept {
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
  void release(std::uint32_t n, node_state& s, const task_parts& t, device_mask devices) noexcept {
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
  void add_instance(std::uint32_t n, node_state& s, part_place at) noexcept {
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
  void remove_instance(std::uint32_t n, node_state& s, part_place at) noexcept {
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

  const part_catalogue* catalogue_ = nullptr;
  unsigned ranks_ = 1;
  part_limits limits_;
  flat_array<std::uint32_t> at_;          ///< by node: its first device
  flat_array<std::uint8_t> room_;         ///< by node: how many there is room for
  flat_array<device_use> use_;            ///< devices of all nodes
  flat_array<part_masks> masks_;          ///< by node
  flat_array<device_mask> near_;          ///< by node: devices beside a working NIC
  instance_shares shared_;                ///< of all devices, where instances may be shared
  mig_buckets buckets_;                   ///< GPUs in MIG mode, by product and state
  flat_array<std::uint64_t> used_units_;  ///< by product: what instances hold
  mig_requests requests_;
  flat_array<task_parts> of_task_;  ///< by task of the store
  flat_array<task_parts> held_;     ///< what a search holds, last one last
  std::size_t held_count_ = 0;
  std::size_t holds_ = 0;  ///< room that searches asked for
};

}  // namespace berth::detail
