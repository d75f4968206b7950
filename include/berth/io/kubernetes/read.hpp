#pragma once
/// \file
/// One file of Kubernetes objects, or of what kube-scheduler and cloud tools print about nodes, as a `site_report`.
/// Needs nlohmann-json, yaml-cpp and Boost.Graph.
///
/// Read: Node, ResourceSlice, running Pod with its ResourceClaims; Topology of Kueue and KAI, ClusterTopology of Grove,
/// ResourceFlavor (which topology is used), HyperNode and Volcano's discovery; Koordinator's Device and
/// ClusterNetworkTopology; NodeResourceTopology; NetworkTopology (diktyo); EC2 instance topology; ExtenderArgs;
/// knavigator workflows. Jobs are read by the function that the caller gives; quota is for the readers of `io/quota/`.
/// Every kind that is not read is named.
///
/// Cost  O(bytes + machines × (labels + rules)).

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/kubernetes/devices.hpp"
#include "berth/io/kubernetes/documents.hpp"
#include "berth/io/kubernetes/held_claims.hpp"
#include "berth/io/kubernetes/hypernodes.hpp"
#include "berth/io/kubernetes/label_levels.hpp"
#include "berth/io/kubernetes/node_lists.hpp"
#include "berth/io/kubernetes/nodes.hpp"
#include "berth/io/kubernetes/pods.hpp"
#include "berth/io/kubernetes/resource_slices.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/topology_rules.hpp"

namespace berth {

namespace kube_detail {

[[nodiscard]] inline bool is_one_of(std::string_view word, std::initializer_list<std::string_view> list) noexcept {
  for (const auto w : list)
    if (w == word) return true;
  return false;
}

}  // namespace kube_detail

/// True for kinds that ask for nodes: `read_kubernetes_jobs` and its like are asked about them.
[[nodiscard]] inline bool is_kube_job_kind(std::string_view kind) noexcept {
  return kube_detail::is_one_of(kind, {"Pod",
                                       "Job",
                                       "CronJob",
                                       "PodGroup",
                                       "Workload",
                                       "JobSet",
                                       "PyTorchJob",
                                       "TFJob",
                                       "MPIJob",
                                       "XGBoostJob",
                                       "PaddleJob",
                                       "JAXJob",
                                       "MXJob",
                                       "TrainJob",
                                       "TrainingRuntime",
                                       "ClusterTrainingRuntime",
                                       "LeaderWorkerSet",
                                       "RayCluster",
                                       "RayJob",
                                       "RayService",
                                       "Deployment",
                                       "StatefulSet",
                                       "ReplicaSet",
                                       "DaemonSet",
                                       "ReplicationController",
                                       "ResourceClaim",
                                       "ResourceClaimTemplate",
                                       "Framework",
                                       "AppWrapper",
                                       "SparkApplication",
                                       "JobTemplate",
                                       "JobFlow",
                                       "RunaiJob",
                                       "ComputeDomain",
                                       "Reservation"});
}
/// True for kinds that say who may use how much.
[[nodiscard]] inline bool is_kube_quota_kind(std::string_view kind) noexcept {
  return kube_detail::is_one_of(kind, {"ClusterQueue", "LocalQueue", "Cohort", "Queue", "ResourceFlavor",
                                       "ResourceQuota", "ElasticQuota", "ElasticQuotaProfile", "WorkloadPriorityClass",
                                       "PriorityClass", "AdmissionCheck", "Project", "Department", "LimitRange"});
}

/// Cheap, from the first 64 KiB: words that such files have.
[[nodiscard]] inline bool looks_like_kubernetes(std::string_view text) noexcept {
  text = text.substr(0, std::size_t{64} << 10);
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  const auto begins_line = [&](std::string_view word) {
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
      std::size_t i = at;
      while (i > 0 && (text[i - 1] == ' ' || text[i - 1] == '-')) --i;
      if (i == 0 || text[i - 1] == '\n') return true;
    }
    return false;
  };
  if ((begins_line("apiVersion:") && begins_line("kind:")) || (has("\"apiVersion\"") && has("\"kind\""))) return true;
  if (has("\"Nodes\"") && (has("\"InstanceId\"") || has("\"Topology\"") || has("\"Pod\""))) return true;
  if (has("\"Instances\"") && has("\"NetworkNodes\"")) return true;
  if (has("\"NodeNames\"") || has("\"FailedNodes\"") || has("\"NodeNameToVictims\"")) return true;
  if ((has("\"Host\"") && has("\"Score\"")) || (has("\"PodName\"") && has("\"Node\""))) return true;
  if (begins_line("networkTopologyDiscovery:")) return true;
  if (begins_line("Nodes:") && begins_line("Queues:")) return true;
  if (begins_line("tasks:") && has("type: Configure") && begins_line("nodes:")) return true;
  return begins_line("attributes:") &&
         (has("resource.kubernetes.io/") || (begins_line("capacity:") && begins_line("name:")));
}

