#pragma once
/// \file
/// Preferences between nodes that scan-style schedulers combine: each scores one property of a candidate, larger is
/// better. With `lexicographic` (`compose.hpp`) they are what other schedulers write as sums of numbers whose
/// magnitudes never overlap.

#include <cstdint>

namespace berth {

/// A node that could take a task, as such policies see it. Amounts are of the one resource that matters to the task, in
/// its own unit; what counts as free is said by whoever fills it in.
struct scan_candidate {
  std::uint32_t node = 0;
  bool nominated = false;        ///< the task was promised this node
  bool joins_shared = false;     ///< a device that others share has room for the task
  bool now = false;              ///< fits without waiting for what is being released
  bool same_kind = false;        ///< has no devices, and the task asks for none
  std::int32_t domain_rank = 0;  ///< of the node's domain in the order in which domains are to be filled
  std::int64_t free = 0;         ///< not taken, what is being released included
  std::int64_t total = 0;
};
/// What the candidates have in common.
struct scan_request {
  std::int64_t least_free = 0;  ///< among the candidates that have the resource at all
  std::int64_t most_free = 0;
};

/// A node that was promised before, first.
struct nominated_first {
  [[nodiscard]] constexpr bool score(const scan_candidate& n, const scan_request&) const noexcept {
    return n.nominated;
  }
};
/// Nodes of higher-ranked domains first.
struct ranked_domain_first {
  [[nodiscard]] constexpr std::int32_t score(const scan_candidate& n, const scan_request&) const noexcept {
    return n.domain_rank;
  }
};
/// Where the task can join others on a shared device, first.
struct shared_device_first {
  [[nodiscard]] constexpr bool score(const scan_candidate& n, const scan_request&) const noexcept {
    return n.joins_shared;
  }
};
/// Where the task need not wait, first.
struct free_now_first {
  [[nodiscard]] constexpr bool score(const scan_candidate& n, const scan_request&) const noexcept { return n.now; }
};
/// Tasks without devices go to nodes without devices.
struct same_kind_first {
  [[nodiscard]] constexpr bool score(const scan_candidate& n, const scan_request&) const noexcept {
    return n.same_kind;
  }
};
/// The less is free, the better: 1 for the least of all candidates, 0 for the most; all 1 where they are equal, and 0
/// where the node has none of the resource, or nobody has any left.
struct least_free_node_first {
  static constexpr bool normalized = true;
  [[nodiscard]] constexpr double score(const scan_candidate& n, const scan_request& r) const noexcept {
    if (n.total == 0 || r.most_free == 0) return 0;
    if (r.least_free == r.most_free) return 1;
    return 1 - static_cast<double>(n.free - r.least_free) / static_cast<double>(r.most_free - r.least_free);
  }
};
/// The larger the free part of the node, the better.
struct most_free_node_first {
  static constexpr bool normalized = true;
  [[nodiscard]] constexpr double score(const scan_candidate& n, const scan_request&) const noexcept {
    return n.total == 0 ? 0 : static_cast<double>(n.free) / static_cast<double>(n.total);
  }
};

}  // namespace berth
