#pragma once
/// \file
/// Maximum flow, by Boost's push-relabel. Capacities are integers (kB/s), so results are exact.

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

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

  explicit flow_network(std::size_t vertices) : g_(vertices) {}
  flow_network(const flow_network&) = delete;  // arcs know their reverse by address
  flow_network& operator=(const flow_network&) = delete;

  /// An arc that carries up to `capacity` from `a` to `b`. \pre a != b, both < vertices. O(1) amortised.
  handle one_way(std::size_t a, std::size_t b, std::int64_t capacity = 0);
  /// A link that carries up to `capacity` each way.
  void both_ways(std::size_t a, std::size_t b, std::int64_t capacity);
  /// Changes an arc's capacity. O(1).
  void set(handle h, std::int64_t capacity) { g_[arcs_[h.at]].capacity = capacity; }
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
  using traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
  struct arc {
    std::int64_t capacity;
    std::int64_t residual;
    traits::edge_descriptor reverse;
  };
  using network = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, arc>;
  network g_;
  std::vector<traits::edge_descriptor> arcs_;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/topology/graph/impl/flow.hpp"
#endif
