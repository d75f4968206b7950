#pragma once
/// \file
/// Bodies of `berth/cluster/open_count.hpp`.

#include "berth/cluster/open_count.hpp"

namespace berth::detail {

BERTH_INLINE open_count& open_count::operator=([[maybe_unused]] const open_count& o) noexcept {
  assert(n_ == 0 && o.n_ == 0);
  return *this;
}

}  // namespace berth::detail
