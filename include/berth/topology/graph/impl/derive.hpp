#pragma once
/// \file
/// Bodies of `berth/topology/graph/derive.hpp`.

#include <algorithm>
#include <boost/graph/bron_kerbosch_all_cliques.hpp>
#include <boost/pending/disjoint_sets.hpp>
#include <string>

#include "berth/topology/graph/compile.hpp"
#include "berth/topology/graph/derive.hpp"

namespace berth::detail {

/// Keeps the largest clique, the first by id among equals.
struct largest_clique {
  std::vector<std::uint32_t>* best;
  template <class Clique, class Graph>
  void clique(const Clique& c, const Graph&) {
    std::vector<std::uint32_t> now;
    for (const auto v : c) now.push_back(static_cast<std::uint32_t>(v));
    std::sort(now.begin(), now.end());
    if (now.size() > best->size() || (now.size() == best->size() && now < *best)) *best = std::move(now);
  }
};

/// Domains of one threshold: `near(i, j)` says which devices are joined at it. Empty: a mesh that does not split
/// evenly.
template <class Near>
[[nodiscard]] std::vector<std::vector<std::uint32_t>> cluster_devices(std::uint32_t n, Near near) {
  using small_graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;
  std::vector<std::vector<std::uint32_t>> parts;
  std::vector<char> placed(n);
  bool mesh = false;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (placed[i]) continue;
    std::vector<std::uint32_t> group{i};
    placed[i] = 1;
    for (std::size_t k = 0; k < group.size(); ++k)
      for (std::uint32_t j = 0; j < n; ++j)
        if (!placed[j] && near(group[k], j)) placed[j] = 1, group.push_back(j);
    std::sort(group.begin(), group.end());
    bool complete = true;
    for (const auto a : group)
      for (const auto b : group) complete = complete && (a == b || near(a, b));
    if (complete) {
      parts.push_back(std::move(group));
      continue;
    }
    mesh = true;
    if (group.size() > mesh_limit) return {};
    while (!group.empty()) {
      small_graph left(group.size());
      for (std::uint32_t a = 0; a < group.size(); ++a)
        for (std::uint32_t b = a + 1; b < group.size(); ++b)
          if (near(group[a], group[b])) boost::add_edge(a, b, left);
      std::vector<std::uint32_t> best{0};
      boost::bron_kerbosch_all_cliques(left, largest_clique{&best}, 2);
      std::vector<std::uint32_t> taken, rest;
      for (std::uint32_t a = 0; a < group.size(); ++a)
        (std::binary_search(best.begin(), best.end(), a) ? taken : rest).push_back(group[a]);
      parts.push_back(std::move(taken));
      group = std::move(rest);
    }
  }
  if (mesh)
    for (const auto& p : parts)
      if (p.size() != parts.front().size()) return {};
  std::sort(parts.begin(), parts.end());
  return parts;
}

BERTH_INLINE bool nests(const std::vector<std::vector<std::uint32_t>>& inner,
                        const std::vector<std::vector<std::uint32_t>>& outer, std::uint32_t n) {
  std::vector<std::size_t> at(n);
  for (std::size_t d = 0; d < outer.size(); ++d)
    for (const auto v : outer[d]) at[v] = d;
  for (const auto& p : inner)
    for (const auto v : p)
      if (at[v] != at[p.front()]) return false;
  return true;
}

}  // namespace berth::detail

namespace berth {

BERTH_INLINE std::vector<derived_level> derive_levels(const hardware_graph& g) {
  // Devices as built, everything else as it works.
  hardware_graph present = g;
  const auto gpus = parts_of(g, vertex_kind::gpu);
  for (const auto v : gpus) present[v].healthy = true;
  const auto n = static_cast<std::uint32_t>(gpus.size());
  const path_finder finder{present};
  std::vector<connection> table(std::size_t{n} * n);
  std::vector<std::pair<double, std::uint32_t>> steps;  // -bandwidth, links: ascending is nearest first
  for (std::uint32_t a = 0; a < n; ++a)
    for (std::uint32_t b = a + 1; b < n; ++b) {
      const connection c = finder.between(gpus[a], gpus[b]);
      table[std::size_t{a} * n + b] = table[std::size_t{b} * n + a] = c;
      if (c.bandwidth) steps.emplace_back(-c.bandwidth->count(), c.links);
    }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());

  std::vector<derived_level> levels;
  std::vector<std::vector<std::uint32_t>> before;
  for (std::uint32_t i = 0; i < n; ++i) before.push_back({i});
  for (const auto& step : steps) {
    auto domains = detail::cluster_devices(n, [&](std::uint32_t a, std::uint32_t b) {
      const connection& c = table[std::size_t{a} * n + b];
      return c.bandwidth && std::pair{-c.bandwidth->count(), c.links} <= step;
    });
    if (domains.empty() || domains.size() == before.size() || !detail::nests(before, domains, n)) continue;
    before = domains;
    levels.push_back({gigabytes_per_second{-step.first}, step.second, std::move(domains)});
  }
  if (n != 0 && before.size() != 1) {
    derived_level all;  // what joins the rest is unknown, or nothing does
    all.domains.emplace_back();
    for (std::uint32_t i = 0; i < n; ++i) all.domains[0].push_back(i);
    levels.push_back(std::move(all));
  }
  if (n == 1) levels.push_back({std::nullopt, 0, {{0}}});
  for (auto& l : levels) {
    for (auto& d : l.domains)
      d.erase(std::remove_if(d.begin(), d.end(), [&](auto i) { return !g[gpus[i]].healthy; }), d.end());
    l.domains.erase(std::remove_if(l.domains.begin(), l.domains.end(), [](const auto& d) { return d.empty(); }),
                    l.domains.end());
  }
  return levels;
}

