#pragma once
/// \file
/// What a cluster prepares for, and why a call on it may change nothing.

#include <cstddef>
#include <cstdint>

#include "berth/core/id.hpp"

namespace berth {

struct part_catalogue;

/// Why a call on a cluster changed nothing.
enum class cluster_errc : std::uint8_t {
  bad_argument = 1,    ///< an id is out of range, a device does not exist, a shape asks for nothing
  conflict,            ///< what the placement wants is not free (any more)
  key_in_use,          ///< the job key is committed with other content; the name is that of another node
  still_in_use = 5,    ///< the node holds tasks
  capacity_exhausted,  ///< past the limits given to `reserve`
};

struct cluster_error {
  cluster_errc code{};
  node_id node{};  ///< the node at fault, if one is
};

/// How much to prepare for, so that nothing allocates later.
struct cluster_limits {
  std::size_t jobs = 0;          ///< jobs committed at once
  std::size_t tasks = 0;         ///< their tasks together
  std::size_t live_shapes = 32;  ///< task shapes with exact counters
  std::size_t journal = 4096;    ///< changes inside one open transaction
  /// Where more task shapes are asked for than `live_shapes`: false counts each one anew when it is asked for again, in
  /// O(nodes); true answers shapes that were not asked for lately from bounds that they share. That is faster and as
  /// right, but what was asked before then has a say in which of several good nodes is chosen.
  bool shared_bounds = false;
  bool bindings = false;  ///< keep what tasks hold inside their nodes; tasks with a `binding_need` want it
  /// Into what devices may be cut, or null: whole devices only. It outlives the cluster and its copies. What is
  /// committed before it is given holds whole devices.
  const part_catalogue* parts = nullptr;
};

}  // namespace berth
