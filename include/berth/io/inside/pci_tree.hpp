#pragma once
/// \file
/// From trees of PCI bridges and devices, as NCCL and hwloc write them, to the graph of a machine. Needs Boost.Graph.
///
/// What makes no difference to a path is left out: devices that are neither GPU nor NIC nor NVSwitch, bridges with
/// nothing else below them, and bridges with one device below them (the link through them is as wide as its narrowest
/// part). What is left of the bridges are PCIe switches.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/inside/bus_id.hpp"
#include "berth/io/inside/model_option.hpp"
#include "berth/topology/graph/hardware_graph.hpp"

namespace berth {

/// A bridge or device, and what lies below it.
struct pci_item {
  enum class kind : std::uint8_t { host_bridge, bridge, gpu, nic, nvswitch, other };
  kind what = kind::other;
  std::optional<inside_text::pci_address> address;
  part content;                        ///< of a GPU, NIC or NVSwitch; its kind, index and bus id are filled in
  link up;                             ///< to what is above
  bool port = false;                   ///< a port of a bridge: its link is that of what hangs on it, and stated there
  std::uint64_t chip = 0;              ///< vendor << 16 | device of a bridge
  std::optional<std::uint32_t> order;  ///< among the GPUs, NICs of the machine, where the file says it
  std::size_t line = 0;
  std::vector<std::size_t> below;  ///< into `pci_tree::items`
};

/// The inside of one machine before it becomes a graph.
struct pci_tree {
  std::vector<pci_item> items;
  struct numa_item {
    part content;                    ///< its kind is filled in
    std::vector<std::size_t> below;  ///< into `items`
  };
  std::vector<numa_item> numas;
  /// Tops of trees whose NUMA node the file does not tell, with the NUMA nodes that they may hang on.
  struct loose_item {
    std::size_t item = 0;
    std::vector<std::size_t> numas;
  };
  std::vector<loose_item> loose;
  /// Between GPUs, NVSwitches (items) or from a GPU to a NUMA node.
  struct cross_link {
    std::size_t a = 0, b = 0;
    bool to_numa = false;  ///< b is an index into `numas`
    link content;
  };
  std::vector<cross_link> links;
  struct numa_link {
    std::size_t a = 0, b = 0;
    link content;
  };
  std::vector<numa_link> numa_links;

  /// The graph: GPUs by `order` where every one has it, else by bus id; then NICs likewise, NVSwitches, PCIe switches,
  /// host bridges, NUMA nodes. `rack`: NVSwitches stand for those of a rack. `gpus`: the items of the GPUs in their
  /// order. O(items log items + links).
  [[nodiscard]] hardware_graph graph(bool rack = false, std::vector<std::size_t>* gpus = nullptr) const;
};

namespace detail {

/// The narrower of two links in a row. Unknown when one is unknown.
[[nodiscard]] inline link in_a_row(const link& a, const link& b) {
  if (!a.rate) return a;
  if (!b.rate) return b;
  return b.rate->count() < a.rate->count() ? b : a;
}

class tree_graph {
 public:
  tree_graph(const pci_tree& t, bool rack)
      : t_{t}, rack_{rack}, vertex_(t.items.size(), none), useful_(t.items.size(), 0) {
    for (std::size_t i = 0; i < t.items.size(); ++i) useful_[i] = t.items[i].what == pci_item::kind::nvswitch ? 1 : 0;
  }

  [[nodiscard]] hardware_graph make(std::vector<std::size_t>* gpus) {
    for (const auto& n : t_.numas)
      for (const auto i : n.below) (void)look(i);
    for (const auto& l : t_.loose) (void)look(l.item);
    const auto ordered = [this](pci_item::kind k) {
      std::vector<std::size_t> out;
      for (std::size_t i = 0; i < t_.items.size(); ++i)
        if (t_.items[i].what == k && useful_[i] != 0) out.push_back(i);
      bool all = true;
      for (const auto i : out) all = all && t_.items[i].order.has_value();
      std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) {
        const pci_item &x = t_.items[a], &y = t_.items[b];
        if (all && *x.order != *y.order) return *x.order < *y.order;
        return x.address < y.address;
      });
      return out;
    };
    const auto emit = [&](pci_item::kind k, vertex_kind v) {
      const auto list = ordered(k);
      for (std::size_t i = 0; i < list.size(); ++i) {
        const pci_item& item = t_.items[list[i]];
        const part_id id = add_part(g_, v, static_cast<std::uint32_t>(i));
        part p = item.content;
        p.kind = v;
        p.index = g_[id].index;
        if (p.name.empty()) p.name = g_[id].name;
        if (item.address && p.bus_id.empty()) p.bus_id = inside_text::pci_text(*item.address);
        g_[id] = std::move(p);
        vertex_[list[i]] = id;
      }
      return list;
    };
    auto order = emit(pci_item::kind::gpu, vertex_kind::gpu);
    if (gpus != nullptr) *gpus = std::move(order);
    (void)emit(pci_item::kind::nic, vertex_kind::nic);
    (void)emit(pci_item::kind::nvswitch, rack_ ? vertex_kind::nvlink_domain : vertex_kind::nvswitch);

