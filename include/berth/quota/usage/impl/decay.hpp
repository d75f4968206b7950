#pragma once
/// \file
/// Bodies of `berth/quota/usage/decay.hpp`.

#include <cmath>

#include "berth/quota/usage/decay.hpp"

namespace berth {

BERTH_INLINE void decayed_usage::add(double amount, double t) noexcept {
  if (t >= last_) {
    value_ = at(t) + amount;
    last_ = t;
  } else {
    value_ += amount * factor(last_ - t);
  }
}

BERTH_INLINE void decayed_usage::run(double rate, double from, double to) noexcept {
  const double seconds = to - from;
  if (std::isinf(half_life_)) return add(rate * seconds, to);
  const double tau = half_life_ / std::log(2.0);
  add(-rate * tau * std::expm1(-seconds / tau), to);
}

BERTH_INLINE decayed_usage::decayed_usage(double half_life_seconds) noexcept : half_life_{half_life_seconds} {}

BERTH_INLINE usage_ledger::usage_ledger(std::size_t rows, std::size_t resources, double half_life_seconds)
    : resources_{resources}, cells_(rows * resources, decayed_usage{half_life_seconds}) {}

}  // namespace berth
