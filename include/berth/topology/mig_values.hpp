#pragma once
/// \file
/// What the state of a MIG GPU is worth: how much of it requests are expected to take yet, in compute slices.

#include <cstddef>

#include "berth/core/bits.hpp"
#include "berth/topology/mig_states.hpp"

namespace berth {

/// If requests of a mix come until none fits, each started in the best way: V(s) is the mean over the profiles that fit
/// in s, weighted by the mix, of what one more takes (`mig_geometry::taken_by`: by compute alone, the room that only
/// double-memory profiles can use would count for too little) and of V of the best state that it leaves. Exact, by one
/// pass from full to empty. O(states × placements). \param mix  one weight >= 0 per profile  \param value  one per
/// state; written
inline void mig_state_values(const mig_state_table& t, const double* mix, double* value) noexcept {
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
