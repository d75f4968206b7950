#pragma once
/// \file
/// Bodies of `berth/quota/division/weighted_max_min.hpp`.

#include "berth/quota/division/guarantees.hpp"
#include "berth/quota/division/weighted_max_min.hpp"

namespace berth {

BERTH_INLINE void weighted_max_min::divide(const sibling_group& g, quota_rows_out share, division_workspace& w) const {
  for (Eigen::Index r = 0; r < g.resources(); ++r) {
    const auto left = give_guarantees(g, r, share, w);
    (void)divide_rest(g, r, left, g.weight.col(r).data(), share, w);
  }
}

}  // namespace berth
