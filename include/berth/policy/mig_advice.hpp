#pragma once
/// \file
/// Advice for jobs that hold a whole GPU, or a MIG instance, and use little of it: the smallest MIG profile that would
/// do, with the numbers. Advice, not a change: what to do with it is for people, or for the scheduler above.

#include <cstdint>
#include <optional>

#include "berth/core/expected.hpp"
#include "berth/core/separate.hpp"
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
[[nodiscard]] expected<mig_advice, no_mig_advice> advise_mig(const mig_geometry& g, const usage_seen& u,
                                                             const mig_advice_settings& s = {}) noexcept;

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/mig_advice.hpp"
#endif
