#pragma once
/// \file
/// Levels from the graph alone, by falling bandwidth. For the GPUs of one graph: `derive_levels`; for the machines of a
/// fabric: `derive_tree`. What is compiled to flat tables is in `compile.hpp`.
///
/// Devices      At a falling threshold, devices that are pairwise joined at that bandwidth form a domain; where two
/// levels
///              have the same bandwidth, the one that crosses fewer links comes first (a PCIe switch before its
///              socket). In switched parts that is connectivity. Where it is not (meshes such as DGX-1), the largest
///              clique of what is left is taken again and again, ties by id, and the level is kept only if that makes
///              domains of equal size, each made of whole domains of the level before.
/// Broken parts A broken device takes part in the shape of the levels and is left out of the result: it carries nothing
/// for
///              others, so the rest keep their domains. Broken links and switches are pruned first.
/// Machines     Levels of a fabric come from its switches, edge first: NVLink domains, leaves, spines, core. Machines
/// that
///              are joined by switches up to a level share a domain of that level; so the leaf domain of a
///              rail-optimised fabric is the set of leaves that serve the same machines.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "berth/core/expected.hpp"
#include "berth/core/id.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/domain_tree.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "berth/topology/graph/paths.hpp"

namespace berth {

/// A level of the GPUs of one graph.
struct derived_level {
  std::optional<gigabytes_per_second> bandwidth;    ///< of every pair in one domain, at least; empty: unknown for some
  std::uint32_t links = 0;                          ///< most links that such a pair crosses
  std::vector<std::vector<std::uint32_t>> domains;  ///< GPUs by their position among the graph's GPUs, ascending
};

/// The largest mesh that is searched for cliques; a larger one gets no level of its own.
inline constexpr std::size_t mesh_limit = 32;

namespace detail {

/// True when every domain of `inner` lies inside one of `outer`.
[[nodiscard]] bool nests(const std::vector<std::vector<std::uint32_t>>& inner,
                         const std::vector<std::vector<std::uint32_t>>& outer, std::uint32_t n);

}  // namespace detail

/// The levels of the GPUs of a graph, innermost first; the last one is always all of them. Single GPUs are no level.
/// O(n^2) path queries, then O(n^2) per distinct bandwidth.
[[nodiscard]] std::vector<derived_level> derive_levels(const hardware_graph& g);

/// The domain tree of a fabric, and which machine got which id.
struct derived_tree {
  domain_tree tree;
  std::vector<node_id> node_ids;       ///< by position among the graph's machines; "none" for a broken machine
  std::vector<std::uint32_t> cut_off;  ///< working machines that no switch serves; each is a leaf domain of its own
};

/// The tree of a fabric's graph. Levels: "cluster", then of "core", "spine", "leaf", "nvlink" those that the fabric
/// has; a level above the leaves whose only domain is the whole cluster is left out, as the cluster level says the
/// same. A domain made by one switch has its name, one made by several is `<level>-<number>`, numbered by their first
/// machine. Where an NVLink domain reaches over several leaves, these leaves are one leaf domain. O((V + E) α) plus the
/// tree. Errors: as `domain_tree_builder::build` (no machine: `no_nodes`).
[[nodiscard]] expected<derived_tree, tree_error> derive_tree(const hardware_graph& g,
                                                             health_view health = health_view::healthy_only);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/topology/graph/impl/derive.hpp"
#endif
