#pragma once
/// \file
/// The records that `ibnetdiscover` writes and that `ibsim` reads back: a header line per device, then its ports.
///
///   Switch  65 "S-2c5eab0300b87b40"   # "MF0;leaf-04:MQM9701/U1" enhanced port 0 lid 73 lmc 0
///   [1]     "H-e09d7303007a4bd8"[1](e09d7303007a4bd8)   # "c01 mlx5_5" lid 647 4xNDR
///   Ca      1 "H-e09d7303007a4bd8"    # "c01 mlx5_5"
///   [1](e09d7303007a4bd8)  "S-2c5eab0300b87b40"[1]   # lid 647 lmc 0 "MF0;leaf-04:MQM9701/U1" lid 73 4xNDR
///
/// Source: rdma-core, infiniband-diags/ibnetdiscover.c (`-f` and newer builds add `s= w= v= e=`, `-g` adds chassis
/// lines and `[ext 3]`); linux-rdma/ibsim, README and net-examples/.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/fabric/fabric_scan.hpp"
#include "berth/io/fabric/link_rate.hpp"
#include "berth/io/text_lines.hpp"

namespace berth::fabric_detail {

/// GUID in an id such as "S-2c5eab0300b87b40"; empty for free words.
[[nodiscard]] constexpr std::optional<std::uint64_t> guid_of_id(std::string_view id) noexcept {
  if (id.size() < 3 || id[1] != '-' || (id[0] != 'S' && id[0] != 'H' && id[0] != 'R')) return std::nullopt;
  const auto v = io_text::parse_hex(id.substr(2));
  if (!v || *v == 0) return std::nullopt;
  return *v;
}

/// What begins a record; empty for other words.
[[nodiscard]] constexpr std::optional<station_kind> kind_of_record(std::string_view word) noexcept {
  if (io_text::equal_nocase(word, "Switch")) return station_kind::network_switch;
  if (io_text::equal_nocase(word, "Ca") || io_text::equal_nocase(word, "Hca")) return station_kind::adapter;
  if (io_text::equal_nocase(word, "Rt") || io_text::equal_nocase(word, "Router")) return station_kind::router;
  return std::nullopt;
}

/// What kind of file has these records.
enum class record_file : std::uint8_t { none, netdiscover, ibsim };

/// Told from the first record. O(length up to it, at most 64 KiB).
[[nodiscard]] constexpr record_file kind_of_file(std::string_view text) noexcept {
  text = text.substr(0, std::size_t{1} << 16);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string_view first = io_text::take_word(line);
    if (!kind_of_record(first)) continue;
    const std::string_view ports = io_text::take_word(line);
    if (!io_text::parse_count(ports, 1000)) continue;
    line = io_text::trim(line);
    if (!line.starts_with('"')) continue;
    const std::size_t close = line.find('"', 1);
    if (close == std::string_view::npos) continue;
    const bool guid = guid_of_id(line.substr(1, close - 1)).has_value();
    return guid && !io_text::equal_nocase(first, "Hca") ? record_file::netdiscover : record_file::ibsim;
  }
  return record_file::none;
}

class record_reader {
 public:
  /// \param free_names  ids are free words (ibsim), so that only its record tells what a peer is.
  record_reader(const named_text& file, const reader_options& options, bool free_names)
      : file_{file}, lines_{file}, scan_{file.name, options}, free_names_{free_names} {}

  [[nodiscard]] expected<fabric_scan, input_error> read() {
    if (free_names_)
      if (auto ok = meet_all(); !ok) return unexpected{std::move(ok).error()};
    while (lines_.next())
      if (auto ok = take(lines_.line()); !ok) return unexpected{std::move(ok).error()};
    if (lines_.fault()) return unexpected{*lines_.fault()};
    for (const auto& s : scan_.stations)
      if (s.ports == 0 && ++scan_.unlisted == 1) scan_.first_unlisted = s.id;
    return std::move(scan_);
  }

 private:
  using status = expected<void, input_error>;

  [[nodiscard]] status fail(std::string found, std::string wanted) const {
    return unexpected{lines_.error(std::move(found), std::move(wanted))};
  }

  /// All records first: ports name peers whose records come later.
  [[nodiscard]] status meet_all() {
    for (io_text::line_cursor all{file_}; all.next();) {
      std::string_view s = all.line();
      const auto kind = kind_of_record(io_text::take_word(s));
      (void)io_text::take_word(s);
      std::string_view id;
      if (!kind || !quoted(s, id)) continue;
      if (const auto met = scan_.meet(*kind, id, all.number()); !met) return unexpected{met.error()};
    }
    return {};
  }

