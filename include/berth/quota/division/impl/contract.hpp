#pragma once
/// \file
/// Bodies of `berth/quota/division/contract.hpp`.

#include "berth/quota/division/contract.hpp"

namespace berth {

BERTH_INLINE void contract_division::divide(const sibling_group& g, quota_rows_out share, division_workspace& w) const {
  for (Eigen::Index r = 0; r < g.resources(); ++r)
    (void)divide_rest(g, r, owed(g, r, share, w), g.weight.col(r).data(), share, w);
}

BERTH_INLINE void contract_ledger::close_hour(quota_amount allocation, quota_amount demand,
                                              quota_amount used) noexcept {
  const auto owed = quota_detail::least(allocation, demand);
  owed_sum_ += owed - owed_[at_];
  used_sum_ += used - used_[at_];
  owed_[at_] = owed;
  used_[at_] = used;
  at_ = (at_ + 1) % hours;
}

}  // namespace berth
