#pragma once
/// \file
/// A cluster as Kubernetes objects: nodes with labels and a Kueue Topology, or Volcano HyperNodes. What is written is
/// read back as the same tree by `read_kubernetes`. Standard library alone (through `io/topology_rules.hpp`:
/// Boost.Graph).
///
/// Cost  O(nodes × (levels + labels)).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/cluster/spec.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/kubernetes/labels.hpp"
#include "berth/io/taints.hpp"
#include "berth/io/text.hpp"
#include "berth/io/topology_rules.hpp"

namespace berth {

namespace kube_write {

/// What a label's value may be: at most 63 letters, digits, `-`, `_`, `.`, a letter or digit at both ends; or empty.
[[nodiscard]] inline bool is_label_value(std::string_view v) noexcept {
  if (v.size() > 63) return false;
  const auto plain = [](char c) {
    return io_text::is_digit(c) || (io_text::lower(c) >= 'a' && io_text::lower(c) <= 'z');
  };
  for (const char c : v)
    if (!plain(c) && c != '-' && c != '_' && c != '.') return false;
  return v.empty() || (plain(v.front()) && plain(v.back()));
}
/// What an object's name may be: at most 253 of lower-case letters, digits, `-`, `.`, none of these two at an end.
[[nodiscard]] inline bool is_object_name(std::string_view v) noexcept {
  if (v.empty() || v.size() > 253) return false;
  const auto plain = [](char c) { return io_text::is_digit(c) || (c >= 'a' && c <= 'z'); };
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (plain(v[i])) continue;
    if ((v[i] != '-' && v[i] != '.') || i == 0 || i + 1 == v.size()) return false;
    if (v[i] == '.' && !plain(v[i - 1])) return false;
    if (v[i] == '-' && v[i - 1] == '.') return false;
  }
  return true;
}
/// What a label's key may be: a name like a value, with an object name and a slash before it or not.
[[nodiscard]] inline bool is_label_key(std::string_view k) noexcept {
  const std::size_t slash = k.find('/');
  if (slash == std::string_view::npos) return !k.empty() && is_label_value(k);
  return is_object_name(k.substr(0, slash)) && slash + 1 < k.size() && is_label_value(k.substr(slash + 1));
}
/// A word in YAML, always in double quotes.
[[nodiscard]] inline std::string yaml_word(std::string_view s) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : s) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += {'\\', c};
    else if (u < 0x20 || u == 0x7F) out += {'\\', 'x', hex[u >> 4], hex[u & 15U]};
    else out += c;
  }
  return out + "\"";
}
/// The label of a level: the level's name where it is a label itself, else our own.
[[nodiscard]] inline std::string level_label(const std::string& level) {
  return level.find('/') != std::string::npos ? level : std::string{own_level_prefix} + level;
}
[[nodiscard]] inline unexpected<input_error> refuse(std::string found, std::string wanted) {
  return unexpected{input_error{"cluster", 0, std::move(found), std::move(wanted)}};
}

}  // namespace kube_write

