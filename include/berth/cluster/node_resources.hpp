#pragma once
/// \file
/// What tasks with a `binding_need` hold inside their nodes: the side table of `cluster`; and beside it that of the
/// parts of devices. Off until it is switched on, and then 8 bytes per NUMA node (twice) and link of a node, 20 per
/// node and 40 per task; nodes whose shape says nothing about NUMA nodes and links have no amounts at all.
///
/// Every change is an exact addition of integers, so that taking back restores it bit for bit. Only `enable`, `add` and
/// `reserve_…` allocate.

#include <cstddef>
#include <cstdint>
#include <span>

#include "berth/cluster/device_parts.hpp"
#include "berth/cluster/node_count.hpp"
#include "berth/cluster/node_filter.hpp"
#include "berth/cluster/node_residual.hpp"
#include "berth/cluster/node_state.hpp"
#include "berth/cluster/task_binding.hpp"
#include "berth/cluster/task_shape.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth::detail {

class node_resources {
 public:
  [[nodiscard]] bool is_on() const noexcept { return on_; }
  /// Whether a commit or a release has more to do than masks and sums.
  [[nodiscard]] bool is_any_on() const noexcept { return any_on_; }
  /// Parts of devices; on or off by themselves.
  [[nodiscard]] const device_parts& parts() const noexcept { return parts_; }
  [[nodiscard]] device_parts& parts() noexcept { return parts_; }
  void enable_parts(const part_catalogue& catalogue, std::span<const node_class> classes,
                    std::span<const node_shape> shapes, std::span<const node_state> nodes, unsigned ranks) {
    parts_.enable(catalogue, classes, shapes, nodes, ranks);
    any_on_ = true;
    for (std::uint32_t n = 0; n < nodes.size(); ++n) tell_near_nic(n, nodes[n].node_class);
  }
  /// Whether this is kept at all that a shape asks for.
  [[nodiscard]] bool serves(const task_shape& t) const noexcept {
    return t.part.asks() ? parts_.is_on() && (on_ || !t.part.near_nic()) : on_ || !t.bind.asks();
  }

