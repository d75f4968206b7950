#pragma once
/// \file
/// Gavel's max-min fairness over unlike GPUs: which part of its time a job spends on which type. Needs Eigen.

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/core/separate.hpp"

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
[[nodiscard]] Eigen::VectorXd equal_split(const throughput_problem& p);

/// The shares with the largest level: max t with Σ_k T_jk x_jk >= t × weight_j × equal_j for every job,
/// Σ_k x_jk <= 1, Σ_j gpus_j x_jk <= capacity_k, x >= 0. Jobs that can run nowhere are left out. What is idle after
/// that is not handed out. O(jobs^2 × types × steps): for tens to a few hundred jobs, off the hot path. Source:
/// peer_semantics item 51; Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning
/// Workloads", OSDI 2020, section 4.1; stanford-futuredata/gavel scheduler/policies/max_min_fairness.py.
[[nodiscard]] throughput_shares gavel_max_min(const throughput_problem& p);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/division/impl/effective_throughput.hpp"
#endif
