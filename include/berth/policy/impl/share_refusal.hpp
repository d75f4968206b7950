#pragma once
/// \file
/// Bodies of `berth/policy/share_refusal.hpp`.

#include "berth/core/bits.hpp"
#include "berth/policy/share_refusal.hpp"

namespace berth {

BERTH_INLINE share_refusal explain_share(const cluster& c, const task_shape& t) {
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
