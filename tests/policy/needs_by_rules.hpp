#pragma once
/// \file
/// What a task may ask of the inside of its node, written from its meaning and not with the library's code; nodes in
/// random states, as the library sees them and as those rules do.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "berth/cluster/node_count.hpp"
#include "berth/cluster/node_residual.hpp"
#include "berth/core/random.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth_test {

using namespace berth;

/// Whether a set may serve the task; written from the meaning of `binding_need`, not with the library's code. The plain
/// description of one node's state.
struct plain_node {
  const node_shape* shape;
  std::int64_t cpu_total, memory_total;
  std::vector<std::int64_t> numa_cpu, numa_memory, numa_cpu_all, numa_memory_all, link;  // link: -1 unknown
  std::vector<bool> nic_works;
  device_mask free, pool;
  std::int64_t cpu, memory;
};

[[nodiscard]] inline unsigned home(const node_shape& s, unsigned d) {
  for (unsigned m = 0; m < s.numa.size(); ++m)
    if ((s.numa[m].devices >> d & 1) != 0) return m;
  return 999;
}

/// The fewest of `amounts` that give `need` in equal parts.
[[nodiscard]] inline unsigned fewest(const std::vector<std::int64_t>& amounts, std::int64_t need) {
  for (unsigned k = 1; k <= amounts.size(); ++k)
    if (std::count_if(amounts.begin(), amounts.end(), [&](std::int64_t a) { return a * k >= need; }) >= k) return k;
  return 0;
}

[[nodiscard]] inline bool allowed(const plain_node& n, const task_shape& t, device_mask set, numa_rule rule) {
  const node_shape& s = *n.shape;
  const auto k = static_cast<std::int64_t>(count_bits(set));
  if ((set & ~n.pool) != 0 || n.cpu < t.cpu.count() || n.memory < t.memory.count()) return false;
  bool rails = false;
  for (const auto& c : s.nics) rails = rails || c.rail.has_value();
  for (unsigned d = 0; d < s.devices; ++d) {
    if ((set >> d & 1) == 0) continue;
    if (t.bind.near_nic) {
      bool any = false;
      for (std::size_t c = 0; c < s.nics.size(); ++c)
        any = any || (n.nic_works[c] && (!rails || s.nics[c].rail) && (s.nics[c].devices >> d & 1) != 0);
      if (!any) return false;
    }
    if (t.bind.host.count() != 0) {
      bool behind = false;
      for (std::size_t l = 0; l < s.host_links.size(); ++l) {
        if ((s.host_links[l].devices >> d & 1) == 0) continue;
        behind = true;
        if (n.link[l] < 0) return false;
      }
      if (!behind) return false;
    }
  }
  if (t.bind.host.count() != 0)
    for (std::size_t l = 0; l < s.host_links.size(); ++l) {
      const std::int64_t each = (t.bind.host.count() + k - 1) / k;
      if (count_bits(set & s.host_links[l].devices) * each > n.link[l] && (set & s.host_links[l].devices) != 0)
        return false;
    }
  if (t.bind.keep_ratio) {
    const std::int64_t share = n.cpu_total / s.devices;
    if (t.cpu.count() > share * k &&
        n.cpu - t.cpu.count() < share * static_cast<std::int64_t>(count_bits(n.free & ~set)))
      return false;
  }
  if (rule == numa_rule::none) return true;

  std::vector<unsigned> homes;
  for (unsigned d = 0; d < s.devices; ++d) {
    if ((set >> d & 1) == 0) continue;
    const unsigned h = home(s, d);
    if (h == 999) return false;
    if (std::find(homes.begin(), homes.end(), h) == homes.end()) homes.push_back(h);
  }
  unsigned need_devices = 1, need_cpu = 1, need_memory = 1;
  if (rule == numa_rule::restricted) {
    std::vector<unsigned> sizes;
    for (const auto& m : s.numa) sizes.push_back(count_bits(m.devices));
    std::sort(sizes.rbegin(), sizes.rend());
    need_devices = 0;
    for (unsigned have = 0; have < k; ++need_devices) have += sizes[need_devices];
    if (t.cpu.count() != 0) need_cpu = fewest(n.numa_cpu_all, t.cpu.count());
    if (t.memory.count() != 0) need_memory = fewest(n.numa_memory_all, t.memory.count());
    if (need_cpu == 0 || need_memory == 0) return false;
  }
  if (homes.size() != need_devices) return false;
  const auto gives_cpu = [&](unsigned m) {
    if (n.numa_cpu[m] * need_cpu < t.cpu.count()) return false;
    const device_mask here = s.numa[m].devices;
    if (!t.bind.keep_ratio || t.cpu.count() == 0 || here == 0) return true;
    const std::int64_t share = n.numa_cpu_all[m] / count_bits(here), part = (t.cpu.count() + need_cpu - 1) / need_cpu;
    return part <= share * count_bits(here & set) ||
           n.numa_cpu[m] - part >= share * static_cast<std::int64_t>(count_bits(here & n.free & ~set));
  };
  const auto gives_memory = [&](unsigned m) { return n.numa_memory[m] * need_memory >= t.memory.count(); };
  unsigned cpu_nodes = 0, memory_nodes = 0;
  for (unsigned m = 0; m < s.numa.size(); ++m) cpu_nodes += gives_cpu(m), memory_nodes += gives_memory(m);
  if (cpu_nodes < need_cpu || memory_nodes < need_memory) return false;
  return std::any_of(homes.begin(), homes.end(), [&](unsigned m) { return gives_cpu(m) && gives_memory(m); });
}

