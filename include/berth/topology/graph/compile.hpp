#pragma once
/// \file
/// From the hardware graph of one machine to its flat `node_shape`.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "berth/core/expected.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/graph/hardware_graph.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth {

namespace detail {

/// The NUMA node that a device hangs on: the nearest one over PCIe switches, sockets and direct links, as built; lowest
/// id first. Empty: none.
[[nodiscard]] std::optional<part_id> home_numa(const hardware_graph& g, part_id device);

}  // namespace detail

/// Compiles a machine's graph: device i is its i-th GPU. What is near what (NUMA nodes, PCIe switches, NICs) is taken
/// as built; bandwidth is what works now, so that a pair with a broken device has none. Where the rate of the best way
/// is unknown, so is the pair's, and it has an order instead (`pair_order.hpp`). Memory is not in the graph and stays
/// 0. O(n^2) path queries. Errors, in words: more GPUs than a machine may have (such as a whole rack).
[[nodiscard]] expected<node_shape, std::string> compile_shape(const hardware_graph& g);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/topology/graph/impl/compile.hpp"
#endif
