#pragma once
/// \file
/// The order of waiting jobs: a weighted sum of factors in [0, 1], with the sum laid open.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/core/separate.hpp"

namespace berth {

/// What a priority is made of. Slurm's names: age, fairshare, (job) priority, jobsize, qos, assoc, partition, site,
/// tres.
enum class priority_factor : std::uint8_t {
  waiting,
  fair_share,
  priority,
  size,
  quality_of_service,
  association,
  partition,
  site,
  resources
};
inline constexpr std::size_t priority_factor_count = 9;
[[nodiscard]] constexpr std::string_view name_of(priority_factor f) noexcept {
  constexpr std::string_view names[] = {"waiting",     "fair share", "priority", "size",     "QOS",
                                        "association", "partition",  "site",     "resources"};
  return names[static_cast<std::size_t>(f)];
}
using factor_values = std::array<double, priority_factor_count>;

/// A waiting job.
struct waiting_job {
  std::string name;
  factor_values factors{};     ///< in [0, 1]; `waiting` is filled in by the order
  std::int64_t queued_at = 0;  ///< seconds
  double nice = 0;             ///< subtracted from the sum
};

/// One job in its place.
struct ranked_job {
  std::size_t job = 0;  ///< index into the input
  factor_values factors{};
  factor_values parts{};  ///< weight × factor
  double nice = 0;
  double total = 0;
  bool full_age = false;  ///< goes first because it has waited long enough
};

/// Σ weight × factor - nice, larger first; ties to the older, then to the earlier in the input. The waiting factor
/// grows linearly from 0 to 1 within `full_age_seconds` and stays there. Source: peer_semantics item 46 (Slurm's
/// multifactor priority). Slurm's defaults: all weights 0, full age 7 days.
struct job_order {
  factor_values weights{};
  double full_age_seconds = 7 * 86400.0;
  /// Jobs that have waited `full_age_seconds` go before all others, the oldest first: then none starves, because only
  /// the finitely many that came earlier are still served before it. Off, as in Slurm, a job can wait for ever however
  /// large the weight of waiting is: the factor stops at 1, and jobs that come later reach 1 as well.
  bool full_age_goes_first = false;

  [[nodiscard]] double& weight(priority_factor f) noexcept { return weights[static_cast<std::size_t>(f)]; }

  [[nodiscard]] ranked_job rank(const waiting_job& j, std::int64_t now, std::size_t index = 0) const noexcept;
  /// All jobs, first first. O(n log n).
  [[nodiscard]] std::vector<ranked_job> order(std::span<const waiting_job> jobs, std::int64_t now) const;
};

/// The size factor of a job: the part of the cluster it asks for, or what is left of it where small jobs are favoured.
[[nodiscard]] double size_factor(double asked, double cluster, bool favour_small) noexcept;

/// "Why am I 7th?": the parts of one job's sum, and what separates it from the one before it. `place` counts from 0.
[[nodiscard]] std::string explain_place(std::span<const ranked_job> order, std::span<const waiting_job> jobs,
                                        std::size_t place);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/order/impl/job_order.hpp"
#endif
