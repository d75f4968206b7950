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
  /// Tasks with that need are asked for: policies that learn hear of it, and may look at the cluster. Now and then
  /// O(nodes).
  void arrived(const part_need& need, std::uint32_t tasks) noexcept {
    if constexpr (requires(per_product & p, const mig_census& c) { p.arrived(c, 0U, 1U); }) {
      if (!need.is_mig() || cluster_->in_transaction()) return;
      const mig_request& r = cluster_->inside().parts().request(need.request());
      for (unsigned p = 0; p < products_.size(); ++p) {
        const mig_request::on_product& want = r.products[p];
        for (unsigned i = 0; i < want.count; ++i)
          products_[p].arrived(mig_census{*cluster_, p}, want.profiles[i], tasks * need.count());
      }
    }
  }

  /// Where one task goes.
  struct place_of_one {
    node_id node{};
    device_mask device = 0;
    part_places places{};
  };
  /// One instance for one task, anywhere in the cluster, on a GPU that is cut already: where the policy has the least
  /// cost over all of them. False: none at all, or `most_looks` nodes were looked at in vain.
  /// O(distinct states), and O(nodes) where the policy compares nodes.
  [[nodiscard]] bool choose_anywhere(const task_shape& t, place_of_one& out) noexcept {
    const device_parts& parts = cluster_->inside().parts();
    const mig_request& r = parts.request(t.part.request());
    unsigned looks = 0;
    if constexpr (has_best_start) {
      start_key floor{};
      for (bool any = false; looks < most_looks; any = true) {
        const start_key best = cheapest_after(r, any ? &floor : nullptr);
        if (best.state == start_key::none) return false;
        if (lowest_gpu(t, best, looks, out)) return true;
        floor = best;
      }
    } else {
      if constexpr (requires { mig_.over; })
        if (mig_.over == mig_over::nodes) return choose_by_node(t, r, out);
      float floor = 0;
      for (bool any = false; looks < most_looks; any = true) {
        bool found = false, placed = false;
        float least = 0;
        each_open_state(r, [&](const start_key& k) {
          if ((found && !(k.cost.first < least)) || (any && k.cost.first <= floor)) return;
          least = k.cost.first;
          found = true;
        });
        if constexpr (!whole_last_mig)
          if (idle_at_most(t, r, found ? &least : nullptr, out)) return true;
        if (!found) return false;
        // Of all states that cost as little, the lowest GPU.
        place_of_one other;
        each_open_state(r, [&](const start_key& k) {
          if (k.cost.first != least || !lowest_gpu(t, k, looks, other)) return;
          if (placed && (out.node < other.node || (out.node == other.node && out.device <= other.device))) return;
          out = other;
          placed = true;
        });
        if (placed) return true;
        floor = least;
      }
    }
    return false;
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
  static constexpr unsigned most_looks = 64;
  static constexpr bool has_best_start = requires(per_product & p) { p.best_start(mig_state_id{}, 0U); };

  /// A way to start an instance: on any GPU in a state.
  struct start_key {
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    mig_start_cost cost{};
    std::uint32_t state = none;  ///< counted over all products
    std::uint8_t placement = 0;
  };
  /// The cheapest start in any state of GPUs in MIG mode in which the request fits; ties by state.
  /// \param floor  only those after this one
  [[nodiscard]] start_key cheapest_after(const mig_request& r, const start_key* floor) noexcept {
    const device_parts& parts = cluster_->inside().parts();
    start_key out;
    for (unsigned p = 0; p < products_.size(); ++p) {
      if (r.products[p].count != 1) continue;
      const std::uint32_t first = parts.first_state(p);
      const std::uint64_t* const in_use = parts.buckets().in_use() + first / 64;
      // What costs the same comes after it where it stands in a higher state.
      const auto b = floor == nullptr
                         ? products_[p].best_start(in_use, r.products[p].profiles[0])
                         : products_[p].best_start(in_use, r.products[p].profiles[0], floor->cost.first,
                                                   floor->state < first ? 0 : std::size_t{floor->state} - first + 1);
      if (b.state == no_mig_state || (out.state != start_key::none && !(b.cost < out.cost.first))) continue;
      out.cost.first = b.cost;
      out.state = first + b.state;
      out.placement = b.placement;
    }
    return out;
  }
  /// Calls `f` with the cheapest start in every such state.
  template <class F>
  void each_open_state(const mig_request& r, F&& f) noexcept {
    const device_parts& parts = cluster_->inside().parts();
    for (unsigned p = 0; p < products_.size(); ++p) {
      if (r.products[p].count != 1) continue;
      const unsigned profile = r.products[p].profiles[0];
      const mig_state_table& t = parts.product(p);
      const std::uint64_t* const open = t.open_states(profile);
      const std::uint64_t* const in_use = parts.buckets().in_use() + parts.first_state(p) / 64;
      for (std::uint32_t w = 0; w < t.words(); ++w)
        for_each_bit(in_use[w] & open[w], [&](unsigned b) {
          const auto s = static_cast<mig_state_id>(w * 64 + b);
          start_key k;
          k.state = parts.first_state(p) + s;
          static_cast<void>(cheapest_in(p, s, profile, k));
          f(k);
        });
    }
  }
  /// GPUs of a node, idle or in MIG mode, that may serve the task as far as health, CPU and memory tell.
  [[nodiscard]] device_mask serving(const task_shape& t, std::uint32_t n) const noexcept {
    const node_state& s = cluster_->node(node_id{n});
    const eligibility e = cluster_->eligible(t.filter, node_id{n});
    if (!e.admits || s.cpu < t.cpu || s.memory < t.memory) return 0;
    return cluster_->inside().parts().candidates(n, s, e.devices, t.part);
  }
  /// A GPU that is whole and idle, where that costs no more than `least`; the lowest. O(nodes).
  [[nodiscard]] bool idle_at_most(const task_shape& t, const mig_request& r, const float* least,
                                  place_of_one& out) noexcept {
    const device_parts& parts = cluster_->inside().parts();
    bool worth = least == nullptr;  // what an idle GPU costs depends on its product alone
    for (unsigned p = 0; p < products_.size() && !worth; ++p) {
      start_key k;
      worth = r.products[p].count == 1 && cheapest_in(p, 0, r.products[p].profiles[0], k) && k.cost.first < *least;
    }
    if (!worth) return false;
    for (std::uint32_t n = 0; n < cluster_->node_count(); ++n)
      for (device_mask m = serving(t, n) & ~parts.masks(n).mig; m != 0; m &= m - 1) {
        const unsigned d = lowest_bit(m), p = parts.limits(cluster_->node(node_id{n}).node_class, d).product;
        start_key k;
        if (r.products[p].count != 1 || !cheapest_in(p, 0, r.products[p].profiles[0], k)) continue;
        // An empty GPU in MIG mode serves as well, and nothing is broken for it.
        if (least != nullptr && k.cost.first >= *least) continue;
        out = {node_id{n}, bit(d), {}};
        out.places.push(d, k.placement);
        return true;
      }
    return false;
  }
  /// The fullest, or emptiest, node and its cheapest GPU. O(GPUs).
  [[nodiscard]] bool choose_by_node(const task_shape& t, const mig_request& r, place_of_one& out) noexcept {
    const device_parts& parts = cluster_->inside().parts();
    bool found = false;
    std::uint64_t best_fill = 0;
    for (std::uint32_t n = 0; n < cluster_->node_count(); ++n) {
      device_mask able = serving(t, n);
      const device_mask mig = parts.masks(n).mig;
      if (whole_last_mig) able &= mig;
      if (able == 0) continue;
      const class_id c = cluster_->node(node_id{n}).node_class;
      std::uint64_t fill = 0;
      for_each_bit(mig, [&](unsigned d) {
        fill += parts.product(parts.limits(c, d).product).used_units(parts.use(n, d).state);
      });
      if (found && (mig_type::fullest_node ? fill <= best_fill : fill >= best_fill)) continue;
      start_key best;
      for_each_bit(able, [&](unsigned d) {
        const unsigned p = parts.limits(c, d).product;
        start_key k;
        if (r.products[p].count != 1 || !cheapest_in(p, parts.use(n, d).state, r.products[p].profiles[0], k)) return;
        if (best.state != start_key::none && !(k.cost.first < best.cost.first)) return;
        best = k;
        best.state = d;
      });
      if (best.state == start_key::none) continue;
      found = true;
      best_fill = fill;
      out = {node_id{n}, bit(best.state), {}};
      out.places.push(best.state, best.placement);
    }
    return found;
  }
  /// The cheapest start of a profile on a GPU in that state. False: none.
  [[nodiscard]] bool cheapest_in(unsigned product, mig_state_id s, unsigned profile, start_key& k) noexcept {
    const mig_state_table& t = cluster_->inside().parts().product(product);
    bool found = false;
    for_each_bit(t.open(s, profile), [&](unsigned p) {
      const mig_start_cost c = products_[product].cost(t, s, p);
      if (found && !(c < k.cost)) return;
      k.cost = c;
      k.placement = static_cast<std::uint8_t>(p);
      found = true;
    });
    return found;
  }
  /// The lowest GPU in that state that may serve the task. \param looks  nodes looked at; counted on
  [[nodiscard]] bool lowest_gpu(const task_shape& t, const start_key& k, unsigned& looks,
                                place_of_one& out) const noexcept {
    const device_parts& parts = cluster_->inside().parts();
    for (std::uint32_t n = parts.buckets().first(k.state); n != mig_buckets::none && looks < most_looks;
         n = parts.buckets().next(k.state, n)) {
      const device_mask may = serving(t, n);
      const device_mask able = may != 0 ? may & parts.devices_in(n, k.state) : 0;
      if (able == 0) {
        ++looks;
        continue;
      }
      out.node = node_id{n};
      out.device = able & (~able + 1);
      out.places = {};
      out.places.push(lowest_bit(able), k.placement);
      return true;
    }
    return false;
  }

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
      if (instance_use& u = shared_of(d)[k];
          g.placement[u.placement].profile == profile && share_room(*parts.inside(product, profile), u, need) != 0)
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
  std::vector<per_product> products_;                                            ///< policies by product
  device_use use_[max_devices_per_node];                                         ///< of the node at work, as it will be
  instance_use shared_[std::size_t{max_devices_per_node} * max_task_instances];  ///< the same, for shares of instances
};

}  // namespace berth::detail
