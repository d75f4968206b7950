#pragma once
/// \file
/// Reference fabrics by name: "superpod-h100:su=4", "leaf-spine:nodes=64,per-leaf=8,oversubscription=2", … A preset is
/// read into a `fabric_spec`, the one set of numbers from which the domain tree (`make_tree`, here), the cluster
/// (`make_preset` in `cluster/presets.hpp`) and the hardware graph (`make_fabric` in `topology/graph/fabric_graph.hpp`)
/// are made.
///
/// Units    NIC rates in Gb/s; cables and ports in numbers of NIC-rate links.
/// Cost     parsing O(length); the tree O(nodes).

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/expected.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/catalogue/kinds.hpp"
#include "berth/topology/domain_tree.hpp"

namespace berth {

/// How a fabric is wired.
enum class fabric_style : std::uint8_t {
  rails,       ///< NIC r of every machine of a leaf domain on that domain's leaf r; every leaf to every spine
  leaf_spine,  ///< all NICs of a machine on one leaf; every leaf to every spine
  clos3,       ///< pods of leaf and spine switches, joined by core switches
  nvl72,       ///< racks of 18 trays in one NVLink domain; rails between the racks
};

/// The numbers of a fabric. Made by `parse_preset`, which checks them; fields may be changed afterwards.
struct fabric_spec {
  std::string name;  ///< as it was asked for
  fabric_style style{};
  std::string shape;                 ///< machine: id in the catalogue
  std::uint32_t nodes = 0;           ///< machines
  std::uint32_t nodes_per_leaf = 0;  ///< machines of a leaf domain; the last one may hold fewer
  std::uint32_t leaves_per_pod = 0;  ///< clos3: leaves of a pod; 0: there are no pods
  std::uint32_t nodes_per_rack = 0;  ///< nvl72: machines of an NVLink domain; 0: there are none
  std::uint32_t rails = 1;           ///< leaf switches of a leaf domain
  std::uint32_t nics_per_node = 0;   ///< on the compute fabric
  std::uint32_t nic_gbit = 0;        ///< line rate of one
  link_kind medium = link_kind::infiniband;
  std::uint32_t uplinks_per_leaf = 0;    ///< cables of one leaf switch to spines
  std::uint32_t spines = 0;              ///< of a pod, or of the fabric where there are no pods
  std::uint32_t uplinks_per_spine = 0;   ///< clos3: cables of one spine to cores
  std::uint32_t cores_per_group = 0;     ///< clos3: core switches that serve the k-th spine of every pod
  std::int64_t memory_gib = 0;           ///< of one machine
  std::vector<std::string> assumptions;  ///< what neither the preset nor the catalogue states

  /// Leaf domains.
  [[nodiscard]] constexpr std::uint32_t leaf_domains() const noexcept {
    return (nodes + nodes_per_leaf - 1) / nodes_per_leaf;
  }
  /// Pods; 1 where there are none.
  [[nodiscard]] constexpr std::uint32_t pods() const noexcept {
    return leaves_per_pod == 0 ? 1 : (leaf_domains() + leaves_per_pod - 1) / leaves_per_pod;
  }
};

/// One preset, for help texts.
struct preset_help {
  std::string_view name;
  std::string_view parameters;  ///< "key=default", comma separated
  std::string_view text;
};

/// Every preset with one line of help. All of them also take `memory` (GiB of a machine, 1024).
[[nodiscard]] constexpr std::array<preset_help, 5> preset_names() noexcept {
  return {{
      {"superpod-h100", "su=4",
       "DGX H100 SuperPOD of 1 to 8 scalable units of 32 machines, one machine left out for management"},
      {"rail", "nodes=256,per-leaf=32,oversubscription=1,shape=dgx-h100,medium=ib",
       "rail-optimised leaf and spine; the leaf domain is one leaf switch per rail"},
      {"leaf-spine", "nodes=256,per-leaf=8,oversubscription=1,shape=dgx-h100,medium=ib",
       "plain leaf and spine, all NICs of a machine on one leaf"},
      {"clos3", "nodes=4096,per-leaf=32,leaves=32,oversubscription=1,core-oversubscription=1,shape=dgx-h100,medium=ib",
       "three switch levels: pods of `leaves` leaves, joined by a core"},
      {"nvl72", "racks=8,racks-per-leaf=8,medium=ib",
       "GB200 NVL72 racks: 18 trays of 4 GPUs in one NVLink domain, rails between racks"},
  }};
}

namespace detail {

/// "key=value,…" of a preset, taken out one by one; what is left over at the end is an error.
class preset_parameters {
 public:
  [[nodiscard]] static expected<preset_parameters, std::string> read(std::string_view text);
  /// A whole number from `low` to `high`; `otherwise` when not given. Keeps the first error.
  [[nodiscard]] std::uint32_t number(std::string_view key, std::uint32_t otherwise, std::uint32_t low,
                                     std::uint32_t high);
  [[nodiscard]] std::string_view word(std::string_view key, std::string_view otherwise);
  void fail(std::string why);
  /// The first error, an unknown key among them; "" when all is well.
  [[nodiscard]] std::string finish();

 private:
  std::vector<std::pair<std::string_view, std::string_view>> items_;
  std::string known_, error_;
};

/// Switches above, so that the cables of each switch below (`uplinks`) spread evenly over them and `radix` ports are
/// enough for the `below` switches' cables: the smallest such number, at most one switch per cable.
[[nodiscard]] constexpr std::uint32_t spread(std::uint32_t below, std::uint32_t uplinks, std::uint32_t radix) noexcept {
  const std::uint64_t ports = std::uint64_t{below} * uplinks;
  std::uint64_t n = (ports + radix - 1) / radix;
  if (n < 1) n = 1;
  while (n < uplinks && uplinks % n != 0) ++n;
  return n < uplinks ? static_cast<std::uint32_t>(n) : uplinks;
}

}  // namespace detail

/// Most machines of a preset.
inline constexpr std::uint32_t max_preset_nodes = 1U << 22;

/// Reads a preset. Errors, in words: an unknown preset, key or value, and numbers that do not fit together.
[[nodiscard]] expected<fabric_spec, std::string> parse_preset(std::string_view text);

/// The domain tree of a fabric: "cluster", "spine" (the pods of a `clos3`, where there are several), "leaf", "nvlink"
/// (the racks of an `nvl72`). Domains are named `<level>-<number>`. O(nodes). \pre as `parse_preset` leaves it: nodes >
/// 0, nodes_per_leaf > 0 and a multiple of nodes_per_rack
[[nodiscard]] domain_tree make_tree(const fabric_spec& f);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/topology/impl/presets.hpp"
#endif
