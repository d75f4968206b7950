#pragma once
/// \file
/// `opensm-subnet.lst` of OpenSM and the `.lst` of ibdiagnet: one line per port that has a peer. Plain text; needs
/// Boost.Graph for the result.
///
///   { CA Ports:02 SystemGUID:… NodeGUID:… PortGUID:… VenID:… DevID:… Rev:… {c01 mlx5_0} LID:0005 PN:01 }
///   { SW Ports:24 … PN:14 } PHY=4x LOG=ACT SPD=25                                (all on one line)
///
/// Read      as `ibnetdiscover`; `LOG=DWN` makes a broken link.
/// Source    linux-rdma/opensm, opensm/osm_dump.c, `dump_topology_node` (port numbers and LIDs are hexadecimal).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "berth/io/fabric/build_fabric.hpp"
#include "berth/io/fabric/link_rate.hpp"
#include "berth/io/text_lines.hpp"

namespace berth {

namespace fabric_detail {

/// One `{ … }` of a line.
struct subnet_end {
  station_kind kind{};
  std::string_view guid, description;
  std::optional<std::uint64_t> system;
  std::uint32_t port = 0;
};

/// Takes one end off a line; false where it is none.
[[nodiscard]] inline bool take_subnet_end(std::string_view& s, subnet_end& out) {
  s = io_text::trim(s);
  if (!s.starts_with('{')) return false;
  s.remove_prefix(1);
  std::string_view kind = io_text::take_word(s);
  if (kind.ends_with("-SM")) kind.remove_suffix(3);
  if (kind == "SW") out.kind = station_kind::network_switch;
  else if (kind == "CA") out.kind = station_kind::adapter;
  else if (kind == "Rt" || kind == "RT") out.kind = station_kind::router;
  else return false;
  bool has_port = false;
  for (;;) {
    s = io_text::trim(s);
    if (s.empty()) return false;
    if (s.starts_with('}')) {
      s.remove_prefix(1);
      return has_port && !out.guid.empty();
    }
    if (s.starts_with('{')) {  // the description may hold blanks and braces; `} LID:` ends it
      std::size_t end = s.find("} LID:");
      if (end == std::string_view::npos) end = s.find('}');
      if (end == std::string_view::npos) return false;
      out.description = io_text::trim(s.substr(1, end - 1));
      s.remove_prefix(end + 1);
      continue;
    }
    const std::string_view word = io_text::take_word(s);
    const std::size_t colon = word.find(':');
    if (colon == std::string_view::npos) return false;
    const std::string_view key = word.substr(0, colon), value = word.substr(colon + 1);
    const auto number = io_text::parse_hex(value);
    if (!number) return false;
    if (key == "NodeGUID") {
      out.guid = value;
    } else if (key == "SystemGUID") {
      if (*number != 0) out.system = *number;
    } else if (key == "PN") {
      if (*number > max_port) return false;
      out.port = static_cast<std::uint32_t>(*number);
      has_port = true;
    }
  }
}

}  // namespace fabric_detail

/// Whether the text is such a list.
[[nodiscard]] inline bool looks_like_opensm_subnet(std::string_view text) noexcept {
  for (int lines = 0; lines < 20 && !text.empty(); ++lines) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : text.size());
    if (io_text::trim(line).starts_with('{') && line.find(" NodeGUID:") != std::string_view::npos &&
        line.find(" PN:") != std::string_view::npos)
      return true;
  }
  return false;
}

/// Reads such a list into one fabric. O(bytes). Errors as `read_ibnetdiscover`.
[[nodiscard]] inline expected<site_report, input_error> read_opensm_subnet(const named_text& file,
                                                                           const reader_options& options = {}) {
  using namespace fabric_detail;
  fabric_scan scan{file.name, options};
  io_text::line_cursor lines{file};
  while (lines.next()) {
    std::string_view s = io_text::trim(lines.line());
    if (s.empty() || s.front() == '#') continue;
    subnet_end ends[2];
    std::uint32_t at[2] = {0, 0};
    for (int i = 0; i < 2; ++i) {
      if (!take_subnet_end(s, ends[i]))
        return unexpected{lines.error(io_text::quoted(lines.line()),
                                      "{ CA or SW … NodeGUID:… {description} LID:… PN:… } twice, then PHY= LOG= SPD=")};
      const auto met = scan.meet(ends[i].kind, ends[i].guid, lines.number());
      if (!met) return unexpected{met.error()};
      at[i] = *met;
      station& p = scan.stations[*met];
      p.guid = *io_text::parse_hex(ends[i].guid);
      if (!p.system) p.system = ends[i].system;
      scan.describe(*met, ends[i].description);
    }
    std::string_view width, speed, state;
    for (std::string_view word = io_text::take_word(s); !word.empty(); word = io_text::take_word(s)) {
      if (word.starts_with("PHY=")) width = word.substr(4);
      else if (word.starts_with("LOG=")) state = word.substr(4);
      else if (word.starts_with("SPD=")) speed = word.substr(4);
      else return unexpected{lines.error(io_text::quoted(word), "PHY=, LOG= or SPD=")};
    }
    if (state != "ACT" && state != "ARM" && state != "INI" && state != "DWN")
      return unexpected{lines.error("LOG=" + io_text::quoted(state), "LOG=ACT, ARM, INI or DWN")};
    const auto rate = rate_of_opensm(width, speed);
    if (!rate && state != "DWN" && !is_unknown_word(width) && !is_unknown_word(speed))
      return unexpected{lines.error("PHY=" + io_text::quoted(width) + " SPD=" + io_text::quoted(speed),
                                    "lanes and their speed such as PHY=4x SPD=25")};
    if (auto ok = scan.connect({at[0], at[1], ends[0].port, ends[1].port, rate, lines.number(), state != "DWN"}); !ok)
      return unexpected{std::move(ok).error()};
  }
  if (lines.fault()) return unexpected{*lines.fault()};
  return report_of(scan, "OpenSM subnet list");
}

}  // namespace berth
