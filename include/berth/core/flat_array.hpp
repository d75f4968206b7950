#pragma once
/// \file
/// `flat_array<T>`: the tables behind the hot path. What a user fills or reads (specs, gangs, node shapes) stays in the
/// containers of the standard library; this one earns its place where they do not fit:
///   * It never grows by accident. `push` is noexcept and stays within what was reserved (asserted); the calls that
///     allocate are `reserve`, `resize`, `assign`, `append` and copies, and nothing else.
///   * Large tables begin on a huge page and ask the system for huge pages (Linux: `madvise`; elsewhere nothing).
///     Random access to the state of a large cluster is mostly page table walks otherwise.
///   * Tables begin on a cache line, so that 64-byte records never straddle two.
///   * Members are short enough that twenty element types cost a translation unit little.
///
/// Limits      at most 2^32 - 1 elements; more is `std::bad_alloc`, as is running out of memory.
/// Errors      a call that throws leaves the array as it was, except that `assign` may leave it shorter.

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>
#if defined(__linux__)
#include <sys/mman.h>

#include "berth/core/separate.hpp"
#endif

namespace berth {

namespace detail {

inline constexpr std::size_t cache_line = 64;
inline constexpr std::size_t huge_page = std::size_t{1} << 21;

[[nodiscard]] inline std::align_val_t array_alignment(std::size_t size) noexcept {
  return std::align_val_t{size >= huge_page ? huge_page : cache_line};
}
/// What all arrays share, whatever their element; out of line, as none of it is on a hot path.
class array_memory {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// How many elements there is memory for.
  [[nodiscard]] std::size_t capacity() const noexcept { return room_; }

 protected:
  array_memory() noexcept = default;
  array_memory(const array_memory&) = delete;
  array_memory& operator=(const array_memory&) = delete;
  ~array_memory() = default;
  void exchange(array_memory& o) noexcept;
  /// Fresh memory for `n` elements. \pre there is none yet
  void allocate(std::size_t n, std::size_t each);
  [[gnu::noinline]] void free(std::size_t each) noexcept {
    if (memory_ != nullptr) ::operator delete(memory_, array_alignment(room_ * each));
  }
  /// More memory, elements copied as bytes.
  void grow_bytes(std::size_t n, std::size_t each);
  void copy_bytes(const array_memory& o, std::size_t each);
  void resize_bytes(std::size_t n, std::size_t each);

  void* memory_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t room_ = 0;
};

}  // namespace detail

/// A contiguous array that grows only when told to. Elements are value-initialised.
template <class T>
class flat_array : public detail::array_memory {
  static_assert(alignof(T) <= detail::cache_line);
  static constexpr bool is_bytes = std::is_trivially_copyable_v<T>;

 public:
  using value_type = T;

  flat_array() noexcept = default;
  explicit flat_array(std::size_t n) : flat_array{} { resize(n); }
  flat_array(std::size_t n, const T& v) : flat_array{} { assign(n, v); }
  flat_array(const flat_array& o) : flat_array{} {
    if constexpr (is_bytes) {
      copy_bytes(o, sizeof(T));
    } else {
      reserve(o.size_);
      for (const T& v : o) make(v);
    }
  }
  flat_array(flat_array&& o) noexcept { exchange(o); }
  flat_array& operator=(const flat_array& o) {
    if (this != &o) flat_array{o}.swap(*this);
    return *this;
  }
  flat_array& operator=(flat_array&& o) noexcept {
    flat_array{std::move(o)}.swap(*this);
    return *this;
  }
  ~flat_array() {
    clear();
    free(sizeof(T));
  }

  [[nodiscard]] T* data() noexcept { return static_cast<T*>(memory_); }
  [[nodiscard]] const T* data() const noexcept { return static_cast<const T*>(memory_); }
  [[nodiscard]] T* begin() noexcept { return data(); }
  [[nodiscard]] const T* begin() const noexcept { return data(); }
  [[nodiscard]] T* end() noexcept { return data() + size_; }
  [[nodiscard]] const T* end() const noexcept { return data() + size_; }
  /// \pre i < size()
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return assert(i < size_), data()[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return assert(i < size_), data()[i]; }
  /// \pre !empty()
  [[nodiscard]] T& back() noexcept { return assert(size_ != 0), data()[size_ - 1]; }
  [[nodiscard]] const T& back() const noexcept { return assert(size_ != 0), data()[size_ - 1]; }

  /// Adds an element within what was reserved. \pre size() < capacity()
  void push(const T& v) noexcept {
    assert(size_ < room_);
    make(v);
  }
  /// Adds an element, for building tables: may allocate. O(1) on average.
  T& append(T v) {
    if (size_ == room_) grow(size_ < 8 ? 16 : std::size_t{room_} * 2);
    return make(std::move(v));
  }
  /// Makes room for `n` elements, exactly. Allocates.
  void reserve(std::size_t n) {
    if (n > room_) grow(n);
  }
  /// New elements are value-initialised. Allocates when growing.
  [[gnu::noinline]] void resize(std::size_t n) {
    if constexpr (is_bytes && std::is_trivially_default_constructible_v<T>) {
      resize_bytes(n, sizeof(T));
    } else {
      reserve(n);
      while (size_ < n) make();
      shrink(n);
    }
  }
  /// `n` copies of `v`. Allocates when growing. \pre `v` is not an element
  [[gnu::noinline]] void assign(std::size_t n, const T& v) {
    clear();
    reserve(n);
    while (size_ < n) make(v);
  }
  /// Keeps the memory.
  void clear() noexcept { shrink(0); }
  void swap(flat_array& o) noexcept { exchange(o); }

  [[nodiscard]] friend bool operator==(const flat_array& a, const flat_array& b) noexcept {
    if (a.size_ != b.size_) return false;
    for (std::uint32_t i = 0; i < a.size_; ++i)
      if (!(a.data()[i] == b.data()[i])) return false;
    return true;
  }

 private:
  template <class... V>
  T& make(V&&... v) {
    T* const at = ::new (static_cast<void*>(data() + size_)) T(std::forward<V>(v)...);
    ++size_;
    return *at;
  }
  void shrink(std::size_t n) noexcept {
    if constexpr (std::is_trivially_destructible_v<T>) {
      if (size_ > n) size_ = static_cast<std::uint32_t>(n);
    } else {
      while (size_ > n) data()[--size_].~T();
    }
  }
  void grow(std::size_t n) {
    if constexpr (is_bytes) {
      grow_bytes(n, sizeof(T));
    } else {
      flat_array next;
      next.allocate(n, sizeof(T));
      for (T& v : *this) next.make(std::move(v));
      next.swap(*this);
    }
  }
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/core/impl/flat_array.hpp"
#endif
