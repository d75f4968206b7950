#pragma once
/// \file
/// Judges a placement by the rules of a request, from nothing but the nodes' states and the domain tree. Shares no code
/// with the placer, so that each can convict the other; but for needs inside nodes, which it binds task by task as
/// `cluster::commit` would. For tests, and for schedulers that take placements from
/// elsewhere.
///
/// One rule is not checked here: that `segment_layout::consolidate` fills every domain it uses but one. It needs to
/// know how much a domain could have held; see `is_consolidated` in `exact.hpp`.
///
/// Cost        O(tasks × (levels + models of a node)), O(nodes) memory.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/core/separate.hpp"
#include "berth/job/gang.hpp"
#include "berth/solver/decision.hpp"

namespace berth {

/// The first rule that a placement breaks.
enum class placement_fault : std::uint8_t {
  none,
  bad_shapes,          ///< `shapes` are not those of the gang's groups
  bad_group,           ///< a task names a group that does not exist
  bad_order,           ///< a group's tasks are not neighbours, or do not follow the tree
  too_few_tasks,       ///< a group gets fewer than its minimum
  too_many_tasks,      ///< a group gets more than it wants
  bad_node,            ///< no such node
  node_unusable,       ///< drained, broken or vacant
  node_not_admitted,   ///< the labels do not satisfy the task's filter
  wrong_device_count,  ///< not as many devices as the shape asks for
  device_not_free,     ///< held by a job, unhealthy or not there
  wrong_model,         ///< the filter does not admit the device
  device_twice,        ///< two tasks of the gang get one device
  bad_part,            ///< a task does not get the parts of devices that it asks for, or some that others hold
  unmet_binding,       ///< the inside of the node (NUMA nodes, NICs, host links) does not give what the task asks of it
  cpu_exceeded,        ///< the node has too little free CPU for all of its tasks
  memory_exceeded,     ///< the node has too little free memory for all of its tasks
  crowded_node,        ///< more tasks of a group on one node than its shape allows
  outside_level,       ///< a required level, and more than one domain of it
  uneven_rails,        ///< `rail_rule::same`, and two nodes where neither uses all rails that the other does
  link_exceeded,       ///< a link lacks the rate that the gang is to have between its nodes
  cut_off,             ///< some tasks inside a domain whose uplink is down, some outside
  broken_segment,      ///< the groups do not all have the same whole number of segments
  split_segment,       ///< a segment lies in more than one domain of its level
  crowded_segments,    ///< `spread`, and two segments in one domain
  false_score,         ///< `decision::score` is not the placement's
  false_level,         ///< `decision::level` is not the narrowest level whose one domain holds the gang
  false_domain,        ///< `decision::domain` is not that domain
  false_rate,          ///< the placement does not reserve the rate that the gang asks for
};

/// What is wrong, and with which task (an index into `placement::tasks`) or group; true where nothing is.
struct placement_check {
  placement_fault fault = placement_fault::none;
  std::size_t subject = 0;
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return fault == placement_fault::none; }
};

namespace detail {

/// Whether a gang says something a solver can work with.
[[nodiscard]] bool is_consistent(const cluster& c, const gang& g) noexcept;

/// Whether the labels of a node satisfy a filter. Written from the meaning of `node_filter`, not with `evaluate`.
[[nodiscard]] bool labels_satisfy(const node_filter& f, const std::vector<std::string>& labels);

/// The devices of a node that may serve a shape now: there, healthy, not held, of a model that the filter admits.
[[nodiscard]] device_mask devices_for(const cluster& c, const task_shape& shape, node_id n);

}  // namespace detail

/// Tasks missing and domains used per level, counted one by one. \pre all nodes exist
[[nodiscard]] placement_score score_of(const cluster& c, const gang& g, const placement& p);

/// Checks a placement against the cluster as it is and the gang's rules. \pre the gang itself is valid
[[nodiscard]] placement_check validate(const cluster& c, const gang& g, const placement& p);

/// Checks a positive decision: its placement, and what it says about it. \pre d.result == verdict::placed
[[nodiscard]] placement_check validate(const cluster& c, const gang& g, const decision& d);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/solver/impl/validate.hpp"
#endif
