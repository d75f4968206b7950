#pragma once
/// \file
/// Which devices of a node a task gets.

#include <cstddef>
#include <cstdint>
#include <limits>

#include "berth/cluster/node_residual.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"
#include "berth/policy/concepts.hpp"
#include "berth/policy/device_rank.hpp"
#include "berth/policy/device_search.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth {

/// The free devices with the lowest numbers.
struct lowest_index {
  struct table {
    [[nodiscard]] device_mask choose(device_mask free, unsigned count) const noexcept {
      return lowest_set(free, count);
    }
  };
  [[nodiscard]] table compile(const node_shape&) const { return {}; }
};

/// What the hardware likes best, and among equals what leaves the best for the next. Sets are compared in this order:
///   1. the largest bottleneck: the bandwidth of the slowest pair inside;
///   2. the largest sum of pairwise bandwidth inside;
///   3. the fewest NUMA nodes;
///   4. the fewest PCIe switches;
///   5. where the task wants NICs near its devices: the largest sum of line rates of the working NICs of the compute
///      fabric near the set;
///   6. the best rest, over the devices that stay free, in this order: the largest sum, over every size k >= 2, of the
///      best bottleneck that k of them have; the smallest such sum of the fewest NUMA nodes that k of them lie on; the
///      same for PCIe switches; the largest sum of pairwise bandwidth (so single devices first use up what is already
///      broken);
///   7. the lowest device numbers.
/// A pair of unknown rate ranks by its order (kind of way and number of NVLinks, `topology/graph/pair_order.hpp`), one
/// without order below all others; devices of unknown NUMA node or switch count as being on
/// one more. Where a task asks for more than a number of devices (`binding_need`), only sets that satisfy it are
/// compared; for `numa_rule::best_effort` those that satisfy `restricted` come before all others.
///
/// Cost      a number alone: one read of a table of 2^n x (n + 1) sets (17 kB at 10 devices, 2 MiB at 16), compiled
/// once
///           per kind of node in O(3^n): about 1 ms at 10 devices and 0.3 s at 16. With needs: the table's answer is
///           tried first, then the sets of that size in order of rules 1 to 4, until one satisfies and its equals are
///           compared: at most C(n, k), 252 at 10 devices. Still exact. Above 16 devices: branch and bound
///           (`device_search.hpp`) by the same rules in at most a million steps, a few ms; exact within that, where no
///           more than 12 devices stay free (beyond, rests are compared by their bandwidth alone). Finds a set whenever
///           there is one.
struct best_bandwidth {
  class table {
   public:
    /// `count` of the free devices; none where there are fewer. \pre `free` names devices of the node alone
    [[nodiscard]] device_mask choose(device_mask free, unsigned count) const noexcept;
    /// The devices of a task that asks for more than their number; 0 where none satisfy it, or it wants no devices.
    /// \pre `node.layout` is of the shape that the table was compiled from
    [[nodiscard]] device_mask choose(const node_residual& node, const task_shape& t) const noexcept;

   private:
    friend struct best_bandwidth;
    [[nodiscard]] device_mask search(device_mask free, unsigned count) const noexcept;
    [[nodiscard]] device_mask choose_strict(const node_residual& node, const task_shape& t) const noexcept;
    /// Rules 5 to 7. \pre equal by rules 1 to 4
    [[nodiscard]] bool better(device_mask a, std::int64_t a_nics, device_mask b, std::int64_t b_nics,
                              device_mask pool) const noexcept;
    /// For machines without tables.
    [[nodiscard]] device_mask choose_searched(const node_residual& node, const task_shape& t,
                                              device_mask pool) const noexcept;
    struct worth {
      float bottleneck = std::numeric_limits<float>::infinity();
      double total = 0;
      [[nodiscard]] bool is_better_than(const worth& o) const noexcept {
        return bottleneck != o.bottleneck ? bottleneck > o.bottleneck : total > o.total;
      }
    };
    [[nodiscard]] worth score(device_mask set) const noexcept;
    /// Grows a set from every free device and keeps the best; `may(set)` says whether a set can be part of the answer.
    template <class May>
    [[nodiscard]] device_mask grow(device_mask free, unsigned count, May may) const noexcept;

    detail::device_measure measure_;
    bool uniform_ = true;
    detail::device_ranks ranks_;      ///< empty above 16 devices, and where nothing tells devices apart
    flat_array<std::uint16_t> best_;  ///< by free mask and count
    flat_array<device_mask> twins_;   ///< by device, where there are no tables
  };

  [[nodiscard]] table compile(const node_shape& shape) const;
};

template <class May>
device_mask best_bandwidth::table::grow(device_mask free, unsigned count, May may) const noexcept {
  device_mask best = 0;
  worth best_worth{};
  double best_lost = 0;
  for_each_bit(free, [&](unsigned seed) {
    device_mask set = bit(seed);
    if (!may(set)) return;
    while (count_bits(set) < count) {
      unsigned pick = 64;
      float pick_min = -std::numeric_limits<float>::infinity();
      double pick_sum = 0;
      for_each_bit(free & ~set, [&](unsigned d) {
        float least = std::numeric_limits<float>::infinity();
        double sum = 0;
        for_each_bit(set, [&](unsigned m) {
          const float r = measure_.rank(d, m);
          least = r < least ? r : least;
          sum += r;
        });
        const bool ahead = pick == 64 || least > pick_min || (least == pick_min && sum > pick_sum);
        if (ahead && may(set | bit(d))) pick = d, pick_min = least, pick_sum = sum;
      });
      if (pick == 64) return;
      set |= bit(pick);
    }
    double lost = 0;  // bandwidth that the remaining devices lose to the set
    for_each_bit(set, [&](unsigned a) { for_each_bit(free & ~set, [&](unsigned b) { lost += measure_.rank(a, b); }); });
    const worth w = score(set);
    const bool equal = !w.is_better_than(best_worth) && !best_worth.is_better_than(w);
    if (best == 0 || w.is_better_than(best_worth) || (equal && lost < best_lost))
      best = set, best_worth = w, best_lost = lost;
  });
  return best;
}

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/device_choice.hpp"
#endif
