#pragma once
/// \file
/// Shares of a device or of a MIG instance: how many fit, taking and giving back; and the table of the instances that
/// tasks share, `max_task_instances` per device.

#include <cstddef>
#include <cstdint>

#include "berth/cluster/device_use.hpp"
#include "berth/cluster/part_catalogue.hpp"
#include "berth/cluster/task_part.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/mig_geometry.hpp"

namespace berth::detail {

/// How many more shares of a kind fit beside what is in use. `Limits`: of a device or of an instance; `Use` alike.
template <class Limits, class Use>
[[nodiscard]] constexpr std::uint32_t share_room(const Limits& l, const Use& u, const part_need& need) noexcept {
  const std::uint32_t t = need.thousandths(), m = need.memory_on(l.memory_mib);
  const std::uint32_t left = l.thousandths - u.thousandths;
  std::uint32_t r = static_cast<std::uint32_t>(l.clients - u.clients);
  if (l.one_user && u.clients != 0 && u.user != need.user()) return 0;
  if (l.exclusive_whole) {
    if ((u.clients == 1 && u.thousandths == 1000) || (t == 0 && left == 0)) return 0;
    if (t == 1000) r = u.clients == 0 && r != 0 ? 1 : 0;
  }
  if (t != 0 && left / t < r) r = left / t;
  if (m != 0 && (l.memory_mib - u.memory_mib) / m < r) r = (l.memory_mib - u.memory_mib) / m;
  return r;
}
/// Takes a share in. \pre share_room(…) != 0
template <class Limits, class Use>
constexpr void add_share(const Limits& l, Use& u, const part_need& need) noexcept {
  u.memory_mib += need.memory_on(l.memory_mib);
  u.thousandths = static_cast<std::uint16_t>(u.thousandths + need.thousandths());
  ++u.clients;
  if (l.one_user) u.user = need.user();
}
/// Gives it back. \returns whether nobody is left
template <class Limits, class Use>
constexpr bool remove_share(const Limits& l, Use& u, const part_need& need) noexcept {
  u.memory_mib -= need.memory_on(l.memory_mib);
  u.thousandths = static_cast<std::uint16_t>(u.thousandths - need.thousandths());
  if (--u.clients != 0) return false;
  u.user = 0;
  return true;
}
/// How many more shares fit into the shared instances of one device that have one of these placements.
[[nodiscard]] std::uint32_t room_of_shared(const instance_use* shared, mig_set placements, const instance_limits& l,
                                           const part_need& need) noexcept;

/// Shared instances of all devices. Those of a device are in the order of their placements, the unused records last and
/// blank, so that equal states are equal bit for bit. Only `add_devices` allocates. Cost O(max_task_instances).
class instance_shares {
 public:
  void add_devices(std::size_t n);
  /// The records of a device; null where there are none at all.
  [[nodiscard]] const instance_use* of(std::size_t device) const noexcept {
    return all_.size() != 0 ? all_.data() + device * max_task_instances : nullptr;
  }
  /// Calls `f(record)` for those in use.
  template <class F>
  void each(std::size_t device, F&& f) const {
    const instance_use* const u = of(device);
    for (unsigned k = 0; u != nullptr && k < max_task_instances && u[k].clients != 0; ++k) f(u[k]);
  }
  /// The record of an instance; null where it is not shared.
  [[nodiscard]] const instance_use* find(std::size_t device, unsigned placement) const noexcept;
  [[nodiscard]] bool equal(std::size_t a, std::size_t b) const noexcept;

  /// A client comes in. \returns whether it opened the instance. \pre there is room
  bool join(std::size_t device, unsigned placement, const instance_limits& l, const part_need& need) noexcept;
  /// It leaves. \returns whether it was the last. \pre it is there
  bool leave(std::size_t device, unsigned placement, const instance_limits& l, const part_need& need) noexcept;
  /// Sets all records of a device; null: none in use. \returns whether that changed anything
  bool set(std::size_t device, const instance_use* to) noexcept;
  void clear() noexcept {
    for (auto& u : all_) u = {};
  }
  [[nodiscard]] std::size_t memory() const noexcept { return all_.capacity() * sizeof(instance_use); }
  friend bool operator==(const instance_shares& a, const instance_shares& b) noexcept { return a.all_ == b.all_; }

 private:
  flat_array<instance_use> all_;
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/instance_shares.hpp"
#endif
