#pragma once
/// \file
/// Bodies of `berth/policy/mig_advice.hpp`.

#include "berth/policy/mig_advice.hpp"

namespace berth {

BERTH_INLINE expected<mig_advice, no_mig_advice> advise_mig(const mig_geometry& g, const usage_seen& u,
                                                            const mig_advice_settings& s) noexcept {
  const auto none = [](no_mig_advice why) { return unexpected<no_mig_advice>{why}; };
  const unsigned all = g.product->compute.value_or(g.product->units.value_or(7));
  if (u.memory_mib == 0 || u.peak_memory_mib > u.memory_mib || u.peak_compute.value_or(0) > 100 || u.seconds < 0 ||
      (u.profile && *u.profile >= g.profiles) || s.headroom > 1000 || s.memory_below > 100)
    return none(no_mig_advice::bad_numbers);
  if (u.linked) return none(no_mig_advice::linked);
  if (u.seconds < s.seconds) return none(no_mig_advice::watched_too_short);
  if (std::uint64_t{u.peak_memory_mib} * 100 >= std::uint64_t{s.memory_below} * u.memory_mib)
    return none(no_mig_advice::uses_enough);
  if (!u.peak_compute) return none(no_mig_advice::compute_unknown);
  mig_advice out;
  out.slices_now = u.profile ? g.row(*u.profile).compute : all;
  out.memory_used = static_cast<unsigned>((std::uint64_t{u.peak_memory_mib} * 100 + u.memory_mib - 1) / u.memory_mib);
  out.memory_needed_mib =
      static_cast<std::uint32_t>((std::uint64_t{u.peak_memory_mib} * (100 + s.headroom) + 99) / 100);
  const unsigned busy = *u.peak_compute * out.slices_now * (100 + s.headroom);  // slices × 10^4 of a GPU's
  out.compute_needed = (busy + all * 100 - 1) / (all * 100);
  std::optional<unsigned> best;
  for (unsigned q = 0; q < g.profiles; ++q) {
    const auto& row = g.row(q);
    if (g.of_profile[q] == 0 || !row.memory_mib || !row.size) continue;
    if (row.variant != catalogue::mig_variant::plain && row.variant != catalogue::mig_variant::double_memory) continue;
    if (*row.memory_mib < out.memory_needed_mib || row.compute * 10'000U < busy) continue;
    if (row.compute > out.slices_now || *row.memory_mib >= u.memory_mib) continue;
    if (row.compute == out.slices_now && (!u.profile || *row.size >= *g.row(*u.profile).size)) continue;
    if (!best || row.compute < g.row(*best).compute ||
        (row.compute == g.row(*best).compute && *row.size < *g.row(*best).size))
      best = q;
  }
  if (!best) return none(no_mig_advice::nothing_smaller);
  out.profile = *best;
  out.memory_offered_mib = *g.row(*best).memory_mib;
  out.slices_then = g.row(*best).compute;
  out.per_gpu = g.row(*best).most;
  return out;
}

}  // namespace berth
