#pragma once
/// \file
/// Bodies of `berth/quota/usage/admission_average.hpp`.

#include "berth/quota/usage/admission_average.hpp"

namespace berth {

BERTH_INLINE void admission_average::sample(double current, double seconds) noexcept {
  const double a = alpha(seconds);
  average_ = (1 - a) * average_ + a * current;
  penalty_ = 0;
}

BERTH_INLINE admission_average::admission_average(double half_life_seconds, double interval_seconds) noexcept
    : half_life_{half_life_seconds}, interval_{interval_seconds} {}

}  // namespace berth
