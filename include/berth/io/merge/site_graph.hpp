#pragma once
/// \file
/// The graph of machines and switches of a site: from the fabric's cables, or where no file lists any, from the
/// declared levels with links of unknown rate; and the NVLink domains between machines.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "berth/io/merge/fabrics.hpp"
#include "berth/io/merge/levels.hpp"
#include "berth/io/merge/site.hpp"
#include "berth/topology/graph/derive.hpp"

namespace berth::merge_detail {

/// Adds `more` to `l`: counts and rates of cables between the same two ends add up, unknown stays unknown.
inline void add_cable(link& l, const link& more) {
  if (more.count || l.count)
    l.count = static_cast<std::uint16_t>(std::min<std::uint32_t>(
        0xFFFFU, l.count.value_or(std::uint16_t{1}) + std::uint32_t{more.count.value_or(std::uint16_t{1})}));
  if (l.rate && more.rate) *l.rate += *more.rate;
  else l.rate.reset();
}

/// Adds switches and cables below and between them to a graph whose vertices so far are the nodes.
/// \param node_of  by machine: vertex of the graph, `none` where it has none
inline void add_cables(hardware_graph& g, const joined_fabric& f, const std::vector<std::uint32_t>& node_of,
                       std::vector<fabric_port>* ports) {
  std::vector<part_id> at;
  for (const auto& s : f.switches) at.push_back(boost::add_vertex(s, g));
  std::map<std::tuple<part_id, part_id, int, link_kind, bool>, link> links;  // broken cables apart
  const auto add = [&](part_id a, part_id b, link wire) {
    if (a > b) std::swap(a, b);
    if (!wire.count) wire.count = std::uint16_t{1};
    const std::tuple key{a, b, wire.rail ? int{*wire.rail} : -1, wire.kind, !wire.healthy};
    const auto [it, fresh] = links.emplace(key, wire);
    if (!fresh) add_cable(it->second, wire);
  };
  for (const auto& c : f.down) {
    if (c.machine >= node_of.size() || node_of[c.machine] == machine_index::none) continue;
    add(node_of[c.machine], at[c.to], c.wire);
    if (ports != nullptr && (!c.nic.empty() || c.guid))
      ports->push_back({node_of[c.machine], c.nic, c.guid, at[c.to], c.wire.rate});
  }
  for (const auto& c : f.between) add(at[c.a], at[c.b], c.wire);
  for (auto& [key, l] : links) (void)join(g, std::get<0>(key), std::get<1>(key), std::move(l));
}

/// The tree that the cables make, as a hierarchy over the machines.
[[nodiscard]] inline expected<hierarchy, tree_error> hierarchy_of_cables(const joined_fabric& f,
                                                                         std::uint32_t machines) {
  hardware_graph g;
  std::vector<std::uint32_t> node_of;
  std::vector<char> wired(machines);
  for (const auto& c : f.down) wired[c.machine] = 1;
  for (std::uint32_t m = 0; m < machines; ++m) {
    node_of.push_back(wired[m] != 0 ? static_cast<std::uint32_t>(boost::num_vertices(g)) : machine_index::none);
    if (wired[m] != 0) (void)add_part(g, vertex_kind::node, m);
  }
  add_cables(g, f, node_of, nullptr);
  const auto tree = derive_tree(g, health_view::as_built);
  if (!tree) return unexpected{tree.error()};
  hierarchy alive = declarations_of(tree->tree, tree->node_ids);
  std::vector<std::uint32_t> of(machines, no_domain);
  for (std::uint32_t m = 0; m < machines; ++m)
    if (node_of[m] != machine_index::none) of[m] = alive.of[node_of[m]];
  alive.of = std::move(of);
  return alive;
}

/// Switches for declared levels, with links whose rate nobody tells.
inline void add_declared_switches(hardware_graph& g, const hierarchy& net, const std::vector<std::uint32_t>& node_of) {
  std::vector<std::uint32_t> height(net.domains.size(), 0);
  std::vector<char> used(net.domains.size());
  for (std::size_t m = 0; m < net.of.size(); ++m) {
    if (net.of[m] == no_domain || node_of[m] == machine_index::none) continue;
    const auto chain = chain_of(net, net.of[m]);
    for (std::uint32_t i = 0; i < chain.size(); ++i) {
      used[chain[i]] = 1;
      height[chain[i]] = std::max(height[chain[i]], i);
    }
  }
  std::vector<part_id> at(net.domains.size());
  std::uint32_t count[3] = {};
  link unknown;
  unknown.kind = link_kind::ethernet;
  for (std::size_t d = 0; d < net.domains.size(); ++d) {
    if (used[d] == 0) continue;
    static constexpr vertex_kind kinds[] = {vertex_kind::leaf, vertex_kind::spine, vertex_kind::core};
    const std::size_t k = std::min<std::size_t>(height[d], 2);
    at[d] = add_part(g, kinds[k], count[k]++);
    if (!net.domains[d].name.empty()) g[at[d]].name = net.domains[d].name;
  }
  for (std::size_t m = 0; m < net.of.size(); ++m)
    if (net.of[m] != no_domain && node_of[m] != machine_index::none) (void)join(g, node_of[m], at[net.of[m]], unknown);
  for (std::size_t d = 0; d < net.domains.size(); ++d)
    if (used[d] != 0 && net.domains[d].parent != no_domain) (void)join(g, at[d], at[net.domains[d].parent], unknown);
}

/// What a machine has towards the NVSwitches outside it: the NVLinks of all of its GPUs.
[[nodiscard]] inline link nvlink_of(const hardware_graph& inside) {
  link out;
  out.kind = link_kind::nvlink;
  std::uint32_t count = 0;
  double rate = 0;
  bool known = true, any = false;
  for (auto [e, end] = boost::edges(inside); e != end; ++e) {
    if (inside[boost::source(*e, inside)].kind != vertex_kind::nvlink_domain &&
        inside[boost::target(*e, inside)].kind != vertex_kind::nvlink_domain)
      continue;
    any = true;
    out.generation = inside[*e].generation;
    count += inside[*e].count.value_or(std::uint16_t{0});
    if (inside[*e].rate) rate += inside[*e].rate->count();
    else known = false;
  }
  if (count != 0 && count < 0x10000U) out.count = static_cast<std::uint16_t>(count);
  if (any && known) out.rate = gigabytes_per_second{rate};
  return out;
}

}  // namespace berth::merge_detail
