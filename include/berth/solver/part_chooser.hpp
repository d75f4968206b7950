#pragma once
/// \file
/// Devices and starts on one node for tasks that ask for parts, by the policies for them.
///
/// Complete for equal tasks: as many are placed as `device_parts::count` says fit, whatever the policy prefers.

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/core/bits.hpp"
#include "berth/policy/part_choice.hpp"

namespace berth::detail {

template <class Devices>
class part_chooser {
  using mig_type = typename parts_of<Devices>::mig_type;
  using share_type = typename parts_of<Devices>::share_type;
  using per_product = typename made_for_product<mig_type>::type;
  static constexpr bool whole_last_mig = keeps_whole<mig_type>(), whole_last_share = keeps_whole<share_type>();

 public:
  part_chooser(const cluster& c, const Devices& policy) : cluster_{&c} {
    if constexpr (chooses_parts<Devices>) mig_ = policy.mig, share_ = policy.share;
  }

  /// Makes the policies of products that the cluster did not know before. Allocates then, only then.
  void begin() {
    const device_parts& parts = cluster_->inside().parts();
    if (!parts.is_on() || products_.size() == parts.catalogue().products.size()) return;
    for (std::size_t p = products_.size(); p < parts.catalogue().products.size(); ++p)
      products_.push_back(make(parts.catalogue().products[p]));
  }
  /// A gang with MIG groups is to be placed: policies that watch the cluster may look at it. Now and then O(nodes).
  void arrived() noexcept {
    if constexpr (requires(per_product & p, const mig_census& c) { p.reprice(c); }) {
      const std::uint32_t nodes = cluster_->node_count();
      if (asked_++ % (16 * (std::uint64_t{nodes} / 32 + 1)) != 0) return;
      const device_parts& parts = cluster_->inside().parts();
      for (unsigned i = 0; i < products_.size(); ++i) {
        mig_census c{parts, i};
        for (std::uint32_t n = 0; n < nodes; ++n) {
          const node_state& s = cluster_->node(node_id{n});
          const device_mask idle = parts.mig_able(s.node_class) & s.free & ~parts.masks(n).off;
          for_each_bit(idle, [&](unsigned d) { c.idle += parts.limits(s.node_class, d).product == i ? 1U : 0U; });
        }
        products_[i].reprice(c);
      }
    }
  }

  /// Calls `write(i, devices, places)` for `n` tasks on a node. \param eligible  what the filter leaves of it
  /// \pre they fit there
  template <class Write>
  void choose(node_id node, device_mask eligible, const part_need& need, std::uint64_t n, Write&& write) noexcept {
    const device_parts& parts = cluster_->inside().parts();
    const node_state& s = cluster_->node(node);
    part_rooms room = parts.rooms(node.raw(), s, eligible, need);
    device_mask open = parts.masks(node.raw()).open();
    for_each_bit(room.able, [&](unsigned d) { use_[d] = parts.use(node.raw(), d); });
    if (need.is_nested()) copy_shared(node.raw(), room.able);
    const std::uint64_t each = need.count();
    for (std::uint64_t i = 0; i < n; ++i) {
      part_places places;
      device_mask taken = 0;
      // Parts on different devices: some of them may have to be on devices with room for every task still to come.
      std::uint64_t from_large = 0;
      device_mask large = 0;
      if (need.apart() && each > 1) {
        const std::uint64_t left = n - i;
        std::uint64_t usable = 0;
        for_each_bit(room.able, [&](unsigned d) {
          usable += room.of[d] < left ? room.of[d] : left;
          if (room.of[d] >= left) large |= bit(d);
        });
        const std::uint64_t slack = usable - left * each;
        from_large = count_bits(large) > slack ? count_bits(large) - slack : 0;
        if (from_large > each) from_large = each;
      }
      for (std::uint64_t k = 0; k < each; ++k) {
        device_mask from = room.able & (need.apart() ? ~taken : ~device_mask{0});
        if (from_large != 0 && from_large == each - k) from &= large;
        assert(from != 0);
        if (from == 0) return;
        const bool more = i + 1 < n || k + 1 < each;
        const unsigned d = need.is_mig()      ? put_instances(s.node_class, need.request(), from, open, more, places)
                           : need.is_nested() ? put_client(s.node_class, need, from, open, places)
                                              : put_share(s.node_class, need, from, open);
        if ((large & bit(d)) != 0 && from_large != 0) --from_large;
        taken |= bit(d);
        open |= bit(d);
        // A request of several instances may leave less room than one less of it.
        room.of[d] = parts.room_on(parts.limits(s.node_class, d), use_[d], need, shared_of(d));
        if (room.of[d] == 0) room.able &= ~bit(d);
      }
      write(i, taken, places);
    }
  }

