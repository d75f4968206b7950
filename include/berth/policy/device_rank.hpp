#pragma once
/// \file
/// Every set of devices of one machine, ranked: how good it is for the task that gets it, and how good it is to keep.

#include <cstddef>
#include <cstdint>
#include <limits>

#include "berth/core/bits.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/shell_sort.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth::detail {

/// Pairwise rates and groups of one machine, for ranking one set at a time.
class device_measure {
 public:
  device_measure() = default;
  explicit device_measure(const node_shape& s) : n_{s.devices}, rank_(std::size_t{s.devices} * s.devices) {
    for (unsigned a = 0; a < n_; ++a)
      for (unsigned b = 0; b < n_; ++b) rank_[a * n_ + b] = a == b ? 0.0F : s.bandwidth.rank(a, b);
    for (const numa_shape& m : s.numa) numa_.append(m.devices);
    for (const device_mask m : s.pcie_switches) switches_.append(m);
  }
  [[nodiscard]] unsigned devices() const noexcept { return n_; }
  /// The rate of a pair; unknown is below everything known.
  [[nodiscard]] float rank(unsigned a, unsigned b) const noexcept { return rank_[a * n_ + b]; }
  [[nodiscard]] unsigned numa_nodes(device_mask set) const noexcept { return spans(numa_, set); }
  [[nodiscard]] unsigned switches(device_mask set) const noexcept { return spans(switches_, set); }
  /// Whether no rule tells the devices apart.
  [[nodiscard]] bool is_uniform() const noexcept {
    for (unsigned a = 0; a < n_; ++a)
      for (unsigned b = 0; b < n_; ++b)
        if (a != b && rank(a, b) != rank(0, 1)) return false;
    const device_mask all = low_bits(n_);
    for (const auto* groups : {&numa_, &switches_})
      for (const device_mask g : *groups)
        if (g != 0 && g != all && (count_bits(g) != 1 || !disjoint_singles(*groups))) return false;
    return true;
  }

 private:
  /// Groups that a set touches; devices outside all of them are one more.
  [[nodiscard]] static unsigned spans(const flat_array<device_mask>& groups, device_mask set) noexcept {
    unsigned out = 0;
    device_mask met = 0;
    for (const device_mask g : groups) out += (g & set) != 0 ? 1U : 0U, met |= g;
    return out + (!groups.empty() && (set & ~met) != 0 ? 1U : 0U);
  }
  [[nodiscard]] bool disjoint_singles(const flat_array<device_mask>& groups) const noexcept {
    device_mask met = 0;
    for (const device_mask g : groups) {
      if (count_bits(g) > 1 || (met & g) != 0) return false;
      met |= g;
    }
    return met == low_bits(n_);
  }
  unsigned n_ = 0;
  flat_array<float> rank_;
  flat_array<device_mask> numa_, switches_;
};

/// The ranks of all sets of a machine of at most 16 devices; smaller is better. Sets of equal rank are equally good.
/// Memory   6 bytes per set: 6 kB at 10 devices, 384 kB at 16.
class device_ranks {
 public:
  static constexpr unsigned limit = 16;

