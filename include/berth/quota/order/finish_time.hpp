#pragma once
/// \file
/// Themis: finish-time fairness, which compares when a job will end with when it would have ended in a cluster of its
/// own, one N-th of the size.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>
#include <span>
#include <utility>
#include <vector>

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
[[nodiscard]] inline double finish_time_fairness(const finish_time_job& j, std::int64_t share, double gpus,
                                                 double jobs) noexcept {
  const double left = std::fmax(0.0, j.work - j.done);
  const auto used = static_cast<double>(std::min(share, j.most_gpus));
  const double remaining = left == 0 ? 0 : used == 0 ? std::numeric_limits<double>::infinity() : left / used;
  return (j.elapsed + remaining) / isolated_seconds(j, gpus, jobs);
}

/// Whole GPUs for every job so that the worst rho is as small as can be, then the next worst: one GPU after the other
/// to whoever has the worst rho and can use it; ties to who is longer there, then the lower index. With a rho that
/// falls with every GPU that is the best there is. Source: peer_semantics item 51; Mahajan et al., "Themis", NSDI 2020
/// (whose auction bids with partial allocations instead). O((jobs + gpus) log jobs).
[[nodiscard]] inline std::vector<std::int64_t> least_worst_finish_times(std::span<const finish_time_job> jobs,
                                                                        std::int64_t gpus) {
  std::vector<std::int64_t> share(jobs.size(), 0);
  const auto n = static_cast<double>(jobs.size()), all = static_cast<double>(gpus);
  struct turn {
    double rho, elapsed;
    std::size_t job;
    // The queue's top is the largest: worst first, then longest there, then lowest index.
    [[nodiscard]] bool operator<(const turn& o) const noexcept {
      if (rho != o.rho) return rho < o.rho;
      if (elapsed != o.elapsed) return elapsed < o.elapsed;
      return job > o.job;
    }
  };
  std::priority_queue<turn> turns;
  const auto put = [&](std::size_t i) {
    if (share[i] < jobs[i].most_gpus && jobs[i].done < jobs[i].work)
      turns.push({finish_time_fairness(jobs[i], share[i], all, n), jobs[i].elapsed, i});
  };
  for (std::size_t i = 0; i < jobs.size(); ++i) put(i);
  for (std::int64_t left = gpus; left > 0 && !turns.empty(); --left) {
    const auto i = turns.top().job;
    turns.pop();
    ++share[i];
    put(i);
  }
  return share;
}

}  // namespace berth
