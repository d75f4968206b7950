#pragma once
/// \file
/// Why a share finds no device, counted by device: for who explains a refusal. What fits is asked of every device by
/// itself: half a GPU here and half there serve nobody who needs 0.8 of one.

#include <cstdint>

#include "berth/cluster/cluster.hpp"
#include "berth/core/bits.hpp"

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
[[nodiscard]] inline share_refusal explain_share(const cluster& c, const task_shape& t) {
  share_refusal out;
  const detail::device_parts& parts = c.inside().parts();
  if (!parts.is_on()) return out;
  for (std::uint32_t n = 0; n < c.node_count(); ++n) {
    const node_state& s = c.node(node_id{n});
    const eligibility may = c.eligible(t.filter, node_id{n});
    if (!may.admits) continue;
    std::uint64_t memory = 0, thousandths = 0, asked = 0;
    unsigned here = 0;  // that are, or could be, shared
    for_each_bit(s.installed & may.devices, [&](unsigned d) {
      ++out.devices;
      const detail::device_limits& l = parts.limits(s.node_class, d);
      const detail::device_use& u = parts.use(n, d);
      const std::uint32_t m = t.part.memory_on(l.memory_mib);
      asked = m > asked ? m : asked;
      const bool shared = (parts.masks(n).shared & bit(d)) != 0;
      if (!s.usable || (s.unhealthy & bit(d)) != 0) {
        ++out.out_of_use;
      } else if (!parts.may_share(s.node_class, d)) {
        ++out.not_shared;
      } else if ((parts.masks(n).mig & bit(d)) != 0) {
        ++out.in_mig_mode;
      } else if ((s.held & bit(d)) != 0 && !shared) {
        ++out.held_whole;
      } else {
        ++here;
        memory += l.memory_mib - u.memory_mib;
        thousandths += static_cast<unsigned>(l.thousandths - u.thousandths);
        if (detail::share_room(l, u, t.part) != 0) ++out.fits;
        else if (l.one_user && u.clients != 0 && u.user != t.part.user()) ++out.other_user;
        else if (u.clients >= l.clients) ++out.no_clients;
        else if (m > l.memory_mib - u.memory_mib) ++out.no_memory;
        else ++out.no_compute;
      }
    });
    if (t.part.count() == 1 && here != 0 && memory >= asked && thousandths >= t.part.thousandths())
      out.enough_on_a_node_in_sum = true;
  }
  return out;
}

}  // namespace berth
