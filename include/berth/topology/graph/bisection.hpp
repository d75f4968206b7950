#pragma once
/// \file
/// Bandwidth inside a set of devices, and across its middle.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "berth/core/expected.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/graph/flow.hpp"
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

namespace detail {

/// Maximum flow between two halves of a device set, for many splits of the same set.
///
/// The flow of one split is taken over one family of parts at a time: NVLink (NVSwitches, and links from device to
/// device), the network between machines, PCIe and sockets, or, where the set's GPUs are of several machines, their
/// PCIe, NICs and network; the largest counts, as for two devices. Other devices carry nothing.
class split_flow {
 public:
  split_flow(const path_finder& finder, const std::vector<part_id>& set);

  /// GB/s from the devices with `in_a[i]` to the others; 0: not joined; empty: only links of unknown rate join them.
  [[nodiscard]] std::optional<gigabytes_per_second> across(const std::vector<char>& in_a);

 private:
  struct trunk {
    std::size_t a, b;
    std::int64_t rate;
  };
  struct family {
    std::size_t switches = 0;
    bool used = false;
    std::vector<std::int64_t> to_switch, direct;  // member x switch; member x member
    std::vector<char> reaches, direct_joined;
    std::vector<trunk> between;
    std::vector<std::size_t> root;  // of the switch's connected part
    std::unique_ptr<flow_network> net;
    std::vector<flow_network::handle> sources, sinks;

    void attach(std::size_t m, std::size_t s, std::int64_t rate);
    /// Vertices: 0 the first half, 1 the second, then the switches.
    void prepare();
    [[nodiscard]] std::int64_t flow(const std::vector<char>& in_a);
    [[nodiscard]] bool joined(const std::vector<char>& in_a) const;
  };
  std::size_t size_;
  std::vector<family> families_;
};

}  // namespace detail

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
