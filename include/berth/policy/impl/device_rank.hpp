#pragma once
/// \file
/// Bodies of `berth/policy/device_rank.hpp`.

#include "berth/policy/device_rank.hpp"

namespace berth::detail {

BERTH_INLINE device_measure::device_measure(const node_shape& s)
    : n_{s.devices}, rank_(std::size_t{s.devices} * s.devices) {
  for (unsigned a = 0; a < n_; ++a)
    for (unsigned b = 0; b < n_; ++b) rank_[a * n_ + b] = a == b ? 0.0F : s.bandwidth.rank(a, b);
  for (const numa_shape& m : s.numa) numa_.append(m.devices);
  for (const device_mask m : s.pcie_switches) switches_.append(m);
}

BERTH_INLINE bool device_measure::is_uniform() const noexcept {
  for (unsigned a = 0; a < n_; ++a)
    for (unsigned b = 0; b < n_; ++b)
      if (a != b && rank(a, b) != rank(0, 1)) return false;
  const device_mask all = low_bits(n_);
  for (const auto* groups : {&numa_, &switches_})
    for (const device_mask g : *groups)
      if (g != 0 && g != all && (count_bits(g) != 1 || !disjoint_singles(*groups))) return false;
  return true;
}

BERTH_INLINE unsigned device_measure::spans(const flat_array<device_mask>& groups, device_mask set) noexcept {
  unsigned out = 0;
  device_mask met = 0;
  for (const device_mask g : groups) out += (g & set) != 0 ? 1U : 0U, met |= g;
  return out + (!groups.empty() && (set & ~met) != 0 ? 1U : 0U);
}

BERTH_INLINE bool device_measure::disjoint_singles(const flat_array<device_mask>& groups) const noexcept {
  device_mask met = 0;
  for (const device_mask g : groups) {
    if (count_bits(g) > 1 || (met & g) != 0) return false;
    met |= g;
  }
  return met == low_bits(n_);
}

BERTH_INLINE device_ranks::device_ranks(const device_measure& d) : n_{d.devices()} {
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

BERTH_INLINE unsigned device_measure::numa_nodes(device_mask set) const noexcept {
  return spans(numa_, set);
}

BERTH_INLINE unsigned device_measure::switches(device_mask set) const noexcept {
  return spans(switches_, set);
}

}  // namespace berth::detail
