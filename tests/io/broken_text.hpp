#pragma once
/// \file
/// Broken copies of a text, the same on every run: bytes and lines removed, doubled, swapped, words of the format put
/// in the wrong place. A reader must answer each with a value or with an error that has a source, a line and words.

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/random.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"

#ifndef BERTH_SOURCE_DIR
#define BERTH_SOURCE_DIR "."
#endif

namespace broken {

/// A file of real sites: tests/io/data/inputs/NAME.
inline berth::named_text input(const std::string& name) {
  const std::string path = std::string{BERTH_SOURCE_DIR} + "/tests/io/data/inputs/" + name;
  auto text = berth::load_text_file(path);
  REQUIRE_MESSAGE(text.has_value(), "cannot read " << path);
  return {name, std::move(*text)};
}

/// One to four changes. `words`: pieces of the format; `other`: a text to splice pieces of in, where there is one.
inline std::string mutated(const std::string& seed, const std::vector<std::string_view>& words,
                           berth::random_source& rng, std::string_view other = {}) {
  std::string s = seed;
  const auto line_at = [&](std::size_t at) {
    const std::size_t begin = at == 0 ? 0 : s.rfind('\n', at - 1);
    return begin == std::string::npos ? 0 : begin;
  };
  for (auto n = rng.between(1, 4); n > 0; --n) {
    const auto at = static_cast<std::size_t>(rng.below(s.size() + 1));
    const auto length = static_cast<std::size_t>(rng.below(24));
    switch (rng.below(other.empty() ? 8 : 9)) {
      case 0:
        s.erase(at, length);
        break;
      case 1:
        s.insert(at, 1, static_cast<char>(rng.below(256)));
        break;
      case 2:
        s.insert(at, words[rng.below(words.size())]);
        break;
      case 3:
        s.insert(at, s.substr(static_cast<std::size_t>(rng.below(s.size() + 1)), length));
        break;
      case 4:
        if (at < s.size()) s[at] = static_cast<char>(s[at] ^ static_cast<char>(1U << rng.below(8)));
        break;
      case 5:
        if (rng.below(4) == 0) s.resize(at);
        break;
      case 6: {  // a line again
        const std::size_t begin = line_at(at);
        s.insert(begin, s.substr(begin, s.find('\n', begin + 1) - begin));
        break;
      }
      case 7: {  // a line less
        const std::size_t begin = line_at(at);
        s.erase(begin, s.find('\n', begin + 1) - begin);
        break;
      }
      default:
        s.insert(at, other.substr(static_cast<std::size_t>(rng.below(other.size())), 1 + length * 3));
    }
  }
  return s;
}

/// Reads `rounds` broken copies of each seed. `check` looks at what was read.
template <class Read, class Check>
void run(const std::vector<berth::named_text>& seeds, const std::vector<std::string_view>& words, int rounds,
         std::uint64_t random_seed, Read read, Check check) {
  berth::random_source rng{random_seed};
  int good = 0, bad = 0;
  for (const auto& seed : seeds)
    for (int i = 0; i < rounds; ++i) {
      const berth::named_text file{"broken", mutated(seed.text, words, rng)};
      const auto r = read(file);
      if (r) {
        ++good;
        check(*r);
        continue;
      }
      ++bad;
      const berth::input_error& e = r.error();
      if (e.source.empty() || e.found.empty() || e.expected.empty() || berth::io_text::find_bad_utf8(e.message()))
        FAIL_CHECK(e.message() << "\n" << file.text);
    }
  MESSAGE(good << " read, " << bad << " refused");
  CHECK(good > 0);
  CHECK(bad > 0);
}

}  // namespace broken
