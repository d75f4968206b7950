#pragma once
/// \file
/// Bodies of `berth/cluster/change_sink.hpp`.

#include "berth/cluster/change_sink.hpp"

namespace berth::detail {

BERTH_INLINE feed_link& feed_link::operator=(feed_link&& o) noexcept {
  to = std::exchange(o.to, nullptr);
  return *this;
}

}  // namespace berth::detail
