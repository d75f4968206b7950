#pragma once
/// \file
/// Bodies of `berth/quota/order/fair_tree.hpp`.

#include <algorithm>
#include <limits>
#include <utility>

#include "berth/quota/order/fair_tree.hpp"

namespace berth {

BERTH_INLINE std::vector<double> fair_tree::factors(std::span<const fair_tree_node> nodes) {
  const auto level = level_factors(nodes);
  std::vector<std::vector<std::uint32_t>> children(nodes.size());
  frame top;
  std::uint32_t users = 0;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    users += nodes[i].user ? 1U : 0U;
    (nodes[i].parent == fair_tree_node::no_parent ? top.rows : children[nodes[i].parent]).push_back(i);
  }
  std::vector<double> out(nodes.size(), 0);
  std::uint32_t rank = users, untied = users;
  std::vector<frame> stack;
  const auto open = [&](frame f) {
    std::sort(f.rows.begin(), f.rows.end(), [&](std::uint32_t a, std::uint32_t b) {
      if (level[a] != level[b]) return level[a] > level[b];
      if (nodes[a].user != nodes[b].user) return nodes[a].user;
      return a < b;
    });
    stack.push_back(std::move(f));
  };
  open(std::move(top));
  while (!stack.empty()) {
    auto& f = stack.back();
    if (f.next == f.rows.size()) {
      stack.pop_back();
      continue;
    }
    const auto i = f.rows[f.next];
    const bool tied = f.next == 0 ? f.tied : level[f.rows[f.next - 1]] == level[i];
    ++f.next;
    if (nodes[i].user) {
      if (!tied) rank = untied;
      out[i] = users == 0 ? 0 : static_cast<double>(rank) / users;
      --untied;
      continue;
    }
    frame below;
    below.tied = tied;
    below.rows = children[i];
    for (; f.next < f.rows.size() && level[f.rows[f.next]] == level[i] && !nodes[f.rows[f.next]].user; ++f.next) {
      const auto& more = children[f.rows[f.next]];
      below.rows.insert(below.rows.end(), more.begin(), more.end());
    }
    open(std::move(below));
  }
  return out;
}

BERTH_INLINE std::vector<double> fair_tree::level_factors(std::span<const fair_tree_node> nodes) {
  std::vector<double> shares(nodes.size() + 1, 0), usage(nodes.size() + 1, 0), out(nodes.size(), 0);
  const auto group = [&](const fair_tree_node& n) {
    return n.parent == fair_tree_node::no_parent ? nodes.size() : std::size_t{n.parent};
  };
  for (const auto& n : nodes) {
    if (n.shares > 0) shares[group(n)] += static_cast<double>(n.shares);
    usage[group(n)] += n.usage;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& n = nodes[i];
    if (n.shares == fair_tree_node::as_parent) {
      out[i] = n.user ? std::numeric_limits<double>::infinity() : 1;
      continue;
    }
    const double s = n.shares > 0 ? static_cast<double>(n.shares) / shares[group(n)] : 0;
    const double u = usage[group(n)] > 0 ? n.usage / usage[group(n)] : 0;
    out[i] = s == 0 ? 0 : u == 0 ? std::numeric_limits<double>::infinity() : s / u;
  }
  return out;
}

}  // namespace berth
