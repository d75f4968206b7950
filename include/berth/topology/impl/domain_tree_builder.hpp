#pragma once
/// \file
/// Bodies of `berth/topology/domain_tree_builder.hpp`.

#include <cassert>
#include <utility>

#include "berth/topology/domain_tree_builder.hpp"
#include "berth/topology/level_names.hpp"

namespace berth {

BERTH_INLINE domain_tree domain_tree_builder::regular(const std::vector<std::string>& level_names,
                                                      const std::vector<std::uint32_t>& fanout,
                                                      std::uint32_t nodes_per_leaf, bool with_names) {
  assert(level_names.size() == fanout.size() + 1);
  domain_tree t;
  t.levels_.resize(level_names.size());
  std::uint32_t count = 1;
  std::vector<std::uint32_t> counts;
  for (std::size_t i = 0; i < level_names.size(); ++i) {
    counts.push_back(count);
    if (i < fanout.size()) count *= fanout[i];
  }
  const std::uint32_t node_total = counts.back() * nodes_per_leaf;
  for (std::size_t i = 0; i < level_names.size(); ++i) {
    auto& l = t.levels_[i];
    l.name = level_names[i];
    l.domains.resize(counts[i]);
    const std::uint32_t per = i < fanout.size() ? fanout[i] : nodes_per_leaf;
    const std::uint32_t span = node_total / counts[i];
    for (std::uint32_t d = 0; d < counts[i]; ++d)
      l.domains[d] = {i == 0 ? 0 : d / fanout[i - 1], {d * per, (d + 1) * per}, {d * span, (d + 1) * span}, i == 0};
    if (with_names && i != 0) {
      l.names.reserve(counts[i]);
      for (std::uint32_t d = 0; d < counts[i]; ++d) l.names.push_back(l.name + "-" + std::to_string(d));
    }
  }
  t.leaf_of_.resize(node_total);
  for (std::uint32_t n = 0; n < node_total; ++n) t.leaf_of_[n] = n / nodes_per_leaf;
  return t;
}

BERTH_INLINE expected<domain_tree_builder::result, tree_error> domain_tree_builder::build(
    const std::vector<domain_declaration>& domains, const std::vector<std::uint32_t>& node_domain) {
  using kind = tree_error::kind;
  constexpr std::uint32_t none = domain_declaration::no_parent;
  const auto count = static_cast<std::uint32_t>(domains.size());
  if (node_domain.empty()) return unexpected{tree_error{kind::no_nodes, 0}};
  for (std::uint32_t d = 0; d < count; ++d)
    if (domains[d].parent != none && domains[d].parent >= count) return unexpected{tree_error{kind::bad_parent, d}};
  for (std::uint32_t n = 0; n < node_domain.size(); ++n)
    if (node_domain[n] >= count) return unexpected{tree_error{kind::bad_leaf, n}};

  // Depth first from the roots, so that what is not reached hangs on a cycle.
  std::vector<std::vector<std::uint32_t>> kids(count), nodes(count);
  std::vector<std::uint32_t> roots, order;
  for (std::uint32_t d = 0; d < count; ++d) {
    if (domains[d].parent == none) roots.push_back(d);
    else kids[domains[d].parent].push_back(d);
  }
  for (std::uint32_t n = 0; n < node_domain.size(); ++n) nodes[node_domain[n]].push_back(n);
  order = roots;
  for (std::size_t i = 0; i < order.size(); ++i)
    order.insert(order.end(), kids[order[i]].begin(), kids[order[i]].end());
  if (order.size() != count) {
    std::vector<bool> seen(count, false);
    for (const auto d : order) seen[d] = true;
    for (std::uint32_t d = 0; d < count; ++d)
      if (!seen[d]) return unexpected{tree_error{kind::cycle, d}};
  }

  // Height above the nodes; a domain that holds nodes and switches at once gets an implicit leaf for its nodes.
  constexpr std::uint32_t empty = none;
  std::vector<std::uint32_t> height(count, empty);
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto d = order[i];
    if (!nodes[d].empty()) height[d] = 0;
    for (const auto k : kids[d])
      if (height[k] != empty && (height[d] == empty || height[d] < height[k] + 1)) height[d] = height[k] + 1;
  }
  bool named = false;
  for (const auto& d : domains) named = named || !d.level.empty();
  std::vector<std::string> names;  // innermost first, by height
  if (named) {
    // Every named level must sit at one height: lift a level to the largest height its members have.
    bool changed = true;
    for (std::size_t round = 0; changed; ++round) {
      if (round > max_levels) return unexpected{tree_error{kind::level_order, order.front()}};
      changed = false;
      std::vector<std::pair<std::string, std::uint32_t>> top;
      for (const auto d : order) {
        if (domains[d].level.empty() || height[d] == empty) continue;
        bool found = false;
        for (auto& [name, h] : top)
          if (name == domains[d].level) {
            found = true;
            if (h < height[d]) h = height[d];
          }
        if (!found) top.emplace_back(domains[d].level, height[d]);
      }
      for (const auto d : order)
        for (const auto& [name, h] : top)
          if (name == domains[d].level && height[d] != empty && height[d] < h) height[d] = h, changed = true;
      for (std::size_t i = order.size(); i-- > 0;) {
        const auto d = order[i];
        for (const auto k : kids[d])
          if (height[k] != empty && height[d] < height[k] + 1) height[d] = height[k] + 1, changed = true;
      }
    }
  }
  std::uint32_t tallest = 0;
  for (const auto r : roots)
    if (height[r] != empty && height[r] > tallest) tallest = height[r];
  if (std::size_t{tallest} + 2 > max_levels) return unexpected{tree_error{kind::too_many_levels, roots.front()}};
  const std::size_t depth = std::size_t{tallest} + 2;  // plus "cluster"
  names.assign(depth - 1, "");
  for (const auto d : order) {
    if (height[d] == empty || domains[d].level.empty()) continue;
    auto& n = names[height[d]];
    if (n.empty()) n = domains[d].level;
    else if (n != domains[d].level) return unexpected{tree_error{kind::level_order, d}};
  }
  for (std::size_t h = 0; h < names.size(); ++h) {
    static constexpr const char* words[] = {"leaf", "spine", "core"};
    if (!names[h].empty()) continue;
    names[h] = h < 3 ? words[h] : "tier" + std::to_string(h + 1);
    for (std::size_t k = 0; k < names.size(); ++k)
      if (k != h && names[k] == names[h]) names[h] += "-" + std::to_string(h + 1);
  }

