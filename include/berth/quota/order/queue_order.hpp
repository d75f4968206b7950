#pragma once
/// \file
/// Which of several sibling queues goes first: what an order looks at, and the concept of one.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/quota/amount.hpp"

namespace berth {

/// One queue in an order. Spans are by resource and of one length; an empty one means zeros, or `unlimited` for `cap`.
struct queue_standing {
  std::span<const quota_amount> used;
  std::span<const quota_amount> guarantee;
  std::span<const quota_amount> cap;
  std::span<const quota_amount> share;    ///< what a share policy gave
  std::span<const quota_amount> pending;  ///< what waits
  std::span<const quota_amount> head;     ///< what the job at its head asks
  std::span<const quota_amount> victims;  ///< what would be taken from it in the same plan
  std::int32_t priority = 0;              ///< larger first
  std::int64_t created_at = 0;            ///< seconds, older first
  std::uint32_t id = 0;                   ///< the last tie
};

/// An order of queues: `before(a, b)` is a strict weak order, given what the cluster has by resource.
template <class P>
concept queue_order_policy = requires(const P& p, const queue_standing& a, std::span<const quota_amount> capacity) {
  { P::name } -> std::convertible_to<std::string_view>;
  { p.before(a, a, capacity) }
  noexcept->std::same_as<bool>;
};

/// The positions of `queues`, first first. O(n log n × resources).
template <queue_order_policy P>
[[nodiscard]] std::vector<std::size_t> order_of(const P& p, std::span<const queue_standing> queues,
                                                std::span<const quota_amount> capacity) {
  std::vector<std::size_t> out(queues.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  std::sort(out.begin(), out.end(),
            [&](std::size_t a, std::size_t b) { return p.before(queues[a], queues[b], capacity); });
  return out;
}

namespace order_detail {

[[nodiscard]] quota_amount at(std::span<const quota_amount> s, std::size_t r, quota_amount otherwise = 0) noexcept;
/// Older first, then the lower id.
[[nodiscard]] inline bool older(const queue_standing& a, const queue_standing& b) noexcept {
  return a.created_at != b.created_at ? a.created_at < b.created_at : a.id < b.id;
}

}  // namespace order_detail
}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/order/impl/queue_order.hpp"
#endif
