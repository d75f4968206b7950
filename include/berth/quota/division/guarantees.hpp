#pragma once
/// \file
/// The first step of most policies: everybody's guarantee, as far as he needs it.

#include <cstddef>
#include <cstdint>

#include "berth/core/separate.hpp"
#include "berth/quota/division.hpp"

namespace berth {

/// Fills `w.rows` with all rows.
void all_rows(const sibling_group& g, division_workspace& w);

/// share = min(guarantee, need) in column r. Where that is more than there is, what there is is divided in proportion
/// to it. \returns what is left of the capacity. O(rows).
quota_amount give_guarantees(const sibling_group& g, Eigen::Index r, quota_rows_out share, division_workspace& w);

/// Divides `left` by `weight` (a column) among rows that still need something. \returns what nobody took.
quota_amount divide_rest(const sibling_group& g, Eigen::Index r, quota_amount left, const quota_amount* weight,
                         quota_rows_out share, division_workspace& w);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/division/impl/guarantees.hpp"
#endif
