#pragma once
/// \file
/// Packing policies that look at amounts alone, as published or as schedulers in the field have them.

#include <cmath>
#include <cstdint>

#include "berth/cluster/share_node.hpp"
#include "berth/core/separate.hpp"
#include "berth/policy/packing.hpp"

namespace berth {

namespace detail {

/// Part of `total` that `part` is; 0 where there is none.
[[nodiscard]] constexpr double fraction(std::int64_t part, std::int64_t total) noexcept {
  return total == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(total);
}
/// A score from 0 to 100 as the rule has it.
[[nodiscard]] inline double by_rule(double score, score_rule rule) noexcept {
  return rule == score_rule::exact ? score : std::floor(score);
}
/// Used parts of a node's CPU, memory and GPUs, once the task runs there.
struct used_parts {
  double cpu = 0, memory = 0, gpu = 0;
};
[[nodiscard]] used_parts used_after(const packing_view& v, const share_task& t) noexcept;

}  // namespace detail

/// The first node that fits, its tightest GPU.
struct first_fit_packing {
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept {
    return {0, tightest_choice(v.now, t)};
  }
};

/// The largest sizes of any node, to compare nodes by.
struct largest_node {
  cpu_millis cpu{cpus(128)};
  unsigned devices = 8;
};

/// The least left over: 100 × (1 − (left CPU / largest CPU + left GPU share / largest GPU count) / 2), tightest GPU.
/// Source: the BestFit of Weng et al., "Beware of Fragmentation", USENIX ATC 2023.
struct best_fit_packing {
  largest_node largest{};
  score_rule rule = score_rule::exact;
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept;
};

/// The most left over: the opposite of `best_fit_packing`, on the GPU with the most free.
struct worst_fit_packing {
  largest_node largest{};
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept;
};

/// The smallest product of what is free and what is asked, CPU and GPU each as part of the largest node: what is asked
/// goes where it is rare. Source: Grandl et al., "Multi-resource packing for cluster schedulers", SIGCOMM 2014, in the
/// sense (lowest first) of Weng et al., USENIX ATC 2023.
struct dot_product_packing {
  largest_node largest{};
  score_rule rule = score_rule::exact;  ///< as published: the integer part of 100 × (1 − product / 2)
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept;
};

/// The node with the largest used part once the task runs there, mean over CPU, memory and GPUs that it asks for.
/// Source: NodeResourcesFit, MostAllocated, of kube-scheduler.
struct most_allocated_packing {
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept;
};

/// The opposite. Source: NodeResourcesFit, LeastAllocated, of kube-scheduler.
struct least_allocated_packing {
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept {
    return {-most_allocated_packing{}.score(v, t).value, tightest_choice(v.now, t)};
  }
};

/// The node whose used parts of CPU, memory and GPUs differ least once the task runs there (standard deviation).
/// Source: NodeResourcesBalancedAllocation of kube-scheduler.
struct balanced_packing {
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept;
};

/// A curve from the used part of a node's GPUs (CPU for tasks without) to a score, linear between its points.
/// Source: NodeResourcesFit, RequestedToCapacityRatio, of kube-scheduler.
struct requested_to_capacity_packing {
  struct point {
    double used, score;
  };
  point curve[4]{{0, 0}, {0.5, 5}, {0.9, 9}, {1, 10}};  ///< rising in `used`, from 0 to 1
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept;
};

/// GPUs that are shared already first, then free GPUs of nodes in use, then idle nodes; inside each, the least free.
/// As published: shared GPUs score 100 − (free percent of the GPU) / 10, at least 50; k free GPUs of a node with GPUs
/// in use 50 − k, at least 33; a node with none in use 33 − (its GPUs), at least its GPUs; tasks without GPUs 0
/// everywhere. Source: the Packing of Weng et al., USENIX ATC 2023, and the simulator published with it.
struct gpu_packing {
  score_rule rule = score_rule::exact;
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept;
};

/// Nodes that run tasks of the same kind of GPU demand first, those with the most of them foremost.
/// As published: nodes with tasks of that kind alone, then with others too, then with no task with GPUs, then the rest;
/// in each the node with the least free GPU share, in 25 steps; tasks without GPUs score 0 everywhere. Source: the
/// Clustering of Weng et al., USENIX ATC 2023 (after Gandiva, OSDI 2018), and the simulator published with it.
struct gpu_clustering {
  score_rule rule = score_rule::exact;
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/packing_fit.hpp"
#endif
