#pragma once
/// \file
/// One pod (template) as a task group: amounts, node selection, affinity among its own pods, tolerations, priority, and
/// the annotations of Kueue, KAI and Koordinator that say where the pods of a group belong together.
///
/// Sources: Kubernetes' pod API; Kueue's topology-aware scheduling (kueue.x-k8s.io/podset-*); KAI's
/// kai.scheduler/topology-*; Koordinator's gang.scheduling.koordinator.sh/*.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/job/kubernetes/claims.hpp"
#include "berth/io/job/kubernetes/context.hpp"
#include "berth/io/job/kubernetes/hived.hpp"
#include "berth/io/job/kubernetes/known_keys.hpp"
#include "berth/io/job/kubernetes/pod_fields.hpp"
#include "berth/io/job/kubernetes/pod_rules.hpp"
#include "berth/io/job/kubernetes/resources.hpp"

namespace berth::kube_job {

/// Adds a condition of a node selector term. \return whether it could be added
inline void put_expression(const context& c, const json_value& e, group_spec& g) {
  const std::string key = c.text(&e, "key"), op = c.text(&e, "operator");
  if (key.empty()) c.fail(e, "a condition without key", "key, operator and values");
  std::vector<std::string> values;
  if (const auto* all = c.array(&e, "values"))
    for (const auto& v : all->items) values.push_back(key + "=" + scalar_text(v));
  if (op == "In" && values.size() == 1) g.labels.push_back(values.front());
  else if (op == "In" && !values.empty()) g.any_labels.push_back(std::move(values));
  else if (op == "NotIn" && !values.empty()) g.not_labels.insert(g.not_labels.end(), values.begin(), values.end());
  else if (op == "Exists") g.labels.push_back(key + "=*");
  else if (op == "DoesNotExist") g.not_labels.push_back(key + "=*");
  else if ((op == "Gt" || op == "Lt") && values.size() == 1)
    g.labels.push_back(key + (op == "Gt" ? ">" : "<") + values.front().substr(key.size() + 1));
  else c.fail(e, "operator: " + io_text::quoted(op), "In, NotIn, Exists, DoesNotExist, Gt or Lt, with its values");
}

inline void put_node_affinity(const context& c, const json_value& affinity, job_spec& job, group_spec& g) {
  const auto* required = c.object(&affinity, "requiredDuringSchedulingIgnoredDuringExecution");
  const auto* terms = c.array(required, "nodeSelectorTerms");
  if (terms != nullptr && terms->items.size() == 1) {
    if (const auto* all = c.array(&terms->items[0], "matchExpressions"))
      for (const auto& e : all->items) put_expression(c, e, g);
    if (const auto* all = c.array(&terms->items[0], "matchFields"))
      for (const auto& e : all->items) {
        const auto* values = c.array(&e, "values");
        if (c.text(&e, "key") != "metadata.name" || c.text(&e, "operator") != "In" || values == nullptr)
          c.fail(e, "a condition on a field", "metadata.name In [...]");
        for (const auto& v : values->items) g.only_nodes.push_back(scalar_text(v));
      }
  } else if (terms != nullptr && !terms->items.empty()) {
    // Terms are alternatives; they can be kept where each is one `In`.
    std::vector<std::string> choice;
    for (const auto& t : terms->items) {
      group_spec one;
      if (const auto* all = c.array(&t, "matchExpressions"))
        for (const auto& e : all->items) put_expression(c, e, one);
      if (!one.not_labels.empty() || one.labels.size() + one.any_labels.size() != 1)
        c.fail(t, "alternative terms with several conditions", "one term, or alternatives of one condition each");
      for (auto& l : one.labels) choice.push_back(std::move(l));
      for (auto& any : one.any_labels) choice.insert(choice.end(), any.begin(), any.end());
    }
    g.any_labels.push_back(std::move(choice));
  }
  if (const auto* soft = c.array(&affinity, "preferredDuringSchedulingIgnoredDuringExecution"))
    if (!soft->items.empty()) c.assume(job, *soft, "preferred nodes are read, but do not bind the placer");
}

/// What the pods of a template say about other pods.
inline void put_pod_rules(const context& c, const json_value* metadata, const json_value& spec, draft& d,
                          group_spec& g) {
  const own_labels own{c.object(metadata, "labels"), &d.given, d.space};
  pod_rules rules = read_pod_rules(c, spec, own, d.job);
  if (!rules.within.empty()) g.own.within = rules.within;
  if (!rules.prefer.empty()) g.own.prefer = rules.prefer;
  g.spread = rules.take();
  g.task_labels.is = labels_of(c, own);
}

inline void put_node_choice(const context& c, const json_value* metadata, const json_value& spec, draft& d,
                            group_spec& g) {
  job_spec& job = d.job;
  if (const auto* all = c.object(&spec, "nodeSelector"))
    for (const auto& key : all->keys) g.labels.push_back(key + "=" + c.text(all, key));
  if (const auto* a = c.object(c.object(&spec, "affinity"), "nodeAffinity")) put_node_affinity(c, *a, job, g);
  put_pod_rules(c, metadata, spec, d, g);
  if (const auto* all = c.array(&spec, "tolerations"))
    for (const auto& t : all->items) {
      const std::string key = c.text(&t, "key"), value = c.text(&t, "value"), effect = c.text(&t, "effect");
      const std::string op = c.text(&t, "operator");
      if (op != "" && op != "Equal" && op != "Exists") c.fail(t, "operator: " + io_text::quoted(op), "Equal or Exists");
      if (key.empty() && op != "Exists")
        c.fail(t, "a toleration without key", "a key, or operator: Exists for every taint");
      if (op == "Exists" && !value.empty())
        c.fail(t, "a toleration with a value and operator: Exists", "no value, or operator: Equal");
      if (!effect.empty() && effect != "NoSchedule" && effect != "NoExecute" && effect != "PreferNoSchedule")
        c.fail(t, "effect: " + io_text::quoted(effect), "NoSchedule, PreferNoSchedule or NoExecute");
      // Equal is the default, and an empty value is a value.
      g.tolerations.push_back((key.empty() ? "*" : key) + (op == "Exists" ? "" : "=" + value) +
                              (effect.empty() ? "" : ":" + effect));
    }
  if (std::string node = c.text(&spec, "nodeName"); !node.empty()) {
    if (d.single_pods) d.node = std::move(node), d.runs.assign(1, 1);
    else g.only_nodes.push_back(std::move(node));  // no scheduler is asked
  }
}

/// Where the annotations of a pod template put the pods of its group.
inline void put_topology_notes(const context& c, const json_value* metadata, std::uint32_t default_slice, job_spec& job,
                               group_spec& g) {
  const auto* notes = c.object(metadata, "annotations");
  if (notes == nullptr) return;
  const placed_word required = c.text(notes, "kueue.x-k8s.io/podset-required-topology");
  const placed_word preferred = c.text(notes, "kueue.x-k8s.io/podset-preferred-topology");
  if (!required.empty() && !preferred.empty())
    c.fail(*notes, "both podset-required-topology and podset-preferred-topology", "one of them");
  if (!required.empty()) g.own.within = required;
  if (!preferred.empty()) g.own.prefer = preferred;
  if (notes->find("kueue.x-k8s.io/podset-slice-required-topology-constraints") != nullptr)
    c.fail(*notes, "podset-slice-required-topology-constraints", "slices of one level");
  const placed_word slice = c.text(notes, "kueue.x-k8s.io/podset-slice-required-topology");
  const auto size = c.tasks(notes, "kueue.x-k8s.io/podset-slice-size", 1);
  if (!slice.empty()) {
    const std::uint32_t n = size ? *size : default_slice;
    if (n == 0) c.fail(*notes, "podset-slice-required-topology without podset-slice-size", "both");
    if (g.wanted % n != 0)
      c.fail(*notes, "slices of " + std::to_string(n) + " of " + std::to_string(g.wanted) + " pods",
             "a size that divides them evenly");
    g.own.segments = segment_spec{g.wanted / n, slice, segment_layout::free};
  } else if (size) {
    c.fail(*notes, "podset-slice-size without podset-slice-required-topology", "both");
  }
  (void)job;
}

/// KAI's annotations on a pod or on what owns it.
[[nodiscard]] inline group_locality kai_locality(const context& c, const json_value* metadata) {
  group_locality out;
  out.within = c.annotation(metadata, "kai.scheduler/topology-required-placement");
  out.prefer = c.annotation(metadata, "kai.scheduler/topology-preferred-placement");
  return out;
}

/// Koordinator's `network-topology-spec`: which layer must, and which should, hold the gang.
inline void put_koordinator_topology(const context& c, const json_value* metadata, job_spec& job) {
  constexpr const char* key = "gang.scheduling.koordinator.sh/network-topology-spec";
  const std::string text = c.annotation(metadata, key);
  if (text.empty()) return;
  const json_value& at = *c.object(metadata, "annotations")->find(key);
  const auto parsed = parse_json(text, c.in().source());
  if (!parsed) c.fail(at, "a JSON syntax error in network-topology-spec", "JSON");
  const auto* layers = parsed->type == json_value::kind::object ? c.array(&*parsed, "gatherStrategy") : nullptr;
  if (layers == nullptr) return;
  for (const auto& l : layers->items) {
    const std::string layer = c.text(&l, "layer"), strategy = c.text(&l, "strategy");
    if (strategy == "MustGather") {
      job.where = locality::required;
      job.level = {layer, at.line};  // the narrowest comes last
    } else if (strategy == "PreferGather") {
      job.prefer = {layer, at.line};
    } else {
      c.fail(at, "strategy: " + io_text::quoted(strategy), "MustGather or PreferGather");
    }
  }
  if (job.where == locality::unconstrained && !job.prefer.empty()) {
    job.where = locality::preferred;
    job.level = std::exchange(job.prefer, "");
  }
}

/// The queue that labels or annotations of an object name; "" when none.
[[nodiscard]] inline std::string queue_of(const context& c, const json_value* metadata) {
  for (const char* key : {"kueue.x-k8s.io/queue-name", "kai.scheduler/queue", "runai/queue", "project",
                          "scheduling.volcano.sh/queue-name", "quota.scheduling.koordinator.sh/name"})
    if (std::string v = c.label(metadata, key); !v.empty() && std::string_view{key} != "project") return v;
  return c.annotation(metadata, "scheduling.volcano.sh/queue-name");
}

/// Kueue's name of a plain pod group, a label (an annotation with its gate WorkloadIdentifierAnnotations).
inline constexpr const char* kueue_group = "kueue.x-k8s.io/pod-group-name";

/// The group that a pod says it belongs to; "" for none.
[[nodiscard]] inline std::string pod_group_of(const context& c, const json_value* metadata, const json_value* spec) {
  for (const char* key : {"pod-group-name", "scheduling.k8s.io/group-name", "kai.scheduler/pod-group-name",
                          "gang.scheduling.koordinator.sh/name", kueue_group})
    if (std::string name = c.annotation(metadata, key); !name.empty()) return name;
  if (std::string name = c.text(c.object(spec, "schedulingGroup"), "podGroupName"); !name.empty()) return name;
  for (const char* key : {"scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io",
                          "pod-group.scheduling.sigs.k8s.io/name", kueue_group})
    if (std::string name = c.label(metadata, key); !name.empty()) return name;
  return {};
}

/// How many pods the plain pod group of Kueue's has that a single pod belongs to.
inline void put_group_total(const context& c, const json_value* metadata, draft& d) {
  constexpr const char* key = "kueue.x-k8s.io/pod-group-total-count";
  const bool named = !c.label(metadata, kueue_group).empty() || !c.annotation(metadata, kueue_group).empty();
  const auto* notes = c.object(metadata, "annotations");
  const auto total = c.tasks(notes, key, 1);
  if (named != total.has_value())
    c.fail(*metadata,
           named ? "pod-group-name of Kueue's without pod-group-total-count"
                 : "pod-group-total-count without pod-group-name",
           std::string{"both the label "} + kueue_group + " and the annotation " + key);
  if (!total) return;
  d.group_total = *total;
  d.total_at = notes->find(key);
}

/// What one pod template says of the job that it is part of.
inline void put_job_words(const context& c, const json_value* metadata, const json_value* spec, draft& d) {
  if (d.job.queue.empty()) d.job.queue = queue_of(c, metadata);
  if (d.job.priority_class.empty()) {
    d.job.priority_class = c.text(spec, "priorityClassName");
    for (const char* key : {"kueue.x-k8s.io/priority-class", "koordinator.sh/priority-class"})
      if (std::string v = c.label(metadata, key); !v.empty()) d.job.priority_class = v;
  }
  constexpr std::int64_t most = std::int64_t{1} << 40;
  if (!d.job.priority) d.job.priority = c.integer(spec, "priority", -most, most);
  if (const auto s = c.integer(spec, "activeDeadlineSeconds", 1, most); s && d.job.seconds == 0)
    d.job.seconds = static_cast<std::uint64_t>(*s);
  if (d.pod_group.empty()) d.pod_group = pod_group_of(c, metadata, spec);
}

/// Reads a pod or pod template into `g`, whose name and counts are set already, and adds it to the job.
/// \param default_slice  size of Kueue's slices where no annotation says it; 0 for none
inline void add_group(const context& c, const json_value& pod, group_spec g, draft& d,
                      std::uint32_t default_slice = 0) {
  const auto* metadata = c.object(&pod, "metadata");
  const auto* spec = c.object(&pod, "spec");
  remark_on_keys(c, metadata, d.job);
  check_pod_fields(c, pod, d.job);
  put_amounts(c, pod, amounts_of_pod(c, spec), g);
  put_annotated_share(c, metadata, g);
  put_hived(c, metadata, d, g);
  if (spec != nullptr) {
    put_claims(c, spec, d.space, d.job, g);
    put_node_choice(c, metadata, *spec, d, g);
  }
  put_topology_notes(c, metadata, default_slice, d.job, g);
  if (const auto kai = kai_locality(c, metadata); !(kai == group_locality{})) {
    if (!kai.within.empty()) g.own.within = kai.within;
    if (!kai.prefer.empty()) g.own.prefer = kai.prefer;
  }
  const std::string set = c.annotation(metadata, "kueue.x-k8s.io/podset-group-name");
  d.one_pod_set = d.one_pod_set && !set.empty() && (d.job.groups.empty() || d.pod_set == set);
  d.pod_set = set;
  put_job_words(c, metadata, spec, d);
  d.roles.push_back(c.label(metadata, "kai.scheduler/subgroup-name"));
  g.name = free_name(d.job, std::move(g.name));
  d.job.groups.push_back(std::move(g));
}

/// The pod template of a controller's spec.
[[nodiscard]] inline const json_value& pod_template(const context& c, const json_value& spec) {
  return c.needed(spec, "template", json_value::kind::object);
}

}  // namespace berth::kube_job
