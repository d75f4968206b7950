#pragma once
/// \file
/// Bodies of `berth/cluster/instance_shares.hpp`.

#include "berth/cluster/instance_shares.hpp"

namespace berth::detail {

BERTH_INLINE std::uint32_t room_of_shared(const instance_use* shared, mig_set placements, const instance_limits& l,
                                          const part_need& need) noexcept {
  std::uint32_t r = 0;
  for (unsigned k = 0; shared != nullptr && k < max_task_instances && shared[k].clients != 0; ++k)
    if ((placements >> shared[k].placement & 1U) != 0) r += share_room(l, shared[k], need);
  return r;
}

BERTH_INLINE const instance_use* instance_shares::find(std::size_t device, unsigned placement) const noexcept {
  const instance_use* found = nullptr;
  const instance_use* const u = of(device);
  for (unsigned k = 0; u != nullptr && k < max_task_instances && u[k].clients != 0; ++k)
    if (u[k].placement == placement) found = u + k;
  return found;
}

BERTH_INLINE bool instance_shares::equal(std::size_t a, std::size_t b) const noexcept {
  bool same = true;
  for (unsigned k = 0; k < max_task_instances && all_.size() != 0; ++k) same = same && of(a)[k] == of(b)[k];
  return same;
}

BERTH_INLINE bool instance_shares::join(std::size_t device, unsigned placement, const instance_limits& l,
                                        const part_need& need) noexcept {
  instance_use* const u = all_.data() + device * max_task_instances;
  unsigned k = 0;
  while (k < max_task_instances - 1 && u[k].clients != 0 && u[k].placement < placement) ++k;
  const bool opens = u[k].clients == 0 || u[k].placement != placement;
  if (opens) {
    for (unsigned i = max_task_instances - 1; i > k; --i) u[i] = u[i - 1];
    u[k] = {};
    u[k].placement = static_cast<std::uint8_t>(placement);
  }
  add_share(l, u[k], need);
  return opens;
}

BERTH_INLINE bool instance_shares::leave(std::size_t device, unsigned placement, const instance_limits& l,
                                         const part_need& need) noexcept {
  instance_use* const u = all_.data() + device * max_task_instances;
  unsigned k = 0;
  while (k < max_task_instances - 1 && u[k].placement != placement) ++k;
  if (!remove_share(l, u[k], need)) return false;
  for (; k < max_task_instances - 1; ++k) u[k] = u[k + 1];
  u[k] = {};
  return true;
}

BERTH_INLINE bool instance_shares::set(std::size_t device, const instance_use* to) noexcept {
  bool changed = false;
  for (unsigned k = 0; k < max_task_instances && all_.size() != 0; ++k) {
    instance_use& u = all_.data()[device * max_task_instances + k];
    const instance_use next = to != nullptr ? to[k] : instance_use{};
    changed = changed || !(u == next);
    u = next;
  }
  return changed;
}

BERTH_INLINE void instance_shares::add_devices(std::size_t n) {
  for (std::size_t i = 0; i < n * max_task_instances; ++i) all_.append({});
}

}  // namespace berth::detail
