#pragma once
/// \file
/// Bodies of `berth/quota/honest/weekly_report.hpp`.

#include <algorithm>
#include <map>
#include <utility>

#include "berth/quota/honest/weekly_report.hpp"

namespace berth {

BERTH_INLINE weekly_report report_of(std::span<const gpu_sample> samples, double begin, double end,
                                     const report_rule& rule) {
  std::map<std::string, std::map<double, const gpu_sample*>> by_device;
  for (const auto& s : samples)
    if (s.time >= begin && s.time < end) by_device[s.device].insert_or_assign(s.time, &s);
  weekly_report out;
  out.devices = by_device.size();
  std::map<std::string, roomy_job> jobs;
  for (const auto& [device, readings] : by_device) {
    double busy = 0, covered = 0, last_gap = rule.longest_gap;
    std::map<std::string, double> held;
    std::string host;
    for (auto i = readings.begin(); i != readings.end(); ++i) {
      const auto next = std::next(i);
      double gap = last_gap;
      if (next != readings.end()) gap = std::min(rule.longest_gap, next->first - i->first);
      last_gap = gap;
      gap = std::min(gap, end - i->first);
      const auto& s = *i->second;
      host = s.host;
      held[s.owner] += gap;
      if (s.utilisation) {
        busy += gap * *s.utilisation;
        covered += gap;
      }
      if (!s.owner.empty() && s.memory_used && s.memory_total && *s.memory_total > 0) {
        auto& j = jobs[s.owner];
        const double part = static_cast<double>(*s.memory_used) / static_cast<double>(*s.memory_total);
        if (j.owner.empty() || part > j.part)
          j = {s.owner,
               *s.memory_used,
               *s.memory_total,
               part,
               *s.memory_used + *s.memory_used / 5,
               waste_action::smaller_or_shared};
      }
    }
    if (covered < rule.least_covered) continue;
    ++out.judged;
    const double mean = busy / covered;
    if (mean >= rule.idle_below) continue;
    std::pair<std::string, double> longest{"", -1};
    for (const auto& h : held)
      if (h.second > longest.second) longest = h;
    const bool works = mean >= rule.idle_below / 4;
    out.idle.push_back({device, host, longest.first, mean, covered,
                        longest.first.empty() ? waste_action::give_to_others
                        : works               ? waste_action::smaller_or_shared
                                              : waste_action::ask_owner});
    out.idle_gpu_hours += (1 - mean) * covered / 3600;
  }
  for (const auto& [owner, j] : jobs)
    if (j.part < rule.memory_below) out.roomy.push_back(j);
  std::sort(out.idle.begin(), out.idle.end(), [](const idle_gpu& a, const idle_gpu& b) {
    return a.utilisation != b.utilisation ? a.utilisation < b.utilisation : a.device < b.device;
  });
  std::sort(out.roomy.begin(), out.roomy.end(), [](const roomy_job& a, const roomy_job& b) {
    return a.part != b.part ? a.part < b.part : a.owner < b.owner;
  });
  return out;
}

}  // namespace berth
