#pragma once
/// \file
/// Bodies of `berth/quota/order/job_order.hpp`.

#include <algorithm>
#include <cstdio>

#include "berth/quota/order/job_order.hpp"

namespace berth {

BERTH_INLINE ranked_job job_order::rank(const waiting_job& j, std::int64_t now, std::size_t index) const noexcept {
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

BERTH_INLINE std::vector<ranked_job> job_order::order(std::span<const waiting_job> jobs, std::int64_t now) const {
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

BERTH_INLINE double size_factor(double asked, double cluster, bool favour_small) noexcept {
  const double part = cluster > 0 ? std::fmin(1.0, asked / cluster) : 0;
  return favour_small ? 1 - part : part;
}

BERTH_INLINE std::string explain_place(std::span<const ranked_job> order, std::span<const waiting_job> jobs,
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
