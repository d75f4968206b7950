#pragma once
/// \file
/// NVIDIA topograph: its YAML models of sites, and the JSON that its `graph` engine and its NetQ provider exchange.
/// Needs yaml-cpp and nlohmann-json (through `io/yaml_document.hpp`), Boost.Graph for the result.
///
/// Model     `switches` (a map; in older models a list with names) and `blocks` of nodes with their leaf switch, labels
///           and annotations (older: `capacity_blocks` named by switches, `nvlink`). Nodes inherit the labels of the
///           switches above them; the block's own win.
/// Graph     `instances` with `network_layers`, closest first, and labels.
/// NetQ      compute nodes with the NVLink domain they are in (`DomainUUID`), their GPUs and health.
/// NVLink    domains from `accelerator.topology.test/domain` (annotation) or `accelerator.topograph.run/domain`
///           (label), and the parts of one from `…/sub-domain`: levels `nvlink` and `nvlink-sub`.
/// Slinky    a ConfigMap that holds a topology.conf, topology.yaml, slurm.conf or gres.conf: read as these files.
/// Rates     none of these formats says what a link carries: uplinks stay unknown unless another file tells them.
/// Not read  requests to topograph ("provider", "engine"), which name a model instead of holding one: refused.
/// What else topograph writes is read as what it is: topology.conf, topology.yaml, labels of nodes.
/// Source    NVIDIA/topograph docs/modeling.md, docs/engines/graph.md, pkg/models/model.go

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/hostlist.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/slurm/report.hpp"
#include "berth/io/yaml_document.hpp"

namespace berth {

namespace topograph_detail {

using kind = json_value::kind;
using label_map = std::map<std::string, std::string>;

/// The words for an NVLink domain and its parts, on nodes and in models.
inline constexpr std::string_view domain_words[] = {"accelerator.topology.test/domain",
                                                    "accelerator.topograph.run/domain"};
inline constexpr std::string_view part_words[] = {"accelerator.topology.test/sub-domain",
                                                  "accelerator.topograph.run/sub-domain"};

/// Most labels of all nodes together.
inline constexpr std::size_t max_labels = std::size_t{1} << 23;

/// Builds a report of nodes with switches and NVLink domains.
class report_builder {
 public:
  report_builder(const named_text& file, const reader_options& options) : options_{options} {
    out.source = file.name;
    network_.what = topology_report::kind::network;
    nvlink_.what = topology_report::kind::nvlink;
    network_.place = nvlink_.place = {file.name, 0};
  }

  site_report out;

  [[nodiscard]] unexpected<input_error> fail(std::size_t line, std::string found, std::string wanted) const {
    return unexpected{input_error{out.source, line, std::move(found), std::move(wanted)}};
  }

  /// A domain of a topology, new or known. A known one keeps its parent; another is an error.
  [[nodiscard]] expected<std::uint32_t, input_error> domain(bool nvlink, const std::string& name, std::uint32_t parent,
                                                            std::size_t line) {
    topology_report& t = nvlink ? nvlink_ : network_;
    auto& index = nvlink ? nvlink_index_ : network_index_;
    if (name.empty() || name.size() > 1024) return fail(line, "a domain without a name", "a name");
    // Parts of NVLink domains are told apart by the domain they are in.
    std::string key = name;
    if (nvlink && parent != domain_declaration::no_parent) key = t.domains[parent].name + "\n" + name;
    const auto [it, fresh] = index.emplace(std::move(key), static_cast<std::uint32_t>(t.domains.size()));
    if (!fresh) {
      auto& known = t.domains[it->second];
      if (parent == domain_declaration::no_parent || known.parent == parent) return it->second;
      if (known.parent != domain_declaration::no_parent)
        return fail(
            line, "switch " + name + " under " + t.domains[parent].name + " and under " + t.domains[known.parent].name,
            "one parent");
      known.parent = parent;
      return it->second;
    }
    if (t.domains.size() >= options_.max_machines) return fail(line, "too many domains", "fewer");
    std::string level;
    if (nvlink) level = parent == domain_declaration::no_parent ? "nvlink" : "nvlink-sub";
    t.domains.push_back({name, parent, std::move(level)});
    t.domain_places.push_back({out.source, line});
    return it->second;
  }
  [[nodiscard]] std::optional<std::uint32_t> find_switch(const std::string& name) const {
    const auto it = network_index_.find(name);
    if (it == network_index_.end()) return std::nullopt;
    return it->second;
  }
  [[nodiscard]] const std::vector<domain_declaration>& switches() const { return network_.domains; }