  /// The `nth` way to serve one task on a node, without the policies, up to devices in equal state; false past the
  /// last. O(nth) ways looked at.
  [[nodiscard]] bool choose_nth(node_id node, device_mask eligible, const part_need& need, std::uint32_t nth,
                                device_mask& devices, part_places& places) noexcept {
    const device_parts& parts = cluster_->inside().parts();
    const node_state& s = cluster_->node(node);
    way w{parts, parts.rooms(node.raw(), s, eligible, need).able, parts.masks(node.raw()).open(), s.node_class, need,
          nth};
    for_each_bit(w.able, [&](unsigned d) { use_[d] = parts.use(node.raw(), d); });
    places = {};
    devices = 0;
    if (need.is_nested()) {
      copy_shared(node.raw(), w.able);
      return client(w, devices, places);
    }
    return times(w, need.count(), 0, devices, places);
  }

 private:
  struct way {
    const device_parts& parts;
    device_mask able;  ///< devices with room
    device_mask open;  ///< devices that are cut already
    class_id node_class;
    part_need need;
    std::uint32_t left;  ///< ways to pass over
  };
  /// Whether a device like this one comes before it and is not taken by the task.
  [[nodiscard]] bool has_twin(const way& w, unsigned d, device_mask taken) const noexcept {
    bool twin = false;
    for_each_bit(w.able & low_bits(d) & ~taken, [&](unsigned e) {
      twin = twin || (use_[d] == use_[e] && (w.open >> d & 1) == (w.open >> e & 1) &&
                      w.parts.limits(w.node_class, d) == w.parts.limits(w.node_class, e));
    });
    return twin;
  }
  /// The parts of a task that are still to come, on devices from `from` on.
  bool times(way& w, unsigned count, unsigned from, device_mask& taken, part_places& places) noexcept {
    if (count == 0) return w.left-- == 0;
    for (device_mask m = w.able & ~low_bits(from); m != 0; m &= m - 1) {
      const unsigned d = lowest_bit(m);
      if (has_twin(w, d, taken)) continue;
      const device_mask before = taken;
      taken |= bit(d);
      if (w.need.is_share() ? times(w, count - 1, d + 1, taken, places) : instances(w, count, d, 0, taken, places))
        return true;
      taken = before;
    }
    return false;
  }
  bool instances(way& w, unsigned count, unsigned d, unsigned i, device_mask& taken, part_places& places) noexcept {
    const unsigned product = w.parts.limits(w.node_class, d).product;
    const mig_request::on_product& want = w.parts.request(w.need.request()).products[product];
    if (want.count == 0) return false;
    if (i == want.count) return times(w, count - 1, w.need.apart() ? d + 1 : d, taken, places);
    const mig_state_table& t = w.parts.product(product);
    const mig_state_id s = use_[d].state;
    mig_set open = t.open(s, want.profiles[i]);
    if (i != 0 && want.profiles[i] == want.profiles[i - 1])
      open &= ~static_cast<mig_set>(low_bits(places.at[places.count - 1].placement + 1U));
    for (; open != 0; open &= open - 1) {
      const unsigned p = lowest_bit(open);
      use_[d].state = t.after(s, p);
      places.push(d, p);
      if (instances(w, count, d, i + 1, taken, places)) return true;
      --places.count;
      use_[d].state = s;
    }
    return false;
  }

