#pragma once
// Shared by the tests of topology/: comparing trees, catalogue graphs that must exist, a graph built in a few words.

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/topology/domain_tree.hpp"
#include "berth/topology/graph/hardware_graph.hpp"
#include "berth/topology/graph/node_graph.hpp"

namespace berth::testing {

/// A level by its number.
inline level_id lv(unsigned i) {
  return level_id{static_cast<std::uint8_t>(i)};
}

/// The first difference of two trees in words; "" when they are the same in levels, domains, ranges and names.
inline std::string difference(const domain_tree& a, const domain_tree& b) {
  if (a.level_count() != b.level_count()) return "level count";
  if (a.node_count() != b.node_count()) return "node count";
  for (unsigned l = 0; l < a.level_count(); ++l) {
    const std::string where = " at level " + std::to_string(l);
    if (a.level_name(lv(l)) != b.level_name(lv(l))) return "level name" + where;
    if (a.domain_count(lv(l)) != b.domain_count(lv(l))) return "domain count" + where;
    for (std::uint32_t d = 0; d < a.domain_count(lv(l)); ++d) {
      const auto &x = a.at(lv(l), domain_id{d}), &y = b.at(lv(l), domain_id{d});
      const std::string which = where + ", domain " + std::to_string(d);
      if (x.parent != y.parent) return "parent" + which;
      if (!(x.children == y.children)) return "children" + which;
      if (!(x.nodes == y.nodes)) return "nodes" + which;
      if (x.implicit != y.implicit) return "implicit" + which;
      if (a.name(lv(l), domain_id{d}) != b.name(lv(l), domain_id{d}))
        return "name" + which + ": " + a.name(lv(l), domain_id{d}) + " and " + b.name(lv(l), domain_id{d});
    }
  }
  for (std::uint32_t n = 0; n < a.node_count(); ++n)
    if (a.leaf_of(node_id{n}) != b.leaf_of(node_id{n})) return "leaf of node " + std::to_string(n);
  return "";
}

/// The laws of a tree: every node in one leaf, ranges contiguous and nested, parents and children agree.
inline std::string broken_law(const domain_tree& t) {
  if (t.level_count() == 0 || t.domain_count(lv(0)) != 1) return "level 0 is one domain";
  for (unsigned l = 0; l < t.level_count(); ++l) {
    std::uint32_t next_node = 0, next_child = 0;
    for (std::uint32_t d = 0; d < t.domain_count(lv(l)); ++d) {
      const auto& x = t.at(lv(l), domain_id{d});
      if (x.nodes.first != next_node || x.nodes.size() == 0) return "nodes are contiguous and not empty";
      if (x.children.first != next_child || x.children.size() == 0) return "children are contiguous and not empty";
      next_node = x.nodes.last;
      next_child = x.children.last;
      for (std::uint32_t n = x.nodes.first; n < x.nodes.last; ++n)
        if (t.domain_of(node_id{n}, lv(l)) != domain_id{d}) return "domain_of agrees with the ranges";
      if (l + 1u < t.level_count())
        for (std::uint32_t c = x.children.first; c < x.children.last; ++c)
          if (t.at(lv(l + 1), domain_id{c}).parent != d) return "children know their parent";
    }
    if (next_node != t.node_count()) return "every node is in a domain of every level";
  }
  return "";
}

/// The graph of a catalogue machine; the test ends when there is none.
inline hardware_graph machine(std::string_view id) {
  auto g = make_node_graph(id);
  REQUIRE_MESSAGE(g.has_value(), std::string{id});
  return *std::move(g);
}

inline part_id find(const hardware_graph& g, vertex_kind kind, std::uint32_t index) {
  const auto v = find_part(g, kind, index);
  REQUIRE(v.has_value());
  return *v;
}

/// Joins two parts by a link of `rate` GB/s, unknown when empty.
inline link_id wire(hardware_graph& g, part_id a, part_id b, std::optional<double> rate,
                    link_kind kind = link_kind::pcie) {
  link l;
  l.kind = kind;
  if (rate) l.rate = gigabytes_per_second{*rate};
  return join(g, a, b, l);
}

/// The link between two parts; the test ends when there is none.
inline link_id link_between(const hardware_graph& g, part_id a, part_id b) {
  const auto [e, found] = boost::edge(a, b, g);
  REQUIRE(found);
  return e;
}

inline double rate_of(const std::optional<gigabytes_per_second>& r) {
  return r ? r->count() : -1;
}

}  // namespace berth::testing
