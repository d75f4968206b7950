#pragma once
/// \file
/// Bodies of `berth/quota/order/kai.hpp`.

#include "berth/quota/order/kai.hpp"

namespace berth {

BERTH_INLINE quota_amount kai_queue_order::allocatable(const queue_standing& q, std::size_t r) noexcept {
  const auto cap = order_detail::at(q.cap, r, unlimited);
  const auto deserved = order_detail::at(q.guarantee, r);
  if (deserved == unlimited) return cap;
  return quota_detail::least(cap, quota_detail::most(deserved, order_detail::at(q.share, r)));
}

BERTH_INLINE double kai_queue_order::dominant(const queue_standing& q, bool with_head,
                                              std::span<const quota_amount> capacity) noexcept {
  double most = 0;
  for (std::size_t r = 0; r < q.used.size(); ++r) {
    const auto n =
        static_cast<double>(q.used[r] + (with_head ? order_detail::at(q.head, r) - order_detail::at(q.victims, r) : 0));
    auto of = allocatable(q, r);
    if (of == unlimited) of = order_detail::at(capacity, r);
    most = std::fmax(most, of == 0 ? n * 1000 : n / static_cast<double>(of));
  }
  return most;
}

BERTH_INLINE bool kai_queue_order::before(const queue_standing& a, const queue_standing& b,
                                          std::span<const quota_amount> capacity) const noexcept {
  const auto differs = [](bool x, bool y) { return x != y; };
  if (const bool x = over_share(a), y = over_share(b); differs(x, y)) return y;
  if (const bool x = within_deserved(a), y = within_deserved(b); differs(x, y)) return x;
  if (a.priority != b.priority) return a.priority > b.priority;
  if (const bool x = uses_no_share(a), y = uses_no_share(b); differs(x, y)) return y;
  for (const bool with : {true, false})
    if (const double x = dominant(a, with, capacity), y = dominant(b, with, capacity); x != y) return x < y;
  for (std::size_t r = 0; r < a.used.size() || r < b.used.size(); ++r)
    if (const auto x = allocatable(a, r), y = allocatable(b, r); x != y) return x < y;
  return order_detail::older(a, b);
}

BERTH_INLINE bool kai_queue_order::over_share(const queue_standing& q) noexcept {
  for (std::size_t r = 0; r < q.used.size(); ++r)
    if (q.used[r] <= order_detail::at(q.share, r)) return false;
  return !q.used.empty();
}

BERTH_INLINE bool kai_queue_order::within_deserved(const queue_standing& q) noexcept {
  for (std::size_t r = 0; r < q.used.size(); ++r)
    if (q.used[r] + order_detail::at(q.head, r) > order_detail::at(q.guarantee, r)) return false;
  return true;
}

BERTH_INLINE bool kai_queue_order::uses_no_share(const queue_standing& q) noexcept {
  for (std::size_t r = 0; r < q.used.size(); ++r)
    if (allocatable(q, r) == 0 && q.used[r] + order_detail::at(q.head, r) > 0) return true;
  return false;
}

}  // namespace berth
