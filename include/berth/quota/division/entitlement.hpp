#pragma once
/// \file
/// Plain proportions: Slurm's normalised shares, and AWS Batch's head-room for absent users.

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "berth/core/separate.hpp"
#include "berth/quota/division.hpp"

namespace berth {

/// What everybody is entitled to by his shares, asked for or not: capacity × weight / Σ weights, in whole units,
/// largest remainders first. A target for usage over time (Fair Tree compares it with usage), not a limit. Source:
/// Slurm's NormShares, doc/html/fair_tree.shtml in SchedMD/slurm. O(queues × resources).
struct slurm_shares {
  static constexpr std::string_view name = "slurm-shares";

  void divide(const sibling_group& g, quota_rows_out share, division_workspace& w) const;
};

/// Keeps (percent / 100)^k of the capacity for somebody who is absent, where k queues are active (need anything): 50 %
/// with one active, 25 % with two. The rest is divided by `weighted_max_min` among those who are active. The reserve is
/// rounded up to whole units. Source: peer_semantics item 30 (AWS Batch, computeReservation).
struct head_room {
  static constexpr std::string_view name = "head-room";
  double percent = 50;  ///< 0 .. 99

  /// Which part of the capacity stays free while `active` queues are active.
  [[nodiscard]] double reserved(std::size_t active) const noexcept {
    return std::pow(percent / 100, static_cast<double>(active));
  }
  void divide(const sibling_group& g, quota_rows_out share, division_workspace& w) const;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/division/impl/entitlement.hpp"
#endif