  device_ranks() = default;
  /// O(n² 2^n + sorting 2^n keys). \pre at most `limit` devices
  explicit device_ranks(const device_measure& d) : n_{d.devices()} {
    const std::size_t masks = std::size_t{1} << n_;
    flat_array<value> own(masks);
    flat_array<device_mask> order(masks);
    for (std::size_t m = 0; m < masks; ++m) {
      order[m] = m;
      own[m].nodes = d.numa_nodes(m);
      own[m].switches = d.switches(m);
      if (m == 0) continue;
      const unsigned low = lowest_bit(m);
      const std::size_t rest = m & (m - 1);
      own[m].bottleneck = own[rest].bottleneck;
      own[m].total = own[rest].total;
      for_each_bit(rest, [&](unsigned x) {
        own[m].bottleneck = d.rank(low, x) < own[m].bottleneck ? d.rank(low, x) : own[m].bottleneck;
        own[m].total += d.rank(low, x);
      });
    }
    const auto by_use = [&](device_mask a, device_mask b) {
      const value &x = own[a], &y = own[b];
      if (x.bottleneck != y.bottleneck) return x.bottleneck > y.bottleneck ? -1 : 1;
      if (x.total != y.total) return x.total > y.total ? -1 : 1;
      if (x.nodes != y.nodes) return x.nodes < y.nodes ? -1 : 1;
      if (x.switches != y.switches) return x.switches < y.switches ? -1 : 1;
      return 0;
    };
    rank(order, by_use, use_);

    // Sets by number of devices, best first; of equal rank the one with the lowest device numbers.
    first_.resize(n_ + 2U);
    for (std::size_t m = 0; m < masks; ++m) ++first_[count_bits(m) + 1U];
    for (unsigned k = 0; k <= n_; ++k) first_[k + 1U] += first_[k];
    sets_.resize(masks);
    flat_array<std::uint32_t> at = first_;
    for (const device_mask m : order) sets_[at[count_bits(m)]++] = static_cast<std::uint16_t>(m);

    // What is left: for every size k >= 2 what the best k of the rest would have, summed up.
    flat_array<value> left(masks), best(masks);
    for (auto& v : left) v.bottleneck = 0;
    for (unsigned k = 2; k <= n_; ++k)
      for (std::size_t m = 0; m < masks; ++m) {
        const unsigned size = count_bits(m);
        if (size < k) continue;
        if (size == k) {
          best[m] = own[m];
        } else {
          best[m] = best[m & (m - 1)];
          for_each_bit(m, [&](unsigned x) {
            const value& v = best[m & ~bit(x)];
            if (v.bottleneck > best[m].bottleneck) best[m].bottleneck = v.bottleneck;
            if (v.nodes < best[m].nodes) best[m].nodes = v.nodes;
            if (v.switches < best[m].switches) best[m].switches = v.switches;
          });
        }
        left[m].bottleneck += best[m].bottleneck;
        left[m].nodes += best[m].nodes;
        left[m].switches += best[m].switches;
      }
    for (std::size_t m = 0; m < masks; ++m) left[m].total = own[m].total;
    // Only rests of equal size are ever compared.
    const auto by_rest = [&](device_mask a, device_mask b) {
      const value &x = left[a], &y = left[b];
      if (x.bottleneck != y.bottleneck) return x.bottleneck > y.bottleneck ? -1 : 1;
      if (x.nodes != y.nodes) return x.nodes < y.nodes ? -1 : 1;
      if (x.switches != y.switches) return x.switches < y.switches ? -1 : 1;
      if (x.total != y.total) return x.total > y.total ? -1 : 1;
      return 0;
    };
    rank(order, by_rest, rest_);
  }

  [[nodiscard]] unsigned devices() const noexcept { return n_; }
  /// How good a set is for the task.
  [[nodiscard]] std::uint16_t use(device_mask set) const noexcept { return use_[set]; }
  /// How good a set is to be left.
  [[nodiscard]] std::uint16_t rest(device_mask set) const noexcept { return rest_[set]; }
  /// The sets of `count` devices, best for the task first. \pre count <= devices()
  [[nodiscard]] const std::uint16_t* begin(unsigned count) const noexcept { return sets_.data() + first_[count]; }
  [[nodiscard]] const std::uint16_t* end(unsigned count) const noexcept { return sets_.data() + first_[count + 1U]; }
  /// Of two sets of equal size, whether `a` has the lowest number in which they differ.
  [[nodiscard]] static constexpr bool lower(device_mask a, device_mask b) noexcept {
    const device_mask differ = a ^ b;
    return (a & (differ & (~differ + 1))) != 0;
  }

 private:
  struct value {
    double bottleneck = std::numeric_limits<double>::infinity();
    // Sums of floats are exact in double, in any order (unless rates differ by more than 2^20), so equal sets tie.
    double total = 0;
    std::uint32_t nodes = 0, switches = 0;
  };
  template <class Compare>
  static void rank(flat_array<device_mask>& order, Compare compare, flat_array<std::uint16_t>& out) {
    shell_sort(order.data(), order.size(), [&](device_mask a, device_mask b) {
      const int c = compare(a, b);
      return c != 0 ? c < 0 : count_bits(a) != count_bits(b) ? count_bits(a) < count_bits(b) : a != b && lower(a, b);
    });
    out.resize(order.size());
    std::uint16_t now = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i != 0 && compare(order[i - 1], order[i]) != 0) ++now;
      out[order[i]] = now;
    }
  }

  unsigned n_ = 0;
  flat_array<std::uint16_t> use_, rest_, sets_;
  flat_array<std::uint32_t> first_;
};

}  // namespace berth::detail
