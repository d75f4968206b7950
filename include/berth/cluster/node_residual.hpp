#pragma once
/// \file
/// What is left inside one node beyond what its masks say: CPU and memory per NUMA node, bandwidth on the links between
/// devices and NUMA nodes, working network cards; and whether a set of devices satisfies a `binding_need` there.
///
/// Shape    `machine_layout` is compiled once per kind of node; `node_residual` is a view of one node's state.
/// Cost     `admits` and `bind` O(NUMA nodes + links); nothing here allocates but `machine_layout`.
/// Unknown  a link of unknown rate guarantees nothing; a machine without NUMA nodes satisfies neither `restricted` nor
///          `single_node`.

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "berth/cluster/task_binding.hpp"
#include "berth/cluster/task_shape.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"
#include "berth/core/units.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth {

/// The inside of one kind of node as flat tables. The machine's schedulable CPU is shared out over its NUMA nodes in
/// proportion to theirs, memory likewise, or evenly where the shape does not say; what does not divide goes to the
/// first.
class machine_layout {
 public:
  machine_layout() = default;
  /// `cpu` and `memory` are the schedulable totals of a node of this shape. O(links + NICs + devices × NUMA nodes).
  machine_layout(const node_shape& s, cpu_millis cpu, bytes memory);

  static constexpr std::uint8_t none = 255;

  /// Amounts of state per node: CPU by NUMA node, memory by NUMA node, bytes per second by link.
  [[nodiscard]] std::size_t amounts() const noexcept { return capacity_.size(); }
  /// The amounts of an empty node.
  [[nodiscard]] const flat_array<std::int64_t>& capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t numa_nodes() const noexcept { return numa_.size(); }
  [[nodiscard]] device_mask numa_devices(std::size_t m) const noexcept { return numa_[m]; }
  [[nodiscard]] std::size_t memory_at(std::size_t m) const noexcept { return numa_.size() + m; }
  [[nodiscard]] std::size_t links() const noexcept { return links_.size(); }
  [[nodiscard]] device_mask link_devices(std::size_t l) const noexcept { return links_[l]; }
  [[nodiscard]] std::size_t link_at(std::size_t l) const noexcept { return 2 * numa_.size() + l; }
  /// Devices for which bandwidth to the host can be promised: every link on their way is known.
  [[nodiscard]] device_mask guaranteed() const noexcept { return guaranteed_; }
  /// Devices whose NUMA node is known.
  [[nodiscard]] device_mask homed() const noexcept { return homed_; }
  [[nodiscard]] device_mask devices() const noexcept { return devices_; }
  /// The fewest NUMA nodes that hold so many devices of the machine; `none`: there are not as many.
  [[nodiscard]] std::uint8_t fewest_nodes(unsigned devices) const noexcept { return fewest_[devices]; }
  /// Devices beside a NIC of the compute fabric, of those in `working`.
  [[nodiscard]] device_mask near_nic(std::uint64_t working) const noexcept;
  /// Bytes per second of the working NICs of the compute fabric beside any of `set`.
  [[nodiscard]] std::int64_t nic_rate(device_mask set, std::uint64_t working) const noexcept;
  [[nodiscard]] std::size_t nics() const noexcept { return nics_.size(); }
  /// A device's share of the CPUs, in millis.
  [[nodiscard]] std::int64_t cpu_share() const noexcept { return share_; }
  /// NUMA nodes of a set of devices.
  [[nodiscard]] std::uint64_t nodes_of(device_mask set) const noexcept;
  /// The fewest NUMA nodes of an empty machine that give `amount` in equal parts; 0: none do. `first` is 0 for CPU,
  /// `memory_at(0)` for memory.
  [[nodiscard]] unsigned fewest_for(std::int64_t amount, std::size_t first) const noexcept;

 private:
  struct card {
    device_mask devices = 0;
    std::int64_t rate = 0;
  };
  [[nodiscard]] std::int64_t part(std::int64_t all, std::int64_t own, std::int64_t sum) const noexcept;
  /// One behind the other, or apart; anything else is no description of links.
  [[nodiscard]] static bool is_nested(const node_shape& s) noexcept;
  /// What the parts of an amount, which start at `first`, leave over goes to the first.
  void give_rest(std::size_t first, std::int64_t all);

