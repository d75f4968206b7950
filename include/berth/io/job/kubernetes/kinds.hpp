#pragma once
/// \file
/// As what an object of a Kubernetes file is read, if it asks for anything. Needs nlohmann-json.

#include <string>

#include "berth/io/job/kubernetes/kubeflow.hpp"
#include "berth/io/kubernetes/documents.hpp"

namespace berth::kube_job {

/// How an object is read.
enum class reading_as {
  nothing,
  pod,
  batch_job,
  cron_job,
  replicas,
  jobset,
  lws,
  workload,
  volcano_job,
  training_job,
  train_job,
  ray,
  framework,
  hived_request,
  openpai,
  extender,
  spark,
  app_wrapper,
  pod_group
};

[[nodiscard]] inline reading_as kind_of(const kube_object& o) noexcept {
  const json_value* spec = o.value->find("spec");
  if (o.kind.empty()) {
    if (const auto* roles = o.value->find("taskRoles"); roles != nullptr && roles->type == json_value::kind::object)
      return o.value->find("jobVC") != nullptr ? reading_as::hived_request : reading_as::openpai;
    const auto* pod = o.value->find("Pod");
    if (pod == nullptr) pod = o.value->find("pod");
    if (pod != nullptr && pod->type == json_value::kind::object) return reading_as::extender;
    return reading_as::nothing;
  }
  if (o.kind == "Pod") return reading_as::pod;
  if (o.kind == "Job")
    return o.group.find("volcano") != std::string::npos ? reading_as::volcano_job : reading_as::batch_job;
  if (o.kind == "JobTemplate" && o.group.find("volcano") != std::string::npos) return reading_as::volcano_job;
  if (o.kind == "CronJob") return reading_as::cron_job;
  if (o.kind == "SparkApplication") return reading_as::spark;
  if (o.kind == "AppWrapper") return reading_as::app_wrapper;
  if (o.kind == "JobSet") return reading_as::jobset;
  if (o.kind == "LeaderWorkerSet") return reading_as::lws;
  if (o.kind == "Workload" && o.group.find("kueue") != std::string::npos) return reading_as::workload;
  if (o.kind == "TrainJob") return reading_as::train_job;
  if (o.kind == "RayCluster" || o.kind == "RayJob" || o.kind == "RayCronJob" || o.kind == "RayService")
    return reading_as::ray;
  if (o.kind == "Framework") return reading_as::framework;
  if (o.kind == "PodGroup") return reading_as::pod_group;
  if (spec == nullptr || spec->type != json_value::kind::object) return reading_as::nothing;
  if (replica_specs(spec) != nullptr) return reading_as::training_job;
  // Daemon sets run on every node and are no gang.
  const auto* pod = spec->find("template");
  if (pod == nullptr) pod = spec->find("podTemplate");
  const auto* inner = pod == nullptr || o.kind == "DaemonSet" ? nullptr : pod->find("spec");
  return inner != nullptr && inner->find("containers") != nullptr ? reading_as::replicas : reading_as::nothing;
}

}  // namespace berth::kube_job
