#pragma once
/// \file
/// YAML (several documents) or JSON text as the tree of `io/json_document.hpp`: values that know their line. Text that
/// begins with `{` or `[` is JSON, everything else YAML. Needs yaml-cpp and nlohmann-json.
///
/// What YAML has beyond JSON: plain words become numbers, `true`, `false` and null as in YAML 1.2 (`yes`, `010` and
/// `0x1f` stay text) and keep their spelling in `json_value::text`; aliases are expanded and counted; merge keys (`<<`)
/// are applied; keys must be scalars; Go templates (`{{ … }}` outside of quotes) are refused, for only their output
/// says something.
///
/// Cost  O(bytes); JSON about 100 MB/s, YAML a tenth of that.

#include <yaml-cpp/anchor.h>
#include <yaml-cpp/emitterstyle.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <istream>
#include <map>
#include <optional>
#include <streambuf>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/text.hpp"

namespace berth {

/// The largest YAML text that is read: 64 MiB. Larger files are better had as JSON, which is read ten times as fast.
inline constexpr std::size_t max_yaml_bytes = std::size_t{64} << 20;

namespace yaml_detail {

struct fault {
  input_error what;
};

/// Reads from memory without a copy.
class memory_buffer : public std::streambuf {
 public:
  explicit memory_buffer(std::string_view s) {
    char* first = const_cast<char*>(s.data());  // only read from
    setg(first, first, first + s.size());
  }
};

inline constexpr const char* template_found = "a Go template ({{ … }})";
inline constexpr const char* template_expected = "its output, as of `helm template` or the tool it belongs to";

[[nodiscard]] inline bool is_template(std::string_view s) noexcept {
  const auto open = s.find("{{");
  return open != std::string_view::npos && s.find("}}", open) != std::string_view::npos;
}

/// Gives a plain word its type: null and booleans as in YAML 1.2, decimal numbers; all else is text.
inline void resolve_plain(json_value& v, const std::string& word) {
  v.text = word;
  v.type = json_value::kind::string;
  if (word.empty() || word == "~" || word == "null" || word == "Null" || word == "NULL") {
    v.type = json_value::kind::null;
    return;
  }
  if (word == "true" || word == "True" || word == "TRUE" || word == "false" || word == "False" || word == "FALSE") {
    v.type = json_value::kind::boolean;
    v.boolean = word[0] == 't' || word[0] == 'T';
    return;
  }
  std::size_t i = word[0] == '-' || word[0] == '+' ? 1 : 0;
  const std::size_t first = i;
  while (i < word.size() && io_text::is_digit(word[i])) ++i;
  const std::size_t digits = i - first;
  if (digits > 1 && word[first] == '0') return;  // an octal number to some, a name to others
  std::size_t fraction = 0;
  if (i < word.size() && word[i] == '.') {
    ++i;
    while (i < word.size() && io_text::is_digit(word[i])) ++i, ++fraction;
  }
  if (digits + fraction == 0) return;
  const bool whole = i == word.size() && digits > 0 && word[i - 1] != '.' && fraction == 0;
  if (i < word.size()) {
    if (word[i] != 'e' && word[i] != 'E') return;
    ++i;
    if (i < word.size() && (word[i] == '-' || word[i] == '+')) ++i;
    if (i == word.size()) return;
    while (i < word.size() && io_text::is_digit(word[i])) ++i;
    if (i != word.size()) return;
  }
  v.real = std::strtod(word.c_str(), nullptr);
  v.type = json_value::kind::real;
  if (!whole) return;
  const auto n = io_text::parse_count(std::string_view{word}.substr(first), std::uint64_t{1} << 62);
  if (!n) return;
  v.type = json_value::kind::integer;
  v.integer = word[0] == '-' ? -static_cast<std::int64_t>(*n) : static_cast<std::int64_t>(*n);
}

class builder : public YAML::EventHandler {
 public:
  builder(std::vector<json_value>& out, const json_limits& limits) : out_{out}, limits_{limits} {}

