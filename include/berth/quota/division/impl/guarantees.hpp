#pragma once
/// \file
/// Bodies of `berth/quota/division/guarantees.hpp`.

#include "berth/quota/division/guarantees.hpp"
#include "berth/quota/division/water_fill.hpp"

namespace berth {

BERTH_INLINE void all_rows(const sibling_group& g, division_workspace& w) {
  w.rows.resize(static_cast<std::size_t>(g.size()));
  for (std::uint32_t i = 0; i < w.rows.size(); ++i) w.rows[i] = i;
}

BERTH_INLINE quota_amount give_guarantees(const sibling_group& g, Eigen::Index r, quota_rows_out share,
                                          division_workspace& w) {
  const auto capacity = g.capacity[static_cast<std::size_t>(r)];
  auto column = share.col(r);
  column = g.guarantee.col(r).cwiseMin(g.demand.col(r)).cwiseMin(g.cap.col(r));
  quota_detail::wide sum = 0;
  for (Eigen::Index i = 0; i < column.size(); ++i) sum += column(i);
  const auto promised = sum > max_quota ? unlimited : static_cast<quota_amount>(sum);
  if (promised <= capacity) return capacity - promised;
  all_rows(g, w);
  w.amounts.assign(column.data(), column.data() + column.size());
  column.setZero();
  return water_fill(
      g, r, capacity, w.amounts.data(), [&](std::uint32_t i) { return w.amounts[i]; }, column.data(), w);
}

BERTH_INLINE quota_amount divide_rest(const sibling_group& g, Eigen::Index r, quota_amount left,
                                      const quota_amount* weight, quota_rows_out share, division_workspace& w) {
  if (left <= 0) return 0;
  all_rows(g, w);
  w.amounts.resize(w.rows.size());
  const quota_amount* demand = g.demand.col(r).data();
  const quota_amount* cap = g.cap.col(r).data();
  quota_amount* out = share.col(r).data();
  for (std::size_t i = 0; i < w.amounts.size(); ++i) w.amounts[i] = quota_detail::least(demand[i], cap[i]) - out[i];
  return water_fill(
      g, r, left, weight, [&](std::uint32_t i) { return w.amounts[i]; }, out, w);
}

}  // namespace berth
