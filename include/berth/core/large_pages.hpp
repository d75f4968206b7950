#pragma once
/// \file
/// Memory for large tables that are read at random: asks the system for large pages, since with small ones every read
/// misses not only the caches but also the table of pages.
///
/// On Linux a block of 2 MiB or more begins at a multiple of 2 MiB and is marked with `madvise(MADV_HUGEPAGE)`, which
/// has an effect where /sys/kernel/mm/transparent_hugepage/enabled says `madvise` or `always`. Elsewhere, and for small
/// blocks, it is plain memory.

#include <cstddef>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace berth {

template <class T>
struct large_page_allocator {
  using value_type = T;
  large_page_allocator() = default;
  template <class U>
  large_page_allocator(const large_page_allocator<U>&) noexcept {}

  [[nodiscard]] T* allocate(std::size_t n) {
    if (n * sizeof(T) < page) return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{alignof(T)}));
    void* const p = ::operator new(n * sizeof(T), std::align_val_t{page});
#ifdef __linux__
    static_cast<void>(madvise(p, n * sizeof(T) / page * page, MADV_HUGEPAGE));  // refused: slower, nothing else
#endif
    return static_cast<T*>(p);
  }
  void deallocate(T* p, std::size_t n) noexcept {
    ::operator delete(p, std::align_val_t{n * sizeof(T) < page ? alignof(T) : page});
  }
  friend bool operator==(const large_page_allocator&, const large_page_allocator&) noexcept { return true; }

 private:
  static constexpr std::size_t page = std::size_t{2} << 20;
};

/// A vector whose memory is large pages where it is large.
template <class T>
using large_vector = std::vector<T, large_page_allocator<T>>;

}  // namespace berth
