#pragma once
/// \file
/// `ibnetdiscover` and `ibnetdiscover -p`: the whole InfiniBand fabric as its subnet manager sees it. Plain text; needs
/// Boost.Graph for the result.
///
/// Read      switches and adapters with GUIDs, machines by node description, cables with their rates. `-p` prints port
///           GUIDs in place of node GUIDs; on single-port adapters these are the same.
/// Assumed   levels and rails, see `build_fabric.hpp`.
/// Source    rdma-core, infiniband-diags/ibnetdiscover.c (functions `dump_topology` and `dump_ports_report`).

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "berth/io/fabric/build_fabric.hpp"
#include "berth/io/fabric/netdiscover_records.hpp"

namespace berth {

namespace fabric_detail {

/// `CA`, `SW`, `RT` at the start of a line of `-p`.
[[nodiscard]] constexpr std::optional<station_kind> kind_of_port_word(std::string_view w) noexcept {
  if (w == "CA") return station_kind::adapter;
  if (w == "SW") return station_kind::network_switch;
  if (w == "RT") return station_kind::router;
  return std::nullopt;
}

/// One end of a line of `-p`: `SW  1719 10 0x7cfe9003009ce5b0`.
struct port_words {
  station_kind kind{};
  std::uint32_t port = 0;
  std::string_view guid;
};
[[nodiscard]] constexpr bool take_port_words(std::string_view& s, port_words& out) noexcept {
  const auto kind = kind_of_port_word(io_text::take_word(s));
  const auto lid = io_text::parse_count(io_text::take_word(s), 0xFFFF);
  const auto port = io_text::parse_count(io_text::take_word(s), max_port);
  out.guid = io_text::take_word(s);
  if (!kind || !lid || !port || !out.guid.starts_with("0x") || !io_text::parse_hex(out.guid)) return false;
  out.kind = *kind;
  out.port = static_cast<std::uint32_t>(*port);
  return true;
}

[[nodiscard]] inline bool looks_like_port_lines(std::string_view text) noexcept {
  for (int lines = 0; lines < 20 && !text.empty(); ++lines) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : text.size());
    port_words w;
    if (take_port_words(line, w) && parse_width(io_text::take_word(line))) return true;
  }
  return false;
}

[[nodiscard]] inline expected<fabric_scan, input_error> read_port_lines(const named_text& file,
                                                                        const reader_options& options) {
  fabric_scan scan{file.name, options};
  io_text::line_cursor lines{file};
  while (lines.next()) {
    std::string_view s = io_text::trim(lines.line());
    if (s.empty() || s.front() == '#') continue;
    const auto fail = [&] {
      return unexpected{
          lines.error(io_text::quoted(lines.line()),
                      "a line such as SW 1719 10 0x7cfe9003009ce5b0 4x EDR - CA 134 1 0x… ( 'a' - 'b' )")};
    };
    port_words near, far;
    if (!take_port_words(s, near)) return fail();
    const std::string_view width = io_text::take_word(s), speed = io_text::take_word(s);
    if (!are_rate_words(width, speed))
      return unexpected{lines.error("rate " + io_text::quoted(std::string{width} + " " + std::string{speed}),
                                    std::string{rate_words_form} + ", or ?? ???")};
    const auto a = scan.meet(near.kind, near.guid, lines.number());
    if (!a) return unexpected{a.error()};
    scan.stations[*a].guid = *io_text::parse_hex(near.guid);
    s = io_text::trim(s);
    if (s.starts_with('\'')) {  // no peer
      if (s.size() < 2 || !s.ends_with('\'')) return fail();
      scan.describe(*a, s.substr(1, s.size() - 2));
      ++scan.loose_ports;
      continue;
    }
    if (io_text::take_word(s) != "-" || !take_port_words(s, far)) return fail();
    s = io_text::trim(s);
    const std::size_t middle = s.find("' - '");
    if (!s.starts_with("( '") || !s.ends_with("' )") || middle == std::string_view::npos || middle < 3 ||
        middle + 5 > s.size() - 3)
      return fail();
    const auto b = scan.meet(far.kind, far.guid, lines.number());
    if (!b) return unexpected{b.error()};
    scan.stations[*b].guid = *io_text::parse_hex(far.guid);
    scan.describe(*a, s.substr(3, middle - 3));
    scan.describe(*b, s.substr(middle + 5, s.size() - 3 - (middle + 5)));
    if (auto ok = scan.connect({*a, *b, near.port, far.port, rate_of_words(width, speed), lines.number(), true}); !ok)
      return unexpected{std::move(ok).error()};
  }
  if (lines.fault()) return unexpected{*lines.fault()};
  return scan;
}

}  // namespace fabric_detail

/// Whether the text is what `ibnetdiscover` or `ibnetdiscover -p` writes.
[[nodiscard]] inline bool looks_like_ibnetdiscover(std::string_view text) noexcept {
  return fabric_detail::kind_of_file(text) == fabric_detail::record_file::netdiscover ||
         fabric_detail::looks_like_port_lines(text);
}

/// Reads the output of `ibnetdiscover` or `ibnetdiscover -p` into one fabric. O(bytes).
/// Errors: the first line that is none of its forms, a port with two peers, more parts than the options allow.
[[nodiscard]] inline expected<site_report, input_error> read_ibnetdiscover(const named_text& file,
                                                                           const reader_options& options = {}) {
  const bool ports = fabric_detail::looks_like_port_lines(file.text);
  auto scan =
      ports ? fabric_detail::read_port_lines(file, options) : fabric_detail::record_reader{file, options, false}.read();
  if (!scan) return unexpected{std::move(scan).error()};
  return fabric_detail::report_of(*scan, ports ? "ibnetdiscover -p" : "ibnetdiscover");
}

}  // namespace berth
