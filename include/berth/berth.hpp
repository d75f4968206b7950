#pragma once
/// \file
/// Everything that needs only the standard library, Boost.Graph, Eigen and fmt (target `berth::all`).
/// Heavy: a scheduler that embeds the hot path includes what it uses, such as `berth/place.hpp`.
/// Headers of `io/` that read or write JSON are not listed: include them by name.
///
/// Kept by `tests/architecture/check.py --write-umbrella`, in the order of the rooms.

// clang-format off: the order of the rooms
#include "berth/core/bits.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/id.hpp"
#include "berth/core/random.hpp"
#include "berth/core/units.hpp"

#include "berth/topology/catalogue/fabrics.hpp"
#include "berth/topology/catalogue/gpu_models.hpp"
#include "berth/topology/catalogue/kinds.hpp"
#include "berth/topology/catalogue/node_graphs.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "berth/topology/catalogue/rows.hpp"
#include "berth/topology/domain_tree.hpp"
#include "berth/topology/node_shape.hpp"
#include "berth/topology/presets.hpp"

#include "berth/topology/graph/bisection.hpp"
#include "berth/topology/graph/compile.hpp"
#include "berth/topology/graph/derive.hpp"
#include "berth/topology/graph/fabric_graph.hpp"
#include "berth/topology/graph/flow.hpp"
#include "berth/topology/graph/hardware_graph.hpp"
#include "berth/topology/graph/node_graph.hpp"
#include "berth/topology/graph/paths.hpp"
#include "berth/topology/graph/queries.hpp"

#include "berth/cluster/allocation_store.hpp"
#include "berth/cluster/capacity_index.hpp"
#include "berth/cluster/change_feed.hpp"
#include "berth/cluster/cluster.hpp"
#include "berth/cluster/index_layout.hpp"
#include "berth/cluster/live_shape.hpp"
#include "berth/cluster/node_filter.hpp"
#include "berth/cluster/node_state.hpp"
#include "berth/cluster/placement.hpp"
#include "berth/cluster/presets.hpp"
#include "berth/cluster/replica.hpp"
#include "berth/cluster/spec.hpp"
#include "berth/cluster/task_shape.hpp"
#include "berth/cluster/transaction.hpp"

#include "berth/job/gang.hpp"

#include "berth/policy/compose.hpp"
#include "berth/policy/concepts.hpp"
#include "berth/policy/device_choice.hpp"
#include "berth/policy/domain_fit.hpp"
#include "berth/policy/node_fit.hpp"

#include "berth/solver/batch.hpp"
#include "berth/solver/decision.hpp"
#include "berth/solver/exact.hpp"
#include "berth/solver/exhaustive.hpp"
#include "berth/solver/explain.hpp"
#include "berth/solver/explain_text.hpp"
#include "berth/solver/explanation.hpp"
#include "berth/solver/mixed_search.hpp"
#include "berth/solver/placer.hpp"
#include "berth/solver/refusal_memory.hpp"
#include "berth/solver/tree_filler.hpp"
#include "berth/solver/validate.hpp"

#include "berth/io/assumptions.hpp"
#include "berth/io/hostlist.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/occupied.hpp"
#include "berth/io/resolve_job.hpp"
#include "berth/io/same_hardware.hpp"
#include "berth/io/slurm.hpp"
#include "berth/io/slurm_gres.hpp"
#include "berth/io/slurm_hardware.hpp"
#include "berth/io/slurm_lines.hpp"
#include "berth/io/slurm_nodes.hpp"
#include "berth/io/slurm_topology.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"

#include "berth/report/floor_plan.hpp"
#include "berth/report/floor_plan_layout.hpp"
#include "berth/report/floor_plan_svg.hpp"
#include "berth/report/tree_text.hpp"
#include "berth/report/xml.hpp"
// clang-format on
