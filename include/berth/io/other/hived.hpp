#pragma once
/// \file
/// HiveD's cluster configuration: cell types, physical cells, virtual clusters. Needs yaml-cpp and nlohmann-json
/// (through `io/yaml_document.hpp`) and Boost.Graph.
///
/// Cells of a node-level type are machines (their address is the node's name), leaf cells are GPUs, cells above
/// machines are domains. Between, a cell type with PCI in its name is a PCIe switch and one with SOCKET or NUMA a NUMA
/// node; other types only group GPUs. One machine may be a cell of several chains (GPUs of several types). Pinned cells
/// become labels of their machines (`hived/pinned=ID`, `hived/virtual-cluster=VC`); the other virtual cells are quota.
/// Source: microsoft/hivedscheduler `pkg/api/types.go`, `pkg/api/config.go`, `example/config/design`.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/inside/gpu_names.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/kubernetes/inside_parts.hpp"
#include "berth/io/kubernetes/values.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/text_file.hpp"
#include "berth/io/yaml_document.hpp"

namespace berth {

/// Cheap, from the first 64 KiB: the words of a HiveD configuration.
[[nodiscard]] inline bool looks_like_hived(std::string_view text) noexcept {
  text = text.substr(0, std::size_t{64} << 10);
  const auto begins_line = [&](std::string_view word) {  // requests have the words in comments
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
      std::size_t i = at;
      while (i > 0 && text[i - 1] == ' ') --i;
      if (i == 0 || text[i - 1] == '\n') return true;
    }
    return false;
  };
  return begins_line("physicalCells:") && begins_line("cellTypes:");
}

namespace hived_detail {

struct cell_type {
  const json_value* at = nullptr;
  std::string child;
  std::int64_t children = 0;
  bool node = false;
};
struct sku {
  std::int64_t gpus = 1;
  std::optional<cpu_millis> cpu;
  std::optional<bytes> memory;
};
/// The parts of one machine so far.
struct machine_parts {
  std::vector<kube_detail::listed_device> devices;
  std::map<std::string, std::int64_t> next;  ///< number of the next leaf without an address, by leaf type
  bool structured = false;                   ///< some cell is a PCIe switch or a NUMA node
  std::optional<cpu_millis> cpu = cpu_millis{};
  std::optional<bytes> memory = bytes{};
};

class reader {
 public:
  reader(const kube_reader& in, const reader_options& options, site_report& out)
      : in_{in}, options_{options}, out_{out} {}

  [[nodiscard]] expected<void, input_error> read(const json_value& doc) {
    const auto cluster = in_.member(doc, "physicalCluster", json_value::kind::object);
    if (!cluster) return unexpected{cluster.error()};
    if (auto ok = read_types(**cluster); !ok) return ok;
    if (auto ok = read_skus(**cluster); !ok) return ok;
    const auto cells = in_.member(**cluster, "physicalCells", json_value::kind::array);
    if (!cells) return unexpected{cells.error()};
    if ((*cells)->items.empty()) return in_.error(**cells, "no physical cells", "at least one");
    tree_.place = in_.place(**cells);
    std::map<std::string, std::int64_t> index;
    for (const auto& c : (*cells)->items) {
      const auto type = in_.text(c, "cellType");
      if (!type) return unexpected{type.error()};
      const auto known = types_.find(*type);
      if (known == types_.end()) return in_.error(c, "cellType: " + io_text::quoted(*type), "a type of cellTypes");
      if (auto ok = cell(c, *type, domain_declaration::no_parent, std::to_string(index[*type]++), {}, 0); !ok)
        return ok;
    }
    if (auto ok = read_virtual(doc); !ok) return ok;
    return finish();
  }

