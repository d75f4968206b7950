#pragma once
/// \file
/// The order of waiting jobs: a weighted sum of factors in [0, 1], with the sum laid open.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

  [[nodiscard]] ranked_job rank(const waiting_job& j, std::int64_t now, std::size_t index = 0) const noexcept {
    ranked_job out;
    out.job = index;
    out.factors = j.factors;
    const double age = static_cast<double>(now - j.queued_at);
    out.factors[0] = full_age_seconds > 0 ? age / full_age_seconds : 1;
    out.nice = j.nice;
    out.full_age = full_age_goes_first && age >= full_age_seconds;
    for (std::size_t k = 0; k < priority_factor_count; ++k) {
      out.factors[k] = std::fmin(1.0, std::fmax(0.0, out.factors[k]));
      out.parts[k] = weights[k] * out.factors[k];
      out.total += out.parts[k];
    }
    out.total -= j.nice;
    return out;
  }
  /// All jobs, first first. O(n log n).
  [[nodiscard]] std::vector<ranked_job> order(std::span<const waiting_job> jobs, std::int64_t now) const {
    std::vector<ranked_job> out;
    out.reserve(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) out.push_back(rank(jobs[i], now, i));
    std::sort(out.begin(), out.end(), [&](const ranked_job& a, const ranked_job& b) {
      if (a.full_age != b.full_age) return a.full_age;
      if (!a.full_age && a.total != b.total) return a.total > b.total;
      if (jobs[a.job].queued_at != jobs[b.job].queued_at) return jobs[a.job].queued_at < jobs[b.job].queued_at;
      return a.job < b.job;
    });
    return out;
  }
};

/// The size factor of a job: the part of the cluster it asks for, or what is left of it where small jobs are favoured.
[[nodiscard]] inline double size_factor(double asked, double cluster, bool favour_small) noexcept {
  const double part = cluster > 0 ? std::fmin(1.0, asked / cluster) : 0;
  return favour_small ? 1 - part : part;
}

/// "Why am I 7th?": the parts of one job's sum, and what separates it from the one before it. `place` counts from 0.
[[nodiscard]] inline std::string explain_place(std::span<const ranked_job> order, std::span<const waiting_job> jobs,
                                               std::size_t place) {
  if (place >= order.size()) return "no such place\n";
  const auto number = [](double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", x);
    return std::string{text};
  };
  const auto& me = order[place];
  std::string out = jobs[me.job].name + " is " + std::to_string(place + 1) + " of " + std::to_string(order.size()) +
                    " with " + number(me.total) + " =";
  bool first = true;
  for (std::size_t k = 0; k < priority_factor_count; ++k) {
    if (me.parts[k] == 0) continue;
    out += std::string{first ? " " : " + "} + std::string{name_of(static_cast<priority_factor>(k))} + " " +
           number(me.parts[k]) + " (" + number(me.factors[k]) + " x " + number(me.parts[k] / me.factors[k]) + ")";
    first = false;
  }
  if (first) out += " 0";
  if (me.nice != 0) out += " - nice " + number(me.nice);
  if (me.full_age) out += ", and has waited so long that it goes before all younger ones";
  out += "\n";
  if (place == 0) return out;
  const auto& ahead = order[place - 1];
  if (ahead.full_age) return out + "behind " + jobs[ahead.job].name + ", which has waited longer\n";
  out += "behind " + jobs[ahead.job].name + " by " + number(ahead.total - me.total);
  std::string why;
  for (std::size_t k = 0; k < priority_factor_count; ++k)
    if (const double d = ahead.parts[k] - me.parts[k]; d != 0)
      why += std::string{why.empty() ? ": " : ", "} + std::string{name_of(static_cast<priority_factor>(k))} +
             (d > 0 ? " +" : " ") + number(d);
  if (const double d = me.nice - ahead.nice; d != 0)
    why += std::string{why.empty() ? ": " : ", "} + "nice " + (d > 0 ? "+" : "") + number(d);
  out += why.empty() ? ": the older goes first\n" : why + "\n";
  return out;
}

}  // namespace berth
