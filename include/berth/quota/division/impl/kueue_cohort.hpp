#pragma once
/// \file
/// Bodies of `berth/quota/division/kueue_cohort.hpp`.

#include "berth/quota/division/guarantees.hpp"
#include "berth/quota/division/kueue_cohort.hpp"

namespace berth {

BERTH_INLINE void kueue_cohort::divide(const sibling_group& g, quota_rows_out share, division_workspace& w) const {
  for (Eigen::Index r = 0; r < g.resources(); ++r) {
    quota_amount left = give_guarantees(g, r, share, w);
    for (Eigen::Index i = 0; i < g.size(); ++i) left -= quota_detail::most(0, g.local(i, r) - share(i, r));
    if (left <= 0) continue;
    const auto wants = [&](std::size_t i) {
      const auto k = static_cast<Eigen::Index>(i);
      return quota_detail::least(g.need(k, r), g.ceiling(k, r)) - share(k, r);
    };
    all_rows(g, w);
    w.amounts.resize(w.rows.size());
    for (std::size_t i = 0; i < w.amounts.size(); ++i) w.amounts[i] = wants(i);
    const auto need = [&](std::uint32_t i) { return w.amounts[i]; };
    left = water_fill(g, r, left, g.weight.col(r).data(), need, share.col(r).data(), w);
    if (left <= 0) continue;
    // Only queues of weight 0 can still want something, besides those who have all they may.
    const quota_matrix ones = quota_matrix::Ones(g.size(), 1);
    all_rows(g, w);
    for (std::size_t i = 0; i < w.amounts.size(); ++i) w.amounts[i] = wants(i);
    (void)water_fill(g, r, left, ones.data(), need, share.col(r).data(), w);
  }
}

}  // namespace berth