  /// A machine; each name once.
  [[nodiscard]] expected<machine_report*, input_error> machine(const std::string& name, std::size_t line) {
    if (name.empty() || name.size() > max_host_name) return fail(line, "node " + io_text::quoted(name), "a host name");
    if (out.machines.size() >= options_.max_machines)
      return fail(line, "more machines than the limit of " + std::to_string(options_.max_machines), "fewer");
    const auto [it, fresh] = machines_.emplace(name, line);
    if (!fresh)
      return fail(line, "node " + name + " again (first on line " + std::to_string(it->second) + ")", "each node once");
    machine_report m;
    m.place = {out.source, line};
    m.name = name;
    out.machines.push_back(std::move(m));
    return &out.machines.back();
  }
  void place_on_switch(const std::string& machine_name, std::uint32_t at) {
    network_.members.push_back({machine_name, at});
  }
  [[nodiscard]] expected<void, input_error> place_in_nvlink(const std::string& machine_name,
                                                            const std::string& domain_name, const std::string& part,
                                                            std::size_t line) {
    if (domain_name.empty()) {
      if (part.empty()) return {};
      return fail(line, "the NVLink sub-domain " + io_text::quoted(part) + " without its domain", "the domain, too");
    }
    auto at = domain(true, domain_name, domain_declaration::no_parent, line);
    if (at && !part.empty()) at = domain(true, part, *at, line);
    if (!at) return unexpected{std::move(at).error()};
    nvlink_.members.push_back({machine_name, *at});
    return {};
  }

  /// The whole. Errors: switches in a circle, no node.
  [[nodiscard]] expected<site_report, input_error> finish() {
    if (out.machines.empty()) return fail(1, "no node", "at least one node");
    const auto& d = network_.domains;
    std::vector<std::uint32_t> seen(d.size(), 0);
    for (std::uint32_t i = 0; i < d.size(); ++i)
      for (std::uint32_t at = i; at != domain_declaration::no_parent && seen[at] != i + 1; at = d[at].parent) {
        if (seen[at] != 0) break;  // an earlier walk came by and found the top
        seen[at] = i + 1;
        const auto up = d[at].parent;
        if (up != domain_declaration::no_parent && seen[up] == i + 1)
          return fail(network_.domain_places[up].line, "a cycle: switch " + d[up].name + " is above itself", "a tree");
      }
    if (!network_.members.empty()) out.topologies.push_back(std::move(network_));
    if (!nvlink_.members.empty()) out.topologies.push_back(std::move(nvlink_));
    return std::move(out);
  }

 private:
  const reader_options& options_;
  topology_report network_, nvlink_;
  std::unordered_map<std::string, std::uint32_t> network_index_, nvlink_index_;
  std::unordered_map<std::string, std::size_t> machines_;
};

/// The value of the first of these words; "" for none.
template <std::size_t N>
[[nodiscard]] std::string value_of(const label_map& labels, const std::string_view (&words)[N]) {
  for (const auto w : words)
    if (const auto it = labels.find(std::string{w}); it != labels.end()) return it->second;
  return {};
}

class model_reader {
 public:
  model_reader(const named_text& file, const reader_options& options)
      : build_{file, options}, most_{options.max_machines} {}

