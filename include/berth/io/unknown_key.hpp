#pragma once
/// \file
/// Keys that a format does not have: one wording for all readers, and which key was probably meant. Lists are one text
/// of keys separated by single blanks.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "berth/core/error.hpp"
#include "berth/io/close_word.hpp"
#include "berth/io/text.hpp"

namespace berth::io_text {

/// The fault of a key that is none of `known`: expected is the one that it is close to, or where it is close to none,
/// one of them all. \param of  whose key it is, such as "queue 'a'"; "" where the line says it
[[nodiscard]] inline input_error unknown_key(const std::string& source, std::size_t line, std::string_view key,
                                             std::string_view known, std::string_view of = {}) {
  std::string found = "unknown key " + quoted(key);
  if (!of.empty()) found += " of " + std::string{of};
  std::string wanted{close_to(key, known)};
  if (wanted.empty()) {
    any_word(known, [&](std::string_view w) {
      wanted += (wanted.empty() ? "one of " : ", ") + std::string{w};
      return false;
    });
  }
  return {source, line, std::move(found), std::move(wanted)};
}

/// The same for formats whose own programs pass over keys that they do not know: a fault only where the key is close to
/// one of `known`.
[[nodiscard]] inline std::optional<input_error> misspelt_key(const std::string& source, std::size_t line,
                                                             std::string_view key, std::string_view known,
                                                             std::string_view of = {}) {
  if (close_to(key, known).empty()) return std::nullopt;
  return unknown_key(source, line, key, known, of);
}

}  // namespace berth::io_text
