#pragma once
/// \file
/// YARN's order of queues and limit of users.

#include "berth/core/separate.hpp"
#include "berth/quota/order/queue_order.hpp"

namespace berth {

/// Used capacity u = max over resources of used / guarantee. Equal priorities: the smaller u. Different: when both are
/// under their guarantee (u < 1), or neither is, the higher priority; otherwise the one that is under. Then the larger
/// guarantee, older, id.
/// Under the guarantee first, then priority, then u, is the same rule as one key, hence an order.
/// Source: peer_semantics item 49; apache/hadoop PriorityUtilizationQueueOrderingPolicy.java.
struct yarn_order {
  static constexpr std::string_view name = "yarn";

  /// 0 where nothing is guaranteed or used; infinite where something is used that is not guaranteed.
  [[nodiscard]] static double used_capacity(const queue_standing& q) noexcept;
  /// The rule itself, for two queues: negative when the first goes first, 0 on a tie.
  [[nodiscard]] static int compare(double used_a, double used_b, std::int32_t priority_a,
                                   std::int32_t priority_b) noexcept;
  [[nodiscard]] bool before(const queue_standing& a, const queue_standing& b,
                            std::span<const quota_amount>) const noexcept;
};

/// What one user may have of a queue: the larger of its minimum percentage and an equal part for every active user.
/// \pre 0 <= minimum_percent <= 100, active >= 1. Rounded down. Source: item 49, CapacityScheduler.md in apache/hadoop.
[[nodiscard]] constexpr quota_amount yarn_user_limit(quota_amount queue_amount, int minimum_percent,
                                                     std::int64_t active) noexcept {
  const auto part = queue_amount / active;
  const auto least = quota_detail::multiply_divide(queue_amount, minimum_percent, 100).whole;
  return part > least ? part : least;
}

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/order/impl/yarn.hpp"
#endif
