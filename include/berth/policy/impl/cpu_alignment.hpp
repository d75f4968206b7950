#pragma once
/// \file
/// Bodies of `berth/policy/cpu_alignment.hpp`.

#include "berth/cluster/node_count.hpp"
#include "berth/policy/cpu_alignment.hpp"

namespace berth {

BERTH_INLINE bool aligned_first::score(const node_view& n, const task_shape& t) const noexcept {
  if (of == nullptr || !of->inside().is_on() || t.part.asks()) return false;
  task_shape strict = t;
  strict.bind.numa = rule;
  strict.bind.keep_ratio = t.bind.keep_ratio || keep_ratio;
  const device_mask pool = n.state.free & of->eligible(t.filter, n.id).devices;
  return detail::count_fits(of->residual(n.id, pool), strict, n.taken + 1) > n.taken;
}

}  // namespace berth
