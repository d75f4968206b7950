#pragma once
/// \file
/// A text line by line, checked as it is read: UTF-8 without control characters. CRLF line ends, a byte order mark and
/// a missing newline at the end are read over.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "berth/core/error.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"

namespace berth::io_text {

/// Walks the lines of a text. O(length) in all. The text must outlive the cursor.
class line_cursor {
 public:
  explicit line_cursor(const named_text& file) : source_{&file.name}, rest_{file.text} {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
  }

  /// Goes to the next line; false at the end and at a fault.
  [[nodiscard]] bool next() {
    if (rest_.empty() || fault_) return false;
    ++number_;
    const std::size_t end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    if (find_bad_utf8(line_)) {
      fault_ = error("bytes that are no UTF-8", "text");
      return false;
    }
    for (const char c : line_) {
      const auto u = static_cast<unsigned char>(c);
      if ((u >= 0x20 || is_blank(c)) && u != 0x7F) continue;
      fault_ = error("a control character", "text");
      return false;
    }
    return true;
  }
  /// The line without its end.
  [[nodiscard]] std::string_view line() const noexcept { return line_; }
  /// Its number, from 1.
  [[nodiscard]] std::size_t number() const noexcept { return number_; }
  /// What made `next` stop before the end; empty when nothing did.
  [[nodiscard]] const std::optional<input_error>& fault() const noexcept { return fault_; }
  /// A fault on this line.
  [[nodiscard]] input_error error(std::string found, std::string expected) const {
    return {*source_, number_, std::move(found), std::move(expected)};
  }

 private:
  const std::string* source_;
  std::string_view rest_, line_;
  std::size_t number_ = 0;
  std::optional<input_error> fault_;
};

/// Takes the first word off a text: what stands before the next blank. O(length).
[[nodiscard]] constexpr std::string_view take_word(std::string_view& s) noexcept {
  while (!s.empty() && is_blank(s.front())) s.remove_prefix(1);
  std::size_t n = 0;
  while (n < s.size() && !is_blank(s[n])) ++n;
  const std::string_view word = s.substr(0, n);
  s.remove_prefix(n);
  return word;
}

/// A hexadecimal number of up to 16 digits, with or without `0x`; empty otherwise.
[[nodiscard]] constexpr std::optional<unsigned long long> parse_hex(std::string_view s) noexcept {
  if (s.starts_with("0x") || s.starts_with("0X")) s.remove_prefix(2);
  if (s.empty() || s.size() > 16) return std::nullopt;
  unsigned long long v = 0;
  for (const char c : s) {
    const char l = lower(c);
    if (!is_digit(c) && (l < 'a' || l > 'f')) return std::nullopt;
    v = v << 4 | static_cast<unsigned long long>(is_digit(c) ? c - '0' : l - 'a' + 10);
  }
  return v;
}

}  // namespace berth::io_text
