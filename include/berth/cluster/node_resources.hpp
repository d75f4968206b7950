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
#include "berth/core/separate.hpp"
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
                    std::span<const node_shape> shapes, std::span<const node_state> nodes, unsigned ranks);
  /// Whether this is kept at all that a shape asks for.
  [[nodiscard]] bool serves(const task_shape& t) const noexcept {
    return t.part.asks() ? parts_.is_on() && (on_ || !t.part.near_nic()) : on_ || !t.bind.asks();
  }

  /// Switches the table on: every node empty inside. O(nodes). \pre no task is committed, or none has needs
  void enable(std::span<const node_class> classes, std::span<const node_shape> shapes,
              std::span<const node_state> nodes);
  /// As if it had never been on: for copies that follow node states, which say nothing of the inside.
  void disable() noexcept;
  /// Room for the bindings of so many tasks of the store.
  void reserve_tasks(std::size_t slots);
  /// Room for tasks held by a search at once.
  void reserve_holds(std::size_t tasks);
  /// Learns classes made since.
  void add_classes(std::span<const node_class> classes, std::span<const node_shape> shapes);
  /// A node was put in, or taken out, and is empty. \pre its class is known
  void replace(std::uint32_t n, class_id c);

  [[nodiscard]] const machine_layout& layout(class_id c) const noexcept { return layouts_[c.index()]; }
  /// The amounts left on a node, in the order of its layout.
  [[nodiscard]] const std::int64_t* left(std::uint32_t n) const noexcept { return left_.data() + at_[n]; }
  /// The state of one node, with `pool` as the devices that may serve.
  [[nodiscard]] node_residual residual(std::uint32_t n, const node_state& s, device_mask pool) const noexcept {
    return {&layout(s.node_class), left(n), ~nics_down_[n], s.free, pool, s.cpu, s.memory};
  }
  /// How many tasks of a shape with needs fit on a node, at most `limit`.
  [[nodiscard]] std::uint32_t count(std::uint32_t n, const node_state& s, device_mask pool, const task_shape& t,
                                    std::uint32_t limit) const noexcept;
  /// The same for an empty node of a class with working NICs. For parts: with the switches of node `n`.
  [[nodiscard]] std::uint32_t potential(std::uint32_t n, const node_class& c, class_id id, device_mask installed,
                                        device_mask pool, const task_shape& t, std::uint32_t limit) const noexcept;
  /// Whether two nodes of one class are alike inside.
  [[nodiscard]] bool equal(std::uint32_t a, std::uint32_t b, class_id c) const noexcept;

  /// Reserves for a task that is committed as task `slot` of the store, or nothing where it cannot be.
  /// \param s  the node before the task
  [[nodiscard]] bool take(std::uint32_t slot, std::uint32_t n, const node_state& s, const task_shape& t,
                          device_mask devices) noexcept;
  /// Gives back, or (`sign` -1) takes again, what task `slot` reserved.
  void give(std::uint32_t slot, std::uint32_t n, class_id c, cpu_millis cpu, bytes memory, device_mask devices,
            std::int64_t sign = 1) noexcept;
  [[nodiscard]] const task_binding& binding(std::uint32_t slot) const noexcept { return of_task_[slot]; }
  /// What a task that is committed as task `slot` asked for; nothing where the table is off.
  [[nodiscard]] binding_need asked(std::uint32_t slot) const noexcept { return on_ ? asked_[slot] : binding_need{}; }

  /// For searches: reserves for a moment; `unhold` takes back, last first. \pre it fits, room for one more
  void hold(std::uint32_t n, const node_state& s, const task_shape& t, device_mask devices) noexcept;
  void unhold(std::uint32_t n, class_id c, const task_shape& t, device_mask devices) noexcept {
    apply(n, c, held_[--held_count_], t.cpu, t.memory, devices, 1);
  }

  /// As if nothing were reserved on a node and all its NICs worked.
  void clear(std::uint32_t n, class_id c) noexcept;
  [[nodiscard]] std::uint64_t nics_down(std::uint32_t n) const noexcept { return nics_down_[n]; }
  void set_nics_down(std::uint32_t n, class_id c, std::uint64_t mask) noexcept;

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
  [[nodiscard]] std::size_t memory() const noexcept;

 private:
  /// Parts look at NICs too, and keep what they need of them.
  void tell_near_nic(std::uint32_t n, class_id c) noexcept {
    if (on_ && parts_.is_on()) parts_.set_near_nic(n, layout(c).near_nic(~nics_down_[n]));
  }
  void apply(std::uint32_t n, class_id c, const task_binding& b, cpu_millis cpu, bytes memory, device_mask devices,
             std::int64_t sign) noexcept;
  void add_amounts(std::uint32_t n, class_id c);

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

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/node_resources.hpp"
#endif