namespace kube_detail {

/// Takes away labels that name machines rather than kinds of machine: a value of its own for nearly every one.
inline void drop_naming_labels(reading& r) {
  const auto& machines = r.out.machines;
  if (machines.size() <= 64) return;
  std::unordered_map<std::string_view, std::unordered_set<std::string_view>> values;
  for (std::size_t m = 0; m < machines.size(); ++m)
    for (std::size_t i = 0; i < machines[m].labels.size(); ++i) {
      const std::string& l = machines[m].labels[i];
      // Neighbours in a list mostly say the same.
      if (m > 0 && i < machines[m - 1].labels.size() && machines[m - 1].labels[i] == l) continue;
      const std::size_t eq = l.find('=');
      if (eq != std::string::npos) values[std::string_view{l}.substr(0, eq)].insert(std::string_view{l}.substr(eq + 1));
    }
  std::vector<std::string> drop;
  for (const auto& [key, of_key] : values)
    if (of_key.size() > 64 && of_key.size() * 2 > machines.size()) drop.emplace_back(key);
  if (drop.empty()) return;
  std::sort(drop.begin(), drop.end());
  std::string names;
  for (const auto& d : drop) names += (names.empty() ? "" : ", ") + d;
  r.assume("Labels with a value of its own for nearly every node are not kept: " + names + ".");
  for (auto& m : r.out.machines)
    std::erase_if(m.labels, [&](const std::string& l) {
      const std::size_t eq = l.find('=');
      return eq != std::string::npos && std::binary_search(drop.begin(), drop.end(), l.substr(0, eq));
    });
}

/// What a Kubernetes file is read by.
class file_reading {
 public:
  file_reading(const kube_documents& docs, const reader_options& options, site_report& out)
      : docs_{docs},
        in_{docs.source},
        r_{in_, options, out, {}, {}, {}, {}},
        slices_{r_},
        claims_{r_},
        tree_{r_, hypernodes_} {}

