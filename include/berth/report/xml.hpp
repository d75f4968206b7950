#pragma once
/// \file
/// Text for XML: escaped, well-formed UTF-8, no control characters.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "berth/io/text.hpp"

namespace berth {

/// The text as XML character data or attribute value. What XML cannot hold (control characters, bytes that are no
/// UTF-8) becomes U+FFFD. O(length).
[[nodiscard]] inline std::string xml_text(std::string_view s) {
  static constexpr const char* replacement = "\xEF\xBF\xBD";
  std::string out;
  while (!s.empty()) {
    const std::size_t good = io_text::find_bad_utf8(s).value_or(s.size());
    for (const char c : s.substr(0, good)) {
      const auto u = static_cast<unsigned char>(c);
      if (c == '&') out += "&amp;";
      else if (c == '<') out += "&lt;";
      else if (c == '>') out += "&gt;";
      else if (c == '"') out += "&quot;";
      else if (c == '\'') out += "&#39;";
      else if (c == '\n' || c == '\t') out += ' ';
      else if (u < 0x20 || u == 0x7F) out += replacement;
      else out += c;
    }
    if (good == s.size()) break;
    out += replacement;
    s.remove_prefix(good + 1);
  }
  // U+FFFE and U+FFFF are well-formed UTF-8 but no XML.
  for (const std::string_view bad : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"})
    for (std::size_t p = out.find(bad); p != std::string::npos; p = out.find(bad, p)) out.replace(p, 3, replacement);
  return out;
}

}  // namespace berth
