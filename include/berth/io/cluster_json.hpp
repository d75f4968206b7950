#pragma once
/// \file
/// Our own cluster file: one JSON object with node shapes, nested domains and nodes by host list. Reading what was
/// written gives the same spec again. The format is described in docs/cluster-file.md. Graphs and holdings that a file
/// may have besides are read by `io/merge/site_json.hpp` and passed over here. Needs nlohmann-json.
///
/// Cost  O(bytes + nodes).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/cluster/spec.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/assumptions.hpp"
#include "berth/io/hostlist.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/shape_json.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"
#include "berth/topology/domain_tree.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace berth {

namespace json_detail {

struct cluster_reader {
  const std::string& source;
  shape_lookup catalogue;
  std::size_t max_nodes;

  using status = expected<void, input_error>;

  struct entry {  // what one element of a "nodes" array says about each of its nodes
    shape_id shape{};
    std::vector<std::string> labels;
    cpu_millis cpu{};
    bytes memory{};
    bool usable = true;
    bool states_cpu = false;
    bool states_memory = false;
  };
  std::vector<node_shape> shapes{};
  std::vector<const json_value*> shape_values{};
  std::vector<std::string> levels{};
  std::vector<domain_declaration> domains{};
  std::vector<std::size_t> domain_line{};
  std::unordered_map<std::string, std::uint32_t> domain_by_parent{};  // "<parent>/<name>", for names that are not empty
  std::vector<std::string> names{};
  std::vector<std::uint32_t> node_domain{};
  std::vector<std::uint32_t> node_entry{};
  std::vector<entry> entries{};
  std::unordered_map<std::string, std::size_t> line_of_node{};
  using plane_rates = std::vector<std::optional<gigabytes_per_second>>;
  struct domain_uplinks {
    std::uint32_t domain;
    plane_rates rates;
    const json_value* place;
  };
  std::vector<domain_uplinks> stated_uplinks{};

  [[nodiscard]] unexpected<input_error> fail(const json_value& at, std::string found, std::string expected_text) const {
    return unexpected<input_error>{input_error{source, at.line, std::move(found), std::move(expected_text)}};
  }

  status read_shape_reference(const json_value& node, shape_id& out) const {
    const auto* v = node.find("shape");
    if (v == nullptr) {
      if (shapes.size() != 1) return fail(node, "nodes without \"shape\"", "the name or index of one of the shapes");
      out = shape_id{0};
      return {};
    }
    if (v->type == json_value::kind::integer && v->integer >= 0 &&
        static_cast<std::uint64_t>(v->integer) < shapes.size()) {
      out = shape_id{static_cast<std::uint16_t>(v->integer)};
      return {};
    }
    if (v->type == json_value::kind::string)
      for (std::size_t i = 0; i < shapes.size(); ++i)
        if (shapes[i].name == v->text) {
          out = shape_id{static_cast<std::uint16_t>(i)};
          return {};
        }
    return fail(*v, "shape: " + v->described(), "the name or index of one of the shapes");
  }

  status read_nodes(const json_value& node, std::uint32_t domain, bool by_path) {
    const json_reader r{node, source};
    if (auto ok = by_path ? r.only("names shape labels cpus memory usable path")
                          : r.only("names shape labels cpus memory usable");
        !ok)
      return ok;
    std::string list;
    if (auto ok = r.text("names", list); !ok) return ok;
    if (node.find("names") == nullptr)
      return fail(node, "nodes without \"names\"", "a host list such as \"gpu[01-16]\"");
    if (by_path) {
      std::vector<std::string> path;
      if (auto ok = r.texts("path", path); !ok) return ok;
      if (path.empty()) return fail(node, "nodes without \"path\"", "the names of their domains, outermost first");
      if (!levels.empty() && path.size() != levels.size())
        return fail(node, "path of " + io_text::counted(path.size(), "domain"),
                    "one domain per level, " + std::to_string(levels.size()));
      domain = domain_declaration::no_parent;
      for (std::size_t i = 0; i < path.size(); ++i) {
        if (path[i].empty()) return fail(node, "an empty name in \"path\"", "names of domains");
        const std::string key = std::to_string(domain) + "/" + path[i];
        const auto [it, fresh] = domain_by_parent.emplace(key, static_cast<std::uint32_t>(domains.size()));
        if (fresh) {
          if (domains.size() >= max_nodes)
            return fail(node, "too many domains", "at most " + std::to_string(max_nodes));
          domains.push_back({path[i], domain, levels.empty() ? std::string{} : levels[i]});
          domain_line.push_back(node.line);
        }
        domain = it->second;
      }
    }
    entry e;
    if (auto ok = read_shape_reference(node, e.shape); !ok) return ok;
    e.cpu = shapes[e.shape.index()].cpu;
    e.memory = shapes[e.shape.index()].memory;
    const auto& shape = *shape_values[e.shape.index()];
    e.states_cpu = node.find("cpus") != nullptr || shape.find("cpus") != nullptr;
    e.states_memory = node.find("memory") != nullptr || shape.find("memory") != nullptr;
    if (auto ok = r.cpus("cpus", e.cpu); !ok) return ok;
    if (auto ok = r.memory("memory", e.memory); !ok) return ok;
    if (auto ok = r.yes_or_no("usable", e.usable); !ok) return ok;
    if (auto ok = r.texts("labels", e.labels); !ok) return ok;
    std::sort(e.labels.begin(), e.labels.end());
    e.labels.erase(std::unique(e.labels.begin(), e.labels.end()), e.labels.end());
    const auto* at = node.find("names");
    auto expanded = expand_hostlist(list, max_nodes - names.size());
    if (!expanded) return unexpected{expanded.error().at(source, at->line)};
    for (auto& n : *expanded) {
      const auto [it, fresh] = line_of_node.emplace(n, at->line);
      if (!fresh)
        return fail(*at, "second node " + n + " (first at line " + std::to_string(it->second) + ")", "each node once");
      names.push_back(std::move(n));
      node_domain.push_back(domain);
      node_entry.push_back(static_cast<std::uint32_t>(entries.size()));
    }
    entries.push_back(std::move(e));
    return {};
  }

