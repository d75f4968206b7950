#pragma once
/// \file
/// `expected<T, E>`: a value or the reason why there is none. A small stand-in for C++23's `std::expected`,
/// with the same member names. Never throws by itself.

#include <cassert>
#include <optional>  // for std::construct_at: <memory>, its home, costs several times as much to compile
#include <type_traits>
#include <utility>

namespace berth {

/// Wraps an error so that it converts to any `expected<T, E>`.
template <class E>
class unexpected {
 public:
  constexpr explicit unexpected(E e) : e_{std::move(e)} {}
  [[nodiscard]] constexpr E& error() & noexcept { return e_; }
  [[nodiscard]] constexpr E&& error() && noexcept { return std::move(e_); }

 private:
  E e_;
};

/// A `T`, or an `E` that says why not. Copied and moved as its parts are; assigned only where their moves do not throw,
/// so that an assignment which fails (in a copy) leaves the target as it was.
template <class T, class E>
class [[nodiscard]] expected {
 public:
  using value_type = T;
  using error_type = E;

  constexpr expected(T v) noexcept(std::is_nothrow_move_constructible_v<T>) : ok_{true}, v_{std::move(v)} {}
  template <class G>
  requires std::is_constructible_v<E, G&&>
  constexpr expected(unexpected<G> u) noexcept(std::is_nothrow_constructible_v<E, G&&>)
      : ok_{false}, e_(std::move(u).error()) {}
  constexpr expected(const expected& o) requires(std::is_copy_constructible_v<T>&& std::is_copy_constructible_v<E>)
      : ok_{o.ok_} {
    if (ok_) std::construct_at(std::addressof(v_), o.v_);
    else std::construct_at(std::addressof(e_), o.e_);
  }
  constexpr expected(expected&& o) noexcept(
      std::is_nothrow_move_constructible_v<T>&& std::is_nothrow_move_constructible_v<E>)
      : ok_{o.ok_} {
    if (ok_) std::construct_at(std::addressof(v_), std::move(o.v_));
    else std::construct_at(std::addressof(e_), std::move(o.e_));
  }
  constexpr expected& operator=(expected o) noexcept
      requires(std::is_nothrow_move_constructible_v<T>&& std::is_nothrow_move_constructible_v<E>) {
    destroy();
    ok_ = o.ok_;
    if (ok_) std::construct_at(std::addressof(v_), std::move(o.v_));
    else std::construct_at(std::addressof(e_), std::move(o.e_));
    return *this;
  }
  constexpr ~expected() { destroy(); }

  [[nodiscard]] constexpr bool has_value() const noexcept { return ok_; }
  constexpr explicit operator bool() const noexcept { return ok_; }
  /// \pre has_value()
  [[nodiscard]] constexpr T& operator*() & noexcept { return assert(ok_), v_; }
  [[nodiscard]] constexpr const T& operator*() const& noexcept { return assert(ok_), v_; }
  [[nodiscard]] constexpr T&& operator*() && noexcept { return assert(ok_), std::move(v_); }
  [[nodiscard]] constexpr T* operator->() noexcept { return assert(ok_), std::addressof(v_); }
  [[nodiscard]] constexpr const T* operator->() const noexcept { return assert(ok_), std::addressof(v_); }
  /// \pre !has_value()
  [[nodiscard]] constexpr E& error() & noexcept { return assert(!ok_), e_; }
  [[nodiscard]] constexpr const E& error() const& noexcept { return assert(!ok_), e_; }
  [[nodiscard]] constexpr E&& error() && noexcept { return assert(!ok_), std::move(e_); }

 private:
  constexpr void destroy() noexcept {
    if (ok_) std::destroy_at(std::addressof(v_));
    else std::destroy_at(std::addressof(e_));
  }
  bool ok_;
  union {
    T v_;
    E e_;
  };
};

/// Nothing, or an `E` that says what went wrong.
template <class E>
class [[nodiscard]] expected<void, E> {
 public:
  using value_type = void;
  using error_type = E;
  constexpr expected() noexcept : ok_{true}, e_{} {}
  template <class G>
  requires std::is_constructible_v<E, G&&>
  constexpr expected(unexpected<G> u) : ok_{false}, e_(std::move(u).error()) {}
  // Copied by hand, so that it is returned in memory: put together in registers it is written in pieces and read back
  // as one word at once, which costs the processor some 15 cycles.
  constexpr expected(const expected& o) noexcept(std::is_nothrow_copy_constructible_v<E>) : ok_{o.ok_}, e_{o.e_} {}
  constexpr expected(expected&& o) noexcept(std::is_nothrow_move_constructible_v<E>)
      : ok_{o.ok_}, e_{std::move(o.e_)} {}
  constexpr expected& operator=(const expected&) = default;
  constexpr expected& operator=(expected&&) = default;
  constexpr ~expected() = default;
  [[nodiscard]] constexpr bool has_value() const noexcept { return ok_; }
  constexpr explicit operator bool() const noexcept { return ok_; }
  /// \pre !has_value()
  [[nodiscard]] constexpr const E& error() const& noexcept { return assert(!ok_), e_; }
  [[nodiscard]] constexpr E&& error() && noexcept { return assert(!ok_), std::move(e_); }

 private:
  bool ok_;
  E e_;
};

}  // namespace berth
