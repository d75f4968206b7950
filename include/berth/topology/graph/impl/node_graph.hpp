#pragma once
/// \file
/// Bodies of `berth/topology/graph/node_graph.hpp`.

#include "berth/topology/catalogue/node_graphs.hpp"
#include "berth/topology/graph/node_graph.hpp"

namespace berth {

BERTH_INLINE hardware_graph make_node_graph(const catalogue::node_graph_row& row) {
  hardware_graph g;
  g[boost::graph_bundle].name = std::string{row.id};
  std::uint32_t nics = 0;
  for (const auto& n : row.nics) nics = std::uint32_t{n.last} + 1;
  std::uint32_t numas = 0;
  for (const auto& n : row.numa) numas = std::uint32_t{n.last} + 1;

  // First vertex of each kind.
  const std::uint32_t nic0 = row.gpus, nvswitch0 = nic0 + nics, domain0 = nvswitch0 + row.nvswitches;
  const std::uint32_t pcie0 = domain0 + row.nvlink_domains, numa0 = pcie0 + row.pcie_switches;
  for (std::uint32_t i = 0; i < row.gpus; ++i) g[add_part(g, vertex_kind::gpu, i)].model = std::string{row.gpu};
  for (std::uint32_t i = 0; i < nics; ++i) add_part(g, vertex_kind::nic, i);
  for (std::uint32_t i = 0; i < row.nvswitches; ++i) add_part(g, vertex_kind::nvswitch, i);
  for (std::uint32_t i = 0; i < row.nvlink_domains; ++i) add_part(g, vertex_kind::nvlink_domain, i);
  for (std::uint32_t i = 0; i < row.pcie_switches; ++i) add_part(g, vertex_kind::pcie_switch, i);
  for (std::uint32_t i = 0; i < numas; ++i) add_part(g, vertex_kind::numa, i);

  for (const auto& n : row.nics)
    for (std::uint32_t i = n.first; i <= n.last; ++i) {
      part& p = g[nic0 + i];
      p.rate = gigabytes_per_second{static_cast<double>(n.gbit) / 8};
      if (n.rail) p.rail = static_cast<std::uint8_t>(*n.rail + (i - n.first) / n.nics_per_rail);
    }
  for (const auto& n : row.numa)
    for (std::uint32_t i = n.first; i <= n.last; ++i) g[numa0 + i].cpu = cpus(n.cpus ? *n.cpus : n.cores);

  const auto vertex = [&](vertex_kind kind, std::uint32_t index) -> part_id {
    switch (kind) {
      case vertex_kind::nic:
        return nic0 + index;
      case vertex_kind::nvswitch:
        return nvswitch0 + index;
      case vertex_kind::nvlink_domain:
        return domain0 + index;
      case vertex_kind::pcie_switch:
        return pcie0 + index;
      case vertex_kind::numa:
        return numa0 + index;
      default:
        return index;
    }
  };
  for (const auto& w : row.wires) {
    link l;
    l.kind = w.kind;
    l.generation = w.generation;
    if (w.count) l.count = *w.count;
    if (w.gbps) l.rate = gigabytes_per_second{*w.gbps};
    const std::uint32_t as = std::uint32_t{w.a_last} - w.a_first + 1, bs = std::uint32_t{w.b_last} - w.b_first + 1;
    for (std::uint32_t i = 0; i < as; ++i) {
      if (w.joins == catalogue::pattern::each) {
        join(g, vertex(w.a, w.a_first + i), vertex(w.b, w.b_first + i / (as / bs)), l);
        continue;
      }
      for (std::uint32_t j = 0; j < bs; ++j) join(g, vertex(w.a, w.a_first + i), vertex(w.b, w.b_first + j), l);
    }
  }
  return g;
}

BERTH_INLINE expected<hardware_graph, std::string> make_node_graph(std::string_view id) {
  const auto* row = catalogue::find_node_graph(id);
  if (row == nullptr) return unexpected{"no machine \"" + std::string{id} + "\" in the catalogue"};
  return make_node_graph(*row);
}

}  // namespace berth