  domain_tree t;
  t.levels_.resize(depth);
  t.levels_[0].name = "cluster";
  for (std::size_t i = 1; i < depth; ++i) t.levels_[i].name = names[depth - 1 - i];
  t.levels_[0].domains.append({0, {0, 0}, {0, 0}, true});
  t.levels_[0].names.emplace_back();
  std::vector<node_id> ids(node_domain.size());
  std::uint32_t next_node = 0;

  // Emits a declared domain below `parent` (a domain of level `at - 1`), with implicit domains down to its own level.
  struct frame {
    std::uint32_t declared;  // `empty`: implicit domains for `owner`'s nodes
    std::uint32_t owner;
    std::size_t at;
    std::uint32_t parent;
  };
  const auto level_of = [&](std::uint32_t h) { return depth - 1 - h; };
  std::vector<frame> todo;
  for (std::size_t i = roots.size(); i-- > 0;)
    if (height[roots[i]] != empty) todo.push_back({roots[i], roots[i], 1, 0});
  while (!todo.empty()) {
    frame f = todo.back();
    todo.pop_back();
    const auto add_domain = [&](std::size_t level, std::uint32_t below, const std::string* name) {
      auto& l = t.levels_[level];
      l.domains.append({below, {0, 0}, {0, 0}, name == nullptr});
      l.names.push_back(name != nullptr ? *name : std::string{});
      return static_cast<std::uint32_t>(l.domains.size() - 1);
    };
    const auto add_node = [&](std::uint32_t n, std::uint32_t leaf) {
      ids[n] = node_id{next_node++};
      t.leaf_of_.append(leaf);
    };
    std::uint32_t parent = f.parent;
    if (f.declared == empty) {
      std::size_t shared = f.at;  // levels from here on have a domain for every node
      for (; shared < depth && is_switch_level(t.levels_[shared].name); ++shared)
        parent = add_domain(shared, parent, nullptr);
      for (const auto n : nodes[f.owner]) {
        std::uint32_t leaf = parent;
        for (std::size_t i = shared; i < depth; ++i) leaf = add_domain(i, leaf, nullptr);
        add_node(n, leaf);
      }
      continue;
    }
    const std::size_t own = level_of(height[f.declared]);
    for (std::size_t i = f.at; i < own; ++i) parent = add_domain(i, parent, nullptr);
    parent = add_domain(own, parent, &domains[f.declared].name);
    if (own == depth - 1) {
      for (const auto n : nodes[f.owner]) add_node(n, parent);
      continue;
    }
    for (std::size_t i = kids[f.declared].size(); i-- > 0;)
      if (height[kids[f.declared][i]] != empty)
        todo.push_back({kids[f.declared][i], kids[f.declared][i], own + 1, parent});
    if (!nodes[f.declared].empty()) todo.push_back({empty, f.declared, own + 1, parent});
  }

  // Children and node ranges follow from the order of emission.
  for (std::uint32_t n = 0; n < t.leaf_of_.size(); ++n) {
    auto& leaf = t.levels_[depth - 1].domains[t.leaf_of_[n]];
    if (leaf.nodes.size() == 0) leaf.nodes = {n, n};
    leaf.nodes.last = n + 1;
    leaf.children = leaf.nodes;
  }
  for (std::size_t i = depth - 1; i > 0; --i)
    for (std::uint32_t d = 0; d < t.levels_[i].domains.size(); ++d) {
      const auto& c = t.levels_[i].domains[d];
      auto& p = t.levels_[i - 1].domains[c.parent];
      if (p.children.size() == 0) p.children = {d, d}, p.nodes = c.nodes;
      p.children.last = d + 1;
      p.nodes.last = c.nodes.last;
    }
  return result{std::move(t), std::move(ids)};
}

}  // namespace berth
