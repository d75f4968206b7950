#pragma once
/// \file
/// Bodies of `berth/topology/mig_values.hpp`.

#include "berth/core/bits.hpp"
#include "berth/topology/mig_values.hpp"

namespace berth {

BERTH_INLINE void mig_state_values(const mig_state_table& t, const double* mix, double* value) noexcept {
  const mig_geometry& g = t.geometry();
  for (const mig_state_id s : t.fullest_first()) {
    double weight = 0, sum = 0;
    for (unsigned q = 0; q < g.profiles; ++q) {
      if (mix[q] <= 0 || t.open(s, q) == 0) continue;
      double best = -1;
      for_each_bit(t.open(s, q), [&](unsigned p) {
        const double v = g.taken_by(p) + value[t.after(s, p)];
        best = v > best ? v : best;
      });
      weight += mix[q];
      sum += mix[q] * best;
    }
    value[s] = weight > 0 ? sum / weight : 0;
  }
}

}  // namespace berth