/// Every node as `kind: Node` with a label per level, its other labels, taints, allocatable amounts and GPU model, and
/// a Kueue `Topology` of the levels. Domains made to fill a gap have no name and get no label. Errors: names that are
/// no label values (longer than 63 characters, other characters) or two sister domains alike.
[[nodiscard]] inline expected<std::string, input_error> write_kueue_labels(const cluster_spec& spec) {
  using namespace kube_write;
  const domain_tree& tree = spec.tree;
  std::string out =
      "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Topology\nmetadata:\n  name: \"berth\"\nspec:\n  levels:\n";
  std::vector<std::string> keys;
  for (std::uint8_t l = 1; l < tree.level_count(); ++l) {
    keys.push_back(level_label(tree.level_name(level_id{l})));
    if (!is_label_key(keys.back()))
      return refuse("level " + io_text::quoted(tree.level_name(level_id{l})), "a level whose name can be a label");
    for (std::size_t i = 0; i + 1 < keys.size(); ++i)
      if (keys[i] == keys.back())
        return refuse("two levels with label " + io_text::quoted(keys.back()), "levels with different names");
    out += "  - nodeLabel: " + yaml_word(keys.back()) + "\n";
    std::set<std::pair<std::uint32_t, std::string>> sisters;
    for (std::uint32_t d = 0; d < tree.domain_count(level_id{l}); ++d) {
      const auto& domain = tree.at(level_id{l}, domain_id{d});
      if (domain.implicit) continue;
      const std::string& name = tree.name(level_id{l}, domain_id{d});
      if (name.empty() || !is_label_value(name))
        return refuse("domain " + io_text::quoted(name), "a name that can be the value of a label");
      if (!sisters.emplace(domain.parent, name).second)
        return refuse("two domains " + io_text::quoted(name) + " in one", "sister domains with different names");
    }
  }
  out += "  - nodeLabel: \"kubernetes.io/hostname\"\n";
  for (std::size_t n = 0; n < spec.nodes.size(); ++n) {
    const node_spec& node = spec.nodes[n];
    if (!is_object_name(node.name))
      return refuse("node " + io_text::quoted(node.name),
                    "a name that can be an object's: lower-case letters, digits, - and .");
    const node_shape& shape = spec.shapes[node.shape.index()];
    std::map<std::string, std::string> labels;
    std::string taints;
    for (const auto& label : node.labels) {
      if (label == cordon_taint) continue;  // follows from `unschedulable`
      if (label.starts_with("taint:")) {
        const std::string_view t = std::string_view{label}.substr(6);
        const std::size_t eq = t.find('='), colon = t.rfind(':');
        if (eq == std::string_view::npos || colon == std::string_view::npos || colon < eq)
          return refuse("label " + io_text::quoted(label), "taint:key=value:effect");
        taints += "  - key: " + yaml_word(t.substr(0, eq)) +
                  "\n    value: " + yaml_word(t.substr(eq + 1, colon - eq - 1)) +
                  "\n    effect: " + yaml_word(t.substr(colon + 1)) + "\n";
        continue;
      }
      const std::size_t eq = label.find('=');
      const std::string key =
          eq == std::string::npos ? std::string{kube_labels::own_feature} + label : label.substr(0, eq);
      const std::string value = eq == std::string::npos ? "true" : label.substr(eq + 1);
      if (!is_label_key(key) || !is_label_value(value))
        return refuse("label " + io_text::quoted(label), "a key and a value that Kubernetes takes");
      labels.insert_or_assign(key, value);
    }
    const node_id id{static_cast<std::uint32_t>(n)};
    for (std::uint8_t l = 1; l < tree.level_count(); ++l) {
      const domain_id d = tree.domain_of(id, level_id{l});
      if (!tree.at(level_id{l}, d).implicit)
        labels.insert_or_assign(keys[std::size_t{l} - 1U], tree.name(level_id{l}, d));
    }
    labels.insert_or_assign("kubernetes.io/hostname", node.name);
    bool alike = !shape.models.empty();
    for (const auto& m : shape.models) alike = alike && m == shape.models.front();
    if (alike && is_label_value(shape.models.front()) && !shape.models.front().empty())
      labels.emplace("nvidia.com/gpu.product", shape.models.front());
    if (is_label_value(shape.name) && !shape.name.empty())
      labels.emplace("node.kubernetes.io/instance-type", shape.name);
    out += "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: " + yaml_word(node.name) + "\n  labels:\n";
    for (const auto& [key, value] : labels) out += "    " + yaml_word(key) + ": " + yaml_word(value) + "\n";
    const bool cordoned =
        !node.usable && std::find(node.labels.begin(), node.labels.end(), cordon_taint) != node.labels.end();
    if (cordoned || !taints.empty()) out += "spec:\n";
    if (cordoned) out += "  unschedulable: true\n";
    if (!taints.empty()) out += "  taints:\n" + taints;
    const std::string amounts = "    cpu: \"" + std::to_string(node.cpu.count()) + "m\"\n    memory: \"" +
                                std::to_string(node.memory.count()) + "\"\n    nvidia.com/gpu: \"" +
                                std::to_string(shape.devices) + "\"\n";
    out += "status:\n  allocatable:\n" + amounts + "  capacity:\n" + amounts;
    if (!node.usable && !cordoned) out += "  conditions:\n  - type: Ready\n    status: \"False\"\n";
  }
  return out;
}

