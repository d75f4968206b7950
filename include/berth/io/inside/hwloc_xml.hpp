#pragma once
/// \file
/// hwloc's XML (`lstopo file.xml`, `hwloc_topology_export_xml`), formats 1, 2 and 3. Needs pugixml.
///
/// One PCI device is one GPU or NIC, however many OS devices hwloc found for it. NUMA nodes without CPUs are the memory
/// of GPUs and left out; of several with the same CPUs the first stands for all. `pci_link_speed` is GB/s of all lanes;
/// a port and the device on it state the same link, the device counts. Source: hwloc's documentation of
/// attributes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/inside/bus_id.hpp"
#include "berth/io/inside/gpu_names.hpp"
#include "berth/io/inside/hwloc_distances.hpp"
#include "berth/io/inside/hwloc_os_devices.hpp"
#include "berth/io/inside/hwloc_words.hpp"
#include "berth/io/inside/pci_tree.hpp"
#include "berth/io/inside/xml_text.hpp"
#include "berth/io/site_report.hpp"

namespace berth {

namespace detail {

/// Reads one document.
class hwloc_reader {
 public:
  hwloc_reader(const named_text& in, const reader_options& options, const inside_text::xml_text& xml)
      : options_{options}, xml_{xml} {
    out_.source = in.name;
  }

  [[nodiscard]] expected<site_report, input_error> read() {
    const pugi::xml_node top = xml_.document().child("topology");
    if (!top) {
      const auto root = xml_.document().document_element();
      return fail(root, root ? "<" + std::string{root.name()} + ">" : "no element", "<topology> of hwloc");
    }
    const std::string version{inside_text::attribute(top, "version")};
    if (!version.empty() && version[0] != '2' && version[0] != '3')
      return fail(top, "version " + io_text::quoted(version), "format 1 (no version), 2.x or 3.x");
    out_.format = "hwloc " + (version.empty() ? std::string{"1"} : version);
    const pugi::xml_node machine = top.child("object");
    if (!machine || inside_text::attribute(machine, "type") != std::string_view{"Machine"})
      return fail(machine ? machine : top, "no Machine", "<object type=\"Machine\"> first");
    machine_line_ = xml_.line(machine);
    if (auto bad = inside_text::hwloc_mistake(xml_, top)) return unexpected{std::move(*bad)};
    infos(top);
    collect_numas(machine, 0);
    if (error_) return unexpected{std::move(*error_)};
    settle_numas();
    walk(machine, machine, std::nullopt);
    if (error_) return unexpected{std::move(*error_)};
    for (const auto v : top.children()) {
      const std::string_view name = v.name();
      if (name != "distances2" && name != "distances2hetero") continue;
      if (auto bad = distances(v)) return unexpected{std::move(*bad)};
    }
    return finish(machine);
  }

 private:
  static constexpr std::size_t nothing = inside_text::hwloc_matrix::nothing;
  struct numa {
    std::uint32_t index = 0;
    inside_text::cpu_set cpus;
    std::int64_t memory = 0;
    std::size_t package = nothing;  ///< a number for the package that it is in
    std::size_t kept = nothing;     ///< in the tree
  };

  [[nodiscard]] unexpected<input_error> fail(pugi::xml_node v, std::string found, std::string wanted) const {
    return unexpected{xml_.place(v).error(std::move(found), std::move(wanted))};
  }
  void set_error(pugi::xml_node v, std::string found, std::string wanted) {
    if (!error_) error_ = xml_.place(v).error(std::move(found), std::move(wanted));
  }
  void infos(pugi::xml_node v) {
    const auto keep = [&](const char* name, std::string& to) {
      if (const auto s = inside_text::hwloc_info(v, name); !s.empty() && to.empty() && s.size() < 256) to = s;
    };
    keep("HostName", host_name_);
    keep("DMIProductName", product_);
    keep("DMIBoardVendor", board_vendor_);
    keep("CPUVendor", cpu_vendor_);
    keep("CPUModelNumber", cpu_model_);
  }
  [[nodiscard]] inside_text::cpu_set mask(pugi::xml_node v, const char* name) {
    const std::string_view s = inside_text::attribute(v, name);
    if (s.empty()) return {};
    auto set = inside_text::parse_cpu_mask(s);
    if (!set) {
      set_error(v, std::string{name} + " " + io_text::quoted(s), "a mask such as 0xff,0xffff0000");
      return {};
    }
    return *std::move(set);
  }

