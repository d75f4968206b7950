#pragma once
/// \file
/// Which rails the tasks of a gang use.

#include <cstddef>
#include <cstdint>
#include <span>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/placement.hpp"
#include "berth/core/separate.hpp"

namespace berth::detail {

/// The rails that the devices of a task are on, a bit each.
[[nodiscard]] std::uint32_t rails_of(const cluster& c, const task_placement& t) noexcept;

/// Whether the tasks of a gang use the same rails on every node where they have devices, and which. \pre sorted by
/// group, then node. O(tasks × groups × rails).
[[nodiscard]] bool same_rails(const cluster& c, std::span<const task_placement> tasks, std::uint32_t& rails) noexcept;

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/solver/detail/impl/rail_use.hpp"
#endif
