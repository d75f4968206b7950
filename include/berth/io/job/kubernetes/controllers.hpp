#pragma once
/// \file
/// Kubernetes' own controllers (Job, CronJob, Deployment, StatefulSet, ReplicaSet, Pod), JobSet, LeaderWorkerSet and
/// Kueue's Workload as jobs.
///
/// Sources: `batch/v1`, `apps/v1`, `jobset.x-k8s.io/v1alpha2`, `leaderworkerset.x-k8s.io/v1`, `kueue.x-k8s.io/v1beta1`.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "berth/io/job/kubernetes/context.hpp"
#include "berth/io/job/kubernetes/pod.hpp"
#include "berth/io/job/kubernetes/pod_fields.hpp"

namespace berth::kube_job {

/// A draft with what every object says: its name, queue, and where its annotations put it.
[[nodiscard]] inline draft begin(const context& c, const kube_object& o) {
  draft d;
  d.at = o.value;
  const auto* metadata = c.object(o.value, "metadata");
  d.job.name = !o.name.empty() ? o.name : c.text(metadata, "generateName");
  if (d.job.name.empty()) d.job.name = io_text::lower(o.kind.empty() ? "job" : o.kind);
  if (std::string space = c.text(metadata, "namespace"); !space.empty()) d.space = space;
  remark_on_keys(c, metadata, d.job);
  d.job.queue = queue_of(c, metadata);
  for (const char* key : {"kueue.x-k8s.io/priority-class", "priorityClassName"})
    if (std::string v = c.label(metadata, key); !v.empty()) d.job.priority_class = v;
  const auto kai = kai_locality(c, metadata);
  if (!kai.within.empty()) {
    d.job.where = locality::required;
    d.job.level = kai.within;
    d.job.prefer = kai.prefer;
  } else if (!kai.prefer.empty()) {
    d.job.where = locality::preferred;
    d.job.level = kai.prefer;
  }
  return d;
}

/// Parallelism of a `batch/v1` Job: never more pods at a time than completions are left to do. \param status  null for
/// a template
[[nodiscard]] inline std::uint32_t parallelism_of(const context& c, const json_value& spec,
                                                  const json_value* status = nullptr) {
  const std::uint32_t p = c.tasks(&spec, "parallelism").value_or(1), done = c.tasks(status, "succeeded").value_or(0);
  const auto completions = c.tasks(&spec, "completions");
  if (!completions) {  // a queue of work: once a pod has succeeded no other is made
    const std::uint32_t active = c.tasks(status, "active").value_or(0);
    return done != 0 && active < p ? active : p;
  }
  const std::uint32_t left = *completions > done ? *completions - done : 0;
  return left < p ? left : p;
}

/// Labels of the pods of a Job. \param name  "" where it is made up when the Job is
[[nodiscard]] inline std::vector<given_label> labels_of_job(const std::string& name) {
  using kind = given_label::kind;
  const kind named = name.empty() ? kind::unknown : kind::known;
  return {{"job-name", name, named},
          {"batch.kubernetes.io/job-name", name, named},
          {"controller-uid", "", kind::unknown},
          {"batch.kubernetes.io/controller-uid", "", kind::unknown},
          {"batch.kubernetes.io/job-completion-index", "", kind::varying}};
}

/// A cron job that is suspended makes no jobs: `spec.suspend` of the CronJob of batch/v1 and of Volcano, and of
/// RayCronJob. (A Job that is suspended waits for its queue, which is what is asked about, and is asked for.)
inline void refuse_suspended(const context& c, const json_value& spec) {
  if (c.flag(&spec, "suspend")) c.none(spec, "suspend: true", "a cron job that is not suspended");
}

[[nodiscard]] inline draft read_batch_job(const context& c, const kube_object& o, const json_value& job_object) {
  draft d = begin(c, o);
  const json_value& spec = c.needed(job_object, "spec", json_value::kind::object);
  refuse_misspelt(c, &spec, job_fields, "a Job's spec");
  group_spec g;
  g.name = "pods";
  g.wanted = parallelism_of(c, spec, c.object(&job_object, "status"));
  if (g.wanted == 0) c.none(spec, "a Job of 0 pods", "parallelism and completions of at least 1");
  g.minimum = g.wanted;
  const auto* metadata = c.object(&job_object, "metadata");
  const json_value& pod = pod_template(c, spec);
  if (d.job.queue.empty()) d.job.queue = queue_of(c, metadata);
  const auto least = c.noted_tasks(metadata, "kai.scheduler/batch-min-member");
  const auto kueue = c.noted_tasks(metadata, "kueue.x-k8s.io/job-min-parallelism");
  if (least || kueue) {
    g.minimum = least ? *least : *kueue;
    if (g.minimum > g.wanted)
      c.fail(job_object, "a minimum of " + std::to_string(g.minimum) + " of " + std::to_string(g.wanted) + " pods",
             "a minimum of at most the number of pods");
  } else if (c.text(c.object(&pod, "spec"), "schedulerName") == "kai-scheduler" &&
             c.annotation(metadata, "kai.scheduler/skip-podgrouper").empty()) {
    g.minimum = 1;  // KAI starts the pods of a Job one by one unless told otherwise
  }
  if (const auto s = c.integer(&spec, "activeDeadlineSeconds", 1, std::int64_t{1} << 40))
    d.job.seconds = static_cast<std::uint64_t>(*s);
  d.given = labels_of_job(o.kind == "CronJob" ? "" : o.name);
  add_group(c, pod, std::move(g), d);
  return d;
}

/// Deployment, StatefulSet, ReplicaSet and whatever else has `spec.replicas` and `spec.template`.
[[nodiscard]] inline draft read_replicas(const context& c, const kube_object& o, bool known) {
  draft d = begin(c, o);
  const json_value& spec = c.needed(*o.value, "spec", json_value::kind::object);
  if (known) refuse_misspelt(c, &spec, replica_fields, "the spec of a " + o.kind);
  const json_value* pod = c.object(&spec, "template");
  if (pod == nullptr) pod = &c.needed(spec, "podTemplate", json_value::kind::object);
  group_spec g;
  g.name = "pods";
  g.wanted = c.tasks(&spec, "replicas").value_or(1);
  if (g.wanted == 0) c.none(spec, "0 replicas", "at least 1");
  g.minimum = 1;  // its pods start one by one
  using kind = given_label::kind;
  if (o.kind == "StatefulSet")
    d.given = {{"controller-revision-hash", "", kind::unknown},
               {"apps.kubernetes.io/pod-index", "", kind::varying},
               {"statefulset.kubernetes.io/pod-name", "", kind::varying}};
  else d.given = {{"pod-template-hash", "", kind::unknown}};
  if (!known) c.assume(d.job, *o.value, "kind " + o.kind + " is read as " + std::to_string(g.wanted) + " equal pods");
  add_group(c, *pod, std::move(g), d);
  return d;
}

[[nodiscard]] inline draft read_pod(const context& c, const kube_object& o, const json_value& pod) {
  draft d = begin(c, o);
  group_spec g;
  g.name = "pod";
  d.single_pods = true;
  add_group(c, pod, std::move(g), d);
  const auto* metadata = c.object(&pod, "metadata");
  put_group_total(c, metadata, d);
  put_koordinator_topology(c, metadata, d.job);
  return d;
}

/// JobSet's exclusive placement: every child job alone in a domain.
inline void put_exclusive(const context& c, const json_value* metadata, std::uint32_t replicas, job_spec& job,
                          group_spec& g) {
  const placed_word level = c.annotation(metadata, "alpha.jobset.sigs.k8s.io/exclusive-topology");
  if (level.empty()) return;
  g.own.segments = segment_spec{replicas, level, segment_layout::spread};
  job.exclusive_domain = true;
}

/// Labels of the pods of a replicated job of a JobSet. \param replicas  child jobs
[[nodiscard]] inline std::vector<given_label> labels_of_child(const std::string& jobset, const std::string& name,
                                                              std::uint32_t replicas) {
  using kind = given_label::kind;
  auto out = labels_of_job(replicas == 1 && !jobset.empty() ? jobset + "-" + name + "-0" : "");
  const kind one = replicas == 1 ? kind::unknown : kind::varying;
  if (replicas > 1)
    for (auto& l : out) l.what = kind::varying;
  const std::string prefix = "jobset.sigs.k8s.io/";
  out.push_back({prefix + "jobset-name", jobset, jobset.empty() ? kind::unknown : kind::known});
  out.push_back({prefix + "jobset-uid", "", kind::unknown});
  out.push_back({prefix + "replicatedjob-name", name});
  out.push_back({prefix + "replicatedjob-replicas", std::to_string(replicas)});
  for (const char* word : {"job-index", "job-key", "job-global-index", "group-index"})
    out.push_back({prefix + word, "", one});
  return out;
}

/// Groups of the child jobs of a JobSet. \param nodes tasks of the job named `trainer` instead of its own; 0 to keep
inline void add_replicated_jobs(const context& c, const json_value& spec, const json_value* metadata, draft& d) {
  const json_value& jobs = c.needed(spec, "replicatedJobs", json_value::kind::array);
  const bool in_order = c.text(c.object(&spec, "startupPolicy"), "startupPolicyOrder") == "InOrder";
  std::string before;
  for (const auto& r : jobs.items) {
    const std::string name = c.text(&r, "name");
    const json_value& job = c.needed(r, "template", json_value::kind::object);
    const json_value& job_spec_value = c.needed(job, "spec", json_value::kind::object);
    refuse_misspelt(c, &r, "dependsOn groupName name replicas template", "a replicated job");
    refuse_misspelt(c, &job_spec_value, job_fields, "a Job's spec");
    const std::uint32_t replicas = c.tasks(&r, "replicas").value_or(1);
    const std::uint32_t each = parallelism_of(c, job_spec_value);
    if (replicas == 0 || each == 0) {
      c.assume(d.job, r, "the replicated job " + io_text::quoted(name) + " has no pods and is left out");
      continue;
    }
    group_spec g;
    g.name = name;
    g.wanted = g.minimum = c.product(r, replicas, each);
    put_exclusive(c, metadata, replicas, d.job, g);
    put_exclusive(c, c.object(&job, "metadata"), replicas, d.job, g);
    if (const auto* after = c.array(&r, "dependsOn"))
      for (const auto& a : after->items) {
        const std::string other = c.text(&a, "name");
        bool known = false;
        for (const auto& have : d.job.groups) known = known || have.name == other;
        if (!known)
          c.fail(a, "dependsOn " + io_text::quoted(other) + ", which is no replicated job before this one",
                 "the name of one");
        g.after.push_back(other);
      }
    else if (in_order && !before.empty()) g.after.push_back(before);
    d.given = labels_of_child(d.job_set, name, replicas);
    add_group(c, pod_template(c, job_spec_value), std::move(g), d, each);
    before = d.job.groups.back().name;
  }
  if (d.job.groups.empty()) c.none(jobs, "a JobSet without pods", "a replicated job");
}

[[nodiscard]] inline draft read_jobset(const context& c, const kube_object& o) {
  draft d = begin(c, o);
  d.job_set = o.name;
  add_replicated_jobs(c, c.needed(*o.value, "spec", json_value::kind::object), c.object(o.value, "metadata"), d);
  return d;
}

/// A LeaderWorkerSet: so many equal groups of pods, each whole or not at all, of which one at least starts.
[[nodiscard]] inline draft read_lws(const context& c, const kube_object& o) {
  draft d = begin(c, o);
  const auto* metadata = c.object(o.value, "metadata");
  const json_value& spec = c.needed(*o.value, "spec", json_value::kind::object);
  refuse_misspelt(c, &spec, lws_fields, "the spec of a LeaderWorkerSet");
  const json_value& lw = c.needed(spec, "leaderWorkerTemplate", json_value::kind::object);
  refuse_misspelt(c, &lw, lws_template_fields, "a leaderWorkerTemplate");
  const json_value& worker = c.needed(lw, "workerTemplate", json_value::kind::object);
  const json_value* leader = c.object(&lw, "leaderTemplate");
  const std::uint32_t replicas = c.tasks(&spec, "replicas").value_or(1);
  const std::uint32_t size = c.tasks(&lw, "size", 1).value_or(1);
  if (replicas == 0) c.none(spec, "0 replicas", "at least 1");
  using kind = given_label::kind;
  const std::string prefix = "leaderworkerset.sigs.k8s.io/";
  const kind one = replicas == 1 ? kind::unknown : kind::varying;
  d.given = {{prefix + "name", o.name, o.name.empty() ? kind::unknown : kind::known},
             {prefix + "template-revision-hash", "", kind::unknown},
             {prefix + "group-index", "", one},
             {prefix + "group-key", "", one},
             {prefix + "worker-index", "", kind::varying},
             {prefix + "subgroup-index", "", kind::varying},
             {prefix + "subgroup-key", "", kind::varying}};
  if (leader != nullptr) {
    group_spec g;
    g.name = "leader";
    g.wanted = replicas;
    g.minimum = 1;
    add_group(c, *leader, std::move(g), d);
  }
  if (leader == nullptr || size > 1) {
    group_spec g;
    g.name = leader == nullptr ? "pods" : "worker";
    const std::uint32_t each = leader == nullptr ? size : size - 1;
    g.wanted = c.product(lw, replicas, each);
    g.minimum = each;
    add_group(c, worker, std::move(g), d);
  }
  // What leader and workers say of themselves holds for the group of both.
  group_locality own = d.job.groups.front().own;
  for (auto& g : d.job.groups) {
    if (!(g.own == own)) {
      if (d.job.groups.size() == 2 && (own == group_locality{} || g.own == group_locality{}))
        c.assume(d.job, lw, "what the leader or the worker template says about topology is taken for the whole group");
      else c.fail(lw, "leader and worker with unlike topology requests", "the same for both");
      if (own == group_locality{}) own = g.own;
    }
  }
  for (auto& g : d.job.groups) g.own = {};
  constexpr const char* exclusive = "leaderworkerset.sigs.k8s.io/exclusive-topology";
  const placed_word level = c.annotation(metadata, exclusive);
  const placed_word part_level = c.annotation(metadata, "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology");
  if (!part_level.empty()) {
    const auto part = c.tasks(c.object(&lw, "subGroupPolicy"), "subGroupSize", 1);
    if (!part || leader != nullptr || size % *part != 0)
      c.fail(lw, "subgroup-exclusive-topology with this subGroupPolicy or with a leader of its own",
             "a subGroupSize that divides size, and one template");
    if (!level.empty() && replicas > 1)
      c.fail(lw, "exclusive topology for groups and for their subgroups", "one of them, or one replica");
    d.job.segments = segment_spec{c.product(lw, replicas, size / *part), part_level, segment_layout::spread};
    d.job.exclusive_domain = true;
    if (!level.empty()) d.job.where = locality::required, d.job.level = level;
  } else if (!level.empty()) {
    d.job.segments = segment_spec{replicas, level, segment_layout::spread};
    d.job.exclusive_domain = true;
  } else if (!own.within.empty() && !own.segments) {
    d.job.segments = segment_spec{replicas, own.within, segment_layout::free};
  } else if (own.segments || !own.prefer.empty()) {
    // A wish, or slices, of each replica: replicas are equal jobs.
    for (auto& g : d.job.groups) g.wanted /= replicas, g.minimum = g.wanted;
    d.job.copies = replicas;
    d.job.where = !own.within.empty()   ? locality::required
                  : !own.prefer.empty() ? locality::preferred
                                        : locality::unconstrained;
    d.job.level = own.within.empty() ? own.prefer : own.within;
    if (own.segments) {
      if (own.segments->count % replicas != 0)
        c.fail(lw, "slices that do not divide a replica", "a podset-slice-size that divides size");
      own.segments->count /= replicas;
      d.job.segments = own.segments;
    }
  } else if (replicas > 1) {
    d.job.segments = segment_spec{replicas, "cluster", segment_layout::free};
  }
  if (d.job.segments && d.job.segments->level == "kubernetes.io/hostname" && size == 1) d.job.segments.reset();
  return d;
}

/// Kueue's Workload: what it admits, as pod sets.
[[nodiscard]] inline draft read_workload(const context& c, const kube_object& o) {
  draft d = begin(c, o);
  const json_value& spec = c.needed(*o.value, "spec", json_value::kind::object);
  if (std::string q = c.text(&spec, "queueName"); !q.empty()) d.job.queue = q;
  d.job.priority_class = c.text(&spec, "priorityClassName");
  if (const auto* ref = c.object(&spec, "priorityClassRef"); ref != nullptr && d.job.priority_class.empty())
    d.job.priority_class = c.text(ref, "name");
  constexpr std::int64_t most = std::int64_t{1} << 40;
  d.job.priority = c.integer(&spec, "priority", -most, most);
  if (const auto s = c.integer(&spec, "maximumExecutionTimeSeconds", 1, most))
    d.job.seconds = static_cast<std::uint64_t>(*s);
  const json_value& sets = c.needed(spec, "podSets", json_value::kind::array);
  std::string shared_group;
  bool all_shared = true;
  for (const auto& s : sets.items) {
    group_spec g;
    g.name = c.text(&s, "name");
    g.wanted = c.tasks(&s, "count").value_or(1);
    if (g.wanted == 0) {
      c.assume(d.job, s, "the pod set " + io_text::quoted(g.name) + " has no pods and is left out");
      continue;
    }
    g.minimum = c.tasks(&s, "minCount", 1).value_or(g.wanted);
    const auto* request = c.object(&s, "topologyRequest");
    const std::string group = c.text(request, "podSetGroupName");
    all_shared = all_shared && !group.empty() && (shared_group.empty() || shared_group == group);
    if (!group.empty()) shared_group = group;
    add_group(c, c.needed(s, "template", json_value::kind::object), std::move(g), d);
    auto& added = d.job.groups.back();
    if (placed_word v = c.text(request, "required"); !v.empty()) added.own.within = v;
    if (placed_word v = c.text(request, "preferred"); !v.empty()) added.own.prefer = v;
    if (placed_word v = c.text(request, "podSetSliceRequiredTopology"); !v.empty()) {
      const auto n = c.tasks(request, "podSetSliceSize", 1);
      if (!n || added.wanted % *n != 0)
        c.fail(*request, "podSetSliceRequiredTopology without a podSetSliceSize that divides the pods evenly", "one");
      added.own.segments = segment_spec{added.wanted / *n, v, segment_layout::free};
    }
  }
  const auto* status = c.object(o.value, "status");
  if (const auto* all = c.array(status, "conditions"))
    for (const auto& one : all->items)
      if (c.text(&one, "type") == "Admitted" && c.text(&one, "status") == "True")
        c.assume(d.job, *o.value, "Kueue has admitted it already; it is asked for as if it had not");
  if (!c.flag(&spec, "active", true))
    c.assume(d.job, *o.value, "it is not active, so that Kueue would not admit it; it is asked for all the same");
  if (d.job.groups.empty()) c.none(sets, "a Workload without pods", "a pod set");
  d.one_pod_set = all_shared;
  return d;
}

}  // namespace berth::kube_job
