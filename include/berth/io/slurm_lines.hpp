#pragma once
/// \file
/// The line syntax of Slurm's configuration files: `Key=value` pairs, comments, continuations, `include`.
///
/// As in Slurm: `#` starts a comment anywhere unless written `\#`; a backslash at the end of what is left of a line
/// joins the next line to it without a blank; blanks around `=` are allowed; values may be quoted with `"`; keys do not
/// regard case. Here also: `#` inside quotes is text, CRLF line ends and a UTF-8 byte order mark are read over.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"
#include "berth/io/unknown_key.hpp"

namespace berth {

/// One `Key=value`.
struct conf_pair {
  std::string key;  ///< as written
  std::string value;

  /// Whether this is the pair of that key, case aside.
  [[nodiscard]] bool is(std::string_view k) const noexcept { return io_text::equal_nocase(key, k); }
};

/// One logical line with at least one pair, and where it starts.
struct conf_line {
  std::string source;
  std::size_t line = 0;
  std::vector<conf_pair> pairs;

  /// The value of a key, or null. O(pairs).
  [[nodiscard]] const std::string* find(std::string_view key) const noexcept {
    for (const auto& p : pairs)
      if (p.is(key)) return &p.value;
    return nullptr;
  }
  [[nodiscard]] input_error error(std::string found, std::string expected_text) const {
    return {source, line, std::move(found), std::move(expected_text)};
  }
};

/// Deepest nesting of `include`.
inline constexpr std::size_t max_include_depth = 8;
/// Most files read through `include`.
inline constexpr std::size_t max_included_files = 1000;

namespace slurm_detail {

/// Whether a pair's key is in a list of keys (blanks between), case aside.
[[nodiscard]] inline bool is_among(const conf_pair& p, std::string_view keys) noexcept {
  return io_text::any_word(keys, [&](std::string_view w) { return p.is(w); });
}
/// Fails on the first key that is not among `known` (blanks between).
[[nodiscard]] inline expected<void, input_error> only_keys(const conf_line& l, std::string_view known) {
  for (const auto& p : l.pairs)
    if (!is_among(p, known)) return unexpected{io_text::unknown_key(l.source, l.line, p.key, known)};
  return {};
}

struct line_reader {
  const text_loader& load;
  std::vector<conf_line> out;
  std::vector<std::string> open;  // files being read, outermost first
  std::size_t included = 0;

  /// One logical line without comment and continuation, or an `include`.
  expected<void, input_error> take(std::string_view s, const std::string& source, std::size_t line) {
    const auto fail = [&](std::string found, std::string expected_text) {
      return unexpected{input_error{source, line, std::move(found), std::move(expected_text)}};
    };
    s = io_text::trim(s);
    if (s.empty()) return {};
    if (s.size() > 7 && io_text::equal_nocase(s.substr(0, 7), "include") && io_text::is_blank(s[7])) {
      const std::string_view rest = io_text::trim(s.substr(7));
      if (!rest.starts_with('=')) return include(rest, source, line);
    }
    conf_line l{source, line, {}};
    std::size_t i = 0;
    const auto skip = [&] {
      while (i < s.size() && io_text::is_blank(s[i])) ++i;
    };
    for (skip(); i < s.size(); skip()) {
      const std::size_t begin = i;
      while (i < s.size() && !io_text::is_blank(s[i]) && s[i] != '=' && s[i] != '"') ++i;
      const std::string_view key = s.substr(begin, i - begin);
      skip();
      if (i == s.size() || s[i] != '=' || key.empty())
        return fail(io_text::quoted(key.empty() ? s.substr(begin) : key) + " without '='", "Key=value");
      for (const char c : key)
        if (!io_text::is_digit(c) && !(io_text::lower(c) >= 'a' && io_text::lower(c) <= 'z') && c != '_' && c != '.')
          return fail("key " + io_text::quoted(key), "a key of letters, digits, '_' and '.', then '='");
      ++i;
      skip();
      std::string value;
      if (i < s.size() && s[i] == '"') {
        const std::size_t end = s.find('"', i + 1);
        if (end == std::string_view::npos) return fail("an opening quote without its end", "a second '\"' on the line");
        value = std::string{s.substr(i + 1, end - i - 1)};
        i = end + 1;
        if (i < s.size() && !io_text::is_blank(s[i])) return fail("text right after a closing quote", "a blank");
      } else {
        const std::size_t v = i;
        while (i < s.size() && !io_text::is_blank(s[i])) ++i;
        value = std::string{s.substr(v, i - v)};
      }
      if (value.empty()) return fail("key " + io_text::quoted(key) + " without a value", "Key=value");
      for (const auto& p : l.pairs)
        if (p.is(key)) return fail("key " + io_text::quoted(key) + " twice on one line", "each key once");
      l.pairs.push_back({std::string{key}, std::move(value)});
    }
    out.push_back(std::move(l));
    return {};
  }