  /// One rate of all cables together, or a list with one per rail.
  status read_uplinks(const json_value& v, plane_rates& out) const {
    const auto one = [&](const json_value& x) -> status {
      const bool number = x.type == json_value::kind::integer || x.type == json_value::kind::real;
      if (x.type != json_value::kind::null && (!number || !(x.real >= 0) || x.real > 1e6))
        return fail(x, "uplinks: " + x.described(), "GB/s as a number of at most 1000000, null for unknown");
      out.push_back(number ? std::optional{gigabytes_per_second{x.real}} : std::nullopt);
      return {};
    };
    if (v.type != json_value::kind::array) return one(v);
    if (v.items.empty() || v.items.size() > max_rails)
      return fail(v, "uplinks of " + io_text::counted(v.items.size(), "rail"),
                  "one rate for each of at most " + std::to_string(max_rails) + " rails");
    for (const auto& x : v.items)
      if (auto ok = one(x); !ok) return ok;
    return {};
  }

  /// Stated rates by level and domain of the tree that was built.
  status settle_uplinks(const json_value& root, const domain_tree& tree, const std::vector<node_id>& ids,
                        uplink_rates& out) const {
    const json_reader r{root, source};
    if (const auto* usable = root.find("usable_uplinks")) {
      const bool number = usable->type == json_value::kind::integer || usable->type == json_value::kind::real;
      const double permille = number ? usable->real * 1000 : 0;
      const auto whole = static_cast<unsigned>(permille >= 0 && permille <= 1000 ? permille + 0.5 : 0);
      const double off = permille - whole;
      if (whole == 0 || off > 1e-6 || off < -1e-6)
        return r.wrong("usable_uplinks", *usable, "a share above 0 and at most 1 with at most three decimals");
      out.usable_permille = whole;
    }
    const auto put = [&](level_id l, std::uint32_t d, const plane_rates& rates, const json_value& at) -> status {
      if (out.levels.empty()) out.levels.resize(tree.level_count());
      uplink_level& level = out.levels[l.index()];
      const auto planes = static_cast<unsigned>(rates.size());
      if (level.rates.empty()) {
        level.planes = planes;
        level.rates.assign(std::size_t{tree.domain_count(l)} * planes, std::nullopt);
      }
      if (level.planes != planes)
        return fail(at, "uplinks of " + io_text::counted(planes, "rail"),
                    "as many as the level's other domains, " + std::to_string(level.planes));
      for (unsigned p = 0; p < planes; ++p) level.rates[std::size_t{d} * planes + p] = rates[p];
      return {};
    };
    if (const auto* all = root.find("uplinks")) {
      if (all->type != json_value::kind::object) return r.wrong("uplinks", *all, "an object of levels with rates");
      for (std::size_t i = 0; i < all->keys.size(); ++i) {
        const auto l = tree.find_level(all->keys[i]);
        if (!l || l->raw() == 0)
          return fail(all->items[i], "uplinks of level " + io_text::quoted(all->keys[i]),
                      "a level of the domains below the cluster");
        plane_rates rates;
        if (auto ok = read_uplinks(all->items[i], rates); !ok) return ok;
        for (std::uint32_t d = 0; d < tree.domain_count(*l); ++d)
          if (!tree.at(*l, domain_id{d}).implicit)
            if (auto ok = put(*l, d, rates, all->items[i]); !ok) return ok;
      }
    }
    if (stated_uplinks.empty()) return {};
    // Declared domains around a node are those of the tree that the builder did not make, in the same order.
    std::unordered_map<std::uint32_t, std::pair<level_id, std::uint32_t>> place;
    for (std::size_t n = 0; n < ids.size(); ++n) {
      std::uint32_t at = node_domain[n];
      for (unsigned l = tree.leaf_level().raw(); l > 0 && at != domain_declaration::no_parent; --l) {
        const level_id level{static_cast<std::uint8_t>(l)};
        const domain_id d = tree.domain_of(ids[n], level);
        if (tree.at(level, d).implicit) continue;
        if (!place.emplace(at, std::pair{level, d.raw()}).second) break;
        at = domains[at].parent;
      }
    }
    for (const auto& u : stated_uplinks)
      if (const auto it = place.find(u.domain); it != place.end())  // else no node is below it
        if (auto ok = put(it->second.first, it->second.second, u.rates, *u.place); !ok) return ok;
    return {};
  }

