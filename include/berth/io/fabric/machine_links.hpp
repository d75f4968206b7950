#pragma once
/// \file
/// A fabric without its adapters: machines hang on switches directly, as in the fabrics of the catalogue, so that trees
/// can be derived and distances asked. Needs Boost.Graph.

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/io/site_report.hpp"
#include "berth/topology/graph/hardware_graph.hpp"

namespace berth {

/// The same fabric with every adapter's cables given to its machine; cables of one machine to one switch are one link,
/// its rate unknown as soon as one of them is. Adapters without a machine and the adapters of switches are left out.
/// Machine i stays vertex i. O(parts + links).
[[nodiscard]] inline hardware_graph machine_links(const fabric_report& f) {
  const hardware_graph& g = f.graph;
  hardware_graph out;
  out[boost::graph_bundle] = g[boost::graph_bundle];
  constexpr part_id none = std::numeric_limits<part_id>::max();
  std::vector<part_id> at(boost::num_vertices(g), none);
  for (part_id v = 0; v < boost::num_vertices(g); ++v)
    if (g[v].kind != vertex_kind::nic) at[v] = boost::add_vertex(g[v], out);
  for (auto [e, end] = boost::edges(g); e != end; ++e) {
    auto a = boost::source(*e, g), b = boost::target(*e, g);
    if (g[a].kind == vertex_kind::nic) std::swap(a, b);
    if (g[a].kind == vertex_kind::node && g[b].kind == vertex_kind::nic) at[b] = at[a];
  }
  std::unordered_map<std::uint64_t, link_id> known[2];
  for (auto [e, end] = boost::edges(g); e != end; ++e) {
    const auto a = boost::source(*e, g), b = boost::target(*e, g);
    if (at[a] == none || at[b] == none || at[a] == at[b]) continue;
    const link& l = g[*e];
    const std::uint64_t key = at[a] < at[b] ? std::uint64_t{at[a]} << 32 | at[b] : std::uint64_t{at[b]} << 32 | at[a];
    const bool healthy = l.healthy && g[a].healthy && g[b].healthy;
    const auto it = known[healthy ? 1 : 0].find(key);
    if (it == known[healthy ? 1 : 0].end()) {
      link copy = l;
      copy.healthy = healthy;
      known[healthy ? 1 : 0].emplace(key, join(out, at[a], at[b], std::move(copy)));
      continue;
    }
    link& sum = out[it->second];
    if (sum.count && l.count) sum.count = static_cast<std::uint16_t>(*sum.count + *l.count);
    else sum.count.reset();
    if (sum.rate && l.rate) sum.rate = gigabytes_per_second{sum.rate->count() + l.rate->count()};
    else sum.rate.reset();
    if (sum.rail != l.rail) sum.rail.reset();
  }
  return out;
}

}  // namespace berth