  [[nodiscard]] expected<void, input_error> objects() {
    for (const auto& o : docs_.objects)
      if (auto ok = object(o); !ok) return ok;
    claims_.finish();
    if (auto ok = tree_.finish(); !ok) return ok;
    return slices_.finish();
  }
  /// What follows from all objects together.
  void complete(bool with_jobs) {
    auto& topologies = r_.out.topologies;
    if (!hypernodes_.domains.empty()) {
      hypernodes_.name = hypernode_topology;
      topologies.insert(topologies.begin(), std::move(hypernodes_));
    }
    if (!r_.out.machines.empty()) levels_of_labels(r_);
    nvlink_of_labels(r_);
    // One topology of the network is the default: one that a flavor names, else the first.
    std::size_t chosen = topologies.size();
    for (std::size_t i = topologies.size(); i-- > 0;)
      if (topologies[i].what == topology_report::kind::network) {
        bool named = false;
        for (const auto& f : flavors_) named = named || (!f.empty() && f == topologies[i].name);
        if (named || chosen == topologies.size() || !chosen_named_) chosen = i, chosen_named_ = named;
      }
    std::size_t networks = 0;
    for (std::size_t i = 0; i < topologies.size(); ++i)
      if (topologies[i].what == topology_report::kind::network) {
        topologies[i].preferred = i == chosen;
        ++networks;
      }
    if (networks > 1)
      r_.assume("Of " + std::to_string(networks) + " topologies of the network, " +
                io_text::quoted(topologies[chosen].name) + " is used unless another is asked for.");
    const std::vector<const site_report*> self{&r_.out};
    for (auto& t : topologies)
      for (auto& sentence : apply_topology_rules(t, self)) r_.assume(std::move(sentence));
    drop_naming_labels(r_);
    if (!r_.other_resources.empty()) {
      std::string names;
      for (const auto& n : r_.other_resources) names += (names.empty() ? "" : ", ") + n;
      r_.assume("Resources of the nodes that are no GPUs are not kept: " + names + ".");
    }
    std::string names;
    for (const auto& [kind, n] : r_.skipped) {
      if (with_jobs && is_kube_job_kind(kind)) continue;
      names += (names.empty() ? "" : ", ") + (n == 1 ? kind : std::to_string(n) + " " + kind);
    }
    if (!names.empty()) r_.assume("Not read, for they say nothing about machines: " + names + ".");
  }
  /// Why nothing was read.
  [[nodiscard]] input_error nothing() const {
    std::string names;
    bool jobs = false, quota = false, others = false;
    for (const auto& [kind, n] : r_.skipped) {
      names += (names.empty() ? "" : ", ") + (n == 1 ? kind : std::to_string(n) + " " + kind);
      const bool asks = is_kube_job_kind(kind), shares = is_kube_quota_kind(kind);
      jobs = jobs || asks;
      quota = quota || shares;
      others = others || (!asks && !shares && !is_one_of(kind, {"Namespace", "Service", "ConfigMap", "Secret"}));
    }
    if (names.empty()) return {docs_.source, 0, "no objects", "nodes or a topology"};
    const char* why = others  ? ""
                      : jobs  ? ", which ask for nodes and list none"
                      : quota ? ", which share out nodes and list none"
                              : "";
    return {docs_.source, docs_.objects.front().value->line, "only " + names + why,
            "nodes (kubectl get nodes -o json) or a topology (Topology, HyperNode, ResourceSlice, …)"};
  }

 private:
  [[nodiscard]] expected<void, input_error> object(const kube_object& o) {
    const json_value& v = *o.value;
    if (o.kind.empty()) return without_kind(v);
    if (o.kind == "Node" && o.group.empty()) return read_node(o, r_, slinky_);
    if (is_running_pod(o)) {
      const std::size_t before = r_.out.held.size();
      if (auto ok = read_running_pod(o, r_); !ok) return ok;
      claims_.add_pod(o, r_.out.held.size() != before);
      return {};
    }
    if (o.kind == "ResourceClaim" && o.group == "resource.k8s.io") {
      ++r_.skipped[o.kind];
      return claims_.add_claim(o);
    }
    if (o.kind == "HyperNode") return tree_.add(o);
    if ((o.kind == "Topology" || o.kind == "ClusterTopology" || o.kind == "ClusterTopologyBinding") &&
        o.value->find("spec") != nullptr)
      return read_topology_object(o, r_);
    if (o.kind == "KwokctlResource")
      return in_.error(v, "a template of kwokctl, which says how nodes are made",
                       "the nodes that it made (kubectl get nodes -o json)");
    if (o.kind == "ClusterNetworkTopology") return read_cluster_network_topology(o, r_);
    if (o.kind == "NodeResourceTopology") return read_node_resource_topology(o, r_);
    if (o.kind == "NetworkTopology") return read_diktyo(o, r_);
    if (o.kind == "Device" && o.group.starts_with("scheduling.koordinator")) return read_koordinator_device(o, r_);
    if (o.kind == "ResourceSlice") return slices_.add(o);
    if (o.kind == "ResourceFlavor") {
      const json_value* spec = v.find("spec");
      if (const json_value* t = spec == nullptr ? nullptr : spec->find("topologyName"))
        flavors_.push_back(scalar_text(*t));
    }
    if (o.kind == "ConfigMap") {
      const auto used = config_map(v);
      if (!used) return unexpected{used.error()};
      if (*used) return {};
    }
    ++r_.skipped[o.kind];
    return {};
  }
  /// True where the map holds Volcano's discovery.
  [[nodiscard]] expected<bool, input_error> config_map(const json_value& v) {
    const auto data = in_.optional_member(v, "data", json_value::kind::object);
    if (!data) return unexpected{data.error()};
    if (*data == nullptr) return false;
    for (const auto& text : (*data)->items) {
      if (text.type != json_value::kind::string || text.text.find("networkTopologyDiscovery:") == std::string::npos)
        continue;
      auto inner = parse_documents(text.text, docs_.source);
      if (!inner) {
        input_error e = std::move(inner).error();
        e.line += text.line;  // a block scalar begins on the line below its key
        return unexpected{std::move(e)};
      }
      for (auto& d : *inner)
        if (d.find("networkTopologyDiscovery") != nullptr) {
          shift_lines(d, text.line);
          if (auto ok = read_hypernode_discovery(d, r_); !ok) return unexpected{ok.error()};
          return true;
        }
    }
    return false;
  }
  static void shift_lines(json_value& v, std::size_t by) noexcept {  // depth is bounded by that of the document
    v.line += by;
    for (auto& i : v.items) shift_lines(i, by);
  }
  [[nodiscard]] expected<void, input_error> without_kind(const json_value& v) {
    if (v.find("networkTopologyDiscovery") != nullptr) return read_hypernode_discovery(v, r_);
    const json_value* nodes = find_nocase(v, "Nodes");
    const bool extender = find_nocase(v, "Pod") != nullptr || find_nocase(v, "NodeNames") != nullptr ||
                          find_nocase(v, "PodName") != nullptr || find_nocase(v, "FailedNodes") != nullptr ||
                          find_nocase(v, "Score") != nullptr || find_nocase(v, "NodeNameToVictims") != nullptr;
    if (extender) return read_extender(v, r_, slinky_);
    if (nodes != nullptr && nodes->type == json_value::kind::array && v.find("Queues") != nullptr)
      return read_kai_simulation(*nodes, r_);
    if ((nodes != nullptr && nodes->type == json_value::kind::array) || v.find("Instances") != nullptr)
      return read_ec2_topology(v, r_);
    if (v.find("tasks") != nullptr) return read_knavigator(v, r_);
    if (slice_collection::is_bare_device(v)) return slices_.add_bare(v);
    ++r_.skipped["object without kind"];
    return {};
  }

