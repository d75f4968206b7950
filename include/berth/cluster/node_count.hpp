#pragma once
/// \file
/// Reserving inside a node, and how many equal tasks with needs fit there together.

#include <cstddef>
#include <cstdint>

#include "berth/cluster/node_residual.hpp"
#include "berth/cluster/task_binding.hpp"
#include "berth/cluster/task_shape.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/separate.hpp"

namespace berth::detail {

/// Adds (`sign` 1) or takes (-1) what a task reserves. Exact, so that one undoes the other.
/// O(NUMA nodes + links).
void apply_binding(const machine_layout& y, std::int64_t* left, const task_binding& b, cpu_millis cpu, bytes memory,
                   device_mask devices, std::int64_t sign) noexcept;

/// The most amounts of state that a node can have: 64 NUMA nodes twice, and as many nested sets as 64 devices have.
inline constexpr std::size_t most_amounts = 256;

/// How many tasks of this shape fit on the node at once, at most `limit`.
///
/// Exact, and reached by placing one after the other whatever feasible devices each of them gets, where every task
/// keeps to one NUMA node or to none (all rules but a `restricted` one that needs several NUMA nodes for devices, CPUs
/// or memory) or where only one such task can fit, as on machines of two NUMA nodes. Otherwise as many as fit one after
/// the other with the lowest devices. O(NUMA nodes × links + limit), else O(limit × `first_fit`).
[[nodiscard]] std::uint32_t count_fits(node_residual node, const task_shape& t, std::uint32_t limit) noexcept;

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/node_count.hpp"
#endif
