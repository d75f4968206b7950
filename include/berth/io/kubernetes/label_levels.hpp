#pragma once
/// \file
/// Objects that declare levels by node labels (Kueue and KAI Topology, Koordinator ClusterNetworkTopology, Volcano's
/// discovery, diktyo NetworkTopology), and the levels that the labels of clouds and of topograph mean without any such
/// object. Needs nlohmann-json and yaml-cpp (through `io/kubernetes/values.hpp`).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/kubernetes/documents.hpp"
#include "berth/io/kubernetes/labels.hpp"
#include "berth/io/kubernetes/nodes.hpp"
#include "berth/io/kubernetes/values.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/yaml_document.hpp"
#include "berth/topology/level_names.hpp"

namespace berth::kube_detail {

/// Most levels of one topology: what the domain tree holds besides "cluster".
inline constexpr std::size_t max_label_levels = 15;

[[nodiscard]] inline bool names_the_machine(std::string_view label) noexcept {
  return label == "kubernetes.io/hostname";
}

/// Adds a level; one that names the machine itself is no domain, and only the last level may.
[[nodiscard]] inline expected<void, input_error> add_level(topology_report& t, const std::string& label, bool& machine,
                                                           const json_value& at, const kube_reader& in) {
  if (machine)
    return in.error(at, "level " + io_text::quoted(label) + " inside of kubernetes.io/hostname",
                    "the host name as the last level");
  if (names_the_machine(label)) {
    machine = true;
    return {};
  }
  for (const auto& l : t.label_levels)
    if (l == label) return in.error(at, "level " + io_text::quoted(label) + " twice", "each label once");
  if (t.label_levels.size() >= max_label_levels)
    return in.error(at, "more than " + std::to_string(max_label_levels) + " levels", "a flatter topology");
  t.label_levels.push_back(label);
  return {};
}

/// Kueue's and KAI's `Topology`: `spec.levels[].nodeLabel`, outermost first; KAI adds `alias`. Grove's
/// `ClusterTopology` and `ClusterTopologyBinding` say `key` and `domain` instead.
[[nodiscard]] inline expected<void, input_error> read_topology_object(const kube_object& o, reading& r) {
  const auto spec = r.in.member(*o.value, "spec", json_value::kind::object);
  if (!spec) return unexpected{spec.error()};
  const auto levels = r.in.member(**spec, "levels", json_value::kind::array);
  if (!levels) return unexpected{levels.error()};
  if ((*levels)->items.empty()) return r.in.error(**levels, "no levels", "at least one level");
  topology_report t;
  t.place = r.in.place(*o.value);
  t.name = o.name;
  bool machine = false;
  for (const auto& l : (*levels)->items) {
    const bool grove = l.find("key") != nullptr;
    const auto label = r.in.text(l, grove ? "key" : "nodeLabel");
    if (!label) return unexpected{label.error()};
    if (auto ok = add_level(t, *label, machine, l, r.in); !ok) return ok;
    const auto alias = r.in.optional_text(l, grove ? "domain" : "alias");
    if (!alias) return unexpected{alias.error()};
    if (!*alias || (*alias)->empty()) continue;
    for (const auto& [other, level] : t.level_aliases)
      if (other == **alias) return r.in.error(l, "alias " + io_text::quoted(other) + " twice", "each alias once");
    t.level_aliases.emplace_back(**alias, *label);
  }
  r.out.topologies.push_back(std::move(t));
  return {};
}

/// Koordinator's `ClusterNetworkTopology`: layers in any order, each with the layer around it.
[[nodiscard]] inline expected<void, input_error> read_cluster_network_topology(const kube_object& o, reading& r) {
  const auto spec = r.in.member(*o.value, "spec", json_value::kind::object);
  if (!spec) return unexpected{spec.error()};
  const auto list = r.in.member(**spec, "hierarchy", json_value::kind::array);
  if (!list) return unexpected{list.error()};
  if (!list || (*list)->items.empty()) return r.in.error(**list, "no layers", "at least one layer");
  if ((*list)->items.size() > max_label_levels + 1)
    return r.in.error(**list, "more than 16 layers", "a flatter topology");
  struct layer {
    std::string name, label, parent;
    const json_value* at;
    bool inner = true;  // no other layer is inside
  };
  std::vector<layer> layers;
  for (const auto& l : (*list)->items) {
    const auto name = r.in.text(l, "layerName");
    if (!name) return unexpected{name.error()};
    const auto parent = r.in.optional_text(l, "parentTopologyLayer");
    if (!parent) return unexpected{parent.error()};
    std::string label;
    if (const json_value* key = l.find("labelKey"); key != nullptr && key->type == json_value::kind::array) {
      if (key->items.size() != 1) return r.in.error(*key, std::to_string(key->items.size()) + " label keys", "one");
      label = scalar_text(key->items[0]);
    } else {
      const auto text = r.in.optional_text(l, "labelKey");
      if (!text) return unexpected{text.error()};
      label = text->value_or("");
    }
    for (const auto& have : layers)
      if (have.name == *name) return r.in.error(l, "layer " + io_text::quoted(*name) + " twice", "each layer once");
    layers.push_back({*name, std::move(label), parent->value_or(""), &l, true});
  }
  for (auto& l : layers)
    if (!l.parent.empty()) {
      layer* around = nullptr;
      for (auto& p : layers)
        if (p.name == l.parent) around = &p;
      if (around == nullptr || around == &l)
        return r.in.error(*l.at, "parentTopologyLayer: " + io_text::quoted(l.parent), "another layer of the hierarchy");
      if (!around->inner)
        return r.in.error(*l.at, "two layers inside of " + io_text::quoted(l.parent), "a chain of layers");
      around->inner = false;
    }
  const layer* innermost = nullptr;
  for (const auto& l : layers)
    if (l.inner) {
      if (innermost != nullptr)
        return r.in.error(*l.at, "layer " + io_text::quoted(l.name) + " beside " + io_text::quoted(innermost->name),
                          "a chain of layers");
      innermost = &l;
    }
  if (innermost == nullptr) return r.in.error(**list, "layers in a circle", "a chain of layers");
  std::vector<const layer*> chain;
  for (const layer* l = innermost; l != nullptr;) {
    chain.push_back(l);
    const layer* next = nullptr;
    for (const auto& p : layers)
      if (!l->parent.empty() && p.name == l->parent) next = &p;
    l = chain.size() > layers.size() ? nullptr : next;
  }
  if (chain.size() != layers.size()) return r.in.error(**list, "layers that are no chain", "a chain of layers");
  topology_report t;
  t.place = r.in.place(*o.value);
  t.name = o.name;
  bool machine = false;
  for (std::size_t i = chain.size(); i-- > 0;) {
    if (chain[i]->label.empty()) {
      if (i != 0)
        return r.in.error(*chain[i]->at, "layer " + io_text::quoted(chain[i]->name) + " without labelKey",
                          "a label key; only the innermost layer is the nodes");
      continue;
    }
    if (auto ok = add_level(t, chain[i]->label, machine, *chain[i]->at, r.in); !ok) return ok;
    t.level_aliases.emplace_back(chain[i]->name, chain[i]->label);
  }
  if (t.label_levels.empty()) return r.in.error(**list, "no layer with a label", "labelKey of at least one layer");
  r.out.topologies.push_back(std::move(t));
  return {};
}

/// Volcano's `networkTopologyDiscovery`: of its sources only `label` says which labels are levels.
[[nodiscard]] inline expected<void, input_error> read_hypernode_discovery(const json_value& doc, reading& r) {
  const auto list = r.in.member(doc, "networkTopologyDiscovery", json_value::kind::array);
  if (!list) return unexpected{list.error()};
  std::string others;
  std::size_t found = 0;
  for (const auto& s : (*list)->items) {
    const auto source = r.in.text(s, "source");
    if (!source) return unexpected{source.error()};
    const auto enabled = r.in.flag(s, "enabled", false);
    if (!enabled) return unexpected{enabled.error()};
    if (*source != "label") {
      others += (others.empty() ? "" : ", ") + *source;
      continue;
    }
    if (!*enabled) continue;
    const auto config = r.in.member(s, "config", json_value::kind::object);
    if (!config) return unexpected{config.error()};
    const auto types = r.in.member(**config, "networkTopologyTypes", json_value::kind::object);
    if (!types) return unexpected{types.error()};
    for (std::size_t i = 0; i < (*types)->keys.size(); ++i) {
      const json_value& chain = (*types)->items[i];
      if (chain.type != json_value::kind::array)
        return r.in.error(chain, (*types)->keys[i] + ": " + chain.described(), "a list of nodeLabel");
      topology_report t;
      t.place = r.in.place(chain);
      t.name = (*types)->keys[i];
      t.preferred = found == 0;
      bool machine = false;
      for (const auto& l : chain.items) {
        const auto label = r.in.text(l, "nodeLabel");
        if (!label) return unexpected{label.error()};
        if (auto ok = add_level(t, *label, machine, l, r.in); !ok) return ok;
      }
      ++found;
      if (!t.label_levels.empty()) r.out.topologies.push_back(std::move(t));
    }
  }
  if (found == 0)
    return r.in.error(
        **list,
        others.empty() ? "no source that is enabled" : "discovery by " + others + " alone, which holds no topology",
        "an enabled source 'label', or the HyperNodes that were discovered (kubectl get hypernodes -o yaml)");
  if (!others.empty())
    r.assume("Volcano's discovery by " + others +
             " is not asked; what it found is in the HyperNodes (kubectl get hypernodes -o yaml).");
  return {};
}

/// diktyo's `NetworkTopology`: costs between the values of labels, outermost label first. The model has no place for
/// costs; they are checked, and the labels taken as levels.
[[nodiscard]] inline expected<void, input_error> read_diktyo(const kube_object& o, reading& r) {
  const auto spec = r.in.member(*o.value, "spec", json_value::kind::object);
  if (!spec) return unexpected{spec.error()};
  const auto weights = r.in.member(**spec, "weights", json_value::kind::array);
  if (!weights) return unexpected{weights.error()};
  for (const auto& w : (*weights)->items) {
    const auto name = r.in.text(w, "name");
    if (!name) return unexpected{name.error()};
    // The CRD calls the list topologyList, its first release costList.
    const json_value* list = w.find("topologyList") != nullptr ? w.find("topologyList") : w.find("costList");
    if (list == nullptr || list->type != json_value::kind::array) return r.in.missing(w, "topologyList", "a list");
    topology_report t;
    t.place = r.in.place(w);
    t.name = *name;
    t.preferred = r.out.topologies.empty();
    bool machine = false;
    for (const auto& l : list->items) {
      const auto key = r.in.text(l, "topologyKey");
      if (!key) return unexpected{key.error()};
      if (auto ok = add_level(t, *key, machine, l, r.in); !ok) return ok;
      const json_value* origins = l.find("originList") != nullptr ? l.find("originList") : l.find("originCosts");
      if (origins == nullptr || origins->type == json_value::kind::null) continue;
      if (origins->type != json_value::kind::array)
        return r.in.error(*origins, "originList: " + origins->described(), "a list");
      for (const auto& from : origins->items) {
        if (const auto origin = r.in.text(from, "origin"); !origin) return unexpected{origin.error()};
        const json_value* costs = from.find("costList") != nullptr ? from.find("costList") : from.find("costs");
        if (costs == nullptr || costs->type == json_value::kind::null) continue;
        if (costs->type != json_value::kind::array) return r.in.error(*costs, "costs: " + costs->described(), "a list");
        for (const auto& c : costs->items) {
          if (const auto to = r.in.text(c, "destination"); !to) return unexpected{to.error()};
          if (const auto cost = r.in.integer(c, "networkCost", 0, std::int64_t{1} << 40); !cost)
            return unexpected{cost.error()};
          for (const std::string_view amount : {"bandwidthCapacity", "bandwidthAllocated"})
            if (const json_value* q = c.find(amount))
              if (const auto ok = r.in.quantity(*q, amount); !ok) return unexpected{ok.error()};
        }
      }
    }
    if (!t.label_levels.empty()) r.out.topologies.push_back(std::move(t));
  }
  r.assume("Costs and bandwidths between the domains of a NetworkTopology are checked, and not used.");
  return {};
}

/// The levels that the machines' labels mean by themselves; nothing where a file declares levels itself.
inline void levels_of_labels(reading& r) {
  std::set<std::string, std::less<>> keys;
  for (std::size_t m = 0; m < r.out.machines.size(); ++m) {
    const auto& labels = r.out.machines[m].labels;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const std::string_view l = labels[i];
      const auto eq = l.find('=');
      if (eq == std::string_view::npos || eq + 1 == l.size()) continue;
      const std::string_view key = l.substr(0, eq);
      // Neighbours in a list mostly have the same keys.
      if (m > 0 && i < r.out.machines[m - 1].labels.size() &&
          std::string_view{r.out.machines[m - 1].labels[i]}.starts_with(l.substr(0, eq + 1)) &&
          r.out.machines[m - 1].labels[i].size() > eq + 1)
        continue;
      if (key.find("topology") != std::string_view::npos || key.find("topograph") != std::string_view::npos ||
          key.find("coreweave") != std::string_view::npos || key.find("rdma.") != std::string_view::npos ||
          key.starts_with("volcano.sh/") || key.starts_with("failure-domain."))
        if (!keys.contains(key)) keys.emplace(key);
    }
  }
  const auto has = [&](std::string_view key) { return keys.contains(key); };
  std::vector<std::string> zones;
  for (const auto k : kube_labels::zone_levels)
    if (has(k)) zones.emplace_back(k);
  if (zones.empty())
    for (const auto k : kube_labels::old_zone_levels)
      if (has(k)) zones.emplace_back(k);
  const auto add = [&](std::string_view name, const std::vector<std::string>& levels) {
    if (levels.empty()) return;
    topology_report t;
    t.place = r.out.machines.front().place;
    t.name = name;
    t.by = topology_report::standing::labels;
    t.preferred = r.out.topologies.empty();
    t.label_levels = zones;
    for (const auto& l : levels)
      if (t.label_levels.size() < max_label_levels) t.label_levels.push_back(l);
    r.out.topologies.push_back(std::move(t));
  };
  for (const auto& t : r.out.topologies)
    if (!t.label_levels.empty()) return;  // the file says itself which labels are levels
  for (const std::string_view prefix : {"fabric.topograph.run/tier-", "network.topology.nvidia.com/tier-"}) {
    std::vector<std::pair<std::uint64_t, std::string>> tiers;
    for (const auto& k : keys)
      if (k.starts_with(prefix))
        if (const auto n = io_text::parse_count(std::string_view{k}.substr(prefix.size()), 64))
          tiers.emplace_back(*n, k);
    std::sort(tiers.begin(), tiers.end());
    std::vector<std::string> levels;
    for (std::size_t i = tiers.size(); i-- > 0;) levels.push_back(tiers[i].second);  // tier 0 is nearest to the node
    add("topograph", levels);
  }
  for (const auto& f : kube_labels::families) {
    std::vector<std::string> levels;
    for (const auto k : f.levels)
      if (has(k)) levels.emplace_back(k);
    // Families share some labels: one that adds nothing to a topology that is there already is left out.
    bool fresh = false;
    for (const auto& l : levels) {
      bool there = false;
      for (const auto& t : r.out.topologies)
        for (const auto& have : t.label_levels) there = there || have == l;
      fresh = fresh || !there;
    }
    if (fresh) add(f.name, levels);
  }
  std::vector<std::pair<std::uint64_t, std::string>> layers;
  constexpr std::string_view aws = "topology.k8s.aws/network-node-layer-";
  for (const auto& k : keys)
    if (k.starts_with(aws))
      if (const auto n = io_text::parse_count(std::string_view{k}.substr(aws.size()), 64)) layers.emplace_back(*n, k);
  std::sort(layers.begin(), layers.end());  // layer 1 is the spine
  std::vector<std::string> levels;
  for (auto& l : layers) levels.push_back(std::move(l.second));
  add("AWS", levels);
  if (r.out.topologies.empty() && !zones.empty()) {
    topology_report t;
    t.place = r.out.machines.front().place;
    t.name = "zones";
    t.by = topology_report::standing::zones;
    t.label_levels = zones;
    r.out.topologies.push_back(std::move(t));
  }
}