  /// A client in the instances that are shared already, then in new ones.
  bool client(way& w, device_mask& taken, part_places& places) noexcept {
    bool found = false;
    for (device_mask m = w.able; m != 0 && !found; m &= m - 1) {
      const unsigned d = lowest_bit(m), product = w.parts.limits(w.node_class, d).product;
      const unsigned profile = w.parts.request(w.need.request()).products[product].profiles[0];
      const auto way_at = [&](unsigned placement) {
        if (found || w.left-- != 0) return;
        places.push(d, placement);
        taken = bit(d);
        found = true;
      };
      each_shared(product, profile, d, w.need, [&](const instance_use& u) { way_at(u.placement); });
      if (share_room(*w.parts.inside(product, profile), instance_use{}, w.need) != 0)
        for_each_bit(w.parts.product(product).open(use_[d].state, profile), way_at);
    }
    return found;
  }

  // -- shares of instances -----------------------------------------------------------------------------------------

  [[nodiscard]] instance_use* shared_of(unsigned d) noexcept { return shared_ + std::size_t{d} * max_task_instances; }
  void copy_shared(std::uint32_t n, device_mask devices) noexcept {
    for_each_bit(devices, [&](unsigned d) {
      for (unsigned k = 0; k < max_task_instances; ++k)
        shared_of(d)[k] = cluster_->inside().parts().shared_instances(n, d)[k];
    });
  }
  /// Calls `f` for the shared instances of a profile that have room for one more.
  template <class F>
  void each_shared(unsigned product, unsigned profile, unsigned d, const part_need& need, F&& f) noexcept {
    const device_parts& parts = cluster_->inside().parts();
    const mig_geometry& g = parts.product(product).geometry();
    for (unsigned k = 0; k < max_task_instances && shared_of(d)[k].clients != 0; ++k)
      if (instance_use& u = shared_of(d)[k]; g.placement[u.placement].profile == profile &&
                                             share_room(*parts.inside(product, profile), u, need) != 0)
        f(u);
  }
  /// One client: in the shared instance that the policy for shares likes best, or in a new one, where the policy for
  /// instances puts it. A policy that keeps devices whole opens no instance while a shared one has room.
  unsigned put_client(class_id c, const part_need& need, device_mask from, device_mask open,
                      part_places& places) noexcept {
    const device_parts& parts = cluster_->inside().parts();
    const mig_request& want = parts.request(need.request());
    instance_use* best = nullptr;
    unsigned device = 0;
    float least = 0, least_new = 0;
    device_mask fresh = 0;
    for_each_bit(from, [&](unsigned d) {
      const unsigned product = parts.limits(c, d).product, profile = want.products[product].profiles[0];
      const instance_limits& l = *parts.inside(product, profile);
      const auto cost = [&](const instance_use& u) {
        return share_.cost({static_cast<std::uint32_t>(l.thousandths - u.thousandths), l.thousandths,
                            l.memory_mib - u.memory_mib, l.memory_mib, u.clients},
                           need);
      };
      each_shared(product, profile, d, need, [&](instance_use& u) {
        if (best != nullptr && !(cost(u) < least)) return;
        best = &u, device = d, least = cost(u);
      });
      if (parts.room(need.request(), product, use_[d].state) == 0 || share_room(l, instance_use{}, need) == 0) return;
      if (fresh == 0 || cost({}) < least_new) least_new = cost({});
      fresh |= bit(d);
    });
    if (best == nullptr || (!whole_last_share && fresh != 0 && least_new < least)) {
      device = put_instances(c, need.request(), fresh, open, false, places);
      best = shared_of(device);
      while (best->clients != 0) ++best;  // in any order: it is a scratch copy
      best->placement = places.at[places.count - 1].placement;
    } else {
      places.push(device, best->placement);
    }
    const unsigned product = parts.limits(c, device).product;
    add_share(*parts.inside(product, want.products[product].profiles[0]), *best, need);
    return device;
  }

  [[nodiscard]] per_product make(const mig_state_table& t) const {
    if constexpr (mig_policy_maker<mig_type>) return mig_.for_product(t);
    else return static_cast<void>(t), mig_;
  }
  /// The cheapest way to put one request on a GPU.
  struct assignment {
    mig_start_cost cost{};
    std::uint8_t at[max_task_instances]{};
    mig_state_id then = 0;
    bool found = false;
  };
  struct search {
    per_product& policy;
    const mig_state_table& t;
    const mig_request::on_product& want;
    const device_parts& parts;
    mig_request_id id;
    unsigned product;
    unsigned least_room;  ///< that has to be left for more of the same
    std::uint8_t now[max_task_instances]{};
    assignment best{};

