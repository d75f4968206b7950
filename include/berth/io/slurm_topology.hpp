#pragma once
/// \file
/// Slurm's topology.conf: the tree of `SwitchName=… Nodes=…|Switches=…` lines, or the blocks of `BlockName=… Nodes=…`
/// lines with `BlockSizes=…`, or the rings of `RingName=… Nodes=…` lines. The result is what `domain_tree_builder`
/// takes.
///
/// Blocks   are a level named `block`. Every further size S of `BlockSizes=` is a level `block-S` above it, made as
///          Slurm makes its aggregated blocks: of neighbouring blocks in the order of the file
///          (src/plugins/topology/block/ block_record.c); each size is the first one times a power of two.
/// Rings    are a level named `ring`; which nodes are neighbours in a ring is not kept.
/// Root     A switch called `cluster` above all others is the whole cluster, the outermost level of every tree, and no
///          level of its own: Slurm needs a switch above all, also where the fabric's files show no single one.
/// Checked here, each with file and line: names twice, unknown child switches, a switch with both nodes and children or
/// with neither (Slurm refuses both), a node under two switches, a child under two parents, cycles, too many names.
/// `LinkSpeed=` must be a number and has no further meaning (its unit is arbitrary in Slurm, and Slurm does not use
/// it).

#include <bit>
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
  std::vector<std::uint64_t> block_sizes;  ///< as `BlockSizes=` lists them; empty for trees
  bool blocks = false;                     ///< made of blocks, not switches

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
  input_place sizes_at;      // of the BlockSizes= line

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

  /// A block or a ring. A block without nodes keeps its place among the blocks, as in Slurm.
  status add_group(const conf_line& l, const char* key, const std::string& name) {
    const bool ring = std::string_view{key} == "RingName";
    if (auto ok = only_keys(l, ring ? "RingName Nodes" : "BlockName Nodes"); !ok) return ok;
    const std::string* nodes = l.find("Nodes");
    if (nodes == nullptr && ring)
      return unexpected{l.error("ring " + io_text::quoted(name) + " without Nodes=", "Nodes=")};
    auto names = names_of(l, key, name, max_names - out.domains.size());
    if (!names) return unexpected{std::move(names).error()};
    if (names->size() != 1)
      return unexpected{
          l.error(std::string{key} + "=" + io_text::quoted(name), ring ? "one ring name" : "one block name")};
    out.places.push_back({l.source, l.line});
    const auto self = static_cast<std::uint32_t>(out.domains.size());
    if (auto ok = add_domain(l, key, std::move(names->front()), ring ? "ring" : "block"); !ok) return ok;
    return nodes == nullptr ? status{} : add_nodes(l, *nodes, self);
  }

  status add_sizes(const conf_line& l, const std::string& sizes) {
    if (auto ok = only_keys(l, "BlockSizes"); !ok) return ok;
    if (!out.block_sizes.empty()) return unexpected{l.error("a second BlockSizes= line", "one")};
    sizes_at = {l.source, l.line};
    for (std::string_view rest = sizes;;) {
      const std::size_t comma = rest.find(',');
      const auto n = io_text::parse_count(rest.substr(0, comma), default_hostlist_limit);
      if (!n || *n == 0 || (!out.block_sizes.empty() && *n <= out.block_sizes.back()))
        return unexpected{l.error("BlockSizes=" + io_text::quoted(sizes), "rising positive numbers such as 8,16,32")};
      const std::uint64_t base = out.block_sizes.empty() ? *n : out.block_sizes.front();
      if (*n % base != 0 || !std::has_single_bit(*n / base))
        return unexpected{l.error("BlockSizes=" + io_text::quoted(sizes),
                                  "every size the first one times a power of two, such as 8,16,32")};
      out.block_sizes.push_back(*n);
      if (comma == std::string_view::npos) return {};
      rest.remove_prefix(comma + 1);
    }
  }

  /// The aggregated blocks: level by level, runs of neighbouring blocks. A last run that is no longer than a run of the
  /// level before is none. O(blocks × levels).
  void aggregate() {
    const auto blocks = static_cast<std::uint32_t>(out.domains.size());
    std::vector<std::uint32_t> top(blocks);  // of every block: its outermost domain so far
    for (std::uint32_t b = 0; b < blocks; ++b) top[b] = b;
    std::uint64_t before = 1;
    for (std::size_t i = 1; i < out.block_sizes.size() && before < blocks; ++i) {
      const std::uint64_t run = out.block_sizes[i] / out.block_sizes.front();
      const std::string level = "block-" + std::to_string(out.block_sizes[i]);
      out.places.push_back(sizes_at);
      for (std::uint32_t first = 0; first < blocks; first = static_cast<std::uint32_t>(first + run)) {
        const std::uint64_t left = blocks - first;
        if (run > left && before >= left) break;
        const auto last = static_cast<std::uint32_t>(first + (run < left ? run : left));
        const auto self = static_cast<std::uint32_t>(out.domains.size());
        // Slurm's name is the list of all blocks; that of the first and last is as clear and stays short.
        std::string name = out.domains[first].name + "..." + out.domains[last - 1].name;
        while (domain_of_name.contains(name)) name += "'";
        domain_of_name.emplace(name, self);
        out.domains.push_back({std::move(name), domain_declaration::no_parent, level});
        out.domain_line.push_back(static_cast<std::uint32_t>(out.places.size() - 1));
        for (std::uint32_t b = first; b < last; ++b) {
          out.domains[top[b]].parent = self;
          top[b] = self;
        }
      }
      before = run;
    }
    // Outer before inner and in the order of the blocks, so that neighbours in the file are neighbours in the tree.
    const auto all = static_cast<std::uint32_t>(out.domains.size());
    if (all == blocks) return;
    std::vector<std::uint32_t> order, place(all, all);
    for (std::uint32_t b = 0; b < blocks; ++b) {
      std::vector<std::uint32_t> chain;
      for (std::uint32_t d = b; d != domain_declaration::no_parent && place[d] == all; d = out.domains[d].parent)
        chain.push_back(d);
      for (std::size_t i = chain.size(); i-- > 0;) {
        place[chain[i]] = static_cast<std::uint32_t>(order.size());
        order.push_back(chain[i]);
      }
    }
    std::vector<domain_declaration> domains;
    std::vector<std::uint32_t> lines;
    for (const auto d : order) {
      domains.push_back(std::move(out.domains[d]));
      if (domains.back().parent != domain_declaration::no_parent) domains.back().parent = place[domains.back().parent];
      lines.push_back(out.domain_line[d]);
    }
    out.domains = std::move(domains);
    out.domain_line = std::move(lines);
    for (auto& d : out.node_domain) d = place[d];
  }

  /// Leaves out a switch called "cluster" above several others that are all there is. O(names)
  void drop_root() {
    constexpr auto none = domain_declaration::no_parent;
    auto root = none;
    for (std::uint32_t d = 0; d < out.domains.size(); ++d)
      if (out.domains[d].parent == none) {
        if (root != none) return;
        root = d;
      }
    if (root == none || out.domains[root].name != "cluster") return;
    std::size_t below = 0;
    for (const auto& d : out.domains) below += d.parent == root ? 1U : 0U;
    if (below < 2) return;
    out.domains.erase(out.domains.begin() + root);
    out.domain_line.erase(out.domain_line.begin() + root);
    for (auto& d : out.domains)
      if (d.parent == root) d.parent = none;
      else if (d.parent != none && d.parent > root) --d.parent;
    for (auto& d : out.node_domain)
      if (d > root) --d;
    out.assumptions.emplace_back("The switch cluster, above all others, is the whole cluster and no level of its own.");
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
  const conf_line* first[3] = {nullptr, nullptr, nullptr};  // of switches, blocks, rings
  for (const auto& l : lines) {
    expected<void, input_error> ok;
    int kind = 0;
    if (const auto* name = l.find("SwitchName")) {
      ok = r.add_switch(l, *name);
    } else if (const auto* block = l.find("BlockName")) {
      kind = 1;
      ok = r.add_group(l, "BlockName", *block);
    } else if (const auto* sizes = l.find("BlockSizes")) {
      kind = 1;
      ok = r.add_sizes(l, *sizes);
    } else if (const auto* ring = l.find("RingName")) {
      kind = 2;
      ok = r.add_group(l, "RingName", *ring);
    } else {
      ok = unexpected{l.error("key " + io_text::quoted(l.pairs.front().key) + " in a topology file",
                              "SwitchName=, BlockName=, BlockSizes= or RingName=")};
    }
    if (!ok) return unexpected{std::move(ok).error()};
    if (first[kind] == nullptr) first[kind] = &l;
    if ((first[0] != nullptr) + (first[1] != nullptr) + (first[2] != nullptr) > 1)
      return unexpected{l.error("switches and blocks together", "one kind of topology: switches, blocks or rings")};
  }
  if (auto ok = r.join(); !ok) return unexpected{std::move(ok).error()};
  r.out.blocks = first[1] != nullptr;
  if (r.out.blocks) r.aggregate();
  else if (first[2] == nullptr) r.drop_root();
  if (first[2] != nullptr)
    r.out.assumptions.push_back("Rings are read as groups of nodes; which nodes are neighbours in a ring is not kept.");
  return std::move(r.out);
}

}  // namespace berth
