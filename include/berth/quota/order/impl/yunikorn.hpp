#pragma once
/// \file
/// Bodies of `berth/quota/order/yunikorn.hpp`.

#include "berth/quota/order/yunikorn.hpp"

namespace berth {

BERTH_INLINE double yunikorn_order::share(const queue_standing& q, std::span<const quota_amount> capacity) noexcept {
  double most = 0;
  for (std::size_t r = 0; r < q.used.size(); ++r) {
    // No guarantee of a resource is `unlimited` here: 0 is a guarantee of nothing.
    quota_amount of = order_detail::at(q.guarantee, r, unlimited);
    if (of == unlimited) of = order_detail::at(q.cap, r, unlimited);
    if (of == unlimited) of = order_detail::at(capacity, r, unlimited);
    if (of == unlimited) continue;
    const double s = of <= 0 ? (q.used[r] > 0 ? 1.0 : 0.0) : static_cast<double>(q.used[r]) / static_cast<double>(of);
    most = std::fmax(most, s);
  }
  return most;
}

BERTH_INLINE bool yunikorn_order::before(const queue_standing& a, const queue_standing& b,
                                         std::span<const quota_amount> capacity) const noexcept {
  if (by_priority && a.priority != b.priority) return a.priority > b.priority;
  const double x = share(a, capacity), y = share(b, capacity);
  if (x != y) return x < y;
  if (a.priority != b.priority) return a.priority > b.priority;
  if (const int p = more_pending(a, b); p != 0) return p > 0;
  return order_detail::older(a, b);
}

BERTH_INLINE int yunikorn_order::more_pending(const queue_standing& a, const queue_standing& b) noexcept {
  for (std::size_t r = 0; r < a.pending.size() || r < b.pending.size(); ++r) {
    const auto x = order_detail::at(a.pending, r), y = order_detail::at(b.pending, r);
    if (x != y) return x > y ? 1 : -1;
  }
  return 0;
}

}  // namespace berth
