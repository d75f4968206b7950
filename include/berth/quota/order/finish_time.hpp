#pragma once
/// \file
/// Themis: finish-time fairness, which compares when a job will end with when it would have ended in a cluster of its
/// own, one N-th of the size.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "berth/core/separate.hpp"

namespace berth {

/// A job that speeds up in proportion to its GPUs, up to a number of them.
struct finish_time_job {
  double elapsed = 0;          ///< seconds since it was submitted
  double work = 0;             ///< GPU-seconds in all
  double done = 0;             ///< GPU-seconds of them
  std::int64_t most_gpus = 1;  ///< more do not help
};

/// Seconds in a cluster of `gpus` / `jobs` GPUs, fractions of one included. Infinite without any.
[[nodiscard]] inline double isolated_seconds(const finish_time_job& j, double gpus, double jobs) noexcept {
  return j.work / std::fmin(static_cast<double>(j.most_gpus), gpus / jobs);
}
/// rho = (elapsed + remaining with `share` GPUs) / isolated seconds. 1 or less is fair; infinite with no GPU.
[[nodiscard]] double finish_time_fairness(const finish_time_job& j, std::int64_t share, double gpus,
                                          double jobs) noexcept;

/// Whole GPUs for every job so that the worst rho is as small as can be, then the next worst: one GPU after the other
/// to whoever has the worst rho and can use it; ties to who is longer there, then the lower index. With a rho that
/// falls with every GPU that is the best there is. Source: peer_semantics item 51; Mahajan et al., "Themis", NSDI 2020
/// (whose auction bids with partial allocations instead). O((jobs + gpus) log jobs).
[[nodiscard]] std::vector<std::int64_t> least_worst_finish_times(std::span<const finish_time_job> jobs,
                                                                 std::int64_t gpus);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/order/impl/finish_time.hpp"
#endif
