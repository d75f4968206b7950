#pragma once
/// \file
/// Honest requests: what was declared against what was used lowers the next priority, and is forgiven with time.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "berth/core/separate.hpp"
#include "berth/quota/usage/decay.hpp"

namespace berth {

/// One finished job, or a stretch of a running one: used / declared, each absent where it is not known.
struct declared_and_used {
  double gpu_seconds = 0;                ///< how much the observation weighs
  std::optional<double> memory;          ///< largest memory used / memory declared
  std::optional<double> sm_utilisation;  ///< mean part of the time in which the SMs worked
  std::optional<double> time;            ///< run time / time limit
};

/// When a request counts as honest, and how much dishonesty costs.
struct honesty_rule {
  double enough_memory = 0.5;  ///< this part of what was declared, or more, is honest
  double enough_sm = 0.3;
  double enough_time = 0.25;
  double half_life_seconds = 14 * 86400.0;
  double least_evidence = 8 * 3600.0;  ///< GPU-seconds; less than that weighs as if it were that much
  double worst = 0.5;                  ///< the factor of a user who wasted everything
};

/// The record of one user (or queue). Every observation wastes 1 - min(1, used / enough) of its GPU-seconds, for
/// memory, SMs and time apart. honesty = 1 - max over the three of wasted / max(evidence, least_evidence), with both
/// sums decayed; the next priority is multiplied by worst + (1 - worst) × honesty. Good jobs outweigh bad ones as they
/// come; without any jobs the record is forgiven as the evidence falls below `least_evidence`. Unknown numbers say
/// nothing.
class honesty_record {
 public:
  explicit honesty_record(honesty_rule rule = {}) noexcept;
  void observe(const declared_and_used& o, double now) noexcept;
  /// In [0, 1]; 1 for who is unknown.
  [[nodiscard]] double honesty(double now) const noexcept;
  /// What the next priority is multiplied by, in [worst, 1].
  [[nodiscard]] double factor(double now) const noexcept { return rule_.worst + (1 - rule_.worst) * honesty(now); }

 private:
  void note(std::size_t kind, std::optional<double> used, double enough, double weight, double now) noexcept;
  honesty_rule rule_;
  std::array<decayed_usage, 3> wasted_, seen_;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/honest/impl/honesty.hpp"
#endif
