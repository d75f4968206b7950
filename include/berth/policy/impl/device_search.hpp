#pragma once
/// \file
/// Bodies of `berth/policy/device_search.hpp`.

#include "berth/policy/device_search.hpp"

namespace berth::detail {

BERTH_INLINE flat_array<device_mask> device_twins(const node_shape& s, const device_measure& m) {
  flat_array<device_mask> out;
  const auto alike = [&](unsigned a, unsigned b) {
    for (unsigned x = 0; x < s.devices; ++x)
      if (x != a && x != b && m.rank(a, x) != m.rank(b, x)) return false;
    const auto both = [&](device_mask group) { return (group >> a & 1U) == (group >> b & 1U); };
    for (const numa_shape& n : s.numa)
      if (!both(n.devices)) return false;
    for (const device_mask p : s.pcie_switches)
      if (!both(p)) return false;
    for (const host_link& l : s.host_links)
      if (!both(l.devices)) return false;
    for (const nic_shape& n : s.nics)
      if (!both(n.devices)) return false;
    return true;
  };
  for (unsigned a = 0; a < s.devices; ++a) {
    device_mask twins = 0;
    for (unsigned b = 0; b < s.devices; ++b)
      if (b != a && alike(a, b)) twins |= bit(b);
    out.append(twins);
  }
  return out;
}

BERTH_INLINE device_search::device_search(const device_measure& m, const flat_array<device_mask>& twins,
                                          device_mask base) noexcept
    : measure_{&m}, twins_{&twins}, base_{base} {
  for (unsigned a = 0; a < m.devices(); ++a)
    for (unsigned b = 0; b < a; ++b) fastest_ = m.rank(a, b) > fastest_ ? m.rank(a, b) : fastest_;
}

BERTH_INLINE bool device_search::may_win(device_mask use, const float* least_of, unsigned left, double total,
                                         const double* most) const noexcept {
  unsigned faster = 0;
  for (device_mask m = use; m != 0; m &= m - 1) faster += least_of[lowest_bit(m)] > best_.least ? 1U : 0U;
  if (faster >= left) return true;  // a larger bottleneck is possible
  for (unsigned i = 0; i < left; ++i) total += most[i];
  return total + 0.5 * left * (left - 1) * static_cast<double>(fastest_) >= best_.total;
}

BERTH_INLINE void device_search::weigh(score& s) noexcept {
  if (s.rest.known) return;
  s.rest.known = true;
  const device_mask rest = base_ & ~s.set;
  unsigned at[64], n = 0;
  for_each_bit(rest, [&](unsigned d) { at[n++] = d; });
  for (unsigned a = 0; a < n; ++a)
    for (unsigned b = 0; b < a; ++b) s.rest.total += measure_->rank(at[a], at[b]);
  if (n > largest_rest) return;
  spend((n << n) / 2);
  float least[1U << largest_rest];
  float best[largest_rest + 1];
  std::uint32_t nodes[largest_rest + 1], switches[largest_rest + 1];
  for (unsigned k = 0; k <= n; ++k) best[k] = -std::numeric_limits<float>::infinity(), nodes[k] = switches[k] = 1000;
  least[0] = std::numeric_limits<float>::infinity();
  for (unsigned m = 1; m < 1U << n; ++m) {
    const unsigned low = lowest_bit(m), others = m & (m - 1);
    float l = least[others];
    device_mask set = bit(at[low]);
    for (unsigned x = others; x != 0; x &= x - 1) {
      const float r = measure_->rank(at[low], at[lowest_bit(x)]);
      l = r < l ? r : l;
      set |= bit(at[lowest_bit(x)]);
    }
    least[m] = l;
    const unsigned k = count_bits(m);
    if (k < 2) continue;
    best[k] = l > best[k] ? l : best[k];
    const std::uint32_t on = measure_->numa_nodes(set), behind = measure_->switches(set);
    nodes[k] = on < nodes[k] ? on : nodes[k];
    switches[k] = behind < switches[k] ? behind : switches[k];
  }
  for (unsigned k = 2; k <= n; ++k) {
    s.rest.bottleneck += static_cast<double>(best[k]);
    s.rest.nodes += nodes[k];
    s.rest.switches += switches[k];
  }
}

}  // namespace berth::detail
