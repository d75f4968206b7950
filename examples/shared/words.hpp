#pragma once
/// \file
/// Numbers with their words in sentences.

#include <cstdint>
#include <string>
#include <string_view>

#include "berth/core/bits.hpp"
#include "berth/io/text.hpp"
#include "berth/solver/explain_text.hpp"

namespace berth_program {

/// "1 node", "3 nodes", "2 leaves".
[[nodiscard]] inline std::string counted(std::uint64_t n, const std::string& word) {
  return berth::detail::counted_text(n, word);
}

/// "5 leaves"; "3 domains of block-32" where the level's name makes no plural.
[[nodiscard]] inline std::string counted_domains(std::uint64_t n, const std::string& level) {
  bool word = !level.empty();
  for (const char c : level) word = word && berth::io_text::lower(c) >= 'a' && berth::io_text::lower(c) <= 'z';
  return word ? counted(n, level) : counted(n, "domain") + " of " + level;
}

/// "GPU 3", "GPUs 0-3": a word before the numbers of a mask.
[[nodiscard]] inline std::string numbered(const std::string& word, std::uint64_t mask) {
  return word + (berth::count_bits(mask) == 1 ? " " : "s ") + berth::io_text::device_list_text(mask);
}

}  // namespace berth_program
