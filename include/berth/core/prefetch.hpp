#pragma once
/// \file
/// Asking for memory before it is looked at.
///
/// A hint: it changes nothing, reads nothing and never faults, whatever the address. GCC takes a function that only
/// prefetches for one without effect and drops calls to it; the empty statement after the hint, which costs no
/// instruction, keeps them. Where a compiler knows no such hint, nothing is done.

namespace berth {

/// Begins to bring in the line of memory at `p`, to be read.
inline void prefetch_read([[maybe_unused]] const void* p) noexcept {
#if defined(__GNUC__)
  __builtin_prefetch(p, 0);
  asm volatile("");
#endif
}
/// The same, to be written.
inline void prefetch_write([[maybe_unused]] const void* p) noexcept {
#if defined(__GNUC__)
  __builtin_prefetch(p, 1);
  asm volatile("");
#endif
}

}  // namespace berth
