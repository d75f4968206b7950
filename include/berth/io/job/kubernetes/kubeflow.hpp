#pragma once
/// \file
/// Kubeflow's training jobs: PyTorchJob, TFJob, MPIJob, XGBoostJob, PaddleJob, JAXJob, MXJob, and TrainJob with its
/// TrainingRuntime or ClusterTrainingRuntime.
///
/// Sources: `kubeflow.org/v1` and `kubeflow.org/v2beta1` of kubeflow/training-operator and kubeflow/mpi-operator,
/// `trainer.kubeflow.org/v1alpha1` of kubeflow/trainer.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "berth/io/job/kubernetes/context.hpp"
#include "berth/io/job/kubernetes/controllers.hpp"
#include "berth/io/job/kubernetes/pod.hpp"
#include "berth/io/job/kubernetes/pod_fields.hpp"
#include "berth/io/job/kubernetes/volcano.hpp"

namespace berth::kube_job {

/// The mapping of roles of a training job: `pytorchReplicaSpecs`, `tfReplicaSpecs`, …; null when there is none.
[[nodiscard]] inline const json_value* replica_specs(const json_value* spec) noexcept {
  if (spec == nullptr) return nullptr;
  for (std::size_t i = 0; i < spec->keys.size(); ++i)
    if (spec->keys[i].ends_with("ReplicaSpecs") && spec->items[i].type == json_value::kind::object)
      return &spec->items[i];
  return nullptr;
}

[[nodiscard]] inline draft read_training_job(const context& c, const kube_object& o) {
  draft d = begin(c, o);
  const json_value& spec = c.needed(*o.value, "spec", json_value::kind::object);
  const auto* roles = replica_specs(&spec);
  if (roles == nullptr) c.fail(spec, "no ReplicaSpecs", "the roles of the job, such as pytorchReplicaSpecs");
  const auto* elastic = c.object(&spec, "elasticPolicy");
  for (std::size_t i = 0; i < roles->keys.size(); ++i) {
    const json_value& role = roles->items[i];
    if (role.type != json_value::kind::object) c.fail(role, role.described(), "replicas and template of a role");
    refuse_misspelt(c, &role, role_fields, "a role");
    group_spec g;
    g.name = io_text::lower(roles->keys[i]);
    g.wanted = c.tasks(&role, "replicas").value_or(1);
    if (g.wanted == 0) {
      c.assume(d.job, role, "the role " + io_text::quoted(g.name) + " has no replicas and is left out");
      continue;
    }
    g.minimum = g.wanted;
    if (elastic != nullptr && g.name == "worker") {
      const auto least = c.tasks(elastic, "minReplicas", 1), most = c.tasks(elastic, "maxReplicas", 1);
      if (least) {
        if (*least > g.wanted)
          c.fail(*elastic, "minReplicas: " + std::to_string(*least) + " of " + std::to_string(g.wanted) + " replicas",
                 "at most the replicas");
        g.minimum = *least;
      }
      if (most) {
        if (*most < g.wanted)
          c.fail(*elastic, "maxReplicas: " + std::to_string(*most) + " of " + std::to_string(g.wanted) + " replicas",
                 "at least the replicas");
        g.most = *most;
      }
    }
    using kind = given_label::kind;
    const std::string prefix = "training.kubeflow.org/";
    d.given = {{prefix + "job-name", o.name, o.name.empty() ? kind::unknown : kind::known},
               {prefix + "replica-type", g.name},
               {prefix + "operator-name", io_text::lower(o.kind) + "-controller"},
               {prefix + "replica-index", "", kind::varying}};
    if (g.name == "master") d.given.push_back({prefix + "job-role", "master"});
    add_group(c, pod_template(c, role), std::move(g), d);
  }
  if (d.job.groups.empty()) c.none(*roles, "a job without pods", "a role with replicas");
  const auto* run = c.object(&spec, "runPolicy");
  if (run == nullptr) run = &spec;  // the first versions had its members here
  if (const auto s = c.integer(run, "activeDeadlineSeconds", 1, std::int64_t{1} << 40))
    d.job.seconds = static_cast<std::uint64_t>(*s);
  if (const auto* p = c.object(run, "schedulingPolicy")) {
    if (std::string q = c.text(p, "queue"); !q.empty()) d.job.queue = q;
    if (std::string v = c.text(p, "priorityClass"); !v.empty()) d.job.priority_class = v;
    if (const auto n = c.tasks(p, "minAvailable", 1)) settle_minimum(c, *p, *n, d.job);
  }
  return d;
}

/// The runtime's jobs with what the TrainJob sets: number of nodes and amounts per node of its trainer.
[[nodiscard]] inline draft read_train_job(const context& c, const kube_object& o) {
  draft d = begin(c, o);
  const json_value& spec = c.needed(*o.value, "spec", json_value::kind::object);
  const json_value& ref = c.needed(spec, "runtimeRef", json_value::kind::object);
  const std::string name = c.text(&ref, "name");
  std::string kind = c.text(&ref, "kind");
  if (kind.empty()) kind = "ClusterTrainingRuntime";
  const auto* runtime = c.find(kind, name, d.space);
  if (runtime == nullptr)
    c.lack(
        ref, kind + " " + io_text::quoted(name),
        "the runtime beside the TrainJob that uses it (kubectl get " + io_text::lower(kind) + " " + name + " -o yaml)");
  const json_value& body = c.needed(*runtime->value, "spec", json_value::kind::object);
  const json_value& jobset =
      c.needed(c.needed(body, "template", json_value::kind::object), "spec", json_value::kind::object);
  const auto* policy = c.object(&body, "mlPolicy");
  const auto* trainer = c.object(&spec, "trainer");
  const auto nodes = c.tasks(trainer, "numNodes", 1);
  const auto usual = c.tasks(policy, "numNodes", 1);
  const auto* mpi = c.object(policy, "mpi");
  const bool launcher_works = c.flag(mpi, "runLauncherAsNode");
  const json_value& jobs = c.needed(jobset, "replicatedJobs", json_value::kind::array);
  for (const auto& r : jobs.items) {
    const std::string job_name = c.text(&r, "name");
    const json_value& job = c.needed(r, "template", json_value::kind::object);
    const json_value& job_body = c.needed(job, "spec", json_value::kind::object);
    const std::string step = c.label(c.object(&job, "metadata"), "trainer.kubeflow.org/trainjob-ancestor-step");
    const bool node = job_name == "node" || (step == "trainer" && job_name != "launcher");
    const bool works = node || (step == "trainer" && (mpi == nullptr || launcher_works));
    group_spec g;
    g.name = job_name;
    const std::uint32_t replicas = c.tasks(&r, "replicas").value_or(1);
    std::uint32_t each = parallelism_of(c, job_body);
    if (node && (nodes || usual)) {
      each = nodes ? *nodes : *usual;
      if (launcher_works) --each;  // the launcher is one of the nodes
    }
    g.wanted = g.minimum = c.product(r, replicas, each);
    if (g.wanted == 0) {
      c.assume(d.job, r, "the replicated job " + io_text::quoted(job_name) + " has no pods and is left out");
      continue;
    }
    if (const auto* after = c.array(&r, "dependsOn"))
      for (const auto& a : after->items) g.after.push_back(c.text(&a, "name"));
    d.given = labels_of_child(o.name, job_name, replicas);
    add_group(c, pod_template(c, job_body), std::move(g), d, each);
    const auto* own = works ? c.object(trainer, "resourcesPerNode") : nullptr;
    if (own == nullptr) continue;
    auto& added = d.job.groups.back();
    group_spec amounts_only;
    put_amounts(c, *own, amounts_of(c, own), amounts_only);
    added.gpus = amounts_only.gpus;
    added.cpu = amounts_only.cpu;
    added.memory = amounts_only.memory;
    added.share = amounts_only.share;
    added.mig = std::move(amounts_only.mig);
    added.other = std::move(amounts_only.other);
  }
  if (d.job.groups.empty()) c.fail(jobs, "a runtime without pods", "a replicated job");
  if (const auto* v = c.object(c.object(&body, "podGroupPolicy"), "volcano"))
    hold_job(d.job, volcano_locality(c, c.object(v, "networkTopology")));
  for (const char* key : {"podTemplateOverrides", "podSpecOverrides"})
    if (const auto* list = c.array(&spec, key); list != nullptr && !list->items.empty())
      c.assume(d.job, *list, std::string{key} + " is not applied to the runtime's pods");
  return d;
}

}  // namespace berth::kube_job