  status read_domain(const json_value& d, std::uint32_t parent) {
    const json_reader r{d, source};
    if (auto ok = r.only("name level domains nodes uplinks"); !ok) return ok;
    const auto self = static_cast<std::uint32_t>(domains.size());
    if (domains.size() >= max_nodes) return fail(d, "too many domains", "at most " + std::to_string(max_nodes));
    domain_declaration decl{"", parent, ""};
    if (d.find("name") == nullptr) return fail(d, "a domain without \"name\"", "\"name\", \"\" for a nameless one");
    if (auto ok = r.text("name", decl.name); !ok) return ok;
    if (auto ok = r.text("level", decl.level); !ok) return ok;
    if (decl.level == "cluster" || decl.level == "node")
      return fail(*d.find("level"), "level: " + io_text::quoted(decl.level), "another word; this one is taken");
    if (!decl.name.empty() && !domain_by_parent.emplace(std::to_string(parent) + "/" + decl.name, self).second)
      return fail(d, "second domain " + io_text::quoted(decl.name) + " in the same place", "each name once");
    domains.push_back(std::move(decl));
    domain_line.push_back(d.line);
    if (const auto* up = d.find("uplinks")) {
      plane_rates rates;
      if (auto ok = read_uplinks(*up, rates); !ok) return ok;
      stated_uplinks.push_back({self, std::move(rates), up});
    }
    const auto nodes = r.array("nodes");
    if (!nodes) return unexpected{nodes.error()};
    const auto below = r.array("domains");
    if (!below) return unexpected{below.error()};
    if (*nodes == nullptr && *below == nullptr)
      return fail(d, "a domain with neither \"nodes\" nor \"domains\"", "at least one of them");
    if (*nodes != nullptr)
      for (const auto& n : (*nodes)->items)
        if (auto ok = read_nodes(n, self, false); !ok) return ok;
    if (*below != nullptr)
      for (const auto& c : (*below)->items)
        if (auto ok = read_domain(c, self); !ok) return ok;
    return {};
  }

