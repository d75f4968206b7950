#pragma once
/// \file
/// `kind: Node`, and what else lists nodes with their labels: kube-scheduler's ExtenderArgs, EC2's instance topology,
/// knavigator's workflows. Needs nlohmann-json and yaml-cpp (through `io/kubernetes/values.hpp`).
///
/// Read of a node: name and other names, allocatable CPU and memory, whole GPUs and their model, MIG slices, labels,
/// taints (as labels `taint:key=value:effect`, of NoSchedule and NoExecute), cordon and Ready. GPUs that the device
/// plugin withholds (capacity above allocatable) and GPUs split by MIG are held, by number, for nobody says which.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/close_word.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/kubernetes/documents.hpp"
#include "berth/io/kubernetes/labels.hpp"
#include "berth/io/kubernetes/values.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/taints.hpp"
#include "berth/io/topology_rules.hpp"

namespace berth::kube_detail {

/// What readers of one file share.
struct reading {
  const kube_reader& in;
  const reader_options& options;
  site_report& out;
  std::unordered_map<std::string, std::size_t> machine_of;  ///< name -> index into `out.machines`
  std::set<std::string> other_resources;                    ///< extended resources that are not kept
  std::set<std::string> said;                               ///< assumptions, each once
  std::map<std::string, std::size_t> skipped;               ///< kinds that say nothing about machines
  void assume(std::string sentence) {
    if (said.insert(sentence).second) out.assumptions.push_back(std::move(sentence));
  }
  [[nodiscard]] expected<machine_report*, input_error> add_machine(const json_value& at, const std::string& name) {
    if (out.machines.size() >= options.max_machines)
      return in.error(at, "more than " + std::to_string(options.max_machines) + " machines", "a smaller file");
    const auto [it, fresh] = machine_of.emplace(name, out.machines.size());
    if (!fresh)
      return in.error(at,
                      "node " + io_text::quoted(name) + " a second time (first: line " +
                          std::to_string(out.machines[it->second].place.line) + ")",
                      "each node once");
    auto& m = out.machines.emplace_back();
    m.place = in.place(at);
    m.name = name;
    return &m;
  }
};

/// Members of a mapping of words into labels `key=value`.
[[nodiscard]] inline expected<void, input_error> read_labels(const json_value& labels, const kube_reader& in,
                                                             machine_report& m) {
  m.labels.reserve(m.labels.size() + labels.keys.size());
  for (std::size_t i = 0; i < labels.keys.size(); ++i) {
    const json_value& v = labels.items[i];
    if (v.type == json_value::kind::object || v.type == json_value::kind::array)
      return in.error(v, "label " + io_text::quoted(labels.keys[i]) + ": " + v.described(), "a word");
    const std::string_view key = labels.keys[i];
    if (kube_labels::is_volatile(key)) {
      if (key == "kubernetes.io/hostname" && !scalar_text(v).empty() && scalar_text(v) != m.name)
        m.aliases.push_back(scalar_text(v));
      continue;
    }
    if (key.starts_with(kube_labels::own_feature)) {
      m.labels.emplace_back(key.substr(kube_labels::own_feature.size()));
      continue;
    }
    std::string text;
    const std::string value = v.type == json_value::kind::string ? std::string{} : scalar_text(v);
    const std::string& word = v.type == json_value::kind::string ? v.text : value;
    text.reserve(key.size() + 1 + word.size());
    text.append(key).append(1, '=').append(word);
    m.labels.push_back(std::move(text));
  }
  return {};
}

/// GPU model, number of GPUs and shape, as far as labels say. \param shares  copies of each GPU that the device plugin
/// offers by time slicing
[[nodiscard]] inline expected<void, input_error> gpus_of_labels(const json_value* labels, const json_value& at,
                                                                reading& r, machine_report& m, std::int64_t& shares) {
  shares = 1;
  for (const auto key : kube_labels::model_labels)
    if (const auto v = label_of(m, key); v && !v->empty() && m.gpu_model.empty()) {
      m.gpu_model = kube_labels::gpu_model(*v);
      if (const auto profile = kube_labels::mig_of_product(*v); !profile.empty())
        m.mig.push_back({std::string{profile}, 0});  // the number follows from the resources
    }
  for (const auto key : kube_labels::count_labels) {
    const auto v = label_of(m, key);
    if (!v || m.gpus) continue;
    if (key.starts_with("cloud.google.com/") && label_of(m, "cloud.google.com/gke-tpu-accelerator")) continue;
    const auto n = io_text::parse_count(*v, max_devices_per_node);
    const json_value* where = labels == nullptr ? nullptr : labels->find(key);
    if (!n)
      return r.in.error(where == nullptr ? at : *where, std::string{key} + ": " + io_text::quoted(*v),
                        "a number of GPUs, at most " + std::to_string(max_devices_per_node));
    m.gpus = static_cast<unsigned>(*n);
  }
  if (const auto v = label_of(m, "nvidia.com/gpu.replicas"))
    if (const auto n = io_text::parse_count(*v, 1000); n && *n > 1) shares = static_cast<std::int64_t>(*n);
  for (const std::string_view key :
       {"node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type", "nvidia.com/gpu.machine"}) {
    const auto v = label_of(m, key);
    if (!v || v->empty() || !m.shape.empty()) continue;
    // A virtual machine's product name tells nothing about the hardware.
    if (key == "nvidia.com/gpu.machine" &&
        (*v == "Google-Compute-Engine" || *v == "Virtual-Machine" || *v == "KVM" || v->starts_with("Standard-PC")))
      continue;
    m.shape = std::string{*v};
  }
  return {};
}

/// Holds `gpus` whole GPUs of a machine, by number.
inline void hold(reading& r, const machine_report& m, std::int64_t gpus, const std::string& why, bool split = false) {
  holding_report h;
  h.place = m.place;
  h.job = why + " of " + m.name;
  h.machine = m.name;
  h.gpus = static_cast<std::uint32_t>(gpus);
  h.split = split;
  r.out.held.push_back(std::move(h));
}

/// CPU, memory, GPUs and MIG slices of `status`.
[[nodiscard]] inline expected<void, input_error> read_resources(const json_value& status, std::int64_t shares,
                                                                reading& r, machine_report& m) {
  const auto allocatable = r.in.optional_member(status, "allocatable", json_value::kind::object);
  const auto capacity = r.in.optional_member(status, "capacity", json_value::kind::object);
  if (!allocatable) return unexpected{allocatable.error()};
  if (!capacity) return unexpected{capacity.error()};
  const json_value* main = *allocatable != nullptr ? *allocatable : *capacity;
  if (main == nullptr) return {};
  if (const auto* v = main->find("cpu")) {
    const auto cpu = r.in.cpus(*v, "cpu");
    if (!cpu) return unexpected{cpu.error()};
    m.cpu = *cpu;
  }
  if (const auto* v = main->find("memory")) {
    const auto memory = r.in.memory(*v, "memory");
    if (!memory) return unexpected{memory.error()};
    m.memory = *memory;
  }
  std::int64_t free = 0, total = 0, split = 0;
  bool stated = false;
  std::string single;  // MIG strategy "single": whole GPUs are slices
  if (!m.mig.empty()) single = m.mig.front().name;
  m.mig.clear();
  for (std::size_t i = 0; i < main->keys.size(); ++i) {
    const std::string_view key = main->keys[i];
    if (kube_labels::is_system_resource(key)) continue;
    bool gpu = key == "nvidia.com/gpu.shared";
    for (const auto g : kube_labels::gpu_resources) gpu = gpu || key == g;
    const auto profile = kube_labels::mig_of_resource(key);
    if (!gpu && profile.empty()) {
      if (key != "alibabacloud.com/gpu-milli" && key != "aliyun.com/gpu-mem")
        r.other_resources.insert(std::string{key});
      continue;
    }
    const auto n = r.in.count(main->items[i], key, 100'000);
    if (!n) return unexpected{n.error()};
    std::int64_t all = *n;
    if (*capacity != nullptr && *capacity != main)
      if (const auto* c = (*capacity)->find(key)) {
        const auto k = r.in.count(*c, key, 100'000);
        if (!k) return unexpected{k.error()};
        if (*k < *n)
          return r.in.error(main->items[i],
                            std::string{key} + ": " + std::to_string(*n) + " allocatable of " + std::to_string(*k),
                            "at most the capacity");
        all = *k;
      }
    if (!profile.empty()) {
      if (all > 0) m.mig.push_back({std::string{profile}, *n});
      split += all;
    } else if (!single.empty()) {
      if (all > 0) m.mig.push_back({single, *n});
      split += all;
    } else {
      stated = true;
      free += *n;
      total += all;
    }
  }
  if (!single.empty() && split > 0) {
    // Labels count slices here, and nothing counts the GPUs.
    m.gpus = 0;
    r.assume("GPUs that are split by MIG with one profile (strategy \"single\") count as no whole GPUs.");
    return {};
  }
  if (!stated) return {};
  if (shares > 1 || (m.gpus && *m.gpus > 0 && total > static_cast<std::int64_t>(*m.gpus))) {
    if (!m.gpus && total % shares != 0) return {};
    if (!m.gpus) m.gpus = static_cast<unsigned>(total / shares <= max_devices_per_node ? total / shares : 0);
    r.assume("GPUs that the device plugin offers several times over (time slicing) count once.");
    return {};
  }
  if (total > static_cast<std::int64_t>(max_devices_per_node))
    return r.in.error(*main, std::to_string(total) + " GPUs on one node",
                      "at most " + std::to_string(max_devices_per_node));
  const std::int64_t physical = m.gpus && split > 0 ? static_cast<std::int64_t>(*m.gpus) : total;
  if (m.gpus && split == 0 && static_cast<std::int64_t>(*m.gpus) != total && total != 0)
    r.assume("Where labels count more GPUs than the device plugin offers, the plugin's number is used.");
  m.gpus = static_cast<unsigned>(physical);
  if (split > 0 && physical > total) {
    hold(r, m, physical - total, "GPUs split by MIG", true);
    r.assume("GPUs that MIG splits are held; no file says which GPUs of the node they are.");
  }
  if (total > free) {
    hold(r, m, total - free, "GPUs not offered");
    r.assume(
        "GPUs that the device plugin withholds (capacity above allocatable) are held; no file says which they are.");
  }
  return {};
}

/// A Slinky annotation: `topo-switch:s1,topo-block:b1`, a topology of Slurm's topology.yaml and the unit in it.
struct slinky_unit {
  std::string topology;
  std::vector<std::string> path;  ///< outermost first
};

[[nodiscard]] inline expected<std::vector<slinky_unit>, input_error> read_slinky(const json_value& at,
                                                                                 const kube_reader& in) {
  std::vector<slinky_unit> out;
  const std::string text = scalar_text(at);
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    std::string_view item = io_text::trim(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    slinky_unit u;
    for (bool first = true;; first = false) {
      const std::size_t colon = item.find(':');
      const std::string_view word = io_text::trim(item.substr(0, colon));
      if (word.empty() || (first && colon == std::string_view::npos))
        return in.error(at, "topology spec " + io_text::quoted(text),
                        "topology:unit pairs such as topo-switch:s1,topo-block:b1");
      if (first) u.topology = word;
      else u.path.emplace_back(word);
      if (colon == std::string_view::npos) break;
      item.remove_prefix(colon + 1);
    }
    if (u.path.size() > 12) return in.error(at, "topology spec " + io_text::quoted(text), "at most 12 units in a path");
    out.push_back(std::move(u));
  }
  return out;
}

/// Adds a node's units to the topologies named in them.
inline void add_slinky(const std::vector<slinky_unit>& units, const machine_report& m, reading& r,
                       std::unordered_map<std::string, std::uint32_t>& known) {
  for (const auto& u : units) {
    topology_report* t = nullptr;
    for (auto& have : r.out.topologies)
      if (have.name == u.topology) t = &have;
    if (t == nullptr) {
      bool first = true;
      for (const auto& have : r.out.topologies) first = first && !have.preferred;
      t = &r.out.topologies.emplace_back();
      t->name = u.topology;
      t->place = m.place;
      t->preferred = first;
    }
    std::uint32_t at = domain_declaration::no_parent;
    for (const auto& unit : u.path) {
      const auto [it, fresh] = known.emplace(u.topology + " " + std::to_string(at) + " " + unit,
                                             static_cast<std::uint32_t>(t->domains.size()));
      if (fresh) {
        t->domains.push_back({unit, at, {}});
        t->domain_places.push_back(m.place);
      }
      at = it->second;
    }
    t->members.push_back({m.name, at});
  }
}

/// Taints as labels.
[[nodiscard]] inline expected<void, input_error> read_taints(const json_value& spec, const kube_reader& in,
                                                             machine_report& m) {
  const auto taints = in.optional_member(spec, "taints", json_value::kind::array);
  if (!taints) return unexpected{taints.error()};
  if (*taints == nullptr) return {};
  for (const auto& t : (*taints)->items) {
    const auto key = in.text(t, "key");
    if (!key) return unexpected{key.error()};
    const auto value = in.optional_text(t, "value");
    if (!value) return unexpected{value.error()};
    const auto effect = in.text(t, "effect");
    if (!effect) return unexpected{effect.error()};
    if (*effect != "NoSchedule" && *effect != "NoExecute" && *effect != "PreferNoSchedule")
      return in.error(t, "effect: " + io_text::quoted(*effect), "NoSchedule, NoExecute or PreferNoSchedule");
    if (*effect == "PreferNoSchedule") continue;  // a wish of the node, which forbids nothing
    // These follow from `unschedulable` and the condition Ready, which are read themselves; pods that request anything
    // tolerate pressure of memory.
    if (io_text::is_word_of(*key,
                            "node.kubernetes.io/unschedulable node.kubernetes.io/not-ready "
                            "node.kubernetes.io/unreachable node.kubernetes.io/memory-pressure"))
      continue;
    m.labels.push_back("taint:" + *key + "=" + value->value_or("") + ":" + *effect);
  }
  return {};
}

/// The names of a node besides its own.
[[nodiscard]] inline expected<void, input_error> read_names(const json_value& spec, const json_value* status,
                                                            const kube_reader& in, machine_report& m) {
  const auto add = [&](std::string_view name) {
    if (name.empty() || name == m.name) return;
    for (const auto& a : m.aliases)
      if (a == name) return;
    m.aliases.emplace_back(name);
  };
  if (status != nullptr) {
    const auto addresses = in.optional_member(*status, "addresses", json_value::kind::array);
    if (!addresses) return unexpected{addresses.error()};
    if (*addresses != nullptr)
      for (const auto& a : (*addresses)->items) {
        const auto address = in.text(a, "address");
        if (!address) return unexpected{address.error()};
        add(*address);
      }
  }
  const auto id = in.optional_text(spec, "providerID");
  if (!id) return unexpected{id.error()};
  if (*id) {
    // aws:///us-west-2a/i-0123, oci://ocid1.instance…; other providers' last words are no names by themselves
    const std::string_view last = std::string_view{**id}.substr((*id)->rfind('/') + 1);
    if (last.starts_with("i-") || last.starts_with("ocid1.")) add(last);
  }
  return {};
}

inline const json_value& empty_object() {
  static const json_value none = [] {
    json_value v;
    v.type = json_value::kind::object;
    return v;
  }();
  return none;
}

/// `kind: Node`.
[[nodiscard]] inline expected<void, input_error> read_node(const kube_object& o, reading& r,
                                                           std::unordered_map<std::string, std::uint32_t>& slinky) {
  const json_value& v = *o.value;
  if (o.name.empty()) return r.in.missing(v, "metadata.name", "a node's name");
  const auto added = r.add_machine(v, o.name);
  if (!added) return unexpected{added.error()};
  machine_report& m = **added;
  const auto spec_member = r.in.optional_member(v, "spec", json_value::kind::object);
  const auto status_member = r.in.optional_member(v, "status", json_value::kind::object);
  if (!spec_member) return unexpected{spec_member.error()};
  if (!status_member) return unexpected{status_member.error()};
  const json_value& spec = *spec_member == nullptr ? empty_object() : **spec_member;
  const json_value* status = *status_member;
  const json_value* labels = o.metadata("labels");
  if (labels != nullptr)
    if (auto ok = read_labels(*labels, r.in, m); !ok) return ok;
  std::int64_t shares = 1;
  if (auto ok = gpus_of_labels(labels, v, r, m, shares); !ok) return ok;
  if (auto ok = read_names(spec, status, r.in, m); !ok) return ok;
  if (auto ok = read_taints(spec, r.in, m); !ok) return ok;
  const auto cordoned = r.in.flag(spec, "unschedulable", false);
  if (!cordoned) return unexpected{cordoned.error()};
  if (*cordoned) m.usable = false;
  bool up = true;
  if (status != nullptr) {
    const auto conditions = r.in.optional_member(*status, "conditions", json_value::kind::array);
    if (!conditions) return unexpected{conditions.error()};
    if (*conditions != nullptr)
      for (const auto& c : (*conditions)->items) {
        const auto type = r.in.text(c, "type");
        if (!type) return unexpected{type.error()};
        if (*type != "Ready") continue;
        const auto ready = r.in.text(c, "status");
        if (!ready) return unexpected{ready.error()};
        if (*ready != "True" && *ready != "False" && *ready != "Unknown" && *ready != "true" && *ready != "false")
          return r.in.error(c, "Ready: " + io_text::quoted(*ready), "True, False or Unknown");
        up = *ready == "True" || *ready == "true";
        m.usable = up && !*cordoned;
      }
    if (auto ok = read_resources(*status, shares, r, m); !ok) return ok;
  }
  if (*cordoned && up) m.labels.emplace_back(cordon_taint);
  if (const auto* notes = o.metadata("annotations"))
    for (const std::string_view key : {"topology.slinky.slurm.net/spec", "topology.slinky.slurm.net/line"})
      if (const auto* a = notes->find(key)) {
        const auto units = read_slinky(*a, r.in);
        if (!units) return unexpected{units.error()};
        add_slinky(*units, m, r, slinky);
        break;
      }
  return {};
}

}  // namespace berth::kube_detail
