#pragma once
/// \file
/// PCI addresses, PCIe rates and CPU sets, as the tools that show a machine's inside write them.
///
/// Every parser takes the whole text or nothing. Cost O(length). Standard library alone.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/core/units.hpp"
#include "berth/io/text.hpp"

namespace berth::inside_text {

/// The value of a hexadecimal digit; empty for any other character.
[[nodiscard]] constexpr std::optional<unsigned> hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  c = io_text::lower(c);
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  return std::nullopt;
}

/// Hexadecimal digits, with or without a leading `0x`, at most 16 of them; empty otherwise.
[[nodiscard]] constexpr std::optional<std::uint64_t> parse_hex(std::string_view s) noexcept {
  if (s.size() > 2 && s[0] == '0' && io_text::lower(s[1]) == 'x') s.remove_prefix(2);
  if (s.empty() || s.size() > 16) return std::nullopt;
  std::uint64_t v = 0;
  for (const char c : s) {
    const auto d = hex_digit(c);
    if (!d) return std::nullopt;
    v = v << 4 | *d;
  }
  return v;
}

/// A PCI address in parts.
struct pci_address {
  std::uint32_t domain = 0;
  std::uint8_t bus = 0, device = 0, function = 0;
  /// The same device, whichever function.
  [[nodiscard]] constexpr bool same_device(const pci_address& b) const noexcept {
    return domain == b.domain && bus == b.bus && device == b.device;
  }
  friend constexpr auto operator<=>(const pci_address&, const pci_address&) noexcept = default;
};

/// `[domain:]bus:device[.function]` in hexadecimal: "00000000:1B:00.0", "0000:1b:00.0", "1b:00.0", "10000:e1:00.0".
[[nodiscard]] constexpr std::optional<pci_address> parse_pci_address(std::string_view s) noexcept {
  pci_address out;
  const std::size_t last = s.rfind(':');
  if (last == std::string_view::npos) return std::nullopt;
  std::string_view device = s.substr(last + 1), bus = s.substr(0, last), domain;
  if (const std::size_t dot = device.find('.'); dot != std::string_view::npos) {
    const std::string_view f = device.substr(dot + 1);
    const auto v = parse_hex(f);
    if (f.size() != 1 || !v || *v > 7) return std::nullopt;
    out.function = static_cast<std::uint8_t>(*v);
    device = device.substr(0, dot);
  }
  if (const std::size_t first = bus.find(':'); first != std::string_view::npos) {
    domain = bus.substr(0, first);
    bus = bus.substr(first + 1);
    const auto v = parse_hex(domain);
    if (domain.empty() || domain.size() > 8 || !v || domain.find('x') != std::string_view::npos) return std::nullopt;
    out.domain = static_cast<std::uint32_t>(*v);
  }
  if (bus.empty() || bus.size() > 2 || device.empty() || device.size() > 2) return std::nullopt;
  const auto b = parse_hex(bus), d = parse_hex(device);
  if (!b || !d) return std::nullopt;  // "fffffff:ff:ff.0" stands for an NVSwitch that cannot be seen
  out.bus = static_cast<std::uint8_t>(*b);
  out.device = static_cast<std::uint8_t>(*d);
  return out;
}

/// "0000:1b:00.0"
[[nodiscard]] inline std::string pci_text(const pci_address& a) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string domain;
  for (int shift = 28; shift >= 0; shift -= 4)
    if (shift < 16 || a.domain >> shift != 0) domain += hex[a.domain >> shift & 15U];
  return domain + ':' + hex[a.bus >> 4] + hex[a.bus & 15U] + ':' + hex[a.device >> 4] + hex[a.device & 15U] + '.' +
         hex[a.function & 15U];
}

/// A PCI address as "0000:1b:00.0"; empty where `s` is none.
[[nodiscard]] inline std::optional<std::string> normal_bus_id(std::string_view s) {
  const auto a = parse_pci_address(s);
  if (!a) return std::nullopt;
  return pci_text(*a);
}

/// What `normal_bus_id` reads, for messages.
inline constexpr const char* bus_id_form = "a PCI bus id such as 0000:1b:00.0";

/// Speed of one PCIe lane.
struct pcie_speed {
  std::uint8_t generation = 0;
  double lane_gbps = 0;  ///< GB/s in one direction after line coding (8b/10b to Gen2, 128b/130b to Gen5, FLITs in Gen6)
};

/// Speeds by generation, from the transfer rate and line code of the PCIe base specifications 1.0 to 6.0. Gen6 as
/// 242/256 bytes of a FLIT.
[[nodiscard]] constexpr std::optional<pcie_speed> pcie_generation(std::uint64_t generation) noexcept {
  switch (generation) {
    case 1:
      return pcie_speed{1, 2.5 * 8 / 10 / 8};
    case 2:
      return pcie_speed{2, 5.0 * 8 / 10 / 8};
    case 3:
      return pcie_speed{3, 8.0 * 128 / 130 / 8};
    case 4:
      return pcie_speed{4, 16.0 * 128 / 130 / 8};
    case 5:
      return pcie_speed{5, 32.0 * 128 / 130 / 8};
    case 6:
      return pcie_speed{6, 64.0 * 242 / 256 / 8};
    default:
      return std::nullopt;
  }
}