  expected<cluster_spec, input_error> read(const json_value& root) {
    const json_reader r{root, source};
    if (auto ok = r.only("berth_cluster shapes levels domains nodes assumptions insides fabric nvlink blocks held "
                         "unhealthy unknown_hardware conflicts uplinks usable_uplinks");
        !ok)
      return unexpected{std::move(ok).error()};
    std::int64_t version = 0;
    if (auto ok = r.integer("berth_cluster", version, 1, 1); !ok) return unexpected{std::move(ok).error()};
    if (version != 1) return fail(root, "no \"berth_cluster\"", "\"berth_cluster\": 1");
    const auto shape_list = r.array("shapes");
    if (!shape_list) return unexpected{shape_list.error()};
    if (*shape_list == nullptr || (*shape_list)->items.empty())
      return fail(root, "no \"shapes\"", "an array of catalogue ids or shapes");
    if ((*shape_list)->items.size() >= std::numeric_limits<std::uint16_t>::max())
      return fail(**shape_list, "too many shapes", "at most 65534");
    for (const auto& s : (*shape_list)->items) {
      auto shape = read_shape_json(s, source, catalogue);
      if (!shape) return unexpected{std::move(shape).error()};
      shapes.push_back(std::move(*shape));
      shape_values.push_back(&s);
    }
    if (auto ok = r.texts("levels", levels); !ok) return unexpected{std::move(ok).error()};
    for (std::size_t i = 0; i < levels.size(); ++i) {
      bool bad = levels[i].empty() || levels[i] == "cluster" || levels[i] == "node";
      for (std::size_t k = 0; k < i; ++k) bad = bad || levels[k] == levels[i];
      if (bad)
        return fail(*root.find("levels"), "level " + io_text::quoted(levels[i]),
                    "different words, none of them empty, \"cluster\" or \"node\"");
    }
    const auto nested = r.array("domains");
    if (!nested) return unexpected{nested.error()};
    if (*nested != nullptr)
      for (const auto& d : (*nested)->items)
        if (auto ok = read_domain(d, domain_declaration::no_parent); !ok) return unexpected{std::move(ok).error()};
    const auto flat = r.array("nodes");
    if (!flat) return unexpected{flat.error()};
    if (*flat != nullptr)
      for (const auto& n : (*flat)->items)
        if (auto ok = read_nodes(n, domain_declaration::no_parent, true); !ok) return unexpected{std::move(ok).error()};
    cluster_spec out;
    if (auto ok = r.texts("assumptions", out.assumptions); !ok) return unexpected{std::move(ok).error()};
    if (names.empty()) return fail(root, "no node", "\"domains\" with nodes, or \"nodes\" with paths");
    auto built = domain_tree_builder::build(domains, node_domain);
    if (!built) {
      const auto subject = built.error().subject;
      const std::size_t line = subject < domain_line.size() ? domain_line[subject] : root.line;
      const bool deep = built.error().what == tree_error::kind::too_many_levels;
      return unexpected{input_error{
          source, line, deep ? "domains nested too deep" : "level names that contradict the nesting of domains",
          deep ? "at most " + std::to_string(domain_tree_builder::max_levels - 1) + " levels"
               : "each level name at one height"}};
    }
    // An amount of 0 that is written down is meant; the writer writes it down.
    assumption_list unstated;
    for (std::size_t n = 0; n < names.size(); ++n) {
      const entry& e = entries[node_entry[n]];
      if (!e.states_cpu && e.cpu.count() == 0)
        unstated.add("CPUs are stated neither with the node nor with its shape; taken as 0.", names[n]);
      if (!e.states_memory && e.memory.count() == 0)
        unstated.add("memory is stated neither with the node nor with its shape; taken as 0.", names[n]);
    }
    for (auto& s : unstated.sentences())
      if (std::find(out.assumptions.begin(), out.assumptions.end(), s) == out.assumptions.end())
        out.assumptions.push_back(std::move(s));
    if (auto ok = settle_uplinks(root, built->tree, built->node_ids, out.uplinks); !ok)
      return unexpected{std::move(ok).error()};
    out.tree = std::move(built->tree);
    out.shapes = std::move(shapes);
    out.nodes.resize(names.size());
    for (std::size_t n = 0; n < names.size(); ++n) {
      const entry& e = entries[node_entry[n]];
      out.nodes[built->node_ids[n].index()] = {std::move(names[n]), e.shape, e.labels, e.cpu, e.memory, e.usable};
    }
    return out;
  }
};

struct cluster_writer {
  const cluster_spec& spec;
  bool unique_names = true;

  [[nodiscard]] nlohmann::ordered_json nodes(id_range range) const {
    auto out = nlohmann::ordered_json::array();
    for (std::uint32_t first = range.first; first < range.last;) {
      const auto& a = spec.nodes[first];
      std::uint32_t last = first + 1;
      const auto alike = [&](const node_spec& b) {
        return a.shape == b.shape && a.labels == b.labels && a.cpu == b.cpu && a.memory == b.memory &&
               a.usable == b.usable;
      };
      while (last < range.last && alike(spec.nodes[last])) ++last;
      std::vector<std::string> run;
      for (std::uint32_t n = first; n < last; ++n) run.push_back(spec.nodes[n].name);
      std::string list = compress_hostlist(run);
      if (const auto again = expand_hostlist(list, run.size()); !again || *again != run) {
        list.clear();  // sorting would change the order of the nodes
        for (const auto& n : run) list += (list.empty() ? "" : ",") + n;
      }
      nlohmann::ordered_json j;
      j["names"] = list;
      const node_shape& shape = spec.shapes[a.shape.index()];
      if (unique_names) j["shape"] = shape.name;
      else j["shape"] = a.shape.raw();
      if (!a.labels.empty()) j["labels"] = a.labels;
      if (a.cpu != shape.cpu || a.cpu.count() == 0) j["cpus"] = cpus_json(a.cpu);
      if (a.memory != shape.memory || a.memory.count() == 0) j["memory"] = io_text::memory_text(a.memory);
      if (!a.usable) j["usable"] = false;
      out.push_back(std::move(j));
      first = last;
    }
    return out;
  }

