#pragma once
/// \file
/// Bodies of `berth/solver/count_nodes.hpp`.

#include "berth/solver/count_nodes.hpp"
#include "berth/topology/rails.hpp"

namespace berth::detail {

BERTH_INLINE void count_nodes::reserve_vectors() {
  packed_.reserve(most_vectors);
  parts_.reserve(2 * most_vectors);
}

BERTH_INLINE device_mask count_nodes::pool(node_id n, std::size_t group) const noexcept {
  const node_state& s = cluster_->node(n);
  const device_mask open = s.free & cluster_->eligible(shape(group).filter, n).devices;
  if (rails_ == 0) return open;
  device_mask on = 0;
  for (unsigned r = 0; r < max_rails; ++r) {
    if ((rails_ >> r & 1U) == 0) continue;
    const device_mask here = cluster_->uplinks().on_rail(s.node_class, r) & open;
    if (here == 0) return 0;
    on |= here;
  }
  return on;
}

BERTH_INLINE std::uint64_t count_nodes::fits(node_id n, std::size_t group, device_mask open) const noexcept {
  const node_state& s = cluster_->node(n);
  const task_shape& t = shape(group);
  if (!s.usable || !cluster_->eligible(t.filter, n).admits) return 0;
  std::uint64_t most = t.capped(t.devices == 0 ? space_.total(group) : count_bits(open) / t.devices);
  if (most > space_.total(group)) most = space_.total(group);
  const auto bound = [&](std::int64_t have, std::int64_t each) {
    if (each > 0 && static_cast<std::uint64_t>(have / each) < most) most = static_cast<std::uint64_t>(have / each);
  };
  bound(s.cpu.count(), t.cpu.count());
  bound(s.memory.count(), t.memory.count());
  if (most != 0 && t.bind.asks())
    most = cluster_->inside().count(n.raw(), s, open, t, static_cast<std::uint32_t>(most));
  return most;
}

BERTH_INLINE std::uint32_t count_nodes::list_node(node_id n) noexcept {
  listed_ = 0;
  alike_ = true;
  for (std::size_t i = 0; i < groups(); ++i) {
    pools_[i] = pool(n, i);
    fits_[i] = static_cast<std::uint32_t>(fits(n, i, pools_[i]));
    if (shape(i).devices != 0 && fits_[i] != 0)
      for (std::size_t k = 0; k < i; ++k)
        if (shape(k).devices != 0 && fits_[k] != 0 && pools_[k] != pools_[i]) alike_ = false;
  }
  device_mask any = 0;
  for (std::size_t i = 0; i < groups(); ++i) any |= pools_[i];
  open_ = count_bits(any);
  may_send_ = rate_ == 0 || cluster_->uplinks().nic_share_of(cluster_->node(n).node_class) >= rate_;
  extend(0, 0, 0, cluster_->node(n).cpu.count(), cluster_->node(n).memory.count());
  steps_ -= listed_ < steps_ ? listed_ : steps_;
  return listed_;
}

BERTH_INLINE void count_nodes::extend(std::size_t group, std::uint32_t v, std::uint64_t devices, std::int64_t cpu,
                                      std::int64_t memory) noexcept {
  if (group == groups()) {
    if (v == 0) return;
    if (one_node_ && v != space_.last()) return;
    if (!may_send_ && devices != 0 && devices != devices_) return;
    if (!split_fits(v, devices)) return;
    parts_.data()[listed_++] = {v, 0, packed_.data()[v], 0};
    return;
  }
  const task_shape& t = shape(group);
  for (std::uint32_t k = 0; k <= fits_[group]; ++k) {
    extend(group + 1, v + k * space_.stride(group), devices + std::uint64_t{k} * t.devices, cpu, memory);
    cpu -= t.cpu.count();
    memory -= t.memory.count();
    if (cpu < 0 || memory < 0 || devices + (k + std::uint64_t{1}) * t.devices > open_) return;
  }
}

BERTH_INLINE bool count_nodes::split_fits(std::uint32_t v, std::uint64_t devices) noexcept {
  if (alike_) {
    device_mask any = 0;
    for (std::size_t i = 0; i < groups(); ++i)
      if (space_.count(v, i) != 0 && shape(i).devices != 0) any = pools_[i];
    return devices <= count_bits(any);
  }
  return split(v);
}

BERTH_INLINE bool count_nodes::split(std::uint32_t v) noexcept {
  device_split s;
  for (std::size_t i = 0; i < groups(); ++i)
    s.add(pools_[i], static_cast<unsigned>(space_.count(v, i) * shape(i).devices));
  if (!s.solve()) return false;
  for (std::size_t i = 0; i < groups(); ++i) given_[i] = s.given(i);
  return true;
}

BERTH_INLINE bool count_nodes::equal(node_id a, node_id b) const noexcept {
  const node_state &x = cluster_->node(a), &y = cluster_->node(b);
  for (std::size_t i = 0; i < groups(); ++i)
    if (shape(i).bind.asks()) return false;
  return x.node_class == y.node_class && x.cpu == y.cpu && x.memory == y.memory && x.usable == y.usable &&
         x.free == y.free;
}

}  // namespace berth::detail
