#pragma once
/// \file
/// Bodies of `berth/solver/child_choice.hpp`.

#include "berth/solver/child_choice.hpp"

namespace berth::detail {

BERTH_INLINE void child_choice::reserve(std::uint32_t children) {
  words.assign((children + 63) / 64, 0);
  amount.assign(children, 0);
  order.assign(children, 0);
}

BERTH_INLINE void child_choice::take(std::uint32_t child, std::uint64_t n) noexcept {
  words[child / 64] |= bit(child % 64);
  amount[child] = n;
}

}  // namespace berth::detail
