#pragma once
/// \file
/// Bit sets: device masks of one node, and iteration over set bits.

#include <bit>
#include <cstdint>

namespace berth {

/// A set of devices of one node; bit i is device i. At most 64 devices a node.
using device_mask = std::uint64_t;

/// The most devices a node may have.
inline constexpr unsigned max_devices_per_node = 64;

/// The lowest `n` bits. \pre n <= 64
[[nodiscard]] constexpr std::uint64_t low_bits(unsigned n) noexcept {
  return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
}
/// Bit `i` alone. \pre i < 64
[[nodiscard]] constexpr std::uint64_t bit(unsigned i) noexcept {
  return std::uint64_t{1} << i;
}
/// Number of set bits. Without the popcnt instruction `std::popcount` is a call into a table; counting in parallel
/// (Warren, "Hacker's Delight", 2nd ed., fig. 5-2) is several times faster there.
[[nodiscard]] constexpr unsigned count_bits(std::uint64_t m) noexcept {
#if defined(__POPCNT__) || defined(__aarch64__)
  return static_cast<unsigned>(std::popcount(m));
#else
  m -= (m >> 1) & 0x5555555555555555U;
  m = (m & 0x3333333333333333U) + ((m >> 2) & 0x3333333333333333U);
  return static_cast<unsigned>((((m + (m >> 4)) & 0x0f0f0f0f0f0f0f0fU) * 0x0101010101010101U) >> 56);
#endif
}
/// Index of the lowest set bit. \pre m != 0
[[nodiscard]] constexpr unsigned lowest_bit(std::uint64_t m) noexcept {
  return static_cast<unsigned>(std::countr_zero(m));
}
/// The lowest `n` set bits of `m`, or all of them where there are fewer. O(n).
[[nodiscard]] constexpr std::uint64_t lowest_set(std::uint64_t m, unsigned n) noexcept {
  std::uint64_t rest = m;
  for (; n != 0 && rest != 0; --n) rest &= rest - 1;
  return m ^ rest;
}
/// Calls `f(i)` for every set bit, lowest first.
template <class F>
constexpr void for_each_bit(std::uint64_t m, F&& f) {
  for (; m != 0; m &= m - 1) f(lowest_bit(m));
}

}  // namespace berth
