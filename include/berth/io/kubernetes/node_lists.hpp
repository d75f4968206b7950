#pragma once
/// \file
/// Lists of nodes that are no Kubernetes objects: EC2's instance topology, kube-scheduler's extender arguments,
/// knavigator's workflows, KAI's simulations. Needs nlohmann-json and yaml-cpp (through `io/kubernetes/values.hpp`).

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/kubernetes/documents.hpp"
#include "berth/io/kubernetes/nodes.hpp"
#include "berth/io/kubernetes/values.hpp"

namespace berth::kube_detail {

/// The member of that name in any case: kube-scheduler's JSON has capital keys, its older form has not.
[[nodiscard]] inline const json_value* find_nocase(const json_value& v, std::string_view key) noexcept {
  for (std::size_t i = 0; i < v.keys.size(); ++i)
    if (io_text::equal_nocase(v.keys[i], key)) return v.items[i].type == json_value::kind::null ? nullptr : &v.items[i];
  return nullptr;
}

/// `{"Nodes": [{"Name", "InstanceId", "Topology": {labels}}]}`, as aws-ofi-nccl's documentation prints node labels, and
/// `{"Instances": [{"InstanceId", "NetworkNodes": […]}]}` of `aws ec2 describe-instance-topology`.
[[nodiscard]] inline expected<void, input_error> read_ec2_topology(const json_value& doc, reading& r) {
  if (const json_value* nodes = doc.find("Nodes"); nodes != nullptr) {
    if (nodes->type != json_value::kind::array) return r.in.error(*nodes, "Nodes: " + nodes->described(), "a list");
    for (const auto& n : nodes->items) {
      const auto name = r.in.text(n, "Name");
      if (!name) return unexpected{name.error()};
      const auto id = r.in.optional_text(n, "InstanceId");
      if (!id) return unexpected{id.error()};
      const auto labels = r.in.optional_member(n, "Topology", json_value::kind::object);
      if (!labels) return unexpected{labels.error()};
      const auto m = r.add_machine(n, *name);
      if (!m) return unexpected{m.error()};
      if (*id && !(*id)->empty()) (*m)->aliases.push_back(**id);
      if (*labels != nullptr)
        if (auto ok = read_labels(**labels, r.in, **m); !ok) return ok;
    }
    return {};
  }
  const auto instances = r.in.member(doc, "Instances", json_value::kind::array);
  if (!instances) return unexpected{instances.error()};
  for (const auto& n : (*instances)->items) {
    const auto id = r.in.text(n, "InstanceId");
    if (!id) return unexpected{id.error()};
    const auto type = r.in.optional_text(n, "InstanceType");
    if (!type) return unexpected{type.error()};
    const auto zone = r.in.optional_text(n, "AvailabilityZone");
    if (!zone) return unexpected{zone.error()};
    const auto block = r.in.optional_text(n, "CapacityBlockId");
    if (!block) return unexpected{block.error()};
    const auto layers = r.in.optional_member(n, "NetworkNodes", json_value::kind::array);
    if (!layers) return unexpected{layers.error()};
    const auto added = r.add_machine(n, *id);
    if (!added) return unexpected{added.error()};
    machine_report& m = **added;
    m.shape = type->value_or("");
    if (*type) m.labels.push_back("node.kubernetes.io/instance-type=" + **type);
    if (*zone) m.labels.push_back("topology.kubernetes.io/zone=" + **zone);
    if (*block) m.labels.push_back("topology.k8s.aws/capacity-block-id=" + **block);
    if (*layers == nullptr) continue;
    if ((*layers)->items.size() > 8)
      return r.in.error(**layers, "more than 8 network nodes", "the path from the spine to the instance");
    for (std::size_t i = 0; i < (*layers)->items.size(); ++i) {
      const json_value& l = (*layers)->items[i];
      if (l.type != json_value::kind::string) return r.in.error(l, "NetworkNodes: " + l.described(), "a list of ids");
      m.labels.push_back("topology.k8s.aws/network-node-layer-" + std::to_string(i + 1) + "=" + l.text);
    }
  }
  return {};
}

/// What kube-scheduler asks an extender, and what an extender answers. Only ExtenderArgs holds nodes that exist;
/// answers say what one pod may have at one moment.
[[nodiscard]] inline expected<void, input_error> read_extender(const json_value& doc, reading& r,
                                                               std::unordered_map<std::string, std::uint32_t>& slinky) {
  constexpr const char* wanted =
      "ExtenderArgs (Pod with Nodes or NodeNames), or a node list (kubectl get nodes -o json)";
  if (find_nocase(doc, "FailedNodes") != nullptr || find_nocase(doc, "FailedAndUnresolvableNodes") != nullptr)
    return r.in.error(doc, "an ExtenderFilterResult, the answer for one pod and no list of the cluster's nodes",
                      wanted);
  if (find_nocase(doc, "NodeNameToVictims") != nullptr || find_nocase(doc, "NodeNameToMetaVictims") != nullptr)
    return r.in.error(doc, "ExtenderPreemptionArgs, which name victims and hold no nodes", wanted);
  if (find_nocase(doc, "Host") != nullptr && find_nocase(doc, "Score") != nullptr)
    return r.in.error(doc, "a HostPriority, a score and no node", wanted);
  if (find_nocase(doc, "PodName") != nullptr)
    return r.in.error(doc, "ExtenderBindingArgs, which bind one pod and hold no nodes", wanted);
  if (const json_value* nodes = find_nocase(doc, "Nodes")) {
    const json_value* items = nodes->type == json_value::kind::object ? find_nocase(*nodes, "items") : nullptr;
    if (items == nullptr || items->type != json_value::kind::array)
      return r.in.error(*nodes, "Nodes: " + nodes->described(), "a node list");
    for (const auto& n : items->items) {
      kube_object o;
      o.value = &n;
      o.kind = "Node";
      if (n.type != json_value::kind::object) return r.in.error(n, n.described(), "a node");
      const auto meta = r.in.member(n, "metadata", json_value::kind::object);
      if (!meta) return unexpected{meta.error()};
      const auto name = r.in.text(**meta, "name");
      if (!name) return unexpected{name.error()};
      o.name = *name;
      if (auto ok = read_node(o, r, slinky); !ok) return ok;
    }
  }
  if (const json_value* names = find_nocase(doc, "NodeNames")) {
    if (names->type != json_value::kind::array)
      return r.in.error(*names, "NodeNames: " + names->described(), "a list of names");
    for (const auto& n : names->items) {
      if (n.type != json_value::kind::string || n.text.empty())
        return r.in.error(n, "NodeNames: " + n.described(), "a list of names");
      if (r.machine_of.contains(n.text)) continue;
      if (const auto m = r.add_machine(n, n.text); !m) return unexpected{m.error()};
    }
  }
  if (r.out.machines.empty()) return r.in.error(doc, "ExtenderArgs without nodes", wanted);
  return {};
}

/// The cluster of a fair-share simulation of the KAI scheduler: `Nodes: [{GPUs, Count}]`, nodes without names.
[[nodiscard]] inline expected<void, input_error> read_kai_simulation(const json_value& nodes, reading& r) {
  std::size_t number = 0;
  for (const auto& n : nodes.items) {
    const auto gpus = r.in.integer(n, "GPUs", 0, max_devices_per_node);
    if (!gpus) return unexpected{gpus.error()};
    const auto count = r.in.optional_integer(n, "Count", 0, static_cast<std::int64_t>(r.options.max_machines));
    if (!count) return unexpected{count.error()};
    for (std::int64_t i = 0; i < count->value_or(1); ++i) {
      const auto m = r.add_machine(n, "node-" + std::to_string(number++));
      if (!m) return unexpected{m.error()};
      (*m)->gpus = static_cast<unsigned>(*gpus);
    }
  }
  r.assume("Nodes of a simulation have no names; they are called node-0, node-1, ….");
  return {};
}

/// A knavigator workflow: the virtual nodes of its `Configure` tasks.
[[nodiscard]] inline expected<void, input_error> read_knavigator(const json_value& doc, reading& r) {
  // Types of knavigator's chart of virtual nodes and the machines of the catalogue that they stand for.
  struct known_type {
    std::string_view type, shape, model;
  };
  static constexpr known_type types[] = {
      {"dgxa100.40g", "", "a100-sxm4-40gb"},
      {"dgxa100.80g", "dgx-a100-80gb", "a100-sxm4-80gb"},
      {"dgxh100.80g", "dgx-h100", "h100-sxm5-80gb"},
  };
  const auto tasks = r.in.member(doc, "tasks", json_value::kind::array);
  if (!tasks) return unexpected{tasks.error()};
  std::unordered_map<std::string, std::size_t> made;  // of each type
  bool any = false;
  for (const auto& t : (*tasks)->items) {
    const auto kind = r.in.text(t, "type");
    if (!kind) return unexpected{kind.error()};
    if (*kind != "Configure") continue;
    const auto params = r.in.optional_member(t, "params", json_value::kind::object);
    if (!params) return unexpected{params.error()};
    if (*params == nullptr) continue;
    const auto nodes = r.in.optional_member(**params, "nodes", json_value::kind::array);
    if (!nodes) return unexpected{nodes.error()};
    if (*nodes == nullptr) continue;
    for (const auto& n : (*nodes)->items) {
      const auto type = r.in.text(n, "type");
      if (!type) return unexpected{type.error()};
      const auto count = r.in.integer(n, "count", 0, static_cast<std::int64_t>(r.options.max_machines));
      if (!count) return unexpected{count.error()};
      const auto labels = r.in.optional_member(n, "labels", json_value::kind::object);
      if (!labels) return unexpected{labels.error()};
      const json_value* id = *labels == nullptr ? nullptr : (*labels)->find("node-id");
      for (std::int64_t i = 0; i < *count; ++i) {
        any = true;
        const std::size_t number = made[*type]++;
        const bool own = id != nullptr && *count == 1 && !scalar_text(*id).empty();
        const auto added = r.add_machine(n, own ? scalar_text(*id) : "virtual-" + *type + "-" + std::to_string(number));
        if (!added) return unexpected{added.error()};
        machine_report& m = **added;
        m.shape = *type;
        for (const auto& k : types)
          if (k.type == *type) {
            if (!k.shape.empty()) m.shape = k.shape;
            m.gpu_model = k.model;
          }
        if (*labels == nullptr) continue;
        if (auto ok = read_labels(**labels, r.in, m); !ok) return ok;
        std::int64_t shares = 1;
        if (auto ok = gpus_of_labels(*labels, n, r, m, shares); !ok) return ok;
      }
    }
  }
  if (!any) return r.in.error(doc, "a workflow that configures no nodes", "a Configure task with nodes");
  r.assume("Virtual nodes of a knavigator workflow are named by their label node-id, else by type and number.");
  return {};
}

}  // namespace berth::kube_detail
