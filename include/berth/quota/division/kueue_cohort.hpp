#pragma once
/// \file
/// Where Kueue's fair sharing settles: guarantees first, idle lendable quota by weight.

#include <cstddef>

#include "berth/quota/division/guarantees.hpp"

namespace berth {

/// Everybody has min(subtree quota, need). What others lend (their idle quota above what lending limits keep back, and
/// the cohort's own) is divided so that borrowed / weight is as equal as needs and borrowing limits allow: the state in
/// which no dominant share could be lowered by a transfer when workloads are single units of one resource. Kueue itself
/// compares the worst resource and whole workloads, so that with several resources it may settle elsewhere.
/// Weight 0 borrows only what nobody else wants. Source: peer_semantics items 38-40. O(queues × resources) per round.
struct kueue_cohort {
  static constexpr std::string_view name = "kueue-cohort";

  void divide(const sibling_group& g, quota_rows_out share, division_workspace& w) const {
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
};

}  // namespace berth
