#pragma once
/// \file
/// Objects that others of the same file have made: the pods of a Job, the Jobs of a JobSet, the ReplicaSet of a
/// Deployment, Kueue's Workload of any of them. They are part of what made them and ask for nothing besides; their pods
/// that run are counted there. Needs nlohmann-json.
///
/// An object names its maker in `metadata.ownerReferences` (the one with `controller: true`; Workloads of pod groups
/// have none such and name the pods). Pods of a Job that lost them still have its name as a label
/// (batch.kubernetes.io/job-name, formerly job-name). What a CronJob makes stands for itself: the CronJob will make
/// more. Source: meta/v1 OwnerReference and batch/v1 of Kubernetes 1.33.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "berth/io/job/kubernetes/context.hpp"
#include "berth/io/job/kubernetes/kinds.hpp"
#include "berth/io/job/kubernetes/pod.hpp"
#include "berth/io/job/kubernetes/running.hpp"

namespace berth::kube_job {

/// Whether a pod has ended: it holds nothing and asks for nothing any more.
[[nodiscard]] inline bool is_ended_pod(const context& c, const kube_object& o) {
  if (o.kind != "Pod") return false;
  const std::string phase = c.text(c.object(o.value, "status"), "phase");
  return phase == "Succeeded" || phase == "Failed";
}

/// Whether a pod is being deleted: it holds what it has until it is gone, no scheduler places it any more, and who made
/// it makes another one in its place.
[[nodiscard]] inline bool is_leaving_pod(const context& c, const kube_object& o) {
  return o.kind == "Pod" && !c.text(c.object(o.value, "metadata"), "deletionTimestamp").empty();
}

/// Whether a job has ended, as its status says; then it asks for nothing any more.
/// Sources: JobCondition of batch/v1 and kubeflow.org/v1, JobSet v1alpha2, TrainJob v1alpha1, Workload of Kueue,
/// JobPhase of Volcano, JobDeploymentStatus of KubeRay, ApplicationState of the Spark operator, AppWrapperPhase,
/// Framework v1.
[[nodiscard]] inline bool has_ended(const context& c, const kube_object& o) {
  const reading_as how = kind_of(o);
  const auto* status = c.object(o.value, "status");
  const auto any = [](const std::string& word, std::string_view words) {
    return !word.empty() && io_text::is_word_of(word, words);
  };
  switch (how) {
    case reading_as::batch_job: {
      const auto completions = c.tasks(c.object(o.value, "spec"), "completions"), done = c.tasks(status, "succeeded");
      if (completions && done && *completions != 0 && *done >= *completions) return true;
      break;
    }
    case reading_as::jobset:
    case reading_as::train_job:
    case reading_as::training_job:
    case reading_as::workload:
      break;
    case reading_as::volcano_job:
      return any(c.text(c.object(status, "state"), "phase"), "Completed Failed Terminated");
    case reading_as::ray:
      return any(c.text(status, "jobDeploymentStatus"), "Complete Failed") ||
             any(c.text(status, "jobStatus"), "SUCCEEDED FAILED STOPPED");
    case reading_as::spark:
      return any(c.text(c.object(status, "applicationState"), "state"), "COMPLETED FAILED");
    case reading_as::app_wrapper:
      return any(c.text(status, "phase"), "Succeeded Failed");
    case reading_as::framework:
      return c.text(status, "state") == "Completed";
    default:
      return false;
  }
  if (const auto* all = c.array(status, "conditions"))
    for (const auto& one : all->items)
      if (any(c.text(&one, "type"), how == reading_as::workload ? "Finished" : "Complete Completed Succeeded Failed") &&
          c.text(&one, "status") == "True")
        return true;
  return false;
}

/// The pods and other objects of a file that belong to objects of it.
class pods_of_owners {
 public:
  explicit pods_of_owners(const context& c) : c_{c} {
    for (const auto& o : c.file().objects) {
      const reading_as how = kind_of(o);
      if (how == reading_as::nothing || how == reading_as::pod_group || how == reading_as::cron_job || o.name.empty())
        continue;
      known_.emplace(key{o.kind, o.space(), o.name}, &o);
    }
  }

