#pragma once
/// \file
/// Bodies of `berth/policy/packing_rules.hpp`.

#include "berth/policy/packing_rules.hpp"

namespace berth {

BERTH_INLINE packing_score ratio_packing::score(const packing_view& v, const share_task& t) const noexcept {
  const auto u = detail::used_after(v, t);
  return {-std::fabs(u.cpu - u.gpu), tightest_choice(v.now, t)};
}

}  // namespace berth
