#pragma once
/// \file
/// Bodies of `berth/core/hash_slots.hpp`.

#include "berth/core/hash_slots.hpp"

namespace berth {

BERTH_INLINE void hash_slots::put(std::uint32_t i, std::size_t hash) noexcept {
  std::size_t at = hash & (slots_.size() - 1);
  while (slots_[at] != none) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = i;
}

}  // namespace berth