  /// Whether another object of the file has made this one; then it is that one's, and is not read by itself.
  [[nodiscard]] bool take(const kube_object& o) {
    const kube_object* top = top_of(o);
    if (top == nullptr) return false;
    if (o.kind == "Pod") pods_.emplace_back(top, &o);
    if (o.kind == "PodGroup") pod_groups_.emplace_back(top, &o);
    return true;
  }
  /// The gangs that an object became, by number. Where it is several, a pod is of the one with the name of its maker.
  void made(const kube_object& o, std::size_t first, std::size_t last) {
    if (last > first) gangs_[&o] = {first, last};
  }
  /// Gives every pod to the gang of its owner.
  void settle(std::vector<draft>& drafts) {
    for (const auto& [owner, pod] : pods_) {
      const auto* metadata = c_.object(pod->value, "metadata");
      const auto* spec = c_.object(pod->value, "spec");
      const std::string named = pod_group_of(c_, metadata, spec);
      std::string group = pod->space() + "/" + named;
      const auto of = gangs_.find(owner);
      if (of == gangs_.end()) {  // has ended
        groups_.insert(std::move(group));
        continue;
      }
      draft* d = gang_of(*pod, of->second, drafts);
      if (d == nullptr) {
        if (!c_.text(spec, "nodeName").empty() && !is_ended_pod(c_, *pod) && !is_leaving_pod(c_, *pod))
          for (std::size_t i = of->second.first; i < of->second.second; ++i)
            c_.assume(drafts[i].job, *drafts[i].at,
                      "some pods of " + owner->described() + " run already; of which of its gangs is not known");
        continue;
      }
      if (d->pod_group.empty()) d->pod_group = named;
      groups_.insert(std::move(group));
      if (is_ended_pod(c_, *pod) || is_leaving_pod(c_, *pod)) continue;
      const auto part = part_of(*d, metadata);
      if (part && d->roles[*part].empty()) d->roles[*part] = c_.label(metadata, "kai.scheduler/subgroup-name");
      if (c_.text(spec, "nodeName").empty()) continue;
      if (part) add_runs(*d, *part, 1);
      else ++d->runs_somewhere;
    }
    // A PodGroup that a controller made is that of its pods, also where none of them is in the file.
    for (const auto& [owner, group] : pod_groups_) {
      const auto of = gangs_.find(owner);
      if (of != gangs_.end() && of->second.second == of->second.first + 1 && drafts[of->second.first].pod_group.empty())
        drafts[of->second.first].pod_group = group->name;
      groups_.insert(group->space() + "/" + group->name);
    }
  }
  /// Whether some pod of an owner belongs to that PodGroup.
  [[nodiscard]] bool knows_group(const kube_object& group) const {
    return groups_.contains(group.space() + "/" + group.name);
  }

 private:
  using key = std::tuple<std::string, std::string, std::string>;  // kind, namespace, name

  [[nodiscard]] const kube_object* find(const std::string& kind, const kube_object& beside,
                                        const std::string& name) const {
    const auto it = known_.find(key{kind, beside.space(), name});
    return it == known_.end() || it->second == &beside ? nullptr : it->second;
  }
  /// What made the object, if it is in the file.
  [[nodiscard]] const kube_object* maker_of(const kube_object& o) const {
    const auto* metadata = c_.object(o.value, "metadata");
    if (const auto* all = c_.array(metadata, "ownerReferences"); all != nullptr && !all->items.empty()) {
      for (const auto& r : all->items)
        if (c_.flag(&r, "controller") || o.kind == "Workload")
          if (const auto* by = find(c_.text(&r, "kind"), o, c_.text(&r, "name"))) return by;
      return nullptr;
    }
    if (o.kind == "Pod")
      for (const char* label : {"batch.kubernetes.io/job-name", "job-name"})
        if (const std::string name = c_.label(metadata, label); !name.empty()) return find("Job", o, name);
    return nullptr;
  }
  /// The outermost of the objects that made it; null for none, and for objects that made each other.
  [[nodiscard]] const kube_object* top_of(const kube_object& o) const {
    const kube_object* top = nullptr;
    std::size_t steps = 0;
    for (const auto* by = maker_of(o); by != nullptr; by = maker_of(*by)) {
      if (++steps > 16) return nullptr;
      top = by;
    }
    return top;
  }
  [[nodiscard]] draft* gang_of(const kube_object& pod, const std::pair<std::size_t, std::size_t>& of,
                               std::vector<draft>& drafts) const {
    if (of.second == of.first + 1) return &drafts[of.first];
    const auto* by = maker_of(pod);
    for (std::size_t i = of.first; i < of.second; ++i)
      if (by != nullptr && drafts[i].job.name == by->name) return &drafts[i];
    return nullptr;
  }
  /// Which group of the gang a pod is of, as the labels of its controller say.
  [[nodiscard]] std::optional<std::size_t> part_of(const draft& d, const json_value* metadata) const {
    if (d.job.groups.size() == 1) return 0;
    for (const char* label :
         {"jobset.sigs.k8s.io/replicatedjob-name", "training.kubeflow.org/replica-type", "volcano.sh/task-spec",
          "ray.io/group", "training.kubeflow.org/job-role", "spark-role", "leaderworkerset.sigs.k8s.io/worker-index"}) {
      std::string name = c_.label(metadata, label);
      if (name == "headgroup") name = "head";
      if (std::string_view{label}.ends_with("worker-index") && !name.empty()) name = name == "0" ? "leader" : "worker";
      for (std::size_t i = 0; i < d.job.groups.size(); ++i)
        if (!name.empty() && io_text::equal_nocase(d.job.groups[i].name, name)) return i;
    }
    return std::nullopt;
  }

  const context& c_;
  std::map<key, const kube_object*> known_;
  std::vector<std::pair<const kube_object*, const kube_object*>> pods_;  // owner, pod
  std::vector<std::pair<const kube_object*, const kube_object*>> pod_groups_;
  std::map<const kube_object*, std::pair<std::size_t, std::size_t>> gangs_;  // looked up only
  std::set<std::string> groups_;
};

}  // namespace berth::kube_job
