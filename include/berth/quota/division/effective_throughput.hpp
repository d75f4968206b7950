#pragma once
/// \file
/// Gavel's max-min fairness over unlike GPUs: which part of its time a job spends on which type. Needs Eigen.

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/quota/amount.hpp"
#include "berth/quota/detail/linear_program.hpp"

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
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(2 * jobs + types, level + 1);
  Eigen::VectorXd b = Eigen::VectorXd::Zero(a.rows()), c = Eigen::VectorXd::Zero(a.cols());
  c(level) = 1;
  for (Eigen::Index j = 0; j < jobs; ++j) {
    const auto i = static_cast<std::size_t>(j);
    b(jobs + j) = 1;
    const double due = p.weight[i] * equal(j);
    if (due > 0) a(j, level) = 1;
    for (Eigen::Index k = 0; k < types; ++k) {
      if (due > 0) a(j, j * types + k) = -p.throughput(j, k) / due;
      a(jobs + j, j * types + k) = 1;
      a(2 * jobs + k, j * types + k) = static_cast<double>(p.gpus[i]);
    }
  }
  for (Eigen::Index k = 0; k < types; ++k)
    b(2 * jobs + k) = static_cast<double>(p.capacity[static_cast<std::size_t>(k)]);
  const auto best = quota_detail::maximise(a, b, c);
  out.level = best.x(level);
  for (Eigen::Index j = 0; j < jobs; ++j)
    for (Eigen::Index k = 0; k < types; ++k) out.time(j, k) = std::max(0.0, best.x(j * types + k));
  return out;
}

}  // namespace berth