/// A PCIe speed as tools write it: "16 GT/s", "16.0 GT/s PCIe", "8GT/s", "Gen4", "gen 5", "4". Empty: nothing stated
/// ("", "Unknown", "N/A") or no such speed.
[[nodiscard]] inline std::optional<pcie_speed> parse_pcie_speed(std::string_view text) {
  std::string s;
  for (const char c : io_text::lower(text))
    if (!io_text::is_blank(c)) s += c;
  std::string_view v{s};
  const auto drop_end = [&v](std::string_view word) {
    if (v.ends_with(word)) v.remove_suffix(word.size());
  };
  if (v.starts_with("gen")) {
    const auto g = io_text::parse_count(v.substr(3), 9);
    return g ? pcie_generation(*g) : std::nullopt;
  }
  drop_end("pcie");
  const bool transfers = v.ends_with("gt/s");
  drop_end("gt/s");
  const auto rate = io_text::parse_thousandths(v, 1'000'000);
  if (!rate) return std::nullopt;
  if (!transfers && *rate % 1000 == 0 && *rate <= 6000)
    return pcie_generation(static_cast<std::uint64_t>(*rate / 1000));
  constexpr std::int64_t speeds[] = {2500, 5000, 8000, 16000, 32000, 64000};
  for (std::uint64_t g = 1; g <= 6; ++g)
    if (speeds[g - 1] == *rate) return pcie_generation(g);
  return std::nullopt;
}

/// Ranges of CPUs, ascending, both ends included.
struct cpu_range {
  std::uint32_t first = 0, last = 0;
  friend constexpr bool operator==(const cpu_range&, const cpu_range&) noexcept = default;
};
using cpu_set = std::vector<cpu_range>;

/// Largest CPU number that is read.
inline constexpr std::uint32_t max_cpu = 1U << 20;

/// CPUs in a set.
[[nodiscard]] inline std::size_t count_cpus(const cpu_set& s) noexcept {
  std::size_t n = 0;
  for (const auto& r : s) n += std::size_t{r.last} - r.first + 1;
  return n;
}
/// True when the two have a CPU in common. O(sum of ranges).
[[nodiscard]] inline bool overlap(const cpu_set& a, const cpu_set& b) noexcept {
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].last < b[j].first) ++i;
    else if (b[j].last < a[i].first) ++j;
    else return true;
  }
  return false;
}
/// "0-31,64-95"
[[nodiscard]] inline std::string cpu_text(const cpu_set& s) {
  std::string out;
  for (const auto& r : s) {
    if (!out.empty()) out += ',';
    out += std::to_string(r.first);
    if (r.last != r.first) out += "-" + std::to_string(r.last);
  }
  return out;
}

/// `0-31,64-95`, ascending and without overlap; empty where `s` is none.
[[nodiscard]] inline std::optional<cpu_set> parse_cpu_list(std::string_view s) {
  cpu_set out;
  for (;;) {
    const std::size_t comma = s.find(',');
    const std::string_view item = s.substr(0, comma);
    const std::size_t dash = item.find('-');
    const auto lo = io_text::parse_count(item.substr(0, dash), max_cpu);
    const auto hi = dash == std::string_view::npos ? lo : io_text::parse_count(item.substr(dash + 1), max_cpu);
    if (!lo || !hi || *lo > *hi || (!out.empty() && out.back().last >= *lo)) return std::nullopt;
    out.push_back({static_cast<std::uint32_t>(*lo), static_cast<std::uint32_t>(*hi)});
    if (comma == std::string_view::npos) return out;
    s.remove_prefix(comma + 1);
  }
}

/// A mask of 32-bit groups in hexadecimal, the highest first, separated by commas: "00000000,00ffffff", hwloc's
/// "0xff,0xffff0000", an empty group for 0 ("0x0000ffff,,0x0000ffff"). A single group may have more than 32 bits.
/// Empty where `s` is none, also for hwloc's infinite "0xf...f".
[[nodiscard]] inline std::optional<cpu_set> parse_cpu_mask(std::string_view s) {
  if (s.empty() || s.size() > (std::size_t{max_cpu} / 32) * 11) return std::nullopt;
  cpu_set out;
  const auto add = [&out](std::uint32_t cpu) {
    if (!out.empty() && out.back().last + 1 == cpu) out.back().last = cpu;
    else out.push_back({cpu, cpu});
  };
  std::uint32_t base = 0;
  const bool grouped = s.find(',') != std::string_view::npos;
  for (;;) {
    const std::size_t comma = s.rfind(',');
    std::string_view group = comma == std::string_view::npos ? s : s.substr(comma + 1);
    if (group.size() >= 2 && group[0] == '0' && io_text::lower(group[1]) == 'x') {
      group.remove_prefix(2);
      if (group.empty()) return std::nullopt;
    } else if (group.empty() && !grouped) {
      return std::nullopt;
    }
    if (grouped && group.size() > 8) return std::nullopt;
    std::uint32_t bit = base;
    for (std::size_t i = group.size(); i-- > 0; bit += 4) {
      const auto d = hex_digit(group[i]);
      if (!d || bit >= max_cpu) return std::nullopt;
      for (unsigned k = 0; k < 4; ++k)
        if ((*d >> k & 1U) != 0) add(bit + k);
    }
    if (comma == std::string_view::npos) return out;
    s = s.substr(0, comma);
    base += 32;
    if (base >= max_cpu) return std::nullopt;
  }
}

}  // namespace berth::inside_text
