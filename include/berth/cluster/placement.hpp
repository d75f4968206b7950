#pragma once
/// \file
/// The answer to a request: per task a node and its devices. Made by a placer, taken by `cluster::commit`.

#include <cstdint>
#include <span>

#include "berth/cluster/task_shape.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/id.hpp"

namespace berth {

/// Where one task goes.
struct task_placement {
  device_mask devices = 0;
  node_id node{};
  std::uint32_t group = 0;  ///< index into `placement::shapes`
  friend constexpr bool operator==(const task_placement&, const task_placement&) noexcept = default;
};

/// A whole gang, placed. Of a task with parts, `devices` are those that the parts are of. Tasks of one group are
/// neighbours in `tasks`, in rank order: consecutive ranks stand on neighbouring nodes of the tree. A view: the
/// placer's next call ends it; `cluster::commit` copies it.
struct placement {
  std::span<const task_placement> tasks;
  std::span<const task_shape> shapes;    ///< per group, what each of its tasks takes
  bytes_per_second between_nodes{};      ///< reserved per device on the links between its nodes, see `uplinks.hpp`
  std::span<const part_places> parts{};  ///< by task, where MIG instances lie; empty where no group asks for any
};

namespace detail {

/// Calls `f(node, devices)` for every task of a placement.
struct tasks_of {
  const placement& p;
  template <class F>
  void operator()(F&& f) const {
    for (const task_placement& t : p.tasks) f(t.node, t.devices);
  }
};

}  // namespace detail
}  // namespace berth
