#pragma once
/// \file
/// Members of Kubernetes objects, read with messages that name file, line and key, and Kubernetes' quantities.
/// Needs nlohmann-json (through the tree of `io/json_document.hpp`) and yaml-cpp.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/units.hpp"
#include "berth/io/input_place.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/text.hpp"
#include "berth/io/yaml_document.hpp"

namespace berth {

/// An amount as Kubernetes writes it, exact to a thousandth (finer parts round up, as Kubernetes does).
struct kube_quantity {
  std::int64_t whole = 0;
  std::int32_t thousandths = 0;  ///< 0 to 999, beyond `whole`
};

/// What `parse_quantity` reads, for messages.
inline constexpr const char* quantity_form = "a quantity such as 2, 500m, 1.5, 1e3, 40Gi or 87425380Ki";

/// A quantity that is not negative: digits with or without a point, then nothing, a decimal suffix (n u m k M G T P E),
/// a binary one (Ki Mi Gi Ti Pi Ei) or a decimal exponent (e3, E-1). Empty for everything else and beyond 2^63.
/// Source: `k8s.io/apimachinery/pkg/api/resource/quantity.go`, "quantity grammar".
[[nodiscard]] inline std::optional<kube_quantity> parse_quantity(std::string_view s) noexcept {
  if (!s.empty() && s.front() == '+') s.remove_prefix(1);
  std::uint64_t digits = 0;  // the number without its point, at most 18 digits
  int scale = 0;             // digits behind the point
  std::size_t seen = 0;
  std::size_t i = 0;
  bool point = false;
  bool rest = false;  // digits that are left out, all of them finer than a thousandth of anything that fits
  for (; i < s.size(); ++i) {
    if (s[i] == '.' && !point) {
      point = true;
      continue;
    }
    if (!io_text::is_digit(s[i])) break;
    ++seen;
    if (digits < 1'000'000'000'000'000'000U) {
      digits = digits * 10 + static_cast<std::uint64_t>(s[i] - '0');
      scale += point ? 1 : 0;
    } else if (point) {
      rest = rest || s[i] != '0';
    } else {
      return std::nullopt;
    }
  }
  if (seen == 0) return std::nullopt;
  const std::string_view suffix = s.substr(i);
  int exponent = 0;  // of ten
  int shift = 0;     // of two
  static constexpr std::string_view binary = "KMGTPE";
  static constexpr std::string_view decimal = "num kMGTPE";
  if (suffix.size() == 2 && suffix[1] == 'i' && binary.find(suffix[0]) != std::string_view::npos) {
    shift = 10 * (static_cast<int>(binary.find(suffix[0])) + 1);
  } else if (suffix.size() == 1 && suffix[0] != ' ' && decimal.find(suffix[0]) != std::string_view::npos) {
    exponent = 3 * (static_cast<int>(decimal.find(suffix[0])) - 3);
  } else if (suffix.size() > 1 && (suffix[0] == 'e' || suffix[0] == 'E')) {
    const bool minus = suffix[1] == '-';
    const auto n = io_text::parse_count(suffix.substr(minus || suffix[1] == '+' ? 2 : 1), 99);
    if (!n) return std::nullopt;
    exponent = minus ? -static_cast<int>(*n) : static_cast<int>(*n);
  } else if (!suffix.empty()) {
    return std::nullopt;
  }
  // In thousandths: digits · 2^shift · 10^(3 + exponent − scale).
  __extension__ using wide = unsigned __int128;
  wide v = digits;
  for (; shift > 0; --shift) {
    v *= 2;
    if (v >> 126 != 0) return std::nullopt;
  }
  int tens = 3 + exponent - scale;
  for (; tens > 0 && v != 0; --tens) {
    v *= 10;
    if (v >> 123 != 0) return std::nullopt;
  }
  for (; tens < 0 && v != 0; ++tens) {
    rest = rest || v % 10 != 0;
    v /= 10;
  }
  if (rest) ++v;
  if (v / 1000 > static_cast<wide>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return kube_quantity{static_cast<std::int64_t>(v / 1000), static_cast<std::int32_t>(v % 1000)};
}

/// Reads members of mappings; every fault names the file, the line and the key.
class kube_reader {
 public:
  explicit kube_reader(std::string source) : source_{std::move(source)} {}

  [[nodiscard]] const std::string& source() const noexcept { return source_; }
  [[nodiscard]] input_place place(const json_value& at) const { return {source_, at.line}; }
  /// Errors where an object has a member that is not among `known` (blanks between). \param of  whose members they are
  [[nodiscard]] expected<void, input_error> only(const json_value& object, std::string_view known,
                                                 std::string_view of) const {
    return only_keys(object, known, source_, of);
  }
  [[nodiscard]] unexpected<input_error> error(const json_value& at, std::string found, std::string wanted) const {
    return unexpected{input_error{source_, at.line, std::move(found), std::move(wanted)}};
  }

  /// The member of that name and kind; null when there is none or it is null.
  [[nodiscard]] expected<const json_value*, input_error> optional_member(const json_value& parent, std::string_view key,
                                                                         json_value::kind kind) const {
    const json_value* v = parent.find(key);
    if (v == nullptr || v->type == json_value::kind::null) return static_cast<const json_value*>(nullptr);
    if (v->type != kind) return error(*v, std::string{key} + ": " + v->described(), kind_name(kind));
    return v;
  }
  /// The member of that name and kind, which must be there; never null.
  [[nodiscard]] expected<const json_value*, input_error> member(const json_value& parent, std::string_view key,
                                                                json_value::kind kind) const {
    auto v = optional_member(parent, key, kind);
    if (v && *v == nullptr) return missing(parent, key, kind_name(kind));
    return v;
  }
  [[nodiscard]] unexpected<input_error> missing(const json_value& parent, std::string_view key,
                                                std::string_view what) const {
    return error(parent, parent.type == json_value::kind::object ? "no " + std::string{key} : parent.described(),
                 std::string{key} + ": " + std::string{what});
  }

  /// A word (a string, or a plain number or truth value as written); empty when absent.
  [[nodiscard]] expected<std::optional<std::string>, input_error> optional_text(const json_value& parent,
                                                                                std::string_view key) const {
    using out = std::optional<std::string>;
    const json_value* v = parent.find(key);
    if (v == nullptr || v->type == json_value::kind::null) return out{};
    if (v->type == json_value::kind::object || v->type == json_value::kind::array)
      return error(*v, std::string{key} + ": " + v->described(), "a word");
    return out{scalar_text(*v)};
  }
  /// A word that must be there and not be empty.
  [[nodiscard]] expected<std::string, input_error> text(const json_value& parent, std::string_view key) const {
    auto v = optional_text(parent, key);
    if (!v) return unexpected{std::move(v).error()};
    if (!*v || (*v)->empty()) return missing(parent, key, "a word");
    return std::move(**v);
  }
  /// A whole number within [least, most] (also one in quotes); empty when absent.
  [[nodiscard]] expected<std::optional<std::int64_t>, input_error> optional_integer(const json_value& parent,
                                                                                    std::string_view key,
                                                                                    std::int64_t least,
                                                                                    std::int64_t most) const {
    using out = std::optional<std::int64_t>;
    const json_value* v = parent.find(key);
    if (v == nullptr || v->type == json_value::kind::null) return out{};
    std::optional<std::int64_t> n;
    if (v->type == json_value::kind::integer) n = v->integer;
    if (v->type == json_value::kind::string)
      if (const auto c = io_text::parse_count(v->text, std::uint64_t{1} << 62)) n = static_cast<std::int64_t>(*c);
    if (!n || *n < least || *n > most)
      return error(*v, std::string{key} + ": " + v->described(),
                   "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return n;
  }
  /// A whole number that must be there.
  [[nodiscard]] expected<std::int64_t, input_error> integer(const json_value& parent, std::string_view key,
                                                            std::int64_t least, std::int64_t most) const {
    auto v = optional_integer(parent, key, least, most);
    if (!v) return unexpected{std::move(v).error()};
    if (!*v) return missing(parent, key, "a whole number");
    return **v;
  }
  /// True or false; `otherwise` when absent.
  [[nodiscard]] expected<bool, input_error> flag(const json_value& parent, std::string_view key, bool otherwise) const {
    auto v = optional_member(parent, key, json_value::kind::boolean);
    if (!v) return unexpected{std::move(v).error()};
    return *v == nullptr ? otherwise : (*v)->boolean;
  }

  /// The value as a quantity; `what` names it in the message.
  [[nodiscard]] expected<kube_quantity, input_error> quantity(const json_value& v, std::string_view what) const {
    const auto q = parse_quantity(scalar_text(v));
    if (!q) return error(v, std::string{what} + ": " + v.described(), quantity_form);
    return *q;
  }
  /// A quantity that is a whole number of at most `most`.
  [[nodiscard]] expected<std::int64_t, input_error> count(const json_value& v, std::string_view what,
                                                          std::int64_t most) const {
    const auto q = parse_quantity(scalar_text(v));
    if (!q || q->thousandths != 0 || q->whole > most)
      return error(v, std::string{what} + ": " + v.described(), "a whole number of at most " + std::to_string(most));
    return q->whole;
  }
  /// CPUs: `4`, `500m`.
  [[nodiscard]] expected<cpu_millis, input_error> cpus(const json_value& v, std::string_view what) const {
    const auto q = parse_quantity(scalar_text(v));
    if (!q || q->whole > io_text::max_cpus)
      return error(v, std::string{what} + ": " + v.described(), "CPUs such as 4 or 500m, at most a million");
    return cpu_millis{q->whole * 1000 + q->thousandths};
  }
  /// Memory in bytes: `40Gi`, `87425380Ki`.
  [[nodiscard]] expected<bytes, input_error> memory(const json_value& v, std::string_view what) const {
    const auto q = parse_quantity(scalar_text(v));
    if (!q || q->whole > io_text::max_memory)
      return error(v, std::string{what} + ": " + v.described(), "memory such as 40Gi, at most 4Pi");
    return bytes{q->whole + (q->thousandths > 0 ? 1 : 0)};
  }

  [[nodiscard]] static const char* kind_name(json_value::kind k) noexcept {
    switch (k) {
      case json_value::kind::object:
        return "a mapping";
      case json_value::kind::array:
        return "a list";
      case json_value::kind::boolean:
        return "true or false";
      case json_value::kind::string:
        return "a word";
      default:
        return "a number";
    }
  }

 private:
  std::string source_;
};

}  // namespace berth
