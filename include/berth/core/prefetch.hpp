#pragma once
/// \file
/// Asking for memory before it is looked at.
///
/// A hint: it changes nothing, reads nothing and never faults, whatever the address. GCC takes a function that only
/// prefetches for one without effect and drops calls to it; the empty statement after the hint, which costs no
/// instruction, keeps them. Where a compiler knows no such hint, nothing is done.

#include "berth/core/separate.hpp"

namespace berth {

/// Begins to bring in the line of memory at `p`, to be read.
void prefetch_read([[maybe_unused]] const void* p) noexcept;
/// The same, to be written.
void prefetch_write([[maybe_unused]] const void* p) noexcept;

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/core/impl/prefetch.hpp"
#endif
