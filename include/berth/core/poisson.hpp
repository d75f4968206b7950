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

}  // namespace berth
