#pragma once
/// \file
/// Bodies of `berth/policy/mig.hpp`.

#include "berth/policy/mig.hpp"

namespace berth::detail {

BERTH_INLINE float mig_start_rank(const mig_state_table& t, unsigned placement) noexcept {
  const mig_geometry& g = t.geometry();
  const unsigned compute = g.compute_of(placement);
  const auto start = static_cast<float>(g.placement[placement].start);
  return compute == 1 || compute == 3 ? -start : start;
}

}  // namespace berth::detail
