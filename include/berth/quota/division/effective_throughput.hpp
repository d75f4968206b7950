#pragma once
/// \file
/// Gavel's max-min fairness over unlike GPUs: which part of its time a job spends on which type. Needs Eigen.

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/quota/amount.hpp"
#include "berth/solver/small_lp.hpp"

namespace berth {

/// Jobs that share GPUs of several types. Rows are jobs, columns types.
struct throughput_problem {
  Eigen::MatrixXd throughput;          ///< of a job that runs on a type all the time, any unit, >= 0
  std::vector<std::int64_t> gpus;      ///< that a job takes while it runs, >= 1
  std::vector<double> weight;          ///< > 0
  std::vector<std::int64_t> capacity;  ///< GPUs by type, >= 0
};
struct throughput_shares {
  Eigen::MatrixXd time;  ///< part of its time that a job runs on a type; a row adds up to at most 1
  double level = 0;      ///< the least effective throughput / (weight × throughput under an equal split)
};

/// What every job would have if each type were split equally: min(1, Σ capacity / jobs) of its time, by type in
/// proportion to capacity.
[[nodiscard]] inline Eigen::VectorXd equal_split(const throughput_problem& p) {
  Eigen::VectorXd part(p.throughput.cols());
  for (Eigen::Index k = 0; k < part.size(); ++k)
    part(k) = static_cast<double>(p.capacity[static_cast<std::size_t>(k)]) / static_cast<double>(p.throughput.rows());
  return p.throughput * (part / std::max(1.0, part.sum()));
}

/// The shares with the largest level: max t with Σ_k T_jk x_jk >= t × weight_j × equal_j for every job,
/// Σ_k x_jk <= 1, Σ_j gpus_j x_jk <= capacity_k, x >= 0. Jobs that can run nowhere are left out. What is idle after
/// that is not handed out. O(jobs^2 × types × steps): for tens to a few hundred jobs, off the hot path. Source:
/// peer_semantics item 51; Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning
/// Workloads", OSDI 2020, section 4.1; stanford-futuredata/gavel scheduler/policies/max_min_fairness.py.
[[nodiscard]] inline throughput_shares gavel_max_min(const throughput_problem& p) {
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
