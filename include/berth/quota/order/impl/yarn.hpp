#pragma once
/// \file
/// Bodies of `berth/quota/order/yarn.hpp`.

#include "berth/quota/order/yarn.hpp"

namespace berth {

BERTH_INLINE double yarn_order::used_capacity(const queue_standing& q) noexcept {
  double most = 0;
  for (std::size_t r = 0; r < q.used.size(); ++r) {
    const auto g = order_detail::at(q.guarantee, r);
    if (g > 0) most = std::fmax(most, static_cast<double>(q.used[r]) / static_cast<double>(g));
    else if (q.used[r] > 0) most = HUGE_VAL;
  }
  return most;
}

BERTH_INLINE int yarn_order::compare(double used_a, double used_b, std::int32_t priority_a,
                                     std::int32_t priority_b) noexcept {
  const int by_use = used_a < used_b ? -1 : used_a > used_b ? 1 : 0;
  if (priority_a == priority_b) return by_use;
  if ((used_a < 1) == (used_b < 1)) return priority_a > priority_b ? -1 : 1;
  return by_use;
}

BERTH_INLINE bool yarn_order::before(const queue_standing& a, const queue_standing& b,
                                     std::span<const quota_amount>) const noexcept {
  if (const int c = compare(used_capacity(a), used_capacity(b), a.priority, b.priority); c != 0) return c < 0;
  for (std::size_t r = 0; r < a.guarantee.size() || r < b.guarantee.size(); ++r) {
    const auto x = order_detail::at(a.guarantee, r), y = order_detail::at(b.guarantee, r);
    if (x != y) return x > y;
  }
  return order_detail::older(a, b);
}

}  // namespace berth
