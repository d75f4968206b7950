#pragma once
/// \file
/// The chance that many of something come.

#include <cstdint>

#include "berth/core/separate.hpp"

namespace berth {

/// P(X >= n) for X Poisson with that mean; a normal with the same mean and variance above 400.
[[nodiscard]] double poisson_at_least(double mean, std::int64_t n) noexcept;

/// P(X >= n) where the mean is itself known only from a count: X negative binomial with that mean and `spread` times it
/// as variance, which is a Poisson whose rate has a gamma distribution. What came k times in N and is waited for M more
/// times has mean k M / N and spread 1 + M / N. A normal with the same mean and variance where P(X = 0) is below
/// e^-600.
/// \param spread  at least 1
[[nodiscard]] double negative_binomial_at_least(double mean, double spread, std::int64_t n) noexcept;

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/core/impl/poisson.hpp"
#endif
