#pragma once
/// \file
/// Bodies of `berth/quota/division/effective_throughput.hpp`.

#include <algorithm>

#include "berth/quota/amount.hpp"
#include "berth/quota/division/effective_throughput.hpp"
#include "berth/solver/small_lp.hpp"

namespace berth {

BERTH_INLINE Eigen::VectorXd equal_split(const throughput_problem& p) {
  Eigen::VectorXd part(p.throughput.cols());
  for (Eigen::Index k = 0; k < part.size(); ++k)
    part(k) = static_cast<double>(p.capacity[static_cast<std::size_t>(k)]) / static_cast<double>(p.throughput.rows());
  return p.throughput * (part / std::max(1.0, part.sum()));
}

BERTH_INLINE throughput_shares gavel_max_min(const throughput_problem& p) {
  const Eigen::Index jobs = p.throughput.rows(), types = p.throughput.cols(), level = jobs * types;
  throughput_shares out;
  out.time = Eigen::MatrixXd::Zero(jobs, types);
  const Eigen::VectorXd equal = equal_split(p);
  if (level == 0 || equal.maxCoeff() <= 0) return out;
  // Rows: a throughput for every job, its time, the capacities. Columns: x by job and type, then the level.
  const auto n = static_cast<std::size_t>(jobs), m = static_cast<std::size_t>(types), last = n * m;
  small_lp lp;
  lp.columns = last + 1;
  lp.gain.assign(last + 1, 0);
  lp.gain[last] = 1;
  lp.rows.assign(2 * n + m, std::vector<double>(last + 1, 0));
  lp.limits.assign(2 * n + m, 0);
  for (std::size_t j = 0; j < n; ++j) {
    lp.limits[n + j] = 1;
    const double due = p.weight[j] * equal(static_cast<Eigen::Index>(j));
    if (due > 0) lp.rows[j][last] = 1;
    for (std::size_t k = 0; k < m; ++k) {
      if (due > 0)
        lp.rows[j][j * m + k] = -p.throughput(static_cast<Eigen::Index>(j), static_cast<Eigen::Index>(k)) / due;
      lp.rows[n + j][j * m + k] = 1;
      lp.rows[2 * n + k][j * m + k] = static_cast<double>(p.gpus[j]);
    }
  }
  for (std::size_t k = 0; k < m; ++k) lp.limits[2 * n + k] = static_cast<double>(p.capacity[k]);
  const auto best = lp.maximise();
  if (!best) return out;
  out.level = best->x[last];
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t k = 0; k < m; ++k)
      out.time(static_cast<Eigen::Index>(j), static_cast<Eigen::Index>(k)) = std::max(0.0, best->x[j * m + k]);
  return out;
}

}  // namespace berth
