#pragma once
/// \file
/// NCCL's topology files (`NCCL_TOPO_FILE`, `NCCL_TOPO_DUMP_FILE`; version 1) and RCCL's (version 2). Needs pugixml.
///
/// Every bridge that NCCL writes is one PCIe switch. Rates are generation times lanes as stated, unknown where either
/// is not. Several hosts in one file (a dump of a multi-node NVLink domain) become several machines and one NVLink
/// domain. What the elements mean: src/graph/xml.cc and topo.cc of NCCL 2.2x.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/inside/bus_id.hpp"
#include "berth/io/inside/gpu_names.hpp"
#include "berth/io/inside/nccl_links.hpp"
#include "berth/io/inside/nccl_words.hpp"
#include "berth/io/inside/pci_tree.hpp"
#include "berth/io/inside/xml_text.hpp"
#include "berth/io/site_report.hpp"

namespace berth {

namespace detail {

/// Reads one document.
class nccl_reader {
 public:
  nccl_reader(const named_text& in, const reader_options& options, const inside_text::xml_text& xml)
      : options_{options}, xml_{xml} {
    out_.source = in.name;
  }

  [[nodiscard]] expected<site_report, input_error> read() {
    const pugi::xml_node system = xml_.document().child("system");
    if (!system) {
      const auto root = xml_.document().document_element();
      return fail(root, root ? "<" + std::string{root.name()} + ">" : "no element", "<system version=\"1\"> of NCCL");
    }
    const std::string version{inside_text::attribute(system, "version")};
    if (version != "1" && version != "2")
      return fail(system, "version " + io_text::quoted(version), "version 1 (NCCL) or 2 (RCCL)");
    out_.format = version == "1" ? "NCCL topology" : "RCCL topology";

    if (auto e = inside_text::nccl_mistake(xml_, system)) return unexpected{std::move(*e)};

    // Hosts in the order of the file.
    std::vector<std::string> hashes;
    for (const auto v : system.children()) {
      if (v.type() != pugi::node_element) continue;
      if (std::string_view{v.name()} != "cpu") {
        note("elements <" + std::string{v.name()} + "> under <system>", v);
        continue;
      }
      const std::string hash{inside_text::attribute(v, "host_hash")};
      auto it = std::find(hashes.begin(), hashes.end(), hash);
      if (it == hashes.end()) {
        if (hashes.size() >= options_.max_machines || hashes.size() >= 4096)
          return fail(v, "one more host",
                      "at most " + std::to_string(std::min<std::size_t>(4096, options_.max_machines)));
        it = hashes.insert(hashes.end(), hash);
        hosts_.emplace_back();
        hosts_.back().line = xml_.line(v);
      }
      host_ = static_cast<std::size_t>(it - hashes.begin());
      if (auto bad = cpu(v)) return unexpected{std::move(*bad)};
    }
    if (hosts_.empty()) return fail(system, "no <cpu>", "at least one <cpu> with its devices");
    for (std::size_t h = 0; h < hosts_.size(); ++h)
      if (auto bad = finish(h, hashes[h])) return unexpected{std::move(*bad)};
    if (hosts_.size() > 1) {
      out_.assumptions.push_back("machines are named after their host hashes, as NCCL dumps no host names");
      topology_report t;
      t.place = {out_.source, hosts_[0].line};
      t.name = "nvlink";
      t.what = topology_report::kind::nvlink;
      domain_declaration d;
      d.level = "nvlink";
      d.name = "nvlink-domain";
      t.domains.push_back(d);
      t.domain_places.push_back(t.place);
      for (const auto& m : out_.machines) t.members.push_back({m.name, 0});
      if (shared_nvlink_) out_.topologies.push_back(std::move(t));
    }
    for (const auto& [what, line] : passed_over_)
      out_.assumptions.push_back(what + " (line " + std::to_string(line) + ") are passed over");
    return std::move(out_);
  }

 private:
  struct host {
    std::size_t line = 0;
    pci_tree tree;
    std::vector<std::uint32_t> numa_ids;
    std::vector<inside_text::cpu_set> cpus;
    std::map<std::string, std::size_t> by_bus;  ///< items
    std::vector<inside_text::nccl_link> nvlinks;
    std::map<std::size_t, unsigned> sm;  ///< by item of a GPU
    std::size_t unknown = 0;
    bool intel = false, new_intel = false;
  };

