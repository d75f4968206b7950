#pragma once
/// \file
/// Tiresias: who has had least service goes first, in a few levels, or by the Gittins index where the distribution of
/// service is known.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "berth/core/separate.hpp"

namespace berth {

/// What an order by attained service looks at.
struct attained_job {
  std::int64_t gpus = 1;
  double executed = 0;         ///< seconds it ran, since it was promoted last
  double waiting = 0;          ///< seconds since it ran last
  std::int64_t queued_at = 0;  ///< older first within a level
  std::uint32_t id = 0;        ///< the last tie
};

/// Two-dimensional least attained service: service is GPUs × seconds, and the number of thresholds it has reached is
/// the level; lower levels first, within a level in order of arrival. A job that has waited `starve_limit` times as
/// long as it ran goes back to level 0 (whoever keeps its record then sets `executed` to 0). Thresholds are those of
/// the published simulator. Source: peer_semantics item 51; Gu et al., "Tiresias", NSDI 2019; SymbioticLab/Tiresias.
struct least_attained_service {
  static constexpr const char* name = "2d-las";
  std::array<double, 3> thresholds{3250, 7200, 18000};  ///< GPU-seconds, rising
  double starve_limit = 0;                              ///< 0: no promotion

  [[nodiscard]] bool promoted(const attained_job& j) const noexcept {
    return starve_limit > 0 && j.executed > 0 && j.waiting >= j.executed * starve_limit;
  }
  [[nodiscard]] std::size_t level(const attained_job& j) const noexcept;
  [[nodiscard]] bool before(const attained_job& a, const attained_job& b) const noexcept;
};

/// The Gittins index of a job that has had `attained` service, where whole jobs need what `samples` say:
/// sup over d of P(S - a <= d | S > a) / E[min(S - a, d) | S > a]. Larger goes first; 0 where no sample is larger than
/// `attained`. The sup is met at a sample. \pre samples in rising order. O(samples).
[[nodiscard]] double gittins_index(std::span<const double> samples, double attained) noexcept;

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/order/impl/attained_service.hpp"
#endif
