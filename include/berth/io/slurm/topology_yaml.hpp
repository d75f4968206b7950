#pragma once
/// \file
/// Slurm's topology.yaml (25.05 and later): several named topologies of one cluster. Needs yaml-cpp and nlohmann-json
/// (through `io/yaml_document.hpp`).
///
/// Read      tree, block, flat, ring and torus3d. The first with `cluster_default: true` is the preferred one, else the
///           first of all. Of a ring the order, and of a torus the coordinates, are not kept: each is a group of nodes.
/// Source    topology.yaml(5)

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/slurm_lines.hpp"
#include "berth/io/slurm_topology.hpp"
#include "berth/io/yaml_document.hpp"

namespace berth {

/// One topology of a topology.yaml.
struct slurm_named_topology {
  std::string name;
  bool preferred = false;
  bool flat = false;  ///< all nodes alike: `declared` is empty
  declared_topology declared;
};

namespace slurm_detail {

class topology_yaml_reader {
 public:
  topology_yaml_reader(const std::string& source, std::size_t max_names) : source_{source}, most_{max_names} {}

  [[nodiscard]] expected<std::vector<slurm_named_topology>, input_error> read(std::string_view text) {
    auto documents = parse_yaml(text, source_);
    if (!documents) return unexpected{std::move(documents).error()};
    if (documents->size() != 1) return fail((*documents)[1], "a second document", "one list of topologies");
    const json_value& root = documents->front();
    if (root.type != json_value::kind::array) return fail(root, root.described(), "a list of topologies");
    std::vector<slurm_named_topology> out;
    if (root.items.size() > 1000) return fail(root, "more than 1000 topologies", "fewer");
    for (const auto& item : root.items) {
      auto t = topology(item);
      if (!t) return unexpected{std::move(t).error()};
      for (const auto& other : out)
        if (other.name == t->name) return fail(item, "a second topology " + io_text::quoted(t->name), "each name once");
      out.push_back(std::move(*t));
    }
    if (out.empty()) return fail(root, "an empty list", "at least one topology");
    bool chosen = false;  // the first default wins
    for (auto& t : out) chosen = (t.preferred = t.preferred && !chosen) || chosen;
    if (!chosen) out.front().preferred = true;
    return out;
  }

 private:
  template <class T = void>
  [[nodiscard]] unexpected<input_error> fail(const json_value& at, std::string found, std::string wanted) const {
    return unexpected{input_error{source_, at.line, std::move(found), std::move(wanted)}};
  }
  /// Fails on a key that is not among these.
  [[nodiscard]] std::optional<input_error> only(const json_value& v, std::initializer_list<std::string_view> keys,
                                                std::string wanted) const {
    if (v.type != json_value::kind::object) return input_error{source_, v.line, v.described(), wanted};
    for (std::size_t i = 0; i < v.keys.size(); ++i) {
      bool known = false;
      for (const auto k : keys) known = known || v.keys[i] == k;
      if (!known) return input_error{source_, v.items[i].line, "key " + io_text::quoted(v.keys[i]), std::move(wanted)};
    }
    return std::nullopt;
  }

  [[nodiscard]] expected<slurm_named_topology, input_error> topology(const json_value& v) {
    if (auto e = only(v, {"topology", "cluster_default", "tree", "block", "flat", "ring", "torus3d"},
                      "topology, cluster_default, and tree, block, flat, ring or torus3d"))
      return unexpected{std::move(*e)};
    slurm_named_topology out;
    const json_value* name = v.find("topology");
    if (name == nullptr || scalar_text(*name).empty()) return fail(v, "a topology without a name", "topology: NAME");
    out.name = scalar_text(*name);
    if (const auto* d = v.find("cluster_default")) {
      if (d->type != json_value::kind::boolean) return fail(*d, d->described(), "cluster_default: true or false");
      out.preferred = d->boolean;
    }
    const json_value* body = nullptr;
    std::string_view kind;
    for (const std::string_view k : {"tree", "block", "flat", "ring", "torus3d"})
      if (const auto* b = v.find(k)) {
        if (body != nullptr) return fail(*b, std::string{kind} + " and " + std::string{k}, "one kind of topology");
        body = b, kind = k;
      }
    if (body == nullptr)
      return fail(v, "topology " + io_text::quoted(out.name) + " of no kind", "tree, block, flat, ring or torus3d");
    std::vector<conf_line> lines;
    std::optional<input_error> bad;
    if (kind == "flat") {
      if (body->type == json_value::kind::boolean && !body->boolean)
        return fail(*body, "flat: false", "flat: true, or another kind of topology");
      if (body->type != json_value::kind::boolean) bad = only(*body, {"alpha_step_rank"}, "flat: true");
      out.flat = true;
    } else if (kind == "tree") {
      bad =
          list(*body, "switches", {{"switch", "SwitchName"}, {"children", "Switches"}, {"nodes", "Nodes"}}, {}, lines);
    } else if (kind == "block") {
      bad = list(*body, "blocks", {{"block", "BlockName"}, {"nodes", "Nodes"}}, {"block_sizes"}, lines);
      if (const auto* sizes = body->find("block_sizes"); !bad && sizes != nullptr) bad = add_sizes(*sizes, lines);
    } else if (kind == "ring") {
      bad = list(*body, "rings", {{"ring", "RingName"}, {"nodes", "Nodes"}}, {}, lines);
    } else {
      bad = toruses(*body, lines);
    }
    if (bad) return unexpected{std::move(*bad)};
    if (out.flat) return out;
    if (lines.empty()) return fail(*body, "a topology without any part", "at least one");
    auto declared = read_topology_lines(lines, most_);
    if (!declared) return unexpected{std::move(declared).error()};
    out.declared = std::move(*declared);
    if (kind == "torus3d") {
      for (auto& d : out.declared.domains) d.level = "torus";
      out.declared.assumptions = {"Toruses are read as groups of nodes; coordinates and placements are not kept."};
    }
    return out;
  }

