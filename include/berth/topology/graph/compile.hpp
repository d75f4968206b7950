#pragma once
/// \file
/// From the hardware graph of one machine to its flat `node_shape`.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/core/expected.hpp"
#include "berth/topology/graph/paths.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth {

namespace detail {

/// The NUMA node that a device hangs on: the nearest one over PCIe switches, sockets and direct links, as built; lowest
/// id first. Empty: none.
[[nodiscard]] inline std::optional<part_id> home_numa(const hardware_graph& g, part_id device) {
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

}  // namespace detail

/// Compiles a machine's graph: device i is its i-th GPU. What is near what (NUMA nodes, PCIe switches, NICs) is taken
/// as built; bandwidth is what works now, so that a pair with a broken device has none. Memory is not in the graph and
/// stays 0. O(n^2) path queries. Errors, in words: more GPUs than a machine may have (such as a whole rack).
[[nodiscard]] inline expected<node_shape, std::string> compile_shape(const hardware_graph& g) {
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
    for (auto [e, end] = boost::out_edges(v, g); e != end; ++e)
      if (g[boost::target(*e, g)].kind == vertex_kind::pcie_switch) n.devices |= under(boost::target(*e, g));
    if (n.devices == 0) n.devices = on_numa(detail::home_numa(g, v));
    n.rate = g[v].rate;
    n.rail = g[v].rail;
    s.nics.push_back(n);
  }
  return s;
}

}  // namespace berth