  [[nodiscard]] expected<site_report, input_error> read(const json_value& root) {
    build_.out.format = "topograph model";
    if (const auto* switches = root.find("switches"); switches != nullptr && switches->type != kind::null)
      if (auto ok = add_switches(*switches); !ok) return unexpected{std::move(ok).error()};
    for (const char* key : {"blocks", "capacity_blocks"})
      if (const auto* blocks = root.find(key); blocks != nullptr && blocks->type != kind::null) {
        if (blocks->type != kind::array)
          return build_.fail(blocks->line, std::string{key} + ": " + blocks->described(), "a list of blocks");
        for (const auto& b : blocks->items)
          if (auto ok = add_block(b); !ok) return unexpected{std::move(ok).error()};
      }
    for (const auto& [block, at] : switch_of_block_)
      if (!at.used) return build_.fail(at.line, "unknown block " + io_text::quoted(block), "a block of that name");
    for (const auto& key : root.keys)
      if (key != "switches" && key != "blocks" && key != "capacity_blocks" && key != "nodes" && key != "name" &&
          key != "provider")
        return build_.fail(root.line, "key " + io_text::quoted(key), "switches and blocks");
    return build_.finish();
  }

 private:
  using status = expected<void, input_error>;
  struct block_place {
    std::uint32_t at;
    std::size_t line;
    bool used;
  };

  [[nodiscard]] status read_map(const json_value* v, label_map& to) const {
    if (v == nullptr || v->type == kind::null) return {};
    if (v->type != kind::object) return build_.fail(v->line, v->described(), "a mapping of words");
    for (std::size_t i = 0; i < v->keys.size(); ++i) {
      if (v->items[i].type == kind::array || v->items[i].type == kind::object)
        return build_.fail(v->items[i].line, v->keys[i] + ": " + v->items[i].described(), "a word");
      to[v->keys[i]] = scalar_text(v->items[i]);
    }
    return {};
  }
  /// A list of words, or of host lists where these are expanded.
  [[nodiscard]] expected<std::vector<std::string>, input_error> words(const json_value* v, bool expand) {
    std::vector<std::string> out;
    if (v == nullptr || v->type == kind::null) return out;
    if (v->type != kind::array) return build_.fail(v->line, v->described(), "a list of names");
    for (const auto& i : v->items) {
      std::string w = scalar_text(i);
      if (w.empty()) return build_.fail(i.line, i.described(), "a name");
      if (!expand) {
        out.push_back(std::move(w));
        continue;
      }
      const auto names = expand_hostlist(w, most_ - std::min(most_, out.size()));
      if (!names) return unexpected{names.error().at(build_.out.source, i.line)};
      out.insert(out.end(), names->begin(), names->end());
    }
    return out;
  }

  [[nodiscard]] status add_switches(const json_value& v) {
    if (v.type != kind::object && v.type != kind::array)
      return build_.fail(v.line, "switches: " + v.described(), "a mapping of switches");
    // Names first: children may come before their own entry.
    std::vector<std::uint32_t> ids;
    for (std::size_t i = 0; i < v.items.size(); ++i) {
      const json_value& s = v.items[i];
      const json_value* stated = s.find("name");
      const std::string name = v.type == kind::object ? v.keys[i] : stated == nullptr ? "" : scalar_text(*stated);
      if (s.type != kind::object)
        return build_.fail(s.line, "switch " + io_text::quoted(name) + ": " + s.described(), "a mapping");
      if (build_.find_switch(name))
        return build_.fail(s.line, "a second switch " + io_text::quoted(name), "each name once");
      const auto id = build_.domain(false, name, domain_declaration::no_parent, s.line);
      if (!id) return unexpected{id.error()};
      ids.push_back(*id);
    }
    for (std::size_t i = 0; i < v.items.size(); ++i) {
      const json_value& s = v.items[i];
      for (std::size_t k = 0; k < s.keys.size(); ++k) {
        const auto& key = s.keys[k];
        if (key != "name" && key != "labels" && key != "annotations" && key != "metadata" && key != "switches" &&
            key != "nodes" && key != "capacity_blocks")
          return build_.fail(s.items[k].line, "key " + io_text::quoted(key), "labels, annotations or switches");
      }
      for (const char* key : {"metadata", "labels"})
        if (auto ok = read_map(s.find(key), labels_[ids[i]]); !ok) return ok;
      if (auto ok = read_map(s.find("annotations"), annotations_[ids[i]]); !ok) return ok;
      auto children = words(s.find("switches"), false);
      if (!children) return unexpected{std::move(children).error()};
      for (const auto& c : *children) {
        // A leaf has no entry of its own where there is nothing else to say about it.
        const auto known = build_.find_switch(c);
        if (known && build_.switches()[*known].parent == ids[i])
          return build_.fail(s.line, "switch " + io_text::quoted(c) + " twice under one switch", "each switch once");
        const auto child = build_.domain(false, c, ids[i], s.line);
        if (!child) return unexpected{child.error()};
      }
      auto nodes = words(s.find("nodes"), true);
      if (!nodes) return unexpected{std::move(nodes).error()};
      for (auto& n : *nodes) switch_of_node_.emplace(std::move(n), ids[i]);
      auto blocks = words(s.find("capacity_blocks"), false);
      if (!blocks) return unexpected{std::move(blocks).error()};
      for (auto& b : *blocks)
        if (!switch_of_block_.emplace(b, block_place{ids[i], s.line, false}).second)
          return build_.fail(s.line, "block " + io_text::quoted(b) + " under two switches",
                             "one switch for each block");
    }
    return {};
  }