  [[nodiscard]] unexpected<input_error> fail(pugi::xml_node v, std::string found, std::string wanted) const {
    return unexpected{xml_.place(v).error(std::move(found), std::move(wanted))};
  }
  [[nodiscard]] std::optional<input_error> bad(pugi::xml_node v, std::string found, std::string wanted) const {
    return xml_.place(v).error(std::move(found), std::move(wanted));
  }
  void note(std::string what, pugi::xml_node v) {
    if (passed_over_.size() < 20) passed_over_.emplace(std::move(what), xml_.line(v));
  }
  [[nodiscard]] host& here() { return hosts_[host_]; }

  [[nodiscard]] std::optional<input_error> cpu(pugi::xml_node v) {
    if (auto e = inside_text::nccl_mistake(xml_, v)) return e;
    host& h = here();
    const std::string_view id = inside_text::attribute(v, "numaid");
    std::optional<std::uint64_t> number;
    if (!id.empty() && id != "-1") {
      number = io_text::parse_count(id, 65535);
      if (!number) return bad(v, "numaid " + io_text::quoted(id), "a number");
    }
    const auto index = static_cast<std::uint32_t>(number.value_or(0));
    if (std::find(h.numa_ids.begin(), h.numa_ids.end(), index) != h.numa_ids.end())
      return bad(v, "a second <cpu> with numaid " + std::to_string(index), "every NUMA node once");
    inside_text::cpu_set cpus;
    if (const std::string_view mask = inside_text::attribute(v, "affinity"); !mask.empty()) {
      const auto set = inside_text::parse_cpu_mask(mask);
      if (!set) return bad(v, "affinity " + io_text::quoted(mask), "a CPU mask such as 00000000,00ffffff");
      cpus = *set;
    }
    h.numa_ids.push_back(index);
    h.cpus.push_back(std::move(cpus));
    pci_tree::numa_item numa;
    numa.content.index = index;
    h.tree.numas.push_back(std::move(numa));
    if (inside_text::attribute(v, "vendor") == "GenuineIntel") {
      const std::string_view text = inside_text::attribute(v, "modelid");
      const auto model = io_text::parse_count(text, 9999);
      if (!model && !text.empty()) return bad(v, "modelid " + io_text::quoted(text), "a number");
      h.intel = true;
      h.new_intel = model.value_or(0) >= 85;  // from Skylake-SP on
    }
    const std::size_t n = h.tree.numas.size() - 1;
    for (const auto c : v.children()) {
      if (c.type() != pugi::node_element) continue;
      const std::string_view name = c.name();
      if (name == "pci") {
        std::size_t item = 0;
        if (auto e = pci(c, 0, item)) return e;
        here().tree.numas[n].below.push_back(item);
      } else if (name == "nic") {
        pci_item item;
        if (auto e = nic(c, item)) return e;
        here().tree.items.push_back(std::move(item));
        here().tree.numas[n].below.push_back(here().tree.items.size() - 1);
      } else {
        note("elements <" + std::string{name} + "> under <cpu>", c);
      }
    }
    return std::nullopt;
  }

  /// A number in hexadecimal such as 0x030200, or nothing where the attribute is missing.
  [[nodiscard]] std::optional<input_error> hex(pugi::xml_node v, const char* name, std::optional<std::uint64_t>& out) {
    const std::string_view s = inside_text::attribute(v, name);
    if (s.empty()) return std::nullopt;
    out = inside_text::parse_hex(s);
    if (!out) return bad(v, std::string{name} + " " + io_text::quoted(s), "a hexadecimal number such as 0x030200");
    return std::nullopt;
  }