/// A node in a random state, as the library sees it and as the rules do.
struct random_node {
  machine_layout layout;
  flat_array<std::int64_t> left;
  node_residual seen;
  plain_node plain;

  random_node(const node_shape& s, random_source& r) : layout{s, s.cpu, s.memory}, left{layout.capacity()} {
    for (auto& a : left)
      if (r.below(3) == 0) a = static_cast<std::int64_t>(static_cast<double>(a) / 8 * static_cast<double>(r.below(9)));
    plain = {&s, s.cpu.count(), s.memory.count(), {}, {}, {}, {}, {}, {}, 0, 0, s.cpu.count(), s.memory.count()};
    if (r.below(4) == 0) plain.cpu = plain.cpu / 3 * 2;
    std::uint64_t nics = ~std::uint64_t{0};
    for (unsigned c = 0; c < s.nics.size(); ++c) {
      plain.nic_works.push_back(r.below(5) != 0);
      if (!plain.nic_works.back()) nics &= ~bit(c);
    }
    for (std::size_t m = 0; m < s.numa.size(); ++m) {
      plain.numa_cpu.push_back(left[m]);
      plain.numa_memory.push_back(left[layout.memory_at(m)]);
      plain.numa_cpu_all.push_back(layout.capacity()[m]);
      plain.numa_memory_all.push_back(layout.capacity()[layout.memory_at(m)]);
    }
    for (std::size_t l = 0; l < s.host_links.size(); ++l)
      plain.link.push_back(s.host_links[l].rate ? left[layout.link_at(l)] : -1);
    seen = {&layout, left.data(), nics, 0, 0, cpu_millis{plain.cpu}, bytes{plain.memory}};
  }
  random_node(const random_node&) = delete;
  random_node& operator=(const random_node&) = delete;
  void offer(device_mask free, device_mask pool) {
    seen.free = plain.free = free;
    seen.pool = plain.pool = pool;
  }
};

[[nodiscard]] inline task_shape random_task(const node_shape& s, random_source& r, unsigned devices) {
  task_shape t;
  t.devices = devices;
  const auto share = s.cpu.count() / s.devices;
  if (r.below(3) != 0) t.cpu = cpu_millis{share * static_cast<std::int64_t>(r.between(1, 2 * devices + 1)) / 2 + 1};
  if (r.below(3) == 0) t.memory = bytes{s.memory.count() / 16 * static_cast<std::int64_t>(r.between(1, devices + 2))};
  t.bind.numa = static_cast<numa_rule>(r.below(4));
  t.bind.near_nic = r.below(3) == 0;
  t.bind.keep_ratio = r.below(4) == 0;
  if (r.below(3) == 0)
    t.bind.host = bytes_per_second{static_cast<std::int64_t>(r.between(1, 8 * devices)) * 2'500'000'001};
  return t;
}

}  // namespace berth_test
