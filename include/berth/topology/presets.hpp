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
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/expected.hpp"
#include "berth/topology/catalogue/kinds.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "berth/topology/domain_tree.hpp"
#include "berth/topology/domain_tree_builder.hpp"

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
  [[nodiscard]] static expected<preset_parameters, std::string> read(std::string_view text) {
    preset_parameters p;
    while (!text.empty()) {
      const std::size_t comma = text.find(',');
      const std::string_view item = text.substr(0, comma);
      text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
      const std::size_t eq = item.find('=');
      if (eq == std::string_view::npos || eq == 0 || eq + 1 == item.size())
        return unexpected{"found \"" + std::string{item} + "\", expected key=value"};
      for (const auto& [key, value] : p.items_)
        if (key == item.substr(0, eq)) return unexpected{"\"" + std::string{key} + "\" is given twice"};
      p.items_.emplace_back(item.substr(0, eq), item.substr(eq + 1));
    }
    return p;
  }
  /// A whole number from `low` to `high`; `otherwise` when not given. Keeps the first error.
  [[nodiscard]] std::uint32_t number(std::string_view key, std::uint32_t otherwise, std::uint32_t low,
                                     std::uint32_t high) {
    const auto text = word(key, "");
    if (text.empty()) return otherwise;
    std::uint64_t n = 0;
    bool good = text.size() <= 10;
    for (const char c : text) {
      good = good && c >= '0' && c <= '9';
      if (good) n = n * 10 + static_cast<std::uint64_t>(c - '0');
    }
    if (!good || n < low || n > high) {
      fail("found " + std::string{key} + "=" + std::string{text} + ", expected a whole number from " +
           std::to_string(low) + " to " + std::to_string(high));
      return otherwise;
    }
    return static_cast<std::uint32_t>(n);
  }
  [[nodiscard]] std::string_view word(std::string_view key, std::string_view otherwise) {
    known_ += known_.empty() ? "" : ", ";
    known_ += key;
    for (std::size_t i = 0; i < items_.size(); ++i)
      if (items_[i].first == key) {
        const auto value = items_[i].second;
        items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(i));
        return value;
      }
    return otherwise;
  }
  void fail(std::string why) {
    if (error_.empty()) error_ = std::move(why);
  }
  /// The first error, an unknown key among them; "" when all is well.
  [[nodiscard]] std::string finish() {
    if (!items_.empty()) fail("found \"" + std::string{items_.front().first} + "\", expected one of " + known_);
    return error_;
  }

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
[[nodiscard]] inline expected<fabric_spec, std::string> parse_preset(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  auto read =
      detail::preset_parameters::read(colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1));
  const auto error = [&](const std::string& why) { return unexpected{"preset " + std::string{text} + ": " + why}; };
  if (!read) return error(read.error());
  detail::preset_parameters& p = *read;

  fabric_spec f;
  f.name = std::string{text};
  f.shape = "dgx-h100";
  const bool memory_given = [&] {
    f.memory_gib = p.number("memory", 0, 1, 1U << 20);
    return f.memory_gib != 0;
  }();
  if (!memory_given) f.memory_gib = 1024;
  std::uint32_t over = 1, core_over = 1;
  if (name == "superpod-h100") {
    // NVIDIA's table ends at 4; up to 8 the same rule holds (32 spines of 64 ports), above that a core layer is needed.
    const std::uint32_t su = p.number("su", 4, 1, 8);
    f.style = fabric_style::rails;
    f.nodes = su * 32 - 1;
    f.nodes_per_leaf = 32;
  } else if (name == "rail" || name == "leaf-spine" || name == "clos3") {
    f.style = name == "rail" ? fabric_style::rails : name == "clos3" ? fabric_style::clos3 : fabric_style::leaf_spine;
    f.nodes = p.number("nodes", name == "clos3" ? 4096 : 256, 1, max_preset_nodes);
    f.nodes_per_leaf = p.number("per-leaf", name == "leaf-spine" ? 8 : 32, 1, 65536);
    if (name == "clos3") {
      f.leaves_per_pod = p.number("leaves", 32, 1, 65536);
      core_over = p.number("core-oversubscription", 1, 1, 1024);
    }
    over = p.number("oversubscription", 1, 1, 1024);
    f.shape = std::string{p.word("shape", "dgx-h100")};
  } else if (name == "nvl72") {
    const std::uint32_t racks = p.number("racks", 8, 1, max_preset_nodes / 18);
    f.style = fabric_style::nvl72;
    f.shape = "gb200-tray";
    f.nodes_per_rack = 18;
    f.nodes = racks * 18;
    f.nodes_per_leaf = p.number("racks-per-leaf", 8, 1, 4096) * 18;
    f.assumptions.push_back(
        "which leaf a GB200 rack hangs on is not published: " + std::to_string(f.nodes_per_leaf / 18) +
        " racks are taken as one leaf domain (racks-per-leaf changes it)");
  } else {
    std::string names;
    for (const auto& h : preset_names()) names += (names.empty() ? "" : ", ") + std::string{h.name};
    return error("expected one of " + names);
  }
  if (name != "superpod-h100") {
    const auto medium = p.word("medium", "ib");
    if (medium == "roce") f.medium = link_kind::roce;
    else if (medium != "ib") p.fail("found medium=" + std::string{medium} + ", expected ib or roce");
  }
  if (const std::string why = p.finish(); !why.empty()) return error(why);

  const auto shape = catalogue_shape(f.shape);
  if (!shape) return error("no machine \"" + f.shape + "\" in the catalogue");
  std::uint32_t rails = 0;
  for (const auto& nic : shape->nics) {
    if (!nic.rail) continue;
    const auto gbit = nic.rate ? static_cast<std::uint32_t>(nic.rate->count() * 8 + 0.5) : 0;
    if (gbit == 0 || (f.nic_gbit != 0 && f.nic_gbit != gbit))
      return error("the compute NICs of " + f.shape + " differ");
    f.nic_gbit = gbit;
    ++f.nics_per_node;
    if (*nic.rail >= rails) rails = std::uint32_t{*nic.rail} + 1;
  }
  if (f.nics_per_node == 0) return error(f.shape + " has no compute NIC");
  if (f.style == fabric_style::rails || f.style == fabric_style::nvl72) f.rails = rails;
  if (f.nics_per_node % f.rails != 0)
    return error("the compute NICs of " + f.shape + " do not spread evenly over its rails");

  // Cables of one leaf, and how they spread over spines with 64 ports (NVIDIA's QM9700), which gives the published
  // SuperPOD counts; a fabric too large for that has spines of as many ports as it takes.
  const std::uint32_t down = f.nodes_per_leaf * (f.nics_per_node / f.rails);
  if (down % over != 0)
    return error("a leaf's " + std::to_string(down) +
                 " links down do not divide by oversubscription=" + std::to_string(over));
  f.uplinks_per_leaf = down / over;
  const std::uint32_t pod_leaves = f.leaves_per_pod != 0 ? f.leaves_per_pod : f.leaf_domains() * f.rails;
  f.spines = detail::spread(pod_leaves, f.uplinks_per_leaf, 64);
  if (f.leaves_per_pod != 0) {
    const std::uint32_t spine_down = f.leaves_per_pod * (f.uplinks_per_leaf / f.spines);
    if (spine_down % core_over != 0)
      return error("a spine's " + std::to_string(spine_down) +
                   " links down do not divide by core-oversubscription=" + std::to_string(core_over));
    f.uplinks_per_spine = spine_down / core_over;
    f.cores_per_group = detail::spread(f.pods(), f.uplinks_per_spine, 64);
  }
  if (!memory_given)
    f.assumptions.push_back("machines have 1024 GiB of memory: the catalogue does not say (memory=GIB changes it)");
  return f;
}

