#pragma once
/// \file
/// `iblinkinfo` and `iblinkinfo -l`: the state of every port. Plain text; needs Boost.Graph for the result.
///
///   Switch: 0x0002c90200404ad8 MF0;leaf01:MQM9700/U1:
///           4    3[  ] ==( 4X         106.25 Gbps Active/  LinkUp)==>      15    1[  ] "exe0002 mlx5_0" ( )
///           4   18[  ] ==(                Down/ Polling)==>             [  ] "" ( )
///   CA: exe0002 mlx5_0:
///      0x0002c903000e0b72     15    1[  ] ==( 4X         106.25 Gbps Active/  LinkUp)==>       4    3[  ] "…" ( )
///   with -l: 0x0002c90200404ad8 "  leaf01"      4    3[  ] ==(…)==>  0x0002c903000e0b72     15    1[  ] "…" ( )
///
/// Read      as `ibnetdiscover`. Without -l a peer is told by its LID; its GUID is known where it has a section itself
///           (`--switches-only` leaves adapters without). Links that are neither Active, Armed nor Init are broken. A
///           port that is down has no peer and is left out.
/// Source    rdma-core, infiniband-diags/iblinkinfo.c, `print_port` and `print_node_header`.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "berth/io/fabric/build_fabric.hpp"
#include "berth/io/fabric/link_rate.hpp"
#include "berth/io/text_lines.hpp"

namespace berth {

namespace fabric_detail {

class linkinfo_reader {
 public:
  linkinfo_reader(const named_text& file, const reader_options& options) : lines_{file}, scan_{file.name, options} {}

  [[nodiscard]] expected<fabric_scan, input_error> read() {
    while (lines_.next())
      if (auto ok = take(lines_.line()); !ok) return unexpected{std::move(ok).error()};
    if (lines_.fault()) return unexpected{*lines_.fault()};
    return std::move(scan_);
  }

  /// `Switch: 0x… name:`, `CA: name:`; older: `Switch 0x… name:`.
  struct header {
    station_kind kind{};
    std::optional<std::uint64_t> guid;
    std::string_view name;
  };
  [[nodiscard]] static std::optional<header> parse_header(std::string_view s) noexcept {
    header out;
    std::string_view rest = s;
    std::string_view first = io_text::take_word(rest);
    const bool colon = first.ends_with(':');
    if (colon) first.remove_suffix(1);
    if (first == "Switch") out.kind = station_kind::network_switch;
    else if (first == "CA" || first == "Ca") out.kind = station_kind::adapter;
    else if (first == "Router") out.kind = station_kind::router;
    else return std::nullopt;
    rest = io_text::trim(rest);
    if (rest.starts_with("0x")) {
      const auto guid = io_text::parse_hex(io_text::take_word(rest));
      if (!guid) return std::nullopt;
      out.guid = *guid;
    } else if (!colon) {
      return std::nullopt;
    }
    rest = io_text::trim(rest);
    if (rest.ends_with(':')) rest.remove_suffix(1);
    out.name = io_text::trim(rest);
    return out;
  }

 private:
  using status = expected<void, input_error>;

  [[nodiscard]] status fail(std::string_view line) const {
    return unexpected{
        lines_.error(io_text::quoted(line),
                     "a line such as 4 3[ ] ==( 4X 106.25 Gbps Active/ LinkUp)==> 15 1[ ] \"host mlx5_0\" ( )")};
  }

