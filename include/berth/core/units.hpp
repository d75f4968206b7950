#pragma once
/// \file
/// Amounts with units. Resources are integers, so that undoing a change is exact; rates are floating point.

#include <compare>
#include <cstdint>

namespace berth {

/// A quantity of one unit. Same units add and compare, different units do not compile.
template <class Unit, class Rep>
class amount {
 public:
  using rep = Rep;
  constexpr amount() noexcept = default;
  constexpr explicit amount(Rep n) noexcept : n_{n} {}
  [[nodiscard]] constexpr Rep count() const noexcept { return n_; }

  constexpr amount& operator+=(amount b) noexcept {
    n_ += b.n_;
    return *this;
  }
  constexpr amount& operator-=(amount b) noexcept {
    n_ -= b.n_;
    return *this;
  }
  friend constexpr amount operator+(amount a, amount b) noexcept { return amount{a.n_ + b.n_}; }
  friend constexpr amount operator-(amount a, amount b) noexcept { return amount{a.n_ - b.n_}; }
  friend constexpr amount operator*(amount a, Rep k) noexcept { return amount{a.n_ * k}; }
  friend constexpr amount operator*(Rep k, amount a) noexcept { return amount{a.n_ * k}; }
  friend constexpr auto operator<=>(amount, amount) noexcept = default;

 private:
  Rep n_{};
};

/// Thousandths of a CPU, as hardware threads the node's operating system shows.
using cpu_millis = amount<struct cpu_millis_unit, std::int64_t>;
/// Bytes of memory.
using bytes = amount<struct byte_unit, std::int64_t>;
/// 10^9 bytes per second in one direction.
using gigabytes_per_second = amount<struct gigabytes_per_second_unit, double>;
/// Bytes per second in one direction, where bandwidth is reserved and so must be exact.
using bytes_per_second = amount<struct bytes_per_second_unit, std::int64_t>;
/// Nanoseconds of latency, one way.
using nanoseconds = amount<struct nanosecond_unit, double>;

/// Whole CPUs as `cpu_millis`.
[[nodiscard]] constexpr cpu_millis cpus(std::int64_t n) noexcept { return cpu_millis{n * 1000}; }
/// MiB (2^20 bytes) as `bytes`.
[[nodiscard]] constexpr bytes mebibytes(std::int64_t n) noexcept { return bytes{n * (std::int64_t{1} << 20)}; }
/// GiB (2^30 bytes) as `bytes`.
[[nodiscard]] constexpr bytes gibibytes(std::int64_t n) noexcept { return bytes{n * (std::int64_t{1} << 30)}; }

}  // namespace berth
