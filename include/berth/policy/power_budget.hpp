#pragma once
/// \file
/// Power and cooling caps of racks, rows, halls as budgets for `spread_placer`.
///
/// A domain with cap P has left: P - sum over its nodes of (idle watts + devices held × watts of a busy device). All
/// power becomes heat, so a cooling cap in watts is a budget in the same way, of the level that shares the cooling.
/// Numbers: a rack of 4 nodes, 1,000 W idle and 700 W a busy device each, cap 12,000 W, 6 devices held: 12,000 - 4,000
/// - 4,200 = 3,800 W left, 5 more devices, however many are free.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "berth/cluster/cluster.hpp"
#include "berth/core/separate.hpp"
#include "berth/job/spread.hpp"

namespace berth {

/// What a kind of node draws.
struct node_power {
  std::int64_t idle_watts = 0;    ///< of the whole node with no device in use; also while it is drained
  std::int64_t device_watts = 0;  ///< more, for each device in use
};

/// What caps leave for tasks of shape `t`. `caps` is by domain of the level (empty: no cap), `power` by node shape of
/// the cluster. A task is charged with the hungriest kind that may serve it, so that no cap is exceeded wherever it
/// goes. Tasks without devices are charged nothing. O(nodes × levels).
/// \pre caps.size() is the number of domains of the level, power.size() that of shapes; is_valid(t)
[[nodiscard]] domain_budget power_budget(const cluster& c, level_id level,
                                         std::span<const std::optional<std::int64_t>> caps,
                                         std::span<const node_power> power, const task_shape& t);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/power_budget.hpp"
#endif
