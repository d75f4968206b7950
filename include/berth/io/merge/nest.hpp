#pragma once
/// \file
/// Levels of two sources in one tree: of the declared domains and of the cables. A zone above spines and leaves
/// contradicts nothing, so both count: levels nest where every domain of one lies in one domain of the other.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/merge/levels.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace berth::merge_detail {

/// A hierarchy by levels, outermost first.
struct level_table {
  std::vector<std::string> names;
  std::vector<std::vector<std::uint32_t>> at;  ///< by level and machine: the domain; `no_domain`: in none

  [[nodiscard]] bool has(const std::string& name) const noexcept {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
};

/// The levels of a hierarchy whose domains are named by level; empty where some level has no name or no one height.
/// O(machines × depth²).
[[nodiscard]] inline std::optional<level_table> level_table_of(const hierarchy& h) {
  std::vector<std::string> names;
  std::vector<std::uint32_t> level(h.domains.size(), no_domain);
  for (const auto d : h.of)
    if (d != no_domain)
      for (const auto c : chain_of(h, d)) {
        if (level[c] != no_domain) continue;
        if (h.domains[c].level.empty()) return std::nullopt;
        const auto it = std::find(names.begin(), names.end(), h.domains[c].level);
        level[c] = static_cast<std::uint32_t>(it - names.begin());
        if (it == names.end()) names.push_back(h.domains[c].level);
        if (names.size() >= domain_tree_builder::max_levels) return std::nullopt;
      }
  // By level: how many levels are around it at most.
  std::vector<std::uint32_t> rank(names.size(), 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t d = 0; d < level.size(); ++d) {
      const auto up = h.domains[d].parent;
      if (level[d] == no_domain || up == no_domain || rank[level[d]] > rank[level[up]]) continue;
      rank[level[d]] = rank[level[up]] + 1;
      if (rank[level[d]] >= names.size()) return std::nullopt;
      changed = true;
    }
  }
  std::vector<std::uint32_t> order(names.size()), place(names.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return rank[a] < rank[b]; });
  level_table out;
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i, out.names.push_back(names[order[i]]);
  out.at.assign(names.size(), std::vector<std::uint32_t>(h.of.size(), no_domain));
  for (std::size_t m = 0; m < h.of.size(); ++m)
    if (h.of[m] != no_domain)
      for (const auto c : chain_of(h, h.of[m])) out.at[place[level[c]]][m] = c;
  return out;
}

/// How the domains of two levels lie to each other, by the machines that both have.
enum class level_relation : std::uint8_t {
  apart,    ///< they have no machine in common
  same,     ///< the same groups
  inside,   ///< every domain of the second lies in one of the first
  around,   ///< every domain of the first lies in one of the second
  crossing  ///< neither
};

/// O(machines)
[[nodiscard]] inline level_relation relation_of(const std::vector<std::uint32_t>& a, std::size_t domains_a,
                                                const std::vector<std::uint32_t>& b, std::size_t domains_b) {
  std::vector<std::uint32_t> of_a(domains_a, no_domain), of_b(domains_b, no_domain);
  bool any = false, inside = true, around = true;
  for (std::size_t m = 0; m < a.size() && m < b.size(); ++m) {
    if (a[m] == no_domain || b[m] == no_domain) continue;
    any = true;
    if (of_b[b[m]] == no_domain) of_b[b[m]] = a[m];
    if (of_a[a[m]] == no_domain) of_a[a[m]] = b[m];
    inside = inside && of_b[b[m]] == a[m];
    around = around && of_a[a[m]] == b[m];
  }
  if (!any) return level_relation::apart;
  if (inside && around) return level_relation::same;
  return inside ? level_relation::inside : around ? level_relation::around : level_relation::crossing;
}

/// What became of the levels of the cables.
struct nested_levels {
  std::vector<std::pair<std::string, std::string>> same;      ///< {level of the cables, declared level}: equal groups
  std::vector<std::pair<std::string, std::string>> left_out;  ///< {level of the cables, declared level it crosses}
  std::vector<std::string> no_room;                           ///< levels of the cables beyond those of a tree
  std::vector<std::string> added;
};