  [[nodiscard]] status take(std::string_view line) {
    std::string_view s = io_text::trim(line);
    if (s.empty()) {
      if (line.empty()) open_.reset();
      return {};
    }
    if (s.front() == '#') return {};
    if (s.front() == '[') return take_port(s);
    std::string_view rest = s;
    const std::string_view first = io_text::take_word(rest);
    if (const auto kind = kind_of_record(first)) return take_record(*kind, rest);
    if (s.starts_with("sysimgguid=")) {
      const auto v = io_text::parse_hex(io_text::take_word(s).substr(11));
      if (!v) return fail(io_text::quoted(line), "sysimgguid=0x and hexadecimal digits");
      if (*v != 0) system_ = *v;
      return {};
    }
    for (const std::string_view known : {"vendid=", "devid=", "switchguid=", "caguid=", "hcaguid=", "rtguid="})
      if (s.starts_with(known)) {
        if (known == "vendid=") system_.reset();  // a record begins
        return {};
      }
    for (const std::string_view known : {"Chassis ", "Hostname:", "Non-Chassis Nodes"})
      if (s.starts_with(known)) return {};
    if (s.starts_with(": 0x") || rest.starts_with(": 0x") || io_text::trim(rest).starts_with(": 0x"))
      return fail("a list of devices without cables", "the output of ibnetdiscover without -l");
    return fail(io_text::quoted(line),
                "a Switch, Ca or Rt line, a [port] line, or what ibnetdiscover writes before one");
  }

  /// `65 "S-…"  # "description" …`
  [[nodiscard]] status take_record(station_kind kind, std::string_view rest) {
    const std::string_view ports = io_text::take_word(rest);
    const auto number = io_text::parse_count(ports, 1000);
    if (!number || *number == 0) return fail("number of ports " + io_text::quoted(ports), "a number such as 65");
    std::string_view id;
    if (!quoted(rest, id))
      return fail(io_text::quoted(rest), "the device in double quotes, such as \"S-2c5eab0300b87b40\"");
    if (auto ok = check_id(id); !ok) return ok;
    if (const auto told = kind_of_letter(id); !free_names_ && told != kind)
      return fail("the " + std::string{to_string(kind)} + " " + io_text::quoted(id),
                  "\"S-…\" for a switch, \"H-…\" for an adapter, \"R-…\" for a router");
    const auto s = scan_.meet(kind, id, lines_.number());
    if (!s) return unexpected{s.error()};
    open_ = *s;
    scan_.stations[*s].ports = static_cast<std::uint32_t>(*number);
    scan_.stations[*s].guid = guid_of_id(id);
    if (system_) scan_.stations[*s].system = system_;
    system_.reset();
    std::string_view description;
    if (const std::size_t hash = rest.find('#'); hash != std::string_view::npos) {
      std::string_view comment = rest.substr(hash + 1);
      if (last_quoted(comment, description)) scan_.describe(*s, description);
      else if (comment.find('"') != std::string_view::npos)
        return fail(io_text::quoted(comment), "the description in two double quotes");
    }
    if (!guid_of_id(id)) scan_.describe(*s, id);  // ibsim: the word is the name
    return {};
  }

  /// `[1](guid)  "S-…"[5](guid)  # … "description" lid 73 4xNDR`
  [[nodiscard]] status take_port(std::string_view s) {
    if (!open_) return fail("a port before any device", "a Switch, Ca or Rt line first");
    cable c;
    c.a = *open_;
    c.line = lines_.number();
    if (!port(s, c.port_a)) return fail(io_text::quoted(s), "[port]");
    if (c.port_a > scan_.stations[*open_].ports)
      return fail("port " + std::to_string(c.port_a) + " of " + io_text::quoted(scan_.stations[*open_].id),
                  "at most " + std::to_string(scan_.stations[*open_].ports) + ", as its record says");
    std::string_view id;
    if (!quoted(s, id)) return fail(io_text::quoted(s), "the peer in double quotes after [port]");
    if (!port(s, c.port_b)) return fail(io_text::quoted(s), "[port] of the peer");
    if (auto ok = check_id(id); !ok) return ok;
    const auto kind = kind_of_peer(id);
    if (!kind) return fail("peer " + io_text::quoted(id) + ", which has no record", "its own Switch or Hca line");
    const auto peer = scan_.meet(*kind, id, lines_.number());
    if (!peer) return unexpected{peer.error()};
    c.b = *peer;
    if (!scan_.stations[c.b].guid) scan_.stations[c.b].guid = guid_of_id(id);
    if (const std::size_t hash = s.find('#'); hash != std::string_view::npos) {
      std::string_view comment = s.substr(hash + 1), description;
      if (last_quoted(comment, description)) scan_.describe(c.b, description);
      if (auto ok = take_rate(comment, c); !ok) return ok;
    }
    return scan_.connect(c);
  }

