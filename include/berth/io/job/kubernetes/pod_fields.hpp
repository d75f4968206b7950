#pragma once
/// \file
/// Members that objects have, so that a misspelt one is no silent change of meaning. The API server refuses an unknown
/// member of a pod; berth refuses one that is nearly a known one, and says that it does not read any other.
///
/// Sources: PodSpec, Container and what they hold in Kubernetes' core/v1 of 1.34 (and schedulingGroup, which came
/// later); batch/v1, apps/v1; `batch.volcano.sh/v1alpha1`; PodGroups of Volcano, KAI, Koordinator and the scheduler
/// plugins; RayCluster of `ray.io/v1`; LeaderWorkerSet of `leaderworkerset.x-k8s.io/v1`.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "berth/io/job/kubernetes/context.hpp"
#include "berth/io/unknown_key.hpp"

namespace berth::kube_job {

/// Calls `f(key, value)` for the members of an object that are not among `known`. One that is nearly a known one is a
/// fault. \param v  may be null \param of  whose members
template <class F>
void each_unknown(const context& c, const json_value* v, std::string_view known, std::string_view of, F f) {
  if (v == nullptr || v->type != json_value::kind::object) return;
  for (std::size_t i = 0; i < v->keys.size(); ++i) {
    if (io_text::is_word_of(v->keys[i], known)) continue;
    if (auto fault = io_text::misspelt_key(c.in().source(), v->items[i].line, v->keys[i], known, of))
      throw job_fault{std::move(*fault)};
    f(v->keys[i], v->items[i]);
  }
}
/// Refuses misspelt members, and leaves others alone.
inline void refuse_misspelt(const context& c, const json_value* v, std::string_view known, std::string_view of) {
  each_unknown(c, v, known, of, [](const std::string&, const json_value&) {});
}

namespace pod_fields_detail {

inline constexpr std::string_view pod = "apiVersion kind metadata spec status";
inline constexpr std::string_view spec =
    "activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy enableServiceLinks "
    "ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride imagePullSecrets "
    "initContainers nodeName nodeSelector os overhead preemptionPolicy priority priorityClassName readinessGates "
    "resourceClaims resources restartPolicy runtimeClassName schedulerName schedulingGates schedulingGroup "
    "securityContext serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain "
    "terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes workloadRef";
inline constexpr std::string_view container =
    "args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe resizePolicy "
    "resources restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce terminationMessagePath "
    "terminationMessagePolicy tty volumeDevices volumeMounts workingDir";
inline constexpr std::string_view resources = "claims limits requests";
inline constexpr std::string_view affinity = "nodeAffinity podAffinity podAntiAffinity";
inline constexpr std::string_view terms =
    "preferredDuringSchedulingIgnoredDuringExecution requiredDuringSchedulingIgnoredDuringExecution";
inline constexpr std::string_view node_term = "matchExpressions matchFields";
inline constexpr std::string_view pod_term =
    "labelSelector matchLabelKeys mismatchLabelKeys namespaceSelector namespaces topologyKey";
inline constexpr std::string_view selector = "matchExpressions matchLabels";
inline constexpr std::string_view spread =
    "labelSelector matchLabelKeys maxSkew minDomains nodeAffinityPolicy nodeTaintsPolicy topologyKey whenUnsatisfiable";
inline constexpr std::string_view toleration = "effect key operator tolerationSeconds value";

struct walk {
  const context& c;
  job_spec& job;

