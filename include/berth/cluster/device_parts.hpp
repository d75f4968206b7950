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
#include "berth/core/separate.hpp"
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
              std::span<const node_state> nodes, unsigned ranks);
  /// How many ranks the index has for parts, beside those by free devices.
  [[nodiscard]] unsigned ranks() const noexcept { return ranks_; }
  /// As if it had never been on: for copies that follow node states alone.
  void disable() noexcept { catalogue_ = nullptr; }
  void reserve_tasks(std::size_t slots);
  void reserve_holds(std::size_t tasks);
  void add_classes(std::span<const node_class> classes, std::span<const node_shape> shapes);
  /// A node was put in, or taken out, and is empty. \pre its class is known
  void replace(std::uint32_t n, class_id c);

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
  [[nodiscard]] device_mask devices_in(std::uint32_t n, std::uint32_t state) const noexcept;
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
                                       const part_need& need) const noexcept;
  /// How instances of a profile may be shared; null where they are not.
  [[nodiscard]] const instance_limits* inside(unsigned product, unsigned profile) const noexcept;
  /// The shared instances of a device, `max_task_instances` of them; null where none may be shared.
  [[nodiscard]] const instance_use* shared_instances(std::uint32_t n, unsigned device) const noexcept {
    return shared_.of(at_[n] + device);
  }
  /// Parts that fit on one device in use as `u`, and for shares of instances with these shared ones.
  [[nodiscard]] std::uint32_t room_on(const device_limits& l, const device_use& u, const part_need& need,
                                      const instance_use* shared) const noexcept;
  /// The same for parts that are no shares of instances.
  [[nodiscard]] std::uint32_t room_on(const device_limits& l, const device_use& u,
                                      const part_need& need) const noexcept;
  /// What one more costs there, as a rank below `part_ranks`. \pre room_on(l, u, need) != 0
  [[nodiscard]] std::uint32_t rank_on(const device_limits& l, const device_use& u, const part_need& need,
                                      const instance_use* shared) const noexcept;
  [[nodiscard]] part_rooms rooms(std::uint32_t n, const node_state& s, device_mask eligible,
                                 const part_need& need) const noexcept;
  /// How many tasks of a shape with parts fit on a node, at most `limit`, which is what CPU and memory allow.
  [[nodiscard]] std::uint32_t count(std::uint32_t n, const node_state& s, device_mask eligible, const part_need& need,
                                    std::uint32_t limit) const noexcept;
  /// The same, and where the node stands among others for one task: first where it fits into what is cut already, those
  /// before others that lose the least by it; then by free devices where a whole one would have to be broken.
  [[nodiscard]] std::uint32_t count(std::uint32_t n, const node_state& s, device_mask eligible, const part_need& need,
                                    std::uint32_t limit, std::uint32_t& rank) const noexcept;
  /// The same for an empty and healthy node of a class, whose switches stand as on node `n`.
  [[nodiscard]] std::uint32_t potential(std::uint32_t n, class_id c, device_mask eligible, const part_need& need,
                                        std::uint32_t limit) const noexcept;
  /// Whether the devices of two nodes of one class are cut alike, each the same.
  [[nodiscard]] bool equal(std::uint32_t a, std::uint32_t b) const noexcept;

  /// Whether the free devices of a node may be cut alike, so that it does not matter which of them a task takes whole.
  [[nodiscard]] bool alike(std::uint32_t n, const node_state& s) const noexcept;

  // -- changes -----------------------------------------------------------------------------------------------------

  /// Takes the parts of a task that is committed as task `slot` of the store, or nothing where that cannot be.
  [[nodiscard]] bool take(std::uint32_t slot, std::uint32_t n, node_state& s, const part_need& need,
                          device_mask devices, const part_places* places) noexcept;
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
            const part_places& places) noexcept;
  void unhold(std::uint32_t n, node_state& s, device_mask devices) noexcept {
    release(n, s, held_[--held_count_], devices);
  }

  /// \pre the device is idle
  void set_switch(std::uint32_t n, node_state& s, unsigned device, mig_switch to) noexcept;
  /// Devices of a node that have a working NIC beside them; none until this is said.
  void set_near_nic(std::uint32_t n, device_mask near) noexcept { near_[n] = near; }
  [[nodiscard]] mig_switch switch_of(std::uint32_t n, unsigned device) const noexcept;
  /// Before an idle node is taken out: its switches go with it.
  void vacate(std::uint32_t n, node_state& s) noexcept;
  /// As if no part of a node were held; what is switched on stays so, and held.
  void clear(std::uint32_t n, node_state& s) noexcept;

  // -- for replicas --------------------------------------------------------------------------------------------------

  [[nodiscard]] published_parts published(std::uint32_t n) const noexcept {
    return is_on() ? published_parts{&masks_[n], use_.data() + at_[n], shared_instances(n, 0)} : published_parts{};
  }
  /// Whether there is room for the devices of a node of that class.
  [[nodiscard]] bool has_room(std::uint32_t n, class_id c) const noexcept { return limits_.devices(c) <= room_[n]; }
  /// Sets a node as another cluster's table published it. \returns whether anything is different now
  /// \param was_of, c  the node's class until now, and from now on. \pre has_room(n, c)
  bool overwrite(std::uint32_t n, class_id was_of, class_id c, const published_parts& p) noexcept;
  /// Takes parts that no task of the store holds, until `overwrite`; or nothing where that cannot be.
  [[nodiscard]] bool assume(std::uint32_t n, node_state& s, const part_need& need, device_mask devices,
                            const part_places& places) noexcept;

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
  [[nodiscard]] std::size_t memory() const noexcept;

 private:
  struct task_parts {
    part_need need{};
    part_places places{};
  };
  void add_devices(std::uint32_t n, class_id c);
  /// A device is in MIG mode, in that state.
  void enter_state(std::uint32_t n, class_id c, unsigned device, mig_state_id s) noexcept;
  void leave_state(std::uint32_t n, class_id c, unsigned device) noexcept;

  [[nodiscard]] const instance_limits& limits_of(const node_state& s, part_place at) const noexcept;
  /// A client joins an instance, or opens it. \pre there is room
  void add_client(std::uint32_t n, node_state& s, part_place at, const part_need& need) noexcept {
    if (shared_.join(at_[n] + at.device, at.placement, limits_of(s, at), need)) add_instance(n, s, at);
  }
  /// A client leaves; the last one closes the instance.
  void remove_client(std::uint32_t n, node_state& s, part_place at, const part_need& need) noexcept {
    if (shared_.leave(at_[n] + at.device, at.placement, limits_of(s, at), need)) remove_instance(n, s, at);
  }
  /// Whether a client may join the instance there, or open it. \pre the device is one of the candidates
  [[nodiscard]] bool may_join(std::uint32_t n, const node_state& s, const task_parts& t) const noexcept;
  /// Whether the shared instances of a device are there, and within their limits. For tests.
  [[nodiscard]] bool are_legal(std::uint32_t n, const node_state& s, unsigned d) const noexcept;

  /// Checks geometry, modes, limits and health, and takes all or nothing.
  [[nodiscard]] bool acquire(std::uint32_t n, node_state& s, const task_parts& t, device_mask devices) noexcept;
  void add(std::uint32_t n, node_state& s, const task_parts& t, device_mask devices) noexcept;
  void release(std::uint32_t n, node_state& s, const task_parts& t, device_mask devices) noexcept;
  void add_instance(std::uint32_t n, node_state& s, part_place at) noexcept;
  void remove_instance(std::uint32_t n, node_state& s, part_place at) noexcept;

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

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/device_parts.hpp"
#endif