  [[nodiscard]] status take(std::string_view line) {
    std::string_view s = io_text::trim(line);
    if (s.empty() || s.front() == '#') return {};
    const std::size_t arrow = s.find("==(");
    if (arrow == std::string_view::npos) {
      const auto h = parse_header(s);
      if (!h) return fail(line);
      open_ = h;
      return {};
    }
    const std::size_t end = s.find("==>", arrow);
    if (end == std::string_view::npos || end < arrow + 4) return fail(line);
    // Near end: [0xguid] ["description"] lid port[ext]
    std::string_view near = s.substr(0, arrow);
    end_words here;
    const bool whole_line = near.find('"') != std::string_view::npos;
    if (!take_guid(near, here)) return fail(line);
    if (whole_line) {
      if (!near.starts_with('"')) return fail(line);
      const std::size_t close = near.rfind('"');
      if (close == 0) return fail(line);
      here.description = io_text::trim(near.substr(1, close - 1));
      near = near.substr(close + 1);
    }
    if (!take_lid_and_port(near, here) || !io_text::trim(near).empty()) return fail(line);
    if (!whole_line && !open_)
      return unexpected{lines_.error("a port before any device", "a Switch: or CA: line first")};
    // State: `4X 106.25 Gbps Active/ LinkUp)`, and with -p settings after it.
    std::string_view state = s.substr(arrow + 3, end - arrow - 3);
    const std::size_t slash = state.find('/');
    if (slash == std::string_view::npos) return fail(line);
    std::string_view words = state.substr(0, slash);
    std::string_view last, width, signal;
    for (std::string_view w = io_text::take_word(words); !w.empty(); w = io_text::take_word(words)) {
      if (width.empty() && parse_width(w)) width = w;
      if (w == "Gbps") signal = last;
      last = w;
    }
    const bool works = last == "Active" || last == "Armed" || last == "Init" || last == "Initialize";
    const auto rate = rate_of_signal(width, signal, state.find("FDR10") != std::string_view::npos);
    // What it does not know it prints as "undefined (4)".
    if (works && !rate && state.find("ndefined") == std::string_view::npos) return fail(line);
    // Far end.
    std::string_view far = io_text::trim(s.substr(end + 3));
    if (far.starts_with("[") || far.starts_with("\"Port not")) {
      if (works) ++scan_.loose_ports;
      return meet_near(here, whole_line) ? status{} : status{unexpected{*std::move(bad_)}};
    }
    end_words there;
    const std::size_t quote = far.find('"'), close = far.rfind('"');
    if (quote == std::string_view::npos || quote == close) return fail(line);
    there.description = io_text::trim(far.substr(quote + 1, close - quote - 1));
    std::string_view front = far.substr(0, quote);
    if (!take_guid(front, there) || !take_lid_and_port(front, there) || !io_text::trim(front).empty())
      return fail(line);
    const auto a = meet_near(here, whole_line);
    if (!a) return unexpected{*std::move(bad_)};
    const auto b = meet_far(there);
    if (!b) return unexpected{*std::move(bad_)};
    return scan_.connect({*a, *b, here.port, there.port, rate, lines_.number(), works});
  }

  struct end_words {
    std::optional<std::uint64_t> guid;
    std::uint32_t lid = 0, port = 0;
    std::string_view description;
  };
  [[nodiscard]] static bool take_guid(std::string_view& s, end_words& out) {
    s = io_text::trim(s);
    if (!s.starts_with("0x")) return true;
    const auto v = io_text::parse_hex(io_text::take_word(s));
    s = io_text::trim(s);
    if (v) out.guid = *v;
    return v.has_value();
  }
  /// `15    1[  ]`
  [[nodiscard]] static bool take_lid_and_port(std::string_view& s, end_words& out) {
    const auto lid = io_text::parse_count(io_text::take_word(s), 0xFFFF);
    s = io_text::trim(s);
    const std::size_t open = s.find('['), close = s.find(']');
    if (!lid || open == std::string_view::npos || close == std::string_view::npos || close < open) return false;
    const auto port = io_text::parse_count(io_text::trim(s.substr(0, open)), max_port);
    if (!port) return false;
    out.lid = static_cast<std::uint32_t>(*lid);
    out.port = static_cast<std::uint32_t>(*port);
    s.remove_prefix(close + 1);
    return true;
  }

