#pragma once
/// \file
/// Bodies of `berth/topology/graph/pair_order.hpp`.

#include <cmath>
#include <optional>
#include <utility>

#include "berth/topology/graph/pair_order.hpp"
#include "berth/topology/graph/paths.hpp"

namespace berth::detail {

/// Ways over PCIe and CPUs from one device, fewest links first: how near each part is, 5 (at most one PCIe switch) to 1
/// (over sockets or NUMA nodes) as `nvidia-smi topo -m` tells them apart (PIX, PXB, PHB, NODE, SYS); 0: no way.
[[nodiscard]] BERTH_INLINE std::vector<unsigned> host_nearness(const hardware_graph& g, part_id device) {
  struct way {
    bool reached = false, between_cpus = false, cpu = false;
    std::uint32_t bridges = 0, switches = 0;
  };
  std::vector<way> ways(boost::num_vertices(g));
  std::vector<part_id> now, next;
  if (g[device].healthy) now.push_back(device), ways[device].reached = true;
  while (!now.empty()) {
    next.clear();
    for (const auto v : now) {
      if (v != device && !is_host_part(g[v].kind)) continue;
      for (auto [e, end] = boost::out_edges(v, g); e != end; ++e) {
        const auto w = boost::target(*e, g);
        const bool over_host = is_host_part(g[v].kind) || is_host_part(g[w].kind) || g[*e].kind == link_kind::pcie;
        if (ways[w].reached || !over_host || !g[*e].healthy || !g[w].healthy || is_nvlink_switch(g[w].kind)) continue;
        way to = ways[v];
        to.reached = true;
        to.between_cpus = to.between_cpus || (g[*e].kind != link_kind::pcie && g[*e].kind != link_kind::c2c &&
                                              is_host_part(g[v].kind) && is_host_part(g[w].kind));
        to.cpu = to.cpu || g[w].kind == vertex_kind::numa || g[w].kind == vertex_kind::socket;
        to.bridges += g[w].kind == vertex_kind::host_bridge ? 1U : 0U;
        to.switches += g[w].kind == vertex_kind::pcie_switch ? 1U : 0U;
        ways[w] = to;
        next.push_back(w);
      }
    }
    std::swap(now, next);
  }
  std::vector<unsigned> out;
  for (const way& w : ways)
    out.push_back(!w.reached               ? 0U
                  : w.between_cpus         ? 1U
                  : w.cpu || w.bridges > 1 ? 2U
                  : w.bridges == 1         ? 3U
                  : w.switches > 1         ? 4U
                                           : 5U);
  return out;
}

}  // namespace berth::detail

namespace berth {

BERTH_INLINE void order_unknown_pairs(const hardware_graph& g, const std::vector<part_id>& gpus,
                                      bandwidth_table& table) {
  constexpr double assumed = 25;
  const auto is_direct = [&](link_id e) {
    const auto ends = [](vertex_kind k) { return k == vertex_kind::gpu || is_nvlink_switch(k); };
    return (g[e].kind == link_kind::nvlink || g[e].kind == link_kind::xgmi) && g[e].healthy &&
           ends(g[boost::source(e, g)].kind) && ends(g[boost::target(e, g)].kind);
  };
  const auto links_in = [&](link_id e) {
    return g[e].count && *g[e].count > 1 ? static_cast<double>(*g[e].count) : 1.0;
  };
  std::optional<double> each;
  bool unrated = false;
  for (auto [e, end] = boost::edges(g); e != end; ++e) {
    if (!is_direct(*e)) continue;
    if (!g[*e].rate) unrated = true;
    else if (const double rate = g[*e].rate->count() / links_in(*e); !each || rate < *each) each = rate;
  }
  const auto n = static_cast<unsigned>(gpus.size());
  bool open = false;  // some pair has no known rate
  double fastest = 0;
  for (unsigned a = 0; a < n; ++a)
    for (unsigned b = a + 1; b < n; ++b) {
      const auto rate = table.between(a, b);
      open = open || !rate;
      if (rate && rate->count() > fastest) fastest = rate->count();
    }
  if (unrated) {
    if (!each) each = fastest < assumed ? assumed : std::floor(fastest) + 1;
    hardware_graph rated = g;
    for (auto [e, end] = boost::edges(rated); e != end; ++e)
      if (is_direct(*e) && !rated[*e].rate) rated[*e].rate = gigabytes_per_second{*each * links_in(*e)};
    const path_finder finder{rated};
    for (unsigned a = 0; a < n; ++a)
      for (unsigned b = a + 1; b < n; ++b) {
        const auto rate = finder.between(gpus[a], gpus[b]).bandwidth;
        const auto known = table.between(a, b);
        if (rate && (!known || *known < *rate)) table.set_unknown(a, b, static_cast<float>(rate->count()));
      }
  }
  for (unsigned a = 0; open && a < n; ++a) {
    const auto near = detail::host_nearness(g, gpus[a]);
    for (unsigned b = a + 1; b < n; ++b)
      if (!table.between(a, b) && !table.order(a, b) && near[gpus[b]] != 0)
        table.set_unknown(a, b, static_cast<float>(near[gpus[b]]) / 16 - 1);  // exact
  }
}

}  // namespace berth
