#pragma once
/// \file
/// Which nodes would have to be free and healthy so that a gang fits: a search over domains by what their nodes would
/// gain. Cold; allocates.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/core/id.hpp"
#include "berth/core/separate.hpp"

namespace berth::detail {

/// Node `n` with nothing held and everything healthy.
[[nodiscard]] node_state restored(const cluster& c, node_id n);
/// Makes node `n` of a cluster free and healthy. The cluster's jobs no longer agree with its nodes: for copies that are
/// thrown away. \pre no transaction is open
void restore(cluster& c, node_id n);
void restore_uplinks(cluster& c);

/// Everything free, healthy and without taints, as above.
void restore_all(cluster& c);

/// What has to fit: `needs` units of `size` tasks of one shape, each unit inside one domain of `inner`, all of them
/// inside one domain of `outer`.
struct room_request {
  task_shape shape{};
  level_id outer{}, inner{};
  std::uint64_t size = 1;
  std::uint64_t needs = 1;
  bool one_per_domain = false;
};
/// A domain of the outer level and nodes of it, in the order in which freeing them helps most.
struct room_plan {
  domain_id domain{};
  std::vector<node_id> nodes;
  std::uint64_t devices_held = 0;
};

/// One plan per outer domain that could hold everything, fewest nodes first, then fewest held devices, then lowest id.
/// For one unit the first plan is the least number of nodes: capacities of equal tasks add up. O(N × log N).
[[nodiscard]] std::vector<room_plan> plan_room(const cluster& c, const room_request& r);

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/solver/detail/impl/nodes_to_free.hpp"
#endif