  const kube_documents& docs_;
  kube_reader in_;
  reading r_;
  topology_report hypernodes_;
  slice_collection slices_;
  held_claims claims_;
  hypernode_tree tree_;
  std::unordered_map<std::string, std::uint32_t> slinky_;
  std::vector<std::string> flavors_;
  bool chosen_named_ = false;
};

}  // namespace kube_detail

/// Reads a file; `jobs` gives the jobs of its documents: `expected<std::vector<job_spec>, input_error>(const
/// kube_documents&)`. It is asked only where the file has kinds that ask for nodes.
template <class Jobs>
[[nodiscard]] expected<site_report, input_error> read_kubernetes(const named_text& file, const reader_options& options,
                                                                 Jobs jobs) {
  auto docs = read_kube_documents(file);
  if (!docs) return unexpected{std::move(docs).error()};
  site_report out;
  out.source = file.name;
  out.format = "Kubernetes";
  kube_detail::file_reading reading{*docs, options, out};
  if (auto ok = reading.objects(); !ok) return unexpected{ok.error()};
  // Requests without kind (HiveD's, OpenPAI's) are jobs where nothing else is in the file.
  const bool empty = out.machines.empty() && out.topologies.empty() && out.held.empty();
  bool asks = false;
  for (const auto& o : docs->objects) asks = asks || is_kube_job_kind(o.kind) || (empty && o.kind.empty());
  if (asks) {
    auto found = jobs(*docs);
    if (!found) return unexpected{std::move(found).error()};
    out.jobs = std::move(*found);
  }
  reading.complete(!out.jobs.empty());
  if (out.topologies.empty() && empty && out.jobs.empty()) return unexpected{reading.nothing()};
  return out;
}

/// Reads what a file says about machines; jobs in it are named and not read.
[[nodiscard]] inline expected<site_report, input_error> read_kubernetes(const named_text& file,
                                                                        const reader_options& options = {}) {
  return read_kubernetes(file, options, [](const kube_documents&) -> expected<std::vector<job_spec>, input_error> {
    return std::vector<job_spec>{};
  });
}

}  // namespace berth