/// The domains as Volcano `HyperNode`s, tier 1 above the nodes, with `tierName` where the level has a name of its own.
/// A domain whose name Kubernetes does not take, or that two domains share, gets another and keeps its own in an
/// annotation; domains made to fill a gap are left out, and what is in them hangs one tier higher.
/// Errors: node names that Kubernetes does not take.
[[nodiscard]] inline expected<std::string, input_error> write_volcano_hypernodes(const cluster_spec& spec) {
  using namespace kube_write;
  const domain_tree& tree = spec.tree;
  const std::uint8_t levels = tree.level_count();
  for (const auto& node : spec.nodes)
    if (!is_object_name(node.name))
      return refuse("node " + io_text::quoted(node.name),
                    "a name that can be an object's: lower-case letters, digits, - and .");
  std::vector<std::vector<std::string>> names(levels);
  std::set<std::string> taken;
  for (std::uint8_t l = 1; l < levels; ++l) {
    names[l].resize(tree.domain_count(level_id{l}));
    for (std::uint32_t d = 0; d < names[l].size(); ++d) {
      if (tree.at(level_id{l}, domain_id{d}).implicit) continue;
      std::string name;
      for (const char c : tree.name(level_id{l}, domain_id{d})) {
        const char k = io_text::lower(c);
        name += io_text::is_digit(k) || (k >= 'a' && k <= 'z') ? k : '-';
      }
      if (name.size() > 200) name.resize(200);
      while (!name.empty() && name.front() == '-') name.erase(0, 1);
      while (!name.empty() && name.back() == '-') name.pop_back();
      if (is_object_name(tree.name(level_id{l}, domain_id{d}))) name = tree.name(level_id{l}, domain_id{d});
      if (name.empty()) name = "domain";
      std::string unique = name;
      for (std::size_t k = 2; !taken.insert(unique).second; ++k) unique = name + "-" + std::to_string(k);
      names[l][d] = std::move(unique);
    }
  }
  const auto member = [](std::string_view type, const std::string& name) {
    return "  - type: " + std::string{type} + "\n    selector:\n      exactMatch:\n        name: " + yaml_word(name) +
           "\n";
  };
  std::string out;
  // Members below a domain; those of domains without a name are taken up.
  struct frame {
    std::uint8_t level;
    std::uint32_t domain;
  };
  for (std::uint8_t l = 1; l < levels; ++l) {
    const std::string& level = tree.level_name(level_id{l});
    const std::string tier = std::to_string(levels - l);
    for (std::uint32_t d = 0; d < names[l].size(); ++d) {
      if (names[l][d].empty()) continue;
      std::string members;
      std::vector<frame> todo{{l, d}};
      while (!todo.empty()) {
        const frame f = todo.back();
        todo.pop_back();
        if (f.level != l && !names[f.level][f.domain].empty()) {
          members += member("HyperNode", names[f.level][f.domain]);
          continue;
        }
        const auto& domain = tree.at(level_id{f.level}, domain_id{f.domain});
        if (f.level + 1 == levels) {
          for (std::uint32_t n = domain.nodes.first; n < domain.nodes.last; ++n)
            members += member("Node", spec.nodes[n].name);
        } else {
          for (std::uint32_t c = domain.children.last; c-- > domain.children.first;)
            todo.push_back({static_cast<std::uint8_t>(f.level + 1), c});
        }
      }
      if (!out.empty()) out += "---\n";
      out += "apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata:\n  name: " + yaml_word(names[l][d]) +
             "\n";
      if (const std::string& own = tree.name(level_id{l}, domain_id{d}); own != names[l][d])
        out +=
            "  annotations:\n    " + yaml_word(std::string{own_level_prefix} + "name") + ": " + yaml_word(own) + "\n";
      out += "spec:\n  tier: " + tier + "\n";
      if (level != "tier" + tier) out += "  tierName: " + yaml_word(level) + "\n";
      out += "  members:\n" + members;
    }
  }
  if (out.empty()) return refuse("a cluster of one domain without a name", "domains");
  return out;
}

}  // namespace berth
