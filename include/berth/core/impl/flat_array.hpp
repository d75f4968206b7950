#pragma once
/// \file
/// Bodies of `berth/core/flat_array.hpp`.

#include <cstring>

#include "berth/core/flat_array.hpp"

namespace berth::detail {

/// Memory for `count` elements of `each` bytes, not initialised.
[[nodiscard]] BERTH_INLINE void* allocate_array(std::size_t count, std::size_t each) {
  if (count > 0xffffffffU || count > static_cast<std::size_t>(-1) / 2 / each) throw std::bad_alloc{};
  const std::size_t size = count * each;
  void* const p = ::operator new(size, array_alignment(size));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  // Advice: whether it is followed changes nothing but the speed, so there is no error to handle.
  if (size >= huge_page) static_cast<void>(::madvise(p, size / huge_page * huge_page, MADV_HUGEPAGE));
#endif
  return p;
}

BERTH_INLINE void array_memory::exchange(array_memory& o) noexcept {
  std::swap(memory_, o.memory_);
  std::swap(size_, o.size_);
  std::swap(room_, o.room_);
}

[[gnu::noinline, gnu::cold]] BERTH_INLINE void array_memory::allocate(std::size_t n, std::size_t each) {
  memory_ = allocate_array(n, each);
  room_ = static_cast<std::uint32_t>(n);
}

[[gnu::noinline, gnu::cold]] BERTH_INLINE void array_memory::grow_bytes(std::size_t n, std::size_t each) {
  void* const next = allocate_array(n, each);
  if (size_ != 0) std::memcpy(next, memory_, size_ * each);
  free(each);
  memory_ = next;
  room_ = static_cast<std::uint32_t>(n);
}

[[gnu::noinline, gnu::cold]] BERTH_INLINE void array_memory::copy_bytes(const array_memory& o, std::size_t each) {
  if (o.size_ == 0) return;
  allocate(o.size_, each);
  std::memcpy(memory_, o.memory_, o.size_ * each);
  size_ = o.size_;
}

BERTH_INLINE void array_memory::resize_bytes(std::size_t n, std::size_t each) {
  if (n > room_) grow_bytes(n, each);
  if (n > size_) std::memset(static_cast<char*>(memory_) + size_ * each, 0, (n - size_) * each);
  size_ = static_cast<std::uint32_t>(n);
}

}  // namespace berth::detail
