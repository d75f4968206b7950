#pragma once
/// \file
/// Bodies of `berth/sim/packing_run.hpp`.

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "berth/sim/packing_run.hpp"

namespace berth::detail {

BERTH_INLINE double now_in_nanoseconds() noexcept {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

BERTH_INLINE double quantile(std::vector<double>& values, double part) {
  if (values.empty()) return 0.0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace berth::detail

namespace berth {

BERTH_INLINE double unusable_share(const share_node& n, const std::vector<workload_class>& workload) noexcept {
  const double total = n.free_total();
  double sum = 0;
  for (const auto& c : workload)
    if (c.task.devices == 0 || !fits(n, c.task)) sum += c.popularity * total;
  return sum;
}

}  // namespace berth
