#pragma once
/// \file
/// Replaces the global allocation functions of a program by ones that count. Include it in one source file of a
/// program, and `allocation_count.hpp` in others that ask; the count is that of all threads.

#include <cstddef>
#include <cstdlib>
#include <new>

#include "allocation_count.hpp"

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
