#pragma once
/// \file
/// Bodies of `berth/topology/node_shape.hpp`.

#include <cassert>
#include <utility>

#include "berth/topology/node_shape.hpp"

namespace berth {

BERTH_INLINE std::optional<gigabytes_per_second> bandwidth_table::between(unsigned a, unsigned b) const noexcept {
  const float r = rate_[at(a, b)];
  if (r == unknown_rate) return std::nullopt;
  return gigabytes_per_second{static_cast<double>(r)};
}

BERTH_INLINE void bandwidth_table::set(unsigned a, unsigned b, std::optional<gigabytes_per_second> rate) {
  const float r = rate ? static_cast<float>(rate->count()) : unknown_rate;
  put(rate_, a, b, r);
  put(order_, a, b, r);
}

BERTH_INLINE void bandwidth_table::set_unknown(unsigned a, unsigned b, float order) {
  put(rate_, a, b, unknown_rate);
  put(order_, a, b, order);
}

BERTH_INLINE std::optional<float> bandwidth_table::order(unsigned a, unsigned b) const noexcept {
  if (rate_[at(a, b)] != unknown_rate || order_[at(a, b)] == unknown_rate) return std::nullopt;
  return order_[at(a, b)];
}

BERTH_INLINE std::size_t bandwidth_table::at(unsigned a, unsigned b) const noexcept {
  assert(a < n_ && b < n_);
  return std::size_t{a} * n_ + b;
}

BERTH_INLINE void bandwidth_table::put(std::vector<float>& table, unsigned a, unsigned b, float x) {
  table[at(a, b)] = x;
  table[at(b, a)] = x;
}

BERTH_INLINE std::size_t node_shape::numa_of(unsigned device) const noexcept {
  std::size_t m = 0;
  while (m < numa.size() && (numa[m].devices & bit(device)) == 0) ++m;
  return m;
}

BERTH_INLINE std::optional<gigabytes_per_second> node_shape::host_path(unsigned a, unsigned b) const noexcept {
  std::optional<gigabytes_per_second> least;
  device_mask met = 0;
  for (const host_link& l : host_links) {
    const device_mask ends = l.devices & (bit(a) | bit(b));
    if (ends == 0 || ends == (bit(a) | bit(b))) continue;  // not on the way, or above the switch where the ways meet
    if (!l.rate) return std::nullopt;
    met |= ends;
    if (!least || *l.rate < *least) least = l.rate;
  }
  if (met != (bit(a) | bit(b))) return std::nullopt;
  const std::size_t from = numa_of(a), to = numa_of(b);
  if (from == to) return from == numa.size() ? std::nullopt : least;
  if (from >= numa_bandwidth.size() || to >= numa_bandwidth.size()) return std::nullopt;
  const auto across = numa_bandwidth.between(static_cast<unsigned>(from), static_cast<unsigned>(to));
  return across && *least < *across ? least : across;
}

BERTH_INLINE node_shape make_plain_shape(std::string name, unsigned devices, std::string model, cpu_millis cpu,
                                         bytes memory) {
  node_shape s;
  s.name = std::move(name);
  s.devices = devices;
  s.models.assign(devices, model);
  s.bandwidth = bandwidth_table{devices};
  s.cpu = cpu;
  s.memory = memory;
  return s;
}

}  // namespace berth
