#pragma once
/// \file
/// Bodies of `berth/quota/order/finish_time.hpp`.

#include <algorithm>
#include <limits>
#include <queue>

#include "berth/quota/order/finish_time.hpp"

namespace berth {

BERTH_INLINE double finish_time_fairness(const finish_time_job& j, std::int64_t share, double gpus,
                                         double jobs) noexcept {
  const double left = std::fmax(0.0, j.work - j.done);
  const auto used = static_cast<double>(std::min(share, j.most_gpus));
  const double remaining = left == 0 ? 0 : used == 0 ? std::numeric_limits<double>::infinity() : left / used;
  return (j.elapsed + remaining) / isolated_seconds(j, gpus, jobs);
}

BERTH_INLINE std::vector<std::int64_t> least_worst_finish_times(std::span<const finish_time_job> jobs,
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
