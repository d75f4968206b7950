#pragma once
/// \file
/// Which devices of a node a task gets.

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "berth/cluster/node_residual.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/flat_array.hpp"
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
    [[nodiscard]] device_mask choose(device_mask free, unsigned count) const noexcept {
      assert((free & ~low_bits(measure_.devices())) == 0);
      if (count == 0) return 0;
      if (count_bits(free) <= count) return count_bits(free) == count ? free : 0;
      if (uniform_) return lowest_set(free, count);
      if (!best_.empty()) return best_[static_cast<std::size_t>(free) * (measure_.devices() + 1U) + count];
      return search(free, count);
    }
    /// The devices of a task that asks for more than their number; 0 where none satisfy it, or it wants no devices.
    /// \pre `node.layout` is of the shape that the table was compiled from
    [[nodiscard]] device_mask choose(const node_residual& node, const task_shape& t) const noexcept {
      if (t.devices == 0 || node.cpu < t.cpu || node.memory < t.memory) return 0;
      if (t.bind.numa != numa_rule::best_effort) return choose_strict(node, t);
      task_shape strict = t;
      strict.bind.numa = numa_rule::restricted;
      if (const device_mask near = choose_strict(node, strict); near != 0) return near;
      strict.bind.numa = numa_rule::none;
      return choose_strict(node, strict);
    }

   private:
    friend struct best_bandwidth;
    [[nodiscard, gnu::noinline]] device_mask search(device_mask free, unsigned count) const noexcept {
      const auto any = [](device_mask) { return true; };
      const auto none = [](device_mask) { return std::int64_t{0}; };
      detail::device_search s{measure_, twins_, free};
      s.offer(grow(free, count, any), none);
      s.run(free, count, any, any, none);
      return s.best();
    }
    [[nodiscard]] device_mask choose_strict(const node_residual& node, const task_shape& t) const noexcept {
      const device_mask pool = node.usable(t);
      if (count_bits(pool) < t.devices) return 0;
      if (ranks_.devices() == 0) return choose_searched(node, t, pool);
      if (!t.bind.near_nic && pool == node.pool) {
        const device_mask first = choose(pool, t.devices);
        if (node.admits(t, first)) return first;
      }
      device_mask best = 0;
      std::int64_t best_nics = 0;
      for (const std::uint16_t* s = ranks_.begin(t.devices); s != ranks_.end(t.devices); ++s) {
        const device_mask set = *s;
        if ((set & ~pool) != 0) continue;
        if (best != 0 && ranks_.use(set) != ranks_.use(best)) break;
        if (!node.admits(t, set)) continue;
        const std::int64_t nics = t.bind.near_nic ? node.layout->nic_rate(set, node.nics) : 0;
        if (best == 0 || better(set, nics, best, best_nics, node.pool)) best = set, best_nics = nics;
      }
      return best;
    }
    /// Rules 5 to 7. \pre equal by rules 1 to 4
    [[nodiscard]] bool better(device_mask a, std::int64_t a_nics, device_mask b, std::int64_t b_nics,
                              device_mask pool) const noexcept {
      if (a_nics != b_nics) return a_nics > b_nics;
      const std::uint16_t x = ranks_.rest(pool & ~a), y = ranks_.rest(pool & ~b);
      return x != y ? x < y : detail::device_ranks::lower(a, b);
    }
    /// For machines without tables.
    [[nodiscard]] device_mask choose_searched(const node_residual& node, const task_shape& t,
                                              device_mask pool) const noexcept {
      const auto may = [&](device_mask set) { return t.bind.host.count() == 0 || node.carries(t, set); };
      const auto admits = [&](device_mask set) { return node.admits(t, set); };
      const auto nics = [&](device_mask set) { return t.bind.near_nic ? node.layout->nic_rate(set, node.nics) : 0; };
      detail::device_search search{measure_, twins_, node.pool};
      const auto attempt = [&](device_mask from) {
        if (count_bits(from) < t.devices) return false;
        if (const device_mask grown = grow(from, t.devices, may); grown != 0 && admits(grown))
          search.offer(grown, nics);
        search.run(from, t.devices, may, admits, nics);
        return false;  // go on: a later one may be better
      };
      const machine_layout& y = *node.layout;
      if (t.bind.numa == numa_rule::none) {
        attempt(pool);
      } else {
        const unsigned nodes = t.bind.numa == numa_rule::single_node ? 1U : y.fewest_nodes(t.devices);
        if (nodes != machine_layout::none) (void)node.each_choice(nodes, pool, 0, 0, attempt);
      }
      if (search.best() != 0 || search.is_complete()) return search.best();
      device_mask any = 0;
      task_binding b;
      return node.first_fit(t, any, b) ? any : 0;
    }
    struct worth {
      float bottleneck = std::numeric_limits<float>::infinity();
      double total = 0;
      [[nodiscard]] bool is_better_than(const worth& o) const noexcept {
        return bottleneck != o.bottleneck ? bottleneck > o.bottleneck : total > o.total;
      }
    };
    [[nodiscard]] worth score(device_mask set) const noexcept {
      worth w;
      for_each_bit(set, [&](unsigned a) {
        for_each_bit(set & low_bits(a), [&](unsigned b) {
          const float r = measure_.rank(a, b);
          w.bottleneck = r < w.bottleneck ? r : w.bottleneck;
          w.total += r;
        });
      });
      return w;
    }
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

inline best_bandwidth::table best_bandwidth::compile(const node_shape& shape) const {
  table t;
  t.measure_ = detail::device_measure{shape};
  const unsigned n = shape.devices;
  t.uniform_ = t.measure_.is_uniform();
  if (n > detail::device_ranks::limit || n == 0 ||
      (t.uniform_ && shape.host_links.empty() && shape.nics.empty() && shape.numa.empty())) {
    t.twins_ = detail::device_twins(shape, t.measure_);
    return t;
  }
  t.ranks_ = detail::device_ranks{t.measure_};
  if (t.uniform_) return t;
  const std::size_t masks = std::size_t{1} << n;
  t.best_.resize(masks * (n + 1));
  for (std::size_t free = 1; free < masks; ++free) {
    std::uint16_t* const entries = &t.best_[free * (n + 1)];
    for (std::size_t set = free; set != 0; set = (set - 1) & free) {
      std::uint16_t& e = entries[count_bits(set)];
      const bool ahead = e == 0                                 ? true
                         : t.ranks_.use(set) != t.ranks_.use(e) ? t.ranks_.use(set) < t.ranks_.use(e)
                                                                : t.better(set, 0, e, 0, free);
      if (ahead) e = static_cast<std::uint16_t>(set);
    }
  }
  return t;
}

}  // namespace berth
