#pragma once
/// \file
/// Weighted max-min fairness by water-filling, above guarantees.

#include "berth/core/separate.hpp"
#include "berth/quota/division.hpp"

namespace berth {

/// First everybody gets min(guarantee, need); the rest is divided so that what is had above the guarantee, divided by
/// weight, is as equal as needs allow: share = min(need, guaranteed + level × weight). Where guarantees add up to more
/// than there is, they are cut in proportion. Resources are divided one by one; rows of weight 0 get guarantees only.
/// Source: Bertsekas and Gallager, "Data Networks", 2nd ed., section 6.5.2. O(queues × resources) per round of filling.
struct weighted_max_min {
  static constexpr std::string_view name = "weighted-max-min";

  void divide(const sibling_group& g, quota_rows_out share, division_workspace& w) const;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/division/impl/weighted_max_min.hpp"
#endif
