#pragma once
/// \file
/// A site's Slurm files to one `cluster_spec`: topology.conf gives the domain tree, slurm.conf the nodes, gres.conf
/// their GPUs. Any subset will do as long as nothing needed is missing; see docs/slurm-files.md for all rules.
///
/// What a file is follows from its lines, not from its name:
///   topology   a line with SwitchName=, BlockName= or BlockSizes=; then every line must be one of these
///   gres.conf  a line with Name= or AutoDetect=, NodeName= or not; then every line must be one of these
///   slurm.conf anything else; NodeName=, DownNodes= and ClusterName= are read, other keys are about other matters
/// `io/slurm/report.hpp` reads more: partitions, topology.yaml, the output of commands.
///
/// Errors  the first one found, with file and line. Nothing is half-applied: there is a whole spec or none.
/// Cost    O(bytes + nodes × log).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/cluster/spec.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/slurm_gres.hpp"
#include "berth/io/slurm_hardware.hpp"
#include "berth/io/slurm_lines.hpp"
#include "berth/io/slurm_nodes.hpp"
#include "berth/io/slurm_topology.hpp"
#include "berth/io/text_file.hpp"
#include "berth/topology/domain_tree.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace berth {

struct slurm_options {
  hardware_defaults hardware;
  std::vector<std::string> model_ids;  ///< GPU models of the catalogue; empty: the site's words are kept
  std::size_t max_nodes = default_hostlist_limit;
  text_loader load = load_text_file;  ///< how included files are found; empty refuses `include`
};

namespace slurm_detail {

struct sorted_lines {
  std::vector<conf_line> topology, nodes, gres, partitions;
  std::string cluster_name;
};

[[nodiscard]] inline bool has_any(const conf_line& l, std::initializer_list<std::string_view> keys) {
  for (const auto k : keys)
    if (l.find(k) != nullptr) return true;
  return false;
}

[[nodiscard]] inline bool looks_like_yaml(std::string_view name, std::string_view text) {
  if (name.ends_with(".yaml") || name.ends_with(".yml")) return true;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = text.find('\n', i);
    if (end == std::string_view::npos) end = text.size();
    const std::string_view line = io_text::trim(text.substr(i, end - i));
    i = end + 1;
    if (line.empty() || line.front() == '#') continue;
    return line == "---" || line.starts_with("- ");
  }
  return false;
}

[[nodiscard]] inline expected<void, input_error> sort_file(const named_text& file, const text_loader& load,
                                                           sorted_lines& out) {
  const auto fail = [&](std::string found, std::string expected_text) {
    return unexpected{input_error{file.name, 0, std::move(found), std::move(expected_text)}};
  };
  if (looks_like_yaml(file.name, file.text))
    return fail("YAML (Slurm's topology.yaml, which `read_slurm_report` reads)",
                "topology.conf with SwitchName= or BlockName= lines");
  auto lines = read_conf_lines(file.name, file.text, load);
  if (!lines) return unexpected{std::move(lines).error()};
  if (lines->empty()) return fail("no line but blanks and comments", "SwitchName=, NodeName= or Name=gpu lines");
  // Included files may be of another kind than the file that includes them, so lines are sorted one by one. What kind a
  // source is decides which lines it may hold.
  std::unordered_map<std::string, bool> strict;  // by source: true where only topology or gres lines may stand
  bool useful = false;
  for (const auto& l : *lines) {
    const bool topology = has_any(l, {"SwitchName", "BlockName", "BlockSizes", "RingName"});
    const bool gres = !topology && has_any(l, {"Name", "AutoDetect"});
    strict[l.source] = strict[l.source] || topology || gres;
    useful = useful || topology || gres || has_any(l, {"NodeName", "PartitionName"});
  }
  if (!useful) {
    const auto& l = lines->front();
    return unexpected{l.error(
        "key " + io_text::quoted(l.pairs.front().key) + " and no line about switches, nodes or GPUs in the file",
        "SwitchName=, BlockName=, NodeName= or Name=gpu lines")};
  }
  for (auto& l : *lines) {
    if (has_any(l, {"SwitchName", "BlockName", "BlockSizes", "RingName"})) out.topology.push_back(std::move(l));
    else if (has_any(l, {"Name", "AutoDetect"})) out.gres.push_back(std::move(l));
    else if (strict[l.source] && !has_any(l, {"NodeName"}))
      return unexpected{l.error("key " + io_text::quoted(l.pairs.front().key) + " in a topology or gres file",
                                "SwitchName=, BlockName=, BlockSizes=, Name= or AutoDetect= lines")};
    else if (has_any(l, {"NodeName", "DownNodes"})) out.nodes.push_back(std::move(l));
    else if (has_any(l, {"PartitionName", "NodeSet"})) out.partitions.push_back(std::move(l));
    else if (const auto* name = l.find("ClusterName")) out.cluster_name = *name;
  }
  return {};
}

