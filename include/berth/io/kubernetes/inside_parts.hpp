#pragma once
/// \file
/// The devices of one machine as cluster objects list them (Koordinator Device, DRA ResourceSlice), put together as a
/// hardware graph. Needs Boost.Graph.
///
/// These objects tell which devices share a NUMA node, a PCIe switch or a root complex, never how fast a link is: all
/// rates stay unknown.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/topology/graph/hardware_graph.hpp"

namespace berth::kube_detail {

/// One device as an object lists it.
struct listed_device {
  vertex_kind kind = vertex_kind::gpu;  ///< gpu or nic
  std::string name, uuid, bus_id, model;
  std::optional<std::int64_t> index;  ///< its number in the machine
  std::optional<std::int64_t> socket, numa;
  std::string pcie;  ///< PCIe switch
  std::string root;  ///< PCIe root complex
  bool healthy = true;
};

/// The graph of a machine: GPUs first, by their number, else by bus id where all have one, else as listed.
[[nodiscard]] inline hardware_graph inside_of(std::vector<listed_device> devices) {
  bool numbered = true, on_bus = true;
  for (const auto& d : devices)
    if (d.kind == vertex_kind::gpu) {
      numbered = numbered && d.index;
      on_bus = on_bus && !d.bus_id.empty();
    }
  std::stable_sort(devices.begin(), devices.end(), [&](const listed_device& a, const listed_device& b) {
    if ((a.kind == vertex_kind::gpu) != (b.kind == vertex_kind::gpu)) return a.kind == vertex_kind::gpu;
    if (a.kind != vertex_kind::gpu) return false;
    if (numbered) return *a.index < *b.index;
    return on_bus && a.bus_id < b.bus_id;
  });
  hardware_graph g;
  std::uint32_t gpus = 0, nics = 0, switches = 0, roots = 0;
  std::map<std::int64_t, part_id> numa_at, socket_at;
  std::map<std::string, part_id> switch_at, root_at;
  for (const auto& d : devices) {
    const part_id v = add_part(g, d.kind, d.kind == vertex_kind::gpu ? gpus++ : nics++);
    part& p = g[v];
    if (d.kind == vertex_kind::nic && !d.name.empty()) p.name = d.name;
    p.uuid = d.uuid;
    p.bus_id = d.bus_id;
    p.model = d.model;
    p.healthy = d.healthy;
  }
  const auto joined = [&](part_id a, part_id b, link_kind kind) {
    link l;
    l.kind = kind;
    (void)join(g, a, b, std::move(l));
  };
  const auto numa_part = [&](const listed_device& d) -> std::optional<part_id> {
    if (!d.numa || *d.numa < 0) return std::nullopt;
    const auto [it, fresh] = numa_at.emplace(*d.numa, part_id{});
    if (!fresh) return it->second;
    it->second = add_part(g, vertex_kind::numa, static_cast<std::uint32_t>(*d.numa));
    if (d.socket && *d.socket >= 0) {
      const auto [s, first] = socket_at.emplace(*d.socket, part_id{});
      if (first) s->second = add_part(g, vertex_kind::socket, static_cast<std::uint32_t>(*d.socket));
      joined(it->second, s->second, link_kind::on_die);
    }
    return it->second;
  };
  for (part_id v = 0; v < devices.size(); ++v) {
    const listed_device& d = devices[v];
    part_id at = v;
    if (!d.pcie.empty()) {
      const auto [it, fresh] = switch_at.emplace(d.pcie, part_id{});
      if (fresh) it->second = add_part(g, vertex_kind::pcie_switch, switches++);
      joined(at, it->second, link_kind::pcie);
      if (!fresh) continue;  // the switch hangs where its first device says
      at = it->second;
    }
    if (!d.root.empty()) {
      const auto [it, fresh] = root_at.emplace(d.root, part_id{});
      if (fresh) it->second = add_part(g, vertex_kind::host_bridge, roots++);
      joined(at, it->second, link_kind::pcie);
      if (!fresh) continue;
      at = it->second;
    }
    if (const auto n = numa_part(d)) joined(at, *n, link_kind::pcie);
  }
  // Between NUMA nodes without sockets, and between sockets, there is some link.
  std::vector<part_id> tops;
  for (const auto& [id, v] : socket_at) tops.push_back(v);
  if (tops.empty())
    for (const auto& [id, v] : numa_at) tops.push_back(v);
  for (std::size_t i = 0; i < tops.size() && tops.size() <= 16; ++i)
    for (std::size_t k = 0; k < i; ++k) joined(tops[k], tops[i], link_kind::cpu_link);
  return g;
}

}  // namespace berth::kube_detail
