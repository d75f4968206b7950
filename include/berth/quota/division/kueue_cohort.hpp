#pragma once
/// \file
/// Where Kueue's fair sharing settles: guarantees first, idle lendable quota by weight.

#include <cstddef>

#include "berth/core/separate.hpp"
#include "berth/quota/division.hpp"

namespace berth {

/// Everybody has min(subtree quota, need). What others lend (their idle quota above what lending limits keep back, and
/// the cohort's own) is divided so that borrowed / weight is as equal as needs and borrowing limits allow: the state in
/// which no dominant share could be lowered by a transfer when workloads are single units of one resource. Kueue itself
/// compares the worst resource and whole workloads, so that with several resources it may settle elsewhere.
/// Weight 0 borrows only what nobody else wants. Source: peer_semantics items 38-40. O(queues × resources) per round.
struct kueue_cohort {
  static constexpr std::string_view name = "kueue-cohort";

  void divide(const sibling_group& g, quota_rows_out share, division_workspace& w) const;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/division/impl/kueue_cohort.hpp"
#endif
