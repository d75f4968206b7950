#pragma once
/// \file
/// KAI's order of queues.

#include "berth/core/separate.hpp"
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

  [[nodiscard]] static quota_amount allocatable(const queue_standing& q, std::size_t r) noexcept;
  [[nodiscard]] static double dominant(const queue_standing& q, bool with_head,
                                       std::span<const quota_amount> capacity) noexcept;
  [[nodiscard]] bool before(const queue_standing& a, const queue_standing& b,
                            std::span<const quota_amount> capacity) const noexcept;

 private:
  static bool over_share(const queue_standing& q) noexcept;
  static bool within_deserved(const queue_standing& q) noexcept;
  static bool uses_no_share(const queue_standing& q) noexcept;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/order/impl/kai.hpp"
#endif