    void from(mig_state_id s, unsigned i, mig_start_cost so_far) noexcept {
      if (i == want.count) {
        if (best.found && !(so_far < best.cost)) return;
        if (least_room != 0 && parts.room(id, product, s) < least_room) return;
        best.cost = so_far;
        best.then = s;
        best.found = true;
        for (unsigned k = 0; k < i; ++k) best.at[k] = now[k];
        return;
      }
      mig_set open = t.open(s, want.profiles[i]);
      // Equal profiles in rising order only: the others are the same layout.
      if (i != 0 && want.profiles[i] == want.profiles[i - 1]) open &= ~static_cast<mig_set>(low_bits(now[i - 1] + 1U));
      for_each_bit(open, [&](unsigned p) {
        now[i] = static_cast<std::uint8_t>(p);
        const mig_start_cost c = policy.cost(t, s, p);
        from(t.after(s, p), i + 1, {so_far.first + c.first, so_far.second + c.second});
      });
    }
  };

  unsigned put_instances(class_id c, mig_request_id id, device_mask from, device_mask open, bool more,
                         part_places& places) noexcept {
    const device_parts& parts = cluster_->inside().parts();
    if (whole_last_mig && (from & open) != 0) from &= open;
    assignment best;
    unsigned device = 0;
    for_each_bit(from, [&](unsigned d) {
      const unsigned product = parts.limits(c, d).product;
      const mig_state_id s = use_[d].state;
      const mig_request::on_product& want = parts.request(id).products[product];
      const mig_state_table& t = parts.product(product);
      if constexpr (requires(per_product & p) { p.best_start(s, 0U); }) {
        if (want.count == 1) {
          // One instance alone always leaves room for one less of the same.
          const auto b = products_[product].best_start(s, want.profiles[0]);
          if (best.found && !(b.cost < best.cost.first)) return;
          best.cost = {b.cost, 0};
          best.at[0] = b.placement;
          best.then = t.after(s, b.placement);
          best.found = true;
          device = d;
          return;
        }
      }
      const unsigned room = parts.room(id, product, s);
      search x{products_[product], t, want, parts, id, product, more && want.count > 1 ? room - 1 : 0U};
      x.from(s, 0, {});
      // Across devices only the first cost counts, then the lower device.
      if (!x.best.found || (best.found && !(x.best.cost.first < best.cost.first))) return;
      best = x.best;
      device = d;
    });
    assert(best.found);
    const mig_request::on_product& want = parts.request(id).products[parts.limits(c, device).product];
    for (unsigned i = 0; i < want.count; ++i) places.push(device, best.at[i]);
    use_[device].state = best.then;
    return device;
  }
  unsigned put_share(class_id c, const part_need& need, device_mask from, device_mask open) noexcept {
    const device_parts& parts = cluster_->inside().parts();
    if (whole_last_share && (from & open) != 0) from &= open;
    unsigned device = max_devices_per_node;
    float least = 0;
    for_each_bit(from, [&](unsigned d) {
      const device_limits& l = parts.limits(c, d);
      const device_use& u = use_[d];
      const float cost = share_.cost({static_cast<std::uint32_t>(l.thousandths - u.thousandths), l.thousandths,
                                      l.memory_mib - u.memory_mib, l.memory_mib, u.clients},
                                     need);
      if (device == max_devices_per_node || cost < least) device = d, least = cost;
    });
    device_use& u = use_[device];
    add_share(parts.limits(c, device), u, need);
    return device;
  }

  const cluster* cluster_;
  [[no_unique_address]] mig_type mig_{};
  [[no_unique_address]] share_type share_{};
  std::vector<per_product> products_;     ///< policies by product
  device_use use_[max_devices_per_node];  ///< of the node at work, as it will be
  instance_use shared_[std::size_t{max_devices_per_node} * max_task_instances];  ///< the same, for shares of instances
  std::uint64_t asked_ = 0;
};

}  // namespace berth::detail
