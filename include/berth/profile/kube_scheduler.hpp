#pragma once
/// \file
/// kube-scheduler's scores of nodes as policies, and its placement of a group. Scores are 0 .. 100.
/// Source: kubernetes/kubernetes pkg/scheduler/framework/plugins/noderesources/ (least_allocated.go, most_allocated.go,
/// balanced_allocation.go, requested_to_capacity_ratio.go), podtopologyspread/scoring.go; for groups
/// kubernetes/enhancements keps/sig-scheduling/5732-topology-aware-workload-scheduling.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "berth/profile/gang.hpp"
#include "berth/profile/site.hpp"

namespace berth {

/// A node as its scores see it: what it has, and what would be requested of it with the pod.
struct kube_load {
  const amount_list& capacity;
  const amount_list& requested;
};

/// Resources and their weights, whole numbers.
using kube_weights = std::vector<std::pair<std::string, std::int64_t>>;
[[nodiscard]] inline kube_weights kube_default_weights() {
  return {{"cpu", 1}, {"mem", 1}};
}

namespace kube_detail {

/// The weighted mean, rounded down, of a score per resource that the node has.
template <class Score>
[[nodiscard]] std::int64_t mean(const kube_load& n, const kube_weights& weights, Score&& score) {
  std::int64_t sum = 0, all = 0;
  for (const auto& [resource, weight] : weights) {
    const std::int64_t capacity = n.capacity.of(resource);
    if (capacity <= 0) continue;
    sum += weight * score(n.requested.of(resource), capacity);
    all += weight;
  }
  return all == 0 ? 0 : sum / all;
}
/// part × 100 / whole, rounded down. Exact to the thousandth that amounts are counted in.
[[nodiscard]] inline std::int64_t percent(std::int64_t part, std::int64_t whole) noexcept {
  return part / whole * 100 + part % whole * 100 / whole;
}

}  // namespace kube_detail

/// Spread: the emptier, the better.
struct kube_least_allocated {
  kube_weights weights = kube_default_weights();
  [[nodiscard]] std::int64_t score(const kube_load& n) const {
    return kube_detail::mean(n, weights,
                             [](std::int64_t r, std::int64_t c) { return r > c ? 0 : kube_detail::percent(c - r, c); });
  }
};
/// Pack: the fuller, the better.
struct kube_most_allocated {
  kube_weights weights = kube_default_weights();
  [[nodiscard]] std::int64_t score(const kube_load& n) const {
    return kube_detail::mean(n, weights, [](std::int64_t r, std::int64_t c) {
      return r > c ? kube_detail::percent(c, c) : kube_detail::percent(r, c);
    });
  }
};
/// Resources used evenly: 1 less the standard deviation of their utilisations; half the difference where there are two.
struct kube_balanced_allocation {
  kube_weights weights = kube_default_weights();
  [[nodiscard]] std::int64_t score(const kube_load& n) const {
    std::vector<double> used;
    for (const auto& [resource, weight] : weights) {
      const std::int64_t c = n.capacity.of(resource);
      if (c <= 0) continue;
      const double f = static_cast<double>(n.requested.of(resource)) / static_cast<double>(c);
      used.push_back(f > 1 ? 1 : f);
    }
    double deviation = 0;
    if (used.size() == 2) {
      deviation = std::fabs(used[0] - used[1]) / 2;
    } else if (used.size() > 2) {
      double mean = 0, sum = 0;
      for (const double f : used) mean += f;
      mean /= static_cast<double>(used.size());
      for (const double f : used) sum += (f - mean) * (f - mean);
      deviation = std::sqrt(sum / static_cast<double>(used.size()));
    }
    return static_cast<std::int64_t>((1 - deviation) * 100);
  }
};
/// A piecewise linear shape over the utilisation in percent; scores of 0 .. 10 count tenfold. Resources that score
/// nothing do not count in the mean.
struct kube_requested_to_capacity {
  std::vector<std::pair<std::int64_t, std::int64_t>> shape = {{0, 0}, {100, 10}};
  kube_weights weights = kube_default_weights();
  [[nodiscard]] std::int64_t at(std::int64_t utilisation) const noexcept {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (utilisation > shape[i].first) continue;
      if (i == 0) return shape[0].second * 10;
      const auto [x, y] = shape[i - 1];
      const auto [u, v] = shape[i];
      return y * 10 + (v - y) * 10 * (utilisation - x) / (u - x);
    }
    return shape.empty() ? 0 : shape.back().second * 10;
  }
  [[nodiscard]] std::int64_t score(const kube_load& n) const {
    std::int64_t sum = 0, all = 0;
    for (const auto& [resource, weight] : weights) {
      const std::int64_t c = n.capacity.of(resource), r = n.requested.of(resource);
      const std::int64_t s = c <= 0 || r > c ? at(100) : at(100 - kube_detail::percent(c - r, c));
      if (s <= 0) continue;
      sum += s * weight;
      all += weight;
    }
    return all == 0 ? 0 : std::llround(static_cast<double>(sum) / static_cast<double>(all));
  }
};

