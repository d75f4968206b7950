#pragma once
/// \file
/// KAI's books of a node: what a pod takes, what it may use of shared devices, whether it fits now or once others are
/// gone. Source: kai-scheduler/KAI-Scheduler pkg/scheduler/api/node_info/node_info.go, gpu_sharing_node_info.go,
/// pkg/scheduler/gpu_sharing/gpuSharing.go, pkg/scheduler/plugins/gpupack/.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/profile/kai_cluster.hpp"

namespace berth::kai {

/// MiB that a pod takes of each device it shares. A portion is cut to whole MiB.
[[nodiscard]] inline std::int64_t share_memory(const node& n, const pod& p) noexcept {
  return p.memory_mib > 0 ? p.memory_mib : p.portion * n.gpu_memory / one;
}
/// Thousandths of a device that so many MiB count as: rounded up to hundredths.
[[nodiscard]] inline std::int64_t memory_portion(const node& n, std::int64_t mib) noexcept {
  return n.gpu_memory <= 0 ? 0 : (mib * 100 + n.gpu_memory - 1) / n.gpu_memory * 10;
}
[[nodiscard]] inline std::int64_t portion_on(const node& n, const pod& p) noexcept {
  return p.memory_mib > 0 ? memory_portion(n, p.memory_mib) : p.portion;
}
/// What a pod counts as, once it is on a node.
[[nodiscard]] inline quantities accepted(const node& n, const pod& p) {
  quantities q = p.request;
  if (p.shares()) q[gpu] = p.devices * portion_on(n, p);
  return q;
}

/// The device has others, and room for the pod once what leaves has left; a device that everybody leaves is whole.
[[nodiscard]] inline bool joins(const node& n, const pod& p, const shared_device& d) noexcept {
  return d.used != 0 && n.gpu_memory - d.allocated + d.releasing - share_memory(n, p) >= 0 &&
         d.allocated != d.releasing;
}
[[nodiscard]] inline bool joins_now(const node& n, const pod& p, const shared_device& d) noexcept {
  return d.known_allocated && n.gpu_memory - d.allocated - share_memory(n, p) >= 0;
}
[[nodiscard]] inline bool joins_any(const node& n, const pod& p) {
  for (const auto& [name, d] : n.shared)
    if (joins(n, p, d)) return true;
  return false;
}

/// Whether `free` of the node, and the room on shared devices, hold the pod.
[[nodiscard]] inline bool fits_in(const node& n, const pod& p, const quantities& free) {
  if (!p.shares()) return within(p.request, free);
  for (std::size_t r = 0; r < p.request.size(); ++r)
    if (r != gpu && p.request[r] > free[r]) return false;
  const auto portion = portion_on(n, p);
  if (portion > one && portion % one != 0) return false;
  std::int64_t found = free[gpu] / one;
  for (const auto& [name, d] : n.shared) found += joins(n, p, d) ? 1 : 0;
  return found >= p.devices;
}
[[nodiscard]] inline bool fits_now(const node& n, const pod& p) {
  return fits_in(n, p, n.idle);
}
[[nodiscard]] inline bool fits_later(const node& n, const pod& p) {
  quantities free = n.idle;
  add(free, n.releasing);
  return fits_in(n, p, free);
}

/// Where a shared pod goes on a node: shared devices, fullest first, then whole ones (the empty name).
struct device_plan {
  bool found = false;
  bool waits = false;  ///< for what is being released
  std::vector<std::string> devices;
};
[[nodiscard]] inline device_plan plan_devices(const node& n, const pod& p) {
  std::vector<std::pair<std::int64_t, std::string>> order;
  for (const auto& [name, d] : n.shared)
    if (joins(n, p, d)) order.emplace_back(d.used, name);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  const bool now = fits_now(n, p);
  device_plan plan;
  for (const auto& [used, name] : order) {
    if (static_cast<std::int64_t>(plan.devices.size()) == p.devices) break;
    plan.waits = plan.waits || !joins_now(n, p, n.shared.at(name)) || !now;
    plan.devices.push_back(name);
  }
  for (auto whole = n.free(gpu) / one; whole > 0; --whole) {
    if (static_cast<std::int64_t>(plan.devices.size()) == p.devices) break;
    plan.waits = plan.waits || !now;
    plan.devices.emplace_back();
  }
  plan.found = p.devices > 0 && static_cast<std::int64_t>(plan.devices.size()) == p.devices;
  // New devices get the lowest numbers that no device of the node has.
  std::int64_t next = 0;
  for (auto& d : plan.devices)
    if (d.empty()) {
      while (n.shared.count(std::to_string(next)) != 0 && n.shared.at(std::to_string(next)).used > 0) ++next;
      d = std::to_string(next++);
    }
  return plan;
}

namespace detail {

[[nodiscard]] inline std::int64_t devices_in_use(const node& n) {
  std::int64_t used = n.used[gpu] / one;
  for (const auto& [name, d] : n.shared) used += d.used > 0 ? 1 : 0;
  return used;
}

/// The first on a device takes it off the idle ones; the last who leaves gives it back.
inline void enter_device(node& n, const pod& p, shared_device& d) {
  const auto mib = share_memory(n, p);
  d.used += mib;
  if (p.state == pod_state::releasing) {
    d.releasing += mib;
    d.allocated += mib;
    d.known_allocated = true;
    if (d.used == d.releasing) {
      if (!d.marked_releasing) {
        n.releasing[gpu] += one;
        d.marked_releasing = true;
      }
      if (n.gpu_count < n.idle[gpu] / one + devices_in_use(n)) n.idle[gpu] -= one;
    }
  } else if (p.state == pod_state::pipelined) {
    d.releasing -= mib;
    if (d.used - mib == d.releasing + mib) n.releasing[gpu] -= one;
  } else {
    d.allocated += mib;
    d.known_allocated = true;
    if (d.used <= mib && n.gpu_count < n.idle[gpu] / one + devices_in_use(n)) n.idle[gpu] -= one;
    if (d.marked_releasing) {
      n.releasing[gpu] -= one;
      d.marked_releasing = false;
    }
  }
}
inline void leave_device(node& n, const pod& p, shared_device& d) {
  const auto mib = share_memory(n, p);
  d.used -= mib;
  const auto give_back = [&] {
    if (n.gpu_count >= n.idle[gpu] / one + devices_in_use(n)) n.idle[gpu] += one;
  };
  if (p.state == pod_state::releasing) {
    d.releasing -= mib;
    d.allocated -= mib;
    if (d.used <= 0) {
      give_back();
      if (d.marked_releasing) {
        n.releasing[gpu] -= one;
        d.marked_releasing = false;
      }
    }
  } else if (p.state == pod_state::pipelined) {
    d.releasing += mib;
    if (d.used + mib == d.releasing - mib || (d.used == 0 && d.releasing == 0)) n.releasing[gpu] += one;
  } else {
    d.allocated -= mib;
    if (d.used <= 0) give_back();
    if (d.used != 0 && d.releasing == d.used && !d.marked_releasing) {
      n.releasing[gpu] += one;
      d.marked_releasing = true;
    }
  }
}

/// A pod's own resources; shared devices are counted per device, and what the node has none of is not counted.
[[nodiscard]] inline quantities tracked(const node& n, const pod& p) {
  quantities q = p.request;
  if (p.shares()) q[gpu] = 0;
  for (std::size_t r = 0; r < q.size(); ++r)
    if (n.total[r] == 0) q[r] = 0;
  return q;
}

}  // namespace detail

/// Books a pod in its state. \pre `p.shared` names the devices of a pod that shares
inline void enter(node& n, const pod& p) {
  const auto q = detail::tracked(n, p);
  add(n.used, q);
  if (p.state == pod_state::releasing) {
    add(n.releasing, q);
    add(n.idle, q, -1);
  } else if (p.state == pod_state::pipelined) add(n.releasing, q, -1);
  else add(n.idle, q, -1);
  if (p.shares())
    for (const auto& d : p.shared) detail::enter_device(n, p, n.shared[d]);
}
/// Takes it off the books in the state in which it was booked.
inline void leave(node& n, const pod& p) {
  const auto q = detail::tracked(n, p);
  add(n.used, q, -1);
  if (p.state == pod_state::releasing) {
    add(n.releasing, q, -1);
    add(n.idle, q);
  } else if (p.state == pod_state::pipelined) add(n.releasing, q);
  else add(n.idle, q);
  if (p.shares())
    for (const auto& d : p.shared) detail::leave_device(n, p, n.shared[d]);
}

/// Rooms by kind of device: plugins/predicates with node_info's PredicateByNodeResourcesType.
[[nodiscard]] inline bool kind_allowed(const node& n, const pod& p) {
  if (p.kind == device_kind::none) return true;
  if (!n.mig) return p.kind != device_kind::mig;
  if (n.strategy == mig_strategy::single) return p.kind == device_kind::whole;
  if (n.strategy == mig_strategy::mixed) return p.kind == device_kind::mig;
  return true;
}
/// A pod that shares a device nobody shares yet needs a second pod slot, for KAI's placeholder.
[[nodiscard]] inline bool slots_left(const node& n, const pod& p) {
  const auto slots = n.free(pods) / one;
  if (!p.shares()) return slots > 0;
  const auto plan = plan_devices(n, p);
  bool fresh = !plan.found;
  for (const auto& d : plan.devices) {
    const auto at = n.shared.find(d);
    fresh = fresh || at == n.shared.end() || at->second.used == 0;
  }
  return !fresh || slots >= 2;
}

}  // namespace berth::kai
