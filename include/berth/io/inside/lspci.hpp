#pragma once
/// \file
/// `lspci`, best as `lspci -D -nn -vv`: GPUs, NICs and NVSwitches of a machine and, with -vv, the bridges above them
/// and their NUMA nodes. Plain text; needs Boost.Graph.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/inside/gpu_names.hpp"
#include "berth/io/inside/pci_tree.hpp"
#include "berth/io/inside/plain_lines.hpp"
#include "berth/io/site_report.hpp"

namespace berth {

namespace detail {

/// The first line of a device: "0000:1b:00.0 3D controller [0302]: NVIDIA Corporation GH100 … [10de:2330] (rev a1)".
struct lspci_line {
  inside_text::pci_address address;
  std::string_view kind;                               ///< "3D controller"
  std::string_view device;                             ///< all after the colon
  std::uint64_t device_class = 0, vendor = 0, id = 0;  ///< with -nn; 0 otherwise
};
[[nodiscard]] inline std::optional<lspci_line> parse_lspci_line(std::string_view line) {
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos || blank < 7) return std::nullopt;
  const auto address = inside_text::parse_pci_address(line.substr(0, blank));
  if (!address || line.substr(0, blank).find('.') == std::string_view::npos) return std::nullopt;
  lspci_line out;
  out.address = *address;
  const std::string_view rest = line.substr(blank + 1);
  const std::size_t colon = rest.find(": ");
  if (colon == std::string_view::npos) return std::nullopt;
  out.kind = rest.substr(0, colon);
  out.device = rest.substr(colon + 2);
  if (out.kind.ends_with(']') && out.kind.size() > 7 && out.kind[out.kind.size() - 6] == '[') {
    out.device_class = inside_text::parse_hex(out.kind.substr(out.kind.size() - 5, 4)).value_or(0);
    out.kind = io_text::trim(out.kind.substr(0, out.kind.size() - 6));
  }
  for (std::size_t at = out.device.rfind('['); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : out.device.rfind('[', at - 1)) {
    const std::string_view ids = out.device.substr(at + 1, 9);
    if (ids.size() != 9 || ids[4] != ':') continue;
    const auto vendor = inside_text::parse_hex(ids.substr(0, 4)), id = inside_text::parse_hex(ids.substr(5, 4));
    if (!vendor || !id) continue;
    out.vendor = *vendor;
    out.id = *id;
    break;
  }
  return out;
}
/// The model in the last square brackets that hold a name: "GH100 [H100 SXM5 80GB] [10de:2330]".
[[nodiscard]] inline std::string lspci_model(std::string_view device) {
  for (std::size_t close = device.rfind(']'); close != std::string_view::npos && close > 0;
       close = device.rfind(']', close - 1)) {
    const std::size_t open = device.rfind('[', close);
    if (open == std::string_view::npos) return {};
    const std::string_view inner = device.substr(open + 1, close - open - 1);
    if (inner.find(':') == std::string_view::npos && !inner.empty() && inner.size() < 100) return std::string{inner};
    if (open == 0) break;
    close = open;
  }
  return {};
}

}  // namespace detail

/// True when most of the first lines are PCI devices as lspci prints them.
[[nodiscard]] inline bool looks_like_lspci(std::string_view text) noexcept {
  text = text.substr(0, std::size_t{1} << 14);
  std::size_t devices = 0, others = 0;
  while (!text.empty() && devices < 3) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line[0] == '\t' || line[0] == ' ' || line[0] == '\r') continue;
    const std::size_t blank = std::min(line.find(' '), line.size());
    const auto a = inside_text::parse_pci_address(line.substr(0, blank));
    if (a && blank >= 7 && blank <= 16 && line.substr(0, blank).find('.') != std::string_view::npos &&
        line.find(": ") != std::string_view::npos)
      ++devices;
    else if (++others > 3) return false;
  }
  return devices > others;
}

