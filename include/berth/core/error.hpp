#pragma once
/// \file
/// What readers and builders report when their input is wrong.

#include <cstddef>
#include <string>
#include <utility>

#include "berth/core/separate.hpp"

namespace berth {

/// One fault in an input: where, what was found, what was expected.
struct input_error {
  std::string source;    ///< file name, or a word such as "--gang"
  std::size_t line = 0;  ///< 1-based; 0 where the source has no lines
  std::string found;
  std::string expected;

  /// `file:line: found …, expected …`
  [[nodiscard]] std::string message() const;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/core/impl/error.hpp"
#endif
