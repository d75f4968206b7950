#pragma once
/// \file
/// Bodies of `berth/quota/division/volcano.hpp`.

#include <algorithm>

#include "berth/quota/division/guarantees.hpp"
#include "berth/quota/division/volcano.hpp"

namespace berth {

BERTH_INLINE quota_amount volcano_real_capability(const sibling_group& g, Eigen::Index i, Eigen::Index r,
                                                  quota_amount all_guarantees) noexcept {
  const auto others = quota_detail::most(0, all_guarantees - g.guarantee(i, r));
  const auto capacity = g.capacity[static_cast<std::size_t>(r)];
  return quota_detail::least(g.cap(i, r), quota_detail::most(0, capacity - others));
}

BERTH_INLINE quota_amount all_guarantees(const sibling_group& g, Eigen::Index r) noexcept {
  quota_amount sum = 0;
  for (Eigen::Index i = 0; i < g.size(); ++i) sum = quota_detail::add(sum, g.guarantee(i, r));
  return sum;
}

BERTH_INLINE void volcano_proportion::divide(const sibling_group& g, quota_rows_out share,
                                             division_workspace& w) const {
  share.setZero();
  const auto m = g.resources();
  w.amounts.assign(g.capacity.begin(), g.capacity.end());  // what remains
  const quota_matrix capability = capabilities(g);
  all_rows(g, w);
  while (!w.rows.empty()) {
    quota_detail::wide total = 0;
    for (const auto i : w.rows) total += g.weight(i, 0);
    if (total == 0) break;
    const quota_matrix before = share;
    const auto remained = w.amounts;
    bool remains = false, moved = false;
    for (Eigen::Index r = 0; r < m; ++r) {
      const auto left = w.amounts[static_cast<std::size_t>(r)];
      if (left <= 0) continue;
      w.claims.clear();
      auto over = left;
      for (const auto i : w.rows) {
        const auto product = static_cast<quota_detail::wide>(left) * g.weight(i, 0);
        share(i, r) += static_cast<quota_amount>(product / total);
        over -= static_cast<quota_amount>(product / total);
        w.claims.push_back({product % total, i});
      }
      // Fewer than there are claims, so that which of them are the largest is all that matters.
      const auto lucky = static_cast<std::ptrdiff_t>(over);
      std::nth_element(w.claims.begin(), w.claims.begin() + lucky, w.claims.end(), [&](const auto& a, const auto& b) {
        return a.rest != b.rest ? a.rest > b.rest : g.older(a.row, b.row);
      });
      for (std::size_t k = 0; over > 0; ++k, --over) ++share(w.claims[k].row, r);
    }
    std::size_t n = 0;
    for (const auto i : w.rows) {
      // In Volcano's fractions a queue stays where it is exactly when it is at its limit wherever anything remains.
      bool met = true, stays = true;
      for (Eigen::Index r = 0; r < m; ++r) {
        auto& s = share(i, r);
        const auto limit = quota_detail::least(capability(i, r), g.demand(i, r));
        const bool had_some = remained[static_cast<std::size_t>(r)] > 0;
        s = quota_detail::most(quota_detail::least(s, limit), g.guarantee(i, r));
        w.amounts[static_cast<std::size_t>(r)] -= s - before(i, r);
        moved = moved || s != before(i, r);
        met = met && g.demand(i, r) <= s;
        stays = stays && (s >= limit || !had_some);
      }
      if (!met && !stays) w.rows[n++] = i;
    }
    moved = moved || n < w.rows.size();
    w.rows.resize(n);
    for (const auto a : w.amounts) remains = remains || a > 0;
    if (!remains || !moved) break;
  }
}

BERTH_INLINE quota_matrix volcano_proportion::capabilities(const sibling_group& g) {
  quota_matrix c(g.size(), g.resources());
  for (Eigen::Index r = 0; r < g.resources(); ++r) {
    const auto sum = all_guarantees(g, r);
    for (Eigen::Index i = 0; i < g.size(); ++i) c(i, r) = volcano_real_capability(g, i, r, sum);
  }
  return c;
}

BERTH_INLINE void volcano_capacity::divide(const sibling_group& g, quota_rows_out share, division_workspace&) const {
  for (Eigen::Index r = 0; r < g.resources(); ++r) {
    const auto sum = all_guarantees(g, r);
    for (Eigen::Index i = 0; i < g.size(); ++i) {
      const auto most = quota_detail::least(g.demand(i, r), volcano_real_capability(g, i, r, sum));
      share(i, r) = quota_detail::most(g.guarantee(i, r), quota_detail::least(g.deserved(i, r), most));
    }
  }
}

BERTH_INLINE bool volcano_over_used(std::span<const quota_amount> deserved,
                                    std::span<const quota_amount> allocated) noexcept {
  for (std::size_t r = 0; r < deserved.size(); ++r)
    if (deserved[r] > 0 && deserved[r] <= allocated[r]) return true;
  return false;
}

}  // namespace berth
