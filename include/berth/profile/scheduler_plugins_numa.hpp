#pragma once
/// \file
/// The NUMA nodes that a pod needs on one machine, as the scheduler plugin for least NUMA nodes counts them: the fewest
/// nodes that hold the request together, among those the least average distance (255 where it is not known). A node
/// that does not list a requested resource is not used. Source: kubernetes-sigs/scheduler-plugins
/// pkg/noderesourcetopology/least_numa.go.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "berth/profile/site.hpp"

namespace berth {

struct numa_part {
  std::int64_t id = 0;
  amount_list free;
  std::map<std::int64_t, std::int64_t> distance;  ///< to other ids
};

struct numa_choice {
  std::vector<std::int64_t> ids;  ///< ascending
  bool least_distance = false;    ///< no set of that size is closer together
};

/// Empty where all of them together do not hold it. O(2^nodes): at most 16 nodes are looked at. \pre parts.size() <= 16
[[nodiscard]] inline std::optional<numa_choice> least_numa(const std::vector<numa_part>& parts,
                                                           const amount_list& need) {
  constexpr std::int64_t unknown = 255;
  const std::size_t n = parts.size();
  const auto sum_of = [&](const std::vector<std::size_t>& set) {
    std::int64_t sum = 0;
    for (const std::size_t a : set)
      for (const std::size_t b : set) {
        const auto d = parts[a].distance.find(parts[b].id);
        sum += d == parts[a].distance.end() ? unknown : d->second;
      }
    return sum;
  };
  const auto holds = [&](const std::vector<std::size_t>& set) {
    amount_list all;
    for (const std::size_t i : set) {
      for (const auto& r : need)
        if (parts[i].free.find(r.resource) == nullptr) return false;
      all.add(parts[i].free);
    }
    for (const auto& r : need)
      if (r.thousandths > 0 && all.of(r.resource) < r.thousandths) return false;
    return true;
  };
  for (std::size_t k = 1; k <= n; ++k) {
    // All sets of k in lexicographic order: the first of the closest wins.
    std::vector<std::size_t> set(k);
    for (std::size_t i = 0; i < k; ++i) set[i] = i;
    std::int64_t closest = unknown * static_cast<std::int64_t>(k * k);
    std::optional<std::vector<std::size_t>> best;
    std::int64_t best_sum = 0;
    for (;;) {
      const std::int64_t sum = sum_of(set);
      closest = sum < closest ? sum : closest;
      if ((!best || sum < best_sum) && holds(set)) best = set, best_sum = sum;
      std::size_t i = k;
      while (i > 0 && set[i - 1] == n - k + i - 1) --i;
      if (i == 0) break;
      ++set[i - 1];
      for (; i < k; ++i) set[i] = set[i - 1] + 1;
    }
    if (!best) continue;
    numa_choice out;
    for (const std::size_t i : *best) {
      std::size_t at = out.ids.size();
      while (at > 0 && out.ids[at - 1] > parts[i].id) --at;
      out.ids.insert(out.ids.begin() + static_cast<std::ptrdiff_t>(at), parts[i].id);
    }
    out.least_distance = best_sum == closest;
    return out;
  }
  return std::nullopt;
}

}  // namespace berth
