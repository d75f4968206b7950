#pragma once
/// \file
/// Bodies of `berth/core/prefetch.hpp`.

#include "berth/core/prefetch.hpp"

namespace berth {

BERTH_INLINE void prefetch_read([[maybe_unused]] const void* p) noexcept {
#if defined(__GNUC__)
  __builtin_prefetch(p, 0);
  asm volatile("");
#endif
}

BERTH_INLINE void prefetch_write([[maybe_unused]] const void* p) noexcept {
#if defined(__GNUC__)
  __builtin_prefetch(p, 1);
  asm volatile("");
#endif
}

}  // namespace berth
