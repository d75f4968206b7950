#pragma once
/// \file
/// Bodies of `berth/policy/keep_islands.hpp`.

#include "berth/policy/keep_islands.hpp"

namespace berth {

BERTH_INLINE std::vector<device_mask> islands_of(const node_shape& s) {
  std::vector<device_mask> out;
  const auto add = [&](device_mask m) {
    if (count_bits(m) < 2) return;
    std::size_t at = 0;
    for (; at < out.size(); ++at) {
      if (out[at] == m) return;
      if (count_bits(out[at]) < count_bits(m) ||
          (count_bits(out[at]) == count_bits(m) && lowest_bit(out[at]) > lowest_bit(m)))
        break;
    }
    for (std::size_t i = at; i < out.size(); ++i)
      if (out[i] == m) return;
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(at), m);
  };
  for (const numa_shape& m : s.numa) add(m.devices & s.all_devices());
  for (const device_mask m : s.pcie_switches) add(m & s.all_devices());
  std::vector<float> rates;
  for (unsigned a = 0; a < s.devices; ++a)
    for (unsigned b = 0; b < a; ++b) {
      const float r = s.bandwidth.rank(a, b);
      bool known = r < 0;  // of unknown bandwidth
      for (const float x : rates) known = known || x == r;
      if (!known) rates.push_back(r);
    }
  for (const float rate : rates) {
    device_mask joined[max_devices_per_node]{};
    for (unsigned a = 0; a < s.devices; ++a)
      for (unsigned b = 0; b < s.devices; ++b)
        if (a != b && s.bandwidth.rank(a, b) >= rate) joined[a] |= bit(b);
    const auto is_clique = [&](device_mask m) {
      bool ok = true;
      for_each_bit(m, [&](unsigned a) { ok = ok && (m & ~bit(a) & ~joined[a]) == 0; });
      return ok;
    };
    std::vector<device_mask> parts;
    bool even = true;
    for (device_mask left = s.all_devices(); left != 0 && even;) {
      device_mask best = 0;
      if (s.devices <= 16) {
        for (device_mask m = left; m != 0; m = (m - 1) & left)
          if (count_bits(m) >= count_bits(best) &&
              (count_bits(m) > count_bits(best) || lowest_bit(m) < lowest_bit(best) ||
               (lowest_bit(m) == lowest_bit(best) && m < best)) &&
              is_clique(m))
            best = m;
      } else {
        best = (joined[lowest_bit(left)] | bit(lowest_bit(left))) & left;
        if (!is_clique(best)) even = false;
      }
      even = even && (parts.empty() || count_bits(parts.front()) == count_bits(best));
      parts.push_back(best);
      left &= ~best;
    }
    if (even)
      for (const device_mask m : parts) add(m);
  }
  return out;
}

BERTH_INLINE std::uint64_t broken_by(std::span<const device_mask> islands, device_mask free,
                                     device_mask taken) noexcept {
  std::uint64_t out = 0;
  unsigned size = 0, kind = 0;
  for (const device_mask m : islands) {
    if (count_bits(m) != size) {
      kind += size != 0 && kind < 7 ? 1U : 0U;
      size = count_bits(m);
    }
    if ((m & ~free) == 0 && (m & taken) != 0 && (m & ~taken) != 0) out += std::uint64_t{1} << (8 * (7 - kind));
  }
  return out;
}

BERTH_INLINE device_mask keep_islands::table::choose(device_mask free, unsigned count) const noexcept {
  if (count == 0) return 0;
  if (count_bits(free) <= count) return count_bits(free) == count ? free : 0;
  if (islands_.empty() && ranks_.devices() == 0) return lowest_set(free, count);
  if (!best_.empty()) return best_[static_cast<std::size_t>(free) * (devices_ + 1U) + count];
  if (ranks_.devices() == 0) return grow(free, count);
  return pick(free, free, count, [](device_mask) { return true; });
}

