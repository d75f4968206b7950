#pragma once
/// \file
/// Every job of a Kubernetes file: Job, CronJob, Deployment, StatefulSet, ReplicaSet, Pod; JobSet, LeaderWorkerSet;
/// Kueue's Workload; Volcano's Job, CronJob and JobTemplate; Kubeflow's training jobs and TrainJob; RayCluster, RayJob,
/// RayCronJob, RayService; SparkApplication; what an AppWrapper wraps; PodGroups of Volcano, KAI, Koordinator and the
/// scheduler plugins with the pods that belong to them; Frameworks, HiveD's requests and OpenPAI's jobs; the pod of a
/// scheduler extender's request. Needs yaml-cpp and nlohmann-json.
///
/// Objects that are no jobs (queues, services, topologies, …) are left to other readers. What another object of the
/// file has made is part of that one (`owners.hpp`); of a job some of whose pods run, the others are asked for
/// (`running.hpp`).

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/job/kubernetes/context.hpp"
#include "berth/io/job/kubernetes/controllers.hpp"
#include "berth/io/job/kubernetes/kinds.hpp"
#include "berth/io/job/kubernetes/kubeflow.hpp"
#include "berth/io/job/kubernetes/owners.hpp"
#include "berth/io/job/kubernetes/pai.hpp"
#include "berth/io/job/kubernetes/pod.hpp"
#include "berth/io/job/kubernetes/pod_groups.hpp"
#include "berth/io/job/kubernetes/ray.hpp"
#include "berth/io/job/kubernetes/running.hpp"
#include "berth/io/job/kubernetes/spark.hpp"
#include "berth/io/job/kubernetes/volcano.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/kubernetes/documents.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/text_file.hpp"

