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
  machine_layout(const node_shape& s, cpu_millis cpu, bytes memory) : devices_{s.all_devices()} {
    if (s.numa.size() <= 64)
      for (const numa_shape& m : s.numa) numa_.append(m.devices);
    std::int64_t cpus_known = 0, memory_known = 0;
    for (const numa_shape& m : s.numa) cpus_known += m.cpu.count(), memory_known += m.memory.count();
    for (std::size_t m = 0; m < numa_.size(); ++m) {
      capacity_.append(part(cpu.count(), s.numa[m].cpu.count(), cpus_known));
    }
    give_rest(0, cpu.count());
    for (std::size_t m = 0; m < numa_.size(); ++m)
      capacity_.append(part(memory.count(), s.numa[m].memory.count(), memory_known));
    give_rest(numa_.size(), memory.count());
    device_mask known = 0, unknown = 0;
    const bool nested = is_nested(s);
    for (const host_link& l : s.host_links) {
      if (!nested) break;
      (l.rate ? known : unknown) |= l.devices;
      links_.append(l.devices);
      capacity_.append(l.rate ? static_cast<std::int64_t>(l.rate->count() * 1e9) : 0);
    }
    guaranteed_ = known & ~unknown;
    bool rails = false;
    for (const nic_shape& n : s.nics) rails = rails || n.rail;
    for (std::size_t n = 0; n < s.nics.size() && n < 64; ++n)
      nics_.append({!rails || s.nics[n].rail ? s.nics[n].devices : 0,
                    s.nics[n].rate ? static_cast<std::int64_t>(s.nics[n].rate->count() * 1e9) : 0});
    for (const device_mask m : numa_) homed_ |= m;
    // The fewest NUMA nodes that hold k devices: those with most first.
    device_mask open = low_bits(static_cast<unsigned>(numa_.size()));
    for (unsigned k = 0, nodes = 0, reach = 0; k <= max_devices_per_node; ++k) {
      while (reach < k && open != 0) {
        unsigned most = lowest_bit(open);
        for_each_bit(open, [&](unsigned m) { most = count_bits(numa_[m]) > count_bits(numa_[most]) ? m : most; });
        reach += count_bits(numa_[most]);
        open &= ~bit(most);
        ++nodes;
      }
      fewest_.append(reach >= k ? static_cast<std::uint8_t>(nodes) : none);
    }
    if (s.devices != 0) share_ = cpu.count() / s.devices;
  }

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
  [[nodiscard]] device_mask near_nic(std::uint64_t working) const noexcept {
    device_mask m = 0;
    for (std::size_t n = 0; n < nics_.size(); ++n)
      if ((working >> n & 1) != 0) m |= nics_[n].devices;
    return m;
  }
  /// Bytes per second of the working NICs of the compute fabric beside any of `set`.
  [[nodiscard]] std::int64_t nic_rate(device_mask set, std::uint64_t working) const noexcept {
    std::int64_t sum = 0;
    for (std::size_t n = 0; n < nics_.size(); ++n)
      if ((working >> n & 1) != 0 && (nics_[n].devices & set) != 0) sum += nics_[n].rate;
    return sum;
  }
  [[nodiscard]] std::size_t nics() const noexcept { return nics_.size(); }
  /// A device's share of the CPUs, in millis.
  [[nodiscard]] std::int64_t cpu_share() const noexcept { return share_; }
  /// NUMA nodes of a set of devices.
  [[nodiscard]] std::uint64_t nodes_of(device_mask set) const noexcept {
    std::uint64_t out = 0;
    for (std::size_t m = 0; m < numa_.size(); ++m)
      if ((numa_[m] & set) != 0) out |= bit(static_cast<unsigned>(m));
    return out;
  }
  /// The fewest NUMA nodes of an empty machine that give `amount` in equal parts; 0: none do. `first` is 0 for CPU,
  /// `memory_at(0)` for memory.
  [[nodiscard]] unsigned fewest_for(std::int64_t amount, std::size_t first) const noexcept {
    for (unsigned k = 1; k <= numa_.size(); ++k) {
      unsigned able = 0;
      for (std::size_t m = 0; m < numa_.size(); ++m) able += capacity_[first + m] >= (amount + k - 1) / k ? 1U : 0U;
      if (able >= k) return k;
    }
    return 0;
  }

 private:
  struct card {
    device_mask devices = 0;
    std::int64_t rate = 0;
  };
  [[nodiscard]] std::int64_t part(std::int64_t all, std::int64_t own, std::int64_t sum) const noexcept {
    if (sum <= 0) return all / static_cast<std::int64_t>(numa_.size());
    return static_cast<std::int64_t>(static_cast<long double>(all) * static_cast<long double>(own) /
                                     static_cast<long double>(sum));
  }
  /// One behind the other, or apart; anything else is no description of links.
  [[nodiscard]] static bool is_nested(const node_shape& s) noexcept {
    for (const host_link& a : s.host_links)
      for (const host_link& b : s.host_links) {
        const device_mask both = a.devices & b.devices;
        if (both != 0 && (&a == &b ? false : a.devices == b.devices || (both != a.devices && both != b.devices)))
          return false;
      }
    return true;
  }
  /// What the parts of an amount, which start at `first`, leave over goes to the first.
  void give_rest(std::size_t first, std::int64_t all) {
    if (numa_.empty()) return;
    for (std::size_t m = 0; m < numa_.size(); ++m) all -= capacity_[first + m];
    capacity_[first] += all;
  }

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
  [[nodiscard]] bool admits(const task_shape& t, device_mask set) const noexcept {
    task_binding b;
    return bind(t, set, b);
  }
  /// Devices that may serve the task at all, as far as one device alone can tell.
  [[nodiscard]] device_mask usable(const task_shape& t) const noexcept {
    device_mask m = pool;
    if (t.bind.near_nic) m &= layout->near_nic(nics);
    if (t.bind.host.count() != 0) m &= layout->guaranteed();
    if (t.bind.numa == numa_rule::single_node || t.bind.numa == numa_rule::restricted) m &= layout->homed();
    return m;
  }
  /// As `admits`, and what would be reserved. `best_effort` reserves what `restricted` would, or nothing near.
  [[nodiscard]] bool bind(const task_shape& t, device_mask set, task_binding& out) const noexcept {
    out = {};
    if (cpu < t.cpu || memory < t.memory || (set & ~usable(t)) != 0) return false;
    if (t.bind.host.count() != 0) {
      out.host_per_device = t.bind.per_device(t.devices);
      for (std::size_t l = 0; l < layout->links(); ++l)
        if (static_cast<std::int64_t>(count_bits(set & layout->link_devices(l))) * out.host_per_device >
            left[layout->link_at(l)])
          return false;
    }
    const auto share = layout->cpu_share();
    const bool modest = !t.bind.keep_ratio || t.cpu.count() <= share * static_cast<std::int64_t>(t.devices);
    if (!modest && (cpu - t.cpu).count() < share * static_cast<std::int64_t>(count_bits(free & ~set))) return false;
    if (t.bind.numa == numa_rule::none || bind_near(t, set, out)) return true;
    out.cpu_nodes = out.memory_nodes = 0;
    return t.bind.numa == numa_rule::best_effort;
  }

  /// A feasible set of `t.devices` devices, lowest numbers first, and its binding. False: there is none.
  /// Exact: links behind which lie more devices than they carry are filled as far as they go, and on no NUMA nodes but
  /// those of one choice. O(choices of NUMA nodes × devices × links); a choice is one node but where a machine needs
  /// more.
  [[nodiscard]] bool first_fit(const task_shape& t, device_mask& set, task_binding& out) const noexcept {
    const device_mask all = usable(t);
    const auto attempt = [&](device_mask from) noexcept {
      set = fill(t, from, t.devices);
      return count_bits(set) == t.devices && bind(t, set, out);
    };
    if (t.bind.numa == numa_rule::none || t.devices == 0) return attempt(all);
    const unsigned nodes = t.bind.numa == numa_rule::single_node ? 1U : layout->fewest_nodes(t.devices);
    // Which shares of CPUs have to be left depends on how many devices each NUMA node gives.
    const auto any_split = [&](device_mask from) noexcept {
      return attempt(from) || (t.bind.keep_ratio && nodes > 1 && each_split(t, from, 0, 0, attempt));
    };
    if (nodes != machine_layout::none && each_choice(nodes, all, 0, 0, any_split)) return true;
    return t.bind.numa == numa_rule::best_effort && attempt(all);
  }
  /// Devices out of `from` in ascending order as far as links carry them, at most `count`.
  [[nodiscard]] device_mask fill(const task_shape& t, device_mask from, unsigned count) const noexcept {
    if (t.bind.host.count() == 0) return lowest_set(from, count);
    device_mask set = 0;
    for (device_mask m = from; m != 0 && count_bits(set) < count; m &= m - 1)
      if (carries(t, set | (m & (~m + 1)))) set |= m & (~m + 1);
    return set;
  }
  /// Whether the links have room for the share of each of `set`. \pre t asks for bandwidth
  [[nodiscard]] bool carries(const task_shape& t, device_mask set) const noexcept {
    const std::int64_t each = t.bind.per_device(t.devices);
    for (std::size_t l = 0; l < layout->links(); ++l)
      if (static_cast<std::int64_t>(count_bits(set & layout->link_devices(l))) * each > left[layout->link_at(l)])
        return false;
    return true;
  }

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
  [[nodiscard]] bool bind_near(const task_shape& t, device_mask set, task_binding& out) const noexcept {
    const machine_layout& y = *layout;
    if (y.numa_nodes() == 0 || (set & ~y.homed()) != 0) return false;
    const std::uint64_t all = low_bits(static_cast<unsigned>(y.numa_nodes()));
    const std::uint64_t homes = set == 0 ? all : y.nodes_of(set);
    unsigned cpu_count = 1, memory_count = 1;
    if (t.bind.numa == numa_rule::single_node) {
      if (set != 0 && count_bits(homes) != 1) return false;
    } else {
      if (set != 0 && count_bits(homes) != y.fewest_nodes(t.devices)) return false;
      if (t.cpu.count() != 0) cpu_count = y.fewest_for(t.cpu.count(), 0);
      if (t.memory.count() != 0) memory_count = y.fewest_for(t.memory.count(), y.memory_at(0));
      if (cpu_count == 0 || memory_count == 0) return false;
    }
    const std::uint64_t cpu_able = able(t.cpu.count(), cpu_count, 0, t.bind.keep_ratio ? &t : nullptr, set),
                        memory_able = able(t.memory.count(), memory_count, y.memory_at(0), nullptr, set);
    const std::uint64_t common = homes & cpu_able & memory_able;
    if (common == 0 || count_bits(cpu_able) < cpu_count || count_bits(memory_able) < memory_count) return false;
    // Among several, the node with the least CPU left that suffices: others stay whole.
    unsigned anchor = lowest_bit(common);
    for_each_bit(common, [&](unsigned m) { anchor = left[m] < left[anchor] ? m : anchor; });
    if (t.cpu.count() != 0) out.cpu_nodes = pick(anchor, homes, cpu_able, cpu_count);
    if (t.memory.count() != 0) out.memory_nodes = pick(anchor, homes, memory_able, memory_count);
    return true;
  }
  /// NUMA nodes that can give their part of `amount` over `count` nodes.
  [[nodiscard]] std::uint64_t able(std::int64_t amount, unsigned count, std::size_t first, const task_shape* ratio,
                                   device_mask set) const noexcept {
    const std::int64_t need = (amount + count - 1) / count;
    std::uint64_t out = 0;
    for (std::size_t m = 0; m < layout->numa_nodes(); ++m) {
      const device_mask here = layout->numa_devices(m);
      bool ok = left[first + m] >= need;
      if (ok && ratio != nullptr && here != 0 && amount != 0) {
        const std::int64_t share = layout->capacity()[first + m] / static_cast<std::int64_t>(count_bits(here));
        ok = need <= share * static_cast<std::int64_t>(count_bits(here & set)) ||
             left[first + m] - need >= share * static_cast<std::int64_t>(count_bits(here & free & ~set));
      }
      if (ok) out |= bit(static_cast<unsigned>(m));
    }
    return out;
  }
  /// `count` of `able`: the anchor, then the devices' own nodes, then the lowest.
  [[nodiscard]] static std::uint64_t pick(unsigned anchor, std::uint64_t homes, std::uint64_t able,
                                          unsigned count) noexcept {
    std::uint64_t out = bit(anchor);
    out |= lowest_set(able & homes & ~out, count - 1);
    return out | lowest_set(able & ~out, count - count_bits(out));
  }
};

}  // namespace berth
