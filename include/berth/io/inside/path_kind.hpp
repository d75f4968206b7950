#pragma once
/// \file
/// How nvidia-smi would name the way between two devices of a machine. Needs Boost.Graph.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/topology/graph/hardware_graph.hpp"

namespace berth {

/// What a way inside a machine crosses, nearest first. The words are those of `nvidia-smi topo -m`.
enum class path_kind : std::uint8_t {
  self,     ///< X
  nvlink,   ///< NV#: NVLinks
  xgmi,     ///< AMD's links between GPUs; rocm-smi's word
  pix,      ///< at most one PCIe switch
  pxb,      ///< several PCIe switches
  phb,      ///< a PCIe host bridge
  node,     ///< several host bridges of one NUMA node
  sys,      ///< the interconnect between NUMA nodes
  unknown,  ///< no way, or not stated
};

/// A cell of the table: the kind and, for NVLink and XGMI, the number of links (0: not stated).
struct path_cell {
  path_kind kind = path_kind::unknown;
  std::uint16_t links = 0;
  friend constexpr bool operator==(const path_cell&, const path_cell&) noexcept = default;
};

/// "X", "NV12", "PIX", …; "?" where unknown.
[[nodiscard]] inline std::string to_string(const path_cell& c) {
  switch (c.kind) {
    case path_kind::self:
      return "X";
    case path_kind::nvlink:
      return "NV" + std::to_string(c.links);
    case path_kind::xgmi:
      return "XGMI";
    case path_kind::pix:
      return "PIX";
    case path_kind::pxb:
      return "PXB";
    case path_kind::phb:
      return "PHB";
    case path_kind::node:
      return "NODE";
    case path_kind::sys:
      return "SYS";
    case path_kind::unknown:
      break;
  }
  return "?";
}

/// The table of `nvidia-smi topo -m` for a machine's graph, all GPUs first, then all NICs, as the graph is built
/// (broken parts included). GPUs that NVLinks join directly or over switches are NV#: over a switch the smaller of the
/// two numbers of links, over several switches their sum. Otherwise the way with the fewest links over PCIe switches,
/// host bridges and CPU parts counts. O(devices * (parts + links)).
[[nodiscard]] inline std::vector<std::vector<path_cell>> path_table(const hardware_graph& g) {
  std::vector<part_id> devices = parts_of(g, vertex_kind::gpu);
  const auto nics = parts_of(g, vertex_kind::nic);
  devices.insert(devices.end(), nics.begin(), nics.end());
  const std::size_t n = devices.size(), parts = boost::num_vertices(g);
  std::vector<std::vector<path_cell>> out(n, std::vector<path_cell>(n));

  // NVLink: what each GPU has to other GPUs and to switches.
  std::vector<std::map<part_id, std::uint32_t>> nvlinks(parts), xgmi(parts);
  for (auto [e, end] = boost::edges(g); e != end; ++e) {
    const auto a = boost::source(*e, g), b = boost::target(*e, g);
    if (g[*e].kind == link_kind::xgmi && is_endpoint(g[a].kind) && is_endpoint(g[b].kind)) {
      xgmi[a][b] += g[*e].count.value_or(0);
      xgmi[b][a] += g[*e].count.value_or(0);
    }
    if (g[*e].kind != link_kind::nvlink) continue;
    const std::uint32_t count = g[*e].count.value_or(1);
    nvlinks[a][b] += count;
    nvlinks[b][a] += count;
  }

  struct way {
    bool reached = false, cpu_link = false, numa = false;
    std::uint32_t bridges = 0, switches = 0;
  };
  std::vector<way> ways(parts);
  std::vector<part_id> now, next;
  for (std::size_t i = 0; i < n; ++i) {
    std::fill(ways.begin(), ways.end(), way{});
    ways[devices[i]].reached = true;
    now.assign(1, devices[i]);
    while (!now.empty()) {
      next.clear();
      for (const auto v : now) {
        if (v != devices[i] && !is_host_part(g[v].kind)) continue;
        for (auto [e, end] = boost::out_edges(v, g); e != end; ++e) {
          const auto w = boost::target(*e, g);
          const link_kind k = g[*e].kind;
          if (ways[w].reached || k == link_kind::nvlink || is_nvlink_switch(g[w].kind)) continue;
          if (k == link_kind::xgmi && is_endpoint(g[v].kind) && is_endpoint(g[w].kind)) continue;
          way to = ways[v];
          to.reached = true;
          if (k != link_kind::pcie && k != link_kind::c2c && is_host_part(g[v].kind) && is_host_part(g[w].kind))
            to.cpu_link = true;
          if (g[w].kind == vertex_kind::numa || g[w].kind == vertex_kind::socket) to.numa = true;
          if (g[w].kind == vertex_kind::host_bridge) ++to.bridges;
          if (g[w].kind == vertex_kind::pcie_switch) ++to.switches;
          ways[w] = to;
          next.push_back(w);
        }
      }
      std::swap(now, next);
    }
    for (std::size_t j = 0; j < n; ++j) {
      path_cell& c = out[i][j];
      if (i == j) {
        c.kind = path_kind::self;
        continue;
      }
      std::uint32_t links = 0;
      for (const auto& [over, count] : nvlinks[devices[i]]) {
        if (over == devices[j]) links += count;
        if (!is_nvlink_switch(g[over].kind)) continue;
        const auto it = nvlinks[over].find(devices[j]);
        if (it != nvlinks[over].end()) links += std::min(count, it->second);
      }
      const way& w = ways[devices[j]];
      if (links != 0) c = {path_kind::nvlink, static_cast<std::uint16_t>(std::min(links, 0xFFFFU))};
      else if (const auto x = xgmi[devices[i]].find(devices[j]); x != xgmi[devices[i]].end())
        c = {path_kind::xgmi, static_cast<std::uint16_t>(std::min(x->second, 0xFFFFU))};
      else if (!w.reached) c.kind = path_kind::unknown;
      else if (w.cpu_link) c.kind = path_kind::sys;
      else if (w.numa || w.bridges > 1) c.kind = path_kind::node;
      else if (w.bridges == 1) c.kind = path_kind::phb;
      else c.kind = w.switches > 1 ? path_kind::pxb : path_kind::pix;
    }
  }
  return out;
}

}  // namespace berth
