#pragma once
/// \file
/// What readers and builders report when their input is wrong.

#include <cstddef>
#include <string>
#include <utility>

namespace berth {

/// One fault in an input: where, what was found, what was expected.
struct input_error {
  std::string source;    ///< file name, or a word such as "--gang"
  std::size_t line = 0;  ///< 1-based; 0 where the source has no lines
  std::string found;
  std::string expected;

  /// `file:line: found …, expected …`
  [[nodiscard]] std::string message() const {
    std::string out = source;
    if (line != 0) out += ":" + std::to_string(line);
    out += ": found " + found;
    if (!expected.empty()) out += ", expected " + expected;
    return out;
  }
};

}  // namespace berth
