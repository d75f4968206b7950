#pragma once
/// \file
/// Why a share finds no device, counted by device: for who explains a refusal. What fits is asked of every device by
/// itself: half a GPU here and half there serve nobody who needs 0.8 of one.

#include <cstdint>

#include "berth/cluster/cluster.hpp"
#include "berth/core/separate.hpp"

namespace berth {

/// Devices that may serve the task by labels and models, by what keeps it off. Each is counted once, under the first
/// that applies.
struct share_refusal {
  std::uint32_t devices = 0;     ///< looked at
  std::uint32_t out_of_use = 0;  ///< broken, or on a node that is
  std::uint32_t not_shared = 0;  ///< by the limits of their model
  std::uint32_t held_whole = 0;
  std::uint32_t in_mig_mode = 0;  ///< cut into instances, or kept for them
  std::uint32_t other_user = 0;   ///< in use by another user
  std::uint32_t no_clients = 0;   ///< all their clients are there
  std::uint32_t no_memory = 0;
  std::uint32_t no_compute = 0;  ///< too few thousandths, or one client has all of them
  std::uint32_t fits = 0;
  bool enough_on_a_node_in_sum = false;  ///< what is free on the devices of one node would do, were they one
};

/// O(devices). For callers that want the causes by device; `explain` gives them by node.
/// \pre t.part.is_share() and does not ask for a NIC beside it
[[nodiscard]] share_refusal explain_share(const cluster& c, const task_shape& t);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/share_refusal.hpp"
#endif
