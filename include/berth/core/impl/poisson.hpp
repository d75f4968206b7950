#pragma once
/// \file
/// Bodies of `berth/core/poisson.hpp`.

#include <cmath>

#include "berth/core/poisson.hpp"

namespace berth {

BERTH_INLINE double poisson_at_least(double mean, std::int64_t n) noexcept {
  if (n <= 0) return 1;
  if (mean <= 0) return 0;
  if (mean > 400) return 0.5 * std::erfc((static_cast<double>(n) - 0.5 - mean) / std::sqrt(2 * mean));
  double term = std::exp(-mean), below = 0;
  for (std::int64_t i = 0; i < n && (static_cast<double>(i) < mean || term > 1e-17); ++i) {
    below += term;
    term *= mean / static_cast<double>(i + 1);
  }
  return below < 1 ? 1 - below : 0;
}

BERTH_INLINE double negative_binomial_at_least(double mean, double spread, std::int64_t n) noexcept {
  if (n <= 0) return 1;
  if (mean <= 0) return 0;
  if (spread < 1 + 1e-6) return poisson_at_least(mean, n);
  const double shape = mean / (spread - 1), none = shape * std::log(spread);  // P(X = 0) = exp(-none)
  if (none > 600) return 0.5 * std::erfc((static_cast<double>(n) - 0.5 - mean) / std::sqrt(2 * mean * spread));
  const double rest = 1 - 1 / spread;
  double term = std::exp(-none), below = 0;
  for (std::int64_t i = 0; i < n && (static_cast<double>(i) < mean || term > 1e-17); ++i) {
    below += term;
    term *= (shape + static_cast<double>(i)) / static_cast<double>(i + 1) * rest;
  }
  return below < 1 ? 1 - below : 0;
}

}  // namespace berth
