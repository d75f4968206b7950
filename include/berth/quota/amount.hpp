#pragma once
/// \file
/// Amounts of quota: whole numbers, exact products and quotients, ids of queues, resources and users.
///
/// An amount counts units of its resource: GPUs (or thousandths of one, see `quota_resource::unit`), millicores, bytes,
/// licences. Finite amounts are at most `max_quota`, so that two of them can be added without overflow.

#include <cstdint>
#include <limits>

#include "berth/core/id.hpp"

namespace berth {

/// A queue of a `queue_tree`. Ids run level by level from the roots, and siblings are neighbours.
using queue_id = id<struct queue_tag, std::uint32_t>;
/// A column of a `queue_tree`: one resource in one pool.
using resource_id = id<struct quota_resource_tag, std::uint16_t>;
/// A user, numbered by the embedding scheduler.
using user_id = id<struct quota_user_tag, std::uint32_t>;

/// An amount of one resource.
using quota_amount = std::int64_t;
/// A limit that is none.
inline constexpr quota_amount unlimited = std::numeric_limits<quota_amount>::max();
/// The largest finite amount, also of sums over a tree: 2^62 - 1.
inline constexpr quota_amount max_quota = (quota_amount{1} << 62) - 1;

namespace quota_detail {

__extension__ typedef __int128 wide;  // NOLINT: a builtin type of both compilers

struct quotient {
  quota_amount whole = 0;
  quota_amount rest = 0;  ///< of the product, 0 <= rest < divisor
};

/// floor(a * b / c) and what is left, exactly.
/// A quotient of doubles is off by a few units at most; the product modulo 2^64 tells by how many.
/// \pre 0 <= a, 0 <= b <= c, 0 < c <= max_quota (so that the quotient is at most a)
[[nodiscard]] constexpr quotient multiply_divide(quota_amount a, quota_amount b, quota_amount c) noexcept {
  const auto guess =
      static_cast<quota_amount>(static_cast<double>(a) * static_cast<double>(b) / static_cast<double>(c));
  // While a is below 2^49 the guess is at most one off, and the remainder fits 64 bits whatever wraps around.
  if (a < (quota_amount{1} << 49)) {
    auto rest = static_cast<quota_amount>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b) -
                                          static_cast<std::uint64_t>(guess) * static_cast<std::uint64_t>(c));
    if (rest < 0) return {guess - 1, rest + c};
    if (rest >= c) return {guess + 1, rest - c};
    return {guess, rest};
  }
  const wide product = static_cast<wide>(a) * b;
  return {static_cast<quota_amount>(product / c), static_cast<quota_amount>(product % c)};
}

/// a * b, or `unlimited` where that is more than `max_quota`. \pre 0 <= a, 0 <= b
[[nodiscard]] constexpr quota_amount multiply(quota_amount a, quota_amount b) noexcept {
  const wide p = static_cast<wide>(a) * b;
  return p > max_quota ? unlimited : static_cast<quota_amount>(p);
}
/// a + b, or `unlimited` where that is more than `max_quota`. \pre 0 <= a, 0 <= b
[[nodiscard]] constexpr quota_amount add(quota_amount a, quota_amount b) noexcept {
  if (a > max_quota || b > max_quota || a > max_quota - b) return unlimited;
  return a + b;
}
[[nodiscard]] constexpr quota_amount least(quota_amount a, quota_amount b) noexcept {
  return a < b ? a : b;
}
[[nodiscard]] constexpr quota_amount most(quota_amount a, quota_amount b) noexcept {
  return a < b ? b : a;
}

}  // namespace quota_detail
}  // namespace berth
