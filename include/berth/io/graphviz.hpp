#pragma once
/// \file
/// A hardware graph for Graphviz, through Boost's writer: `dot -Tsvg`, or `neato` for meshes. Needs Boost.Graph.

// clang-format off: Boost's graphviz.hpp brings functions that hide from disjoint_sets.hpp what it needs
#include <boost/property_map/property_map.hpp>
#include <boost/pending/disjoint_sets.hpp>
#include <boost/graph/graphviz.hpp>
// clang-format on
#include <cmath>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>

#include "berth/io/text.hpp"
#include "berth/topology/graph/hardware_graph.hpp"

namespace berth {

namespace graphviz_detail {

/// Text inside double quotes: quotes and backslashes escaped, control characters left out.
[[nodiscard]] inline std::string escaped(std::string_view s) {
  std::string out;
  for (const char c : s) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) continue;
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

[[nodiscard]] constexpr std::string_view fill_of(vertex_kind k) noexcept {
  switch (k) {
    case vertex_kind::gpu:
      return "#cfe8cf";
    case vertex_kind::nic:
      return "#fde3c0";
    case vertex_kind::nvswitch:
    case vertex_kind::nvlink_domain:
      return "#b7dfb0";
    case vertex_kind::node:
      return "#dbe6f3";
    case vertex_kind::leaf:
    case vertex_kind::spine:
    case vertex_kind::core:
      return "#f3d0c7";
    default:
      return "#e6e6e6";
  }
}

struct vertex_writer {
  const hardware_graph& g;
  void operator()(std::ostream& out, part_id v) const {
    const part& p = g[v];
    out << "[label=\"" << escaped(p.name) << (p.model.empty() ? "" : "\\n" + escaped(p.model)) << "\", kind=\""
        << to_string(p.kind) << "\", fillcolor=\"" << fill_of(p.kind) << '"'
        << (p.healthy ? "" : ", style=\"filled,dashed\"") << ']';
  }
};

struct edge_writer {
  const hardware_graph& g;
  void operator()(std::ostream& out, link_id e) const {
    const link& l = g[e];
    out << "[label=\"" << to_string(l.kind);
    if (l.count && *l.count > 1) out << " x" << *l.count;
    if (l.rate) out << "\\n" << l.rate->count() << " GB/s";
    out << "\", kind=\"" << to_string(l.kind) << '"';
    if (l.rate) out << ", penwidth=" << 1 + std::log2(1 + l.rate->count()) / 3;
    out << (l.healthy ? "" : ", style=dashed") << ']';
  }
};

struct graph_writer {
  void operator()(std::ostream& out) const {
    out << "graph [overlap=false, splines=true]\nnode [shape=box, style=\"filled,rounded\", fontname=\"sans-serif\"]\n"
           "edge [fontsize=9, fontname=\"sans-serif\"]\n";
  }
};

}  // namespace graphviz_detail

/// The graph in Graphviz's language. O(parts + links).
[[nodiscard]] inline std::string write_graphviz_text(const hardware_graph& g) {
  std::ostringstream out;
  boost::write_graphviz(out, g, graphviz_detail::vertex_writer{g}, graphviz_detail::edge_writer{g},
                        graphviz_detail::graph_writer{});
  return out.str();
}

}  // namespace berth
