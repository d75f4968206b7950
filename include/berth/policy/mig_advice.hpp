#pragma once
/// \file
/// Advice for jobs that hold a whole GPU, or a MIG instance, and use little of it: the smallest MIG profile that would
/// do, with the numbers. Advice, not a change: what to do with it is for people, or for the scheduler above.

#include <cstdint>
#include <optional>

#include "berth/core/expected.hpp"
#include "berth/topology/mig_geometry.hpp"

namespace berth {

/// What was seen of one device of a job.
struct usage_seen {
  std::optional<unsigned> profile;       ///< what it holds: index of a profile; empty: the whole GPU
  std::uint32_t memory_mib = 0;          ///< of the device that it holds
  std::uint32_t peak_memory_mib = 0;     ///< the most in use at once
  std::optional<unsigned> peak_compute;  ///< percent of that device's SMs busy at the peak, where it is measured
  std::int64_t seconds = 0;              ///< how long it was watched
  bool linked = false;                   ///< uses NVLink or P2P to other GPUs, or several GPUs in one process
};

struct mig_advice_settings {
  unsigned memory_below = 30;        ///< percent of the device's memory in use at the peak: below this there is advice
  std::int64_t seconds = 24 * 3600;  ///< seen for at least so long
  unsigned headroom = 20;            ///< percent kept above the peaks
};

/// Why there is no advice.
enum class no_mig_advice : std::uint8_t {
  bad_numbers,  ///< no memory at all, or a peak above it or above 100 %
  watched_too_short,
  uses_enough,
  linked,           ///< instances have no links
  compute_unknown,  ///< memory would fit, but nobody measured how busy the SMs are
  nothing_smaller,  ///< no smaller profile has what it needs
};

/// A proposal. Its numbers are for whoever decides.
struct mig_advice {
  unsigned profile = 0;                      ///< index in the product's profiles
  unsigned memory_used = 0;                  ///< percent of what it holds now, rounded up
  std::uint32_t memory_needed_mib = 0;       ///< the peak and the headroom
  std::uint32_t memory_offered_mib = 0;      ///< of the profile; a default of the table: the device knows better
  unsigned compute_needed = 0;               ///< percent of a whole GPU, with headroom, rounded up
  unsigned slices_now = 0, slices_then = 0;  ///< compute slices
  unsigned per_gpu = 0;                      ///< instances of the profile that one GPU holds
};

/// Proposes the smallest plain profile of the geometry that holds the peaks with headroom, where less than
/// `memory_below` percent of the memory was ever in use. O(profiles).
[[nodiscard]] inline expected<mig_advice, no_mig_advice> advise_mig(const mig_geometry& g, const usage_seen& u,
                                                                    const mig_advice_settings& s = {}) noexcept {
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