 private:
  [[nodiscard]] expected<void, input_error> read_types(const json_value& cluster) {
    const auto list = in_.member(cluster, "cellTypes", json_value::kind::object);
    if (!list) return unexpected{list.error()};
    for (std::size_t i = 0; i < (*list)->keys.size(); ++i) {
      const json_value& v = (*list)->items[i];
      cell_type t;
      t.at = &v;
      const auto child = in_.text(v, "childCellType");
      if (!child) return unexpected{child.error()};
      const auto n = in_.integer(v, "childCellNumber", 1, 1'000'000);
      if (!n) return unexpected{n.error()};
      const auto node = in_.flag(v, "isNodeLevel", false);
      if (!node) return unexpected{node.error()};
      t.child = *child;
      t.children = *n;
      t.node = *node;
      types_.emplace((*list)->keys[i], std::move(t));
    }
    // Each chain ends in a leaf type; one node level is on it.
    for (const auto& [name, t] : types_) {
      std::size_t steps = 0, nodes = 0;
      for (auto it = types_.find(name); it != types_.end(); it = types_.find(it->second.child)) {
        nodes += it->second.node ? 1U : 0U;
        if (++steps > 64 || steps > types_.size())
          return in_.error(*t.at, "cell type " + io_text::quoted(name) + " inside of itself",
                           "a chain that ends in a leaf type");
      }
      if (nodes > 1)
        return in_.error(*t.at, "cell type " + io_text::quoted(name) + " over two node levels",
                         "one isNodeLevel on each chain");
    }
    return {};
  }
  [[nodiscard]] expected<void, input_error> read_skus(const json_value& cluster) {
    for (const std::string_view key : {"skuTypes", "leafCellTypes", "gpuTypes"}) {
      const auto list = in_.optional_member(cluster, key, json_value::kind::object);
      if (!list) return unexpected{list.error()};
      if (*list == nullptr) continue;
      for (std::size_t i = 0; i < (*list)->keys.size(); ++i) {
        const json_value& v = (*list)->items[i];
        sku s;
        const auto gpus = in_.optional_integer(v, "gpu", 0, max_devices_per_node);
        if (!gpus) return unexpected{gpus.error()};
        s.gpus = gpus->value_or(0);
        if (const auto* c = v.find("cpu")) {
          const auto cpu = in_.cpus(*c, "cpu");
          if (!cpu) return unexpected{cpu.error()};
          s.cpu = *cpu;
        }
        if (const auto* m = v.find("memory")) {
          const auto memory = in_.memory(*m, "memory");
          if (!memory) return unexpected{memory.error()};
          s.memory = *memory;
        }
        skus_.insert_or_assign((*list)->keys[i], s);
      }
    }
    return {};
  }
  /// A cell above or at node level. \param pins  pinned cells that it lies in
  [[nodiscard]] expected<void, input_error> cell(const json_value& v, const std::string& type, std::uint32_t parent,
                                                 const std::string& number, std::vector<std::string> pins,
                                                 std::size_t depth) {
    if (depth > 48) return in_.error(v, "cells nested deeper than 48", "a flatter cluster");
    const auto given = in_.optional_text(v, "cellType");
    if (!given) return unexpected{given.error()};
    if (*given && **given != type)
      return in_.error(v, "cellType: " + io_text::quoted(**given),
                       io_text::quoted(type) + ", as the type around it says");
    const auto t = types_.find(type);
    if (t == types_.end())
      return in_.error(v, "cell of leaf type " + io_text::quoted(type) + " outside of a machine",
                       "a chain with a node level (isNodeLevel: true)");
    const auto address = in_.optional_text(v, "cellAddress");
    if (!address) return unexpected{address.error()};
    const auto pin = in_.optional_text(v, "pinnedCellId");
    if (!pin) return unexpected{pin.error()};
    if (*pin && !(*pin)->empty()) {
      if (!pinned_.emplace(**pin, std::vector<std::string>{}).second)
        return in_.error(v, "pinned cell " + io_text::quoted(**pin) + " twice", "each id once");
      pins.push_back(**pin);
    }
    const auto children = in_.optional_member(v, "cellChildren", json_value::kind::array);
    if (!children) return unexpected{children.error()};
    const bool listed = *children != nullptr && !(*children)->items.empty();
    if (listed && static_cast<std::int64_t>((*children)->items.size()) != t->second.children)
      return in_.error(
          **children,
          std::to_string((*children)->items.size()) + " children of a cell of type " + io_text::quoted(type),
          std::to_string(t->second.children));
    if (t->second.node) {
      if (!*address || (*address)->empty())
        return in_.error(v, "a cell of node type " + io_text::quoted(type) + " without cellAddress", "the node's name");
      return machine(v, **address, type, parent, pins);
    }
    if (!listed)
      return in_.error(v, "a cell of type " + io_text::quoted(type) + " without children",
                       "its cells down to the nodes, which need addresses");
    const auto d = static_cast<std::uint32_t>(tree_.domains.size());
    const bool named = *address && !(*address)->empty();
    std::string name = type + "/" + (named ? **address : number);
    if (parent != domain_declaration::no_parent) name = tree_.domains[parent].name + "/" + (named ? **address : number);
    tree_.domains.push_back({std::move(name), parent, {}});
    tree_.domain_places.push_back(in_.place(v));
    for (std::size_t i = 0; i < (*children)->items.size(); ++i)
      if (auto ok = cell((*children)->items[i], t->second.child, d, std::to_string(i), pins, depth + 1); !ok) return ok;
    return {};
  }
  [[nodiscard]] expected<void, input_error> machine(const json_value& v, const std::string& name,
                                                    const std::string& type, std::uint32_t domain,
                                                    const std::vector<std::string>& pins) {
    const auto [it, fresh] = machine_of_.emplace(name, out_.machines.size());
    if (fresh) {
      if (out_.machines.size() >= options_.max_machines)
        return in_.error(v, "more than " + std::to_string(options_.max_machines) + " machines", "a smaller file");
      auto& m = out_.machines.emplace_back();
      m.place = in_.place(v);
      m.name = name;
      parts_.emplace_back();
    }
    const std::size_t index = it->second;
    if (domain != domain_declaration::no_parent) {
      const auto [have, first] = domain_of_.emplace(name, domain);
      if (first) tree_.members.push_back({name, domain});
      else if (have->second != domain)
        out_.assumptions.push_back("Machine " + name + " is in two cells above it; the first counts.");
    }
    for (const auto& p : pins) pinned_[p].push_back(name);
    return inside(v, type, index, 0, {}, std::nullopt);
  }
  /// Part of a machine may be pinned by itself.
  [[nodiscard]] expected<void, input_error> take_pin(const json_value& v) {
    const auto pin = in_.optional_text(v, "pinnedCellId");
    if (!pin) return unexpected{pin.error()};
    if (!*pin || (*pin)->empty()) return {};
    if (!pinned_.emplace(**pin, std::vector<std::string>{}).second)
      return in_.error(v, "pinned cell " + io_text::quoted(**pin) + " twice", "each id once");
    part_pinned_ = true;
    return {};
  }
  /// The cells of a machine, with or without being written out.
  [[nodiscard]] expected<void, input_error> inside(const json_value& v, const std::string& type, std::size_t machine,
                                                   std::size_t depth, std::string pcie,
                                                   std::optional<std::int64_t> numa) {
    const auto t = types_.find(type);
    machine_parts& parts = parts_[machine];
    if (depth > 48) return in_.error(v, "cells nested deeper than 48", "a flatter cluster");
    if (t == types_.end()) {  // a leaf
      std::optional<std::int64_t> index;
      const bool written = depth_written_;
      if (written) {
        const auto a = in_.optional_integer(v, "cellAddress", 0, 65535);
        if (!a) return unexpected{a.error()};
        index = *a;
        if (auto ok = take_pin(v); !ok) return ok;
      }
      if (!index) index = parts.next[type];
      parts.next[type] = *index + 1;
      sku s;
      if (const auto k = skus_.find(type); k != skus_.end()) s = k->second;
      else guessed_ = true;
      if (parts.cpu && s.cpu) *parts.cpu += *s.cpu;
      else parts.cpu.reset();
      if (parts.memory && s.memory) *parts.memory += *s.memory;
      else parts.memory.reset();
      for (std::int64_t i = 0; i < s.gpus; ++i) {
        if (parts.devices.size() >= max_devices_per_node)
          return in_.error(v,
                           "more than " + std::to_string(max_devices_per_node) + " GPUs of node " +
                               io_text::quoted(out_.machines[machine].name),
                           "a machine");
        kube_detail::listed_device d;
        d.model = inside_text::gpu_model_or_name(type);
        d.index = *index * s.gpus + i;
        d.pcie = pcie;
        d.numa = numa;
        parts.devices.push_back(std::move(d));
      }
      return {};
    }
    const json_value* children = nullptr;
    const bool written = depth_written_ || depth == 0;
    if (written) {
      const auto list = in_.optional_member(v, "cellChildren", json_value::kind::array);
      if (!list) return unexpected{list.error()};
      if (*list != nullptr && !(*list)->items.empty()) children = *list;
      if (children != nullptr && static_cast<std::int64_t>(children->items.size()) != t->second.children)
        return in_.error(
            *children, std::to_string(children->items.size()) + " children of a cell of type " + io_text::quoted(type),
            std::to_string(t->second.children));
      if (depth > 0) {
        if (auto ok = take_pin(v); !ok) return ok;
      }
    }
    if (t->second.children > static_cast<std::int64_t>(max_devices_per_node))
      return in_.error(v, std::to_string(t->second.children) + " cells in a cell of type " + io_text::quoted(type),
                       "at most " + std::to_string(max_devices_per_node) + " inside a machine");
    const std::string upper = [&] {
      std::string s = type;
      for (char& c : s) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
      return s;
    }();
    const bool is_pcie = !t->second.node && upper.find("PCI") != std::string::npos;
    const bool is_numa =
        !t->second.node && (upper.find("SOCKET") != std::string::npos || upper.find("NUMA") != std::string::npos);
    if (is_pcie || is_numa) {
      parts.structured = true;
      const std::int64_t number = cells_++;
      if (is_pcie) pcie = std::to_string(number);
      else numa = static_cast<std::int64_t>(numa_count_[machine]++);
    }
    for (std::int64_t i = 0; i < t->second.children; ++i) {
      const bool before = depth_written_;
      depth_written_ = children != nullptr;
      const json_value& child = children != nullptr ? children->items[static_cast<std::size_t>(i)] : v;
      auto ok = inside(child, t->second.child, machine, depth + 1, pcie, numa);
      depth_written_ = before;
      if (!ok) return ok;
      if (++expanded_ > 4'000'000)
        return in_.error(v, "more than four million cells inside of machines", "a smaller cluster");
    }
    return {};
  }
  [[nodiscard]] expected<void, input_error> read_virtual(const json_value& doc) {
    const auto list = in_.optional_member(doc, "virtualClusters", json_value::kind::object);
    if (!list) return unexpected{list.error()};
    if (*list == nullptr) return {};
    std::unordered_map<std::string, std::string> owner;
    bool quota = false;
    for (std::size_t i = 0; i < (*list)->keys.size(); ++i) {
      const json_value& vc = (*list)->items[i];
      if (vc.type == json_value::kind::null) continue;
      const auto cells = in_.optional_member(vc, "virtualCells", json_value::kind::array);
      if (!cells) return unexpected{cells.error()};
      if (*cells != nullptr)
        for (const auto& c : (*cells)->items) {
          const auto type = in_.text(c, "cellType");
          if (!type) return unexpected{type.error()};
          const auto n = in_.integer(c, "cellNumber", 0, 1'000'000);
          if (!n) return unexpected{n.error()};
          if (!types_.contains(type->substr(0, type->find('.'))))
            return in_.error(c, "cellType: " + io_text::quoted(*type), "a chain that begins with a type of cellTypes");
          quota = true;
        }
      const auto pins = in_.optional_member(vc, "pinnedCells", json_value::kind::array);
      if (!pins) return unexpected{pins.error()};
      if (*pins != nullptr)
        for (const auto& p : (*pins)->items) {
          const auto id = in_.text(p, "pinnedCellId");
          if (!id) return unexpected{id.error()};
          if (!pinned_.contains(*id))
            return in_.error(p, "pinnedCellId: " + io_text::quoted(*id), "the id of a physical cell");
          if (!owner.emplace(*id, (*list)->keys[i]).second)
            return in_.error(p, "pinned cell " + io_text::quoted(*id) + " in two virtual clusters", "each in one");
        }
    }
    for (const auto& [id, names] : pinned_)
      for (const auto& n : names) {
        auto& labels = out_.machines[machine_of_[n]].labels;
        labels.push_back("hived/pinned=" + id);
        if (const auto o = owner.find(id); o != owner.end()) labels.push_back("hived/virtual-cluster=" + o->second);
      }
    if (quota)
      out_.assumptions.emplace_back(
          "Virtual cells of HiveD that are not pinned are quota and tie no machine to a virtual cluster.");
    return {};
  }
  [[nodiscard]] expected<void, input_error> finish() {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      machine_report& m = out_.machines[i];
      machine_parts& p = parts_[i];
      m.gpus = static_cast<unsigned>(p.devices.size());
      if (p.cpu) m.cpu = p.cpu;
      if (p.memory) m.memory = p.memory;
      bool alike = true;
      for (const auto& d : p.devices) alike = alike && d.model == p.devices.front().model;
      if (alike && !p.devices.empty()) m.gpu_model = p.devices.front().model;
      if (p.structured || !alike) m.inside = kube_detail::inside_of(std::move(p.devices));
    }
    if (guessed_) out_.assumptions.emplace_back("Every leaf cell of HiveD without skuTypes is taken to be one GPU.");
    if (part_pinned_)
      out_.assumptions.emplace_back("Pinned cells inside of a machine are not kept: labels speak of whole machines.");
    if (!tree_.domains.empty()) out_.topologies.push_back(std::move(tree_));
    return {};
  }

