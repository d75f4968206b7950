#pragma once
/// \file
/// Jobs some of whose pods run: these hold what they have, so that only the others are asked for. Needs nlohmann-json.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/job/kubernetes/context.hpp"
#include "berth/io/text.hpp"

namespace berth::kube_job {

/// Running pods of a group.
[[nodiscard]] inline std::uint32_t runs_of(const draft& d, std::size_t group) noexcept {
  return group < d.runs.size() ? d.runs[group] : 0;
}
inline void add_runs(draft& d, std::size_t group, std::uint32_t n) {
  if (d.runs.size() <= group) d.runs.resize(group + 1, 0);
  d.runs[group] += n;
}

namespace running_detail {

/// How many segments of the job run whole, where all running pods make whole segments.
[[nodiscard]] inline std::optional<std::uint32_t> whole_segments(const draft& d) {
  const job_spec& job = d.job;
  std::optional<std::uint32_t> whole;
  for (std::size_t i = 0; i < job.groups.size(); ++i) {
    const std::uint32_t each = job.groups[i].wanted / job.segments->count, n = runs_of(d, i);
    if (each == 0 || n % each != 0 || (whole && *whole != n / each)) return std::nullopt;
    whole = n / each;
  }
  return whole;
}

/// Takes the running pods of its groups from what the job asks for.
inline void leave_out_running(draft& d, std::uint32_t segments) {
  job_spec& job = d.job;
  std::uint32_t all = 0;
  for (std::size_t i = 0; i < job.groups.size(); ++i) {
    group_spec& g = job.groups[i];
    const std::uint32_t n = runs_of(d, i) < g.wanted ? runs_of(d, i) : g.wanted;
    const std::uint32_t least = job.segments ? g.wanted / job.segments->count : 1;  // a segment is placed whole
    all += n;
    g.wanted -= n;
    g.minimum = g.minimum > n ? g.minimum - n : least;
    if (g.minimum > g.wanted) g.minimum = g.wanted;
    if (g.most != 0) g.most = g.most > n ? g.most - n : 0;
  }
  if (job.segments) job.segments->count -= segments;
  job.minimum = job.minimum > all ? job.minimum - all : 0;
  std::vector<group_spec> left;
  std::vector<std::string> gone;
  for (auto& g : job.groups) {
    if (g.wanted != 0) left.push_back(std::move(g));
    else gone.push_back(std::move(g.name));
  }
  job.groups = std::move(left);
  for (auto& g : job.groups)
    for (const auto& name : gone) std::erase(g.after, name);
}

}  // namespace running_detail

/// Takes out of a job what of it runs. Where all does, the job says so and is asked for only where somebody picks it;
/// where that cannot be told group by group or slice by slice, all of it is asked for, and the job says so.
inline void settle_running(const context& c, draft& d) {
  job_spec& job = d.job;
  std::uint64_t runs = d.runs_somewhere, wanted = 0;
  for (std::size_t i = 0; i < job.groups.size(); ++i) runs += runs_of(d, i), wanted += job.groups[i].wanted;
  wanted *= job.copies;
  if (runs == 0) return;
  const std::string some = std::to_string(runs) + " of its " + io_text::counted(wanted, "pod") +
                           (runs == 1 ? " runs already and holds what it has" : " run already and hold what they have");
  const auto all_asked = [&](const std::string& why) {
    job.running.is = static_cast<std::uint32_t>(runs);
    c.assume(job, *d.at, some + "; " + why + ", all of it is asked for");
  };
  if (runs >= wanted) {
    job.running.is = static_cast<std::uint32_t>(runs < max_tasks ? runs : max_tasks);
    if (d.single_pods && wanted == 1) {
      const json_value* spec = c.object(d.at, "spec");
      c.assume(job, spec == nullptr ? *d.at : *spec,
               "the pod runs on " + io_text::quoted(d.node) + " already; it is asked for as if it did not");
    } else {
      c.assume(job, *d.at,
               "all of its " + io_text::counted(wanted, "pod") +
                   " run already and hold what they have; it is asked for as if they did not");
    }
    return;
  }
  if (d.runs_somewhere != 0 || job.copies > 1) return all_asked("as it is not known of which part they are");
  std::uint32_t segments = 0;
  if (job.segments) {
    const auto whole = running_detail::whole_segments(d);
    if (!whole) return all_asked("as its slices are placed whole");
    segments = *whole;
  }
  for (const auto& g : job.groups)
    if (g.own.segments) return all_asked("as its slices are placed whole");
  const bool together = job.where != locality::unconstrained;
  running_detail::leave_out_running(d, segments);
  c.assume(job, *d.at,
           some + "; the other " + std::to_string(wanted - runs) + (wanted - runs == 1 ? " is" : " are") +
               " asked for" + (together ? ", wherever these run: that all share a domain is not kept" : ""));
}

}  // namespace berth::kube_job
