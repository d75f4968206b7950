#pragma once
/// \file
/// What one node can hold of a gang: vectors of counts, a part of `count_search`.

#include <cstddef>
#include <cstdint>

#include "berth/cluster/cluster.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/job/gang.hpp"
#include "berth/solver/count_table.hpp"
#include "berth/solver/detail/device_split.hpp"
#include "berth/topology/rails.hpp"

namespace berth::detail {

/// Lists the vectors of counts that a node holds by devices, CPU, memory, limits of tasks per node, NICs and rails.
///
/// Exact, except that what several groups need of the inside of a node is counted for each alone.
class count_nodes {
 public:
  static constexpr std::uint32_t most_vectors = 1U << 15;

 protected:
  explicit count_nodes(cluster& c) noexcept : cluster_{&c} {}

  void reserve_vectors() {
    packed_.reserve(most_vectors);
    parts_.reserve(2 * most_vectors);
  }
  [[nodiscard]] std::size_t groups() const noexcept { return gang_->groups.size(); }
  [[nodiscard]] const task_shape& shape(std::size_t i) const noexcept { return gang_->groups[i].shape; }

  /// Free devices of a node that may serve a group, on the rails of the set; 0 where the node lacks one of those.
  [[nodiscard]] device_mask pool(node_id n, std::size_t group) const noexcept {
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
  /// Tasks of one group that fit on a node, without the others.
  [[nodiscard]] std::uint64_t fits(node_id n, std::size_t group, device_mask open) const noexcept {
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
  /// All vectors but 0 that a node holds, into `parts_`.
  [[nodiscard]] std::uint32_t list_node(node_id n) noexcept {
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
  void extend(std::size_t group, std::uint32_t v, std::uint64_t devices, std::int64_t cpu,
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
  /// Whether the devices of the node can be split so that every group has enough.
  [[nodiscard]] bool split_fits(std::uint32_t v, std::uint64_t devices) noexcept {
    if (alike_) {
      device_mask any = 0;
      for (std::size_t i = 0; i < groups(); ++i)
        if (space_.count(v, i) != 0 && shape(i).devices != 0) any = pools_[i];
      return devices <= count_bits(any);
    }
    return split(v);
  }
  [[nodiscard]] bool split(std::uint32_t v) noexcept {
    device_split s;
    for (std::size_t i = 0; i < groups(); ++i)
      s.add(pools_[i], static_cast<unsigned>(space_.count(v, i) * shape(i).devices));
    if (!s.solve()) return false;
    for (std::size_t i = 0; i < groups(); ++i) given_[i] = s.given(i);
    return true;
  }
  /// Whether two neighbours hold the same vectors.
  [[nodiscard]] bool equal(node_id a, node_id b) const noexcept {
    const node_state &x = cluster_->node(a), &y = cluster_->node(b);
    for (std::size_t i = 0; i < groups(); ++i)
      if (shape(i).bind.asks()) return false;
    return x.node_class == y.node_class && x.cpu == y.cpu && x.memory == y.memory && x.usable == y.usable &&
           x.free == y.free;
  }

  cluster* cluster_;
  const gang* gang_ = nullptr;
  count_space space_{};
  std::int64_t rate_ = 0;                  ///< bytes per second and device between nodes
  std::uint64_t devices_ = 0, tasks_ = 0;  ///< of the total
  std::uint32_t rails_ = 0;                ///< the set of rails at work; 0: whichever a node has
  bool one_node_ = false;                  ///< the gang must be on one node
  std::uint64_t steps_ = 0;                ///< left
  flat_array<std::uint64_t> packed_;       ///< by vector
  flat_array<count_part> parts_;           ///< of the child at work
  std::uint32_t listed_ = 0, open_ = 0;    ///< of the node at work: vectors, free devices of some use
  bool alike_ = true, may_send_ = true;    ///< all groups may use the same devices; its NICs carry the rate
  std::uint32_t fits_[count_space::most_groups] = {};
  device_mask pools_[count_space::most_groups] = {}, given_[count_space::most_groups] = {};
};

}  // namespace berth::detail