/// NVLink domains of several machines, from the label that a declared topology has as its innermost level, else from
/// the best label that some machine has. NVLink domains need not nest in switches, so they are a topology of their own.
inline void nvlink_of_labels(reading& r) {
  std::vector<std::string_view> order;
  for (auto& t : r.out.topologies)
    if (!t.label_levels.empty() && t.label_levels.size() > 1)
      for (const auto key : nvlink_labels)
        if (t.label_levels.back() == key) {
          t.label_levels.pop_back();
          order.push_back(key);
          break;
        }
  const bool declared = !order.empty();
  for (const auto key : nvlink_labels) order.push_back(key);
  for (const auto key : order) {
    topology_report t;
    t.what = topology_report::kind::nvlink;
    t.name = key;
    std::unordered_map<std::string, std::uint32_t> known;
    for (const auto& m : r.out.machines) {
      const auto v = label_of(m, key);
      // A cluster id of zeros means that the GPUs are in no fabric.
      if (!v || v->empty() || (v->size() > 8 && v->find_first_not_of("0-.") == std::string_view::npos)) continue;
      const auto [it, fresh] = known.emplace(std::string{*v}, static_cast<std::uint32_t>(t.domains.size()));
      if (fresh) {
        t.domains.push_back({std::string{*v}, domain_declaration::no_parent, std::string{key}});
        t.domain_places.push_back(m.place);
      }
      t.members.push_back({m.name, it->second});
    }
    if (t.members.empty() && !(declared && r.out.machines.empty())) continue;
    if (t.members.empty()) t.label_levels.emplace_back(key);
    t.place = t.domain_places.empty() ? r.out.topologies.front().place : t.domain_places.front();
    r.out.topologies.push_back(std::move(t));
    return;
  }
}

}  // namespace berth::kube_detail
