#pragma once
/// \file
/// Weighted max-min fairness by water-filling, above guarantees.

#include "berth/quota/division/guarantees.hpp"

namespace berth {

/// First everybody gets min(guarantee, need); the rest is divided so that what is had above the guarantee, divided by
/// weight, is as equal as needs allow: share = min(need, guaranteed + level × weight). Where guarantees add up to more
/// than there is, they are cut in proportion. Resources are divided one by one; rows of weight 0 get guarantees only.
/// Source: Bertsekas and Gallager, "Data Networks", 2nd ed., section 6.5.2. O(queues × resources) per round of filling.
struct weighted_max_min {
  static constexpr std::string_view name = "weighted-max-min";

  void divide(const sibling_group& g, quota_rows_out share, division_workspace& w) const {
    for (Eigen::Index r = 0; r < g.resources(); ++r) {
      const auto left = give_guarantees(g, r, share, w);
      (void)divide_rest(g, r, left, g.weight.col(r).data(), share, w);
    }
  }
};

}  // namespace berth
