#pragma once
/// \file
/// KAI's fair share: deserved amounts first, then surplus by priority and over-quota weight.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "berth/core/separate.hpp"
#include "berth/quota/division.hpp"

namespace berth {

/// Phase 1: min(deserved, need) for every queue, also where that adds up to more than there is. Phase 2: surplus goes
/// by priority, highest first. Within one priority, in rounds: the unsatisfied queues' weights are normalised to w, and
/// queue i gets amount × max(0, w + k (w - u)) / Σ, where u is its past usage as a fraction of the capacity; at most
/// what it needs, otherwise rounded down to whole units; again as long as a round left somebody more than he needed.
/// Then one unit each to the largest remainders, ties to the older queue. With k = 0 all arithmetic is exact; otherwise
/// weights are doubles, as in KAI. Source: peer_semantics item 41; kai-scheduler/KAI-Scheduler
/// pkg/scheduler/plugins/proportion/resource_division/resource_division.go. O(queues × rounds × resources).
struct kai_division {
  static constexpr std::string_view name = "kai";
  double k = 0;               ///< how much past usage counts
  bool give_deserved = true;  ///< false: `share` already holds what phase 1 gave, and is added to

  void divide(const sibling_group& g, quota_rows_out share, division_workspace& w) const;

  /// Phase 2 for one resource. \returns what nobody took
  quota_amount surplus(const sibling_group& g, Eigen::Index r, quota_amount left, quota_rows_out share,
                       division_workspace& w) const;

 private:
  quota_amount one_priority(const sibling_group& g, Eigen::Index r, quota_amount left, quota_rows_out share,
                            division_workspace& w) const;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/division/impl/kai.hpp"
#endif
