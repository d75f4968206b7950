#pragma once
/// \file
/// Bodies of `berth/quota/order/attained_service.hpp`.

#include <algorithm>

#include "berth/quota/order/attained_service.hpp"

namespace berth {

BERTH_INLINE std::size_t least_attained_service::level(const attained_job& j) const noexcept {
  if (promoted(j)) return 0;
  const double service = static_cast<double>(j.gpus) * j.executed;
  std::size_t n = 0;
  for (const double t : thresholds) n += service >= t ? 1U : 0U;
  return n;
}

BERTH_INLINE bool least_attained_service::before(const attained_job& a, const attained_job& b) const noexcept {
  const auto x = level(a), y = level(b);
  if (x != y) return x < y;
  return a.queued_at != b.queued_at ? a.queued_at < b.queued_at : a.id < b.id;
}

BERTH_INLINE double gittins_index(std::span<const double> samples, double attained) noexcept {
  std::size_t first = 0;
  while (first < samples.size() && samples[first] <= attained) ++first;
  const auto n = static_cast<double>(samples.size() - first);
  double best = 0, ended = 0, served = 0;  // served: by jobs that end up to d
  for (std::size_t i = first; i < samples.size(); ++i) {
    const double d = samples[i] - attained;
    ended += 1;
    served += d;
    if (i + 1 < samples.size() && samples[i + 1] == samples[i]) continue;
    best = std::max(best, ended / (served + (n - ended) * d));
  }
  return best;
}

}  // namespace berth
