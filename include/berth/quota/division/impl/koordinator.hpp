#pragma once
/// \file
/// Bodies of `berth/quota/division/koordinator.hpp`.

#include <algorithm>

#include "berth/quota/division/guarantees.hpp"
#include "berth/quota/division/koordinator.hpp"

namespace berth {

BERTH_INLINE void koordinator_runtime::divide(const sibling_group& g, quota_rows_out share,
                                              division_workspace& w) const {
  for (Eigen::Index r = 0; r < g.resources(); ++r) {
    const auto capacity = g.capacity[static_cast<std::size_t>(r)];
    quota_amount left = capacity, sum = 0;
    for (Eigen::Index i = 0; i < g.size(); ++i) sum = quota_detail::add(sum, g.guarantee(i, r));
    w.rows.clear();
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(g.size()); ++i) {
      quota_amount minimum = g.guarantee(i, r);
      if (sum > capacity) minimum = scaled(capacity, minimum, sum);
      const auto asks = g.need(i, r);
      if (asks > minimum) w.rows.push_back(i);
      share(i, r) = asks > minimum || g.lends[i] == 0 ? minimum : asks;
      left -= share(i, r);
    }
    while (left > 0 && !w.rows.empty()) left = round(g, r, left, share, w);
  }
}

BERTH_INLINE quota_amount koordinator_runtime::scaled(quota_amount capacity, quota_amount minimum, quota_amount sum) {
  // `sum` may be unlimited; a minimum is at most the sum.
  return static_cast<quota_amount>(static_cast<quota_detail::wide>(capacity) * minimum / sum);
}

BERTH_INLINE quota_amount koordinator_runtime::round(const sibling_group& g, Eigen::Index r, quota_amount left,
                                                     quota_rows_out share, division_workspace& w) {
  quota_detail::wide total = 0;
  for (const auto i : w.rows) total += g.weight(i, r);
  if (total == 0) {
    w.rows.clear();
    return 0;
  }
  w.claims.clear();
  quota_amount over = left;
  for (const auto i : w.rows) {
    const auto product = static_cast<quota_detail::wide>(left) * g.weight(i, r);
    const auto whole = static_cast<quota_amount>(product / total);
    share(i, r) += whole;
    over -= whole;
    if (g.weight(i, r) > 0) w.claims.push_back({product % total, i});
  }
  // Fewer than there are claims, so that which of them are the largest is all that matters.
  const auto lucky = static_cast<std::ptrdiff_t>(over);
  std::nth_element(w.claims.begin(), w.claims.begin() + lucky, w.claims.end(), [&](const auto& a, const auto& b) {
    return a.rest != b.rest ? a.rest > b.rest : g.older(a.row, b.row);
  });
  for (std::size_t k = 0; over > 0; ++k, --over) ++share(w.claims[k].row, r);
  quota_amount back = 0;
  std::size_t n = 0;
  for (const auto i : w.rows) {
    const auto asks = g.need(i, r);
    if (share(i, r) < asks) {
      w.rows[n++] = i;
    } else {
      back += share(i, r) - asks;
      share(i, r) = asks;
    }
  }
  w.rows.resize(n);
  return back;
}

}  // namespace berth
