#pragma once
/// \file
/// The hardware graph of one machine, from the catalogue.

#include <cstdint>
#include <string>
#include <string_view>

#include "berth/core/expected.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/catalogue/rows.hpp"
#include "berth/topology/graph/hardware_graph.hpp"

namespace berth {

/// Unpacks a row of the catalogue: first all GPUs, so that GPU i is vertex i, then NICs, NVSwitches, PCIe switches,
/// NUMA nodes. In a rack's tray one part of kind `nvlink_domain` stands for the NVSwitches of the rack. O(parts +
/// links).
[[nodiscard]] hardware_graph make_node_graph(const catalogue::node_graph_row& row);

/// The graph of a machine of the catalogue (or of the rack `catalogue::nvl72_rack_id`).
/// Errors: an id that the catalogue does not have, in words.
[[nodiscard]] expected<hardware_graph, std::string> make_node_graph(std::string_view id);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/topology/graph/impl/node_graph.hpp"
#endif