  void collect_numas(pugi::xml_node v, std::size_t package) {
    if (auto bad = inside_text::hwloc_mistake(xml_, v)) {
      error_ = std::move(bad);
      return;
    }
    const std::string_view type = inside_text::attribute(v, "type");
    if (!io_text::is_word_of(type, inside_text::hwloc_types) && ++foreign_ == 1)
      out_.assumptions.push_back(inside_text::hwloc_unknown_type(xml_, v));
    infos(v);
    if (type == "Package" || type == "Socket") {
      package = packages_++;
      if (const auto gp = count(v, "gp_index", most_gp)) package_gp_[*gp] = package;
    }
    if (type == "NUMANode" || (type == "Node")) {
      numa n;
      const auto index = io_text::parse_count(inside_text::attribute(v, "os_index"), 65535);
      if (!index) {
        set_error(v, "a NUMA node with os_index " + io_text::quoted(inside_text::attribute(v, "os_index")), "a number");
        return;
      }
      n.index = static_cast<std::uint32_t>(*index);
      for (const auto& o : numas_)
        if (o.index == n.index) {
          set_error(v, "NUMA node " + std::to_string(n.index) + " twice", "every NUMA node once");
          return;
        }
      if (numas_.size() >= 4096) {
        set_error(v, "more NUMA nodes", "at most 4096");
        return;
      }
      n.cpus = mask(v, "cpuset");
      n.memory = static_cast<std::int64_t>(
          count(v, "local_memory", static_cast<std::uint64_t>(io_text::max_memory)).value_or(0));
      n.package = package;
      numas_.push_back(std::move(n));
    }
    for (const auto c : v.children("object")) {
      if (error_) return;
      collect_numas(c, package);
    }
  }

  /// Chooses the NUMA nodes that become parts: those with CPUs, one for each set of CPUs.
  void settle_numas() {
    std::size_t without = 0, shared = 0;
    std::stable_sort(numas_.begin(), numas_.end(), [](const numa& a, const numa& b) { return a.index < b.index; });
    for (auto& n : numas_) {
      if (n.cpus.empty()) {
        ++without;
        continue;
      }
      memory_ = std::min(memory_ + n.memory, io_text::max_memory + 1);  // too much is told below
      const auto same = std::find_if(numas_.begin(), numas_.end(),
                                     [&](const numa& o) { return o.kept != nothing && o.cpus == n.cpus; });
      if (same != numas_.end()) {
        n.kept = same->kept;
        ++shared;
        continue;
      }
      n.kept = tree_.numas.size();
      pci_tree::numa_item item;
      item.content.index = n.index;
      item.content.cpu = cpus(static_cast<std::int64_t>(inside_text::count_cpus(n.cpus)));
      tree_.numas.push_back(std::move(item));
      package_of_.push_back(n.package);
    }
    if (without != 0)
      out_.assumptions.push_back(io_text::counted(without, "NUMA node") +
                                 " without CPUs: memory of GPUs or far memory, left out");
    if (shared != 0)
      out_.assumptions.push_back(io_text::counted(shared, "NUMA node") +
                                 " with the CPUs of another one: a second kind of memory, counted with the first");
  }

  /// Every object; bridges and devices go into the tree. `local`: the nearest object with CPUs.
  void walk(pugi::xml_node v, pugi::xml_node local, std::optional<std::size_t> above) {
    if (error_) return;
    const std::string_view type = inside_text::attribute(v, "type");
    std::optional<std::size_t> here = above;
    if (type == "Bridge") here = bridge(v, local, above);
    else if (type == "PCIDev") here = device(v, local, above);
    else if (type == "OSDev") {
      if (!above) ++orphans_;
    } else {
      local = v;
      if (type == "PU") ++pus_;
    }
    for (const auto c : v.children("object")) walk(c, local, here);
  }

