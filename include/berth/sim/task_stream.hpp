#pragma once
/// \file
/// Streams of arriving tasks made from a list, and the order of nodes in which ties end, as the packing experiments of
/// the literature have them.
///
/// Source of the rules: Weng et al., USENIX ATC 2023, and the simulator published with it: the list is shuffled; where
/// its GPU demand is below `load` × capacity, uniformly drawn copies are appended until the next would exceed it (the
/// test counts one GPU's share of a copy, also for tasks with several GPUs); where it is above, uniformly drawn tasks
/// are removed until it fits.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/cluster/share_node.hpp"
#include "berth/core/random.hpp"

namespace berth {

namespace detail {
/// Positions from 0 on, of which some are taken away. Memory O(positions).
class remaining {
 public:
  explicit remaining(std::size_t n) : sum_(n + 1), top_{std::bit_floor(n)} {
    for (std::size_t i = 1; i <= n; ++i) {
      sum_[i] += 1;
      if (const std::size_t up = i + (i & (0 - i)); up <= n) sum_[up] += sum_[i];
    }
  }
  /// Takes the position away that is left after `k` smaller ones. \pre more than `k` are left. O(log n)
  std::size_t take(std::size_t k) noexcept {
    std::size_t at = 0;
    for (std::size_t step = top_; step != 0; step /= 2)
      if (at + step < sum_.size() && sum_[at + step] <= k) at += step, k -= sum_[at];
    for (std::size_t i = at + 1; i < sum_.size(); i += i & (0 - i)) --sum_[i];
    return at;
  }

 private:
  std::vector<std::size_t> sum_;  // Fenwick, "A new data structure for cumulative frequency tables", SPE 1994
  std::size_t top_;
};
}  // namespace detail

/// Indices into `tasks` in order of arrival. \param capacity  GPU share of the cluster in thousandths. O(n log n) in
/// tasks and arrivals together.
[[nodiscard]] inline std::vector<std::uint32_t> arrivals_at_load(const std::vector<share_task>& tasks,
                                                                 std::uint64_t capacity, double load,
                                                                 std::uint64_t seed) {
  std::vector<std::uint32_t> order;
  std::uint64_t demand = 0;
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    order.push_back(i);
    demand += tasks[i].demand();
  }
  if (order.empty()) return order;
  random_source random{seed};
  random.shuffle(order.data(), order.size());
  const auto wanted = static_cast<std::uint64_t>(load * static_cast<double>(capacity));
  if (demand == 0) return order;
  const std::size_t original = order.size();
  if (demand < wanted) {
    for (;;) {
      const std::uint32_t next = order[random.below(original)];
      if (demand + tasks[next].share > wanted) break;
      demand += tasks[next].demand();
      order.push_back(next);
    }
  } else {
    detail::remaining left{order.size()};
    std::vector<bool> removed(order.size());
    for (std::size_t n = order.size(); demand > wanted && n != 0; --n) {
      const std::size_t at = left.take(random.below(n));
      demand -= tasks[order[at]].demand();
      removed[at] = true;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < order.size(); ++i)
      if (!removed[i]) order[kept++] = order[i];
    order.resize(kept);
  }
  return order;
}

/// The nodes in the order in which ties end in the published runs: the simulator puts a random number before each name,
/// another order for each seed, and equal scores go to the smallest name. O(nodes).
[[nodiscard]] inline std::vector<share_node> in_random_order(std::vector<share_node> nodes, std::uint64_t seed) {
  random_source random{~seed};  // not the numbers that shuffle the tasks
  random.shuffle(nodes.data(), nodes.size());
  return nodes;
}

}  // namespace berth