struct slurm_assembler {
  const slurm_options& options;
  declared_topology topology;
  slurm_nodes nodes;
  std::vector<slurm_gres_line> gres;
  bool has_topology = false;
  assumption_list assumptions{};

  [[nodiscard]] const slurm_node_line* line_of(const std::string& node) const {
    const auto it = nodes.line_of_node.find(node);
    return it == nodes.line_of_node.end() ? nullptr : &nodes.lines[it->second];
  }

  /// Without a topology: all nodes under one switch, as topology/flat has it.
  void make_flat(const std::string& cluster_name) {
    topology.domains.push_back({cluster_name.empty() ? "all-nodes" : cluster_name, domain_declaration::no_parent, ""});
    topology.places.push_back({});
    topology.domain_line.push_back(0);
    if (!nodes.lines.empty()) {
      for (const auto& l : nodes.lines)
        for (const auto& n : l.nodes) topology.nodes.push_back(n);
    } else {
      std::unordered_map<std::string, bool> seen;
      for (const auto& g : gres)
        for (const auto& n : g.nodes)
          if (seen.emplace(n, true).second) topology.nodes.push_back(n);
    }
    topology.node_domain.assign(topology.nodes.size(), 0);
    topology.assumptions.emplace_back(
        "No topology file is given: all nodes are taken to hang on one switch, as with Slurm's topology/flat.");
  }

  /// Every node of the topology must have a line in slurm.conf (if there is one), and the other way round.
  [[nodiscard]] expected<void, input_error> match_names() {
    if (nodes.lines.empty() || !has_topology) return {};
    std::unordered_map<std::string, bool> in_tree;
    for (std::size_t n = 0; n < topology.nodes.size(); ++n) {
      in_tree.emplace(topology.nodes[n], true);
      if (line_of(topology.nodes[n]) != nullptr) continue;
      const auto& place = topology.place_of_node(n);
      return unexpected{
          input_error{place.source, place.line,
                      "unknown node " + topology.nodes[n] + " under " + topology.domains[topology.node_domain[n]].name,
                      "a node with a NodeName= line in slurm.conf"}};
    }
    for (const auto& l : nodes.lines)
      for (const auto& n : l.nodes) {
        if (in_tree.contains(n) || l.future) continue;
        if (!l.gpus.empty())
          return unexpected{input_error{l.place.source, l.place.line,
                                        "node " + n + " with GPUs under no switch of the topology file",
                                        "its name in a Nodes= list"}};
        assumptions.add("under no switch and without GPUs; left out.", n);
      }
    return {};
  }

  /// Drops `State=FUTURE` nodes.
  void drop_future() {
    std::size_t kept = 0;
    for (std::size_t n = 0; n < topology.nodes.size(); ++n) {
      const auto* l = line_of(topology.nodes[n]);
      if (l != nullptr && l->future) {
        assumptions.add("State=FUTURE, not there yet; left out.", topology.nodes[n]);
        continue;
      }
      if (kept != n) {
        topology.nodes[kept] = std::move(topology.nodes[n]);
        topology.node_domain[kept] = topology.node_domain[n];
      }
      ++kept;
    }
    topology.nodes.resize(kept);
    topology.node_domain.resize(kept);
  }

