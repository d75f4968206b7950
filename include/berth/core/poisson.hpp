#pragma once
/// \file
/// The chance that many of something come.

#include <cmath>
#include <cstdint>

namespace berth {

/// P(X >= n) for X Poisson with that mean; a normal with the same mean and variance above 400.
[[nodiscard]] inline double poisson_at_least(double mean, std::int64_t n) noexcept {
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

/// P(X >= n) where the mean is itself known only from a count: X negative binomial with that mean and `spread` times it
/// as variance, which is a Poisson whose rate has a gamma distribution. What came k times in N and is waited for M more
/// times has mean k M / N and spread 1 + M / N. A normal with the same mean and variance where P(X = 0) is below
/// e^-600.
/// \param spread  at least 1
[[nodiscard]] inline double negative_binomial_at_least(double mean, double spread, std::int64_t n) noexcept {
  if (n <= 0) return 1;
  if (mean <= 0) return 0;
  if (spread < 1 + 1e-6) return poisson_at_least(mean, n);
  const double shape = mean / (spread - 1), none = shape * std::log(spread);  // P(X = 0) = exp(-none)
  if (none > 600)
    return 0.5 * std::erfc((static_cast<double>(n) - 0.5 - mean) / std::sqrt(2 * mean * spread));
  const double rest = 1 - 1 / spread;
  double term = std::exp(-none), below = 0;
  for (std::int64_t i = 0; i < n && (static_cast<double>(i) < mean || term > 1e-17); ++i) {
    below += term;
    term *= (shape + static_cast<double>(i)) / static_cast<double>(i + 1) * rest;
  }
  return below < 1 ? 1 - below : 0;
}

}  // namespace berth
