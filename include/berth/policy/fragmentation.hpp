#pragma once
/// \file
/// Fragmentation of shared GPUs by a target workload, and the policy that lets it grow the least.
///
/// Source: Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient
/// Descent", USENIX ATC 2023. A node with free CPU c and free share r_g on GPU g, against a class m of the workload
/// that asks CPU c_m, k_m GPUs and a share d_m of each:
///
///     E(n, m) = { g : r_g >= d_m }
///     F_n(m)  = Σ_g r_g                   if m asks no GPU, may not use the model, c < c_m, or |E(n, m)| < k_m
///     F_n(m)  = Σ_{g not in E(n, m)} r_g  otherwise
///     F_n     = Σ_m p_m F_n(m)            with p_m the popularity of m

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "berth/cluster/share_node.hpp"
#include "berth/core/separate.hpp"
#include "berth/policy/packing.hpp"

namespace berth {

/// One class of the target workload.
struct workload_class {
  share_task task;
  double popularity = 0;  ///< of all tasks; the classes of a workload sum to 1
};

/// The classes of a list of tasks in falling frequency until they cover `cover` of it, popularity rescaled to 1. Among
/// equally frequent ones those that ask for more CPU, larger shares, more GPUs come first, as in the published
/// simulator: which of them are still covered moves FGD by up to 0.2 points where there are many. Memory is not part of
/// a class. O(tasks × classes).
[[nodiscard]] std::vector<workload_class> target_workload(const std::vector<share_task>& tasks, double cover = 0.95);

/// F_n in thousandths of a GPU. O(classes × GPUs).
[[nodiscard]] double fragmented_share(const share_node& n, const std::vector<workload_class>& workload) noexcept;

/// Lets fragmentation grow the least: the choice of GPUs with the smallest F_n after, and over nodes the best
/// 100 / (1 + exp((F_after − F_before) / 1000)).
struct fragmentation_gradient {
  std::vector<workload_class> workload;
  /// As published: the integer part of the score, also between the GPUs of a node; ties by the number of GPU and node.
  /// The coarse score packs by name.
  score_rule rule = score_rule::as_published;

  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/fragmentation.hpp"
#endif
