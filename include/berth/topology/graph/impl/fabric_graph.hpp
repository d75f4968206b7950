#pragma once
/// \file
/// Bodies of `berth/topology/graph/fabric_graph.hpp`.

#include <algorithm>
#include <utility>

#include "berth/topology/graph/fabric_graph.hpp"
#include "berth/topology/graph/node_graph.hpp"

namespace berth {

BERTH_INLINE expected<fabric, std::string> make_fabric(const fabric_spec& f, const fabric_latencies& lag) {
  auto shape = make_node_graph(f.shape);
  if (!shape) return unexpected{shape.error()};
  fabric out;
  hardware_graph& g = out.graph;
  g[boost::graph_bundle].name = f.name;
  for (std::uint32_t n = 0; n < f.nodes; ++n) {
    const part_id v = add_part(g, vertex_kind::node, n);
    g[v].name = "node-" + std::to_string(n);
    g[v].model = f.shape;
    out.nodes.push_back(v);
  }
  out.shape_of.assign(f.nodes, shape_id{0});

  const double cable_rate = static_cast<double>(f.nic_gbit) / 8;
  const auto cables = [&](std::uint32_t count) {
    link l;
    l.kind = f.medium;
    l.count = static_cast<std::uint16_t>(count);
    l.rate = gigabytes_per_second{cable_rate * count};
    l.latency = lag.cable;
    return l;
  };
  const auto add_switch = [&](vertex_kind kind, std::uint32_t index, std::string name) {
    const part_id v = add_part(g, kind, index);
    g[v].name = std::move(name);
    g[v].latency = is_nvlink_switch(kind) ? lag.nvlink_switch : lag.network_switch;
    return v;
  };
  const auto number = [](std::uint32_t n) { return "-" + std::to_string(n); };

  if (f.nodes_per_rack != 0) {
    // What one tray has towards the rack's NVSwitches.
    link nvlink;
    nvlink.kind = link_kind::nvlink;
    double rate = 0;
    std::uint32_t links = 0;
    for (auto [e, end] = boost::edges(*shape); e != end; ++e) {
      const link& l = (*shape)[*e];
      if ((*shape)[boost::source(*e, *shape)].kind != vertex_kind::nvlink_domain &&
          (*shape)[boost::target(*e, *shape)].kind != vertex_kind::nvlink_domain)
        continue;
      nvlink.generation = l.generation;
      rate += l.rate ? l.rate->count() : 0;
      links += l.count.value_or(std::uint16_t{0});
    }
    if (links == 0) return unexpected{f.shape + " has no NVLink out of the machine"};
    nvlink.count = static_cast<std::uint16_t>(links);
    nvlink.rate = gigabytes_per_second{rate};
    for (std::uint32_t n = 0; n < f.nodes; ++n) {
      const std::uint32_t rack = n / f.nodes_per_rack;
      if (n % f.nodes_per_rack == 0) (void)add_switch(vertex_kind::nvlink_domain, rack, "nvlink" + number(rack));
      (void)join(g, out.nodes[n], f.nodes + rack, nvlink);
    }
  }

  const std::uint32_t per_leaf = f.nics_per_node / f.rails;  // cables from one machine to one leaf
  std::vector<std::vector<part_id>> pod_leaves(f.pods());
  for (std::uint32_t d = 0, index = 0; d < f.leaf_domains(); ++d)
    for (std::uint32_t r = 0; r < f.rails; ++r, ++index) {
      const part_id leaf =
          add_switch(vertex_kind::leaf, index, "leaf" + number(d) + (f.rails > 1 ? "-rail" + number(r) : ""));
      link down = cables(per_leaf);
      if (f.rails > 1) g[leaf].rail = down.rail = static_cast<std::uint8_t>(r);
      for (std::uint32_t n = d * f.nodes_per_leaf; n < f.nodes && n < (d + 1) * f.nodes_per_leaf; ++n)
        (void)join(g, out.nodes[n], leaf, down);
      pod_leaves[f.leaves_per_pod == 0 ? 0 : d / f.leaves_per_pod].push_back(leaf);
    }

  std::vector<std::vector<part_id>> groups(f.spines);  // the k-th spines of all pods
  std::uint32_t index = 0;
  for (std::uint32_t p = 0; p < f.pods(); ++p)
    for (std::uint32_t s = 0; s < f.spines; ++s, ++index) {
      std::string name = "spine";
      if (f.pods() > 1) name += number(p);
      if (f.pods() == 1 || f.spines > 1) name += number(s);
      const part_id spine = add_switch(vertex_kind::spine, index, std::move(name));
      for (const auto leaf : pod_leaves[p]) (void)join(g, leaf, spine, cables(f.uplinks_per_leaf / f.spines));
      groups[s].push_back(spine);
    }
  if (f.pods() > 1) {
    index = 0;
    for (const auto& group : groups)
      for (std::uint32_t c = 0; c < f.cores_per_group; ++c, ++index) {
        const part_id core = add_switch(vertex_kind::core, index, "core" + number(index));
        for (const auto spine : group) (void)join(g, spine, core, cables(f.uplinks_per_spine / f.cores_per_group));
      }
  }
  out.shapes.push_back(*std::move(shape));
  return out;
}

BERTH_INLINE expected<expanded_fabric, std::string> expand(const fabric& f) {
  expanded_fabric out;
  hardware_graph& g = out.graph;
  g[boost::graph_bundle].name = f.graph[boost::graph_bundle].name;
  std::vector<std::optional<std::uint32_t>> machine_at(boost::num_vertices(f.graph));
  for (std::uint32_t n = 0; n < f.nodes.size(); ++n) machine_at[f.nodes[n]] = n;

  // NVLink ports of a GPU, for the number of switches of an NVLink domain; and which machines hang on one.
  std::uint32_t ports = 0;
  for (const auto& s : f.shapes)
    for (auto [e, end] = boost::edges(s); e != end; ++e)
      if (s[boost::source(*e, s)].kind == vertex_kind::nvlink_domain ||
          s[boost::target(*e, s)].kind == vertex_kind::nvlink_domain)
        ports = std::max(ports, std::uint32_t{s[*e].count.value_or(std::uint16_t{1})});
  std::vector<std::vector<part_id>> made(boost::num_vertices(f.graph));  // switches of the fabric -> here
  for (part_id v = 0; v < boost::num_vertices(f.graph); ++v) {
    const part& p = f.graph[v];
    if (machine_at[v]) continue;
    const std::uint32_t copies = p.kind == vertex_kind::nvlink_domain && ports > 0 ? ports : 1;
    for (std::uint32_t c = 0; c < copies; ++c) {
      part q = p;
      if (copies > 1) {
        q.kind = vertex_kind::nvswitch;
        q.index = p.index * copies + c;
        q.name += "-switch-" + std::to_string(c);
      }
      made[v].push_back(boost::add_vertex(std::move(q), g));
    }
  }

  out.gpus.resize(f.nodes.size());
  out.nics.resize(f.nodes.size());
  for (std::uint32_t n = 0; n < f.nodes.size(); ++n) {
    const hardware_graph& s = f.shapes[f.shape_of[n].index()];
    const part& whole = f.graph[f.nodes[n]];
    // The rack's switches take the place of the tray's stand-in for them.
    std::optional<part_id> rack;
    bool rack_healthy = true;
    for (auto [e, end] = boost::out_edges(f.nodes[n], f.graph); e != end; ++e)
      if (f.graph[boost::target(*e, f.graph)].kind == vertex_kind::nvlink_domain) {
        rack = boost::target(*e, f.graph);
        rack_healthy = f.graph[*e].healthy;
      }
    std::vector<part_id> here(boost::num_vertices(s));
    for (part_id v = 0; v < boost::num_vertices(s); ++v) {
      if (rack && s[v].kind == vertex_kind::nvlink_domain) continue;
      part p = s[v];
      p.machine = n;
      p.name = whole.name + "/" + p.name;
      p.healthy = p.healthy && whole.healthy;
      const auto kind = p.kind;
      here[v] = boost::add_vertex(std::move(p), g);
      if (kind == vertex_kind::gpu) out.gpus[n].push_back(here[v]);
      if (kind == vertex_kind::nic) out.nics[n].push_back(here[v]);
    }
    for (auto [e, end] = boost::edges(s); e != end; ++e) {
      auto a = boost::source(*e, s), b = boost::target(*e, s);
      if (s[a].kind == vertex_kind::nvlink_domain) std::swap(a, b);
      link l = s[*e];
      if (!rack || s[b].kind != vertex_kind::nvlink_domain) {
        (void)join(g, here[a], here[b], std::move(l));
        continue;
      }
      const std::uint32_t links = l.count.value_or(std::uint16_t{1});
      l.count = std::uint16_t{1};
      if (l.rate) l.rate = gigabytes_per_second{l.rate->count() / links};
      l.healthy = l.healthy && rack_healthy;
      for (std::uint32_t k = 0; k < links; ++k) (void)join(g, here[a], made[*rack][k], l);
    }
  }

  for (auto [e, end] = boost::edges(f.graph); e != end; ++e) {
    auto a = boost::source(*e, f.graph), b = boost::target(*e, f.graph);
    link l = f.graph[*e];
    if (machine_at[b]) std::swap(a, b);
    if (!machine_at[a]) {
      (void)join(g, made[a].front(), made[b].front(), std::move(l));
      continue;
    }
    if (f.graph[b].kind == vertex_kind::nvlink_domain) continue;  // wired above
    if (machine_at[b])
      return unexpected{"machines " + f.graph[a].name + " and " + f.graph[b].name + " are joined without a switch"};
    std::vector<part_id> cards;
    for (const auto nic : out.nics[*machine_at[a]])
      if (g[nic].rail && (!l.rail || g[nic].rail == l.rail)) cards.push_back(nic);
    if (cards.empty()) return unexpected{f.graph[a].name + " has no NIC for " + f.graph[b].name};
    const auto share = static_cast<std::uint32_t>(cards.size());
    if (l.count) l.count = static_cast<std::uint16_t>(*l.count / share);
    if (l.rate) l.rate = gigabytes_per_second{l.rate->count() / share};
    for (const auto nic : cards) (void)join(g, nic, made[b].front(), l);
  }
  return out;
}

}  // namespace berth