/// The domain tree of a fabric: "cluster", "spine" (the pods of a `clos3`, where there are several), "leaf", "nvlink"
/// (the racks of an `nvl72`). Domains are named `<level>-<number>`. O(nodes). \pre as `parse_preset` leaves it: nodes >
/// 0, nodes_per_leaf > 0 and a multiple of nodes_per_rack
[[nodiscard]] inline domain_tree make_tree(const fabric_spec& f) {
  std::vector<std::string> names{"cluster"};
  std::vector<std::uint32_t> sizes;  // machines of a domain, outermost first
  if (f.pods() > 1) {
    names.emplace_back("spine");
    sizes.push_back(f.nodes_per_leaf * f.leaves_per_pod);
  }
  names.emplace_back("leaf");
  sizes.push_back(f.nodes_per_leaf);
  if (f.nodes_per_rack != 0) {
    names.emplace_back("nvlink");
    sizes.push_back(f.nodes_per_rack);
  }
  if (f.nodes % sizes.front() == 0) {
    std::vector<std::uint32_t> fanout{f.nodes / sizes.front()};
    for (std::size_t i = 1; i < sizes.size(); ++i) fanout.push_back(sizes[i - 1] / sizes[i]);
    return domain_tree_builder::regular(names, fanout, sizes.back());
  }
  // The last domains are not full.
  std::vector<domain_declaration> declared;
  std::vector<std::uint32_t> node_domain(f.nodes);
  std::uint32_t above = 0;  // first domain of the level above
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto first = static_cast<std::uint32_t>(declared.size());
    for (std::uint32_t d = 0; d * sizes[i] < f.nodes; ++d)
      declared.push_back({names[i + 1] + "-" + std::to_string(d),
                          i == 0 ? domain_declaration::no_parent : above + d * sizes[i] / sizes[i - 1], names[i + 1]});
    above = first;
  }
  for (std::uint32_t n = 0; n < f.nodes; ++n) node_domain[n] = above + n / sizes.back();
  auto built = domain_tree_builder::build(declared, node_domain);
  assert(built.has_value());
  return std::move(built->tree);
}

}  // namespace berth
