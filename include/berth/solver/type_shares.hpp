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
#include <utility>
#include <vector>

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
  [[nodiscard]] double throughput(const typed_job& j, std::size_t m) const noexcept {
    double sum = 0;
    for (std::size_t t = 0; t < part[m].size(); ++t) sum += j.throughput[t] * part[m][t];
    return sum;
  }
};

namespace detail {

/// N; empty where shares have no meaning.
[[nodiscard]] inline std::optional<std::vector<double>> usual_throughput(const std::vector<typed_job>& jobs,
                                                                         const std::vector<std::uint32_t>& devices) {
  constexpr double most = 1e100;
  const std::size_t types = devices.size(), n = jobs.size();
  double all = 0;
  for (const auto d : devices) all += d;
  std::vector<double> usual(n, 0);
  for (std::size_t m = 0; m < n; ++m) {
    if (jobs[m].throughput.size() != types || !(jobs[m].weight > 0) || !(jobs[m].weight < most) ||
        jobs[m].devices == 0 || jobs[m].count == 0)
      return std::nullopt;
    for (std::size_t t = 0; t < types; ++t) {
      if (!(jobs[m].throughput[t] >= 0) || !(jobs[m].throughput[t] < most)) return std::nullopt;
      usual[m] += all > 0 ? jobs[m].throughput[t] * devices[t] / all : 0;
    }
    if (usual[m] == 0) return std::nullopt;  // no type of the cluster serves it
  }
  return usual;
}
/// The program. Columns: X by job and type, then the level. Rows: of every job its time, and where `fair` its level;
/// then the types.
[[nodiscard]] inline small_lp type_share_program(const std::vector<typed_job>& jobs,
                                                 const std::vector<std::uint32_t>& devices,
                                                 const std::vector<double>& usual, bool fair) {
  const std::size_t types = devices.size(), n = jobs.size();
  small_lp p;
  p.columns = n * types + 1;
  std::vector<double> sum(p.columns, 0);
  const auto row = [&](double limit) -> std::vector<double>& {
    p.limits.push_back(limit);
    return p.rows.emplace_back(p.columns, 0.0);
  };
  for (std::size_t m = 0; m < n; ++m) {
    for (std::size_t t = 0; t < types; ++t) sum[m * types + t] = jobs[m].count * jobs[m].throughput[t] / usual[m];
    auto& time = row(1);
    for (std::size_t t = 0; t < types; ++t) time[m * types + t] = 1;
    if (!fair) continue;
    auto& level = row(0);
    for (std::size_t t = 0; t < types; ++t) level[m * types + t] = -jobs[m].throughput[t] / usual[m];
    level.back() = jobs[m].weight;
  }
  for (std::size_t t = 0; t < types; ++t) {
    auto& used = row(devices[t]);
    for (std::size_t m = 0; m < n; ++m) used[m * types + t] = 1.0 * jobs[m].count * jobs[m].devices;
  }
  if (fair) {
    p.gain.assign(p.columns, 0);
    p.gain.back() = 1;
    p.then = std::move(sum);
  } else {
    p.gain = std::move(sum);
  }
  return p;
}
/// `fair`: the level counts before the sum.
[[nodiscard]] inline std::optional<type_shares> solve_type_shares(const std::vector<typed_job>& jobs,
                                                                  const std::vector<std::uint32_t>& devices,
                                                                  bool fair) {
  const auto usual = usual_throughput(jobs, devices);
  if (!usual) return std::nullopt;
  const auto s = type_share_program(jobs, devices, *usual, fair).maximise();
  if (!s) return std::nullopt;
  const std::size_t types = devices.size();
  type_shares out;
  out.usual = *usual;
  for (std::size_t m = 0; m < jobs.size(); ++m) {
    auto& part = out.part.emplace_back(types);
    for (std::size_t t = 0; t < types; ++t) part[t] = s->x[m * types + t] > 0 ? s->x[m * types + t] : 0;
    const double l = out.throughput(jobs[m], m) / (*usual)[m] / jobs[m].weight;
    if (m == 0 || l < out.level) out.level = l;
  }
  return out;
}

}  // namespace detail

/// Empty where a job's line is not one throughput >= 0 a type, a weight is not positive, or no type serves a job.
[[nodiscard]] inline std::optional<type_shares> max_min_type_shares(const std::vector<typed_job>& jobs,
                                                                    const std::vector<std::uint32_t>& devices) {
  return detail::solve_type_shares(jobs, devices, true);
}
/// Likewise.
[[nodiscard]] inline std::optional<type_shares> max_throughput_type_shares(const std::vector<typed_job>& jobs,
                                                                           const std::vector<std::uint32_t>& devices) {
  return detail::solve_type_shares(jobs, devices, false);
}

}  // namespace berth