  [[nodiscard]] std::optional<input_error> pci(pugi::xml_node v, std::size_t depth, std::size_t& index) {
    if (here().tree.items.size() >= std::min<std::size_t>(options_.max_parts, 65536))
      return bad(v, "more PCI devices", "at most 65536");
    if (auto e = inside_text::nccl_mistake(xml_, v)) return e;
    const std::string_view busid = inside_text::attribute(v, "busid");
    const auto address = inside_text::parse_pci_address(busid);
    if (!address) return bad(v, "busid " + io_text::quoted(busid), inside_text::bus_id_form);
    std::optional<std::uint64_t> device_class, vendor, device;
    if (auto e = hex(v, "class", device_class)) return e;
    if (auto e = hex(v, "vendor", vendor)) return e;
    if (auto e = hex(v, "device", device)) return e;
    pci_item item;
    item.address = *address;
    item.line = xml_.line(v);
    if (vendor && device) item.chip = *vendor << 16 | *device;
    std::optional<std::uint16_t> lanes;
    if (const std::string_view width = inside_text::attribute(v, "link_width"); !width.empty()) {
      const auto n = io_text::parse_count(width, 255);
      // A link that is down reads as 0, or as a field of ones: 63, 255.
      const bool down = n && (*n == 0 || *n == 63 || *n == 255);
      if (!n || (!down && *n > 32)) return bad(v, "link_width " + io_text::quoted(width), "a number of lanes up to 32");
      if (!down) lanes = static_cast<std::uint16_t>(*n);
    }
    const std::string_view rate = inside_text::attribute(v, "link_speed");
    const auto lane_speed = inside_text::parse_pcie_speed(rate);
    if (!lane_speed && !rate.empty() && !io_text::lower(rate).starts_with("unknown"))
      return bad(v, "link_speed " + io_text::quoted(rate), "the speed of a PCIe lane such as 16 GT/s, or Unknown");
    item.up = inside_text::pcie_link(lane_speed, lanes);

    const pugi::xml_node gpu_node = v.child("gpu"), nic_node = v.child("nic");
    const std::uint64_t base = device_class.value_or(0) >> 16;
    const bool children = static_cast<bool>(v.child("pci"));
    if (gpu_node || (!children && !nic_node && (base == 0x03 || base == 0x12))) item.what = pci_item::kind::gpu;
    else if (nic_node || (!children && base == 0x02)) item.what = pci_item::kind::nic;
    else if (device_class.value_or(0) >> 8 == 0x0680 && vendor == 0x10deU) item.what = pci_item::kind::nvswitch;
    else if (children || device_class.value_or(0) >> 8 == 0x0604) item.what = pci_item::kind::bridge;
    else if (!device_class) ++here().unknown;

    const std::string bus = inside_text::pci_text(*address);
    if (item.what != pci_item::kind::other) {
      const auto [seen, fresh] = here().by_bus.emplace(bus, here().tree.items.size());
      const bool gpu_again = item.what == pci_item::kind::gpu;
      if (!fresh && gpu_again && here().tree.items[seen->second].what == pci_item::kind::gpu)
        return bad(v, "a second GPU " + bus, "every GPU once");
      if (!fresh && ++twice_ == 1)
        out_.assumptions.push_back("the bus id " + bus + " (line " + std::to_string(item.line) +
                                   ") comes twice: taken as two devices");
      if (!fresh && gpu_again) seen->second = here().tree.items.size();
    }
    if (item.what == pci_item::kind::gpu)
      item.content.model = std::string{inside_text::gpu_model_of_pci(vendor.value_or(0), device.value_or(0))};
    if (nic_node)
      if (auto e = nic(nic_node, item)) return e;
    index = here().tree.items.size();
    here().tree.items.push_back(std::move(item));
    if (gpu_node)
      if (auto e = gpu(gpu_node, index)) return e;
    std::size_t gpus = 0;
    for (const auto c : v.children()) {
      if (c.type() != pugi::node_element) continue;
      const std::string_view name = c.name();
      if (name == "pci") {
        if (depth > 60) return bad(c, "bridges nested more than 60 deep", "fewer");
        std::size_t below = 0;
        if (auto e = pci(c, depth + 1, below)) return e;
        attach(index, below);
      } else if (name == "gpu") {
        if (++gpus == 2)
          out_.assumptions.push_back("GPU " + bus + " is listed in parts or for several ranks: taken as one GPU");
      } else if (name == "pcilink") {
        note("PCIe peer links between switches (<pcilink>)", c);
      } else if (name != "nic") {
        note("elements <" + std::string{name} + "> under <pci>", c);
      }
    }
    return std::nullopt;
  }

