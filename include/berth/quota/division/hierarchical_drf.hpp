#pragma once
/// \file
/// Hierarchical dominant resource fairness, task by task.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "berth/quota/division.hpp"

namespace berth {

/// A node of the tree that `hierarchical_drf` fills. Parents stand before their children; node 0 is the root.
struct hdrf_node {
  std::uint32_t parent = 0;
  quota_amount weight = 1000;
  std::vector<quota_amount> task;  ///< what one task asks, by resource; empty for inner nodes
  std::int64_t tasks = 0;          ///< how many a leaf wants
};

/// From the root down, the child with the smallest dominant share divided by weight gets the next task. A leaf is
/// blocked once it has all it wants or its next task does not fit; an inner node once all its children are. The share
/// of an inner node is that of the sum of its children's usage, where every child that is not blocked is first scaled
/// down to the smallest weighted share among those that have any, so that a child which ran ahead (because a sibling
/// was blocked for a while) does not count against its parent: the "naive" rule starves siblings, this one does not. As
/// a division of one group: a tree of depth one, where a task is one thousandth of a queue's need, at least a unit.
/// Source: Bhattacharya et al., "Hierarchical Scheduling for Diverse Datacenter Workloads", SoCC 2013; Volcano
/// docs/design/hdrf.md. O(tasks × depth × children × resources).
struct hierarchical_drf {
  static constexpr std::string_view name = "hdrf";

  /// How many tasks every node gets; 0 for inner nodes.
  [[nodiscard]] static std::vector<std::int64_t> divide_tree(std::span<const hdrf_node> nodes,
                                                             std::span<const quota_amount> capacity) {
    const std::size_t n = nodes.size(), m = capacity.size();
    std::vector<std::int64_t> given(n, 0);
    std::vector<double> share(n, 0), vector(n * m, 0);
    std::vector<std::uint8_t> blocked(n, 0);
    std::vector<quota_amount> left(capacity.begin(), capacity.end());
    std::vector<std::vector<std::uint32_t>> children(n);
    for (std::uint32_t i = 1; i < n; ++i) children[nodes[i].parent].push_back(i);

    const auto fits = [&](std::size_t i) {
      bool any = false;
      for (std::size_t r = 0; r < m; ++r) {
        if (nodes[i].task[r] > left[r]) return false;
        any = any || nodes[i].task[r] > 0;
      }
      return any && given[i] < nodes[i].tasks;
    };
    const auto refresh = [&](std::size_t i) {  // share and vector of one node from below
      double* v = &vector[i * m];
      if (children[i].empty()) {
        for (std::size_t r = 0; r < m; ++r)
          v[r] = capacity[r] > 0 && !nodes[i].task.empty()
                     ? static_cast<double>(given[i]) * static_cast<double>(nodes[i].task[r]) /
                           static_cast<double>(capacity[r])
                     : 0;
      } else {
        double smallest = std::numeric_limits<double>::infinity();
        for (const auto c : children[i])
          if (!blocked[c] && share[c] > 0) smallest = std::min(smallest, share[c] / weight(nodes[c]));
        std::fill(v, v + m, 0.0);
        for (const auto c : children[i]) {
          double scale = 1;
          if (!blocked[c] && share[c] > 0) scale = smallest * weight(nodes[c]) / share[c];
          for (std::size_t r = 0; r < m; ++r) v[r] += scale * vector[c * m + r];
        }
      }
      share[i] = 0;
      for (std::size_t r = 0; r < m; ++r) share[i] = std::max(share[i], v[r]);
    };
    for (;;) {
      // What no longer fits is blocked; blocked nodes stay so, because nothing is taken back.
      bool changed = false;
      for (std::size_t i = n; i-- > 0;) {
        if (blocked[i]) continue;
        bool b = nodes[i].weight == 0 && i != 0;
        if (!b && children[i].empty()) b = nodes[i].task.size() != m || !fits(i);
        else if (!b)
          b = std::all_of(children[i].begin(), children[i].end(), [&](std::uint32_t c) { return blocked[c] != 0; });
        if (b) blocked[i] = 1, changed = true;
      }
      if (n == 0 || blocked[0]) return given;
      if (changed)
        for (std::size_t i = n; i-- > 0;) refresh(i);
      std::size_t at = 0;
      while (!children[at].empty()) {
        std::size_t best = n;
        for (const auto c : children[at])
          if (!blocked[c] && (best == n || share[c] / weight(nodes[c]) < share[best] / weight(nodes[best]))) best = c;
        at = best;
      }
      ++given[at];
      for (std::size_t r = 0; r < m; ++r) left[r] -= nodes[at].task[r];
      for (auto i = at;; i = nodes[i].parent) {
        refresh(i);
        if (i == 0) break;
      }
    }
  }

  void divide(const sibling_group& g, quota_rows_out share, division_workspace& w) const {
    std::vector<hdrf_node> nodes(static_cast<std::size_t>(g.size()) + 1);
    // The older goes first on ties.
    w.order.resize(static_cast<std::size_t>(g.size()));
    for (std::uint32_t k = 0; k < w.order.size(); ++k) w.order[k] = k;
    std::sort(w.order.begin(), w.order.end(), [&](std::uint32_t a, std::uint32_t b) { return g.older(a, b); });
    for (std::size_t k = 0; k < w.order.size(); ++k) {
      const Eigen::Index i = w.order[k];
      auto& node = nodes[k + 1];
      node.weight = g.resources() > 0 ? g.weight(i, 0) : 0;
      quota_amount tasks = 1000;
      for (Eigen::Index r = 0; r < g.resources(); ++r)
        if (const auto units = g.need(i, r) / g.unit[static_cast<std::size_t>(r)]; g.need(i, r) > 0)
          tasks = quota_detail::least(tasks, quota_detail::most(1, units));
      for (Eigen::Index r = 0; r < g.resources(); ++r) node.task.push_back(g.need(i, r) / tasks);
      node.tasks = tasks;
    }
    const auto given = divide_tree(nodes, g.capacity);
    for (std::size_t k = 0; k < w.order.size(); ++k)
      for (Eigen::Index r = 0; r < g.resources(); ++r)
        share(w.order[k], r) = nodes[k + 1].task[static_cast<std::size_t>(r)] * given[k + 1];
  }

 private:
  static double weight(const hdrf_node& n) { return static_cast<double>(n.weight); }
};

}  // namespace berth
