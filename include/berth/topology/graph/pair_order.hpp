#pragma once
/// \file
/// Which of two pairs of devices is joined better where rates are unknown: by the kind of way. Needs Boost.Graph.
///
/// An order is a number to rank by beside known rates, in the same scale, and is never reported or reserved as a rate.
///   NVLinks and XGMI between GPUs   as if each link had the rate of the slowest one that is known in the machine;
///   where
///     none is, 25 GB/s (one direction; NVLink 2 to 4) or, if that is more, a rate just above all that is known of PCIe
///     and sockets in the machine. So more links come before fewer, and every link before every way over the host.
///   Ways over the host of unknown rate   behind all known rates: one PCIe switch, several, a host bridge, several host
///     bridges of a NUMA node, sockets or NUMA nodes.
/// What is broken does not exist, as in `path_finder`: devices whose NVLink is broken are joined over the host, those
/// that nothing joins have no order.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/topology/graph/hardware_graph.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth {

/// Gives an order to the pairs of `gpus` whose rate is unknown, and takes the rate from those whose known way over the
/// host is beaten by links of unknown rate. \param table  the known rates of these GPUs, by position
/// Cost: nothing where every link between GPUs and every pair has a rate, else O(n^2) path queries.
void order_unknown_pairs(const hardware_graph& g, const std::vector<part_id>& gpus, bandwidth_table& table);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/topology/graph/impl/pair_order.hpp"
#endif
