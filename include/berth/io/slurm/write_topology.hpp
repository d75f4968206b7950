#pragma once
/// \file
/// Writes Slurm's topology.conf and topology.yaml. What is written is read back as the same names, nesting, order of
/// nodes and block sizes. Needs Boost.Graph for `topology_report`; nothing else.
///
/// Trees     every named domain becomes a switch. Slurm's switches hold nodes or switches, not both.
/// Blocks    levels `block` and `block-SIZE` become `BlockName=` lines and `BlockSizes=`: aggregated blocks are runs of
///           neighbouring blocks, so they have no lines of their own.
/// Errors    in words: names that Slurm's files cannot hold, a switch with nodes and switches, nodes under no named
///           domain, aggregated blocks that are no such runs, toruses (their coordinates are not kept when read).
/// Source    topology.conf(5), topology.yaml(5)

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/cluster/spec.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/hostlist.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/text.hpp"

namespace berth {

/// A host list of the same names in the same order: neighbours that count up are joined to ranges. O(length).
/// \pre no name holds a bracket or a comma
[[nodiscard]] inline std::string ordered_hostlist(const std::vector<std::string>& names) {
  struct pieces {
    std::string_view prefix, digits, suffix;
  };
  const auto split = [](std::string_view name) {
    std::size_t end = name.size();
    while (end > 0 && !io_text::is_digit(name[end - 1])) --end;
    std::size_t begin = end;
    while (begin > 0 && io_text::is_digit(name[begin - 1])) --begin;
    if (end - begin > 18) begin = end;
    return pieces{name.substr(0, begin), name.substr(begin, end - begin), name.substr(end)};
  };
  // Whether the second number follows the first as an expansion would write it.
  const auto follows = [](std::string_view first, std::string_view last, std::string_view next) {
    if (*io_text::parse_count(next) != *io_text::parse_count(last) + 1) return false;
    return next.size() == first.size() ||
           (next.size() > first.size() && (first.size() == 1 || first.front() != '0') && next.front() != '0' &&
            next.size() == std::to_string(*io_text::parse_count(next)).size());
  };
  std::string out;
  for (std::size_t i = 0; i < names.size();) {
    const pieces head = split(names[i]);
    if (!out.empty()) out += ',';
    if (head.digits.empty()) {
      out += names[i++];
      continue;
    }
    std::string ranges;
    std::size_t numbers = 0;
    while (i < names.size()) {
      const pieces first = split(names[i]);
      if (first.digits.empty() || first.prefix != head.prefix || first.suffix != head.suffix) break;
      std::string_view last = first.digits;
      ++i, ++numbers;
      while (i < names.size()) {
        const pieces next = split(names[i]);
        if (next.digits.empty() || next.prefix != head.prefix || next.suffix != head.suffix ||
            !follows(first.digits, last, next.digits))
          break;
        last = next.digits;
        ++i, ++numbers;
      }
      ranges += (ranges.empty() ? "" : ",") + std::string{first.digits};
      if (last.data() != first.digits.data()) ranges += "-" + std::string{last};
    }
    out += std::string{head.prefix} + (numbers == 1 ? ranges : "[" + ranges + "]") + std::string{head.suffix};
  }
  return out;
}

namespace slurm_detail {

/// A topology as Slurm's files have it.
struct written_topology {
  enum class kind : std::uint8_t { tree, block, ring, flat };
  kind what = kind::tree;
  struct part {
    std::string name;
    std::vector<std::string> children, nodes;
  };
  std::vector<part> parts;
  std::vector<std::uint64_t> sizes;
};

[[nodiscard]] inline std::optional<std::string> fault_of_name(std::string_view name) {
  if (name.empty()) return "a domain or node without a name";
  for (const char c : name)
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7F ||
        std::string_view{",[]#\"'=\\:{}"}.find(c) != std::string_view::npos)
      return "the name " + io_text::quoted(name) + " has a character that Slurm's files cannot hold";
  return std::nullopt;
}

[[nodiscard]] inline expected<written_topology, std::string> arrange(const topology_report& t) {
  using kind = written_topology::kind;
  written_topology out;
  if (t.domains.empty()) {
    if (!t.members.empty()) return unexpected{std::string{"nodes under no domain"}};
    out.what = kind::flat;
    return out;
  }
  constexpr std::uint32_t none = domain_declaration::no_parent;
  for (const auto& d : t.domains) {
    if (d.level == "block" || d.level.starts_with("block-")) out.what = kind::block;
    if (d.level == "ring") out.what = kind::ring;
    if (d.level == "torus")
      return unexpected{"the torus " + io_text::quoted(d.name) + ", whose coordinates are not known"};
    if (auto f = fault_of_name(d.name)) return unexpected{std::move(*f)};
    if (d.parent != none && d.parent >= t.domains.size())
      return unexpected{std::string{"a domain under none of the topology"}};
  }
  if (!t.rules.empty() || !t.label_levels.empty())
    return unexpected{std::string{"domains by rules or labels; only named nodes can be written"}};
  std::vector<written_topology::part> parts(t.domains.size());
  for (std::size_t d = 0; d < t.domains.size(); ++d) {
    parts[d].name = t.domains[d].name;
    if (t.domains[d].parent != none) parts[t.domains[d].parent].children.push_back(t.domains[d].name);
  }
  for (const auto& m : t.members) {
    if (m.domain >= parts.size()) return unexpected{"node " + io_text::quoted(m.machine) + " under no domain"};
    if (auto f = fault_of_name(m.machine)) return unexpected{std::move(*f)};
    parts[m.domain].nodes.push_back(m.machine);
  }
  if (out.what == kind::tree) {
    // Slurm refuses a switch with nothing below it.
    std::vector<char> full(parts.size(), 0);
    for (std::size_t d = 0; d < parts.size(); ++d) {
      if (parts[d].nodes.empty()) continue;
      std::size_t steps = 0;
      for (std::uint32_t up = static_cast<std::uint32_t>(d); up != none && full[up] == 0; up = t.domains[up].parent) {
        full[up] = 1;
        if (++steps > parts.size()) break;
      }
    }
    for (auto& p : parts) p.children.clear();
    for (std::size_t d = 0; d < parts.size(); ++d)
      if (full[d] != 0 && t.domains[d].parent != none) parts[t.domains[d].parent].children.push_back(t.domains[d].name);
    for (std::size_t d = 0; d < parts.size(); ++d) {
      if (full[d] == 0) continue;
      if (!parts[d].nodes.empty() && !parts[d].children.empty())
        return unexpected{"switch " + parts[d].name + " with nodes and switches below it, which Slurm does not have"};
      out.parts.push_back(std::move(parts[d]));
    }
    return out;
  }
  out.sizes = t.block_sizes;
  for (std::size_t d = 0; d < parts.size(); ++d) {
    const std::string& level = t.domains[d].level;
    if (out.what == kind::block && level.starts_with("block-")) continue;
    if (level != "block" && level != "ring")
      return unexpected{"domain " + parts[d].name + " of level " + io_text::quoted(level) + " beside blocks or rings"};
    out.parts.push_back(std::move(parts[d]));
  }
  return out;
}

/// The declared topology inside a spec: named domains and nodes, in the order of the tree.
[[nodiscard]] inline expected<topology_report, std::string> topology_of(const cluster_spec& s,
                                                                        std::vector<std::uint64_t> block_sizes) {
  topology_report out;
  constexpr std::uint32_t none = domain_declaration::no_parent;
  const domain_tree& t = s.tree;
  const std::uint8_t levels = t.level_count();
  bool blocks = levels > 1;
  for (std::uint8_t i = 1; i < levels; ++i) {
    const std::string& name = t.level_name(level_id{i});
    blocks = blocks && (i + 1 == levels ? name == "block" : name.starts_with("block-"));
  }
  // Depth first, so that what is read back has the same order also where roots are of unlike height.
  struct step {
    std::uint8_t level;
    std::uint32_t domain, above;
  };
  std::vector<std::uint32_t> innermost(t.domain_count(t.leaf_level()), none);  // of every leaf: its declared domain
  std::vector<step> todo{{0, 0, none}};
  while (!todo.empty()) {
    const step now = todo.back();
    todo.pop_back();
    const level_id l{now.level};
    const auto& domain = t.at(l, domain_id{now.domain});
    std::uint32_t self = now.above;
    if (now.level != 0 && !domain.implicit) {
      self = static_cast<std::uint32_t>(out.domains.size());
      // Trees are named by height when they are read, blocks by their level.
      out.domains.push_back({t.name(l, domain_id{now.domain}), now.above, blocks ? t.level_name(l) : std::string{}});
    }
    if (now.level + 1 == levels) {
      innermost[now.domain] = self;
      continue;
    }
    for (std::uint32_t c = domain.children.last; c-- > domain.children.first;)
      todo.push_back({static_cast<std::uint8_t>(now.level + 1), c, self});
  }
  for (std::uint32_t n = 0; n < s.nodes.size(); ++n) {
    const std::uint32_t d = innermost[t.leaf_of(node_id{n}).index()];
    if (d == none) return unexpected{"node " + s.nodes[n].name + " under no named domain"};
    out.members.push_back({s.nodes[n].name, d});
  }
  if (!blocks) return out;
  // The base size: what makes the lowest aggregated blocks runs of a power of two, else the smallest block.
  const level_id leaf = t.leaf_level();
  const std::uint32_t count = t.domain_count(leaf);
  if (block_sizes.empty()) {
    std::uint64_t smallest = s.nodes.size();
    for (std::uint32_t d = 0; d < count; ++d)
      if (const auto n = t.at(leaf, domain_id{d}).nodes.size(); n < smallest) smallest = n;
    std::vector<std::uint64_t> larger;
    for (std::uint8_t i = static_cast<std::uint8_t>(levels - 1); i-- > 1;) {
      const auto n =
          io_text::parse_count(std::string_view{t.level_name(level_id{i})}.substr(6), default_hostlist_limit);
      if (!n || *n == 0)
        return unexpected{"level " + io_text::quoted(t.level_name(level_id{i})) + ", which names no size"};
      larger.push_back(*n);
    }
    if (!larger.empty()) {
      const auto run = t.at(level_id{static_cast<std::uint8_t>(levels - 2)}, domain_id{0}).children.size();
      std::uint64_t width = 1;
      while (width < run) width *= 2;
      smallest = larger.front() / width;
    }
    block_sizes.push_back(smallest);
    block_sizes.insert(block_sizes.end(), larger.begin(), larger.end());
  }
  if (block_sizes.front() == 0) return unexpected{std::string{"block sizes that are smaller than the runs of blocks"}};
  for (std::uint8_t i = 1; i + 1 < levels; ++i) {
    const auto size =
        *io_text::parse_count(std::string_view{t.level_name(level_id{i})}.substr(6), default_hostlist_limit);
    const std::uint64_t run = size / block_sizes.front();
    std::uint32_t first = 0;
    for (std::uint32_t d = 0; d < t.domain_count(level_id{i}); ++d) {
      // Blocks below a domain: leaf domains are contiguous.
      std::uint32_t last = first;
      const auto end = t.at(level_id{i}, domain_id{d}).nodes.last;
      while (last < count && t.at(leaf, domain_id{last}).nodes.last <= end) ++last;
      const bool whole = t.at(level_id{i}, domain_id{d}).implicit ||
                         (run != 0 && first % run == 0 && (last - first == run || last == count));
      if (!whole)
        return unexpected{"aggregated block " + t.name(level_id{i}, domain_id{d}) + ", which is no run of " +
                          std::to_string(run) + " blocks"};
      first = last;
    }
  }
  out.what = topology_report::kind::nvlink;
  out.block_sizes = std::move(block_sizes);
  return out;
}

[[nodiscard]] inline std::string sizes_text(const std::vector<std::uint64_t>& sizes) {
  std::string out;
  for (const auto n : sizes) out += (out.empty() ? "" : ",") + std::to_string(n);
  return out;
}

[[nodiscard]] inline std::string conf_text(const written_topology& t) {
  using kind = written_topology::kind;
  const char* key = t.what == kind::block ? "BlockName=" : t.what == kind::ring ? "RingName=" : "SwitchName=";
  std::string out;
  for (const auto& p : t.parts) {
    out += key + p.name;
    if (!p.nodes.empty()) out += " Nodes=" + ordered_hostlist(p.nodes);
    else if (!p.children.empty()) out += " Switches=" + ordered_hostlist(p.children);
    out += '\n';
  }
  if (!t.sizes.empty()) out += "BlockSizes=" + sizes_text(t.sizes) + "\n";
  return out;
}

/// Text in double quotes, so that "[1-4]" and "123" stay text.
[[nodiscard]] inline std::string yaml_text(std::string_view s) {
  return "\"" + std::string{s} + "\"";
}

[[nodiscard]] inline std::string yaml_entry(const written_topology& t, std::string_view name, bool preferred) {
  using kind = written_topology::kind;
  std::string out = "- topology: " + yaml_text(name) + "\n  cluster_default: " + (preferred ? "true" : "false") + "\n";
  if (t.what == kind::flat) return out + "  flat: true\n";
  const char* words[3][3] = {{"tree", "switches", "switch"}, {"block", "blocks", "block"}, {"ring", "rings", "ring"}};
  const auto& w = words[t.what == kind::tree ? 0 : t.what == kind::block ? 1 : 2];
  out += std::string{"  "} + w[0] + ":\n";
  if (!t.sizes.empty()) {
    out += "    block_sizes:\n";
    for (const auto n : t.sizes) out += "      - " + std::to_string(n) + "\n";
  }
  out += std::string{"    "} + w[1] + ":\n";
  for (const auto& p : t.parts) {
    out += std::string{"      - "} + w[2] + ": " + yaml_text(p.name) + "\n";
    if (!p.nodes.empty()) out += "        nodes: " + yaml_text(ordered_hostlist(p.nodes)) + "\n";
    else if (!p.children.empty()) out += "        children: " + yaml_text(ordered_hostlist(p.children)) + "\n";
  }
  return out;
}

}  // namespace slurm_detail

