#pragma once
/// \file
/// JSON text as a tree of values that know their line, so that what is wrong inside well-formed JSON is reported with
/// file and line too. Keys given twice, nesting beyond 64, numbers beyond 64 bits and more than 8 million values are
/// errors. Needs nlohmann-json. The tree is also that of YAML text (`io/yaml_document.hpp`).
///
/// Cost  O(bytes).

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/json_cursor.hpp"
#include "berth/io/text.hpp"
#include "berth/io/unknown_key.hpp"

namespace berth {

/// One JSON value.
class json_value {
 public:
  enum class kind : std::uint8_t { null, boolean, integer, real, string, array, object };

  kind type = kind::null;
  std::size_t line = 0;  ///< 1-based, where the value begins
  bool boolean = false;
  std::int64_t integer = 0;
  double real = 0;                ///< also set for integers
  std::string text;               ///< of a string; of YAML's plain words, as written
  std::vector<json_value> items;  ///< of an array, or the values of an object
  std::vector<std::string> keys;  ///< of an object, as many as `items`

  /// The member of that name, or null. O(members).
  [[nodiscard]] const json_value* find(std::string_view key) const noexcept {
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (keys[i] == key) return &items[i];
    return nullptr;
  }
  /// The value as it would be named in a message.
  [[nodiscard]] std::string described() const {
    switch (type) {
      case kind::null:
        return "null";
      case kind::boolean:
        return boolean ? "true" : "false";
      case kind::integer:
        return std::to_string(integer);
      case kind::real:
        return std::to_string(real);
      case kind::string:
        return io_text::quoted(text);
      case kind::array:
        return "an array";
      case kind::object:
        return "an object";
    }
    return "";
  }
};

/// What a text may cost, and what of it is not wanted.
struct json_limits {
  std::size_t values = std::size_t{1} << 23;  ///< about 1 GiB of memory
  /// Keys whose values are left out of the tree (they become null), at any depth: long lists that nobody asks for. Of
  /// strings, arrays and objects there only brackets and quotes are checked.
  std::vector<std::string_view> skip = {};
};

namespace json_detail {

inline constexpr std::size_t max_depth = 64;
inline constexpr std::size_t max_keys = 1000;  // of one object; looking for keys given twice is quadratic

struct builder : nlohmann::json_sax<nlohmann::json> {
  builder(json_value& r, const json_limits& l) : root{r}, limits{l} {}
  cursor here;
  json_value& root;
  const json_limits& limits;
  std::vector<json_value*> open;
  std::vector<std::uint64_t> prints;                       // of the keys of all open objects
  std::vector<std::size_t> first_print;                    // by open value
  std::vector<std::pair<std::string, std::size_t>> sizes;  // members of objects by their key, few of them
  std::size_t count = 0;
  std::size_t first_line = 1;
  std::size_t error_line = 0;
  std::string word;     // a key that is taken from the text
  bool syntax = false;  // the failure is the parser's
  bool skip_next = false;
  std::size_t skip_depth = 0;          // inside of a skipped value
  std::optional<input_error> failure;  // without source

