#pragma once
/// \file
/// Bodies of `berth/topology/graph/hardware_graph.hpp`.

#include "berth/topology/graph/hardware_graph.hpp"

namespace berth {

BERTH_INLINE link_id join(hardware_graph& g, part_id a, part_id b, link l) {
  return boost::add_edge(a, b, std::move(l), g).first;
}

BERTH_INLINE part_id add_part(hardware_graph& g, vertex_kind kind, std::uint32_t index) {
  part p;
  p.kind = kind;
  p.index = index;
  p.name = std::string{to_string(kind)} + std::to_string(index);
  return boost::add_vertex(std::move(p), g);
}

BERTH_INLINE void lose_lanes(hardware_graph& g, link_id l, std::uint16_t lost) {
  link& k = g[l];
  const std::uint16_t before = *k.count;
  const auto after = static_cast<std::uint16_t>(before - lost);
  k.count = after;
  if (after == 0) {
    k.healthy = false;
    return;
  }
  if (k.rate) k.rate = gigabytes_per_second{k.rate->count() * after / before};
}

BERTH_INLINE std::optional<part_id> find_part(const hardware_graph& g, vertex_kind kind, std::uint32_t index,
                                              std::optional<std::uint32_t> machine) {
  for (part_id v = 0; v < boost::num_vertices(g); ++v)
    if (g[v].kind == kind && g[v].index == index && g[v].machine == machine) return v;
  return std::nullopt;
}

BERTH_INLINE std::vector<part_id> parts_of(const hardware_graph& g, vertex_kind kind) {
  std::vector<part_id> out;
  for (part_id v = 0; v < boost::num_vertices(g); ++v)
    if (g[v].kind == kind) out.push_back(v);
  return out;
}

}  // namespace berth
