#pragma once
/// \file
/// The count of allocations that `counting_new.hpp` keeps, for the other source files of a program that includes that
/// one.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace counting_new {

inline std::atomic<std::uint64_t> calls{0};

/// Allocations so far.
inline std::uint64_t count() noexcept {
  return calls.load(std::memory_order_relaxed);
}
inline void* allocate(std::size_t size, std::size_t alignment) {
  calls.fetch_add(1, std::memory_order_relaxed);
  const std::size_t whole = (size + alignment - 1) / alignment * alignment;
  if (void* p = std::aligned_alloc(alignment, whole != 0 ? whole : alignment)) return p;
  throw std::bad_alloc{};
}

}  // namespace counting_new
