#pragma once
/// \file
/// Bodies of `berth/policy/part_choice.hpp`.

#include "berth/policy/part_choice.hpp"

namespace berth::detail {

BERTH_INLINE float share_left(const shared_device& d, const part_need& n) noexcept {
  float left = 0;
  if (n.thousandths() != 0 && d.thousandths != 0)
    left += static_cast<float>(d.thousandths_left - n.thousandths()) / static_cast<float>(d.thousandths);
  if (const std::uint32_t m = n.memory_on(d.memory); m != 0 && d.memory != 0)
    left += static_cast<float>(d.memory_left - m) / static_cast<float>(d.memory);
  return left;
}

}  // namespace berth::detail

namespace berth {

BERTH_INLINE mig_most_options keep_mig_options::for_product(const mig_state_table& t) const {
  mig_most_options out{t, settings};
  double all = 0;
  for (const double x : mix) all += x;
  if (mix.size() == t.geometry().profiles && all > 0) out.set_mix({mix.data(), mix.size()});
  return out;
}

}  // namespace berth
