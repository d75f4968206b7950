#pragma once
/// \file
/// OpenPAI's job files, HiveD's job requests, and Frameworks of the framework controller.
///
/// Sources: OpenPAI's job protocol 2 (`protocolVersion: 2`, taskRoles, extras.hivedScheduler, extras.gangAllocation);
/// `example/request` of microsoft/hivedscheduler; `frameworkcontroller.microsoft.com/v1`.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/job/kubernetes/context.hpp"
#include "berth/io/job/kubernetes/controllers.hpp"
#include "berth/io/job/kubernetes/hived.hpp"
#include "berth/io/job/kubernetes/pod.hpp"

namespace berth::kube_job {

/// Puts a role's group into the gang of its affinity group; roles without one start pod by pod.
inline void join_affinity(const draft& base, draft role, const std::string& affinity, std::vector<draft>& gangs) {
  auto& g = role.job.groups.front();
  if (affinity.empty()) g.minimum = 1;
  const std::string name = affinity.empty() ? base.job.name + "/" + g.name : affinity;
  for (auto& d : gangs)
    if (!affinity.empty() && d.job.name == name) {
      g.name = free_name(d.job, g.name);
      d.job.groups.push_back(std::move(g));
      d.roles.emplace_back();
      return;
    }
  role.job.name = name;
  role.pod_group.clear();
  gangs.push_back(std::move(role));
}
/// One gang that holds everything is named as the job.
inline void settle_names(const std::string& name, std::vector<draft>& gangs, std::vector<draft>& out) {
  if (gangs.size() == 1) gangs.front().job.name = name;
  for (auto& g : gangs) out.push_back(std::move(g));
}

/// A Framework: each role's pods belong to HiveD's affinity group, or, without HiveD, to the whole.
inline void read_framework(const context& c, const kube_object& o, std::vector<draft>& out) {
  const draft base = begin(c, o);
  const json_value& roles =
      c.needed(c.needed(*o.value, "spec", json_value::kind::object), "taskRoles", json_value::kind::array);
  std::vector<draft> gangs;
  for (const auto& r : roles.items) {
    draft role = base;
    group_spec g;
    g.name = c.text(&r, "name");
    g.wanted = g.minimum = c.tasks(&r, "taskNumber", 1).value_or(1);
    add_group(c, c.needed(c.needed(r, "task", json_value::kind::object), "pod", json_value::kind::object), std::move(g),
              role);
    const bool hived = !c.annotation(c.object(c.object(c.object(&r, "task"), "pod"), "metadata"),
                                     "hivedscheduler.microsoft.com/pod-scheduling-spec")
                            .empty();
    const std::string affinity = hived ? role.affinity : base.job.name;
    join_affinity(base, std::move(role), affinity, gangs);
  }
  if (gangs.empty()) c.fail(roles, "a Framework without task roles", "at least one");
  settle_names(base.job.name, gangs, out);
}

/// HiveD's request of a user: `jobVC`, `taskRoles` by name.
inline void read_hived_request(const context& c, const kube_object& o, std::vector<draft>& out) {
  draft base;
  base.at = o.value;
  base.job.name = c.text(o.value, "jobName");
  base.job.queue = c.text(o.value, "jobVC");
  base.job.priority_class = c.text(o.value, "jobPriorityClass");
  const json_value& roles = c.needed(*o.value, "taskRoles", json_value::kind::object);
  std::vector<draft> gangs;
  for (std::size_t i = 0; i < roles.keys.size(); ++i) {
    const json_value& r = roles.items[i];
    if (r.type != json_value::kind::object) c.fail(r, r.described(), "taskNumber and cells of a role");
    draft role = base;
    group_spec g;
    g.name = roles.keys[i];
    g.wanted = g.minimum = c.tasks(&r, "taskNumber", 1).value_or(1);
    put_cells(c, r, r, g);
    role.job.groups.push_back(std::move(g));
    role.roles.emplace_back();
    const std::string affinity = c.text(&r, "affinityGroupName");
    join_affinity(base, std::move(role), affinity.empty() ? "" : base.job.name + "/" + affinity, gangs);
  }
  if (gangs.empty()) c.fail(roles, "a request without task roles", "at least one");
  for (auto& g : gangs)
    c.assume(g.job, *o.value, "the request says cells, not CPUs and memory; none of these are asked for");
  settle_names(base.job.name, gangs, out);
}

/// A job file of OpenPAI.
[[nodiscard]] inline draft read_openpai(const context& c, const kube_object& o) {
  draft d;
  d.at = o.value;
  d.job.name = c.text(o.value, "name");
  d.job.queue = c.text(c.object(o.value, "defaults"), "virtualCluster");
  const auto* extras = c.object(o.value, "extras");
  const auto* hived = c.object(extras, "hivedScheduler");
  d.job.priority_class = c.text(hived, "jobPriorityClass");
  const bool gang = c.flag(extras, "gangAllocation", true);
  const json_value& roles = c.needed(*o.value, "taskRoles", json_value::kind::object);
  for (std::size_t i = 0; i < roles.keys.size(); ++i) {
    const json_value& r = roles.items[i];
    if (r.type != json_value::kind::object) c.fail(r, r.described(), "instances and resourcePerInstance of a role");
    group_spec g;
    g.name = roles.keys[i];
    g.wanted = c.tasks(&r, "instances", 1).value_or(1);
    g.minimum = gang ? g.wanted : 1;
    const auto* per = c.object(&r, "resourcePerInstance");
    if (const auto* cpu = per == nullptr ? nullptr : per->find("cpu")) g.cpu = c.need(c.in().cpus(*cpu, "cpu"));
    if (const auto mb = c.integer(per, "memoryMB", 0, io_text::max_memory >> 20)) g.memory = mebibytes(*mb);
    if (const auto n = c.tasks(per, "gpu")) g.gpus = *n;
    if (const auto* sku = c.object(c.object(hived, "taskRoles"), g.name)) {
      std::string type = c.text(sku, "skuType");
      if (type.empty()) type = c.text(sku, "gpuType");
      g.gpu_model = type;
      if (std::string pinned = c.text(sku, "pinnedCellId"); !pinned.empty())
        g.labels.push_back("hivedscheduler.microsoft.com/pinned-cell=" + pinned);
    }
    d.job.groups.push_back(std::move(g));
    d.roles.emplace_back();
  }
  if (d.job.groups.empty()) c.fail(roles, "a job without task roles", "at least one");
  return d;
}

/// Gangs of HiveD whose pods stand alone in the file: the affinity group says how many there are of which size.
inline void complete_affinity(const context& c, draft& d) {
  if (d.members.empty()) return;
  const std::vector<group_spec> seen = std::move(d.job.groups);
  std::vector<std::uint32_t> runs(d.members.size(), 0);
  for (std::size_t s = 0; s < seen.size() && s < d.runs.size(); ++s)
    for (std::size_t m = 0; m < d.members.size(); ++m)
      if (d.members[m].second == seen[s].gpus) {
        runs[m] += d.runs[s];
        break;
      }
  d.runs = std::move(runs);
  d.job.groups.clear();
  for (const auto& [pods, cells] : d.members) {
    const group_spec* like = nullptr;
    for (const auto& s : seen)
      if (like == nullptr && s.gpus == cells) like = &s;
    group_spec g = like != nullptr ? *like : seen.front();
    if (like == nullptr) {
      c.assume(d.job, *d.at,
               "no pod of " + std::to_string(cells) +
                   " cells is in the file; it is taken to have the "
                   "CPUs and memory of another, by cell");
      const std::uint32_t of = g.gpus == 0 ? 1 : g.gpus;
      g.cpu = cpu_millis{g.cpu.count() / of * cells};
      g.memory = bytes{g.memory.count() / of * cells};
      g.gpus = cells;
      if (g.cpu.count() > io_text::max_cpus * 1000 || g.memory.count() > io_text::max_memory)
        c.fail(*d.at, "members with more than any machine has", "smaller cells");
    }
    g.wanted = g.minimum = pods;
    g.name = free_name(d.job, d.members.size() == 1 ? "pods" : "pods-of-" + std::to_string(cells));
    d.job.groups.push_back(std::move(g));
  }
  d.roles.assign(d.job.groups.size(), "");
  d.job.name = d.affinity;
}

}  // namespace berth::kube_job