/// A declared topology as a topology.conf. O(names).
[[nodiscard]] inline expected<std::string, std::string> write_slurm_topology_conf(const topology_report& t) {
  auto arranged = slurm_detail::arrange(t);
  if (!arranged) return unexpected{std::move(arranged).error()};
  if (arranged->what == slurm_detail::written_topology::kind::flat)
    return unexpected{
        std::string{"a flat topology, which topology.conf cannot say; TopologyPlugin=topology/flat does"}};
  return slurm_detail::conf_text(*arranged);
}
/// The tree of a cluster as a topology.conf.
/// \param block_sizes  of blocks; empty: the smallest block and the sizes that the levels are called by
[[nodiscard]] inline expected<std::string, std::string> write_slurm_topology_conf(
    const cluster_spec& s, std::vector<std::uint64_t> block_sizes = {}) {
  auto t = slurm_detail::topology_of(s, std::move(block_sizes));
  if (!t) return unexpected{std::move(t).error()};
  return write_slurm_topology_conf(*t);
}

/// Declared topologies as a topology.yaml; those without a name are called "default". O(names).
[[nodiscard]] inline expected<std::string, std::string> write_slurm_topology_yaml(
    const std::vector<topology_report>& all) {
  std::string out = "---\n";
  for (const auto& t : all) {
    auto arranged = slurm_detail::arrange(t);
    if (!arranged) return unexpected{std::move(arranged).error()};
    const std::string name = t.name.empty() ? "default" : t.name;
    if (auto f = slurm_detail::fault_of_name(name)) return unexpected{std::move(*f)};
    out += slurm_detail::yaml_entry(*arranged, name, t.preferred);
  }
  if (all.empty()) return unexpected{std::string{"no topology"}};
  return out;
}
/// The tree of a cluster as a topology.yaml of one topology.
[[nodiscard]] inline expected<std::string, std::string> write_slurm_topology_yaml(
    const cluster_spec& s, std::string name = "default", std::vector<std::uint64_t> block_sizes = {}) {
  auto t = slurm_detail::topology_of(s, std::move(block_sizes));
  if (!t) return unexpected{std::move(t).error()};
  t->name = std::move(name);
  return write_slurm_topology_yaml(std::vector<topology_report>{std::move(*t)});
}

}  // namespace berth
