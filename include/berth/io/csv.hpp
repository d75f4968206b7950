#pragma once
/// \file
/// Lines of comma-separated values as monitoring tools and traces write them: nothing is quoted.

#include <cstddef>
#include <string_view>
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

}  // namespace berth
