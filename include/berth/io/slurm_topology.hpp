#pragma once
/// \file
/// Slurm's topology.conf: the tree of `SwitchName=… Nodes=…|Switches=…` lines, or the blocks of `BlockName=… Nodes=…`
/// lines with `BlockSizes=…`. The result is what `domain_tree_builder` takes.
///
/// Checked here, each with file and line: names twice, unknown child switches, a switch with both nodes and children or
/// with neither (Slurm refuses both), a node under two switches, a child under two parents, cycles, too many names.
/// `LinkSpeed=` must be a number and has no further meaning (its unit is arbitrary in Slurm, and Slurm does not use
/// it).

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/hostlist.hpp"
#include "berth/io/input_place.hpp"
#include "berth/io/slurm_lines.hpp"
#include "berth/io/text.hpp"
#include "berth/topology/domain_tree.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace berth {

/// A tree as declared, with the places that declared it.
struct declared_topology {
  std::vector<domain_declaration> domains;
  std::vector<std::uint32_t> domain_line;  ///< per domain: index into `places`
  std::vector<std::string> nodes;
  std::vector<std::uint32_t> node_domain;  ///< per node: index into `domains`
  std::vector<input_place> places;
  std::vector<std::string> assumptions;

  [[nodiscard]] const input_place& place_of_domain(std::size_t d) const { return places[domain_line[d]]; }
  [[nodiscard]] const input_place& place_of_node(std::size_t n) const { return place_of_domain(node_domain[n]); }
};

namespace slurm_detail {

/// Expands a host list of a line; `left` is what the limit on names still allows.
[[nodiscard]] inline expected<std::vector<std::string>, input_error> names_of(const conf_line& l, std::string_view key,
                                                                              const std::string& value,
                                                                              std::size_t left) {
  auto names = expand_hostlist(value, left);
  if (names) return std::move(*names);
  hostlist_error e = std::move(names).error();
  e.found += " in " + std::string{key} + "=";
  return unexpected{e.at(l.source, l.line)};
}

/// Fails on the first key that is not among `allowed` (one text, blank-separated).
[[nodiscard]] inline expected<void, input_error> only_keys(const conf_line& l, std::string_view allowed) {
  for (const auto& p : l.pairs) {
    bool known = false;
    for (std::size_t i = 0; i < allowed.size() && !known;) {
      std::size_t end = allowed.find(' ', i);
      if (end == std::string_view::npos) end = allowed.size();
      known = p.is(allowed.substr(i, end - i));
      i = end + 1;
    }
    if (!known) return unexpected{l.error("unknown key " + io_text::quoted(p.key), "one of " + std::string{allowed})};
  }
  return {};
}

struct topology_reader {
  std::size_t max_names;
  declared_topology out;
  std::unordered_map<std::string, std::uint32_t> domain_of_name, node_of_name;
  struct parent_line {
    std::uint32_t parent;
    std::uint32_t place;
    std::vector<std::string> children;
  };
  std::vector<parent_line> parents;
  std::size_t children = 0;  // named so far; in a tree no more than there may be switches
  std::vector<std::uint64_t> block_sizes;

  using status = expected<void, input_error>;

  status add_domain(const conf_line& l, std::string_view key, std::string name, std::string level) {
    const auto index = static_cast<std::uint32_t>(out.domains.size());
    const auto [it, fresh] = domain_of_name.emplace(name, index);
    if (!fresh)
      return unexpected{l.error(
          "second " + std::string{key} + "=" + name + " (first at " + out.place_of_domain(it->second).text() + ")",
          "each name once")};
    out.domains.push_back({std::move(name), domain_declaration::no_parent, std::move(level)});
    out.domain_line.push_back(static_cast<std::uint32_t>(out.places.size() - 1));
    return {};
  }

  status add_nodes(const conf_line& l, const std::string& list, std::uint32_t domain) {
    auto names = names_of(l, "Nodes", list, max_names - out.nodes.size());
    if (!names) return unexpected{std::move(names).error()};
    for (auto& name : *names) {
      const auto [it, fresh] = node_of_name.emplace(name, static_cast<std::uint32_t>(out.nodes.size()));
      if (!fresh) {
        const auto& before = out.domains[out.node_domain[it->second]].name;
        const auto& now = out.domains[domain].name;
        return unexpected{l.error(before == now ? "node " + name + " twice under " + now
                                                : "node " + name + " under " + now + " and under " + before + " (" +
                                                      out.place_of_node(it->second).text() + ")",
                                  "each node under one switch or block")};
      }
      out.nodes.push_back(std::move(name));
      out.node_domain.push_back(domain);
    }
    return {};
  }

  status add_switch(const conf_line& l, const std::string& name_list) {
    if (auto ok = only_keys(l, "SwitchName Nodes Switches LinkSpeed"); !ok) return ok;
    const std::string* nodes = l.find("Nodes");
    const std::string* below = l.find("Switches");
    if ((nodes != nullptr) == (below != nullptr))
      return unexpected{l.error("switch " + io_text::quoted(name_list) +
                                    (nodes != nullptr ? " with both Nodes= and Switches=" : " with neither"),
                                "either Nodes= or Switches=")};
    if (const auto* speed = l.find("LinkSpeed"))
      if (!io_text::parse_count(*speed, std::numeric_limits<std::uint32_t>::max()))
        return unexpected{l.error("LinkSpeed=" + io_text::quoted(*speed), "a whole number below 2^32")};
    auto names = names_of(l, "SwitchName", name_list, max_names - out.domains.size());
    if (!names) return unexpected{std::move(names).error()};
    out.places.push_back({l.source, l.line});
    for (auto& name : *names) {
      const auto self = static_cast<std::uint32_t>(out.domains.size());
      if (auto ok = add_domain(l, "SwitchName", std::move(name), ""); !ok) return ok;
      if (nodes != nullptr) {
        if (auto ok = add_nodes(l, *nodes, self); !ok) return ok;
        continue;
      }
      auto list = names_of(l, "Switches", *below, max_names - children);
      if (!list) return unexpected{std::move(list).error()};
      children += list->size();
      parents.push_back({self, static_cast<std::uint32_t>(out.places.size() - 1), std::move(*list)});
    }
    return {};
  }