  [[nodiscard]] status add_block(const json_value& v) {
    if (v.type != kind::object) return build_.fail(v.line, v.described(), "a block");
    for (std::size_t k = 0; k < v.keys.size(); ++k) {
      const auto& key = v.keys[k];
      if (key != "switch" && key != "nodes" && key != "labels" && key != "annotations" && key != "name" &&
          key != "type" && key != "nvlink")
        return build_.fail(v.items[k].line, "key " + io_text::quoted(key), "switch, nodes, labels or annotations");
    }
    auto nodes = words(v.find("nodes"), true);
    if (!nodes) return unexpected{std::move(nodes).error()};
    if (nodes->empty()) return build_.fail(v.line, "a block without nodes", "nodes: a list");
    std::optional<std::uint32_t> at;
    if (const auto* s = v.find("switch"); s != nullptr && !scalar_text(*s).empty()) {
      at = build_.find_switch(scalar_text(*s));
      if (!at)
        return build_.fail(s->line, "unknown switch " + io_text::quoted(scalar_text(*s)), "a switch of the model");
    }
    if (const auto* name = v.find("name"); name != nullptr && !at)
      if (const auto it = switch_of_block_.find(scalar_text(*name)); it != switch_of_block_.end()) {
        at = it->second.at;
        it->second.used = true;
      }
    label_map labels, annotations;
    if (at) {
      // Outermost first, so that what is nearer wins.
      std::vector<std::uint32_t> path;
      for (std::uint32_t up = *at; up != domain_declaration::no_parent && path.size() < 64;
           up = build_.switches()[up].parent)
        path.push_back(up);
      for (std::size_t i = path.size(); i-- > 0;) {
        for (const auto& [k, w] : labels_[path[i]]) labels[k] = w;
        for (const auto& [k, w] : annotations_[path[i]]) annotations[k] = w;
      }
    }
    if (auto ok = read_map(v.find("labels"), labels); !ok) return ok;
    if (auto ok = read_map(v.find("annotations"), annotations); !ok) return ok;
    std::string nvlink = value_of(annotations, domain_words), part = value_of(annotations, part_words);
    if (const auto* old = v.find("nvlink"); old != nullptr && nvlink.empty()) nvlink = scalar_text(*old);
    label_count_ += labels.size() * nodes->size();
    if (label_count_ > max_labels)
      return build_.fail(v.line, "more than " + std::to_string(max_labels) + " labels in all", "fewer");
    const auto* type = v.find("type");
    for (const auto& n : *nodes) {
      auto m = build_.machine(n, v.line);
      if (!m) return unexpected{std::move(m).error()};
      for (const auto& [k, w] : labels) (*m)->labels.push_back(k + "=" + w);
      if (type != nullptr) (*m)->gpu_model = scalar_text(*type);
      const auto own = switch_of_node_.find(n);
      if (at) build_.place_on_switch(n, *at);
      else if (own != switch_of_node_.end()) build_.place_on_switch(n, own->second);
      if (auto ok = build_.place_in_nvlink(n, nvlink, part, v.line); !ok) return ok;
    }
    return {};
  }

