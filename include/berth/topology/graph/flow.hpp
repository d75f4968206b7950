#pragma once
/// \file
/// Maximum flow, by Boost's push-relabel. Capacities are integers (kB/s), so results are exact.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "berth/core/separate.hpp"
#include "berth/core/units.hpp"

namespace berth {

/// A flow network whose capacities can be changed between runs.
class flow_network {
 public:
  /// Handle of an arc, for `set`.
  struct handle {
    std::size_t at;
  };

  explicit flow_network(std::size_t vertices);
  flow_network(const flow_network&) = delete;  // arcs know their reverse by address
  flow_network& operator=(const flow_network&) = delete;
  ~flow_network();

  /// An arc that carries up to `capacity` from `a` to `b`. \pre a != b, both < vertices. O(1) amortised.
  handle one_way(std::size_t a, std::size_t b, std::int64_t capacity = 0);
  /// A link that carries up to `capacity` each way.
  void both_ways(std::size_t a, std::size_t b, std::int64_t capacity);
  /// Changes an arc's capacity. O(1).
  void set(handle h, std::int64_t capacity);
  /// The most that can flow from `source` to `sink`. O(V^3).
  [[nodiscard]] std::int64_t max_flow(std::size_t source, std::size_t sink);

  /// GB/s as the integer unit of capacities.
  [[nodiscard]] static std::int64_t units(gigabytes_per_second rate) noexcept {
    return std::llround(rate.count() * 1e6);
  }
  /// Back to GB/s.
  [[nodiscard]] static gigabytes_per_second rate(std::int64_t units) noexcept {
    return gigabytes_per_second{static_cast<double>(units) / 1e6};
  }

 private:
  struct network;
  std::unique_ptr<network> net_;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/topology/graph/impl/flow.hpp"
#endif
