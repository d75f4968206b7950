#pragma once
/// \file
/// Bodies of `berth/sim/packing_run.hpp`.

#include "berth/sim/packing_run.hpp"

namespace berth {

BERTH_INLINE double unusable_share(const share_node& n, const std::vector<workload_class>& workload) noexcept {
  const double total = n.free_total();
  double sum = 0;
  for (const auto& c : workload)
    if (c.task.devices == 0 || !fits(n, c.task)) sum += c.popularity * total;
  return sum;
}

}  // namespace berth