  /// Puts a device below a bridge. Partitions of one Broadcom switch chip are one switch.
  void attach(std::size_t above, std::size_t below) {
    auto& items = here().tree.items;
    pci_item& top = items[above];
    const pci_item& sub = items[below];
    const bool broadcom = top.chip == 0x1000c010U || top.chip == 0x1000c030U;
    if (top.up.rate && sub.what == pci_item::kind::bridge && sub.up.rate &&
        top.up.rate->count() * 3 < sub.up.rate->count())
      slow_.emplace(*top.address, top.line);
    if (broadcom && sub.what == pci_item::kind::bridge && sub.chip == top.chip) {
      auto moved = sub.below;
      top.below.insert(top.below.end(), moved.begin(), moved.end());
      return;
    }
    top.below.push_back(below);
  }

  [[nodiscard]] std::optional<input_error> gpu(pugi::xml_node v, std::size_t index) {
    if (auto e = inside_text::nccl_mistake(xml_, v)) return e;
    host& h = here();
    if (const std::string_view dev = inside_text::attribute(v, "dev"); !dev.empty()) {
      const auto n = io_text::parse_count(dev, 9999);
      if (!n) return bad(v, "dev " + io_text::quoted(dev), "a number");
      h.tree.items[index].order = static_cast<std::uint32_t>(*n);
    }
    if (const std::string_view text = inside_text::attribute(v, "sm"); !text.empty()) {
      const auto sm = io_text::parse_count(text, 9999);
      if (!sm) return bad(v, "sm " + io_text::quoted(text), "a compute capability such as 90");
      h.sm[index] = static_cast<unsigned>(*sm);
    }
    for (const auto c : v.children()) {
      if (c.type() != pugi::node_element) continue;
      const std::string_view name = c.name();
      if (auto e = inside_text::nccl_mistake(xml_, c)) return e;
      if (name == "c2c") {
        const auto bw = io_text::parse_count(inside_text::attribute(c, "bw"), 100'000'000);
        const auto count = io_text::parse_count(inside_text::attribute(c, "count"), 1000);
        if (!bw || !count || *count == 0) return bad(c, "<c2c> without bw (MB/s) and count", "both as numbers");
        link l;
        l.kind = link_kind::c2c;
        l.count = static_cast<std::uint16_t>(*count);
        if (*bw > 0) l.rate = gigabytes_per_second{static_cast<double>(*bw) * static_cast<double>(*count) / 1000};
        h.tree.links.push_back({index, h.tree.numas.size() - 1, true, l});
        continue;
      }
      if (name != "nvlink" && name != "xgmi") {
        note("elements <" + std::string{name} + "> under <gpu>", c);
        continue;
      }
      inside_text::nccl_link row;
      row.gpu = index;
      row.line = xml_.line(c);
      row.xgmi = name == "xgmi";
      const std::string_view target = inside_text::attribute(c, "target");
      const auto bus = inside_text::normal_bus_id(target);
      if (!bus) return bad(c, "target " + io_text::quoted(target), inside_text::bus_id_form);
      row.target = *bus;
      const std::string_view times = inside_text::attribute(c, "count");
      const auto count = io_text::parse_count(times, 255);
      if (!count || *count == 0) return bad(c, "count " + io_text::quoted(times), "a number of links");
      row.count = static_cast<std::uint16_t>(*count);
      std::optional<std::uint64_t> target_class;
      if (auto e = hex(c, "tclass", target_class)) return e;
      row.to_cpu = target_class == 0x068001U;
      row.to_gpu = target_class.value_or(0) >> 16 == 3 || target_class.value_or(0) >> 16 == 0x12 || row.xgmi;
      h.nvlinks.push_back(std::move(row));
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<input_error> nic(pugi::xml_node v, pci_item& item) {
    if (auto e = inside_text::nccl_mistake(xml_, v)) return e;
    item.what = pci_item::kind::nic;
    item.line = xml_.line(v);
    double mbit = 0;
    bool known = true;
    std::optional<std::uint32_t> order;
    for (const auto c : v.children()) {
      if (c.type() != pugi::node_element) continue;
      if (std::string_view{c.name()} != "net") {
        note("elements <" + std::string{c.name()} + "> under <nic>", c);
        continue;
      }
      if (auto e = inside_text::nccl_mistake(xml_, c)) return e;
      const std::string name{inside_text::attribute(c, "name")};
      if (item.content.name.size() + name.size() < 256)
        item.content.name += (item.content.name.empty() || name.empty() ? "" : "+") + name;
      if (const std::string_view dev = inside_text::attribute(c, "dev"); !dev.empty() && !order) {
        const auto n = io_text::parse_count(dev, 99999);
        if (!n) return bad(c, "dev " + io_text::quoted(dev), "a number");
        order = static_cast<std::uint32_t>(*n);
      }
      if (const std::string_view speed = inside_text::attribute(c, "speed"); !speed.empty()) {
        const auto n = io_text::parse_count(speed == "-1" ? "0" : speed, 1'000'000'000'000);
        if (!n) return bad(c, "speed " + io_text::quoted(speed), "Mbit/s");
        double m = static_cast<double>(*n);
        if (m >= 10e6) {
          m /= 1000;
          if (!kbit_)
            out_.assumptions.push_back("the speed " + std::string{speed} + " of " + name +
                                       " is taken as kbit/s: no NIC has 10 Tbit/s");
          kbit_ = true;
        }
        if (m == 0) known = false;
        mbit += m;
      } else {
        known = false;
      }
      std::optional<std::uint64_t> guid;
      if (auto e = hex(c, "guid", guid)) return e;
      if (guid && *guid > 0xFFFFU && !item.content.guid) {
        // NCCL prints ibverbs' system image GUID, which is in network byte order, as a number of a little-endian CPU.
        std::uint64_t swapped = 0;
        for (int i = 0; i < 8; ++i) swapped |= (*guid >> (8 * i) & 0xFFU) << (8 * (7 - i));
        item.content.guid = swapped;
        guids_ = true;
      }
    }
    if (known && mbit > 0) item.content.rate = gigabytes_per_second{mbit / 8000};
    item.order = order;
    return std::nullopt;
  }

  [[nodiscard]] std::optional<input_error> finish(std::size_t index, const std::string& hash) {
    host& h = hosts_[index];
    inside_text::join_by_links({h.nvlinks, h.sm, h.by_bus}, h.tree, out_.assumptions, shared_nvlink_);
    bool shared = false;
    for (std::size_t i = 0; i < h.cpus.size(); ++i) {
      bool alone = !h.cpus[i].empty();
      for (std::size_t j = 0; j < h.cpus.size(); ++j)
        if (i != j && inside_text::overlap(h.cpus[i], h.cpus[j])) alone = false;
      if (alone) h.tree.numas[i].content.cpu = cpus(static_cast<std::int64_t>(inside_text::count_cpus(h.cpus[i])));
      else shared = shared || !h.cpus[i].empty();
    }
    if (shared)
      out_.assumptions.push_back("affinity masks of NUMA nodes overlap; the number of their CPUs is left open");
    link_kind between = link_kind::cpu_link;
    if (h.intel && h.tree.numas.size() == 2) between = h.new_intel ? link_kind::upi : link_kind::qpi;
    join_numas(h.tree, between);

    machine_report m;
    m.place = {out_.source, h.line};
    m.name = hosts_.size() > 1 ? "host-" + (hash.empty() ? "unknown" : hash) : options_.machine;
    std::vector<std::size_t> gpus;
    bool rack = false;
    for (const auto& i : h.tree.items)
      rack = rack || i.content.model.starts_with("gb200") || i.content.model.starts_with("gb300");
    hardware_graph g = h.tree.graph(rack, &gpus);
    for (part_id v = 0; v < boost::num_vertices(g); ++v)
      if (g[v].bus_id == inside_text::no_bus_id) g[v].bus_id.clear();
    if (boost::num_vertices(g) + boost::num_edges(g) > options_.max_parts)
      return input_error{out_.source, h.line, "a machine of more parts",
                         "at most " + std::to_string(options_.max_parts)};
    if (gpus.size() > max_devices_per_node)
      return input_error{out_.source, h.line, std::to_string(gpus.size()) + " GPUs in one machine", "at most 64"};
    const bool all_known = h.unknown == 0;
    if (!all_known)
      out_.assumptions.push_back(io_text::counted(h.unknown, "PCI device") +
                                 " without class: GPUs or NICs, the file does not tell; left out");
    if (!gpus.empty() || all_known) m.gpus = static_cast<unsigned>(gpus.size());
    bool by_number = true;
    std::string model;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      by_number = by_number && h.tree.items[gpus[i]].order.has_value();
      if (g[i].model.empty()) g[i].model = fallback(h, gpus);
      if (i == 0) model = g[i].model;
      else if (model != g[i].model) model.clear();
    }
    if (!gpus.empty() && !by_number)
      out_.assumptions.push_back(
          "the file does not number its GPUs: GPU 0 is the one with the lowest bus id, as nvidia-smi has it");
    for (std::size_t i = 0; by_number && i < gpus.size(); ++i)
      if (*h.tree.items[gpus[i]].order != i) {
        out_.assumptions.push_back("the file's GPUs are not numbered from 0 on: its GPU " +
                                   std::to_string(*h.tree.items[gpus[i]].order) + " is GPU " + std::to_string(i) +
                                   " here");
        break;
      }
    for (const auto& [address, line] : slow_)
      out_.assumptions.push_back("the link of switch " + inside_text::pci_text(address) +
                                 " is stated at less than a third of "
                                 "what hangs on it, as if read while idle; taken as stated");
    slow_.clear();
    if (guids_)
      out_.assumptions.push_back("GUIDs of NICs are those of the whole card, in the byte order that tools print");
    guids_ = false;
    m.gpu_model = model;
    m.inside = std::move(g);
    out_.machines.push_back(std::move(m));
    return std::nullopt;
  }
  /// The model of GPUs for which the file names none.
  [[nodiscard]] std::string fallback(const host& h, const std::vector<std::size_t>& gpus) {
    if (fallback_) return *fallback_;
    inside_text::model_hints hints;
    hints.gpus = gpus.size();
    std::map<std::size_t, std::uint32_t> sums;
    for (const auto& r : h.nvlinks)
      if (!r.xgmi) hints.nvlinks = std::max(hints.nvlinks, sums[r.gpu] += r.count);
    fallback_ = inside_text::chosen_gpu_model(options_, hints, out_.assumptions);
    return *fallback_;
  }

  const reader_options& options_;
  const inside_text::xml_text& xml_;
  site_report out_;
  std::vector<host> hosts_;
  std::size_t host_ = 0, twice_ = 0;
  std::map<std::string, std::size_t> passed_over_;
  std::map<inside_text::pci_address, std::size_t> slow_;
  std::optional<std::string> fallback_;
  bool kbit_ = false, guids_ = false, shared_nvlink_ = false;
};

}  // namespace detail

/// True when a text is XML with a <system> that holds <cpu> elements. Looks at the first 64 KiB.
[[nodiscard]] inline bool looks_like_nccl_xml(std::string_view text) noexcept {
  text = text.substr(0, std::size_t{1} << 16);
  const std::size_t system = text.find("<system");
  if (system == std::string_view::npos) return false;
  const std::size_t end = text.find('>', system), cpu = text.find("<cpu", system);
  const std::string_view tag = text.substr(system, end == std::string_view::npos ? end : end - system);
  return tag.find("version") != std::string_view::npos && cpu != std::string_view::npos;
}

/// Reads a topology file of NCCL or RCCL: one machine, or one per host hash.
/// Errors: no such XML, attributes that are no numbers or bus ids, misspelt names, a GPU or NUMA node twice, more than
/// 64 GPUs. O(length + elements log elements).
[[nodiscard]] inline expected<site_report, input_error> read_nccl_xml(const named_text& in,
                                                                      const reader_options& options = {}) {
  const auto xml = inside_text::xml_text::parse(in, std::min<std::size_t>(options.max_parts, 1'000'000));
  if (!xml) return unexpected{xml.error()};
  return detail::nccl_reader{in, options, *xml}.read();
}

}  // namespace berth