  [[nodiscard]] std::optional<std::size_t> add(pugi::xml_node v, pugi::xml_node local, std::optional<std::size_t> above,
                                               pci_item item) {
    if (tree_.items.size() >= std::min<std::size_t>(options_.max_parts, 65536)) {
      set_error(v, "more PCI devices", "at most 65536");
      return std::nullopt;
    }
    const std::size_t index = tree_.items.size();
    item.line = xml_.line(v);
    tree_.items.push_back(std::move(item));
    if (above) {
      tree_.items[*above].below.push_back(index);
      return index;
    }
    // The NUMA nodes of the object that the bridge hangs on.
    std::vector<std::size_t> near;
    const auto nodes = mask(local, "nodeset"), cpus = mask(local, "cpuset");
    for (const auto& n : numas_) {
      if (n.kept == nothing || std::find(near.begin(), near.end(), n.kept) != near.end()) continue;
      const inside_text::cpu_set one{{n.index, n.index}};
      if (nodes.empty() ? inside_text::overlap(n.cpus, cpus) : inside_text::overlap(one, nodes)) near.push_back(n.kept);
    }
    if (near.empty())
      for (std::size_t i = 0; i < tree_.numas.size(); ++i) near.push_back(i);
    if (near.size() == 1) tree_.numas[near[0]].below.push_back(index);
    else if (near.size() <= 64) tree_.loose.push_back({index, std::move(near)});
    else set_error(v, "a bridge on more than 64 NUMA nodes", "fewer");
    return index;
  }

  static constexpr std::uint64_t most_gp = std::numeric_limits<std::uint64_t>::max();
  [[nodiscard]] std::optional<std::uint64_t> count(pugi::xml_node v, const char* name, std::uint64_t most) {
    return inside_text::hwloc_count(xml_, v, name, most, error_);
  }
  [[nodiscard]] link speed(pugi::xml_node v) {
    link l;
    l.kind = link_kind::pcie;
    if (const double gbps = inside_text::hwloc_speed(xml_, v, error_); gbps > 0) l.rate = gigabytes_per_second{gbps};
    return l;
  }

  [[nodiscard]] std::optional<std::size_t> bridge(pugi::xml_node v, pugi::xml_node local,
                                                  std::optional<std::size_t> above) {
    pci_item item;
    const std::string_view type = inside_text::attribute(v, "bridge_type");
    if (type != "0-0" && type != "0-1" && type != "1-1" && type != "1-0")
      set_error(v, "bridge_type " + io_text::quoted(type), "0-1 for a host bridge, 1-1 for others");
    item.what = type.starts_with("0-") ? pci_item::kind::host_bridge : pci_item::kind::bridge;
    if (const std::string_view bus = inside_text::attribute(v, "pci_busid"); !bus.empty()) {
      item.address = inside_text::parse_pci_address(bus);
      if (!item.address) {
        set_error(v, "pci_busid " + io_text::quoted(bus), inside_text::bus_id_form);
        return std::nullopt;
      }
    }
    item.up = speed(v);
    // Root ports and the ports of switches towards devices are the odd ones below a host bridge.
    item.port = count(v, "depth", 1000).value_or(0) % 2 == 1;
    return add(v, local, above, std::move(item));
  }

  [[nodiscard]] std::optional<std::size_t> device(pugi::xml_node v, pugi::xml_node local,
                                                  std::optional<std::size_t> above) {
    pci_item item;
    const std::string_view bus = inside_text::attribute(v, "pci_busid");
    item.address = inside_text::parse_pci_address(bus);
    if (!item.address) {
      set_error(v, "pci_busid " + io_text::quoted(bus), inside_text::bus_id_form);
      return std::nullopt;
    }
    const std::string_view type_text = inside_text::attribute(v, "pci_type");
    const auto type = inside_text::parse_hwloc_pci_type(type_text);
    if (!type) {
      set_error(v, "pci_type " + io_text::quoted(type_text),
                "class, vendor and device such as 0302 [10de:2335] [10de:18bf] a1");
      return std::nullopt;
    }
    const std::uint64_t device_class = type->device_class, vendor = type->vendor, id = type->device;
    item.up = speed(v);
    const inside_text::hwloc_os_facts found = inside_text::hwloc_os_devices(xml_, v, error_);
    const bool compute = found.compute;
    const bool display = device_class >> 8 == 0x03 || device_class >> 8 == 0x12;
    if (inside_text::attribute(v, "subtype") == std::string_view{"NVSwitch"} ||
        (device_class == 0x0680 && vendor == 0x10de))
      item.what = pci_item::kind::nvswitch;
    else if (device_class == 0x0302 || (display && (compute || vendor == 0x10de)) || compute ||
             (vendor == 0x1002 && (device_class == 0x0380 || device_class >> 8 == 0x12)))
      item.what = pci_item::kind::gpu;
    else if (device_class >> 8 == 0x02) item.what = pci_item::kind::nic;
    if (const auto [seen, fresh] = buses_.insert({*item.address, item.what}); !fresh) {
      if (item.what == pci_item::kind::gpu && seen->second == pci_item::kind::gpu) {
        set_error(v, "a second GPU " + inside_text::pci_text(*item.address), "every GPU once");
        return std::nullopt;
      }
      if (++twice_ == 1)
        out_.assumptions.push_back("the bus id " + inside_text::pci_text(*item.address) + " (line " +
                                   std::to_string(xml_.line(v)) + ") comes twice: taken as two devices");
    }
    if (item.what == pci_item::kind::gpu) {
      item.content.model = std::string{inside_text::gpu_model_of_pci(vendor, id)};
      if (item.content.model.empty()) item.content.model = inside_text::gpu_model_or_name(found.model);
      item.content.uuid = found.uuid;
      item.order = found.number;
    } else if (item.what == pci_item::kind::nic) {
      item.content.name = found.nic;
      item.content.guid = found.guid;
    }
    const auto index = add(v, local, above, std::move(item));
    if (index) {
      remember(v, *index);
      for (const auto c : v.children("object")) remember(c, *index);
    }
    return index;
  }
  void remember(pugi::xml_node v, std::size_t item) {
    const auto gp = count(v, "gp_index", most_gp);
    if (gp && !by_gp_.emplace(*gp, item).second)
      set_error(v, "gp_index " + std::to_string(*gp) + " twice", "each object another one");
  }