  report_builder build_;
  std::size_t most_;
  std::size_t label_count_ = 0;
  std::unordered_map<std::uint32_t, label_map> labels_, annotations_;  // by switch
  std::unordered_map<std::string, std::uint32_t> switch_of_node_;
  std::unordered_map<std::string, block_place> switch_of_block_;
};

/// `{"instances": [{"id": …, "network_layers": [leaf, …], "labels": {…}}]}`
[[nodiscard]] inline expected<site_report, input_error> read_graph(const named_text& file, const json_value& root,
                                                                   const reader_options& options) {
  report_builder build{file, options};
  build.out.format = "topograph graph";
  const json_value& list = *root.find("instances");
  if (list.type != kind::array) return build.fail(list.line, "instances: " + list.described(), "a list");
  for (const auto& v : list.items) {
    const json_value* id = v.find("id");
    if (id == nullptr) return build.fail(v.line, "an instance without id", "id: NAME");
    auto m = build.machine(scalar_text(*id), v.line);
    if (!m) return unexpected{std::move(m).error()};
    label_map labels;
    if (const auto* l = v.find("labels"); l != nullptr && l->type == kind::object)
      for (std::size_t i = 0; i < l->keys.size(); ++i) labels[l->keys[i]] = scalar_text(l->items[i]);
    for (const auto& [k, w] : labels) (*m)->labels.push_back(k + "=" + w);
    const std::string name = (*m)->name;
    if (const auto* layers = v.find("network_layers"); layers != nullptr && layers->type != kind::null) {
      if (layers->type != kind::array || layers->items.size() > 16)
        return build.fail(layers->line, "network_layers: " + layers->described(), "a list of at most 16 switches");
      std::uint32_t parent = domain_declaration::no_parent;
      for (std::size_t i = layers->items.size(); i-- > 0;) {
        const auto at = build.domain(false, scalar_text(layers->items[i]), parent, layers->line);
        if (!at) return unexpected{at.error()};
        parent = *at;
      }
      if (parent != domain_declaration::no_parent) build.place_on_switch(name, parent);
    }
    if (auto ok = build.place_in_nvlink(name, value_of(labels, domain_words), value_of(labels, part_words), v.line);
        !ok)
      return unexpected{std::move(ok).error()};
  }
  return build.finish();
}

/// `[{"Name": …, "DomainUUID": …, "GpuIDList": […], "Health": …}]`
[[nodiscard]] inline expected<site_report, input_error> read_netq(const named_text& file, const json_value& root,
                                                                  const reader_options& options) {
  report_builder build{file, options};
  build.out.format = "NetQ compute nodes";
  for (const auto& v : root.items) {
    const json_value* name = v.find("Name");
    if (name == nullptr) return build.fail(v.line, "a compute node without Name", "Name");
    auto m = build.machine(scalar_text(*name), v.line);
    if (!m) return unexpected{std::move(m).error()};
    if (const auto* id = v.find("ID"); id != nullptr && !scalar_text(*id).empty())
      (*m)->aliases.push_back(scalar_text(*id));
    if (const auto* gpus = v.find("GpuIDList"); gpus != nullptr && gpus->type == kind::array) {
      if (gpus->items.size() > max_devices_per_node)
        return build.fail(gpus->line, std::to_string(gpus->items.size()) + " GPUs in one node", "at most 64");
      (*m)->gpus = static_cast<unsigned>(gpus->items.size());
    }
    if (const auto* health = v.find("Health"); health != nullptr && !scalar_text(*health).empty()) {
      const std::string h = scalar_text(*health);
      (*m)->usable = h == "HEALTHY";
      if (h != "HEALTHY")
        build.out.assumptions.push_back("Node " + (*m)->name + " is " + h + "; nothing is placed there.");
    }
    const std::string known = (*m)->name;
    const auto* domain = v.find("DomainUUID");
    if (auto ok = build.place_in_nvlink(known, domain == nullptr ? "" : scalar_text(*domain), "", v.line); !ok)
      return unexpected{std::move(ok).error()};
  }
  return build.finish();
}

/// Slurm's files inside a ConfigMap.
inline constexpr std::string_view slurm_files[] = {"topology.conf", "topology.yaml", "slurm.conf", "gres.conf"};

[[nodiscard]] inline expected<site_report, input_error> read_config_map(const named_text& file, const json_value& root,
                                                                        const reader_options& options) {
  const json_value* data = root.find("data");
  std::vector<named_text> files;
  if (data != nullptr)
    for (const auto key : slurm_files)
      if (const auto* v = data->find(key); v != nullptr && v->type == kind::string) {
        // A block of text begins on the line after its key; with as many empty lines before it, faults have their line.
        const bool block = v->text.find('\n') != std::string::npos && file.text.find_first_of("{[") != 0;
        files.push_back({file.name, std::string(block ? v->line : v->line - 1, '\n') + v->text});
      }
  if (files.empty())
    return unexpected{input_error{file.name, root.line, "a ConfigMap without Slurm's files",
                                  "topology.conf, topology.yaml, slurm.conf or gres.conf under data"}};
  slurm_options o;
  o.max_nodes = std::min(options.max_machines, default_hostlist_limit);
  o.load = options.load;
  auto out = read_slurm_report(files, o);
  if (out) out->format = "Slurm in a ConfigMap";
  return out;
}

[[nodiscard]] inline bool is_config_map(std::string_view head) noexcept {
  if (head.find("ConfigMap") == std::string_view::npos) return false;
  for (const auto key : slurm_files)
    if (head.find(key) != std::string_view::npos) return true;
  return false;
}

[[nodiscard]] inline bool has_line_key(std::string_view text, std::string_view key) noexcept {
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1))
    if (at == 0 || text[at - 1] == '\n') return true;
  return false;
}

}  // namespace topograph_detail

