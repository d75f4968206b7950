#pragma once
/// \file
/// Bodies of `berth/quota/honest/honesty.hpp`.

#include "berth/quota/honest/honesty.hpp"

namespace berth {

BERTH_INLINE honesty_record::honesty_record(honesty_rule rule) noexcept : rule_{rule} {
  for (auto& d : wasted_) d = decayed_usage{rule.half_life_seconds};
  for (auto& d : seen_) d = decayed_usage{rule.half_life_seconds};
}

BERTH_INLINE void honesty_record::observe(const declared_and_used& o, double now) noexcept {
  note(0, o.memory, rule_.enough_memory, o.gpu_seconds, now);
  note(1, o.sm_utilisation, rule_.enough_sm, o.gpu_seconds, now);
  note(2, o.time, rule_.enough_time, o.gpu_seconds, now);
}

BERTH_INLINE double honesty_record::honesty(double now) const noexcept {
  double worst = 0;
  for (std::size_t k = 0; k < 3; ++k)
    worst = std::fmax(worst, wasted_[k].at(now) / std::fmax(seen_[k].at(now), rule_.least_evidence));
  return 1 - std::fmin(1.0, worst);
}

BERTH_INLINE void honesty_record::note(std::size_t kind, std::optional<double> used, double enough, double weight,
                                       double now) noexcept {
  if (!used || !(weight > 0)) return;
  wasted_[kind].add(weight * (1 - std::fmin(1.0, std::fmax(0.0, *used) / enough)), now);
  seen_[kind].add(weight, now);
}

}  // namespace berth
