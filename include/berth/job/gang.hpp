#pragma once
/// \file
/// What is asked: a gang of task groups that start together or not at all.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/cluster/task_shape.hpp"
#include "berth/core/id.hpp"
#include "berth/core/separate.hpp"
#include "berth/core/units.hpp"
#include "berth/topology/domain_tree.hpp"

namespace berth {

/// Tasks that ask the same.
struct task_group {
  std::string name{};
  task_shape shape{};         ///< what each task needs, and how many of them one node may hold; a task lands whole
                              ///< on one node
  std::uint32_t wanted = 1;   ///< tasks wished for
  std::uint32_t minimum = 1;  ///< the gang does not start with fewer; at least 1, at most `wanted`
};

/// How strictly a gang is kept inside one domain of a level.
enum class locality : std::uint8_t {
  unconstrained,  ///< anywhere; the level is ignored
  preferred,      ///< in one domain of the level if any holds it, else of the narrowest wider level that does
  required,       ///< in one domain of the level or not at all; implicit domains count (`domain_tree.hpp`)
};

/// How segments share the domains of their level.
enum class segment_layout : std::uint8_t {
  free,         ///< as the domain policy likes
  spread,       ///< no two segments in one domain
  consolidate,  ///< in each domain that is used but one, as many segments as its nodes hold, whatever its links carry
};

/// Equal chunks of the gang. With `count` segments wanted, a segment holds `wanted / count` tasks of every group, and
/// all of them lie inside one domain of `level`: tasks 0 … s-1 of a group (by rank) are its part of the first segment,
/// and so on. A leader with its workers is a segment: group "leader" with one task per segment, group "worker" with
/// several. A gang that gets fewer than it wants gets fewer segments, never smaller ones.
struct segment_request {
  std::uint32_t count = 1;  ///< must divide every group's `wanted`; the quotient must divide its `minimum`
  level_id level{};
  segment_layout layout = segment_layout::free;
};

/// Which rails of a rail-optimised fabric the tasks use.
enum class rail_rule : std::uint8_t {
  any,   ///< whichever their devices are on
  same,  ///< the same on every node, so that every device has its peers one switch away. A node takes part if it has a
         ///< free device on each of them; where fewer tasks are on it, they use some
};

/// A gang: all groups start together, each with at least its minimum, or nothing does.
struct gang {
  std::vector<task_group> groups{};
  locality where = locality::unconstrained;
  level_id level{};                           ///< read unless `where` is unconstrained
  std::optional<segment_request> segments{};  ///< none: the gang is one piece
  /// Per device, between the gang's nodes: reserved on every uplink that the hose model (`cluster/uplinks.hpp`) says,
  /// or the gang is refused with the link that lacks it. 0: nothing is promised. Where leaves are rails side by side,
  /// such a gang uses the same rails everywhere.
  bytes_per_second between_nodes{};
  rail_rule rails = rail_rule::any;
};

/// Whether a gang wants something of the links between its devices: a rate, the same rails, or one NVLink domain. Parts
/// of GPUs cannot have that. \pre the level, if there is one, is one of the tree
[[nodiscard]] bool wants_links(const gang& g, const domain_tree& tree) noexcept;

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/job/impl/gang.hpp"
#endif
