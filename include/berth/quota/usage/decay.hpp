#pragma once
/// \file
/// Usage that is forgotten with a half-life.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/quota/queue_tree.hpp"

namespace berth {

/// An amount that halves every `half_life` seconds. Decaying in two steps is decaying in one, to rounding (below 10^-12
/// of the value); what is added late is added as if it had been in time. Source: Slurm's PriorityDecayHalfLife (7 days
/// by default), KAI's half-life, Kueue's usageHalfLifeTime. All calls O(1), noexcept.
class decayed_usage {
 public:
  decayed_usage() = default;
  /// \pre half_life_seconds > 0; infinite: nothing is forgotten
  explicit decayed_usage(double half_life_seconds) noexcept;

  /// The value at time `t`, seconds on any clock. Earlier than the last change: what it would have to have been.
  [[nodiscard]] double at(double t) const noexcept { return value_ * factor(t - last_); }
  /// Adds an amount at time `t`.
  void add(double amount, double t) noexcept;
  /// Adds `rate` units for every second of [from, to], each forgotten from its own moment on: the integral, so that it
  /// does not matter into how many samples an interval is cut. \pre from <= to
  void run(double rate, double from, double to) noexcept;
  [[nodiscard]] double half_life() const noexcept { return half_life_; }

 private:
  [[nodiscard]] double factor(double seconds) const noexcept { return std::exp2(-seconds / half_life_); }
  double half_life_ = 7 * 86400.0;
  double value_ = 0;
  double last_ = 0;
};

/// Decayed usage by row (queue or user) and resource.
class usage_ledger {
 public:
  usage_ledger(std::size_t rows, std::size_t resources, double half_life_seconds);
  [[nodiscard]] double at(std::size_t row, resource_id r, double t) const noexcept {
    return cells_[row * resources_ + r.index()].at(t);
  }
  void add(std::size_t row, resource_id r, double amount, double t) noexcept {
    cells_[row * resources_ + r.index()].add(amount, t);
  }
  void run(std::size_t row, resource_id r, double rate, double from, double to) noexcept {
    cells_[row * resources_ + r.index()].run(rate, from, to);
  }
  /// The same at a queue and everything above it; rows are queue ids. O(depth).
  void run_path(const queue_tree& t, queue_id q, resource_id r, double rate, double from, double to) noexcept {
    for (auto i = q; i; i = t.parent(i)) run(i.index(), r, rate, from, to);
  }

 private:
  std::size_t resources_;
  std::vector<decayed_usage> cells_;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/usage/impl/decay.hpp"
#endif
