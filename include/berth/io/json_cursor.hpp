#pragma once
/// \file
/// How `io/json_document.hpp` shows a text to its parser: where it is, and what it leaves out. Standard library alone.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>

namespace berth::json_detail {

/// How far the text was read. What nobody wants is not shown to the parser: blanks behind a line break (which cannot
/// stand inside a string of valid JSON), and values that are skipped, for which it sees a null.
struct cursor {
  const char* at = nullptr;
  const char* end = nullptr;
  bool plain = false;             ///< show everything, so that the parser's own messages are exact
  const char* counted = nullptr;  ///< line breaks before it are in `lines`
  std::size_t lines = 1;

  /// 1-based line of the character that was read last. O(bytes since the last call).
  [[nodiscard]] std::size_t line() noexcept { return line_of(position()); }
  /// That of a character further on.
  [[nodiscard]] std::size_t line_of(const char* p) noexcept {
    while (counted < p) {
      const void* next = std::memchr(counted, '\n', static_cast<std::size_t>(p - counted));
      if (next == nullptr) break;
      counted = static_cast<const char*>(next) + 1;
      ++lines;
    }
    if (counted < p) counted = p;
    return lines;
  }
  /// A line break was read.
  void behind_break() noexcept {
    if (resume != nullptr) {
      at = resume;
      resume = nullptr;
    }
    if (plain) return;
    broke = at - 1;
    while (at != end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) ++at;
    jumped = at;
  }
  /// The value of the member whose key ends at `p`: behind its colon and blanks; null where there is none.
  [[nodiscard]] const char* value_behind(const char* p) const noexcept {
    p = past_blanks(p);
    return p == end || *p != ':' ? nullptr : past_blanks(p + 1);
  }
  /// The end of a string without escapes, whose text is what stands between the quotes; null where it is not one.
  /// \param p  its first character, a quote
  [[nodiscard]] const char* end_of_plain_string(const char* p) const noexcept {
    for (++p; p != end; ++p) {
      if (*p == '"') return p + 1;
      if (*p == '\\' || static_cast<unsigned char>(*p) < 0x20) return nullptr;
    }
    return nullptr;
  }
  /// The end of a string, array or object, of which only brackets and quotes are checked; null where it looks wrong, is
  /// something else, or is nested deeper than `depth`.
  [[nodiscard]] const char* end_of_value(const char* p, std::size_t depth) const noexcept {
    if (p == end || (*p != '"' && *p != '{' && *p != '[')) return nullptr;
    std::uint64_t objects = 0;  // the innermost is the lowest bit
    std::size_t open = 0;
    do {
      const char c = *p++;
      if (c == '"') {
        p = past_string(p);
        if (p == nullptr) return nullptr;
      } else if (c == '{' || c == '[') {
        if (++open > depth || open > 63) return nullptr;
        objects = objects << 1U | (c == '{' ? 1U : 0U);
      } else if (c == '}' || c == ']') {
        if (open == 0 || ((objects & 1U) != 0) != (c == '}')) return nullptr;
        --open;
        objects >>= 1U;
      }
    } while (open != 0 && p != end);
    return open == 0 ? p : nullptr;
  }
  /// Behind a key: the parser sees a null as its value, and then the text from `p` on.
  void show_null_until(const char* p) noexcept {
    resume = p;
    at = shown;
  }
  [[nodiscard]] const char* past_blanks(const char* p) const noexcept {
    while (p != end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')) ++p;
    return p;
  }

 private:
  static constexpr const char* shown = ":null\n";
  const char* resume = nullptr;                    ///< where the text goes on behind `shown`
  const char *broke = nullptr, *jumped = nullptr;  ///< the last line break, and what follows its blanks

  [[nodiscard]] const char* position() const noexcept {
    if (resume != nullptr) return resume;
    return at == jumped ? broke : at > counted ? at - 1 : at;
  }
  /// Behind the quote that ends the string that `p` is in; null where none does.
  [[nodiscard]] const char* past_string(const char* p) const noexcept {
    for (const char* from = p;;) {
      const auto* quote = static_cast<const char*>(std::memchr(from, '"', static_cast<std::size_t>(end - from)));
      if (quote == nullptr) return nullptr;
      const char* back = quote;
      while (back != p && back[-1] == '\\') --back;
      if ((quote - back) % 2 == 0) return quote + 1;
      from = quote + 1;
    }
  }
};

/// Walks over the text as the cursor shows it. All copies share it.
struct text_iterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  cursor* shared = nullptr;  ///< null: the end
  reference operator*() const { return *shared->at; }
  text_iterator& operator++() {
    if (*shared->at++ == '\n') shared->behind_break();
    return *this;
  }
  text_iterator operator++(int) {
    auto copy = *this;
    ++*this;
    return copy;
  }
  /// One of them is the end.
  friend bool operator==(const text_iterator& a, const text_iterator& b) {
    const cursor* c = a.shared != nullptr ? a.shared : b.shared;
    return c == nullptr || a.shared == b.shared || c->at == c->end;
  }
  friend bool operator!=(const text_iterator& a, const text_iterator& b) { return !(a == b); }
};

[[nodiscard]] inline cursor start_of(std::string_view text) noexcept {
  cursor c;
  c.at = c.counted = text.data();
  c.end = text.data() + text.size();
  return c;
}

}  // namespace berth::json_detail
