#pragma once
/// \file
/// Lists of known words, and which of them a wrong one was probably meant to be. A list is one text of words separated
/// by single blanks.

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "berth/io/text.hpp"

namespace berth::io_text {

/// Calls `f(word)` for every word of a list until it answers true; whether one did.
template <class F>
constexpr bool any_word(std::string_view words, F f) {
  while (!words.empty()) {
    const std::size_t end = words.find(' ');
    if (f(words.substr(0, end))) return true;
    words.remove_prefix(end == std::string_view::npos ? words.size() : end + 1);
  }
  return false;
}

/// Whether a word is in a list, case and all. O(length of the list).
[[nodiscard]] constexpr bool is_word_of(std::string_view word, std::string_view words) noexcept {
  return any_word(words, [&](std::string_view w) { return w == word; });
}

/// The word of a list that a wrong one was probably meant to be: case aside, at most two letters are lost, added,
/// changed or swapped with their neighbour (one in words of up to four letters); "" for none.
/// O(length of the word × length of the list).
[[nodiscard]] inline std::string_view close_to(std::string_view word, std::string_view words) {
  std::string_view best;
  if (word.size() > 80) return best;
  std::size_t least = 3;
  any_word(words, [&](std::string_view known) {
    const std::size_t n = known.size(), most = n > 4 ? 2 : 1;
    if (n > word.size() + most || word.size() > n + most) return false;
    std::vector<std::size_t> before(n + 1), row(n + 1), next(n + 1);  // edit distance, row by row
    for (std::size_t i = 0; i <= n; ++i) row[i] = i;
    for (std::size_t k = 0; k < word.size(); ++k) {
      const auto same = [&](std::size_t a, std::size_t b) { return lower(word[a]) == lower(known[b]); };
      next[0] = k + 1;
      for (std::size_t i = 0; i < n; ++i) {
        next[i + 1] = std::min({row[i] + (same(k, i) ? 0U : 1U), row[i + 1] + 1, next[i] + 1});
        if (k > 0 && i > 0 && same(k, i - 1) && same(k - 1, i)) next[i + 1] = std::min(next[i + 1], before[i - 1] + 1);
      }
      before.swap(row);
      row.swap(next);
    }
    if (row[n] <= most && row[n] < least) {
      least = row[n];
      best = known;
    }
    return false;
  });
  return best;
}

}  // namespace berth::io_text