  expected<void, input_error> include(std::string_view path, const std::string& source, std::size_t line) {
    const auto fail = [&](std::string found, std::string expected_text) {
      return unexpected{input_error{source, line, std::move(found), std::move(expected_text)}};
    };
    if (path.size() > 1 && path.front() == '"' && path.back() == '"') path = path.substr(1, path.size() - 2);
    const std::string full = path_beside(source, path);
    for (const auto& f : open)
      if (f == full) return fail("include of " + io_text::quoted(full) + ", which includes this file", "no circle");
    if (open.size() > max_include_depth)
      return fail("include nested deeper than " + std::to_string(max_include_depth), "a shallower nesting");
    if (++included > max_included_files)
      return fail("more than " + std::to_string(max_included_files) + " included files", "fewer");
    auto text = load ? load(full) : std::nullopt;
    if (!text) return fail("include of " + io_text::quoted(full) + ", which cannot be read", "a readable file");
    return read(full, *text);
  }

  expected<void, input_error> read(const std::string& source, std::string_view text) {
    open.push_back(source);
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    std::string joined;
    std::size_t line = 0, first = 0;
    while (!text.empty()) {
      ++line;
      const std::size_t end = text.find('\n');
      std::string_view raw = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      if (io_text::find_bad_utf8(raw)) return unexpected{input_error{source, line, "bytes that are no UTF-8", "text"}};
      if (joined.empty()) first = line;
      bool in_quotes = false, comment = false;
      std::string cut;
      for (std::size_t i = 0; i < raw.size() && !comment; ++i) {
        const char c = raw[i];
        const auto u = static_cast<unsigned char>(c);
        if ((u < 0x20 && !io_text::is_blank(c)) || u == 0x7F)
          return unexpected{input_error{source, line, "a control character", "text"}};
        if (c == '"') in_quotes = !in_quotes;
        if (c == '\\' && i + 1 < raw.size() && raw[i + 1] == '#') cut += '#', ++i;
        else if (c == '#' && !in_quotes) comment = true;
        else cut += c;
      }
      std::string_view rest = cut;
      while (!rest.empty() && io_text::is_blank(rest.back())) rest.remove_suffix(1);
      if (rest.ends_with('\\')) {
        joined += rest.substr(0, rest.size() - 1);
        if (joined.empty()) joined = " ";  // a lone backslash still opens a continued line
        continue;
      }
      joined += cut;
      if (auto ok = take(joined, source, first); !ok) return ok;
      joined.clear();
    }
    if (!joined.empty())
      if (auto ok = take(joined, source, first); !ok) return ok;
    open.pop_back();
    return {};
  }
};

}  // namespace slurm_detail

/// All logical lines of a file, includes followed in place. O(bytes).
/// \param load  how included files are found; an empty function refuses every include.
[[nodiscard]] inline expected<std::vector<conf_line>, input_error> read_conf_lines(const std::string& source,
                                                                                   std::string_view text,
                                                                                   const text_loader& load) {
  slurm_detail::line_reader r{load, {}, {}, 0};
  if (auto ok = r.read(source, text); !ok) return unexpected{std::move(ok).error()};
  return std::move(r.out);
}

}  // namespace berth
