#pragma once
/// \file
/// JSON text as a tree of values that know their line, so that what is wrong inside well-formed JSON is reported with
/// file and line too. Keys given twice, nesting beyond 64 and numbers beyond 64 bits are errors. Needs nlohmann-json.
///
/// Cost  O(bytes).

#include <cstddef>
#include <cstdint>
#include <initializer_list>
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
#include "berth/io/text.hpp"

namespace berth {

/// One JSON value.
class json_value {
 public:
  enum class kind : std::uint8_t { null, boolean, integer, real, string, array, object };

  kind type = kind::null;
  std::size_t line = 0;  ///< 1-based, where the value begins
  bool boolean = false;
  std::int64_t integer = 0;
  double real = 0;  ///< also set for integers
  std::string text;
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

namespace json_detail {

inline constexpr std::size_t max_depth = 64;
inline constexpr std::size_t max_keys = 1000;  // of one object; looking for keys given twice is quadratic

/// Walks over text and counts lines. All copies share one counter.
struct line_iterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  const char* at = nullptr;
  std::size_t* line = nullptr;
  reference operator*() const { return *at; }
  line_iterator& operator++() {
    if (*at == '\n') ++*line;
    ++at;
    return *this;
  }
  line_iterator operator++(int) {
    auto copy = *this;
    ++*this;
    return copy;
  }
  friend bool operator==(const line_iterator& a, const line_iterator& b) { return a.at == b.at; }
  friend bool operator!=(const line_iterator& a, const line_iterator& b) { return a.at != b.at; }
};

struct builder : nlohmann::json_sax<nlohmann::json> {
  std::size_t line = 1;
  json_value root;
  std::vector<json_value*> open;
  bool begun = false;
  std::optional<input_error> failure;  // without source

  bool fail(std::string found, std::string expected_text) {
    failure = input_error{"", line, std::move(found), std::move(expected_text)};
    return false;
  }
  json_value* next(json_value::kind k) {
    json_value* v = &root;
    if (!open.empty())
      v = open.back()->type == json_value::kind::array ? &open.back()->items.emplace_back()
                                                       : &open.back()->items.back();
    v->type = k;
    if (v->line == 0) v->line = line;
    return v;
  }
  bool null() override { return next(json_value::kind::null), true; }
  bool boolean(bool b) override { return next(json_value::kind::boolean)->boolean = b, true; }
  bool number_integer(std::int64_t n) override {
    auto* v = next(json_value::kind::integer);
    v->integer = n;
    v->real = static_cast<double>(n);
    return true;
  }
  bool number_unsigned(std::uint64_t n) override {
    if (n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return fail("number " + std::to_string(n), "a number below 2^63");
    return number_integer(static_cast<std::int64_t>(n));
  }
  bool number_float(double d, const std::string&) override { return next(json_value::kind::real)->real = d, true; }
  bool string(std::string& s) override { return next(json_value::kind::string)->text = std::move(s), true; }
  bool binary(nlohmann::json::binary_t&) override { return fail("binary data", "JSON text"); }
  bool begin(json_value::kind k) {
    if (open.size() >= max_depth) return fail("nesting deeper than 64", "a flatter document");
    open.push_back(next(k));
    return true;
  }
  bool start_object(std::size_t) override { return begin(json_value::kind::object); }
  bool start_array(std::size_t) override { return begin(json_value::kind::array); }
  bool end_object() override { return open.pop_back(), true; }
  bool end_array() override { return open.pop_back(), true; }
  bool key(std::string& k) override {
    auto& o = *open.back();
    if (o.keys.size() >= max_keys) return fail("an object with more than 1000 keys", "an array");
    if (o.find(k) != nullptr) return fail("key " + io_text::quoted(k) + " twice in one object", "each key once");
    o.keys.push_back(std::move(k));
    o.items.emplace_back().line = line;
    return true;
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
      line = n;
    }
    // The token may end inside a character.
    if (const auto bad = io_text::find_bad_utf8(what)) what.resize(*bad);
    return fail("a JSON syntax error (" + what + ")", wanted);
  }
};

}  // namespace json_detail

/// Reads JSON text. Comments are not JSON and are errors.
[[nodiscard]] inline expected<json_value, input_error> parse_json(std::string_view text, const std::string& source) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (io_text::trim(text).empty()) return unexpected{input_error{source, 0, "an empty file", "a JSON object"}};
  if (const auto bad = io_text::find_bad_utf8(text)) {
    std::size_t line = 1;
    for (const char c : text.substr(0, *bad)) line += c == '\n' ? 1 : 0;
    return unexpected{input_error{source, line, "bytes that are no UTF-8", "JSON text"}};
  }
  json_detail::builder b;
  const json_detail::line_iterator first{text.data(), &b.line};
  const json_detail::line_iterator last{text.data() + text.size(), &b.line};
  if (!nlohmann::json::sax_parse(first, last, &b)) {
    input_error e = b.failure ? std::move(*b.failure) : input_error{"", b.line, "no JSON", "a JSON object"};
    e.source = source;
    return unexpected{std::move(e)};
  }
  return std::move(b.root);
}

/// Reads members of one JSON object with messages that name file, line and key.
class json_reader {
 public:
  json_reader(const json_value& v, const std::string& source) : v_{v}, source_{source} {}

  [[nodiscard]] input_error error(const json_value& at, std::string found, std::string expected_text) const {
    return {source_, at.line, std::move(found), std::move(expected_text)};
  }
  /// Fails unless the value is an object whose keys are all among `allowed`.
  [[nodiscard]] expected<void, input_error> only(std::initializer_list<std::string_view> allowed) const {
    std::string list;
    for (const auto a : allowed) list += (list.empty() ? "" : ", ") + std::string{a};
    if (v_.type != json_value::kind::object) return unexpected{error(v_, v_.described(), "an object with " + list)};
    for (std::size_t i = 0; i < v_.keys.size(); ++i) {
      bool known = false;
      for (const auto a : allowed) known = known || v_.keys[i] == a;
      if (!known) return unexpected{error(v_.items[i], "unknown key " + io_text::quoted(v_.keys[i]), "one of " + list)};
    }
    return {};
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