  /// The rate stands after the description: `lid 647 4xNDR s=4 …`.
  [[nodiscard]] status take_rate(std::string_view words, cable& c) const {
    bool found = false;
    while (!io_text::trim(words).empty()) {
      const std::string_view word = io_text::take_word(words);
      if (word == "lid" || word == "lmc") {
        if (io_text::parse_count(io_text::take_word(words), 0xFFFF)) continue;
        return fail("no number after " + io_text::quoted(word), "a number");
      }
      if (const std::size_t equal = word.find('='); equal != std::string_view::npos && equal > 0) continue;
      const std::size_t cut = word.starts_with("??") ? 2 : word.find('x') + 1;
      if (cut != 0 && are_rate_words(word.substr(0, cut), word.substr(cut)) && !found) {
        c.rate = rate_of_words(word.substr(0, cut), word.substr(cut));
        found = true;
      } else if (!free_names_) {
        return fail(io_text::quoted(word) + " behind the peer's description",
                    "lid, lmc, and a rate such as 4xNDR: " + std::string{rate_words_form});
      }
    }
    return {};
  }

  /// In ibnetdiscover an id is a letter and a GUID.
  [[nodiscard]] status check_id(std::string_view id) const {
    if (free_names_ || (kind_of_letter(id) && io_text::parse_hex(id.substr(2)))) return {};
    return fail("the id " + io_text::quoted(id), "S-, H- or R- and a GUID, such as \"S-2c5eab0300b87b40\"");
  }

  /// In ibnetdiscover the id tells the kind, in ibsim the peer's record.
  [[nodiscard]] std::optional<station_kind> kind_of_peer(std::string_view id) const {
    if (free_names_) {
      if (const auto known = scan_.find(id)) return scan_.stations[*known].kind;
      return std::nullopt;
    }
    return kind_of_letter(id);
  }
  [[nodiscard]] static constexpr std::optional<station_kind> kind_of_letter(std::string_view id) noexcept {
    if (id.starts_with("S-")) return station_kind::network_switch;
    if (id.starts_with("H-")) return station_kind::adapter;
    if (id.starts_with("R-")) return station_kind::router;
    return std::nullopt;
  }

  /// Takes `"word"`.
  [[nodiscard]] static bool quoted(std::string_view& s, std::string_view& word) {
    s = io_text::trim(s);
    if (!s.starts_with('"')) return false;
    const std::size_t close = s.find('"', 1);
    if (close == std::string_view::npos) return false;
    word = s.substr(1, close - 1);
    s.remove_prefix(close + 1);
    return true;
  }
  /// Takes what stands between the first and the last double quote; `s` becomes what follows.
  [[nodiscard]] static bool last_quoted(std::string_view& s, std::string_view& word) {
    const std::size_t open = s.find('"'), close = s.rfind('"');
    if (open == std::string_view::npos || open == close) return false;
    word = io_text::trim(s.substr(open + 1, close - open - 1));
    s.remove_prefix(close + 1);
    return true;
  }
  /// Takes `[5]`, then `[ext 3]` and `(guid)` if they follow.
  [[nodiscard]] static bool port(std::string_view& s, std::uint32_t& number) {
    s = io_text::trim(s);
    const std::size_t close = s.find(']');
    if (!s.starts_with('[') || close == std::string_view::npos) return false;
    const auto n = io_text::parse_count(io_text::trim(s.substr(1, close - 1)), max_port);
    if (!n) return false;
    number = static_cast<std::uint32_t>(*n);
    s = io_text::trim(s.substr(close + 1));
    if (s.starts_with("[ext")) {
      const std::size_t end = s.find(']');
      if (end == std::string_view::npos) return false;
      s = io_text::trim(s.substr(end + 1));
    }
    if (s.starts_with('(')) {
      const std::size_t end = s.find(')');
      if (end == std::string_view::npos || !io_text::parse_hex(io_text::trim(s.substr(1, end - 1)))) return false;
      s = io_text::trim(s.substr(end + 1));
    }
    return true;
  }

  const named_text& file_;
  io_text::line_cursor lines_;
  fabric_scan scan_;
  bool free_names_;
  std::optional<std::uint32_t> open_;
  std::optional<std::uint64_t> system_;
};

}  // namespace berth::fabric_detail
