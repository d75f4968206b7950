#pragma once
/// \file
/// How well two devices are joined: bandwidth, links crossed, latency.
///
/// Rules
///   A path runs through switches, NUMA nodes and sockets, never through another GPU, NIC or machine.
///   Links between the same two parts are used at once: their rates add up.
///   Switches of one network are used at once: over NVSwitches (and over the switches between machines) the bandwidth
///   of two devices is the maximum flow through those switches, plus what links them directly. So 18 NVLinks of 25 GB/s
///   over four NVSwitches are 450 GB/s, and a lost link costs its own share and nothing else. Inside a machine, PCIe
///   and sockets give one path: the widest one. The larger of these counts; they do not add up. GPUs of two machines of
///   an expanded fabric that share no NVLink network: out through one NIC of the first, over the network, in through
///   one NIC of the second; the best such pair of NICs.
/// Unknown   A link of unknown rate never widens anything. Where known links join two devices, the answer is theirs and
/// a
///           lower bound. Where only links of unknown rate do, the bandwidth is unknown (`joined` says that there is
///           one).
/// Latency   of the fewest links that carry the answer's bandwidth: all links and crossed switches; unknown when one
/// is. Health    unhealthy parts and links do not exist (`health_view::healthy_only`).

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/topology/graph/hardware_graph.hpp"

namespace berth {

/// How two devices are joined.
struct connection {
  bool joined = false;                            ///< some path exists
  std::optional<gigabytes_per_second> bandwidth;  ///< one direction; empty: not joined, or of unknown rate
  std::uint32_t links = 0;                        ///< links crossed
  std::optional<nanoseconds> latency;             ///< empty: not joined, or unknown
};

/// Parts that carry traffic together.
enum class network_family : std::uint8_t {
  nvlink,     ///< NVSwitches
  network,    ///< switches between machines
  host,       ///< PCIe switches, NUMA nodes, sockets
  scale_out,  ///< from GPUs of one machine to those of another: host, NICs and network
};

/// True when `k` carries traffic in that family.
[[nodiscard]] constexpr bool carries(network_family f, vertex_kind k) noexcept {
  switch (f) {
    case network_family::nvlink:
      return is_nvlink_switch(k);
    case network_family::network:
      return is_network_switch(k);
    case network_family::host:
      return is_host_part(k);
    case network_family::scale_out:
      return is_host_part(k) || is_network_switch(k) || k == vertex_kind::nic;
  }
  return false;
}

/// Answers path queries on a snapshot of a hardware graph: changes made to the graph later are not seen.
/// Cost: construction O(V + E log E).
class path_finder {
 public:
  /// All links between two parts, taken together.
  struct trunk {
    double rate = 0;  ///< GB/s of the links whose rate is known; 0: none is
    std::optional<double> latency;
  };
  using view = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, boost::no_property, trunk>;

  explicit path_finder(const hardware_graph& g, health_view health = health_view::healthy_only);
  path_finder(hardware_graph&&, health_view = health_view::healthy_only) = delete;

  [[nodiscard]] const hardware_graph& graph() const noexcept { return *graph_; }
  /// The graph as the queries see it: one edge per joined pair.
  [[nodiscard]] const view& trunks() const noexcept { return view_; }
  /// False for what the queries leave out.
  [[nodiscard]] bool usable(part_id v) const noexcept { return usable_[v]; }

  /// How two devices (GPUs, NICs, or machines of a fabric) are joined. \pre a != b.
  /// O(E log V), plus a maximum flow over the NVSwitches or network switches that both reach.
  [[nodiscard]] connection between(part_id a, part_id b) const;

 private:
  static constexpr double unlimited = std::numeric_limits<double>::infinity();

  /// Lets a search leave only the start and what carries traffic.
  struct may_leave {
    const path_finder* finder = nullptr;
    part_id start = 0;
    template <class Edge>
    bool operator()(const Edge& e) const {
      const auto from = boost::source(e, finder->view_);
      return from == start || !is_endpoint((*finder->graph_)[from].kind);
    }
  };

  [[nodiscard]] double widest_trunk(part_id v) const;

  static void keep_better(connection& best, const connection& other);

  /// Links and latency of the shortest path on which every link carries at least `rate` and `carry(kind)` holds for
  /// every part between. With `rate` 0, links of unknown rate count too.
  template <class Carry>
  [[nodiscard]] connection shortest(part_id a, part_id b, double rate, Carry carry) const;

  /// The widest single path, through anything but endpoints.
  [[nodiscard]] connection single_path(part_id a, part_id b) const;

  struct capacity {
    std::size_t a, b;
    std::int64_t units;
  };

  /// The maximum flow from vertex 0 to vertex 1. Where no two of the others are linked (NVSwitch boards, NVL72), it is
  /// the sum over them of what each passes on, and no search is needed.
  [[nodiscard]] static std::int64_t most_between_ends(std::size_t vertices, const std::vector<capacity>& links);

  /// The maximum flow through the switches of one family, direct links included.
  [[nodiscard]] connection over(network_family f, part_id a, part_id b) const;

  /// NICs of a device's machine, or the device itself when it is a NIC.
  [[nodiscard]] std::vector<part_id> nics_of(part_id device) const;

  /// Out through one NIC, over the network, in through one NIC.
  [[nodiscard]] connection through_nics(part_id a, part_id b) const;

  const hardware_graph* graph_;
  view view_;
  std::vector<char> usable_;
};

/// One query on a graph. For several, keep a `path_finder`.
[[nodiscard]] connection between(const hardware_graph& g, part_id a, part_id b,
                                 health_view health = health_view::healthy_only);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/topology/graph/impl/paths.hpp"
#endif
