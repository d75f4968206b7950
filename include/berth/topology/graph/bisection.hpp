#pragma once
/// \file
/// Bandwidth inside a set of devices, and across its middle.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "berth/core/expected.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/graph/paths.hpp"

namespace berth {

/// Pairwise bandwidths inside a set.
struct set_bandwidth {
  std::uint32_t pairs = 0;
  std::uint32_t unknown_pairs = 0;              ///< joined, at an unknown rate
  std::uint32_t apart_pairs = 0;                ///< not joined at all
  std::optional<gigabytes_per_second> slowest;  ///< of the pairs with a known rate; empty: there is none
  gigabytes_per_second total{};                 ///< sum over the pairs with a known rate
};

/// Bandwidths of all pairs of a set of devices. O(n^2) path queries.
[[nodiscard]] set_bandwidth bandwidth_inside(const path_finder& finder, const std::vector<part_id>& set);

/// Why a set has no bisection.
enum class bisection_error : std::uint8_t {
  too_few,   ///< fewer than two devices
  too_many,  ///< more than `exact_bisection_limit`: give the halves to `cut_bandwidth`
  repeated,  ///< a device occurs twice
};

/// The largest set whose bisection is searched through.
inline constexpr std::size_t exact_bisection_limit = 16;

/// What `bisection` finds.
struct bisection_result {
  std::optional<gigabytes_per_second>
      bandwidth;              ///< 0: the halves are not joined; empty: some split is of unknown rate
  std::vector<part_id> half;  ///< the half with the set's first device, of the worst split
};

/// Bandwidth from one set of devices to another, all of both sending: a maximum flow (see `split_flow` above for what
/// counts). 0: not joined; empty: only links of unknown rate join them. A broken device joins nothing.
/// \pre the sets are disjoint. One maximum flow per family of switches.
[[nodiscard]] std::optional<gigabytes_per_second> cut_bandwidth(const path_finder& finder,
                                                                const std::vector<part_id>& a,
                                                                const std::vector<part_id>& b);

/// The bisection bandwidth of a set: the smallest `cut_bandwidth` over all splits into halves that differ by at most
/// one device. Exact; up to C(16, 8) / 2 = 6,435 maximum flows. Ties: the first split in the order of the set's
/// positions.
[[nodiscard]] expected<bisection_result, bisection_error> bisection(const path_finder& finder,
                                                                    const std::vector<part_id>& set);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/topology/graph/impl/bisection.hpp"
#endif
