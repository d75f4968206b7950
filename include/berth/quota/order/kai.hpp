#pragma once
/// \file
/// KAI's order of queues.

#include "berth/quota/order/queue_order.hpp"

namespace berth {

/// Not above the fair share in all resources first; then who stays within deserved with its head job; then priority;
/// then who does not use, with the job, a resource of which it has no share; then the smaller dominant share with the
/// job and without the victims; then without either; then the smaller allocatable share; then older.
/// Allocatable share = min(limit, max(deserved, fair share)), the limit where deserved is unlimited. Dominant share =
/// max over resources of used / allocatable, where 0 in the denominator counts as 1000 × used and no limit as what the
/// cluster has. Allocatable shares are compared resource by resource; KAI lets the older queue go first where each has
/// the smaller share of something, which orders three queues in a circle. Source: peer_semantics item 42;
/// kai-scheduler/KAI-Scheduler pkg/scheduler/plugins/proportion/queue_order/, resource_share/.
struct kai_queue_order {
  static constexpr std::string_view name = "kai";

  [[nodiscard]] static quota_amount allocatable(const queue_standing& q, std::size_t r) noexcept {
    const auto cap = order_detail::at(q.cap, r, unlimited);
    const auto deserved = order_detail::at(q.guarantee, r);
    if (deserved == unlimited) return cap;
    return quota_detail::least(cap, quota_detail::most(deserved, order_detail::at(q.share, r)));
  }
  [[nodiscard]] static double dominant(const queue_standing& q, bool with_head,
                                       std::span<const quota_amount> capacity) noexcept {
    double most = 0;
    for (std::size_t r = 0; r < q.used.size(); ++r) {
      const auto n = static_cast<double>(
          q.used[r] + (with_head ? order_detail::at(q.head, r) - order_detail::at(q.victims, r) : 0));
      auto of = allocatable(q, r);
      if (of == unlimited) of = order_detail::at(capacity, r);
      most = std::fmax(most, of == 0 ? n * 1000 : n / static_cast<double>(of));
    }
    return most;
  }
  [[nodiscard]] bool before(const queue_standing& a, const queue_standing& b,
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

 private:
  static bool over_share(const queue_standing& q) noexcept {
    for (std::size_t r = 0; r < q.used.size(); ++r)
      if (q.used[r] <= order_detail::at(q.share, r)) return false;
    return !q.used.empty();
  }
  static bool within_deserved(const queue_standing& q) noexcept {
    for (std::size_t r = 0; r < q.used.size(); ++r)
      if (q.used[r] + order_detail::at(q.head, r) > order_detail::at(q.guarantee, r)) return false;
    return true;
  }
  static bool uses_no_share(const queue_standing& q) noexcept {
    for (std::size_t r = 0; r < q.used.size(); ++r)
      if (allocatable(q, r) == 0 && q.used[r] + order_detail::at(q.head, r) > 0) return true;
    return false;
  }
};

}  // namespace berth
