#pragma once
/// \file
/// Small parts of cases: amounts, labels, taints, conditions, placements. Needs nlohmann-json.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/case/members.hpp"
#include "berth/io/case/question.hpp"
#include "berth/profile/labels.hpp"
#include "berth/profile/site.hpp"

namespace berth::case_io {

template <class T>
using read = expected<T, input_error>;

[[nodiscard]] inline bool is_null(const json_value* v) noexcept {
  return v == nullptr || v->type == json_value::kind::null;
}

/// Reads the members of one object. Absent and null members leave the target alone.
class object {
 public:
  object(const json_value& v, const std::string& source) : v_{v}, source_{source} {}
  [[nodiscard]] const json_value& value() const noexcept { return v_; }
  [[nodiscard]] const std::string& source() const noexcept { return source_; }
  [[nodiscard]] const json_value* given(std::string_view key) const noexcept {
    const auto* v = v_.find(key);
    return is_null(v) ? nullptr : v;
  }
  [[nodiscard]] unexpected<input_error> wrong(std::string_view key, const json_value& at, std::string wanted) const {
    return unexpected<input_error>{input_error{
        source_, at.line, (key.empty() ? "" : std::string{key} + ": ") + at.described(), std::move(wanted)}};
  }
  [[nodiscard]] read<void> is_object(std::string_view what) const {
    if (v_.type != json_value::kind::object) return wrong(what, v_, "an object");
    return {};
  }
  [[nodiscard]] read<void> text(std::string_view key, std::string& out) const {
    const auto* v = given(key);
    if (v == nullptr) return {};
    if (v->type != json_value::kind::string) return wrong(key, *v, "a string");
    out = v->text;
    return {};
  }
  /// A member that has to be there.
  [[nodiscard]] read<const json_value*> needed(std::string_view key, json_value::kind type, const char* wanted) const {
    const auto* v = v_.find(key);
    if (v == nullptr) return unexpected{input_error{source_, v_.line, "no " + std::string{key}, wanted}};
    if (v->type != type) return wrong(key, *v, wanted);
    return v;
  }
  [[nodiscard]] read<std::string> name() const {
    auto v = needed("name", json_value::kind::string, "a name");
    if (!v) return unexpected{std::move(v).error()};
    return (*v)->text;
  }
  [[nodiscard]] read<void> flag(std::string_view key, bool& out) const {
    const auto* v = given(key);
    if (v == nullptr) return {};
    if (v->type != json_value::kind::boolean) return wrong(key, *v, "true or false");
    out = v->boolean;
    return {};
  }
  /// A whole number within [least, most].
  template <class Int>
  [[nodiscard]] read<void> integer(std::string_view key, Int& out, std::int64_t least, std::int64_t most) const {
    const auto* v = given(key);
    if (v == nullptr) return {};
    if (v->type != json_value::kind::integer || v->integer < least || v->integer > most)
      return wrong(key, *v, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    out = static_cast<Int>(v->integer);
    return {};
  }
  /// The items of an array; none where it is absent.
  [[nodiscard]] read<const std::vector<json_value>*> items(std::string_view key) const {
    static const std::vector<json_value> none;
    const auto* v = given(key);
    if (v == nullptr) return &none;
    if (v->type != json_value::kind::array) return wrong(key, *v, "an array");
    return &v->items;
  }
  /// The objects of an array; none where it is absent.
  [[nodiscard]] read<std::vector<object>> objects(std::string_view key) const {
    auto all = items(key);
    if (!all) return unexpected{std::move(all).error()};
    std::vector<object> out;
    for (const auto& v : **all) {
      out.emplace_back(v, source_);
      if (auto ok = out.back().is_object(key); !ok) return unexpected{std::move(ok).error()};
    }
    return out;
  }
  [[nodiscard]] read<void> texts(std::string_view key, std::vector<std::string>& out) const {
    auto all = items(key);
    if (!all) return unexpected{std::move(all).error()};
    for (const auto& i : **all) {
      if (i.type != json_value::kind::string) return wrong(key, i, "an array of strings");
      out.push_back(i.text);
    }
    return {};
  }

 private:
  const json_value& v_;
  const std::string& source_;
};

/// Most tasks, slots or pods that a case may speak of.
inline constexpr std::int64_t max_count = 1'000'000'000;

/// A number as thousandths.
[[nodiscard]] inline read<std::int64_t> thousandths(const json_value& v, std::string_view key,
                                                    const std::string& source) {
  const bool number = v.type == json_value::kind::integer || v.type == json_value::kind::real;
  if (!number || !(v.real * 1000 <= static_cast<double>(amount_list::most)) ||
      !(v.real * 1000 >= -static_cast<double>(amount_list::most)))
    return object{v, source}.wrong(key, v, "a number of at most 2e15");
  if (v.type == json_value::kind::integer) return v.integer * 1000;
  const double scaled = v.real * 1000;
  return static_cast<std::int64_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

/// An array of whole numbers from 0; none where it is absent.
[[nodiscard]] inline read<std::vector<std::int64_t>> whole_numbers(const object& o, std::string_view key) {
  auto all = o.items(key);
  if (!all) return unexpected{std::move(all).error()};
  std::vector<std::int64_t> out;
  for (const auto& i : **all) {
    if (i.type != json_value::kind::integer || i.integer < 0)
      return o.wrong(key, i, "an array of whole numbers from 0");
    out.push_back(i.integer);
  }
  return out;
}

/// {"cpu": 1000, "gpu": 0.5}: null members are no limit and left out.
[[nodiscard]] inline read<amount_list> amounts(const json_value* v, std::string_view key, const std::string& source) {
  amount_list out;
  if (is_null(v)) return out;
  if (v->type != json_value::kind::object) return object{*v, source}.wrong(key, *v, "an object of amounts");
  for (std::size_t i = 0; i < v->keys.size(); ++i) {
    if (is_null(&v->items[i])) continue;
    auto n = thousandths(v->items[i], v->keys[i], source);
    if (!n) return unexpected{std::move(n).error()};
    out.set(v->keys[i], *n);
  }
  return out;
}

/// {"zone": "a"}
[[nodiscard]] inline read<label_list> labels(const json_value* v, std::string_view key, const std::string& source) {
  label_list out;
  if (is_null(v)) return out;
  if (v->type != json_value::kind::object) return object{*v, source}.wrong(key, *v, "an object of labels");
  for (std::size_t i = 0; i < v->keys.size(); ++i) {
    if (v->items[i].type != json_value::kind::string)
      return object{*v, source}.wrong(v->keys[i], v->items[i], "a string");
    out.push_back({v->keys[i], v->items[i].text});
  }
  return out;
}

/// The object `expect`.
[[nodiscard]] inline read<object> expected_object(const case_question& q) {
  const auto* e = q.given("expect");
  if (e == nullptr || e->type != json_value::kind::object)
    return unexpected{input_error{q.source, q.body.line, "no object expect", "an expected answer"}};
  return object{*e, q.source};
}

}  // namespace berth::case_io
