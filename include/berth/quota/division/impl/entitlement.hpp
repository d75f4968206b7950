#pragma once
/// \file
/// Bodies of `berth/quota/division/entitlement.hpp`.

#include "berth/quota/division/entitlement.hpp"
#include "berth/quota/division/guarantees.hpp"

namespace berth {

BERTH_INLINE void slurm_shares::divide(const sibling_group& g, quota_rows_out share, division_workspace& w) const {
  share.setZero();
  for (Eigen::Index r = 0; r < g.resources(); ++r) {
    all_rows(g, w);
    (void)water_fill(
        g, r, g.capacity[static_cast<std::size_t>(r)], g.weight.col(r).data(), [](std::uint32_t) { return max_quota; },
        share.col(r).data(), w);
  }
}

BERTH_INLINE void head_room::divide(const sibling_group& g, quota_rows_out share, division_workspace& w) const {
  std::size_t active = 0;
  for (Eigen::Index i = 0; i < g.size(); ++i) {
    bool any = false;
    for (Eigen::Index r = 0; r < g.resources(); ++r) any = any || g.need(i, r) > 0;
    active += any ? 1 : 0;
  }
  w.order.clear();
  for (Eigen::Index r = 0; r < g.resources(); ++r) {
    const auto capacity = g.capacity[static_cast<std::size_t>(r)];
    const auto unit = g.unit[static_cast<std::size_t>(r)];
    auto kept = static_cast<quota_amount>(std::ceil(static_cast<double>(capacity) * reserved(active) - 1e-9));
    kept = quota_detail::least(capacity, (kept + unit - 1) / unit * unit);
    auto column = share.col(r);
    column.setZero();
    (void)divide_rest(g, r, capacity - kept, g.weight.col(r).data(), share, w);
  }
}

}  // namespace berth
