#pragma once
/// \file
/// The elements, attributes and types of hwloc's XML, and its numbers. Needs pugixml.
/// Source: hwloc 1.11 to 3.0, topology-xml.c and the documentation of attributes.

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "berth/io/inside/bus_id.hpp"
#include "berth/io/inside/xml_text.hpp"

namespace berth::inside_text {

/// Types of objects in all formats.
inline constexpr std::string_view hwloc_types =
    "Machine System Package Socket NUMANode Node MemCache Group Die Core PU Cache L1Cache L2Cache L3Cache L4Cache "
    "L5Cache L1iCache L2iCache L3iCache Bridge PCIDev OSDev Misc";

/// What of the <topology> or of an <object>, or of what is right below it, is close to a name or type of hwloc's but
/// none: a mistake. So is a device of a type that is none.
[[nodiscard]] inline std::optional<input_error> hwloc_mistake(const xml_text& xml, pugi::xml_node v) {
  if (std::string_view{v.name()} == "topology")
    return misspelt(xml, v,
                    "object info distances distances2 distances2hetero cpukind memattr memtier support userdata",
                    "version");
  if (auto bad = misspelt(
          xml, v, "object info page_type userdata distances",
          "type subtype id os_index gp_index name cpuset nodeset allowed_cpuset allowed_nodeset complete_cpuset "
          "complete_nodeset online_cpuset local_memory depth kind subkind cache_size cache_linesize cache_type "
          "cache_associativity cache_inclusive bridge_type bridge_pci pci_busid pci_type pci_link_speed osdev_type "
          "dont_merge os_level"))
    return bad;
  for (const auto i : v.children("info"))
    if (auto bad = misspelt(xml, i, "", "name value")) return bad;
  const std::string_view type = attribute(v, "type");
  if (io_text::is_word_of(type, hwloc_types)) return std::nullopt;
  const std::string_view meant = io_text::close_to(type, hwloc_types);
  if (meant.empty() && !type.empty() && !v.attribute("pci_busid") && !v.attribute("bridge_type")) return std::nullopt;
  return xml.place(v).error(
      "an object of type " + io_text::quoted(type),
      meant.empty() ? "a type of hwloc's, such as NUMANode, Bridge, PCIDev or OSDev" : std::string{meant});
}
/// Says that an object is of a type that no known hwloc has.
[[nodiscard]] inline std::string hwloc_unknown_type(const xml_text& xml, pugi::xml_node v) {
  return "objects of type " + io_text::quoted(attribute(v, "type")) + " (line " + std::to_string(xml.line(v)) +
         ") are passed over, but for what is in them";
}

/// What an attribute says, where it is there: a number up to `most`. Sets `bad` where it is something else.
[[nodiscard]] inline std::optional<std::uint64_t> hwloc_count(const xml_text& xml, pugi::xml_node v, const char* name,
                                                              std::uint64_t most, std::optional<input_error>& bad) {
  const std::string_view text = attribute(v, name);
  const auto n = io_text::parse_count(text, most);
  if (!n && v.attribute(name) && !bad)
    bad = xml.place(v).error(std::string{name} + " " + io_text::quoted(text), "a number up to " + std::to_string(most));
  return n;
}

/// pci_link_speed: GB/s of all lanes, 0 where hwloc does not know. Sets `bad` where it is no such number.
[[nodiscard]] inline double hwloc_speed(const xml_text& xml, pugi::xml_node v, std::optional<input_error>& bad) {
  const std::string_view text = attribute(v, "pci_link_speed");
  double gbps = 0;
  if (!v.attribute("pci_link_speed")) return gbps;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), gbps, std::chars_format::fixed);
  if ((fault != std::errc{} || end != text.data() + text.size() || !(gbps >= 0 && gbps < 10000)) && !bad)
    bad = xml.place(v).error("pci_link_speed " + io_text::quoted(text), "GB/s such as 15.753846");
  return gbps;
}

/// `pci_type="0302 [10de:2335] [10de:18bf] a1"`.
struct hwloc_pci_type {
  std::uint64_t device_class = 0, vendor = 0, device = 0;
};
/// Empty where `type` has another form.
[[nodiscard]] inline std::optional<hwloc_pci_type> parse_hwloc_pci_type(std::string_view type) noexcept {
  if (type.size() < 16 || type.substr(4, 2) != " [" || type[10] != ':' || type[15] != ']') return std::nullopt;
  std::uint64_t out[3] = {};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = 0; k < 4; ++k) {
      const auto digit = hex_digit(type[(i == 0 ? 0 : i == 1 ? 6 : 11) + k]);
      if (!digit) return std::nullopt;
      out[i] = out[i] << 4 | *digit;
    }
  return hwloc_pci_type{out[0], out[1], out[2]};
}

}  // namespace berth::inside_text
