#pragma once
/// \file
/// The hardware graph: GPUs, switches, NUMA nodes, NICs, machines as vertices, what joins them as links. A Boost.Graph
/// `adjacency_list` with bundled properties, so every algorithm of that library applies.
///
/// Shapes   `hardware_graph` is an undirected multigraph: several links may join the same two vertices.
/// Units    `rate`: GB/s in one direction for the whole link, its lanes multiplied in; `latency`: ns, one way.
/// Unknown  a rate or latency nobody knows is an empty optional, never 0.
/// Health   a vertex or link with `healthy == false` is left out of every query; the others are served as if it were
/// not
///          there. Ids never move.

#include <boost/graph/adjacency_list.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/core/id.hpp"
#include "berth/core/separate.hpp"
#include "berth/core/units.hpp"
#include "berth/topology/catalogue/kinds.hpp"

namespace berth {

/// A part of the hardware.
struct part {
  vertex_kind kind{};
  std::string name;                          ///< "gpu3", "leaf-12"
  std::uint32_t index = 0;                   ///< among the parts of its kind in its machine, or in its fabric
  std::optional<std::uint32_t> machine;      ///< in an expanded fabric: the machine that the part belongs to
  std::string model;                         ///< GPU: id in the catalogue; machine: name of its shape; "" when unknown
  std::string bus_id;                        ///< PCI bus id as "0000:1b:00.0", lower case; "" when unknown or not PCI
  std::string uuid;                          ///< GPU: "GPU-…", as its driver tells it; "" when unknown
  std::optional<std::uint64_t> guid;         ///< NIC or switch: node GUID; NICs and fabric ports are joined by it
  std::optional<std::uint8_t> rail;          ///< NIC or leaf: rail of the compute fabric, where there are rails
  std::optional<gigabytes_per_second> rate;  ///< NIC: line rate
  std::optional<cpu_millis> cpu;             ///< NUMA node: CPUs
  std::optional<nanoseconds> latency;        ///< to cross a switch
  bool healthy = true;
};

/// What joins two parts.
struct link {
  link_kind kind{};
  std::optional<std::uint8_t> generation;    ///< of NVLink or PCIe
  std::optional<std::uint16_t> count;        ///< NVLinks, PCIe lanes or cables taken together
  std::optional<gigabytes_per_second> rate;  ///< one direction, all of `count` together
  std::optional<nanoseconds> latency;
  std::optional<std::uint8_t> rail;  ///< machine to leaf: rail that the cables serve; empty: any
  bool healthy = true;
};

/// What a graph as a whole is called.
struct graph_label {
  std::string name;
};

using hardware_graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, part, link, graph_label>;
using part_id = boost::graph_traits<hardware_graph>::vertex_descriptor;
using link_id = boost::graph_traits<hardware_graph>::edge_descriptor;

/// Adds a part named `<kind><index>`. O(1) amortised.
part_id add_part(hardware_graph& g, vertex_kind kind, std::uint32_t index);

/// Joins two parts. \pre a and b are parts of `g`, a != b. O(1) amortised.
link_id join(hardware_graph& g, part_id a, part_id b, link l);

/// Takes away `lost` of the lanes or cables of a link: count and rate shrink in proportion, and a link without any left
/// is unhealthy. \pre g[l].count is known and at least `lost`
void lose_lanes(hardware_graph& g, link_id l, std::uint16_t lost);

/// Which parts and links a query sees.
enum class health_view : std::uint8_t {
  healthy_only,  ///< what works now
  as_built,      ///< everything, broken or not
};

/// The part of that kind and index (and machine, in an expanded fabric), if there is one. O(V).
[[nodiscard]] std::optional<part_id> find_part(const hardware_graph& g, vertex_kind kind, std::uint32_t index,
                                               std::optional<std::uint32_t> machine = std::nullopt);

/// All parts of a kind in the order of their ids. O(V).
[[nodiscard]] std::vector<part_id> parts_of(const hardware_graph& g, vertex_kind kind);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/topology/graph/impl/hardware_graph.hpp"
#endif