/// Reads lspci's list as one machine. GPUs are numbered by bus id. With `-nn` models follow from ids, otherwise from
/// names; with `-vv` switches, link rates (the current ones) and NUMA nodes are read too. Errors: no device, a device
/// twice, bridges that contain each other, more than 64 GPUs. O(length + devices^2).
[[nodiscard]] inline expected<site_report, input_error> read_lspci(const named_text& in,
                                                                   const reader_options& options = {}) {
  const auto lines = inside_text::plain_lines(in.name, in.text, 1'000'000);
  if (!lines) return unexpected{lines.error()};
  site_report out;
  out.source = in.name;
  out.format = "lspci";
  const auto fail = [&in](std::size_t line, std::string found, std::string wanted) {
    return unexpected{input_error{in.name, line, std::move(found), std::move(wanted)}};
  };
  struct extra {
    std::optional<std::uint64_t> secondary;  ///< bus below a bridge
    std::optional<std::uint32_t> numa;
    std::optional<inside_text::pcie_speed> speed;
    std::optional<std::uint16_t> lanes;
    bool current = false;
  };
  pci_tree tree;
  std::vector<extra> extras;
  std::map<inside_text::pci_address, std::size_t> seen;
  for (const auto& l : *lines) {
    const std::string& text = l.text;
    if (text.empty()) continue;
    if (!io_text::is_blank(text[0])) {
      const auto d = detail::parse_lspci_line(text);
      if (!d) continue;  // a prompt, a title
      if (tree.items.size() >= std::min<std::size_t>(options.max_parts, 16384))
        return fail(l.number, "one more device", "at most 16384");
      if (!seen.emplace(d->address, l.number).second)
        return fail(l.number, "device " + inside_text::pci_text(d->address) + " again", "every device once");
      pci_item item;
      item.address = d->address;
      item.line = l.number;
      const std::uint64_t base = d->device_class >> 8;
      const bool nvidia = d->vendor == 0x10de || d->device.find("NVIDIA") != std::string_view::npos;
      const bool amd = d->vendor == 0x1002 || d->device.find("[AMD/ATI]") != std::string_view::npos;
      const auto is = [&](std::uint64_t code, std::string_view word) {
        return d->device_class != 0 ? d->device_class == code : d->kind == word;
      };
      if (is(0x0604, "PCI bridge")) item.what = pci_item::kind::bridge;
      else if (is(0x0302, "3D controller") ||
               ((is(0x0300, "VGA compatible controller") || is(0x0380, "Display controller")) && nvidia) ||
               ((is(0x0380, "Display controller") || is(0x1200, "Processing accelerators")) && amd))
        item.what = pci_item::kind::gpu;
      else if (d->device_class != 0 ? base == 0x02
                                    : d->kind == "Ethernet controller" || d->kind == "Infiniband controller" ||
                                          d->kind == "Network controller")
        item.what = pci_item::kind::nic;
      else if (is(0x0680, "Bridge") && nvidia &&
               (d->device.find("NVSwitch") != std::string_view::npos || d->vendor != 0))
        item.what = pci_item::kind::nvswitch;
      if (item.what == pci_item::kind::gpu) {
        item.content.model = std::string{inside_text::gpu_model_of_pci(d->vendor, d->id)};
        if (item.content.model.empty())
          item.content.model = inside_text::gpu_model_or_name(detail::lspci_model(d->device));
      }
      tree.items.push_back(std::move(item));
      extras.emplace_back();
      continue;
    }
    if (tree.items.empty()) continue;
    extra& e = extras.back();
    const std::string_view line = io_text::trim(text);
    const auto after = [line](std::string_view key) -> std::string_view {
      const std::size_t at = line.find(key);
      if (at == std::string_view::npos) return {};
      std::string_view v = io_text::trim(line.substr(at + key.size()));
      return v.substr(0, std::min(v.find_first_of(", ("), v.size()));
    };
    if (line.starts_with("Bus: primary=")) {
      e.secondary = inside_text::parse_hex(after("secondary="));
      if (!e.secondary || *e.secondary > 255)
        return fail(l.number, io_text::quoted(line), "\"Bus: primary=00, secondary=17, …\"");
    } else if (line.starts_with("NUMA node:")) {
      const std::string_view v = after("NUMA node:");
      const auto n = io_text::parse_count(v, 65535);
      if (!n && v != "-1") return fail(l.number, io_text::quoted(line), "\"NUMA node: 0\"");
      if (n) e.numa = static_cast<std::uint32_t>(*n);
    } else if (line.starts_with("LnkSta:") || (line.starts_with("LnkCap:") && !e.current)) {
      const auto speed = inside_text::parse_pcie_speed(after("Speed "));
      std::string_view width = after("Width ");
      if (width.starts_with('x')) width.remove_prefix(1);
      const auto lanes = io_text::parse_count(width, 32);
      if (speed && lanes && *lanes > 0) {
        e.speed = speed;
        e.lanes = static_cast<std::uint16_t>(*lanes);
        e.current = line.starts_with("LnkSta:");
      }
    } else if (line.find("Root Port") != std::string_view::npos ||
               line.find("Downstream Port") != std::string_view::npos) {
      if (line.find("Express") != std::string_view::npos) tree.items.back().port = true;
    }
  }
  if (tree.items.empty()) return fail(lines->empty() ? 0 : 1, "no PCI device", "the output of lspci -D -nn -vv");

  // Above each device: the bridge whose secondary bus it is on.
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t> bridges;
  for (std::size_t i = 0; i < tree.items.size(); ++i) {
    tree.items[i].up = inside_text::pcie_link(extras[i].speed, extras[i].lanes);
    if (extras[i].secondary && *extras[i].secondary != 0)
      if (!bridges.emplace(std::pair{tree.items[i].address->domain, *extras[i].secondary}, i).second)
        return fail(tree.items[i].line, "a second bridge to bus " + std::to_string(*extras[i].secondary),
                    "one bridge to a bus");
  }
  std::vector<std::size_t> above(tree.items.size(), tree.items.size());
  for (std::size_t i = 0; i < tree.items.size(); ++i) {
    const auto it = bridges.find({tree.items[i].address->domain, tree.items[i].address->bus});
    if (it != bridges.end()) above[i] = it->second;
  }
  for (std::size_t i = 0; i < tree.items.size(); ++i) {
    std::size_t depth = 0;
    for (std::size_t v = i; v != tree.items.size(); v = above[v])
      if (++depth > 64)
        return fail(tree.items[i].line, "bridges that lie below each other or too deep", "a tree of bridges");
    if (above[i] != tree.items.size()) tree.items[above[i]].below.push_back(i);
  }
  // The NUMA node of a whole tree: of its top, else the first one stated in it.
  std::vector<std::optional<std::uint32_t>> numa_of(tree.items.size());
  for (std::size_t i = 0; i < tree.items.size(); ++i) {
    std::size_t top = i;
    while (above[top] != tree.items.size()) top = above[top];
    if (!numa_of[top] || i == top) numa_of[top] = extras[i].numa ? extras[i].numa : numa_of[top];
  }
  std::map<std::uint32_t, std::vector<std::size_t>> numas;
  std::vector<std::size_t> nowhere;
  for (std::size_t i = 0; i < tree.items.size(); ++i) {
    if (above[i] != tree.items.size()) continue;
    if (numa_of[i]) numas[*numa_of[i]].push_back(i);
    else nowhere.push_back(i);
  }
  for (auto& [number, tops] : numas) {
    pci_tree::numa_item n;
    n.content.index = number;
    n.below = std::move(tops);
    tree.numas.push_back(std::move(n));
  }
  const bool placed = !tree.numas.empty();
  if (!placed && !bridges.empty()) {
    tree.numas.emplace_back();
    out.assumptions.push_back("the list tells no NUMA nodes: the machine is taken to have one");
  }
  for (const auto i : nowhere) {
    if (tree.numas.size() == 1) tree.numas[0].below.push_back(i);
    else tree.loose.push_back({i, {}});
  }
  if (bridges.empty()) out.assumptions.push_back("how the devices are joined is not in this list: lspci -vv tells");
  join_numas(tree, link_kind::cpu_link);
  std::vector<std::size_t> gpus;
  hardware_graph g = tree.graph(false, &gpus);
  if (gpus.size() > max_devices_per_node)
    return fail(tree.items[0].line, std::to_string(gpus.size()) + " GPUs in one machine", "at most 64");
  machine_report m;
  m.place = {in.name, tree.items[0].line};
  m.name = options.machine;
  m.gpus = static_cast<unsigned>(gpus.size());
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (i == 0) m.gpu_model = g[i].model;
    else if (m.gpu_model != g[i].model) m.gpu_model.clear();
  }
  if (gpus.size() > 1) out.assumptions.push_back("lspci shows no NVLinks");
  m.inside = std::move(g);
  out.machines.push_back(std::move(m));
  return out;
}

}  // namespace berth
