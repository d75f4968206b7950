#pragma once
/// \file
/// YARN's order of queues and limit of users.

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
  [[nodiscard]] static double used_capacity(const queue_standing& q) noexcept {
    double most = 0;
    for (std::size_t r = 0; r < q.used.size(); ++r) {
      const auto g = order_detail::at(q.guarantee, r);
      if (g > 0) most = std::fmax(most, static_cast<double>(q.used[r]) / static_cast<double>(g));
      else if (q.used[r] > 0) most = HUGE_VAL;
    }
    return most;
  }
  /// The rule itself, for two queues: negative when the first goes first, 0 on a tie.
  [[nodiscard]] static int compare(double used_a, double used_b, std::int32_t priority_a,
                                   std::int32_t priority_b) noexcept {
    const int by_use = used_a < used_b ? -1 : used_a > used_b ? 1 : 0;
    if (priority_a == priority_b) return by_use;
    if ((used_a < 1) == (used_b < 1)) return priority_a > priority_b ? -1 : 1;
    return by_use;
  }
  [[nodiscard]] bool before(const queue_standing& a, const queue_standing& b,
                            std::span<const quota_amount>) const noexcept {
    if (const int c = compare(used_capacity(a), used_capacity(b), a.priority, b.priority); c != 0) return c < 0;
    for (std::size_t r = 0; r < a.guarantee.size() || r < b.guarantee.size(); ++r) {
      const auto x = order_detail::at(a.guarantee, r), y = order_detail::at(b.guarantee, r);
      if (x != y) return x > y;
    }
    return order_detail::older(a, b);
  }
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