BERTH_INLINE expected<derived_tree, tree_error> derive_tree(const hardware_graph& g, health_view health) {
  static constexpr std::size_t tiers = 4;
  static constexpr const char* words[tiers] = {"nvlink", "leaf", "spine", "core"};
  static constexpr std::uint32_t none = domain_declaration::no_parent;
  const auto tier_of = [](vertex_kind k) -> std::size_t {
    if (is_nvlink_switch(k)) return 0;
    if (k == vertex_kind::leaf) return 1;
    if (k == vertex_kind::spine) return 2;
    return k == vertex_kind::core ? 3 : tiers;
  };
  const auto works = [&](part_id v) { return health == health_view::as_built || g[v].healthy; };
  const auto machines = parts_of(g, vertex_kind::node);
  std::vector<std::uint32_t> alive;  // positions of working machines
  for (std::uint32_t i = 0; i < machines.size(); ++i)
    if (works(machines[i])) alive.push_back(i);

  boost::disjoint_sets_with_storage<> joined(boost::num_vertices(g));
  std::vector<domain_declaration> declared;
  std::vector<std::uint32_t> innermost(machines.size(), none);  // by machine: the domain it lies in so far, and
  std::vector<std::uint32_t> outermost(machines.size(), none);  // the one that still has no parent
  // Machines with a working link to a switch: the level that joins all of these says no more than "cluster".
  std::uint32_t served_count = 0;
  for (const auto i : alive)
    for (auto [e, end] = boost::out_edges(machines[i], g); e != end; ++e)
      if (const auto w = boost::target(*e, g);
          (health == health_view::as_built || g[*e].healthy) && works(w) && tier_of(g[w].kind) != tiers) {
        ++served_count;
        break;
      }

  derived_tree out;
  for (std::size_t tier = 0; tier < tiers; ++tier) {
    for (auto [e, end] = boost::edges(g); e != end; ++e) {
      const auto a = boost::source(*e, g), b = boost::target(*e, g);
      if ((health == health_view::healthy_only && !g[*e].healthy) || !works(a) || !works(b)) continue;
      const auto level = [&](part_id v) {
        return g[v].kind == vertex_kind::node ? std::size_t{0} : tier_of(g[v].kind);
      };
      if (level(a) <= tier && level(b) <= tier) joined.union_set(a, b);
    }
    // Switches of this tier, by domain: how many, and the name of the last one.
    std::vector<std::uint32_t> switches(boost::num_vertices(g)), domain(boost::num_vertices(g), none);
    std::vector<part_id> one(boost::num_vertices(g));
    for (part_id v = 0; v < boost::num_vertices(g); ++v)
      if (tier_of(g[v].kind) == tier && works(v)) ++switches[joined.find_set(v)], one[joined.find_set(v)] = v;
    std::uint32_t number = 0;
    std::vector<std::uint32_t> members(boost::num_vertices(g));
    for (const auto i : alive) ++members[joined.find_set(machines[i])];
    for (const auto i : alive) {
      const auto root = joined.find_set(machines[i]);
      const bool lone = tier == 1 && innermost[i] == none && switches[root] == 0 && members[root] == 1;
      if (lone) {
        declared.push_back({g[machines[i]].name, none, words[1]});
        innermost[i] = outermost[i] = static_cast<std::uint32_t>(declared.size() - 1);
        continue;
      }
      if (switches[root] == 0 || (tier > 1 && members[root] == served_count)) continue;
      if (domain[root] == none) {
        std::string name = switches[root] == 1 ? g[one[root]].name : words[tier] + ("-" + std::to_string(number));
        ++number;
        declared.push_back({std::move(name), none, words[tier]});
        domain[root] = static_cast<std::uint32_t>(declared.size() - 1);
      }
      if (innermost[i] == none) innermost[i] = domain[root];
      else if (declared[outermost[i]].parent == none && outermost[i] != domain[root])
        declared[outermost[i]].parent = domain[root];
      outermost[i] = domain[root];
    }
  }

  std::vector<char> served(boost::num_vertices(g));
  for (part_id v = 0; v < boost::num_vertices(g); ++v)
    if (tier_of(g[v].kind) != tiers && works(v)) served[joined.find_set(v)] = 1;
  std::vector<std::uint32_t> node_domain;
  for (const auto i : alive) {
    node_domain.push_back(innermost[i]);
    if (!served[joined.find_set(machines[i])]) out.cut_off.push_back(i);
  }
  auto built = domain_tree_builder::build(declared, node_domain);
  if (!built) return unexpected{built.error()};
  out.tree = std::move(built->tree);
  out.node_ids.assign(machines.size(), node_id{});
  for (std::size_t k = 0; k < alive.size(); ++k) out.node_ids[alive[k]] = built->node_ids[k];
  return out;
}

}  // namespace berth