/// One topology spread constraint as scoring sees it.
struct kube_spread {
  std::vector<std::int64_t> matching;  ///< pods per candidate node's domain
  std::int64_t domains = 1;            ///< of that topology key among the candidates
  std::int64_t max_skew = 1;
};
/// Scores of the candidate nodes: a node's sum over the constraints of count × ln(domains + 2) + (max skew - 1), turned
/// around so that the least crowded has 100.
[[nodiscard]] inline std::vector<std::int64_t> kube_topology_spread(const std::vector<kube_spread>& constraints,
                                                                    std::size_t nodes) {
  std::vector<std::int64_t> raw(nodes, 0), out(nodes, 0);
  for (std::size_t n = 0; n < nodes; ++n) {
    double sum = 0;
    for (const auto& c : constraints)
      if (n < c.matching.size())
        sum += static_cast<double>(c.matching[n]) * std::log(static_cast<double>(c.domains + 2)) +
               static_cast<double>(c.max_skew - 1);
    raw[n] = std::llround(sum);
  }
  if (nodes == 0) return out;
  std::int64_t least = raw[0], most = raw[0];
  for (const auto s : raw) {
    least = s < least ? s : least;
    most = s > most ? s : most;
  }
  for (std::size_t n = 0; n < nodes; ++n) out[n] = most == 0 ? 100 : 100 * (most + least - raw[n]) / most;
  return out;
}

/// How many of `candidates` placements are scored: all below 100, then from 50 % down to 5 %, `percent` where that is
/// set. The rule for nodes, which groups share.
[[nodiscard]] constexpr std::int64_t kube_scored(std::int64_t candidates, std::int64_t percent = 0) noexcept {
  if (candidates < 100 || percent >= 100) return candidates;
  std::int64_t p = percent != 0 ? percent : 50 - candidates / 125;
  if (percent == 0 && p < 5) p = 5;
  const std::int64_t n = candidates * p / 100;
  return n < 100 ? 100 : n;
}

/// Places a group of equal pods inside one domain of `level`: one placement per value of the label, in each the pods
/// one by one on the node with the best score, nothing taken back; the placement that holds most pods wins, the first
/// of equal ones. Refused where none holds `minimum`. Score needs `std::int64_t score(const kube_load&)`. O(nodes ×
/// pods).
template <class Score>
[[nodiscard]] named_answer kube_place_group(const named_site& site, const named_request& group, std::int64_t minimum,
                                            const Score& score) {
  named_answer out;
  out.request = group.name;
  out.levels = {"host"};
  out.outcome = named_answer::result::unschedulable;
  const auto level = site.level(group.level);
  std::vector<std::string> values;
  for (const auto& n : site.nodes) {
    const auto value = level ? n.path[*level] : std::optional<std::string>{"*"};
    bool known = !value;
    for (const auto& v : values) known = known || v == *value;
    if (!known) values.push_back(*value);
  }
  std::int64_t most = 0;
  for (const auto& value : values) {
    std::vector<std::size_t> inside;
    std::vector<amount_list> free;
    for (std::size_t i = 0; i < site.nodes.size(); ++i) {
      const auto& n = site.nodes[i];
      if (!n.ready || !n.schedulable || (level && n.path[*level] != value) ||
          untolerated(n.taints, group.wish.tolerations) != nullptr || group.wish.missing(n.labels) != nullptr ||
          !group.wish.affinity_matches(n.labels))
        continue;
      inside.push_back(i);
      free.push_back(n.free);
      for (const auto& u : site.uses)
        if (u.counts && u.node == n.name) free.back().add(u.requests, -u.count);
    }
    std::vector<std::int64_t> pods(inside.size(), 0);
    std::int64_t placed = 0;
    for (; placed < group.count; ++placed) {
      std::size_t best = inside.size();
      std::int64_t top = 0;
      for (std::size_t i = 0; i < inside.size(); ++i) {
        if (times_in(free[i], group.per_task, 1) < 1) continue;
        const auto& capacity = site.nodes[inside[i]].capacity;
        amount_list requested = capacity;
        requested.add(free[i], -1);
        requested.add(group.per_task);
        const std::int64_t s = score.score(kube_load{capacity, requested});
        if (best == inside.size() || s > top) best = i, top = s;
      }
      if (best == inside.size()) break;
      ++pods[best];
      free[best].add(group.per_task, -1);
    }
    if (placed < minimum || placed <= most) continue;
    most = placed;
    out.placements.clear();
    for (std::size_t i = 0; i < inside.size(); ++i)
      if (pods[i] > 0) out.placements.push_back({{site.nodes[inside[i]].name}, pods[i]});
    out.outcome = placed == group.count ? named_answer::result::placed : named_answer::result::partial;
  }
  return out;
}

}  // namespace berth