  /// NVLinkBandwidth and XGMIBandwidth; others do not say how devices are joined.
  [[nodiscard]] std::optional<input_error> distances(pugi::xml_node v) {
    auto read = inside_text::read_hwloc_matrix(xml_, v);
    if (!read) return std::move(read).error();
    const auto& m = *read;
    if (!m) return std::nullopt;
    std::vector<std::size_t> items, packages;
    for (const auto gp : m->objects) {
      const auto item = by_gp_.find(gp);
      items.push_back(item == by_gp_.end() ? nothing : item->second);
      const auto package = package_gp_.find(gp);
      packages.push_back(package == package_gp_.end() ? nothing : package->second);
    }
    std::size_t unknown = 0;
    for (std::size_t i = 0; i < items.size(); ++i) unknown += items[i] == nothing && packages[i] == nothing ? 1U : 0U;
    if (unknown != 0)
      out_.assumptions.push_back(std::string{m->name} + " also lists " + io_text::counted(unknown, "object") +
                                 " that are neither PCI devices nor packages: left out");
    // NVLinks to a CPU (POWER) end at the first NUMA node of its package.
    for (std::size_t i = 0; i < items.size(); ++i)
      for (std::size_t j = 0; j < items.size() && packages[i] != nothing; ++j) {
        const std::uint64_t mbps = m->between(i, j);
        const auto home = std::find(package_of_.begin(), package_of_.end(), packages[i]);
        if (items[j] == nothing || mbps == 0 || home == package_of_.end()) continue;
        link l;
        l.kind = m->xgmi ? link_kind::xgmi : link_kind::nvlink;
        l.rate = gigabytes_per_second{static_cast<double>(mbps) / 1000};
        tree_.links.push_back({items[j], static_cast<std::size_t>(home - package_of_.begin()), true, l});
      }
    inside_text::join_by_bandwidth(tree_, items, *m, out_.assumptions);
    return std::nullopt;
  }