  bool fail(std::string found, std::string expected_text) {
    failure = input_error{"", error_line != 0 ? error_line : here.line(), std::move(found), std::move(expected_text)};
    return false;
  }
  /// The place of the next value; null where it is skipped.
  json_value* next(json_value::kind k) {
    const bool skipped = skip_next || skip_depth > 0;
    skip_next = false;
    ++count;
    if (skipped) return nullptr;
    json_value* v = &root;
    if (!open.empty())
      v = open.back()->type == json_value::kind::array ? &open.back()->items.emplace_back()
                                                       : &open.back()->items.back();
    v->type = k;
    if (v->line == 0) v->line = here.line();
    return v;
  }
  bool within() {
    if (count <= limits.values) return true;
    return fail("more than " + std::to_string(limits.values) + " values", "a smaller document");
  }
  bool null() override { return next(json_value::kind::null), within(); }
  bool boolean(bool b) override {
    if (auto* v = next(json_value::kind::boolean)) v->boolean = b;
    return within();
  }
  bool number_integer(std::int64_t n) override {
    if (auto* v = next(json_value::kind::integer)) {
      v->integer = n;
      v->real = static_cast<double>(n);
    }
    return within();
  }
  bool number_unsigned(std::uint64_t n) override {
    if (n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return fail("number " + std::to_string(n), "a number below 2^63");
    return number_integer(static_cast<std::int64_t>(n));
  }
  bool number_float(double d, const std::string&) override {
    if (auto* v = next(json_value::kind::real)) v->real = d;
    return within();
  }
  bool string(std::string& s) override {
    if (auto* v = next(json_value::kind::string)) v->text = s;  // the parser keeps its buffer
    return within();
  }
  bool binary(nlohmann::json::binary_t&) override { return fail("binary data", "JSON text"); }
  bool begin(json_value::kind k) {
    if (open.size() + skip_depth >= max_depth) return fail("nesting deeper than 64", "a flatter document");
    if (json_value* v = next(k)) {
      // As many members as its namesake before it had: the nodes of a list are alike.
      if (k == json_value::kind::object)
        if (auto* like = namesake()) {
          // Once: those inside of it get nothing in advance, or the memory would no longer follow the text.
          const std::size_t members = std::exchange(like->second, 0);
          v->keys.reserve(members), v->items.reserve(members);
        }
      open.push_back(v);
      first_print.push_back(prints.size());
    } else {
      ++skip_depth;
    }
    return within();
  }
  bool end() {
    if (skip_depth > 0) {
      --skip_depth;
      return true;
    }
    const json_value& v = *open.back();
    prints.resize(first_print.back());
    first_print.pop_back();
    open.pop_back();
    if (v.type != json_value::kind::object) return true;
    if (auto* like = namesake()) like->second = v.keys.size();
    else if (v.keys.size() >= 8 && sizes.size() < 16 && !open.empty() && !open.back()->keys.empty())
      sizes.emplace_back(open.back()->keys.back(), v.keys.size());
    return true;
  }
  /// What is known of the size of objects under the key that was read last; null where nothing is.
  std::pair<std::string, std::size_t>* namesake() noexcept {
    if (sizes.empty() || open.empty() || open.back()->keys.empty()) return nullptr;
    for (auto& s : sizes)
      if (s.first == open.back()->keys.back()) return &s;
    return nullptr;
  }
  /// Tells most keys apart: their size, and their first and last eight characters.
  static std::uint64_t print_of(const std::string& k) noexcept {
    std::uint64_t first = 0, last = 0;
    const std::size_t n = k.size() < 8 ? k.size() : 8;
    std::memcpy(&first, k.data(), n);
    std::memcpy(&last, k.data() + k.size() - n, n);
    return first * 0x9E3779B97F4A7C15U ^ (last + k.size());
  }
  bool start_object(std::size_t) override { return begin(json_value::kind::object); }
  bool start_array(std::size_t) override { return begin(json_value::kind::array); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(std::string& k) override {
    if (skip_depth > 0) return true;
    if (!add_key(k, nullptr)) return false;
    if (here.plain) return true;
    // Members that are skipped and plain strings are taken from the text itself, which is much faster; the parser sees
    // one null for all of them.
    const char* taken = nullptr;
    for (const char* behind_key = here.at;;) {
      const char* const value = here.value_behind(behind_key);
      const char* const next = value == nullptr ? nullptr : take(value);
      if (next == nullptr) break;
      if (!within()) return false;
      taken = next;
      const char* p = here.past_blanks(next);
      if (p == here.end || *p != ',') break;
      p = here.past_blanks(p + 1);
      if (p == here.end || *p != '"') break;
      behind_key = here.end_of_plain_string(p);
      const char* const then = behind_key == nullptr ? nullptr : here.value_behind(behind_key);
      // What is no plain string is the parser's, and so is its key.
      if (then == nullptr || then == here.end) break;
      word.assign(p + 1, behind_key - 1);
      const bool skips = is_skipped(word);
      if (skips ? here.end_of_value(then, max_depth - open.size()) == nullptr
                : *then != '"' || here.end_of_plain_string(then) == nullptr)
        break;
      if (!add_key(word, p)) return false;
    }
    if (taken == nullptr) return true;
    skip_next = true;
    --count;  // the null
    here.show_null_until(taken);
    return true;
  }
  [[nodiscard]] bool is_skipped(const std::string& k) const noexcept {
    for (const auto s : limits.skip)
      if (s == k) return true;
    return false;
  }
  /// Adds a member without a value yet. \param at  where the key stands; null: it was just read
  bool add_key(const std::string& k, const char* at) {
    auto& o = *open.back();
    const std::size_t line = at == nullptr ? here.line() : here.line_of(at);
    const std::uint64_t print = print_of(k);
    bool twice = false;
    for (std::size_t i = first_print.back(), m = 0; i < prints.size(); ++i, ++m)
      twice = twice || (prints[i] == print && o.keys[m] == k);
    if (o.keys.size() >= max_keys || twice) {
      error_line = line;
      return twice ? fail("key " + io_text::quoted(k) + " twice in one object", "each key once")
                   : fail("an object with more than 1000 keys", "an array");
    }
    prints.push_back(print);
    o.keys.push_back(k);
    o.items.emplace_back().line = line;
    skip_next = is_skipped(k);
    return true;
  }
  /// Takes the value of the last key where it is skipped or a plain string. \return its end; null: it is neither
  const char* take(const char* value) {
    if (skip_next) {
      const char* const next = here.end_of_value(value, max_depth - open.size());
      if (next == nullptr) return nullptr;
      skip_next = false;
      ++count;
      return next;
    }
    if (value == here.end || *value != '"') return nullptr;
    const char* const next = here.end_of_plain_string(value);
    if (next == nullptr) return nullptr;
    json_value& v = open.back()->items.back();
    v.type = json_value::kind::string;
    v.text.assign(value + 1, next - 1);
    ++count;
    return next;
  }
  bool parse_error(std::size_t, const std::string& token, const nlohmann::json::exception& e) override {
    // "[json.exception.parse_error.101] parse error at line 2, column 5: syntax error while parsing … - unexpected …"
    std::string what = e.what();
    if (const auto p = what.rfind(" - "); p != std::string::npos) what = what.substr(p + 3);
    std::string wanted = "JSON";
    if (const auto p = what.find("; expected "); p != std::string::npos) {
      wanted = what.substr(p + 11);
      what.resize(p);
    }
    (void)token;
    if (const std::string_view head{e.what()}; head.find(" at line ") != std::string_view::npos) {
      // The lexer may have looked one line ahead; its own message has the exact line.
      std::size_t n = 0;
      for (const char c : head.substr(head.find(" at line ") + 9)) {
        if (!io_text::is_digit(c)) break;
        n = n * 10 + static_cast<std::size_t>(c - '0');
      }
      error_line = n + first_line - 1;
    }
    // The token may end inside a character.
    if (const auto bad = io_text::find_bad_utf8(what)) what.resize(*bad);
    syntax = true;
    return fail("a JSON syntax error (" + what + ")", wanted);
  }
};

}  // namespace json_detail

namespace json_detail {

/// Where the text is no UTF-8.
[[nodiscard]] inline std::optional<input_error> bad_text(std::string_view text, const std::string& source) {
  std::size_t plain = 0;  // eight bytes of ASCII at a time
  for (std::uint64_t word = 0; plain + sizeof word <= text.size(); plain += sizeof word) {
    std::memcpy(&word, text.data() + plain, sizeof word);
    if ((word & 0x8080808080808080U) != 0) break;
  }
  const auto bad = io_text::find_bad_utf8(text.substr(plain));
  if (!bad) return std::nullopt;
  std::size_t line = 1;
  for (const char c : text.substr(0, plain + *bad)) line += c == '\n' ? 1 : 0;
  return input_error{source, line, "bytes that are no UTF-8", "JSON text"};
}

/// One value from `here` on, which moves behind it; nothing may follow where `whole`.
[[nodiscard]] inline expected<json_value, input_error> parse_one(cursor& here, const char* last, bool whole,
                                                                 const std::string& source, const json_limits& limits) {
  const cursor start = here;
  for (const bool plain : {false, true}) {
    json_value root;
    builder b{root, limits};
    b.here = start;
    b.here.end = last;
    b.here.plain = plain;
    b.first_line = b.here.line_of(b.here.at);  // the parser's own count begins at 1 in the middle of a text too
    if (nlohmann::json::sax_parse(text_iterator{&b.here}, text_iterator{}, &b, nlohmann::json::input_format_t::json,
                                  whole)) {
      here = b.here;
      return root;
    }
    if (!plain && b.syntax) continue;  // once more for the message
    input_error e = b.failure ? std::move(*b.failure) : input_error{"", b.here.line(), "no JSON", "a JSON object"};
    e.source = source;
    return unexpected{std::move(e)};
  }
  return unexpected{input_error{source, 0, "no JSON", "a JSON object"}};  // not reached
}

}  // namespace json_detail

/// Reads JSON text. Comments are not JSON and are errors.
[[nodiscard]] inline expected<json_value, input_error> parse_json(std::string_view text, const std::string& source,
                                                                  const json_limits& limits = {}) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (io_text::trim(text).empty()) return unexpected{input_error{source, 0, "an empty file", "a JSON object"}};
  if (auto bad = json_detail::bad_text(text, source)) return unexpected{std::move(*bad)};
  json_detail::cursor here = json_detail::start_of(text);
  return json_detail::parse_one(here, text.data() + text.size(), true, source, limits);
}

/// Reads JSON objects and arrays that follow one another, as of several calls of a tool.
[[nodiscard]] inline expected<std::vector<json_value>, input_error> parse_json_stream(std::string_view text,
                                                                                      const std::string& source,
                                                                                      const json_limits& limits = {}) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (auto bad = json_detail::bad_text(text, source)) return unexpected{std::move(*bad)};
  json_detail::cursor here = json_detail::start_of(text);
  const char* const last = text.data() + text.size();
  std::vector<json_value> out;
  for (;;) {
    while (here.at != last && (io_text::is_blank(*here.at) || *here.at == '\n')) ++here.at;
    if (here.at == last) break;
    if (*here.at != '{' && *here.at != '[')
      return unexpected{input_error{source, here.line_of(here.at),
                                    io_text::quoted(std::string_view{here.at, 1}) + " after a JSON value",
                                    "the end of the file, or another object"}};
    auto one = json_detail::parse_one(here, last, false, source, limits);
    if (!one) return unexpected{std::move(one).error()};
    out.push_back(std::move(*one));
  }
  if (out.empty()) return unexpected{input_error{source, 0, "an empty file", "a JSON object"}};
  return out;
}

/// Fails on the first key of an object that is not among `known` (blanks between). \param of  whose keys they are
[[nodiscard]] inline expected<void, input_error> only_keys(const json_value& object, std::string_view known,
                                                           const std::string& source, std::string_view of = {}) {
  for (std::size_t i = 0; i < object.keys.size(); ++i)
    if (!io_text::is_word_of(object.keys[i], known))
      return unexpected{io_text::unknown_key(source, object.items[i].line, object.keys[i], known, of)};
  return {};
}

/// Reads members of one JSON object with messages that name file, line and key.
class json_reader {
 public:
  json_reader(const json_value& v, const std::string& source) : v_{v}, source_{source} {}