  status add_block(const conf_line& l, const std::string& name) {
    if (auto ok = only_keys(l, "BlockName Nodes"); !ok) return ok;
    const std::string* nodes = l.find("Nodes");
    if (nodes == nullptr) return unexpected{l.error("block " + io_text::quoted(name) + " without Nodes=", "Nodes=")};
    auto names = names_of(l, "BlockName", name, max_names - out.domains.size());
    if (!names) return unexpected{std::move(names).error()};
    if (names->size() != 1) return unexpected{l.error("BlockName=" + io_text::quoted(name), "one block name")};
    out.places.push_back({l.source, l.line});
    const auto self = static_cast<std::uint32_t>(out.domains.size());
    if (auto ok = add_domain(l, "BlockName", std::move(names->front()), "block"); !ok) return ok;
    return add_nodes(l, *nodes, self);
  }

  status add_sizes(const conf_line& l, const std::string& sizes) {
    if (auto ok = only_keys(l, "BlockSizes"); !ok) return ok;
    if (!block_sizes.empty()) return unexpected{l.error("a second BlockSizes= line", "one")};
    for (std::string_view rest = sizes;;) {
      const std::size_t comma = rest.find(',');
      const auto n = io_text::parse_count(rest.substr(0, comma), default_hostlist_limit);
      if (!n || *n == 0 || (!block_sizes.empty() && *n <= block_sizes.back()))
        return unexpected{l.error("BlockSizes=" + io_text::quoted(sizes), "rising positive numbers such as 8,16,32")};
      block_sizes.push_back(*n);
      if (comma == std::string_view::npos) return {};
      rest.remove_prefix(comma + 1);
    }
  }

  /// Hangs children under parents once all names are known.
  status join() {
    for (auto& p : parents) {
      const auto& place = out.places[p.place];
      const auto fail = [&](std::string found, std::string expected_text) {
        return unexpected{input_error{place.source, place.line, std::move(found), std::move(expected_text)}};
      };
      const auto& name = out.domains[p.parent].name;
      for (const auto& child : p.children) {
        const auto it = domain_of_name.find(child);
        if (it == domain_of_name.end())
          return fail("switch " + name + " over unknown switch " + child, "a SwitchName=" + child + " line");
        auto& parent = out.domains[it->second].parent;
        if (parent == p.parent) return fail("switch " + child + " twice under " + name, "each switch once");
        if (parent != domain_declaration::no_parent)
          return fail("switch " + child + " under " + name + " and under " + out.domains[parent].name, "one parent");
        parent = p.parent;
      }
    }
    // Every domain has at most one parent, so a cycle is a chain of parents that comes back to where it began.
    std::vector<std::uint32_t> seen_in(out.domains.size(), 0);
    for (std::uint32_t d = 0; d < out.domains.size(); ++d) {
      for (std::uint32_t at = d; at != domain_declaration::no_parent && seen_in[at] == 0; at = out.domains[at].parent) {
        seen_in[at] = d + 1;
        const auto up = out.domains[at].parent;
        if (up == domain_declaration::no_parent || seen_in[up] != d + 1) continue;
        const auto& place = out.place_of_domain(up);
        return unexpected{input_error{place.source, place.line,
                                      "a cycle: switch " + out.domains[up].name + " is above itself", "a tree"}};
      }
    }
    return {};
  }
};

}  // namespace slurm_detail

/// Reads the topology lines of one site. Lines of another kind are errors here; `read_slurm` sorts lines first.
/// \param lines      all of one topology: switches or blocks, not both.
/// \param max_names  most nodes, and most switches.
/// O(lines + names).
[[nodiscard]] inline expected<declared_topology, input_error> read_topology_lines(
    const std::vector<conf_line>& lines, std::size_t max_names = default_hostlist_limit) {
  slurm_detail::topology_reader r{max_names, {}, {}, {}, {}, 0, {}};
  const conf_line* first_switch = nullptr;
  const conf_line* first_block = nullptr;
  for (const auto& l : lines) {
    expected<void, input_error> ok;
    if (const auto* name = l.find("SwitchName")) {
      if (first_switch == nullptr) first_switch = &l;
      ok = r.add_switch(l, *name);
    } else if (const auto* block = l.find("BlockName")) {
      if (first_block == nullptr) first_block = &l;
      ok = r.add_block(l, *block);
    } else if (const auto* sizes = l.find("BlockSizes")) {
      if (first_block == nullptr) first_block = &l;
      ok = r.add_sizes(l, *sizes);
    } else {
      ok = unexpected{l.error("key " + io_text::quoted(l.pairs.front().key) + " in a topology file",
                              "SwitchName=, BlockName= or BlockSizes=")};
    }
    if (ok && first_switch != nullptr && first_block != nullptr)
      ok = unexpected{l.error("switches and blocks together", "one kind of topology: switches or blocks")};
    if (!ok) return unexpected{std::move(ok).error()};
  }
  if (auto ok = r.join(); !ok) return unexpected{std::move(ok).error()};
  if (r.block_sizes.size() > 1)
    r.out.assumptions.push_back(
        "BlockSizes= lists several sizes; only the blocks themselves are read as a level, the larger groups are not.");
  return std::move(r.out);
}

}  // namespace berth
