#pragma once
/// \file
/// Kueue's admission fair sharing: a usage average per local queue, with an entry penalty on admission.

#include <cmath>

#include "berth/core/separate.hpp"

namespace berth {

/// Every `interval` seconds U ← (1 - A) U + A × current with A = 1 - 0.5^(interval / half-life). An admission adds
/// A × request at once, so that a burst cannot win twice before the next sample; the sample then replaces what was
/// added. Order only: the smaller U / weight goes first; weight 0 is infinite. Irregular intervals compose exactly
/// while usage is constant. Source: peer_semantics item 47; kubernetes-sigs/kueue keps/4136-admission-fair-sharing.
class admission_average {
 public:
  /// \pre half_life_seconds > 0, interval_seconds > 0: the usual time between samples, which sizes the penalty
  admission_average(double half_life_seconds, double interval_seconds) noexcept;

  /// A for an interval.
  [[nodiscard]] double alpha(double seconds) const noexcept {
    return -std::expm1(-seconds / half_life_ * std::log(2.0));
  }
  /// A sample: `current` usage after `seconds` since the last one. Penalties since then are settled.
  void sample(double current, double seconds) noexcept;
  void admit(double request) noexcept { penalty_ += alpha(interval_) * request; }
  /// Takes a penalty back: the workload did not start after all.
  void withdraw(double request) noexcept { penalty_ = std::fmax(0.0, penalty_ - alpha(interval_) * request); }
  [[nodiscard]] double usage() const noexcept { return average_ + penalty_; }
  [[nodiscard]] double weighted(double weight) const noexcept {
    return weight == 0 ? (usage() > 0 ? HUGE_VAL : 0) : usage() / weight;
  }

 private:
  double half_life_, interval_;
  double average_ = 0, penalty_ = 0;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/usage/impl/admission_average.hpp"
#endif
