#pragma once
/// \file
/// KAI's topology rule: the domains in which a pod group is tried, tightest first and narrowest level first, and the
/// rank of a group's nodes where it prefers a level. Source: kai-scheduler/KAI-Scheduler
/// pkg/scheduler/plugins/topology/ (job_filtering.go, node_scoring.go, common.go); peer_semantics item 18.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "berth/profile/kai_cluster.hpp"

namespace berth::kai {

using node_set = std::vector<std::size_t>;

/// Domains of the nodes that have one at every level. Domain 0 is all of them.
class domains {
 public:
  struct domain {
    std::string id;         ///< its path, joined by dots: ties go to the smaller
    std::size_t level = 0;  ///< 1 + level of the cluster; 0 for the root
    std::vector<std::size_t> children;
    node_set nodes;
    std::int64_t fits = -1;  ///< pods, where they are counted
    quantities free;         ///< zeros outside the part of the tree that was looked at
  };

  explicit domains(const cluster& c) : c_{c}, list_(1) {
    list_[0].id = "root";
    for (std::size_t n = 0; n < c.nodes.size(); ++n) {
      const auto& path = c.nodes[n].path;
      if (!whole(path)) continue;
      std::size_t at = 0;
      list_[0].nodes.push_back(n);
      std::string id;
      for (std::size_t l = 0; l < path.size(); ++l) {
        id += (l == 0 ? "" : ".") + *path[l];
        std::size_t next = nowhere;
        for (const auto k : list_[at].children)
          if (list_[k].id == id) next = k;
        if (next == nowhere) {
          next = list_.size();
          list_[at].children.push_back(next);
          list_.push_back({id, l + 1, {}, {}, -1, {}});
        }
        list_[next].nodes.push_back(n);
        at = next;
      }
    }
  }
  [[nodiscard]] static bool whole(const std::vector<std::optional<std::string>>& path) {
    for (const auto& d : path)
      if (!d) return false;
    return true;
  }

  /// The node sets to try for `tasks` of a group, in order; `active` are nodes where pods of the group hold resources
  /// already. `ranks` gets the rank of each node where the group prefers a level (empty otherwise).
  [[nodiscard]] std::vector<node_set> subsets(const topology_wish& wish, const std::vector<std::size_t>& tasks,
                                              const node_set& among, const node_set& active,
                                              std::map<std::size_t, std::int32_t>& ranks) {
    if (!wish.any()) return {};
    std::vector<char> valid(c_.nodes.size(), 0);
    node_set inside;
    for (const auto n : among)
      if (whole(c_.nodes[n].path)) {
        valid[n] = 1;
        inside.push_back(n);
      }
    const std::size_t top = common_domain(inside, wish);
    quantities sum(c_.resources.size(), 0);
    for (const auto t : tasks) add(sum, c_.all_pods[t].request);
    for (auto& d : list_) {
      d.fits = -1;
      d.free.assign(c_.resources.size(), 0);
    }
    count_free(top);
    if (alike(tasks)) count_fits(top, tasks);
    if (!fits(list_[top], sum, tasks.size())) return {};
    const std::size_t deepest = (wish.preferred ? *wish.preferred : *wish.required) + 1;
    order_children(top, sum, deepest);
    if (wish.preferred) rank_nodes(top, *wish.preferred + 1, ranks);

    const std::size_t coarsest = wish.required ? *wish.required + 1 : 0;
    const std::size_t finest = wish.preferred && wish.required ? std::max(*wish.preferred + 1, coarsest) : deepest;
    // A preferred level above the required one is never reached: levels are walked upwards and end at the required.
    if (wish.preferred && wish.required && *wish.preferred < *wish.required) return {};
    std::vector<char> relevant(list_.size(), 1);
    if (!active.empty() && wish.required) {
      relevant.assign(list_.size(), 0);
      for (std::size_t d = 0; d < list_.size(); ++d)
        if (list_[d].level == coarsest && holds_any(list_[d], active)) mark(d, relevant);
    }
    std::vector<node_set> out;
    for (const auto d : bottom_up()) {
      const auto& x = list_[d];
      if (x.level > finest || x.level < coarsest || relevant[d] == 0 || !fits(x, sum, tasks.size())) continue;
      node_set s;
      for (const auto n : x.nodes)
        if (valid[n] != 0) s.push_back(n);
      out.push_back(std::move(s));
    }
    return out;
  }