  [[nodiscard]] expected<cluster_spec, input_error> assemble(const std::string& first_file) {
    if (auto ok = match_names(); !ok) return unexpected{std::move(ok).error()};
    drop_future();
    if (topology.nodes.empty()) return unexpected{input_error{first_file, 0, "no node", "at least one node"}};

    std::unordered_map<std::string, std::vector<std::uint32_t>> gres_of;
    std::vector<std::uint32_t> gres_of_all;
    std::unordered_map<std::string, std::uint32_t> index;
    for (std::uint32_t n = 0; n < topology.nodes.size(); ++n) index.emplace(topology.nodes[n], n);
    for (std::uint32_t g = 0; g < gres.size(); ++g) {
      if (gres[g].every_node) gres_of_all.push_back(g);
      for (const auto& n : gres[g].nodes) {
        if (index.contains(n)) gres_of[n].push_back(g);
        else if (!nodes.line_of_node.contains(n)) assumptions.add("in gres.conf but in no other file; passed over.", n);
      }
    }

    auto built = domain_tree_builder::build(topology.domains, topology.node_domain);
    if (!built) return unexpected{tree_failure(built.error(), first_file)};

    cluster_spec out;
    out.nodes.resize(topology.nodes.size());
    std::size_t labels = 0;
    hardware_resolver resolver{options.hardware, options.model_ids, {}};
    std::unordered_map<std::string, resolved_node> known;  // by the lines that describe a node
    for (std::uint32_t n = 0; n < topology.nodes.size(); ++n) {
      const std::string& name = topology.nodes[n];
      const auto* line = line_of(name);
      std::vector<const slurm_gres_line*> lines;
      std::string key = line != nullptr ? std::to_string(line - nodes.lines.data()) : "-";
      const auto own = gres_of.find(name);
      if (own != gres_of.end()) {
        for (const auto g : own->second) key += "," + std::to_string(g);
      } else {
        key += "*";
      }
      auto it = known.find(key);
      if (it == known.end()) {
        for (const auto g : own != gres_of.end() ? own->second : gres_of_all) lines.push_back(&gres[g]);
        const input_place& where = line != nullptr  ? line->place
                                   : has_topology   ? topology.place_of_node(n)
                                   : !lines.empty() ? lines.front()->place
                                                    : topology.places.front();
        auto r = resolver.resolve(name, line, lines, where);
        if (!r) return unexpected{std::move(r).error()};
        it = known.emplace(std::move(key), std::move(*r)).first;
      }
      node_spec& spec = out.nodes[built->node_ids[n].index()];
      spec.name = name;
      spec.shape = it->second.shape;
      spec.cpu = it->second.cpu;
      spec.memory = it->second.memory;
      if (line != nullptr) {
        spec.labels = line->features;
        labels += spec.labels.size();
        if (labels > max_labels)
          return unexpected{line->place.error("more than " + std::to_string(max_labels) + " features in all", "fewer")};
      }
      if ((line != nullptr && line->down) || nodes.down_nodes.contains(name)) {
        spec.usable = false;
        assumptions.add("down or drained in slurm.conf; nothing is placed there.", name);
      }
      for (const auto& note : it->second.notes) assumptions.add(note, name);
    }
    out.tree = std::move(built->tree);
    out.shapes = std::move(resolver.shapes);
    out.assumptions = std::move(topology.assumptions);
    for (auto& a : nodes.assumptions) out.assumptions.push_back(std::move(a));
    for (auto& s : assumptions.sentences()) out.assumptions.push_back(std::move(s));
    return out;
  }

  [[nodiscard]] input_error tree_failure(const tree_error& e, const std::string& first_file) const {
    input_place place{first_file, 0};
    if (has_topology && e.subject < topology.domains.size()) place = topology.place_of_domain(e.subject);
    if (e.what == tree_error::kind::too_many_levels)
      return {place.source, place.line, "switches nested deeper than the tree can hold",
              "at most " + std::to_string(domain_tree_builder::max_levels - 1) + " levels of switches"};
    return {place.source, place.line, "a topology that is no tree", "a tree of switches"};
  }
};

}  // namespace slurm_detail

/// Reads Slurm files that belong to one cluster; their order does not matter.
[[nodiscard]] inline expected<cluster_spec, input_error> read_slurm(const std::vector<named_text>& files,
                                                                    const slurm_options& options = {}) {
  if (files.empty()) return unexpected{input_error{"slurm", 0, "no file", "at least one file"}};
  slurm_detail::sorted_lines lines;
  for (const auto& f : files)
    if (auto ok = slurm_detail::sort_file(f, options.load, lines); !ok) return unexpected{std::move(ok).error()};

  slurm_detail::slurm_assembler a{options, {}, {}, {}, !lines.topology.empty()};
  auto topology = read_topology_lines(lines.topology, options.max_nodes);
  if (!topology) return unexpected{std::move(topology).error()};
  a.topology = std::move(*topology);
  auto nodes = read_node_lines(lines.nodes, options.max_nodes);
  if (!nodes) return unexpected{std::move(nodes).error()};
  a.nodes = std::move(*nodes);
  auto gres = read_gres_lines(lines.gres, options.max_nodes);
  if (!gres) return unexpected{std::move(gres).error()};
  a.gres = std::move(*gres);
  if (!a.has_topology) a.make_flat(lines.cluster_name);
  return a.assemble(files.front().name);
}

/// The same from paths.
[[nodiscard]] inline expected<cluster_spec, input_error> read_slurm_files(const std::vector<std::string>& paths,
                                                                          const slurm_options& options = {}) {
  std::vector<named_text> files;
  for (const auto& p : paths) {
    auto f = read_text_file(p);
    if (!f) return unexpected{std::move(f).error()};
    files.push_back(std::move(*f));
  }
  return read_slurm(files, options);
}

}  // namespace berth