  [[nodiscard]] std::string_view name_of(std::uint32_t lid) {
    auto& name = lid_names_[lid];
    if (name.empty()) name = scan_.keep("lid " + std::to_string(lid));
    return name;
  }
  /// Stations are told by their LID, which both forms print for both ends.
  [[nodiscard]] std::optional<std::uint32_t> meet(station_kind kind, const end_words& w) {
    auto met = scan_.meet(kind, name_of(w.lid), lines_.number());
    if (!met) {
      bad_ = std::move(met).error();
      return std::nullopt;
    }
    station& s = scan_.stations[*met];
    if (w.guid) {
      if (s.guid && *s.guid != *w.guid) {
        bad_ = lines_.error("LID " + std::to_string(w.lid) + " with another GUID than before", "one GUID for each LID");
        return std::nullopt;
      }
      s.guid = w.guid;
    }
    scan_.describe(*met, w.description);
    return *met;
  }
  /// The kind of a device known by its LID, else what its name says: hosts are "name device".
  [[nodiscard]] station_kind kind_of(const end_words& w) {
    if (const auto known = scan_.find(name_of(w.lid))) return scan_.stations[*known].kind;
    if (is_part_of_a_switch(w.description) && !w.description.starts_with("MF0;")) return station_kind::adapter;
    const adapter_words words = words_of_adapter(w.description);
    if (!words.device.empty()) return station_kind::adapter;
    // "MT4129 ConnectX7   Mellanox Technologies"
    return w.description.find("ConnectX") != std::string_view::npos ||
                   w.description.find("HCA") != std::string_view::npos
               ? station_kind::adapter
               : station_kind::network_switch;
  }
  [[nodiscard]] std::optional<std::uint32_t> meet_near(end_words w, bool whole_line) {
    if (whole_line) return meet(kind_of(w), w);
    if (open_->kind == station_kind::network_switch) w.guid = open_->guid;
    else if (!w.guid) w.guid = open_->guid;
    w.description = open_->name;
    return meet_as(open_->kind, w);
  }
  [[nodiscard]] std::optional<std::uint32_t> meet_far(const end_words& w) { return meet(kind_of(w), w); }
  /// A section says for certain what a device is; what its peers guessed before gives way.
  [[nodiscard]] std::optional<std::uint32_t> meet_as(station_kind kind, const end_words& w) {
    if (const auto known = scan_.find(name_of(w.lid))) {
      station& s = scan_.stations[*known];
      if (!certain(*known)) s.kind = kind;
      mark_certain(*known);
    }
    const auto met = meet(kind, w);
    if (met) mark_certain(*met);
    return met;
  }
  [[nodiscard]] bool certain(std::uint32_t s) const { return s < certain_.size() && certain_[s]; }
  void mark_certain(std::uint32_t s) {
    if (certain_.size() <= s) certain_.resize(std::size_t{s} + 1, false);
    certain_[s] = true;
  }

  io_text::line_cursor lines_;
  fabric_scan scan_;
  std::optional<header> open_;
  std::unordered_map<std::uint32_t, std::string_view> lid_names_;
  std::optional<input_error> bad_;
  std::vector<bool> certain_;
};

}  // namespace fabric_detail

/// Whether the text is what `iblinkinfo` writes.
[[nodiscard]] inline bool looks_like_iblinkinfo(std::string_view text) noexcept {
  for (int lines = 0; lines < 100 && !text.empty(); ++lines) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : text.size());
    const std::size_t arrow = line.find("==(");
    if (arrow != std::string_view::npos && line.find(")==>", arrow) != std::string_view::npos) return true;
  }
  return false;
}

/// Reads the output of `iblinkinfo` or `iblinkinfo -l` into one fabric. O(bytes). Errors as `read_ibnetdiscover`.
[[nodiscard]] inline expected<site_report, input_error> read_iblinkinfo(const named_text& file,
                                                                        const reader_options& options = {}) {
  auto scan = fabric_detail::linkinfo_reader{file, options}.read();
  if (!scan) return unexpected{std::move(scan).error()};
  return fabric_detail::report_of(*scan, "iblinkinfo");
}

}  // namespace berth