  void OnDocumentStart(const YAML::Mark& m) override {
    anchors_.clear();
    // yaml-cpp does not move past a sign that no value begins with, such as a comma, and would begin there for ever.
    if (m.pos == begun_at_) fail(m, "a sign that no value begins with", "a value");
    begun_at_ = m.pos;
  }
  void OnDocumentEnd() override {
    if (!out_.empty() && out_.back().type == json_value::kind::null) out_.pop_back();  // nothing between two `---`
  }
  void OnNull(const YAML::Mark& m, YAML::anchor_t a) override {
    if (wants_key()) fail(m, "an empty key", "a word before the colon");
    json_value& v = next(m);
    v.type = json_value::kind::null;
    finish(v, a, count_);
  }
  void OnAlias(const YAML::Mark& m, YAML::anchor_t a) override {
    if (wants_key()) fail(m, "an alias as a key", "a word");
    const auto known = anchors_.find(a);
    if (known == anchors_.end()) fail(m, "an alias inside what it names", "a tree");
    spend(m, known->second.values);
    json_value& v = next(m);
    const std::size_t line = v.line;
    v = known->second.value;
    v.line = line;
    if (!frames_.empty()) frames_.back().has_key = false;
  }
  void OnScalar(const YAML::Mark& m, const std::string& tag, YAML::anchor_t a, const std::string& word) override {
    const bool plain = tag == "?" || tag.empty();
    if (plain && is_template(word)) fail(m, template_found, template_expected);
    if (wants_key()) {
      json_value& o = *frames_.back().value;
      if (o.keys.size() >= json_detail::max_keys) fail(m, "a mapping with more than 1000 keys", "a list");
      if (o.find(word) != nullptr) fail(m, "key " + io_text::quoted(word) + " twice in one mapping", "each key once");
      o.keys.push_back(word);
      o.items.emplace_back().line = line_of(m);
      frames_.back().has_key = true;
      if (plain && word == "<<") frames_.back().merges = true;
      if (a != YAML::NullAnchor) fail(m, "an anchor on a key", "anchors on values");
      return;
    }
    json_value& v = next(m);
    if (plain || tag == "tag:yaml.org,2002:int" || tag == "tag:yaml.org,2002:float" ||
        tag == "tag:yaml.org,2002:bool" || tag == "tag:yaml.org,2002:null") {
      resolve_plain(v, word);
    } else {
      check_tag(m, tag);
      v.type = json_value::kind::string;
      v.text = word;
    }
    finish(v, a, count_);
  }
  void OnSequenceStart(const YAML::Mark& m, const std::string& tag, YAML::anchor_t a,
                       YAML::EmitterStyle::value) override {
    begin(m, tag, a, json_value::kind::array);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& m, const std::string& tag, YAML::anchor_t a, YAML::EmitterStyle::value) override {
    begin(m, tag, a, json_value::kind::object);
  }
  void OnMapEnd() override {
    if (frames_.back().merges) merge(*frames_.back().value);
    end();
  }

 private:
  struct frame {
    json_value* value;
    YAML::anchor_t anchor;
    std::size_t before;  // values counted before it
    bool has_key;
    bool merges;
  };
  struct anchored {
    json_value value;
    std::size_t values;
  };

  [[nodiscard]] static std::size_t line_of(const YAML::Mark& m) noexcept {
    return static_cast<std::size_t>(m.line < 0 ? 0 : m.line) + 1;
  }
  [[noreturn]] static void fail(const YAML::Mark& m, std::string found, std::string wanted) {
    throw fault{{"", line_of(m), std::move(found), std::move(wanted)}};
  }
  static void check_tag(const YAML::Mark& m, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!" || tag.starts_with("tag:yaml.org,2002:")) return;
    fail(m, "the tag " + io_text::quoted(tag), "YAML without tags of its own");
  }
  [[nodiscard]] bool wants_key() const noexcept {
    return !frames_.empty() && frames_.back().value->type == json_value::kind::object && !frames_.back().has_key;
  }
  void spend(const YAML::Mark& m, std::size_t values) {
    if (values > limits_.values - count_)
      fail(m, "more than " + std::to_string(limits_.values) + " values, aliases expanded", "a smaller document");
    count_ += values;
  }
  json_value& next(const YAML::Mark& m) {
    spend(m, 1);
    json_value* v = nullptr;
    if (frames_.empty()) v = &out_.emplace_back();
    else if (frames_.back().value->type == json_value::kind::array) v = &frames_.back().value->items.emplace_back();
    else v = &frames_.back().value->items.back();
    v->line = line_of(m);
    return *v;
  }
  void finish(const json_value& v, YAML::anchor_t a, std::size_t before) {
    if (a != YAML::NullAnchor) {
      const std::size_t values = count_ - before + 1;
      spend(YAML::Mark{}, values);
      anchors_.insert_or_assign(a, anchored{v, values});
    }
    if (!frames_.empty()) frames_.back().has_key = false;
  }
  void begin(const YAML::Mark& m, const std::string& tag, YAML::anchor_t a, json_value::kind k) {
    if (wants_key()) {
      fail(m, k == json_value::kind::object ? "a mapping as a key" : "a list as a key", "a word");
    }
    check_tag(m, tag);
    if (frames_.size() >= json_detail::max_depth) fail(m, "nesting deeper than 64", "a flatter document");
    json_value& v = next(m);
    v.type = k;
    frames_.push_back({&v, a, count_, false, false});
  }
  void end() {
    const frame f = frames_.back();
    frames_.pop_back();
    finish(*f.value, f.anchor, f.before);
  }
  // `<<: *base` or `<<: [*a, *b]`: what the mapping does not say itself.
  void merge(json_value& o) {
    std::size_t at = 0;
    while (o.keys[at] != "<<") ++at;
    const json_value from = std::move(o.items[at]);
    o.keys.erase(o.keys.begin() + static_cast<std::ptrdiff_t>(at));
    o.items.erase(o.items.begin() + static_cast<std::ptrdiff_t>(at));
    const auto add = [&](const json_value& m) {
      if (m.type != json_value::kind::object)
        throw fault{{"", from.line, "<<: " + m.described(), "a mapping or a list of mappings"}};
      for (std::size_t i = 0; i < m.keys.size(); ++i) {
        if (o.find(m.keys[i]) != nullptr) continue;
        if (o.keys.size() >= json_detail::max_keys)
          throw fault{{"", from.line, "a mapping with more than 1000 keys", "a list"}};
        o.keys.push_back(m.keys[i]);
        o.items.push_back(m.items[i]);
      }
    };
    if (from.type == json_value::kind::array)
      for (const auto& m : from.items) add(m);
    else add(from);
  }

