#pragma once
/// \file
/// Koordinator's runtime quota: minima first, what is not used is lent by shared weight.

#include <cstddef>
#include <cstdint>

#include "berth/core/separate.hpp"
#include "berth/quota/division.hpp"

namespace berth {

/// runtime = minimum for who asks for more, the request for who asks for less (or the minimum where the queue does not
/// lend). The rest is divided among the former by shared weight in whole units, largest remainders first; what somebody
/// gets beyond his request goes into the next round. The request counts up to the maximum. Where minima add up to more
/// than there is, they are scaled down by capacity / sum, rounded down.
/// Weights: Koordinator's default is the maximum; readers of its objects set them so.
/// Source: peer_semantics item 43; koordinator-sh/koordinator
/// pkg/scheduler/plugins/elasticquota/core/runtime_quota_calculator.go. O(queues log queues × rounds × resources).
struct koordinator_runtime {
  static constexpr std::string_view name = "koordinator";

  void divide(const sibling_group& g, quota_rows_out share, division_workspace& w) const;

 private:
  static quota_amount scaled(quota_amount capacity, quota_amount minimum, quota_amount sum);
  // \returns what came back from those who were satisfied
  static quota_amount round(const sibling_group& g, Eigen::Index r, quota_amount left, quota_rows_out share,
                            division_workspace& w);
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/division/impl/koordinator.hpp"
#endif
