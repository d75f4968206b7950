#pragma once
/// \file
/// Which of two task shapes is harder to place: the order in which a search takes the groups of a gang.

#include <cstdint>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/task_shape.hpp"
#include "berth/core/separate.hpp"

namespace berth::detail {

/// About how much of a GPU a need takes, so that large instances come before small ones.
[[nodiscard]] std::uint32_t thousandths_of(const cluster& c, const part_need& n) noexcept;

/// Whether `x` is the harder one: restricted to some models, then more devices, parts, CPU, memory, then fewer to a
/// node. O(profiles) for MIG requests, else O(1).
[[nodiscard]] bool is_harder(const cluster& c, const task_shape& x, const task_shape& y) noexcept;

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/solver/detail/impl/hardness.hpp"
#endif