/// Puts the levels of `more` into `net`, each between those that lie around it and those inside of it; of equal groups
/// the level of `net` is the outer one. Not added: a level whose name `net` has; one with the groups (two at least) of
/// a level of `net`, unless that is among `wide`; one that crosses another. Nothing changes where the levels of `net`
/// have no names or no order. O(machines × levels²).
/// \param wide  levels that say where machines stand and not what joins them: zones
[[nodiscard]] inline nested_levels nest_levels(hierarchy& net, const hierarchy& more,
                                               const std::vector<std::string>& wide) {
  nested_levels out;
  hierarchy tree = net;
  name_levels(tree);
  const auto mine = level_table_of(tree), theirs = level_table_of(more);
  if (!mine || !theirs) return out;
  struct entry {
    std::string name;
    std::vector<std::uint32_t> at;
    bool own;
  };
  std::vector<entry> order;
  for (std::size_t l = 0; l < mine->names.size(); ++l) order.push_back({mine->names[l], mine->at[l], true});
  const auto own_domains = static_cast<std::uint32_t>(tree.domains.size());
  std::size_t from = 0;  // levels of `more` keep their order
  for (std::size_t l = 0; l < theirs->names.size(); ++l) {
    const std::string& name = theirs->names[l];
    if (mine->has(name)) {
      for (std::size_t i = 0; i < order.size(); ++i)
        if (order[i].name == name) from = std::max(from, i + 1);
      continue;
    }
    std::size_t lowest = from, highest = order.size();
    std::string crossed, like;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (!order[i].own) continue;
      const auto r = relation_of(order[i].at, own_domains, theirs->at[l], more.domains.size());
      if (r == level_relation::crossing && crossed.empty()) crossed = order[i].name;
      if (r == level_relation::inside) lowest = std::max(lowest, i + 1);
      if (r == level_relation::around) highest = std::min(highest, i);
      if (r == level_relation::same && std::find(wide.begin(), wide.end(), order[i].name) == wide.end()) {
        const auto first =
            std::find_if(theirs->at[l].begin(), theirs->at[l].end(), [](auto d) { return d != no_domain; });
        const bool several =
            std::any_of(first, theirs->at[l].end(), [&](auto d) { return d != no_domain && d != *first; });
        if (several) like = order[i].name;
      }
    }
    if (!crossed.empty() || lowest > highest) {
      out.left_out.emplace_back(name, crossed.empty() ? order[std::min(highest, order.size() - 1)].name : crossed);
      continue;
    }
    if (!like.empty()) {
      out.same.emplace_back(name, like);
      continue;
    }
    if (order.size() + 3 > domain_tree_builder::max_levels) {  // leaves room for a level of NVLink domains
      out.no_room.push_back(name);
      continue;
    }
    // As far in as the levels inside of it allow.
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(highest), entry{name, theirs->at[l], false});
    from = highest + 1;
    out.added.push_back(name);
  }
  if (out.added.empty()) return out;
  std::vector<std::uint32_t> made(more.domains.size(), no_domain);
  for (auto& e : order) {
    if (e.own) continue;
    for (auto& d : e.at) {
      if (d == no_domain) continue;
      if (made[d] == no_domain) {
        made[d] = static_cast<std::uint32_t>(tree.domains.size());
        tree.domains.push_back({more.domains[d].name, no_domain, more.domains[d].level});
        tree.places.push_back(d < more.places.size() ? more.places[d] : input_place{});
      }
      d = made[d];
    }
  }
  // A domain hangs in the innermost one around it that any of its machines has.
  std::vector<std::uint32_t> depth_of_parent(tree.domains.size(), 0);
  for (const auto& e : order)
    for (const auto d : e.at)
      if (d != no_domain) tree.domains[d].parent = no_domain;
  for (std::size_t m = 0; m < tree.of.size(); ++m) {
    std::uint32_t above = no_domain, depth = 0;
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      const auto d = order[i].at[m];
      if (d == no_domain) continue;
      if (above != no_domain && depth >= depth_of_parent[d]) {
        tree.domains[d].parent = above;
        depth_of_parent[d] = depth;
      }
      above = d;
      depth = i + 1;
    }
    tree.of[m] = above;
  }
  // Where machines lack levels, some may hang elsewhere than they say: then the sources are kept apart.
  for (std::size_t m = 0; m < tree.of.size(); ++m) {
    if (tree.of[m] == no_domain) continue;
    const auto chain = chain_of(tree, tree.of[m]);
    for (const auto& e : order)
      if (e.at[m] != no_domain && std::find(chain.begin(), chain.end(), e.at[m]) == chain.end()) {
        for (auto& name : out.added) out.left_out.emplace_back(std::move(name), e.name);
        out.added.clear();
        return out;
      }
  }
  net = std::move(tree);
  return out;
}

}  // namespace berth::merge_detail
