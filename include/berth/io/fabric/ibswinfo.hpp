#pragma once
/// \file
/// `ibswinfo`: serial numbers, power supplies and fans of one switch. Plain text; needs Boost.Graph for the result.
///
/// Read      the switch's GUID and product, so that a fabric from another file can be compared with it. It says nothing
///           about cables, so the switch stands alone here, and its level is not known (it counts as a leaf).
/// Source    stanford-rc/ibswinfo, ibswinfo.sh.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "berth/io/fabric/build_fabric.hpp"
#include "berth/io/text_lines.hpp"

namespace berth {

/// Whether the text is what `ibswinfo` writes about one switch.
[[nodiscard]] inline bool looks_like_ibswinfo(std::string_view text) noexcept {
  text = text.substr(0, 4096);
  return text.find("part number") != std::string_view::npos && text.find("\nGUID ") != std::string_view::npos &&
         text.find(" | ") != std::string_view::npos;
}

/// Reads the status of one switch as a fabric of that switch alone. O(bytes). Errors: lines of another form, no GUID.
[[nodiscard]] inline expected<site_report, input_error> read_ibswinfo(const named_text& file,
                                                                      const reader_options& options = {}) {
  fabric_detail::fabric_scan scan{file.name, options};
  io_text::line_cursor lines{file};
  std::string_view guid, product;
  std::string_view title;
  std::size_t line = 0;
  while (lines.next()) {
    const std::string_view s = io_text::trim(lines.line());
    if (s.empty() || s.find_first_not_of("=-") == std::string_view::npos) continue;
    const std::size_t bar = s.find('|');
    if (bar == std::string_view::npos) {
      if (!title.empty()) return unexpected{lines.error(io_text::quoted(s), "key | value")};
      title = s;
      continue;
    }
    const std::string_view key = io_text::trim(s.substr(0, bar)), value = io_text::trim(s.substr(bar + 1));
    if (key == "product name") product = value;
    if (key != "GUID") continue;
    if (!guid.empty()) return unexpected{lines.error("a second GUID", "the status of one switch")};
    if (!io_text::parse_hex(value))
      return unexpected{lines.error("GUID " + io_text::quoted(value), "0x and 16 digits")};
    guid = value;
    line = lines.number();
  }
  if (lines.fault()) return unexpected{*lines.fault()};
  if (guid.empty()) return unexpected{input_error{file.name, 0, "no GUID line", "GUID | 0x…"}};
  const auto s = scan.meet(fabric_detail::station_kind::network_switch, guid, line);
  if (!s) return unexpected{s.error()};
  scan.stations[*s].guid = *io_text::parse_hex(guid);
  scan.describe(*s, title.empty() ? product : title);
  return fabric_detail::report_of(scan, "ibswinfo");
}

}  // namespace berth