  device_mask devices_ = 0, homed_ = 0, guaranteed_ = 0;
  flat_array<device_mask> numa_, links_;
  flat_array<card> nics_;
  flat_array<std::int64_t> capacity_;
  flat_array<std::uint8_t> fewest_;
  std::int64_t share_ = 0;
};

/// One node's state as a `binding_need` sees it. A view: `left` belongs to whoever keeps the state.
struct node_residual {
  const machine_layout* layout = nullptr;
  const std::int64_t* left = nullptr;      ///< `layout->amounts()` of them
  std::uint64_t nics = ~std::uint64_t{0};  ///< working NICs, by index in the shape
  device_mask free = 0;                    ///< all free devices of the node
  device_mask pool = 0;                    ///< those that may serve the task
  cpu_millis cpu{};                        ///< free on the node, bound or not
  bytes memory{};

  /// Whether a task of this shape may have exactly these devices now. \pre set is part of `pool`, count as asked
  [[nodiscard]] bool admits(const task_shape& t, device_mask set) const noexcept;
  /// Devices that may serve the task at all, as far as one device alone can tell.
  [[nodiscard]] device_mask usable(const task_shape& t) const noexcept;
  /// As `admits`, and what would be reserved. `best_effort` reserves what `restricted` would, or nothing near.
  [[nodiscard]] bool bind(const task_shape& t, device_mask set, task_binding& out) const noexcept;

  /// A feasible set of `t.devices` devices, lowest numbers first, and its binding. False: there is none.
  /// Exact: links behind which lie more devices than they carry are filled as far as they go, and on no NUMA nodes but
  /// those of one choice. O(choices of NUMA nodes × devices × links); a choice is one node but where a machine needs
  /// more.
  [[nodiscard]] bool first_fit(const task_shape& t, device_mask& set, task_binding& out) const noexcept;
  /// Devices out of `from` in ascending order as far as links carry them, at most `count`.
  [[nodiscard]] device_mask fill(const task_shape& t, device_mask from, unsigned count) const noexcept;
  /// Whether the links have room for the share of each of `set`. \pre t asks for bandwidth
  [[nodiscard]] bool carries(const task_shape& t, device_mask set) const noexcept;

  /// Calls `f(devices)` for every number of devices that each NUMA node may give, as far as links carry them.
  template <class F>
  bool each_split(const task_shape& t, device_mask from, std::size_t m, device_mask chosen, F&& f) const {
    const unsigned have = count_bits(chosen);
    if (have == t.devices) return f(chosen);
    if (m == layout->numa_nodes()) return false;
    for (unsigned part = t.devices - have;; --part) {
      const device_mask here = fill(t, from & layout->numa_devices(m), part);
      if (count_bits(here) == part && each_split(t, from, m + 1, chosen | here, f)) return true;
      if (part == 0) return false;
    }
  }
  /// Calls `f(devices)` for every choice of `nodes` NUMA nodes that have devices of `all` until it says true.
  template <class F>
  bool each_choice(unsigned nodes, device_mask all, std::size_t from, device_mask chosen, F&& f) const {
    if (nodes == 0) return f(chosen);
    for (std::size_t m = from; m + nodes <= layout->numa_nodes(); ++m)
      if ((layout->numa_devices(m) & all) != 0 &&
          each_choice(nodes - 1, all, m + 1, chosen | (layout->numa_devices(m) & all), f))
        return true;
    return false;
  }

 private:
  /// CPU and memory near the devices, as `restricted` (also for `best_effort`) or `single_node` say.
  [[nodiscard]] bool bind_near(const task_shape& t, device_mask set, task_binding& out) const noexcept;
  /// NUMA nodes that can give their part of `amount` over `count` nodes.
  [[nodiscard]] std::uint64_t able(std::int64_t amount, unsigned count, std::size_t first, const task_shape* ratio,
                                   device_mask set) const noexcept;
  /// `count` of `able`: the anchor, then the devices' own nodes, then the lowest.
  [[nodiscard]] static std::uint64_t pick(unsigned anchor, std::uint64_t homes, std::uint64_t able,
                                          unsigned count) noexcept;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/node_residual.hpp"
#endif