/// Whether the text is a topograph model, the output of its graph engine, a list of NetQ's compute nodes, or a request
/// to topograph (which is refused with the reason).
[[nodiscard]] inline bool looks_like_topograph(std::string_view text) noexcept {
  using topograph_detail::has_line_key;
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string_view::npos) return false;
  const std::string_view head = text.substr(first, std::size_t{1} << 16);
  if (topograph_detail::is_config_map(head)) return true;
  if (head.front() == '{') {
    const bool graph = head.find("\"instances\"") != head.npos && head.find("\"network_layers\"") != head.npos;
    const bool request = head.find("\"provider\"") != head.npos && head.find("\"engine\"") != head.npos;
    return (graph || request) && head.find("\"apiVersion\"") == head.npos;
  }
  if (head.front() == '[') return head.find("\"DomainUUID\"") != head.npos && head.find("\"GpuIDList\"") != head.npos;
  if (has_line_key(head, "apiVersion:") || has_line_key(head, "kind:")) return false;
  const bool blocks = has_line_key(text, "blocks:") || has_line_key(text, "capacity_blocks:");
  return blocks && (has_line_key(text, "switches:") || text.find("nodes:") != text.npos);
}

/// Reads such a file. O(bytes + nodes). Errors: another form, a switch under two parents, a node in two blocks, unknown
/// switches, requests.
[[nodiscard]] inline expected<site_report, input_error> read_topograph(const named_text& file,
                                                                       const reader_options& options = {}) {
  auto documents = parse_documents(file.text, file.name);
  if (!documents) return unexpected{std::move(documents).error()};
  const json_value& root = documents->front();
  const auto fail = [&](const json_value& at, std::string found, std::string wanted) {
    return unexpected{input_error{file.name, at.line, std::move(found), std::move(wanted)}};
  };
  if (documents->size() != 1) return fail((*documents)[1], "a second document", "one model");
  if (root.type == json_value::kind::array) return topograph_detail::read_netq(file, root, options);
  if (root.type != json_value::kind::object) return fail(root, root.described(), "switches and blocks");
  if (root.find("engine") != nullptr && root.find("provider") != nullptr)
    return fail(root, "a request to topograph, which names a provider or a model but holds no node",
                "the model file that it names, or what topograph answers");
  if (const auto* k = root.find("kind"); k != nullptr && k->text == "ConfigMap")
    return topograph_detail::read_config_map(file, root, options);
  if (root.find("instances") != nullptr) return topograph_detail::read_graph(file, root, options);
  return topograph_detail::model_reader{file, options}.read(root);
}

}  // namespace berth