  /// The members of one object: near misses are faults, others are said.
  void members(const json_value* v, std::string_view known, std::string_view of) const {
    each_unknown(c, v, known, of, [&](const std::string& key, const json_value& value) {
      c.assume(job, value, "unknown key " + io_text::quoted(key) + " of " + std::string{of} + " is not read");
    });
  }
  template <class F>
  void each(const json_value* v, std::string_view key, F f) const {
    if (const auto* list = c.array(v, key))
      for (const auto& i : list->items) f(i);
  }
  void containers(const json_value& of, const char* key) const {
    each(&of, key, [&](const json_value& k) {
      members(&k, container, "a container");
      members(c.object(&k, "resources"), resources, "resources");
      const std::string policy = c.text(&k, "restartPolicy");
      if (!policy.empty() && policy != "Always" && policy != "OnFailure" && policy != "Never")
        c.fail(*k.find("restartPolicy"), "restartPolicy: " + io_text::quoted(policy), "Always, OnFailure or Never");
    });
  }
  void term_of_pods(const json_value* term) const {
    members(term, pod_term, "an affinity term");
    members(c.object(term, "labelSelector"), selector, "a labelSelector");
  }
  void affinities(const json_value* all) const {
    members(all, affinity, "affinity");
    for (const char* key : {"nodeAffinity", "podAffinity", "podAntiAffinity"}) members(c.object(all, key), terms, key);
    const auto* nodes = c.object(all, "nodeAffinity");
    const auto* required = c.object(nodes, "requiredDuringSchedulingIgnoredDuringExecution");
    members(required, "nodeSelectorTerms", "a node selector");
    each(required, "nodeSelectorTerms", [&](const json_value& t) { members(&t, node_term, "a node selector term"); });
    for (const char* key : {"podAffinity", "podAntiAffinity"}) {
      const auto* pods = c.object(all, key);
      each(pods, "requiredDuringSchedulingIgnoredDuringExecution", [&](const json_value& t) { term_of_pods(&t); });
      each(pods, "preferredDuringSchedulingIgnoredDuringExecution", [&](const json_value& t) {
        members(&t, "podAffinityTerm weight", "a preferred affinity term");
        term_of_pods(c.object(&t, "podAffinityTerm"));
      });
    }
  }
};

}  // namespace pod_fields_detail

/// Looks at the members of a pod or pod template as far as they say what it asks for and where it may be.
inline void check_pod_fields(const context& c, const json_value& pod, job_spec& job) {
  namespace known = pod_fields_detail;
  const known::walk w{c, job};
  w.members(&pod, known::pod, "a pod");
  const auto* spec = c.object(&pod, "spec");
  if (spec == nullptr) return;
  w.members(spec, known::spec, "a pod's spec");
  w.containers(*spec, "containers");
  w.containers(*spec, "initContainers");
  w.members(c.object(spec, "resources"), known::resources, "resources");
  w.affinities(c.object(spec, "affinity"));
  w.each(spec, "topologySpreadConstraints", [&](const json_value& t) {
    w.members(&t, known::spread, "a spread constraint");
    w.members(c.object(&t, "labelSelector"), known::selector, "a labelSelector");
  });
  w.each(spec, "tolerations", [&](const json_value& t) { w.members(&t, known::toleration, "a toleration"); });
}

/// Members of the specs of controllers.
inline constexpr std::string_view job_fields =
    "activeDeadlineSeconds backoffLimit backoffLimitPerIndex completionMode completions managedBy manualSelector "
    "maxFailedIndexes parallelism podFailurePolicy podReplacementPolicy selector successPolicy suspend template "
    "ttlSecondsAfterFinished";
inline constexpr std::string_view replica_fields =
    "minReadySeconds ordinals paused persistentVolumeClaimRetentionPolicy podManagementPolicy progressDeadlineSeconds "
    "replicas revisionHistoryLimit selector serviceName strategy template updateStrategy volumeClaimTemplates";
inline constexpr std::string_view volcano_job_fields =
    "maxRetry minAvailable minSuccess networkTopology plugins policies priorityClassName queue runningEstimate "
    "schedulerName tasks ttlSecondsAfterFinished volumes";
inline constexpr std::string_view volcano_task_fields =
    "dependsOn maxRetry minAvailable name partitionPolicy policies replicas template topologyPolicy";
inline constexpr std::string_view pod_group_fields =
    "markUnschedulable minMember minResources minSubGroup minTaskMember networkTopology parentGroup preemptibility "
    "priorityClassName queue scheduleTimeoutSeconds schedulingBackoff schedulingPolicy subGroupPolicy subGroups "
    "topologyConstraint";
inline constexpr std::string_view role_fields = "replicas restartPolicy template";
inline constexpr std::string_view ray_cluster_fields =
    "authOptions autoscalerOptions enableInTreeAutoscaling gcsFaultToleranceOptions headGroupSpec "
    "headServiceAnnotations historyServerOptions managedBy networkPolicy rayVersion suspend tlsOptions upgradeStrategy "
    "workerGroupSpecs";
inline constexpr std::string_view ray_worker_fields =
    "groupName idleTimeoutSeconds labels maxReplicas minReplicas numOfHosts priority rayStartParams replicas resources "
    "scaleStrategy suspend template";
inline constexpr std::string_view lws_fields =
    "leaderWorkerTemplate networkConfig replicas rolloutStrategy startupPolicy";
inline constexpr std::string_view lws_template_fields =
    "leaderTemplate persistentVolumeClaimRetentionPolicy restartPolicy size subGroupPolicy volumeClaimTemplates "
    "workerTemplate";

}  // namespace berth::kube_job
