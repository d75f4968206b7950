#pragma once
/// \file
/// Graphs of whole fabrics. One vertex per machine and a shared graph per kind of machine, so a million GPUs are not
/// ten million vertices; `expand` makes the full graph of GPUs, NICs and switches where an algorithm asks for it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/core/expected.hpp"
#include "berth/core/id.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/graph/hardware_graph.hpp"
#include "berth/topology/presets.hpp"

namespace berth {

/// A fabric: its graph of machines and switches, and the kinds of machine.
struct fabric {
  hardware_graph graph;
  std::vector<part_id> nodes;      ///< machines of the graph, by number
  std::vector<shape_id> shape_of;  ///< by machine: its graph in `shapes`
  std::vector<hardware_graph> shapes;
};

/// What a builder may know beyond the preset.
struct fabric_latencies {
  std::optional<nanoseconds> nvlink_switch, network_switch;  ///< to cross one switch
  std::optional<nanoseconds> cable;                          ///< of one link between machines and switches
};

/// Builds the graph of a fabric. Machine i is vertex i. A link stands for all cables between its two ends; `count` and
/// `rate` are theirs together.
///   rails, nvl72  leaf r of a leaf domain takes the NICs of rail r; every leaf to every spine
///   leaf_spine    the leaf takes all NICs of its machines; every leaf to every spine
///   clos3         as leaf_spine inside a pod; spine k of every pod to core group k
///   nvl72         besides, the trays of a rack hang on one vertex that stands for its NVSwitches
/// O(machines × rails + leaves × spines + spines × cores). Errors, in words: a shape that the catalogue does not have.
[[nodiscard]] expected<fabric, std::string> make_fabric(const fabric_spec& f, const fabric_latencies& lag = {});

/// The full graph of a fabric.
struct expanded_fabric {
  hardware_graph graph;
  std::vector<std::vector<part_id>> gpus;  ///< by machine, in the order of its shape
  std::vector<std::vector<part_id>> nics;  ///< by machine, in the order of its shape
};

/// Replaces every machine by the parts of its shape, and the vertex of an NVLink domain by its NVSwitches: as many as a
/// GPU has NVLinks, one link of every GPU to each. Cables of rail r go to the NICs of rail r, others to all compute
/// NICs, evenly. What is broken in the fabric is broken in the expansion. O(parts + links of all machines). Errors, in
/// words: a cable to a rail that the machine has no NIC on.
[[nodiscard]] expected<expanded_fabric, std::string> expand(const fabric& f);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/topology/graph/impl/fabric_graph.hpp"
#endif
