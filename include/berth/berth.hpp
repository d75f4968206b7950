#pragma once
/// \file
/// Everything that needs only the standard library, Boost.Graph, Eigen and fmt (target `berth::all`).
/// Heavy: a scheduler that embeds the hot path includes what it uses, such as `berth/solver/placer.hpp`.
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

#include "berth/cluster/allocation_store.hpp"
#include "berth/cluster/capacity_index.hpp"
#include "berth/cluster/cluster.hpp"
#include "berth/cluster/index_layout.hpp"
#include "berth/cluster/live_shape.hpp"
#include "berth/cluster/node_filter.hpp"
#include "berth/cluster/node_state.hpp"
#include "berth/cluster/placement.hpp"
#include "berth/cluster/spec.hpp"
#include "berth/cluster/task_shape.hpp"
#include "berth/cluster/transaction.hpp"

#include "berth/job/gang.hpp"

#include "berth/policy/compose.hpp"
#include "berth/policy/concepts.hpp"
#include "berth/policy/device_choice.hpp"
#include "berth/policy/domain_fit.hpp"
#include "berth/policy/node_fit.hpp"
// clang-format on
