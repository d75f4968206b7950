#pragma once
/// \file
/// Bodies of `berth/topology/graph/compile.hpp`.

#include <algorithm>
#include <utility>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/topology/graph/compile.hpp"
#include "berth/topology/graph/pair_order.hpp"
#include "berth/topology/graph/paths.hpp"

namespace berth::detail {

BERTH_INLINE std::optional<part_id> home_numa(const hardware_graph& g, part_id device) {
  std::vector<part_id> now{device}, seen{device}, next;
  while (!now.empty()) {
    std::optional<part_id> found;
    next.clear();
    for (const auto v : now)
      for (auto [e, end] = boost::out_edges(v, g); e != end; ++e) {
        const auto w = boost::target(*e, g);
        if (g[w].kind == vertex_kind::numa && (!found || w < *found)) found = w;
        if (!is_host_part(g[w].kind) || std::find(seen.begin(), seen.end(), w) != seen.end()) continue;
        seen.push_back(w);
        next.push_back(w);
      }
    if (found) return found;
    std::swap(now, next);
  }
  return std::nullopt;
}

/// Every link on the shortest way from a device to its NUMA node, as built, with the device added to those behind it.
/// The rate is what works now: 0 where all lanes are broken.
BERTH_INLINE void add_host_links(const hardware_graph& g, part_id device, unsigned index, part_id numa,
                                 std::vector<std::pair<std::pair<part_id, part_id>, host_link>>& out) {
  std::vector<part_id> came(boost::num_vertices(g), device), now{device}, next;
  std::vector<char> seen(boost::num_vertices(g));
  seen[device] = 1;
  while (!now.empty() && !seen[numa]) {
    next.clear();
    for (const auto v : now)
      for (auto [e, end] = boost::out_edges(v, g); e != end; ++e) {
        const auto w = boost::target(*e, g);
        if (seen[w] || !is_host_part(g[w].kind) || (g[w].kind == vertex_kind::numa && w != numa)) continue;
        seen[w] = 1;
        came[w] = v;
        next.push_back(w);
      }
    std::swap(now, next);
  }
  for (part_id v = numa; seen[numa] && v != device; v = came[v]) {
    const std::pair<part_id, part_id> ends{came[v], v};
    auto at = std::find_if(out.begin(), out.end(), [&](const auto& l) { return l.first == ends; });
    if (at == out.end()) {
      host_link l{0, gigabytes_per_second{0}};
      for (auto [e, end] = boost::out_edges(ends.first, g); e != end; ++e) {
        if (boost::target(*e, g) != v || !g[*e].healthy || !g[v].healthy || !g[ends.first].healthy) continue;
        if (!g[*e].rate) l.rate.reset();
        else if (l.rate) *l.rate += *g[*e].rate;
      }
      at = out.insert(out.end(), {ends, l});
    }
    at->second.devices |= bit(index);
  }
}

/// Links behind which lie the same devices become one, the slowest; few devices first.
[[nodiscard]] BERTH_INLINE std::vector<host_link> merge_host_links(
    const std::vector<std::pair<std::pair<part_id, part_id>, host_link>>& links) {
  std::vector<host_link> out;
  for (const auto& entry : links) {
    const host_link& l = entry.second;
    const auto same = std::find_if(out.begin(), out.end(), [&](const host_link& o) { return o.devices == l.devices; });
    if (same == out.end()) out.push_back(l);
    else if (!l.rate || !same->rate) same->rate.reset();
    else if (*l.rate < *same->rate) same->rate = l.rate;
  }
  std::sort(out.begin(), out.end(), [](const host_link& a, const host_link& b) {
    const unsigned m = count_bits(a.devices), n = count_bits(b.devices);
    return m != n ? m < n : a.devices < b.devices;
  });
  return out;
}

}  // namespace berth::detail

namespace berth {

BERTH_INLINE expected<node_shape, std::string> compile_shape(const hardware_graph& g) {
  const auto gpus = parts_of(g, vertex_kind::gpu);
  if (gpus.size() > max_devices_per_node)
    return unexpected{"\"" + g[boost::graph_bundle].name + "\" has " + std::to_string(gpus.size()) +
                      " GPUs; a machine has at most " + std::to_string(max_devices_per_node)};
  node_shape s;
  s.name = g[boost::graph_bundle].name;
  s.devices = static_cast<unsigned>(gpus.size());
  s.bandwidth = bandwidth_table{s.devices};
  const path_finder finder{g};
  for (unsigned a = 0; a < s.devices; ++a) {
    s.models.push_back(g[gpus[a]].model);
    for (unsigned b = a + 1; b < s.devices; ++b) s.bandwidth.set(a, b, finder.between(gpus[a], gpus[b]).bandwidth);
  }
  order_unknown_pairs(g, gpus, s.bandwidth);

  const auto on_numa = [&](std::optional<part_id> numa) {
    device_mask m = 0;
    for (unsigned a = 0; a < s.devices; ++a)
      if (numa && detail::home_numa(g, gpus[a]) == numa) m |= bit(a);
    return m;
  };
  const auto under = [&](part_id v) {
    device_mask m = 0;
    for (auto [e, end] = boost::out_edges(v, g); e != end; ++e)
      for (unsigned a = 0; a < s.devices; ++a)
        if (boost::target(*e, g) == gpus[a]) m |= bit(a);
    return m;
  };
  for (const auto v : parts_of(g, vertex_kind::numa)) {
    s.numa.push_back({on_numa(v), g[v].cpu.value_or(cpu_millis{}), bytes{}});
    s.cpu += s.numa.back().cpu;
  }
  for (const auto v : parts_of(g, vertex_kind::pcie_switch))
    if (const device_mask m = under(v); m != 0) s.pcie_switches.push_back(m);
  for (const auto v : parts_of(g, vertex_kind::nic)) {
    nic_shape n;
    // The nearest GPUs over PCIe switches alone: a switch may be several in a row.
    std::vector<part_id> now{v}, seen{v}, next;
    while (n.devices == 0 && !now.empty()) {
      next.clear();
      for (const auto from : now)
        for (auto [e, end] = boost::out_edges(from, g); e != end; ++e) {
          const auto w = boost::target(*e, g);
          if (g[w].kind != vertex_kind::pcie_switch || std::find(seen.begin(), seen.end(), w) != seen.end()) continue;
          seen.push_back(w);
          next.push_back(w);
          n.devices |= under(w);
        }
      std::swap(now, next);
    }
    if (n.devices == 0) n.devices = on_numa(detail::home_numa(g, v));
    n.rate = g[v].rate;
    n.rail = g[v].rail;
    s.nics.push_back(n);
  }
  std::vector<std::pair<std::pair<part_id, part_id>, host_link>> links;
  for (unsigned a = 0; a < s.devices; ++a)
    if (const auto home = detail::home_numa(g, gpus[a])) detail::add_host_links(g, gpus[a], a, *home, links);
  s.host_links = detail::merge_host_links(links);
  const auto numas = parts_of(g, vertex_kind::numa);
  s.numa_bandwidth = bandwidth_table{static_cast<unsigned>(numas.size())};
  for (unsigned a = 0; a < numas.size(); ++a)
    for (unsigned b = a + 1; b < numas.size(); ++b)
      s.numa_bandwidth.set(a, b, finder.between(numas[a], numas[b]).bandwidth);
  return s;
}

}  // namespace berth