  const kube_reader& in_;
  const reader_options& options_;
  site_report& out_;
  std::map<std::string, cell_type> types_;
  std::map<std::string, sku> skus_;
  topology_report tree_;
  std::unordered_map<std::string, std::size_t> machine_of_;
  std::unordered_map<std::string, std::uint32_t> domain_of_;
  std::vector<machine_parts> parts_;
  std::map<std::size_t, std::size_t> numa_count_;
  std::map<std::string, std::vector<std::string>> pinned_;  ///< id -> machines
  std::int64_t cells_ = 0, expanded_ = 0;
  bool depth_written_ = false, guessed_ = false, part_pinned_ = false;
};

}  // namespace hived_detail

/// Reads a HiveD configuration.
[[nodiscard]] inline expected<site_report, input_error> read_hived(const named_text& file,
                                                                   const reader_options& options = {}) {
  auto docs = parse_documents(file.text, file.name);
  if (!docs) return unexpected{std::move(docs).error()};
  site_report out;
  out.source = file.name;
  out.format = "HiveD";
  const kube_reader in{file.name};
  if (docs->size() != 1)
    return in.error(docs->back(), std::to_string(docs->size()) + " documents", "one HiveD configuration");
  hived_detail::reader reader{in, options, out};
  if (auto ok = reader.read(docs->front()); !ok) return unexpected{ok.error()};
  return out;
}

}  // namespace berth
