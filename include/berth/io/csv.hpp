#pragma once
/// \file
/// Lines of comma-separated values: as monitoring tools write them, nothing quoted, and with quotes as RFC 4180 has
/// them.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/text.hpp"

namespace berth {

/// The cells of a line, trimmed; one empty cell where the line is empty. Views into the line. O(length).
[[nodiscard]] inline std::vector<std::string_view> csv_cells(std::string_view line) {
  std::vector<std::string_view> out;
  for (;;) {
    const std::size_t comma = line.find(',');
    out.push_back(io_text::trim(line.substr(0, comma)));
    if (comma == std::string_view::npos) return out;
    line.remove_prefix(comma + 1);
  }
}

/// The same for a line with fields in double quotes (RFC 4180, 2.5 to 2.7); what is quoted is kept as it is. A record
/// is one line. Empty: a quote does not end with its field.
[[nodiscard]] inline std::optional<std::vector<std::string>> quoted_csv_cells(std::string_view line) {
  std::optional<std::vector<std::string>> out{std::in_place};
  for (;;) {
    const std::size_t begins = line.find_first_not_of(" \t\r");
    if (begins == std::string_view::npos || line[begins] != '"') {
      const std::size_t comma = line.find(',');
      const std::string_view cell = io_text::trim(line.substr(0, comma));
      if (cell.find('"') != std::string_view::npos) return std::nullopt;
      out->emplace_back(cell);
      if (comma == std::string_view::npos) return out;
      line.remove_prefix(comma + 1);
      continue;
    }
    line.remove_prefix(begins + 1);
    std::string& cell = out->emplace_back();
    for (;;) {
      const std::size_t quote = line.find('"');
      if (quote == std::string_view::npos) return std::nullopt;
      cell += line.substr(0, quote);
      line.remove_prefix(quote + 1);
      if (line.empty() || line.front() != '"') break;
      cell += '"';
      line.remove_prefix(1);
    }
    const std::size_t next = line.find_first_not_of(" \t\r");
    if (next == std::string_view::npos) return out;
    if (line[next] != ',') return std::nullopt;
    line.remove_prefix(next + 1);
  }
}

}  // namespace berth
