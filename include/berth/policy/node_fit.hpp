#pragma once
/// \file
/// Which nodes inside a leaf.

#include <cstdint>

#include "berth/core/bits.hpp"
#include "berth/policy/concepts.hpp"

namespace berth {

/// Keeps whole nodes whole: a node that holds all remaining tasks with the fewest devices left over; where none does,
/// the node that holds most of them.
struct bin_pack {
  using score_follows_order = bin_pack;
  static constexpr node_order order = node_order::fewest_free;
  [[nodiscard]] constexpr std::int64_t score(const node_view& n, const task_shape& t) const noexcept {
    return -static_cast<std::int64_t>(count_bits(n.state.free)) + static_cast<std::int64_t>(n.taken * t.devices);
  }
};

/// Least loaded first, one task at a time. Costs later gangs their whole nodes (`pack` and `spread` are choices, not
/// degrees of quality): use it where tasks disturb each other.
struct spread {
  using score_follows_order = spread;
  static constexpr node_order order = node_order::most_free;
  [[nodiscard]] constexpr std::int64_t score(const node_view& n, const task_shape& t) const noexcept {
    return static_cast<std::int64_t>(count_bits(n.state.free)) - static_cast<std::int64_t>(n.taken * t.devices);
  }
};

/// The share of a node's devices that would be in use, in [0, 1]: `bin_pack` as a normalised score, for `weighted`.
struct device_utilisation {
  static constexpr bool normalized = true;
  [[nodiscard]] constexpr double score(const node_view& n, const task_shape& t) const noexcept {
    const unsigned installed = count_bits(n.state.installed);
    if (installed == 0) return 1.0;
    const unsigned used = installed - count_bits(n.state.free) + (n.taken + 1) * t.devices;
    return static_cast<double>(used) / static_cast<double>(installed);
  }
};

}  // namespace berth