 private:
  [[nodiscard]] static bool holds_any(const domain& d, const node_set& nodes) {
    for (const auto n : nodes)
      if (std::find(d.nodes.begin(), d.nodes.end(), n) != d.nodes.end()) return true;
    return false;
  }
  void mark(std::size_t d, std::vector<char>& relevant) const {
    relevant[d] = 1;
    for (const auto k : list_[d].children) mark(k, relevant);
  }
  /// The narrowest domain with all of `inside`, not below the preferred level.
  [[nodiscard]] std::size_t common_domain(const node_set& inside, const topology_wish& wish) const {
    std::size_t at = 0;
    if (inside.empty()) return at;
    for (std::size_t l = 0; l < c_.levels.size(); ++l) {
      const auto& first = *c_.nodes[inside[0]].path[l];
      for (const auto n : inside)
        if (*c_.nodes[n].path[l] != first) return at;
      if (first.empty()) return at;
      std::string id = at == 0 ? first : list_[at].id + "." + first;
      for (const auto k : list_[at].children)
        if (list_[k].id == id) {
          at = k;
          break;
        }
      if (wish.preferred && *wish.preferred == l) return at;
    }
    return at;
  }
  /// All pods ask GPUs or none does, and likewise for every further resource.
  [[nodiscard]] bool alike(const std::vector<std::size_t>& tasks) const {
    for (std::size_t r = gpu; r < c_.resources.size(); ++r) {
      if (r == pods) continue;
      std::size_t asking = 0;
      for (const auto t : tasks) asking += c_.all_pods[t].request[r] > 0 ? 1U : 0U;
      if (asking != 0 && asking != tasks.size()) return false;
    }
    return true;
  }
  void count_free(std::size_t d) {
    auto& x = list_[d];
    if (x.children.empty()) {
      for (const auto n : x.nodes) {
        add(x.free, c_.nodes[n].idle);
        add(x.free, c_.nodes[n].releasing);
      }
      return;
    }
    for (const auto k : x.children) {
      count_free(k);
      add(x.free, list_[k].free);
    }
  }
  /// How many of the largest of the pods each domain holds.
  void count_fits(std::size_t top, const std::vector<std::size_t>& tasks) {
    quantities most(c_.resources.size(), 0);
    for (const auto t : tasks)
      for (std::size_t r = 0; r < most.size(); ++r) most[r] = std::max(most[r], c_.all_pods[t].request[r]);
    count_fits(top, most, static_cast<std::int64_t>(tasks.size()));
  }
  std::int64_t count_fits(std::size_t d, const quantities& most, std::int64_t count) {
    auto& x = list_[d];
    x.fits = 0;
    if (x.children.empty())
      for (const auto n : x.nodes) x.fits += node_holds(c_.nodes[n], most, count);
    const auto children = x.children;
    std::int64_t sum = list_[d].fits;
    for (const auto k : children) sum += count_fits(k, most, count);
    return list_[d].fits = sum;
  }
  [[nodiscard]] static std::int64_t node_holds(const node& n, const quantities& most, std::int64_t count) {
    quantities slot(most.size(), 0);
    slot[pods] = one;
    if (within(most, slot)) return count;
    quantities free = n.idle;
    add(free, n.releasing);
    if (most[gpu] > 0 && most[gpu] < one)
      for (const auto& [name, d] : n.shared)
        if (d.used > 0 && n.gpu_memory > 0)
          free[gpu] += std::max<std::int64_t>(0, (n.gpu_memory - d.allocated + d.releasing) * one / n.gpu_memory);
    if (!within(most, free)) return 0;
    std::int64_t least = -1;
    for (std::size_t r = 0; r < most.size(); ++r)
      if (most[r] > 0 && (least < 0 || free[r] / most[r] < least)) least = free[r] / most[r];
    return least < 0 ? count : least;
  }
  /// The largest share of what is free in the domain that the pods ask of a resource; 1000 where it has none of it.
  [[nodiscard]] static double ratio(const domain& d, const quantities& sum) {
    double most = 0;
    for (std::size_t r = 0; r < sum.size(); ++r)
      if (sum[r] > 0 && r != pods)
        most = std::max(most, d.free[r] <= 0 ? 1000.0 : static_cast<double>(sum[r]) / static_cast<double>(d.free[r]));
    return most;
  }
  [[nodiscard]] static bool fits(const domain& d, const quantities& sum, std::size_t tasks) {
    return d.fits >= 0 ? d.fits >= static_cast<std::int64_t>(tasks) : ratio(d, sum) <= 1;
  }
  /// Tightest first, ties by id, down to the level `deepest`.
  void order_children(std::size_t d, const quantities& sum, std::size_t deepest) {
    auto children = list_[d].children;
    std::sort(children.begin(), children.end(), [&](std::size_t a, std::size_t b) {
      const double x = ratio(list_[a], sum), y = ratio(list_[b], sum);
      return x != y ? x > y : list_[a].id < list_[b].id;
    });
    list_[d].children = children;
    if (list_[d].level == deepest) return;
    for (const auto k : children) order_children(k, sum, deepest);
  }
  void at_level(std::size_t d, std::size_t level, std::vector<std::size_t>& out) const {
    if (list_[d].level == level) {
      out.push_back(d);
      return;
    }
    for (const auto k : list_[d].children) at_level(k, level, out);
  }
  /// Nodes of the (i+1)-th of n domains of the preferred level rank floor(10 (i+1) / n): the loosest domain first, so
  /// that a group that fits no single one spreads over few.
  void rank_nodes(std::size_t top, std::size_t level, std::map<std::size_t, std::int32_t>& ranks) const {
    std::vector<std::size_t> order;
    at_level(top, level, order);
    for (std::size_t i = 0; i < order.size(); ++i)
      for (const auto n : list_[order[i]].nodes) ranks[n] = static_cast<std::int32_t>((i + 1) * 10 / order.size());
  }
  /// Deepest level first, each from left to right.
  [[nodiscard]] std::vector<std::size_t> bottom_up() const {
    std::vector<std::vector<std::size_t>> levels{{0}};
    while (!levels.back().empty()) {
      std::vector<std::size_t> next;
      for (const auto d : levels.back())
        for (const auto k : list_[d].children) next.push_back(k);
      levels.push_back(std::move(next));
    }
    std::vector<std::size_t> out;
    for (auto l = levels.rbegin(); l != levels.rend(); ++l) out.insert(out.end(), l->begin(), l->end());
    return out;
  }

  const cluster& c_;
  std::vector<domain> list_;
};

}  // namespace berth::kai