namespace berth {

namespace kube_job {

inline void read_object(const context& c, const kube_object& o, std::vector<draft>& out);

/// The objects that an AppWrapper holds; its queue is theirs. Depth is bounded by that of the document.
inline void read_app_wrapper(const context& c, const kube_object& o, std::vector<draft>& out) {
  const json_value& spec = c.needed(*o.value, "spec", json_value::kind::object);
  const std::string queue = queue_of(c, c.object(o.value, "metadata"));
  for (const auto& part : c.needed(spec, "components", json_value::kind::array).items) {
    kube_object inner;
    inner.value = &c.needed(part, "template", json_value::kind::object);
    inner.kind = c.text(inner.value, "kind");
    const std::string api = c.text(inner.value, "apiVersion");
    inner.group = api.substr(0, api.find('/') == std::string::npos ? 0 : api.find('/'));
    inner.name = c.text(c.object(inner.value, "metadata"), "name");
    const std::size_t before = out.size();
    read_object(c, inner, out);
    for (std::size_t i = before; i < out.size(); ++i)
      if (out[i].job.queue.empty()) out[i].job.queue = queue;
  }
}

inline void read_object(const context& c, const kube_object& o, std::vector<draft>& out) {
  if (has_ended(c, o) || is_ended_pod(c, o))
    c.none(*o.value, o.described() + ", which has ended", "a job that still asks for something", "has ended");
  if (is_leaving_pod(c, o))
    c.none(*o.value, o.described() + ", which is being deleted", "a pod that stays", "is being deleted");
  switch (kind_of(o)) {
    case reading_as::nothing:
    case reading_as::pod_group:
      return;
    case reading_as::pod:
      return out.push_back(read_pod(c, o, *o.value));
    case reading_as::batch_job:
      return out.push_back(read_batch_job(c, o, *o.value));
    case reading_as::cron_job: {
      const json_value& spec = c.needed(*o.value, "spec", json_value::kind::object);
      refuse_suspended(c, spec);
      const json_value& job = c.needed(spec, "jobTemplate", json_value::kind::object);
      if (o.group.find("volcano") == std::string::npos) return out.push_back(read_batch_job(c, o, job));
      return out.push_back(read_volcano_job(c, o, c.needed(job, "spec", json_value::kind::object)));
    }
    case reading_as::spark:
      return out.push_back(read_spark(c, o));
    case reading_as::app_wrapper:
      return read_app_wrapper(c, o, out);
    case reading_as::replicas:
      return out.push_back(
          read_replicas(c, o, o.kind == "Deployment" || o.kind == "StatefulSet" || o.kind == "ReplicaSet"));
    case reading_as::jobset:
      return out.push_back(read_jobset(c, o));
    case reading_as::lws:
      return out.push_back(read_lws(c, o));
    case reading_as::workload:
      return out.push_back(read_workload(c, o));
    case reading_as::volcano_job:
      return out.push_back(read_volcano_job(c, o, c.needed(*o.value, "spec", json_value::kind::object)));
    case reading_as::training_job:
      return out.push_back(read_training_job(c, o));
    case reading_as::train_job:
      return out.push_back(read_train_job(c, o));
    case reading_as::ray:
      return read_ray(c, o, out);
    case reading_as::framework:
      return read_framework(c, o, out);
    case reading_as::hived_request:
      return read_hived_request(c, o, out);
    case reading_as::openpai:
      return out.push_back(read_openpai(c, o));
    case reading_as::extender: {
      const auto* pod = o.value->find("Pod");
      if (pod == nullptr) pod = o.value->find("pod");
      kube_object named = o;
      named.kind = "Pod";
      named.value = pod;
      named.name = c.text(c.object(pod, "metadata"), "name");
      return out.push_back(read_pod(c, named, *pod));
    }
  }
}

/// Rules about pods beside what the reader can keep with them: slices and exclusive domains count pods otherwise.
inline void settle_rules(const context& c, draft& d) {
  job_spec& job = d.job;
  std::size_t line = 0;
  bool any = false, sliced = job.segments.has_value();
  for (const auto& g : job.groups) {
    sliced = sliced || g.own.segments;
    for (const auto& s : g.spread)
      if (s.required || job.groups.size() == 1) any = true, line = line == 0 ? s.line.is : line;
  }
  if (!any || !sliced) return;
  if (job.segments && job.segments->level == "cluster") {
    job.segments.reset();
    for (auto& g : job.groups) g.minimum = g.wanted;
    if (job.groups[0].wanted > 1)
      c.assume(job, *d.at, "its pods are spread by rules; all replicas are asked for at once, though one would do");
    return;
  }
  json_value at;
  at.line = line;
  c.fail(at, "a rule about where pods lie to one another in a job of slices or with exclusive topology",
         "one of them: rules count pods, and slices are placed whole");
}

/// A locality that the only group states, or that groups which share one domain agree on, is that of the gang.
inline void hoist(draft& d) {
  job_spec& job = d.job;
  if (job.where != locality::unconstrained || job.segments) return;
  const group_locality own = job.groups.front().own;
  if (job.groups.size() > 1) {
    bool same = d.one_pod_set && !own.segments;
    for (const auto& g : job.groups) same = same && g.own == own;
    if (!same) return;
  }
  hold_job(job, own);
  job.segments = own.segments;
  for (auto& g : job.groups) g.own = {};
}

/// Objects of one kind that ask for nothing, for one reason.
struct left_out {
  const json_value* first = nullptr;
  std::size_t count = 0;
  std::string names;  // of the first three
};
using left_out_objects = std::map<std::pair<std::string, std::string>, left_out>;  // by kind and reason

inline void leave_out(left_out_objects& all, const kube_object& o, const std::string& why) {
  auto& one = all[{o.kind, why}];
  if (one.first == nullptr) one.first = o.value;
  if (++one.count <= 3) one.names += (one.count == 1 ? "" : ", ") + io_text::quoted(o.name);
}

/// Says of objects that were left out how many they are, once for each kind and reason.
inline void say_left_out(const context& c, const left_out_objects& all, job_spec& job) {
  for (const auto& [what, one] : all)
    c.assume(job, *one.first,
             std::to_string(one.count) + " of kind " + what.first + " (" + one.names + (one.count > 3 ? ", ..." : "") +
                 ") left out, as nothing is asked for: " + what.second);
}

}  // namespace kube_job

/// Whether the objects hold a job of any kind that `read_kubernetes_jobs` reads.
[[nodiscard]] inline bool has_kubernetes_jobs(const kube_documents& file) noexcept {
  for (const auto& o : file.objects)
    if (kube_job::kind_of(o) != kube_job::reading_as::nothing) return true;
  return false;
}

/// Reads every job of a file; objects that have ended or ask for no pods are counted by kind and reason in the
/// assumptions of the first job, and are an error where there is nothing else. What a job refers to (a training
/// runtime, a claim template) must be in the file or in one of those beside it; a job that lacks it is left out and
/// named there too, and is an error where no other job is left, or where it is a pod of a pod group. No job at all is
/// an error. O(bytes), of a gang, quadratic in its unlike pods.
/// \param beside  further files that may hold what jobs refer to
[[nodiscard]] inline expected<std::vector<job_spec>, input_error> kubernetes_jobs_of(
    const kube_documents& file, const std::vector<const kube_documents*>& beside = {}) {
  using namespace kube_job;
  const context c{file, beside};
  try {
    std::vector<draft> drafts;
    std::optional<input_error> none;  // the first object that asks for nothing
    left_out_objects idle;
    std::vector<std::pair<const kube_object*, input_error>> lacking;  // objects that lack what they refer to
    pods_of_owners owned{c};
    std::map<std::string, std::uint32_t> ended;  // pods by group
    for (const auto& o : file.objects) {
      if (is_ended_pod(c, o))
        ++ended[o.space() + "/" + pod_group_of(c, c.object(o.value, "metadata"), c.object(o.value, "spec"))];
      if (owned.take(o)) continue;
      const std::size_t before = drafts.size();
      try {
        read_object(c, o, drafts);
      } catch (nothing_asked& n) {
        leave_out(idle, o, n.why);
        if (!none) none = std::move(n.what);
        drafts.resize(before);
        continue;
      } catch (part_missing& m) {
        // A gang without one of its pods would be another gang.
        if (o.kind == "Pod" &&
            !pod_group_of(c, c.object(o.value, "metadata"), c.object(o.value, "spec")).empty())
          throw job_fault{std::move(m.what)};
        lacking.emplace_back(&o, std::move(m.what));
        drafts.resize(before);
        continue;
      }
      owned.made(o, before, drafts.size());
      if (drafts.size() > 100'000)
        return unexpected{input_error{file.source, o.value->line, "more than 100000 jobs", "a smaller file"}};
    }
    for (const auto* d : beside)
      for (const auto& o : d->objects)
        if (o.kind == "Pod") (void)owned.take(o);
    owned.settle(drafts);
    join_pods(c, drafts);
    for (auto& d : drafts)
      if (d.single_pods && !d.members.empty()) complete_affinity(c, d);
    std::map<std::string, std::vector<draft*>> grouped;
    for (auto& d : drafts)
      if (!d.pod_group.empty()) grouped[d.space + "/" + d.pod_group].push_back(&d);
    for (const auto& o : file.objects) {
      if (kind_of(o) != reading_as::pod_group) continue;
      draft* of = nullptr;
      for (auto* d : grouped[o.space() + "/" + o.name]) {
        if (d->pod_group != o.name || d->job.groups.empty()) continue;
        if (of == nullptr) of = d;
        else join_controllers(*d, *of, o.name);
      }
      // Its pods have ended, or a cluster has it still and no pods any more.
      if (of == nullptr && (owned.knows_group(o) || ended.contains(o.space() + "/" + o.name) ||
                            !c.text(c.object(o.value, "metadata"), "uid").empty()))
        continue;
      if (of == nullptr)
        c.fail(*o.value, "PodGroup " + io_text::quoted(o.name) + " without pods in the file",
               "the pods, or what makes them, with the name of the group");
      apply_pod_group(c, o, *of);
      if (of->single_pods) of->job.name = o.name;
      of->pod_group.clear();
    }
    std::vector<job_spec> out;
    for (auto& d : drafts) {
      if (d.job.groups.empty()) continue;  // joined to another
      settle_empty(c, d);
      settle_noted_minimum(c, d);
      if (d.single_pods) settle_group_total(c, d, ended[d.space + "/" + d.pod_group]);
      if (!d.pod_group.empty() && d.single_pods && d.members.empty()) {
        const json_value* metadata = c.object(d.at, "metadata");
        if (d.group_total == 0 && !c.noted_tasks(metadata, "gang.scheduling.koordinator.sh/min-available") &&
            !c.noted_tasks(metadata, "pod-group.scheduling.sigs.k8s.io/min-available"))
          c.assume(d.job, *d.at,
                   "the pod group " + io_text::quoted(d.pod_group) +
                       " is not in the file; all its pods here start together");
        if (d.job.groups.size() > 1 || d.job.groups[0].wanted > 1) d.job.name = d.pod_group;
      }
      settle_rules(c, d);
      hoist(d);
      settle_running(c, d);
      for (auto& g : d.job.groups)
        if (g.line.is == 0) g.line.is = d.at->line;
      if (auto f = fault_of(d.job))
        return unexpected{input_error{file.source, d.at->line, std::move(f->first), std::move(f->second)}};
      out.push_back(std::move(d.job));
    }
    if (!out.empty()) {
      for (const auto& [o, what] : lacking)
        c.assume(out.front(), *o->value,
                 o->described() + " is not asked for: line " + std::to_string(what.line) + " names " + what.found +
                     "; expected " + what.expected);
      say_left_out(c, idle, out.front());
      return out;
    }
    if (!lacking.empty()) return unexpected{std::move(lacking.front().second)};
    if (none) return unexpected{std::move(*none)};
    std::string kinds;
    for (const auto& o : file.objects)
      if (kinds.find(o.kind.empty() ? "no kind" : o.kind) == std::string::npos && kinds.size() < 200)
        kinds += (kinds.empty() ? "" : ", ") + (o.kind.empty() ? std::string{"no kind"} : o.kind);
    return unexpected{input_error{file.source, 0,
                                  "no job among the objects" + (kinds.empty() ? "" : " (" + kinds + ")"),
                                  "a Job, JobSet, Pod, PyTorchJob or another kind that makes pods"}};
  } catch (nothing_asked& f) {
    return unexpected{std::move(f.what)};
  } catch (job_fault& f) {
    return unexpected{std::move(f.what)};
  }
}

/// Reads every job of a Kubernetes file, YAML or JSON.
[[nodiscard]] inline expected<std::vector<job_spec>, input_error> read_kubernetes_jobs(
    const named_text& file, const reader_options& options = {}) {
  (void)options;
  const auto documents = read_kube_documents(file);
  if (!documents) return unexpected{documents.error()};
  return kubernetes_jobs_of(*documents);
}

}  // namespace berth
