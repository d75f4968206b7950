#pragma once
/// \file
/// Bodies of `berth/policy/device_choice.hpp`.

#include <cassert>

#include "berth/policy/device_choice.hpp"

namespace berth {

BERTH_INLINE device_mask best_bandwidth::table::choose(device_mask free, unsigned count) const noexcept {
  assert((free & ~low_bits(measure_.devices())) == 0);
  if (count == 0) return 0;
  if (count_bits(free) <= count) return count_bits(free) == count ? free : 0;
  if (uniform_) return lowest_set(free, count);
  if (!best_.empty()) return best_[static_cast<std::size_t>(free) * (measure_.devices() + 1U) + count];
  return search(free, count);
}

BERTH_INLINE device_mask best_bandwidth::table::choose(const node_residual& node, const task_shape& t) const noexcept {
  if (t.devices == 0 || node.cpu < t.cpu || node.memory < t.memory) return 0;
  if (t.bind.numa != numa_rule::best_effort) return choose_strict(node, t);
  task_shape strict = t;
  strict.bind.numa = numa_rule::restricted;
  if (const device_mask near = choose_strict(node, strict); near != 0) return near;
  strict.bind.numa = numa_rule::none;
  return choose_strict(node, strict);
}

[[gnu::noinline]] BERTH_INLINE device_mask best_bandwidth::table::search(device_mask free,
                                                                         unsigned count) const noexcept {
  const auto any = [](device_mask) { return true; };
  const auto none = [](device_mask) { return std::int64_t{0}; };
  detail::device_search s{measure_, twins_, free};
  s.offer(grow(free, count, any), none);
  s.run(free, count, any, any, none);
  return s.best();
}

BERTH_INLINE device_mask best_bandwidth::table::choose_strict(const node_residual& node,
                                                              const task_shape& t) const noexcept {
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

BERTH_INLINE bool best_bandwidth::table::better(device_mask a, std::int64_t a_nics, device_mask b, std::int64_t b_nics,
                                                device_mask pool) const noexcept {
  if (a_nics != b_nics) return a_nics > b_nics;
  const std::uint16_t x = ranks_.rest(pool & ~a), y = ranks_.rest(pool & ~b);
  return x != y ? x < y : detail::device_ranks::lower(a, b);
}

BERTH_INLINE device_mask best_bandwidth::table::choose_searched(const node_residual& node, const task_shape& t,
                                                                device_mask pool) const noexcept {
  const auto may = [&](device_mask set) { return t.bind.host.count() == 0 || node.carries(t, set); };
  const auto admits = [&](device_mask set) { return node.admits(t, set); };
  const auto nics = [&](device_mask set) { return t.bind.near_nic ? node.layout->nic_rate(set, node.nics) : 0; };
  detail::device_search search{measure_, twins_, node.pool};
  const auto attempt = [&](device_mask from) {
    if (count_bits(from) < t.devices) return false;
    if (const device_mask grown = grow(from, t.devices, may); grown != 0 && admits(grown)) search.offer(grown, nics);
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

BERTH_INLINE best_bandwidth::table::worth best_bandwidth::table::score(device_mask set) const noexcept {
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

BERTH_INLINE best_bandwidth::table best_bandwidth::compile(const node_shape& shape) const {
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