  /// Switches the table on: every node empty inside. O(nodes). \pre no task is committed, or none has needs
  void enable(std::span<const node_class> classes, std::span<const node_shape> shapes,
              std::span<const node_state> nodes) {
    if (on_) return;
    on_ = any_on_ = true;
    add_classes(classes, shapes);
    at_.resize(nodes.size());
    room_.resize(nodes.size());
    nics_down_.resize(nodes.size());
    std::size_t sum = 0;
    for (const node_state& n : nodes) sum += layouts_[n.node_class.index()].amounts();
    left_.reserve(sum);
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
      add_amounts(n, nodes[n].node_class);
      tell_near_nic(n, nodes[n].node_class);
    }
    reserve_holds(holds_);
  }
  /// As if it had never been on: for copies that follow node states, which say nothing of the inside.
  void disable() noexcept {
    on_ = false;
    any_on_ = parts_.is_on();
  }
  /// Room for the bindings of so many tasks of the store.
  void reserve_tasks(std::size_t slots) {
    parts_.reserve_tasks(slots);
    if (!on_ || slots <= of_task_.size()) return;
    of_task_.resize(slots);
    asked_.resize(slots);
  }
  /// Room for tasks held by a search at once.
  void reserve_holds(std::size_t tasks) {
    parts_.reserve_holds(tasks);
    if (tasks > holds_) holds_ = tasks;
    if (on_ && holds_ > held_.size()) held_.resize(holds_);
  }
  /// Learns classes made since.
  void add_classes(std::span<const node_class> classes, std::span<const node_shape> shapes) {
    parts_.add_classes(classes, shapes);
    if (!on_) return;
    for (std::size_t c = layouts_.size(); c < classes.size(); ++c)
      layouts_.append(classes[c].shape
                          ? machine_layout{shapes[classes[c].shape.index()], classes[c].cpu, classes[c].memory}
                          : machine_layout{});
  }
  /// A node was put in, or taken out, and is empty. \pre its class is known
  void replace(std::uint32_t n, class_id c) {
    parts_.replace(n, c);
    if (!on_) return;
    nics_down_[n] = 0;
    tell_near_nic(n, c);
    const std::size_t amounts = layouts_[c.index()].amounts();
    if (amounts == 0) return;
    // What was there before makes way, so that nodes which come and go take no more memory each time.
    if (amounts > room_[n]) return add_amounts(n, c);
    for (std::size_t i = 0; i < amounts; ++i) left_[at_[n] + i] = layouts_[c.index()].capacity()[i];
  }

  [[nodiscard]] const machine_layout& layout(class_id c) const noexcept { return layouts_[c.index()]; }
  /// The amounts left on a node, in the order of its layout.
  [[nodiscard]] const std::int64_t* left(std::uint32_t n) const noexcept { return left_.data() + at_[n]; }
  /// The state of one node, with `pool` as the devices that may serve.
  [[nodiscard]] node_residual residual(std::uint32_t n, const node_state& s, device_mask pool) const noexcept {
    return {&layout(s.node_class), left(n), ~nics_down_[n], s.free, pool, s.cpu, s.memory};
  }
  /// How many tasks of a shape with needs fit on a node, at most `limit`.
  [[nodiscard]] std::uint32_t count(std::uint32_t n, const node_state& s, device_mask pool, const task_shape& t,
                                    std::uint32_t limit) const noexcept {
    return on_ && limit != 0 ? count_fits(residual(n, s, pool), t, limit) : 0;
  }
  /// The same for an empty node of a class with working NICs. For parts: with the switches of node `n`.
  [[nodiscard]] std::uint32_t potential(std::uint32_t n, const node_class& c, class_id id, device_mask installed,
                                        device_mask pool, const task_shape& t, std::uint32_t limit) const noexcept {
    if (t.part.asks()) {
      const device_mask near = !t.part.near_nic() ? pool : on_ ? layout(id).near_nic(~std::uint64_t{0}) : 0;
      return parts_.potential(n, id, pool & near, t.part, limit);
    }
    if (!on_ || limit == 0) return 0;
    const machine_layout& y = layout(id);
    return count_fits({&y, y.capacity().data(), ~std::uint64_t{0}, installed, pool, c.cpu, c.memory}, t, limit);
  }
  /// Whether two nodes of one class are alike inside.
  [[nodiscard]] bool equal(std::uint32_t a, std::uint32_t b, class_id c) const noexcept {
    if (parts_.is_on() && !parts_.equal(a, b)) return false;
    if (!on_) return true;
    if (nics_down_[a] != nics_down_[b]) return false;
    for (std::size_t i = 0; i < layout(c).amounts(); ++i)
      if (left(a)[i] != left(b)[i]) return false;
    return true;
  }

  /// Reserves for a task that is committed as task `slot` of the store, or nothing where it cannot be.
  /// \param s  the node before the task
  [[nodiscard]] bool take(std::uint32_t slot, std::uint32_t n, const node_state& s, const task_shape& t,
                          device_mask devices) noexcept {
    of_task_[slot] = {};
    asked_[slot] = t.bind;
    if (!t.bind.asks()) return true;
    if (!residual(n, s, s.free).bind(t, devices, of_task_[slot])) return false;
    apply(n, s.node_class, of_task_[slot], t.cpu, t.memory, devices, -1);
    return true;
  }
  /// Gives back, or (`sign` -1) takes again, what task `slot` reserved.
  void give(std::uint32_t slot, std::uint32_t n, class_id c, cpu_millis cpu, bytes memory, device_mask devices,
            std::int64_t sign = 1) noexcept {
    if (!(of_task_[slot] == task_binding{})) apply(n, c, of_task_[slot], cpu, memory, devices, sign);
  }
  [[nodiscard]] const task_binding& binding(std::uint32_t slot) const noexcept { return of_task_[slot]; }
  /// What a task that is committed as task `slot` asked for; nothing where the table is off.
  [[nodiscard]] binding_need asked(std::uint32_t slot) const noexcept { return on_ ? asked_[slot] : binding_need{}; }

  /// For searches: reserves for a moment; `unhold` takes back, last first. \pre it fits, room for one more
  void hold(std::uint32_t n, const node_state& s, const task_shape& t, device_mask devices) noexcept {
    task_binding& b = held_[held_count_++];
    if (residual(n, s, s.free).bind(t, devices, b)) apply(n, s.node_class, b, t.cpu, t.memory, devices, -1);
    else b = {};
  }
  void unhold(std::uint32_t n, class_id c, const task_shape& t, device_mask devices) noexcept {
    apply(n, c, held_[--held_count_], t.cpu, t.memory, devices, 1);
  }

  /// As if nothing were reserved on a node and all its NICs worked.
  void clear(std::uint32_t n, class_id c) noexcept {
    if (!on_) return;
    set_nics_down(n, c, 0);
    for (std::size_t i = 0; i < layout(c).amounts(); ++i) left_[at_[n] + i] = layout(c).capacity()[i];
  }
  [[nodiscard]] std::uint64_t nics_down(std::uint32_t n) const noexcept { return nics_down_[n]; }
  void set_nics_down(std::uint32_t n, class_id c, std::uint64_t mask) noexcept {
    nics_down_[n] = mask;
    tell_near_nic(n, c);
  }

  /// Whether amounts are those of empty nodes less what `each(f)` says is bound: it calls `f(slot, node, task)` for
  /// every committed task. For tests.
  template <class Each>
  [[nodiscard]] bool agrees(std::span<const node_state> nodes, Each each) const {
    if (!on_) return true;
    flat_array<std::int64_t> sum = left_;
    each([&](std::uint32_t slot, std::uint32_t n, cpu_millis cpu, bytes memory, device_mask devices) {
      apply_binding(layout(nodes[n].node_class), sum.data() + at_[n], of_task_[slot], cpu, memory, devices, 1);
    });
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
      const machine_layout& y = layout(nodes[n].node_class);
      for (std::size_t i = 0; i < y.amounts(); ++i)
        if (sum[at_[n] + i] != y.capacity()[i] || left_[at_[n] + i] < 0) return false;
    }
    return true;
  }
  [[nodiscard]] std::size_t memory() const noexcept {
    return left_.capacity() * 8 + at_.size() * 8 + nics_down_.size() * 8 +
           of_task_.size() * (sizeof(task_binding) + sizeof(binding_need)) + held_.size() * sizeof(task_binding) +
           parts_.memory();
  }

 private:
  /// Parts look at NICs too, and keep what they need of them.
  void tell_near_nic(std::uint32_t n, class_id c) noexcept {
    if (on_ && parts_.is_on()) parts_.set_near_nic(n, layout(c).near_nic(~nics_down_[n]));
  }
  void apply(std::uint32_t n, class_id c, const task_binding& b, cpu_millis cpu, bytes memory, device_mask devices,
             std::int64_t sign) noexcept {
    apply_binding(layout(c), left_.data() + at_[n], b, cpu, memory, devices, sign);
  }
  void add_amounts(std::uint32_t n, class_id c) {
    at_[n] = static_cast<std::uint32_t>(left_.size());
    room_[n] = static_cast<std::uint32_t>(layout(c).amounts());
    for (const std::int64_t a : layout(c).capacity()) left_.append(a);
  }

  bool on_ = false;
  bool any_on_ = false;  ///< this, or parts
  device_parts parts_;
  flat_array<machine_layout> layouts_;   ///< by class
  flat_array<std::uint32_t> at_;         ///< by node: its first amount
  flat_array<std::uint32_t> room_;       ///< by node: how many there is room for
  flat_array<std::int64_t> left_;        ///< amounts of all nodes
  flat_array<std::uint64_t> nics_down_;  ///< by node
  flat_array<task_binding> of_task_;     ///< by task of the store
  flat_array<binding_need> asked_;       ///< likewise
  flat_array<task_binding> held_;        ///< what a search holds, last one last
  std::size_t held_count_ = 0;
  std::size_t holds_ = 0;  ///< room that searches asked for
};

}  // namespace berth::detail
