#pragma once
/// \file
/// Pods and controllers that belong to one group as one gang: PodGroups, Koordinator's and HiveD's gangs, Kueue's plain
/// pod groups. Needs nlohmann-json.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/job/kubernetes/context.hpp"
#include "berth/io/job/kubernetes/running.hpp"
#include "berth/io/job/kubernetes/volcano.hpp"
#include "berth/io/text.hpp"

namespace berth::kube_job {

/// Pods that name one group are one gang; equal ones are one task group.
inline void join_pods(const context& c, std::vector<draft>& drafts) {
  std::vector<draft> out;
  std::map<std::string, std::size_t> known;  // into `out`
  for (auto& d : drafts) {
    draft* same = nullptr;
    if (d.single_pods && d.affinity.empty() == false) d.pod_group = d.affinity;
    if (d.single_pods && !d.pod_group.empty())
      if (const auto [at, fresh] = known.emplace(d.space + "/" + d.pod_group, out.size()); !fresh)
        same = &out[at->second];
    if (same == nullptr) {
      out.push_back(std::move(d));
      continue;
    }
    if (d.total_at != nullptr && same->group_total != d.group_total)
      c.fail(*d.total_at,
             "pods of group " + io_text::quoted(d.pod_group) + " that say it has " + std::to_string(d.group_total) +
                 " and " + std::to_string(same->group_total) + " pods",
             "one number");
    for (std::size_t i = 0; i < d.job.groups.size(); ++i) {
      group_spec& g = d.job.groups[i];
      bool merged = false;
      group_spec like = g;
      for (std::size_t k = 0; k < same->job.groups.size() && !merged; ++k) {
        group_spec& have = same->job.groups[k];
        if (have.gpus != g.gpus || have.cpu != g.cpu || have.memory != g.memory) continue;  // most unlike ones
        like.name = have.name;
        like.wanted = have.wanted;
        like.minimum = have.minimum;
        merged = like == have && same->roles[k] == d.roles[i];
        if (merged) {
          if (have.wanted >= max_tasks) c.fail(*d.at, "too many pods", "at most " + std::to_string(max_tasks));
          ++have.wanted;
          ++have.minimum;
          add_runs(*same, k, runs_of(d, i));
        }
      }
      if (merged) continue;
      g.name = free_name(same->job, g.name);
      same->job.groups.push_back(std::move(g));
      same->roles.push_back(std::move(d.roles[i]));
      add_runs(*same, same->job.groups.size() - 1, runs_of(d, i));
    }
    for (auto& a : d.job.assumptions) same->job.assumptions.push_back(std::move(a));
  }
  drafts = std::move(out);
}

/// Controllers whose pods belong to one PodGroup are one gang, named as the group.
inline void join_controllers(draft& from, draft& to, const std::string& name) {
  for (std::size_t i = 0; i < from.job.groups.size(); ++i) {
    from.job.groups[i].name = free_name(to.job, from.job.name);
    to.job.groups.push_back(std::move(from.job.groups[i]));
    to.roles.push_back(std::move(from.roles[i]));
    add_runs(to, to.job.groups.size() - 1, runs_of(from, i));
  }
  for (auto& a : from.job.assumptions) to.job.assumptions.push_back(std::move(a));
  to.runs_somewhere += from.runs_somewhere;
  to.job.name = name;
  from.job.groups.clear();
}

/// The pods of one of Kueue's plain groups: all of them start together, and they say how many there are.
/// Source: pkg/controller/jobs/pod of Kueue 0.19 (pod_webhook.go, pod_controller.go).
inline void settle_group_total(const context& c, draft& d, std::uint32_t ended) {
  if (d.group_total == 0) return;
  std::uint64_t have = ended;
  for (const auto& g : d.job.groups) have += g.wanted;
  const std::string who =
      "the group " + io_text::quoted(d.pod_group) + " of " + std::to_string(d.group_total) + " pods";
  if (have > d.group_total)
    c.fail(*d.total_at, std::to_string(have) + " pods of " + who, "no more pods than the group has");
  if (have == d.group_total) return;
  if (d.job.groups.size() > 1)
    c.fail(*d.total_at, std::to_string(have) + " pods of " + who + ", which ask for unlike amounts",
           "all pods of the group in the file");
  c.assume(d.job, *d.at,
           "of " + who + " " + std::to_string(have) + " stand in the file; the others are taken to be equal");
  d.job.groups[0].wanted = d.job.groups[0].minimum = d.group_total - ended;
}

/// A minimum that the pods themselves state (Koordinator, scheduler plugins) rather than a PodGroup.
inline void settle_noted_minimum(const context& c, draft& d) {
  const json_value* metadata = c.object(d.at, "metadata");
  if (const auto* spec = c.object(d.at, "spec"); !d.single_pods && spec != nullptr)
    if (const auto* pod = c.object(spec, "template")) metadata = c.object(pod, "metadata");
  for (const char* key :
       {"gang.scheduling.koordinator.sh/min-available", "pod-group.scheduling.sigs.k8s.io/min-available"})
    if (const auto n = c.noted_tasks(metadata, key)) {
      std::uint64_t have = 0;
      for (const auto& g : d.job.groups) have += g.wanted;
      const auto total = c.noted_tasks(metadata, "gang.scheduling.koordinator.sh/total-number");
      if (d.single_pods && d.job.groups.size() == 1 && have < (total ? *total : *n)) {
        c.assume(d.job, *d.at,
                 "of a gang of " + std::to_string(total ? *total : *n) + " pods " + std::to_string(have) +
                     " stand in the file; the others are taken to be equal");
        d.job.groups[0].wanted = total ? *total : *n;
      }
      settle_minimum(c, *d.at, *n, d.job);
      return;
    }
}

}  // namespace berth::kube_job
