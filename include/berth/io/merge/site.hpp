#pragma once
/// \file
/// A site: what several files together say about one cluster. Made by `merge_site` (`io/merge.hpp`). Needs Boost.Graph.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/spec.hpp"
#include "berth/core/units.hpp"
#include "berth/io/hostlist.hpp"
#include "berth/io/input_place.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/occupied.hpp"
#include "berth/io/slurm_hardware.hpp"
#include "berth/topology/graph/fabric_graph.hpp"

namespace berth {

/// A number with at most two decimals and no needless zeros.
[[nodiscard]] inline std::string decimal_text(double v) {
  std::string out = std::to_string(std::round(v * 100) / 100);
  out.resize(out.size() - 4);
  while (out.back() == '0') out.pop_back();
  if (out.back() == '.') out.pop_back();
  return out;
}

/// Two places that contradict each other, and what was made of it.
struct site_conflict {
  std::string what;
  input_place first;
  input_place second;  ///< empty source: only one place is at fault

  /// `a.txt:3, b.conf:7: …`
  [[nodiscard]] std::string text() const {
    const auto at = [](const input_place& p) { return p.line == 0 ? p.source : p.text(); };
    return at(first) + (second.source.empty() ? "" : ", " + at(second)) + ": " + what;
  }
};

/// One cable from a machine's NIC to a switch.
struct fabric_port {
  std::uint32_t node = 0;             ///< machine: index into `site::net.nodes`
  std::string nic;                    ///< its name where the fabric's file tells it ("mlx5_0"), else ""
  std::optional<std::uint64_t> guid;  ///< of the NIC
  part_id to = 0;                     ///< switch: vertex of `site::net.graph`
  std::optional<gigabytes_per_second> rate;

  friend bool operator==(const fabric_port&, const fabric_port&) = default;
};

/// Slurm's blocks, in the order of their file, which says which of them make a larger one.
struct site_blocks {
  static constexpr std::uint32_t none = 0xFFFF'FFFF;
  std::vector<std::string> names;
  std::vector<std::uint32_t> of;     ///< by node: index into `names`, or `none`
  std::vector<std::uint64_t> sizes;  ///< `BlockSizes=`; empty where they are not stated

  friend bool operator==(const site_blocks&, const site_blocks&) = default;
};

/// Everything that a site's files say.
struct site {
  cluster_spec spec;
  /// The graph of machines and switches: machine i is node i of `spec` and vertex i of the graph. `shapes` are the
  /// insides of machines; `shape_of` says by machine which one. An inside with `inside_known` false has only as many
  /// GPUs as are stated.
  fabric net;
  std::vector<char> inside_known;       ///< by inside
  std::vector<char> hardware_known;     ///< by node: false where no file says what the machine is
  std::vector<fabric_port> ports;       ///< cables by NIC, where a fabric's file tells the NICs
  std::vector<std::string> nvlink;      ///< by node: its NVLink domain between machines, "" without
  site_blocks blocks;                   ///< what those NVLink domains are made of, where Slurm's files tell them
  std::vector<std::string> off_fabric;  ///< machines that are on no switch of the fabric's files
  bool has_fabric = false;              ///< some file lists cables; false: links follow from declared levels
  occupied_cluster held;                ///< who holds what, and broken GPUs
  std::vector<job_spec> jobs;           ///< jobs that the files ask for
  std::vector<site_conflict> conflicts;
  std::vector<std::pair<std::string, std::string>> level_aliases;  ///< {other name, level of the tree}
  std::vector<std::string> formats;                                ///< by file: what it was read as
};

/// What the merge is told besides the reports.
struct merge_options {
  hardware_defaults hardware;    ///< for machines whose hardware no file states
  bool hardware_needed = false;  ///< a machine whose hardware is unknown is an error; false: it has no GPUs
  std::vector<std::string>
      machine_of;  ///< by report: the host list that its unnamed insides belong to; "" leaves it open
  std::size_t max_nodes = default_hostlist_limit;
};

}  // namespace berth
