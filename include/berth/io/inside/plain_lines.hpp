#pragma once
/// \file
/// Lines of text that went through terminals, issue trackers and clipboards. Standard library alone.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "berth/core/expected.hpp"
#include "berth/io/input_place.hpp"
#include "berth/io/text.hpp"

namespace berth::inside_text {

/// One line without escape sequences, with its number in the file (1-based).
struct plain_line {
  std::size_t number = 0;
  std::string text;
};

/// The longest line that is read.
inline constexpr std::size_t max_line_bytes = std::size_t{1} << 16;

/// `line` without terminal escapes ("ESC[4m", also where the ESC was lost: "[4m"), with no-break spaces and carriage
/// returns as blanks. O(length).
[[nodiscard]] inline std::string plain(std::string_view line) {
  std::string out;
  out.reserve(line.size());
  for (std::size_t i = 0; i < line.size();) {
    std::size_t j = i;
    if (line[j] == '\x1b') ++j;
    if (j < line.size() && line[j] == '[') {
      std::size_t k = j + 1;
      while (k < line.size() && (io_text::is_digit(line[k]) || line[k] == ';')) ++k;
      const bool colour = k < line.size() && (line[k] == 'm' || line[k] == 'K');
      if (colour && (j != i || k > j + 1)) {
        i = k + 1;
        continue;
      }
    }
    if (line.substr(i).starts_with("\xC2\xA0")) {
      out += ' ';
      i += 2;
      continue;
    }
    out += line[i] == '\r' || line[i] == '\x1b' ? ' ' : line[i];
    ++i;
  }
  return out;
}

/// The words of a line, split at blanks.
[[nodiscard]] inline std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t i = 0; i < line.size();) {
    if (io_text::is_blank(line[i])) {
      ++i;
      continue;
    }
    std::size_t j = i;
    while (j < line.size() && !io_text::is_blank(line[j])) ++j;
    out.push_back(line.substr(i, j - i));
    i = j;
  }
  return out;
}

/// Calls `f(number, line)` for every line until it answers false. A line ends at '\n', or at a '\r' that no '\n'
/// follows.
template <class F>
void each_line(std::string_view text, F f) {
  std::size_t number = 1;
  for (std::size_t i = 0; i <= text.size(); ++number) {
    std::size_t end = text.find_first_of("\r\n", i);
    if (end == std::string_view::npos) end = text.size();
    std::size_t next = end + 1;
    if (end < text.size() && text[end] == '\r' && next < text.size() && text[next] == '\n') ++next;
    if (end == text.size() && i == end) return;
    if (!f(number, text.substr(i, end - i))) return;
    i = next;
  }
}

/// All lines, without escapes. Errors: a line longer than `max_line_bytes`, more than `most` lines.
[[nodiscard]] inline expected<std::vector<plain_line>, input_error> plain_lines(const std::string& source,
                                                                                std::string_view text,
                                                                                std::size_t most = 100'000) {
  std::vector<plain_line> out;
  std::size_t bad = 0;
  bool long_line = false;
  each_line(text, [&](std::size_t number, std::string_view line) {
    if (line.size() > max_line_bytes || number > most) {
      bad = number;
      long_line = line.size() > max_line_bytes;
      return false;
    }
    out.push_back({number, plain(line)});
    return true;
  });
  if (bad != 0)
    return unexpected{long_line ? input_error{source, bad, "a line of more than 64 KiB", "shorter lines"}
                                : input_error{source, bad, "more lines", "at most " + std::to_string(most) + " lines"}};
  return out;
}

}  // namespace berth::inside_text