BERTH_INLINE device_mask keep_islands::table::choose(const node_residual& node, const task_shape& t) const noexcept {
  if (t.devices == 0 || node.cpu < t.cpu || node.memory < t.memory) return 0;
  task_shape strict = t;
  if (t.bind.numa == numa_rule::best_effort) strict.bind.numa = numa_rule::restricted;
  if (const device_mask near = choose_strict(node, strict); near != 0 || t.bind.numa != numa_rule::best_effort)
    return near;
  strict.bind.numa = numa_rule::none;
  return choose_strict(node, strict);
}

BERTH_INLINE std::uint64_t keep_islands::table::breaks(device_mask free, unsigned count) const noexcept {
  if (count_bits(free) < count) return ~std::uint64_t{0};
  return broken_by(islands_, free, choose(free, count));
}

BERTH_INLINE device_mask keep_islands::table::choose_strict(const node_residual& node,
                                                            const task_shape& t) const noexcept {
  const device_mask pool = node.usable(t);
  if (count_bits(pool) < t.devices) return 0;
  const auto may = [&](device_mask set) { return node.admits(t, set); };
  if (ranks_.devices() != 0) return pick(pool, node.pool, t.devices, may);
  const device_mask first = choose(pool, t.devices);
  if (may(first)) return first;
  device_mask any = 0;
  task_binding b;
  return node.first_fit(t, any, b) ? any : 0;
}

BERTH_INLINE bool keep_islands::table::better(device_mask a, device_mask b, device_mask free) const noexcept {
  if (ranks_.use(a) != ranks_.use(b)) return ranks_.use(a) < ranks_.use(b);
  const std::uint16_t x = ranks_.rest(free & ~a), y = ranks_.rest(free & ~b);
  return x != y ? x < y : detail::device_ranks::lower(a, b);
}

BERTH_INLINE device_mask keep_islands::table::grow(device_mask free, unsigned count) const noexcept {
  device_mask set = 0;
  for (unsigned i = 0; i < count; ++i) {
    device_mask pick = 0;
    std::uint64_t least = ~std::uint64_t{0};
    for_each_bit(free & ~set, [&](unsigned d) {
      const std::uint64_t cost = broken_by(islands_, free, set | bit(d));
      if (pick == 0 || cost < least) pick = bit(d), least = cost;
    });
    set |= pick;
  }
  return set;
}

BERTH_INLINE keep_islands::table keep_islands::compile(const node_shape& shape) const {
  table t;
  t.devices_ = shape.devices;
  t.islands_ = islands_of(shape);
  const unsigned n = shape.devices;
  if (n > detail::device_ranks::limit || n == 0) return t;
  t.ranks_ = detail::device_ranks{detail::device_measure{shape}};
  if (n > 12) return t;
  const std::size_t masks = std::size_t{1} << n;
  t.best_.resize(masks * (n + 1));
  flat_array<std::uint64_t> least(n + 1U);
  for (std::size_t free = 1; free < masks; ++free) {
    std::uint16_t* const entries = &t.best_[free * (n + 1)];
    for (std::size_t set = free; set != 0; set = (set - 1) & free) {
      const unsigned k = count_bits(set);
      const std::uint64_t cost = broken_by(t.islands_, free, set);
      if (entries[k] != 0 && (cost > least[k] || (cost == least[k] && !t.better(set, entries[k], free)))) continue;
      entries[k] = static_cast<std::uint16_t>(set);
      least[k] = cost;
    }
  }
  return t;
}

BERTH_INLINE std::uint64_t whole_islands_last::score(const node_view& n, const task_shape& t) const noexcept {
  const auto shape = static_cast<std::size_t>(&n.shape - of_->shapes().data());
  if (shape >= tables_.size()) return 0;  // of a kind that came later
  const auto& table = tables_[shape];
  device_mask free = n.state.free;
  for (std::uint32_t i = 0; i < n.taken; ++i) free &= ~table.choose(free, t.devices);
  return ~table.breaks(free, t.devices);
}

BERTH_INLINE whole_islands_last::whole_islands_last(const cluster& c) : of_{&c} {
  for (const node_shape& s : c.shapes()) tables_.push_back(keep_islands{}.compile(s));
}

}  // namespace berth