  [[nodiscard]] input_error error(const json_value& at, std::string found, std::string expected_text) const {
    return {source_, at.line, std::move(found), std::move(expected_text)};
  }
  /// Fails unless the value is an object whose keys are all among `known` (blanks between).
  [[nodiscard]] expected<void, input_error> only(std::string_view known) const {
    if (v_.type != json_value::kind::object) {
      std::string list;
      io_text::any_word(known, [&](std::string_view w) {
        list += (list.empty() ? "" : ", ") + std::string{w};
        return false;
      });
      return unexpected{error(v_, v_.described(), "an object with " + list)};
    }
    return only_keys(v_, known, source_);
  }
  /// A string member into `out`; an absent one leaves it alone.
  [[nodiscard]] expected<void, input_error> text(std::string_view key, std::string& out) const {
    const auto* v = v_.find(key);
    if (v == nullptr) return {};
    if (v->type != json_value::kind::string) return wrong(key, *v, "a string");
    out = v->text;
    return {};
  }
  /// A whole number within [least, most].
  template <class Int>
  [[nodiscard]] expected<void, input_error> integer(std::string_view key, Int& out, std::int64_t least,
                                                    std::int64_t most) const {
    const auto* v = v_.find(key);
    if (v == nullptr) return {};
    if (v->type != json_value::kind::integer || v->integer < least || v->integer > most)
      return wrong(key, *v, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    out = static_cast<Int>(v->integer);
    return {};
  }
  /// True or false.
  [[nodiscard]] expected<void, input_error> yes_or_no(std::string_view key, bool& out) const {
    const auto* v = v_.find(key);
    if (v == nullptr) return {};
    if (v->type != json_value::kind::boolean) return wrong(key, *v, "true or false");
    out = v->boolean;
    return {};
  }
  /// CPUs as a number with at most three decimals.
  [[nodiscard]] expected<void, input_error> cpus(std::string_view key, cpu_millis& out) const {
    const auto* v = v_.find(key);
    if (v == nullptr) return {};
    constexpr const char* form = "a number of CPUs with at most three decimals, at most a million";
    if ((v->type != json_value::kind::integer && v->type != json_value::kind::real) || !(v->real >= 0) ||
        v->real > static_cast<double>(io_text::max_cpus))
      return wrong(key, *v, form);
    const auto n = static_cast<std::int64_t>(v->real * 1000 + 0.5);
    const double off = v->real * 1000 - static_cast<double>(n);
    if (off > 1e-6 || off < -1e-6) return wrong(key, *v, form);
    out = cpu_millis{n};
    return {};
  }
  /// Bandwidth as a number of GB/s or as "25GB/s", "400Gb/s".
  [[nodiscard]] expected<void, input_error> rate(std::string_view key, bytes_per_second& out) const {
    const auto* v = v_.find(key);
    if (v == nullptr) return {};
    std::optional<bytes_per_second> r;
    if (v->type == json_value::kind::string) {
      r = io_text::parse_rate(v->text);
    } else if ((v->type == json_value::kind::integer || v->type == json_value::kind::real) && v->real >= 0 &&
               v->real < 100'000) {
      const auto n = static_cast<std::int64_t>(v->real * 1000 + 0.5);
      const double off = v->real * 1000 - static_cast<double>(n);
      if (off < 1e-6 && off > -1e-6) r = bytes_per_second{n * 1'000'000};
    }
    if (!r) return wrong(key, *v, io_text::rate_form);
    out = *r;
    return {};
  }
  /// Memory as "64GiB" or as a number of bytes.
  [[nodiscard]] expected<void, input_error> memory(std::string_view key, bytes& out) const {
    const auto* v = v_.find(key);
    if (v == nullptr) return {};
    if (v->type == json_value::kind::string) {
      const auto b = io_text::parse_memory(v->text);
      if (!b) return wrong(key, *v, io_text::memory_form);
      out = *b;
      return {};
    }
    if (v->type != json_value::kind::integer || v->integer < 0 || v->integer > io_text::max_memory)
      return wrong(key, *v, std::string{io_text::memory_form} + ", or bytes");
    out = bytes{v->integer};
    return {};
  }
  /// Devices as "0-3,6"; "" is none.
  [[nodiscard]] expected<void, input_error> devices(std::string_view key, device_mask& out) const {
    const auto* v = v_.find(key);
    if (v == nullptr) return {};
    if (v->type != json_value::kind::string) return wrong(key, *v, io_text::device_list_form);
    if (v->text.empty()) {
      out = 0;
      return {};
    }
    const auto m = io_text::parse_device_list(v->text);
    if (!m) return wrong(key, *v, io_text::device_list_form);
    out = *m;
    return {};
  }
  /// An array of strings.
  [[nodiscard]] expected<void, input_error> texts(std::string_view key, std::vector<std::string>& out) const {
    const auto* v = v_.find(key);
    if (v == nullptr) return {};
    if (v->type != json_value::kind::array) return wrong(key, *v, "an array of strings");
    std::vector<std::string> all;
    for (const auto& i : v->items) {
      if (i.type != json_value::kind::string) return wrong(key, i, "an array of strings");
      all.push_back(i.text);
    }
    out = std::move(all);
    return {};
  }
  /// The member of that name if it is an array (or absent, then null).
  [[nodiscard]] expected<const json_value*, input_error> array(std::string_view key) const {
    const auto* v = v_.find(key);
    if (v != nullptr && v->type != json_value::kind::array)
      return unexpected{error(*v, std::string{key} + ": " + v->described(), "an array")};
    return v;
  }
  [[nodiscard]] unexpected<input_error> wrong(std::string_view key, const json_value& v,
                                              std::string expected_text) const {
    return unexpected<input_error>{error(v, std::string{key} + ": " + v.described(), std::move(expected_text))};
  }

 private:
  const json_value& v_;
  const std::string& source_;
};

}  // namespace berth
