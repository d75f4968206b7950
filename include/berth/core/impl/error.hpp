#pragma once
/// \file
/// Bodies of `berth/core/error.hpp`.

#include "berth/core/error.hpp"

namespace berth {

BERTH_INLINE std::string input_error::message() const {
  std::string out = source;
  if (line != 0) out += ":" + std::to_string(line);
  out += ": found " + found;
  if (!expected.empty()) out += ", expected " + expected;
  return out;
}

}  // namespace berth
