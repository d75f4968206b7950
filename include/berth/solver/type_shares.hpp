#pragma once
/// \file
/// Which part of its time each job should run on which GPU type, from measured throughput per job and type.
///
/// With T(m, j) the throughput of job m on type j, X(m, j) the part of its time that it runs there, s(m) its GPUs and
/// W(j) the GPUs of a type, an allocation keeps
///
///     Σ_j X(m, j) <= 1 for every job,   Σ_m s(m) X(m, j) <= W(j) for every type,   X >= 0.
///
/// Effective throughput of a job: E(m) = Σ_j T(m, j) X(m, j), compared as a part of what it has when it always runs, on
/// every type in proportion to its number: N(m) = Σ_j T(m, j) W(j) / Σ_j W(j).
///
/// * `max_min_type_shares`     the largest level l such that E(m) / (w(m) N(m)) >= l for every job with weight w(m);
///                             among those the largest Σ_m E(m) / N(m)
/// * `max_throughput_type_shares`  the largest Σ_m E(m) / N(m)
///
/// Where every job has the same part of the time, its own part of every type, E(m) is min(1, Σ_j W(j) / Σ_m s(m)) ×
/// N(m): the level under weights of 1 is never below that factor (sharing incentive), and nobody can have more without
/// another having less. Gavel itself weighs GPUs, not jobs: w(m) = priority / s(m) gives its published objective.
///
/// Numbers (section 4.1 of the source): throughputs (4, 1), (3, 1), (2, 1) on one V100 and one K80: shares (0.45, 0),
/// (0.45, 0.09), (0.09, 0.91), each 1.09 times what a third of both would give.
///
/// Jobs of one kind may be one line with a `count`: all get the same shares, as some best answer has it.
///
/// Source   Narayanan et al., "Heterogeneity-aware cluster scheduling policies for deep learning workloads" (Gavel),
///          OSDI 2020.
/// Cost     a linear program of 2 × lines + types rows, see `small_lp`.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/solver/small_lp.hpp"

namespace berth {

/// A job's line of the throughput table.
struct typed_job {
  std::vector<double> throughput;  ///< one a type, any unit; 0: the type does not serve the job
  std::uint32_t devices = 1;       ///< GPUs that it runs on at once
  double weight = 1;               ///< > 0
  std::uint32_t count = 1;         ///< jobs like this one, > 0
};
struct type_shares {
  double level = 0;                       ///< the least E(m) / (w(m) N(m))
  std::vector<std::vector<double>> part;  ///< X, line by type; of each of the line's jobs
  std::vector<double> usual;              ///< N(m)
  /// E(m). \pre job is one of the table
  [[nodiscard]] double throughput(const typed_job& j, std::size_t m) const noexcept;
};

namespace detail {

/// N; empty where shares have no meaning.
[[nodiscard]] std::optional<std::vector<double>> usual_throughput(const std::vector<typed_job>& jobs,
                                                                  const std::vector<std::uint32_t>& devices);
/// The program. Columns: X by job and type, then the level. Rows: of every job its time, and where `fair` its level;
/// then the types.
[[nodiscard]] small_lp type_share_program(const std::vector<typed_job>& jobs, const std::vector<std::uint32_t>& devices,
                                          const std::vector<double>& usual, bool fair);

}  // namespace detail

/// Empty where a job's line is not one throughput >= 0 a type, a weight is not positive, or no type serves a job.
[[nodiscard]] std::optional<type_shares> max_min_type_shares(const std::vector<typed_job>& jobs,
                                                             const std::vector<std::uint32_t>& devices);
/// Likewise.
[[nodiscard]] std::optional<type_shares> max_throughput_type_shares(const std::vector<typed_job>& jobs,
                                                                    const std::vector<std::uint32_t>& devices);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/solver/impl/type_shares.hpp"
#endif
