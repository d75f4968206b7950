#pragma once
/// \file
/// Bodies of `berth/quota/order/queue_order.hpp`.

#include "berth/quota/order/queue_order.hpp"

namespace berth::order_detail {

BERTH_INLINE quota_amount at(std::span<const quota_amount> s, std::size_t r, quota_amount otherwise) noexcept {
  return r < s.size() ? s[r] : otherwise;
}

}  // namespace berth::order_detail
