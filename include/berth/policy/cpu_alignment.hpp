#pragma once
/// \file
/// CPUs and memory for the tasks of GPUs: in proportion, and from the NUMA nodes of the GPUs.
///
/// `task_shape::bind` makes conditions of both (`cluster/task_binding.hpp`). The node policies here make preferences of
/// them, so that a task that would also run anywhere goes where it is served well, and nodes are left with CPUs and
/// GPUs in the proportion in which they were bought:
///
/// \code
/// berth::placer place{c, berth::tightest{},
///                     berth::lexicographic{berth::aligned_first{&c}, berth::ratio_kept{}, berth::bin_pack{}}};
/// \endcode
///
/// `ratio_kept` looks at proportions alone, and an empty node is in proportion: where whole nodes are to stay whole,
/// put `whole_nodes_last` (`keep_whole.hpp`) in front of it.
///
/// Which devices of the node are taken follows the task: with `numa_rule::best_effort` those that can be served from
/// their own NUMA nodes.

#include <cstddef>
#include <cstdint>

#include "berth/cluster/cluster.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/separate.hpp"
#include "berth/policy/concepts.hpp"

namespace berth {

/// Node policy: nodes where the task can have its devices, CPUs and memory on as few NUMA nodes as an empty machine of
/// that kind would need, one of them common to all three, beside all that it asks for itself; the bandwidth of its PCIe
/// links (`bind.host`) and its NICs (`bind.near_nic`) included. With `keep_ratio` also where every other free device
/// keeps its share of the CPUs. Says nothing where the cluster keeps no books of it (`cluster_limits::bindings`), and
/// nothing for parts of devices. O(NUMA nodes × links), see `count_fits`. \pre the cluster outlives it
struct aligned_first {
  const cluster* of = nullptr;
  numa_rule rule = numa_rule::restricted;
  bool keep_ratio = false;
  [[nodiscard]] bool score(const node_view& n, const task_shape& t) const noexcept;
};

/// Node policy: how near the part of the CPUs that stays free is to the part of the devices that does, once the task
/// runs there: 1 - |CPU left / CPU - devices left / devices|, in [0, 1]. 1 for machines without devices or of unknown
/// CPU. Numbers: a machine of 64 CPUs and 8 devices, all free. A task of 8 CPUs and 1 device: 1; of 24 and 1: 1 - (40 /
/// 64 - 7 / 8) in absolute value, 0.75; of 8 and none: 0.875, and 1 where one device is taken already.
struct ratio_kept {
  static constexpr bool normalized = true;
  [[nodiscard]] constexpr double score(const node_view& n, const task_shape& t) const noexcept {
    const unsigned installed = count_bits(n.state.installed), free = count_bits(n.state.free);
    const auto tasks = static_cast<std::int64_t>(n.taken) + 1;
    if (installed == 0 || n.shape.cpu.count() <= 0) return 1.0;
    const double devices = (static_cast<double>(free) - static_cast<double>(tasks * t.devices)) / installed;
    const double cpu =
        static_cast<double>(n.state.cpu.count() - tasks * t.cpu.count()) / static_cast<double>(n.shape.cpu.count());
    const double apart = cpu < devices ? devices - cpu : cpu - devices;
    return apart < 1 ? 1 - apart : 0;
  }
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/cpu_alignment.hpp"
#endif
