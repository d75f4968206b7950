#pragma once
/// \file
/// Volcano's Job, and PodGroups of Volcano, KAI and the scheduler plugins (also Koordinator's).
///
/// Sources: `batch.volcano.sh/v1alpha1` and `scheduling.volcano.sh/v1beta1` of volcano.sh/apis, with the defaults of
/// its webhooks (a task's minAvailable is its replicas, a job's the sum; where a job's is below that sum only the job's
/// counts); `scheduling.run.ai/v2alpha2` of KAI; `scheduling.x-k8s.io/v1alpha1` and `scheduling.sigs.k8s.io/v1alpha1`.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/job/kubernetes/context.hpp"
#include "berth/io/job/kubernetes/controllers.hpp"
#include "berth/io/job/kubernetes/pod.hpp"
#include "berth/io/job/kubernetes/pod_fields.hpp"

namespace berth::kube_job {

/// `networkTopology`: mode hard (default) or soft, and the widest tier that is allowed.
[[nodiscard]] inline group_locality volcano_locality(const context& c, const json_value* t) {
  group_locality out;
  if (t == nullptr) return out;
  const std::string mode = c.text(t, "mode");
  if (!mode.empty() && mode != "hard" && mode != "soft") c.fail(*t, "mode: " + io_text::quoted(mode), "hard or soft");
  const auto tier = c.integer(t, "highestTierAllowed", 1, 255);
  placed_word level = c.text(t, "highestTierName");
  if (level.empty() && tier) level = {"tier " + std::to_string(*tier), t->find("highestTierAllowed")->line};
  if (level.empty() && mode != "soft") level = {"tier 1", t->line};
  (mode == "soft" ? out.prefer : out.within) = level;
  return out;
}

inline void hold_job(job_spec& job, const group_locality& own) {
  if (!own.within.empty()) {
    job.where = locality::required;
    job.level = own.within;
    job.prefer = own.prefer;
  } else if (!own.prefer.empty()) {
    job.where = locality::preferred;
    job.level = own.prefer;
  }
}

/// Settles a minimum over all groups: as the groups' own where that says the same.
inline void settle_minimum(const context& c, const json_value& at, std::uint64_t minimum, job_spec& job) {
  std::uint64_t total = 0;
  for (const auto& g : job.groups) total += g.wanted;
  if (minimum > total)
    c.fail(at, "a minimum of " + std::to_string(minimum) + " of " + std::to_string(total) + " pods",
           "a minimum of at most the number of pods");
  if (job.groups.size() == 1) {
    job.groups[0].minimum = static_cast<std::uint32_t>(minimum);
  } else if (minimum == total) {
    for (auto& g : job.groups) g.minimum = g.wanted;
  } else {
    for (auto& g : job.groups) g.minimum = g.own.segments ? g.wanted / g.own.segments->count : 1;
    job.minimum = static_cast<std::uint32_t>(minimum);
  }
}

[[nodiscard]] inline draft read_volcano_job(const context& c, const kube_object& o, const json_value& spec) {
  draft d = begin(c, o);
  if (std::string q = c.text(&spec, "queue"); !q.empty()) d.job.queue = q;
  d.job.priority_class = c.text(&spec, "priorityClassName");
  refuse_misspelt(c, &spec, volcano_job_fields, "a Job's spec");
  const json_value& tasks = c.needed(spec, "tasks", json_value::kind::array);
  std::uint64_t least = 0;
  for (const auto& t : tasks.items) {
    group_spec g;
    refuse_misspelt(c, &t, volcano_task_fields, "a task");
    g.name = c.text(&t, "name");
    g.wanted = c.tasks(&t, "replicas").value_or(1);
    if (g.name.empty()) g.name = "default" + std::to_string(d.job.groups.size());
    if (g.wanted == 0) {
      c.assume(d.job, t, "the task " + io_text::quoted(g.name) + " has no replicas and is left out");
      continue;
    }
    const auto own = c.tasks(&t, "minAvailable");
    if (own && *own > g.wanted)
      c.fail(t, "minAvailable: " + std::to_string(*own) + " of " + std::to_string(g.wanted) + " replicas",
             "at most the replicas");
    const std::uint32_t minimum = own.value_or(g.wanted);
    least += minimum;
    g.minimum = minimum == 0 ? 1 : minimum;
    if (minimum == 0)
      c.assume(d.job, t, "the task " + io_text::quoted(g.name) + " may be absent; it is asked for with at least 1 pod");
    if (const auto* after = c.object(&t, "dependsOn"))
      if (const auto* names = c.array(after, "name"))
        for (const auto& n : names->items) g.after.push_back(scalar_text(n));
    if (const auto* part = c.object(&t, "partitionPolicy")) {
      const auto count = c.tasks(part, "totalPartitions", 1);
      const auto size = c.tasks(part, "partitionSize", 1);
      if (!count || !size || std::uint64_t{*count} * *size != g.wanted)
        c.fail(*part, "partitions that are not the replicas", "totalPartitions times partitionSize equal to replicas");
      const auto where = volcano_locality(c, c.object(part, "networkTopology"));
      if (!where.within.empty()) g.own.segments = segment_spec{*count, where.within, segment_layout::free};
      else if (!where.prefer.empty()) c.assume(d.job, *part, "a soft topology of partitions does not bind the placer");
    }
    using kind = given_label::kind;
    const bool named = !o.name.empty() && o.kind == "Job";  // those of a CronJob are made up
    d.given = {{"volcano.sh/job-name", named ? o.name : "", named ? kind::known : kind::unknown},
               {"volcano.sh/job-namespace", d.space},
               {"volcano.sh/queue-name", d.job.queue.empty() ? "default" : d.job.queue},
               {"volcano.sh/task-spec", g.name},
               {"volcano.sh/task-index", "", kind::varying}};
    add_group(c, pod_template(c, t), std::move(g), d);
  }
  if (d.job.groups.empty()) c.none(tasks, "a Job without pods", "a task with replicas");
  const auto minimum = c.integer(&spec, "minAvailable", 0, max_tasks);
  if (minimum && *minimum != 0) {
    std::uint64_t total = 0;
    for (const auto& g : d.job.groups) total += g.wanted;
    const auto all = static_cast<std::uint64_t>(*minimum);
    if (all > total)
      c.fail(spec, "minAvailable: " + std::to_string(all) + " of " + std::to_string(total) + " replicas",
             "at most the replicas");
    // Below the sum of the tasks' own only the job's counts; above it, both.
    if (all < least || d.job.groups.size() == 1) settle_minimum(c, spec, all, d.job);
    else if (all == total)
      for (auto& g : d.job.groups) g.minimum = g.wanted;
    else if (all > least) d.job.minimum = static_cast<std::uint32_t>(all);
  }
  hold_job(d.job, volcano_locality(c, c.object(&spec, "networkTopology")));
  return d;
}

/// What a PodGroup says of the job whose pods belong to it.
inline void apply_pod_group(const context& c, const kube_object& o, draft& d) {
  const auto* spec = c.object(o.value, "spec");
  refuse_misspelt(c, spec, pod_group_fields, "a PodGroup's spec");
  const auto* metadata = c.object(o.value, "metadata");
  if (std::string q = c.text(spec, "queue"); !q.empty()) d.job.queue = q;
  else if (q = queue_of(c, metadata); !q.empty()) d.job.queue = q;
  if (std::string p = c.text(spec, "priorityClassName"); !p.empty()) d.job.priority_class = p;
  auto minimum = c.tasks(spec, "minMember", 1);
  if (!minimum) minimum = c.tasks(c.object(c.object(spec, "schedulingPolicy"), "gang"), "minCount", 1);  // Kubernetes'
  if (const auto few = c.tasks(spec, "minSubGroup", 1))
    if (const auto* roles = c.array(spec, "subGroups"); roles != nullptr && *few < roles->items.size())
      c.assume(d.job, *roles, "at least " + std::to_string(*few) + " of the subgroups would do; all are asked for");
  hold_job(d.job, volcano_locality(c, c.object(spec, "networkTopology")));
  if (const auto* t = c.object(spec, "topologyConstraint")) {
    group_locality own;
    own.within = c.text(t, "requiredTopologyLevel");
    own.prefer = c.text(t, "preferredTopologyLevel");
    hold_job(d.job, own);
  }
  put_koordinator_topology(c, metadata, d.job);
  bool by_role = false;
  if (const auto* roles = c.array(spec, "subGroups"))
    for (const auto& r : roles->items) {
      const std::string name = c.text(&r, "name");
      const auto least = c.tasks(&r, "minMember", 1);
      const auto* t = c.object(&r, "topologyConstraint");
      std::vector<std::size_t> of_role;
      for (std::size_t i = 0; i < d.job.groups.size(); ++i)
        if (d.roles[i] == name) of_role.push_back(i);
      bool inner = false;  // has subgroups of its own instead of pods
      for (const auto& other : roles->items) inner = inner || c.text(&other, "parent") == name;
      if (inner) {
        if (t != nullptr)
          c.fail(*t, "a topology constraint of a subgroup with subgroups",
                 "one of the PodGroup or of subgroups with pods");
        continue;
      }
      if (of_role.empty())
        c.fail(r, "subgroup " + io_text::quoted(name) + " without pods in the file",
               "pods with the label kai.scheduler/subgroup-name");
      if (of_role.size() > 1)
        c.fail(r, "subgroup " + io_text::quoted(name) + " of unlike pods", "pods that ask the same");
      auto& g = d.job.groups[of_role[0]];
      if (least) {
        if (*least > g.wanted)
          c.fail(r, "minMember: " + std::to_string(*least) + " of " + std::to_string(g.wanted) + " pods",
                 "at most the pods of the subgroup");
        g.minimum = *least;
        by_role = true;
      }
      if (t == nullptr) continue;
      if (placed_word v = c.text(t, "requiredTopologyLevel"); !v.empty()) g.own.within = v;
      if (placed_word v = c.text(t, "preferredTopologyLevel"); !v.empty()) g.own.prefer = v;
    }
  if (minimum) {
    std::uint64_t sum = 0;
    for (const auto& g : d.job.groups) sum += g.minimum;
    if (!by_role || *minimum != sum) settle_minimum(c, *o.value, *minimum, d.job);
  }
}

}  // namespace berth::kube_job
