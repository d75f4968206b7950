#pragma once
/// \file
/// Bodies of `berth/solver/type_shares.hpp`.

#include <utility>

#include "berth/solver/type_shares.hpp"

namespace berth {

BERTH_INLINE double type_shares::throughput(const typed_job& j, std::size_t m) const noexcept {
  double sum = 0;
  for (std::size_t t = 0; t < part[m].size(); ++t) sum += j.throughput[t] * part[m][t];
  return sum;
}

}  // namespace berth

namespace berth::detail {

BERTH_INLINE std::optional<std::vector<double>> usual_throughput(const std::vector<typed_job>& jobs,
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

BERTH_INLINE small_lp type_share_program(const std::vector<typed_job>& jobs, const std::vector<std::uint32_t>& devices,
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
[[nodiscard]] BERTH_INLINE std::optional<type_shares> solve_type_shares(const std::vector<typed_job>& jobs,
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

}  // namespace berth::detail

namespace berth {

BERTH_INLINE std::optional<type_shares> max_min_type_shares(const std::vector<typed_job>& jobs,
                                                            const std::vector<std::uint32_t>& devices) {
  return detail::solve_type_shares(jobs, devices, true);
}

BERTH_INLINE std::optional<type_shares> max_throughput_type_shares(const std::vector<typed_job>& jobs,
                                                                   const std::vector<std::uint32_t>& devices) {
  return detail::solve_type_shares(jobs, devices, false);
}

}  // namespace berth