  struct field {
    std::string_view from, to;
  };
  /// A list of parts as lines of a topology.conf, which has the same rules.
  [[nodiscard]] std::optional<input_error> list(const json_value& body, std::string_view key, std::vector<field> fields,
                                                std::initializer_list<std::string_view> beside,
                                                std::vector<conf_line>& lines) const {
    if (body.type != json_value::kind::object)
      return input_error{source_, body.line, body.described(), std::string{key} + ": a list"};
    for (std::size_t i = 0; i < body.keys.size(); ++i) {
      bool known = body.keys[i] == key;
      for (const auto b : beside) known = known || body.keys[i] == b;
      if (!known)
        return input_error{source_, body.items[i].line, "key " + io_text::quoted(body.keys[i]), std::string{key}};
    }
    const json_value* parts = body.find(key);
    if (parts == nullptr || parts->type != json_value::kind::array)
      return input_error{source_, parts == nullptr ? body.line : parts->line,
                         parts == nullptr ? "no " + std::string{key} : parts->described(),
                         std::string{key} + ": a list"};
    for (const auto& p : parts->items) {
      conf_line l{source_, p.line, {}};
      if (p.type != json_value::kind::object) return input_error{source_, p.line, p.described(), "a mapping"};
      for (std::size_t i = 0; i < p.keys.size(); ++i) {
        const field* known = nullptr;
        for (const auto& f : fields)
          if (f.from == p.keys[i]) known = &f;
        if (known == nullptr) {
          std::string wanted;
          for (const auto& f : fields) wanted += (wanted.empty() ? "" : ", ") + std::string{f.from};
          return input_error{source_, p.items[i].line, "key " + io_text::quoted(p.keys[i]), std::move(wanted)};
        }
        if (p.items[i].type == json_value::kind::null) continue;
        std::string value = scalar_text(p.items[i]);
        if (value.empty())
          return input_error{source_, p.items[i].line, p.keys[i] + ": " + p.items[i].described(), "names"};
        l.pairs.push_back({std::string{known->to}, std::move(value)});
      }
      if (l.find(fields.front().to) == nullptr)
        return input_error{source_, p.line, "a part without its name", std::string{fields.front().from} + ": NAME"};
      lines.push_back(std::move(l));
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<input_error> add_sizes(const json_value& sizes, std::vector<conf_line>& lines) const {
    std::string text;
    if (sizes.type == json_value::kind::null) return std::nullopt;
    if (sizes.type == json_value::kind::array) {
      for (const auto& s : sizes.items) text += (text.empty() ? "" : ",") + scalar_text(s);
      if (sizes.items.empty()) return std::nullopt;
    } else {
      text = scalar_text(sizes);
    }
    lines.push_back({source_, sizes.line, {{"BlockSizes", std::move(text)}}});
    return std::nullopt;
  }

  /// `name`, and `nodes` either of the torus or of its regions.
  [[nodiscard]] std::optional<input_error> toruses(const json_value& body, std::vector<conf_line>& lines) const {
    if (auto e = only(body, {"toruses"}, "toruses: a list")) return e;
    const json_value* parts = body.find("toruses");
    if (parts == nullptr || parts->type != json_value::kind::array)
      return input_error{source_, body.line, "no list of toruses", "toruses: a list"};
    for (const auto& p : parts->items) {
      if (auto e =
              only(p, {"name", "dims", "nodes", "regions", "placements"}, "name, dims, nodes, regions or placements"))
        return e;
      const json_value* name = p.find("name");
      if (name == nullptr || scalar_text(*name).empty())
        return input_error{source_, p.line, "a torus without a name", "name: NAME"};
      std::string nodes;
      const auto add = [&](const json_value* n) {
        if (n != nullptr) nodes += (nodes.empty() ? "" : ",") + scalar_text(*n);
      };
      add(p.find("nodes"));
      if (const auto* regions = p.find("regions"))
        for (const auto& r : regions->items) add(r.find("nodes"));
      if (nodes.empty()) return input_error{source_, p.line, "a torus without nodes", "nodes: or regions:"};
      lines.push_back({source_, p.line, {{"RingName", scalar_text(*name)}, {"Nodes", std::move(nodes)}}});
    }
    return std::nullopt;
  }

  const std::string& source_;
  std::size_t most_;
};

}  // namespace slurm_detail

/// Whether the text is a topology.yaml: a YAML list whose first item begins with `topology:`.
[[nodiscard]] inline bool looks_like_slurm_topology_yaml(std::string_view text) noexcept {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : text.size());
    line = io_text::trim(line);
    if (line.empty() || line.front() == '#' || line == "---") continue;
    if (!line.starts_with("- ")) return false;
    line = io_text::trim(line.substr(2));
    return line.starts_with("topology:") || line.starts_with("cluster_default:");
  }
  return false;
}

/// Reads a topology.yaml. O(bytes + names). Errors: YAML of another form, and those of topology.conf, with their line.
[[nodiscard]] inline expected<std::vector<slurm_named_topology>, input_error> read_slurm_topology_yaml(
    const named_text& file, std::size_t max_names = default_hostlist_limit) {
  return slurm_detail::topology_yaml_reader{file.name, max_names}.read(file.text);
}

}  // namespace berth
