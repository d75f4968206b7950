#pragma once
/// \file
/// Health and straggler scores with memory: a node that failed or was slow lately is trusted less, and trusted again as
/// time goes by.
///
/// With half-life h, faults of weight w_i at t_i: F(t) = sum of w_i × 2^-((t - t_i) / h), kept as one number and the
/// time of the last fault. Slowness: of step times relative to the gang's median, r, an exponential average s <- s +
/// share × (max(r, 1) - s), which itself falls back towards 1 with its own half-life. The score is 1000 / ((1 + F) ×
/// s). Numbers: a node with one fault of weight 1 has 500, after one half-life 1000 / 1.5 = 666, after two 800; a node
/// that takes 1.25 times as long has 800.
///
/// Times are seconds of any clock that the caller keeps; a time before the last one counts as the last one.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/core/id.hpp"
#include "berth/core/separate.hpp"
#include "berth/policy/domain_score.hpp"

namespace berth {

/// How long is remembered.
struct history_settings {
  double fault_half_life_seconds = 7.0 * 86'400;
  double slow_half_life_seconds = 86'400;
  double slow_share = 0.25;  ///< of a new step time in the average, in (0, 1]
};

class node_history {
 public:
  explicit node_history(std::uint32_t nodes, const history_settings& settings = {});

  /// Something broke: a device fell off the bus, a link flapped, a job died of it. `weight` >= 0.
  void fault(node_id n, double now, double weight = 1.0) noexcept;
  /// A step took `seconds` where the gang's median was `median`. Ignored unless both are above 0.
  void step(node_id n, double now, double seconds, double median) noexcept;
  /// Replaced or repaired: nothing is held against it.
  void forget(node_id n) noexcept { nodes_[n.index()] = {}; }

  /// F(t).
  [[nodiscard]] double faults(node_id n, double now) const noexcept;
  /// s at that time: 1 as fast as the others, 2 twice as slow.
  [[nodiscard]] double slowness(node_id n, double now) const noexcept;
  /// In thousandths, rounded down: 1000 for a node that nothing is known against.
  [[nodiscard]] std::int64_t score(node_id n, double now) const noexcept {
    return static_cast<std::int64_t>(1000.0 / ((1.0 + faults(n, now)) * slowness(n, now)));
  }
  /// Writes all nodes' scores. O(nodes × levels).
  void write(domain_scores& out, double now) const noexcept;

 private:
  struct entry {
    double faults = 0, fault_at = 0;
    double slow = 1, slow_at = 0;
  };
  [[nodiscard]] static double faded(double seconds, double half_life) noexcept {
    return seconds > 0 ? std::exp2(-seconds / half_life) : 1.0;
  }
  history_settings settings_;
  std::vector<entry> nodes_;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/node_history.hpp"
#endif
