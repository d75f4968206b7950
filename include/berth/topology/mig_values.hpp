#pragma once
/// \file
/// What the state of a MIG GPU is worth: how much of it requests are expected to take yet, in compute slices.

#include <cstddef>

#include "berth/core/separate.hpp"
#include "berth/topology/mig_states.hpp"

namespace berth {

/// If requests of a mix come until none fits, each started in the best way: V(s) is the mean over the profiles that fit
/// in s, weighted by the mix, of what one more takes (`mig_geometry::taken_by`: by compute alone, the room that only
/// double-memory profiles can use would count for too little) and of V of the best state that it leaves. Exact, by one
/// pass from full to empty. O(states × placements). \param mix  one weight >= 0 per profile  \param value  one per
/// state; written
void mig_state_values(const mig_state_table& t, const double* mix, double* value) noexcept;

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/topology/impl/mig_values.hpp"
#endif