    // Switches before NUMA nodes, as in the catalogue; wires once all are there.
    for (const auto& n : t_.numas)
      for (const auto i : n.below) place(i);
    for (const auto& l : t_.loose) place(l.item);
    std::vector<part_id> numas;
    for (std::size_t i = 0; i < t_.numas.size(); ++i) {
      const part_id id = add_part(g_, vertex_kind::numa, static_cast<std::uint32_t>(i));
      part p = t_.numas[i].content;
      p.kind = vertex_kind::numa;
      if (p.name.empty()) p.name = "numa" + std::to_string(p.index);
      g_[id] = std::move(p);
      numas.push_back(id);
    }
    for (std::size_t i = 0; i < numas.size(); ++i)
      for (const auto b : t_.numas[i].below) wire(b, numas[i], std::nullopt);
    for (const auto& l : t_.loose)
      for (const auto n : l.numas) wire(l.item, numas[n], std::nullopt, n != l.numas.front());
    for (const auto& l : t_.links) {
      const part_id a = vertex_[l.a], b = l.to_numa ? numas[l.b] : vertex_[l.b];
      if (a != none && b != none && a != b) join(g_, a, b, l.content);
    }
    for (const auto& l : t_.numa_links) join(g_, numas[l.a], numas[l.b], l.content);
    return std::move(g_);
  }

 private:
  static constexpr part_id none = static_cast<part_id>(-1);

  /// Marks what has a GPU or NIC in it.
  bool look(std::size_t i) {
    const pci_item& item = t_.items[i];
    bool any = item.what == pci_item::kind::gpu || item.what == pci_item::kind::nic;
    for (const auto b : item.below) any = look(b) || any;
    useful_[i] = any || item.what == pci_item::kind::nvswitch ? 1 : 0;
    return any;
  }
  [[nodiscard]] bool passes(std::size_t i) const {
    const auto k = t_.items[i].what;
    return useful_[i] != 0 && k != pci_item::kind::nvswitch;
  }
  /// A bridge that is no switch: one device below, or functions of one device.
  [[nodiscard]] bool thin(std::size_t i) const {
    const pci_item* first = nullptr;
    std::size_t n = 0;
    for (const auto b : t_.items[i].below) {
      if (!passes(b)) continue;
      const pci_item& item = t_.items[b];
      if (++n == 1) first = &item;
      else if (!item.below.empty() || !first->below.empty() || !item.address || !first->address ||
               !item.address->same_device(*first->address))
        return false;
    }
    return true;
  }
  /// Makes the vertices of switches and host bridges.
  void place(std::size_t i) {
    const pci_item& item = t_.items[i];
    const bool host = item.what == pci_item::kind::host_bridge;
    if ((host || item.what == pci_item::kind::bridge) && passes(i) && !thin(i)) {
      vertex_[i] =
          host ? add_part(g_, vertex_kind::host_bridge, hosts_++) : add_part(g_, vertex_kind::pcie_switch, switches_++);
      if (item.address) g_[vertex_[i]].bus_id = inside_text::pci_text(*item.address);
    }
    for (const auto b : item.below) place(b);
  }
  /// What a host bridge passes on to its NUMA node: all that hangs on it, where that is known.
  [[nodiscard]] link all_of(const pci_item& host) const {
    link out;
    out.kind = link_kind::pcie;
    double sum = 0;
    for (const auto b : host.below) {
      if (!passes(b)) continue;
      if (!t_.items[b].up.rate) return out;
      sum += t_.items[b].up.rate->count();
    }
    out.rate = gigabytes_per_second{sum};
    return out;
  }
  /// Joins what is at or below `i` to `above`. `again`: only the top, to a further NUMA node.
  void wire(std::size_t i, part_id above, std::optional<link> through, bool again = false) {
    if (!passes(i)) return;
    const pci_item& item = t_.items[i];
    const bool host = item.what == pci_item::kind::host_bridge;
    link up = host ? all_of(item) : item.up;
    up.kind = link_kind::pcie;
    if (through) up = in_a_row(up, *through);
    if (vertex_[i] != none) {
      join(g_, vertex_[i], above, up);
      if (again) return;
      for (const auto b : item.below) wire(b, vertex_[i], std::nullopt);
      return;
    }
    std::optional<link> next = up;
    if (host || item.port) next = through;  // no link of its own
    for (const auto b : item.below) wire(b, above, next, again);
  }

  const pci_tree& t_;
  bool rack_;
  std::vector<part_id> vertex_;
  std::vector<char> useful_;
  hardware_graph g_;
  std::uint32_t switches_ = 0, hosts_ = 0;
};

}  // namespace detail

inline hardware_graph pci_tree::graph(bool rack, std::vector<std::size_t>* gpus) const {
  return detail::tree_graph{*this, rack}.make(gpus);
}

/// Joins every two NUMA nodes of a tree by a link of that kind; of more than 64, each to the first.
inline void join_numas(pci_tree& t, link_kind kind) {
  for (std::size_t i = 1; i < t.numas.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (t.numas.size() <= 64 || j == 0) t.numa_links.push_back({j, i, link{kind, {}, {}, {}, {}, {}, true}});
}

}  // namespace berth
