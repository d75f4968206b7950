#pragma once
/// \file
/// Bodies of `berth/cluster/node_residual.hpp`.

#include "berth/cluster/node_residual.hpp"

namespace berth {

BERTH_INLINE machine_layout::machine_layout(const node_shape& s, cpu_millis cpu, bytes memory)
    : devices_{s.all_devices()} {
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

BERTH_INLINE device_mask machine_layout::near_nic(std::uint64_t working) const noexcept {
  device_mask m = 0;
  for (std::size_t n = 0; n < nics_.size(); ++n)
    if ((working >> n & 1) != 0) m |= nics_[n].devices;
  return m;
}

BERTH_INLINE std::int64_t machine_layout::nic_rate(device_mask set, std::uint64_t working) const noexcept {
  std::int64_t sum = 0;
  for (std::size_t n = 0; n < nics_.size(); ++n)
    if ((working >> n & 1) != 0 && (nics_[n].devices & set) != 0) sum += nics_[n].rate;
  return sum;
}

BERTH_INLINE std::uint64_t machine_layout::nodes_of(device_mask set) const noexcept {
  std::uint64_t out = 0;
  for (std::size_t m = 0; m < numa_.size(); ++m)
    if ((numa_[m] & set) != 0) out |= bit(static_cast<unsigned>(m));
  return out;
}

BERTH_INLINE unsigned machine_layout::fewest_for(std::int64_t amount, std::size_t first) const noexcept {
  for (unsigned k = 1; k <= numa_.size(); ++k) {
    unsigned able = 0;
    for (std::size_t m = 0; m < numa_.size(); ++m) able += capacity_[first + m] >= (amount + k - 1) / k ? 1U : 0U;
    if (able >= k) return k;
  }
  return 0;
}

BERTH_INLINE std::int64_t machine_layout::part(std::int64_t all, std::int64_t own, std::int64_t sum) const noexcept {
  if (sum <= 0) return all / static_cast<std::int64_t>(numa_.size());
  return static_cast<std::int64_t>(static_cast<long double>(all) * static_cast<long double>(own) /
                                   static_cast<long double>(sum));
}

BERTH_INLINE bool machine_layout::is_nested(const node_shape& s) noexcept {
  for (const host_link& a : s.host_links)
    for (const host_link& b : s.host_links) {
      const device_mask both = a.devices & b.devices;
      if (both != 0 && (&a == &b ? false : a.devices == b.devices || (both != a.devices && both != b.devices)))
        return false;
    }
  return true;
}

BERTH_INLINE void machine_layout::give_rest(std::size_t first, std::int64_t all) {
  if (numa_.empty()) return;
  for (std::size_t m = 0; m < numa_.size(); ++m) all -= capacity_[first + m];
  capacity_[first] += all;
}

BERTH_INLINE bool node_residual::admits(const task_shape& t, device_mask set) const noexcept {
  task_binding b;
  return bind(t, set, b);
}

BERTH_INLINE device_mask node_residual::usable(const task_shape& t) const noexcept {
  device_mask m = pool;
  if (t.bind.near_nic) m &= layout->near_nic(nics);
  if (t.bind.host.count() != 0) m &= layout->guaranteed();
  if (t.bind.numa == numa_rule::single_node || t.bind.numa == numa_rule::restricted) m &= layout->homed();
  return m;
}

BERTH_INLINE bool node_residual::bind(const task_shape& t, device_mask set, task_binding& out) const noexcept {
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

BERTH_INLINE bool node_residual::first_fit(const task_shape& t, device_mask& set, task_binding& out) const noexcept {
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

BERTH_INLINE device_mask node_residual::fill(const task_shape& t, device_mask from, unsigned count) const noexcept {
  if (t.bind.host.count() == 0) return lowest_set(from, count);
  device_mask set = 0;
  for (device_mask m = from; m != 0 && count_bits(set) < count; m &= m - 1)
    if (carries(t, set | (m & (~m + 1)))) set |= m & (~m + 1);
  return set;
}

BERTH_INLINE bool node_residual::carries(const task_shape& t, device_mask set) const noexcept {
  const std::int64_t each = t.bind.per_device(t.devices);
  for (std::size_t l = 0; l < layout->links(); ++l)
    if (static_cast<std::int64_t>(count_bits(set & layout->link_devices(l))) * each > left[layout->link_at(l)])
      return false;
  return true;
}

BERTH_INLINE bool node_residual::bind_near(const task_shape& t, device_mask set, task_binding& out) const noexcept {
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

BERTH_INLINE std::uint64_t node_residual::able(std::int64_t amount, unsigned count, std::size_t first,
                                               const task_shape* ratio, device_mask set) const noexcept {
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

BERTH_INLINE std::uint64_t node_residual::pick(unsigned anchor, std::uint64_t homes, std::uint64_t able,
                                               unsigned count) noexcept {
  std::uint64_t out = bit(anchor);
  out |= lowest_set(able & homes & ~out, count - 1);
  return out | lowest_set(able & ~out, count - count_bits(out));
}

}  // namespace berth
