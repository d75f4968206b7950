#pragma once
/// \file
/// Replaces the global allocation functions of a program by ones that count. Include it in one source file of a program;
/// the count is that of all threads.

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

// Not inlined: g++ would see free() called on what operator new gave, and warn.
// clang-format off
[[gnu::noinline]] void* operator new(std::size_t n) { return counting_new::allocate(n, alignof(std::max_align_t)); }
[[gnu::noinline]] void* operator new[](std::size_t n) { return counting_new::allocate(n, alignof(std::max_align_t)); }
[[gnu::noinline]] void* operator new(std::size_t n, std::align_val_t a) { return counting_new::allocate(n, static_cast<std::size_t>(a)); }
[[gnu::noinline]] void* operator new[](std::size_t n, std::align_val_t a) { return counting_new::allocate(n, static_cast<std::size_t>(a)); }
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
// clang-format on
