#pragma once
/// \file
/// Streams of arriving tasks made from a list, and the order of nodes in which ties end, as the packing experiments of
/// the literature have them.
///
/// Source of the rules: Weng et al., USENIX ATC 2023, and the simulator published with it: the list is shuffled; where
/// its GPU demand is below `load` × capacity, uniformly drawn copies are appended until the next would exceed it (the
/// test counts one GPU's share of a copy, also for tasks with several GPUs); where it is above, uniformly drawn tasks
/// are removed until it fits.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/cluster/share_node.hpp"
#include "berth/core/separate.hpp"

namespace berth {

namespace detail {
/// Positions from 0 on, of which some are taken away. Memory O(positions).
class remaining {
 public:
  explicit remaining(std::size_t n);
  /// Takes the position away that is left after `k` smaller ones. \pre more than `k` are left. O(log n)
  std::size_t take(std::size_t k) noexcept;

 private:
  std::vector<std::size_t> sum_;  // Fenwick, "A new data structure for cumulative frequency tables", SPE 1994
  std::size_t top_;
};
}  // namespace detail

/// Indices into `tasks` in order of arrival. \param capacity  GPU share of the cluster in thousandths. O(n log n) in
/// tasks and arrivals together.
[[nodiscard]] std::vector<std::uint32_t> arrivals_at_load(const std::vector<share_task>& tasks, std::uint64_t capacity,
                                                          double load, std::uint64_t seed);

/// The nodes in the order in which ties end in the published runs: the simulator puts a random number before each name,
/// another order for each seed, and equal scores go to the smallest name. O(nodes).
[[nodiscard]] std::vector<share_node> in_random_order(std::vector<share_node> nodes, std::uint64_t seed);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/sim/impl/task_stream.hpp"
#endif
