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
/// Source   Narayanan et al., "Heterogeneity-aware cluster scheduling policies for deep learning workloads" (Gavel),
/// OSDI
///          2020. Cost: a linear program of 2 × jobs + types rows, see `small_lp`.

#include <cassert>
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
};
struct type_shares {
  double level = 0;                       ///< the least E(m) / (w(m) N(m))
  std::vector<std::vector<double>> part;  ///< X, job by type
  /// E(m). \pre job is one of the table
  [[nodiscard]] double throughput(const typed_job& j, std::size_t m) const noexcept {
    double sum = 0;
    for (std::size_t t = 0; t < part[m].size(); ++t) sum += j.throughput[t] * part[m][t];
    return sum;
  }
};

namespace detail {

/// `fair`: the level counts before the sum.
[[nodiscard]] inline std::optional<type_shares> solve_type_shares(const std::vector<typed_job>& jobs,
                                                                  const std::vector<std::uint32_t>& devices,
                                                                  bool fair) {
  const std::size_t types = devices.size(), n = jobs.size();
  double all = 0;
  for (const auto d : devices) all += d;
  std::vector<double> usual(n, 0);
  for (std::size_t m = 0; m < n; ++m) {
    if (jobs[m].throughput.size() != types || !(jobs[m].weight > 0) || jobs[m].devices == 0) return std::nullopt;
    for (std::size_t t = 0; t < types; ++t) {
      if (!(jobs[m].throughput[t] >= 0)) return std::nullopt;
      usual[m] += all > 0 ? jobs[m].throughput[t] * devices[t] / all : 0;
    }
    if (usual[m] == 0) return std::nullopt;  // no type of the cluster serves it
  }
  small_lp p;
  p.columns = n * types + 1;
  p.gain.assign(p.columns, 0);
  // The level decides: its gain outweighs all sums that a change of it could cost.
  p.gain.back() = fair ? 1e4 * static_cast<double>(n) : 0;
  const auto row = [&](double limit) -> std::vector<double>& {
    p.limits.push_back(limit);
    return p.rows.emplace_back(p.columns, 0.0);
  };
  for (std::size_t m = 0; m < n; ++m) {
    for (std::size_t t = 0; t < types; ++t) p.gain[m * types + t] = jobs[m].throughput[t] / usual[m];
    auto& time = row(1);
    for (std::size_t t = 0; t < types; ++t) time[m * types + t] = 1;
    if (!fair) continue;
    auto& level = row(0);
    for (std::size_t t = 0; t < types; ++t) level[m * types + t] = -jobs[m].throughput[t] / usual[m];
    level.back() = jobs[m].weight;
  }
  for (std::size_t t = 0; t < types; ++t) {
    auto& used = row(devices[t]);
    for (std::size_t m = 0; m < n; ++m) used[m * types + t] = jobs[m].devices;
  }
  const auto s = p.maximise();
  if (!s) return std::nullopt;
  type_shares out;
  for (std::size_t m = 0; m < n; ++m) {
    out.part.emplace_back(s->x.begin() + static_cast<std::ptrdiff_t>(m * types),
                          s->x.begin() + static_cast<std::ptrdiff_t>((m + 1) * types));
    const double l = out.throughput(jobs[m], m) / usual[m] / jobs[m].weight;
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
