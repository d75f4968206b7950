#pragma once
/// \file
/// Which devices of a node a task gets.

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/policy/concepts.hpp"
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

/// Maximises the bottleneck bandwidth of the chosen set, then leaves the best set for the next: among sets of equal
/// bottleneck, in this order:
///   1. the largest sum, over every size k >= 2, of the best bottleneck that k of the remaining devices would have;
///   2. the largest sum of pairwise bandwidth left among the remaining devices (so single devices first use up pairs
///      that are already broken);
///   3. the largest sum of pairwise bandwidth inside the set;
///   4. the fewest NUMA nodes;
///   5. the lowest device numbers.
/// A bandwidth that is unknown ranks below every known one.
///
/// Cost      up to 10 devices: one table read. Up to 16: the same, from a table of 2^n × (n + 1) masks (2 MiB at 16)
///           compiled once per kind of node. Above: greedy growth from every free device, O(n^3), without rule 1.
///           Nodes whose devices are all alike (an NVSwitch board on one socket) need no table.
struct best_bandwidth {
  class table {
   public:
    /// `count` of the free devices; none where there are fewer. \pre `free` names devices of the node alone
    [[nodiscard]] device_mask choose(device_mask free, unsigned count) const noexcept {
      assert((free & ~low_bits(n_)) == 0);
      if (count == 0) return 0;
      if (count_bits(free) <= count) return count_bits(free) == count ? free : 0;
      if (uniform_) return lowest_set(free, count);
      if (!best_.empty()) return best_[static_cast<std::size_t>(free) * (n_ + 1U) + count];
      return grow(free, count);
    }

   private:
    friend struct best_bandwidth;
    [[nodiscard]] float rank(unsigned a, unsigned b) const noexcept { return rank_[a * n_ + b]; }
    [[nodiscard]] device_mask grow(device_mask free, unsigned count) const noexcept;

    unsigned n_ = 0;
    bool uniform_ = true;
    std::vector<float> rank_;
    std::vector<std::uint16_t> best_;
  };

  /// O(3^n) for up to 16 devices: 7 ms at 10, about a second at 16.
  [[nodiscard]] table compile(const node_shape& shape) const;
};

inline device_mask best_bandwidth::table::grow(device_mask free, unsigned count) const noexcept {
  device_mask best = 0;
  float best_bottleneck = -std::numeric_limits<float>::infinity();
  double best_lost = 0;
  for_each_bit(free, [&](unsigned seed) {
    device_mask set = bit(seed);
    float bottleneck = std::numeric_limits<float>::infinity();
    while (count_bits(set) < count) {
      unsigned pick = 64;
      float pick_min = -std::numeric_limits<float>::infinity();
      double pick_sum = 0;
      for_each_bit(free & ~set, [&](unsigned d) {
        float least = std::numeric_limits<float>::infinity();
        double sum = 0;
        for_each_bit(set, [&](unsigned m) {
          const float r = rank(d, m);
          least = r < least ? r : least;
          sum += r;
        });
        if (pick == 64 || least > pick_min || (least == pick_min && sum > pick_sum))
          pick = d, pick_min = least, pick_sum = sum;
      });
      set |= bit(pick);
      bottleneck = pick_min < bottleneck ? pick_min : bottleneck;
    }
    double lost = 0;  // bandwidth that the remaining devices lose to the set
    for_each_bit(set, [&](unsigned a) { for_each_bit(free & ~set, [&](unsigned b) { lost += rank(a, b); }); });
    if (best == 0 || bottleneck > best_bottleneck || (bottleneck == best_bottleneck && lost < best_lost))
      best = set, best_bottleneck = bottleneck, best_lost = lost;
  });
  return best;
}

inline best_bandwidth::table best_bandwidth::compile(const node_shape& shape) const {
  table t;
  const unsigned n = shape.devices;
  t.n_ = n;
  t.rank_.resize(std::size_t{n} * n);
  for (unsigned a = 0; a < n; ++a)
    for (unsigned b = 0; b < n; ++b) t.rank_[a * n + b] = a == b ? 0.0F : shape.bandwidth.rank(a, b);
  unsigned numa_with_devices = 0;
  for (const auto& m : shape.numa) numa_with_devices += m.devices != 0 ? 1 : 0;
  t.uniform_ = numa_with_devices <= 1;
  for (unsigned a = 0; a < n && t.uniform_; ++a)
    for (unsigned b = 0; b < n; ++b)
      if (a != b && t.rank(a, b) != t.rank(0, 1)) t.uniform_ = false;
  if (t.uniform_ || n > 16) return t;

  const std::size_t masks = std::size_t{1} << n;
  constexpr float inf = std::numeric_limits<float>::infinity();
  std::vector<float> bottleneck(masks, inf);
  // Sums of floats are exact in double, in any order (unless rates differ by more than 2^20), so equal sets tie.
  std::vector<double> total(masks, 0.0), left(masks, 0.0);
  for (std::size_t m = 1; m < masks; ++m) {
    const unsigned low = lowest_bit(m);
    const std::size_t rest = m & (m - 1);
    bottleneck[m] = bottleneck[rest];
    total[m] = total[rest];
    for_each_bit(rest, [&](unsigned d) {
      bottleneck[m] = t.rank(low, d) < bottleneck[m] ? t.rank(low, d) : bottleneck[m];
      total[m] += t.rank(low, d);
    });
  }
  {
    // best[m] for one size k at a time: the best bottleneck of k devices out of m; left[m] sums it over k.
    std::vector<float> best(masks);
    for (unsigned k = 2; k <= n; ++k)
      for (std::size_t m = 0; m < masks; ++m) {
        const unsigned size = count_bits(m);
        if (size < k) continue;
        if (size == k) best[m] = bottleneck[m];
        else {
          best[m] = -inf;
          for_each_bit(m, [&](unsigned d) {
            const float v = best[m & ~bit(d)];
            best[m] = v > best[m] ? v : best[m];
          });
        }
        left[m] += best[m];
      }
  }
  const auto spans = [&](std::size_t m) {
    unsigned s = 0;
    for (const auto& d : shape.numa) s += (d.devices & m) != 0 ? 1 : 0;
    return s;
  };
  const auto better = [&](std::size_t a, std::size_t b, std::size_t free) {
    if (bottleneck[a] != bottleneck[b]) return bottleneck[a] > bottleneck[b];
    if (left[free & ~a] != left[free & ~b]) return left[free & ~a] > left[free & ~b];
    if (total[free & ~a] != total[free & ~b]) return total[free & ~a] > total[free & ~b];
    if (total[a] != total[b]) return total[a] > total[b];
    if (spans(a) != spans(b)) return spans(a) < spans(b);
    const std::size_t differ = a ^ b;  // lowest device numbers: the first difference decides
    return (a & (differ & (~differ + 1))) != 0;
  };
  t.best_.assign(masks * (n + 1), 0);
  for (std::size_t free = 1; free < masks; ++free)
    for (std::size_t set = free; set != 0; set = (set - 1) & free) {
      std::uint16_t& entry = t.best_[free * (n + 1) + count_bits(set)];
      if (entry == 0 || better(set, entry, free)) entry = static_cast<std::uint16_t>(set);
    }
  return t;
}

}  // namespace berth