  [[nodiscard]] expected<site_report, input_error> finish(pugi::xml_node machine) {
    for (std::size_t i = 0; i < tree_.numas.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        if (tree_.numas.size() > 64 && j != 0) continue;
        link_kind k = link_kind::cpu_link;
        if (package_of_[i] != nothing && package_of_[i] == package_of_[j]) k = link_kind::on_die;
        else if (cpu_vendor_ == "AuthenticAMD") k = link_kind::xgmi;
        else if (cpu_vendor_ == "GenuineIntel")
          k = io_text::parse_count(cpu_model_, 1000).value_or(0) >= 85 ? link_kind::upi : link_kind::qpi;
        tree_.numa_links.push_back({j, i, link{k, {}, {}, {}, {}, {}, true}});
      }
    for (const auto& l : tree_.loose) {
      const auto where = tree_.items[l.item].address;
      if (++loose_ == 1)
        out_.assumptions.push_back("the NUMA node of " +
                                   (where ? inside_text::pci_text(*where) : std::string{"a host bridge"}) + " (line " +
                                   std::to_string(tree_.items[l.item].line) + ") is one of " +
                                   std::to_string(l.numas.size()) + ": joined to each");
    }
    std::vector<std::size_t> gpus;
    hardware_graph g = tree_.graph(false, &gpus);
    if (gpus.size() > max_devices_per_node)
      return unexpected{
          input_error{out_.source, machine_line_, std::to_string(gpus.size()) + " GPUs in one machine", "at most 64"}};
    if (boost::num_vertices(g) + boost::num_edges(g) > options_.max_parts)
      return unexpected{input_error{out_.source, machine_line_, "a machine of more parts",
                                    "at most " + std::to_string(options_.max_parts)}};
    machine_report m;
    m.place = {out_.source, machine_line_};
    m.name = host_name_.empty() || host_name_.starts_with("localhost") ? options_.machine : host_name_;
    m.gpus = static_cast<unsigned>(gpus.size());
    inside_text::model_hints hints;
    hints.gpus = gpus.size();
    std::optional<std::string> fallback;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      if (g[i].model.empty()) {
        if (!fallback) fallback = inside_text::chosen_gpu_model(options_, hints, out_.assumptions);
        g[i].model = *fallback;
      }
      if (i == 0) m.gpu_model = g[i].model;
      else if (m.gpu_model != g[i].model) m.gpu_model.clear();
    }
    const auto allowed = mask(machine, "allowed_cpuset"), all = mask(machine, "cpuset");
    const std::size_t cpu_count = !allowed.empty() ? inside_text::count_cpus(allowed)
                                  : !all.empty()   ? inside_text::count_cpus(all)
                                                   : pus_;
    if (error_) return unexpected{std::move(*error_)};
    if (cpu_count > static_cast<std::size_t>(io_text::max_cpus) || memory_ > io_text::max_memory)
      return fail(machine, std::to_string(cpu_count) + " CPUs and " + io_text::memory_text(bytes{memory_}),
                  "at most a million CPUs and 4PiB");
    if (cpu_count != 0) m.cpu = cpus(static_cast<std::int64_t>(cpu_count));
    if (memory_ > 0) m.memory = bytes{memory_};
    if (!product_.empty()) m.labels.push_back("dmi.product=" + product_);
    if (board_vendor_ == "Amazon EC2") m.shape = product_;  // the instance type
    if (orphans_ != 0)
      out_.assumptions.push_back(io_text::counted(orphans_, "OS device") + " without a PCI device: left out");
    bool linked = false;
    for (const auto& l : tree_.links) linked = linked || !l.to_numa;
    const auto* model = catalogue::find_gpu_model(m.gpu_model);
    if (!linked && gpus.size() > 1 && model != nullptr && model->nvlink)
      out_.assumptions.push_back("the file does not tell which GPUs NVLinks join, though " + m.gpu_model +
                                 " has them: hwloc was built without NVML");
    m.inside = std::move(g);
    out_.machines.push_back(std::move(m));
    return std::move(out_);
  }

  const reader_options& options_;
  const inside_text::xml_text& xml_;
  site_report out_;
  std::optional<input_error> error_;
  pci_tree tree_;
  std::vector<numa> numas_;
  std::vector<std::size_t> package_of_;  ///< by NUMA node of the tree
  std::map<std::uint64_t, std::size_t> by_gp_, package_gp_;
  std::map<inside_text::pci_address, pci_item::kind> buses_;
  std::string host_name_, product_, board_vendor_, cpu_vendor_, cpu_model_;
  std::size_t foreign_ = 0, packages_ = 0, pus_ = 0, orphans_ = 0, loose_ = 0, twice_ = 0, machine_line_ = 0;
  std::int64_t memory_ = 0;
};

}  // namespace detail

/// True when a text is XML with a <topology> that holds <object> elements. Looks at the first 64 KiB.
[[nodiscard]] inline bool looks_like_hwloc_xml(std::string_view text) noexcept {
  text = text.substr(0, std::size_t{1} << 16);
  const std::size_t top = text.find("<topology");
  if (top == std::string_view::npos) return false;
  const std::size_t object = text.find("<object", top);
  return object != std::string_view::npos &&
         text.substr(object, 200).find("type=\"Machine\"") != std::string_view::npos;
}

/// Reads an XML file of hwloc as one machine.
/// Errors: no such XML, masks or bus ids that are none, NUMA nodes or GPUs twice, matrices that are not square,
/// more than 64 GPUs. O(length + objects log objects).
[[nodiscard]] inline expected<site_report, input_error> read_hwloc_xml(const named_text& in,
                                                                       const reader_options& options = {}) {
  const auto xml = inside_text::xml_text::parse(in, std::min<std::size_t>(options.max_parts, 2'000'000));
  if (!xml) return unexpected{xml.error()};
  return detail::hwloc_reader{in, options, *xml}.read();
}

}  // namespace berth
