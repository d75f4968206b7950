#pragma once
/// \file
/// Inside a node: never break a whole island (NVLink pair or quad, PCIe switch, NUMA node) while devices of a broken
/// one serve.
///
/// Islands are the NUMA nodes, the sets under a PCIe switch, and at every bandwidth the sets of devices that are joined
/// pairwise at that bandwidth, where these divide the machine evenly: in descending order of bandwidth the largest
/// clique of what is left is taken again and again, ties by id. An island is whole while all its devices are free, and
/// broken by a task that takes some of them, not all. Of all sets of free devices for a task the one is taken that
///   1. breaks the fewest whole islands, large islands counted before small ones;
///   2. has the most bandwidth inside, then lies on the fewest NUMA nodes and switches (rules 1 to 4 of
///      `best_bandwidth`);
///   3. leaves the best rest (rule 6 there); then the lowest device numbers.
/// `best_bandwidth` has the same aims in the order 2, 3: it would rather break a quad than give a task two devices that
/// are far apart.
/// Numbers: bridges join 0-1, 2-3; 0 is held. One device: 1. Two devices: 2 and 3, which breaks nothing.
///
/// Cost   up to 12 devices a choice is one look-up in a table of 2^n × (n + 1) sets, compiled in O(3^n × islands): 8
///        devices 5 ms without optimisation, 12 some 100; up to 16 devices O(C(n, k) × islands) a choice; above, one
///        device after the other, each where the fewest islands break, O(n² × islands), not always the best.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/node_residual.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"
#include "berth/policy/concepts.hpp"
#include "berth/policy/device_rank.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth {

/// The islands of a machine: sets of two devices or more, each once, large ones first, equal ones by lowest device.
/// O(rates × 2^n) for up to 16 devices; above, sets that are not cliques as they stand are no islands. Allocates.
[[nodiscard]] std::vector<device_mask> islands_of(const node_shape& s);

/// What breaks when devices are taken from the free ones: a byte per size of island, large ones in front, at most 255
/// each; the eighth size and smaller share one. O(islands).
[[nodiscard]] std::uint64_t broken_by(std::span<const device_mask> islands, device_mask free,
                                      device_mask taken) noexcept;

struct keep_islands {
  class table {
   public:
    /// `count` of the free devices; none where there are fewer. \pre `free` names devices of the node alone
    [[nodiscard]] device_mask choose(device_mask free, unsigned count) const noexcept;
    /// The devices of a task that asks for more than their number; 0 where none satisfy it, or it wants no devices.
    /// \pre `node.layout` is of the shape that the table was compiled from
    [[nodiscard]] device_mask choose(const node_residual& node, const task_shape& t) const noexcept;
    /// What the best choice breaks, see `broken_by`; all bits where there are too few devices.
    [[nodiscard]] std::uint64_t breaks(device_mask free, unsigned count) const noexcept;

   private:
    friend struct keep_islands;
    [[nodiscard]] device_mask choose_strict(const node_residual& node, const task_shape& t) const noexcept;
    /// Of the sets out of `pool` that may be taken the best, islands being whole or not by `free`. Sets come in the
    /// order of rules 2, so the first of a cost is kept unless an equal one leaves a better rest.
    template <class May>
    [[nodiscard]] device_mask pick(device_mask pool, device_mask free, unsigned count, May may) const noexcept {
      device_mask best = 0;
      std::uint64_t least = ~std::uint64_t{0};
      for (const std::uint16_t* s = ranks_.begin(count); s != ranks_.end(count); ++s) {
        const device_mask set = *s;
        if ((set & ~pool) != 0) continue;
        const std::uint64_t cost = broken_by(islands_, free, set);
        if (best != 0 && (cost > least || (cost == least && !better(set, best, free)))) continue;
        if (!may(set)) continue;
        best = set;
        least = cost;
      }
      return best;
    }
    [[nodiscard]] bool better(device_mask a, device_mask b, device_mask free) const noexcept;
    [[nodiscard]] device_mask grow(device_mask free, unsigned count) const noexcept;

    unsigned devices_ = 0;
    std::vector<device_mask> islands_;
    detail::device_ranks ranks_;      ///< empty above 16 devices, and where nothing tells devices apart
    flat_array<std::uint16_t> best_;  ///< by free mask and count, up to 12 devices
  };

  /// Allocates.
  [[nodiscard]] table compile(const node_shape& shape) const;
};

/// Node policy: nodes where the task breaks the fewest whole islands, as `keep_islands` would choose. Put it behind
/// `whole_nodes_last`. Devices that the task's filter rules out count as any other. O(tasks of the gang on the node) a
/// score.
class whole_islands_last {
 public:
  /// Compiles a table per shape. Allocates. \pre the cluster outlives it and learns no new shapes
  explicit whole_islands_last(const cluster& c);
  [[nodiscard]] std::uint64_t score(const node_view& n, const task_shape& t) const noexcept;

 private:
  const cluster* of_;
  std::vector<keep_islands::table> tables_;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/keep_islands.hpp"
#endif
