#pragma once
/// \file
/// Where in an input something stands.

#include <cstddef>
#include <string>
#include <utility>

#include "berth/core/error.hpp"

namespace berth {

/// A place in an input.
struct input_place {
  std::string source;    ///< file name, or a word such as "--gang"
  std::size_t line = 0;  ///< 1-based; 0 where the source has no lines
  /// `file:line`
  [[nodiscard]] std::string text() const { return source + ":" + std::to_string(line); }
  /// A fault at this place.
  [[nodiscard]] input_error error(std::string found, std::string expected) const {
    return {source, line, std::move(found), std::move(expected)};
  }
};

/// A word of an input that only something else can judge later, such as the name of a level: a string that knows its
/// line. Comparisons look at the text alone.
struct placed_word : std::string {
  std::size_t line = 0;  ///< 1-based; 0 where it has none

  placed_word() = default;
  placed_word(const char* text) : std::string(text) {}
  placed_word(std::string text, std::size_t at = 0) : std::string(std::move(text)), line{at} {}
};

}  // namespace berth
