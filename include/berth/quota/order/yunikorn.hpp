#pragma once
/// \file
/// YuniKorn's order of queues.

#include "berth/quota/order/queue_order.hpp"

namespace berth {

/// Priority; then the smaller share = max over resources of used / guaranteed, where a resource without a guarantee is
/// measured against the fair maximum (the queue's cap, else the cluster), and a denominator of 0 counts as 1 with usage
/// and 0 without; then who has more pending in every resource; then older. With `by_priority` off the share comes
/// first. Source: peer_semantics item 48; apache/yunikorn-core pkg/scheduler/objects/sorters.go,
/// pkg/common/resources/resources.go (getFairShare).
struct yunikorn_order {
  static constexpr std::string_view name = "yunikorn";
  bool by_priority = true;

  [[nodiscard]] static double share(const queue_standing& q, std::span<const quota_amount> capacity) noexcept {
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
  [[nodiscard]] bool before(const queue_standing& a, const queue_standing& b,
                            std::span<const quota_amount> capacity) const noexcept {
    if (by_priority && a.priority != b.priority) return a.priority > b.priority;
    const double x = share(a, capacity), y = share(b, capacity);
    if (x != y) return x < y;
    if (a.priority != b.priority) return a.priority > b.priority;
    if (const int p = more_pending(a, b); p != 0) return p > 0;
    return order_detail::older(a, b);
  }

 private:
  // "More in every resource" alone is no weak order; the largest pending amount of the first resource that differs is,
  // and agrees with it wherever it decides.
  static int more_pending(const queue_standing& a, const queue_standing& b) noexcept {
    for (std::size_t r = 0; r < a.pending.size() || r < b.pending.size(); ++r) {
      const auto x = order_detail::at(a.pending, r), y = order_detail::at(b.pending, r);
      if (x != y) return x > y ? 1 : -1;
    }
    return 0;
  }
};

}  // namespace berth
