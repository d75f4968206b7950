#pragma once
/// \file
/// Bodies of `berth/policy/power_model.hpp`.

#include "berth/policy/power_model.hpp"

namespace berth {

BERTH_INLINE double power_model::watts(const share_node& now, const share_node& installed) const noexcept {
  const model_power& m = of[installed.model];
  double sum = 0;
  for (unsigned g = 0; g < now.devices; ++g) sum += now.free[g] == installed.free[g] ? m.gpu.idle : m.gpu.busy;
  const auto packages = [&](cpu_millis c) { return (c.count() + m.package.count() - 1) / m.package.count(); };
  const std::int64_t all = packages(installed.cpu), busy = packages(installed.cpu - now.cpu);
  return sum + static_cast<double>(busy) * m.cpu.busy + static_cast<double>(all - busy) * m.cpu.idle;
}

}  // namespace berth
