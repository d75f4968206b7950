#pragma once
/// \file
/// Bodies of `berth/policy/price_terms.hpp`.

#include "berth/core/random.hpp"
#include "berth/policy/price_terms.hpp"

namespace berth {

BERTH_INLINE void price_terms::forget() {
  entries_.resize(1);
  charges_.resize(1);
  slots_.clear();
}

BERTH_INLINE std::size_t price_terms::hash(const price_term& t) noexcept {
  const std::uint64_t sets = std::uint64_t{t.before} << 32 | t.after;
  const std::uint64_t rest = std::uint64_t{t.own} << 32 | static_cast<std::uint64_t>(t.own_broken) << 24 |
                             static_cast<std::uint64_t>(static_cast<std::uint16_t>(t.untouched)) << 8 | t.pressed;
  return static_cast<std::size_t>(scattered(sets * 0x9e3779b97f4a7c15U ^ rest));
}

}  // namespace berth
