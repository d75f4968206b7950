#pragma once
/// \file
/// YuniKorn's order of queues.

#include "berth/core/separate.hpp"
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

  [[nodiscard]] static double share(const queue_standing& q, std::span<const quota_amount> capacity) noexcept;
  [[nodiscard]] bool before(const queue_standing& a, const queue_standing& b,
                            std::span<const quota_amount> capacity) const noexcept;

 private:
  // "More in every resource" alone is no weak order; the largest pending amount of the first resource that differs is,
  // and agrees with it wherever it decides.
  static int more_pending(const queue_standing& a, const queue_standing& b) noexcept;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/order/impl/yunikorn.hpp"
#endif
