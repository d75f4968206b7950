#pragma once
/// \file
/// Who is told about every change of a cluster; see `change_feed`, which other threads read from.

#include <cstdint>
#include <utility>

#include "berth/cluster/device_use.hpp"
#include "berth/cluster/node_state.hpp"
#include "berth/core/separate.hpp"

namespace berth {

class change_sink {
 public:
  /// A node has a new state, or its devices are cut otherwise. Both belong together.
  virtual void publish(std::uint32_t node, const node_state& state, const detail::published_parts& parts) noexcept = 0;
  /// `cluster::structure()` has a new value; called before the nodes concerned are published.
  virtual void publish_structure(std::uint64_t structure) noexcept = 0;

 protected:
  change_sink() = default;
  change_sink(const change_sink&) = default;
  change_sink& operator=(const change_sink&) = default;
  ~change_sink() = default;
};

namespace detail {

/// Where changes are published to; goes along when its owner is moved, not when it is copied.
struct feed_link {
  feed_link() = default;
  feed_link(const feed_link&) noexcept {}
  feed_link(feed_link&& o) noexcept : to{std::exchange(o.to, nullptr)} {}
  feed_link& operator=(const feed_link&) noexcept { return *this; }
  feed_link& operator=(feed_link&& o) noexcept;
  ~feed_link() = default;
  change_sink* to = nullptr;
};

}  // namespace detail

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/change_sink.hpp"
#endif