  /// What the uplinks of a domain carry: a number, or a list with one per rail; null where nothing is said.
  [[nodiscard]] nlohmann::ordered_json uplinks(level_id l, std::uint32_t d) const {
    if (l.index() >= spec.uplinks.levels.size()) return nullptr;
    const uplink_level& level = spec.uplinks.levels[l.index()];
    auto rates = nlohmann::ordered_json::array();
    for (unsigned p = 0; p < level.planes; ++p) {
      const std::size_t at = std::size_t{d} * level.planes + p;
      if (at >= level.rates.size()) return nullptr;
      rates.push_back(level.rates[at] ? nlohmann::ordered_json(level.rates[at]->count()) : nullptr);
    }
    return level.planes == 1 ? rates[0] : rates;
  }

  /// Appends what lies directly in a domain; implicit domains are seen through.
  void inside(level_id l, domain_id d, nlohmann::ordered_json& domains, nlohmann::ordered_json& own_nodes) const {
    const auto& at = spec.tree.at(l, d);
    if (l == spec.tree.leaf_level()) {
      for (auto& n : nodes(at.nodes)) own_nodes.push_back(std::move(n));
      return;
    }
    const level_id below{static_cast<std::uint8_t>(l.raw() + 1)};
    for (std::uint32_t c = at.children.first; c < at.children.last; ++c) {
      const domain_id child{c};
      if (spec.tree.at(below, child).implicit) {
        inside(below, child, domains, own_nodes);
        continue;
      }
      nlohmann::ordered_json j;
      j["name"] = spec.tree.name(below, child);
      j["level"] = spec.tree.level_name(below);
      auto child_domains = nlohmann::ordered_json::array(), child_nodes = nlohmann::ordered_json::array();
      inside(below, child, child_domains, child_nodes);
      if (auto up = uplinks(below, c); !up.is_null()) j["uplinks"] = std::move(up);
      if (!child_nodes.empty()) j["nodes"] = std::move(child_nodes);
      if (!child_domains.empty()) j["domains"] = std::move(child_domains);
      domains.push_back(std::move(j));
    }
  }
};

}  // namespace json_detail

/// Reads a cluster file.
/// \param catalogue  finds shapes by id; null: shapes must be given inline.
[[nodiscard]] inline expected<cluster_spec, input_error> read_cluster_json(
    const named_text& file, shape_lookup catalogue = nullptr, std::size_t max_nodes = default_hostlist_limit) {
  const auto root = parse_json(file.text, file.name);
  if (!root) return unexpected{root.error()};
  json_detail::cluster_reader r{file.name, catalogue, max_nodes};
  return r.read(*root);
}

/// A spec as JSON, as `write_cluster_json` prints it.
[[nodiscard]] inline nlohmann::ordered_json cluster_json(const cluster_spec& spec, shape_lookup catalogue = nullptr) {
  json_detail::cluster_writer w{spec};
  nlohmann::ordered_json j;
  j["berth_cluster"] = 1;
  j["shapes"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < spec.shapes.size(); ++i) {
    j["shapes"].push_back(shape_json(spec.shapes[i], catalogue));
    for (std::size_t k = 0; k < i; ++k)
      if (spec.shapes[k].name == spec.shapes[i].name) w.unique_names = false;
  }
  auto domains = nlohmann::ordered_json::array(), loose = nlohmann::ordered_json::array();
  w.inside(level_id{0}, domain_id{0}, domains, loose);
  j["domains"] = std::move(domains);
  if (spec.uplinks.usable_permille != uplink_rates{}.usable_permille)
    j["usable_uplinks"] = spec.uplinks.usable_permille / 1000.0;
  if (!spec.assumptions.empty()) j["assumptions"] = spec.assumptions;
  return j;
}

/// Writes a spec as a cluster file; shapes that equal the catalogue's are written as their id.
/// \pre the tree was made by `domain_tree_builder::build`, or is a regular one of at least two levels whose outermost
///      level is "cluster"; names of nodes are such as host lists hold (no blank, comma or bracket).
[[nodiscard]] inline std::string write_cluster_json(const cluster_spec& spec, shape_lookup catalogue = nullptr) {
  return cluster_json(spec, catalogue).dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace berth