  int begun_at_ = -1;  // where the last document began
  std::vector<json_value>& out_;
  const json_limits& limits_;
  std::vector<frame> frames_;
  std::map<YAML::anchor_t, anchored> anchors_;
  std::size_t count_ = 0;
};

}  // namespace yaml_detail

/// Reads YAML text: its documents in order, those that hold nothing left out. At most `max_yaml_bytes`.
[[nodiscard]] inline expected<std::vector<json_value>, input_error> parse_yaml(std::string_view text,
                                                                               const std::string& source,
                                                                               const json_limits& limits = {}) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const auto line_at = [&](std::size_t offset) {
    std::size_t line = 1;
    for (const char c : text.substr(0, offset)) line += c == '\n' ? 1 : 0;
    return line;
  };
  if (text.size() > max_yaml_bytes)
    return unexpected{input_error{source, 0, std::to_string(text.size()) + " bytes of YAML",
                                  "at most 64 MiB; larger files as JSON (`-o json`)"}};
  if (const auto bad = io_text::find_bad_utf8(text))
    return unexpected{input_error{source, line_at(*bad), "bytes that are no UTF-8", "YAML text"}};
  for (std::size_t i = 0; i < text.size(); ++i)
    if (const auto c = static_cast<unsigned char>(text[i]); c < 0x20 && c != '\n' && c != '\r' && c != '\t')
      return unexpected{
          input_error{source, line_at(i), "the control character " + io_text::quoted(text.substr(i, 1)), "YAML text"}};
  std::vector<json_value> out;
  yaml_detail::memory_buffer buffer{text};
  std::istream in{&buffer};
  yaml_detail::builder events{out, limits};
  const auto failed = [&](std::size_t line, std::string found, std::string wanted) {
    // A template often breaks the syntax; say so instead of what the parser stumbled over.
    std::size_t at = 0;
    for (std::size_t n = 1; n < line && at != std::string_view::npos; ++n)
      if (at = text.find('\n', at); at != std::string_view::npos) ++at;
    if (line != 0 && at != std::string_view::npos &&
        yaml_detail::is_template(text.substr(at, text.find('\n', at) - at))) {
      found = yaml_detail::template_found;
      wanted = yaml_detail::template_expected;
    }
    return unexpected{input_error{source, line, std::move(found), std::move(wanted)}};
  };
  try {
    YAML::Parser parser{in};
    while (parser.HandleNextDocument(events)) {
    }
  } catch (const yaml_detail::fault& f) {
    return failed(f.what.line, f.what.found, f.what.expected);
  } catch (const YAML::Exception& e) {
    return failed(e.mark.line < 0 ? 1 : static_cast<std::size_t>(e.mark.line) + 1,
                  "a YAML syntax error (" + e.msg + ")", "YAML");
  }
  if (out.empty()) return failed(0, "an empty file", "YAML or JSON");
  return out;
}

/// The word that a scalar is: the text of a string, a number or truth value as written; "" for null, lists and
/// mappings.
[[nodiscard]] inline std::string scalar_text(const json_value& v) {
  switch (v.type) {
    case json_value::kind::string:
      return v.text;
    case json_value::kind::integer:
    case json_value::kind::boolean:
    case json_value::kind::real:
      return v.text.empty() ? v.described() : v.text;
    default:
      return {};
  }
}

/// Reads JSON or YAML text as documents, in order.
[[nodiscard]] inline expected<std::vector<json_value>, input_error> parse_documents(std::string_view text,
                                                                                    const std::string& source,
                                                                                    const json_limits& limits = {}) {
  std::size_t i = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  while (i < text.size() && (io_text::is_blank(text[i]) || text[i] == '\n')) ++i;
  if (i == text.size() || (text[i] != '{' && text[i] != '[') || text.substr(i).starts_with("{{"))
    return parse_yaml(text, source, limits);
  return parse_json_stream(text, source, limits);
}

}  // namespace berth
