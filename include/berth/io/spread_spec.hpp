#pragma once
/// \file
/// How the tasks of a group are to be spread, by words: levels are names, tasks that count are chosen by their labels.
/// What the words mean is known only beside a concrete cluster (`io/resolve_spread.hpp`).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/text.hpp"

namespace berth {

/// What a label of a machine or of a task must be.
struct label_requirement {
  enum class kind : std::uint8_t { in, not_in, exists, missing };
  std::string key;
  kind what = kind::in;
  std::vector<std::string> values;  ///< of `in` and `not_in`

  friend bool operator==(const label_requirement&, const label_requirement&) = default;
};

/// The value of `key` among labels `key=value`; null where there is none. A view into the labels.
[[nodiscard]] inline std::optional<std::string_view> label_value(const std::vector<std::string>& labels,
                                                                 std::string_view key) noexcept {
  for (const std::string_view l : labels)
    if (l.starts_with(key) && l.size() > key.size() && l[key.size()] == '=') return l.substr(key.size() + 1);
  return std::nullopt;
}
/// Whether labels `key=value` meet all requirements. O(labels × requirements).
[[nodiscard]] inline bool meets_all(const std::vector<std::string>& labels,
                                    const std::vector<label_requirement>& all) noexcept {
  using kind = label_requirement::kind;
  for (const auto& r : all) {
    const auto value = label_value(labels, r.key);
    bool in = false;
    for (const auto& v : r.values) in = in || (value && *value == v);
    const bool ok = r.what == kind::exists    ? value.has_value()
                    : r.what == kind::missing ? !value.has_value()
                    : r.what == kind::in      ? in
                                              : !in;
    if (!ok) return false;
  }
  return true;
}

/// A member that does not take part in comparisons.
template <class T>
struct uncompared {
  T is{};
  friend bool operator==(const uncompared&, const uncompared&) noexcept { return true; }
};

/// The name under which a task's namespace stands among its labels: selectors look at one namespace.
inline constexpr std::string_view namespace_label = "berth/namespace";

/// A rule about the domains of one level. See `spread_rule` (`job/spread.hpp`) for what is promised.
struct spread_spec {
  std::string level;                       ///< or a word that means nodes
  std::uint32_t max_skew = 0;              ///< 0: any
  std::uint32_t minimum_domains = 0;       ///< read with `max_skew`
  std::optional<std::uint32_t> at_most{};  ///< of the tasks that count, in a domain
  bool beside = false;   ///< only where a task that counts runs already; where none does anywhere, own ones together
  bool required = true;  ///< false: dropped where the group does not fit with it
  bool own = true;       ///< the group's own tasks count
  bool others = false;   ///< tasks of other groups and jobs count whose labels meet `selector`
  std::vector<label_requirement> selector{};  ///< read with `others`; empty: all tasks
  bool declared_only = false;      ///< domains that the site does not declare (nodes without the label) get nothing
  bool any_labels = false;         ///< domains without a node that the labels of the group admit count for the skew too
  bool any_taints = false;         ///< so do those whose nodes all have taints, or are drained
  uncompared<std::size_t> line{};  ///< where the file says it; 0 where it has no lines

  friend bool operator==(const spread_spec&, const spread_spec&) = default;
};

namespace job_detail {

/// `LEVEL`, `LEVEL:A` or `LEVEL:A:B` with whole numbers above 0; colons of the level are kept.
struct level_and_counts {
  std::string level;
  std::vector<std::uint32_t> counts;
};
[[nodiscard]] inline std::optional<level_and_counts> parse_level_and_counts(std::string_view value, std::size_t most) {
  level_and_counts out;
  for (;;) {
    const std::size_t colon = value.rfind(':');
    if (colon == std::string_view::npos || out.counts.size() == most) break;
    const auto n = io_text::parse_count(value.substr(colon + 1), 10'000'000);
    if (!n) break;
    if (*n == 0) return std::nullopt;
    out.counts.insert(out.counts.begin(), static_cast<std::uint32_t>(*n));
    value = value.substr(0, colon);
  }
  if (value.empty() || value.ends_with(':')) return std::nullopt;
  out.level = value;
  return out;
}

/// The rule of a `--gang` key `spread`, `anti`, `prefer-spread` or `prefer-anti`; null where the value is none.
[[nodiscard]] inline std::optional<spread_spec> parse_spread(std::string_view key, std::string_view value) {
  spread_spec s;
  s.required = !key.starts_with("prefer-");
  const bool anti = key.ends_with("anti");
  auto words = parse_level_and_counts(value, anti ? 1 : 2);
  if (!words) return std::nullopt;
  s.level = std::move(words->level);
  const auto& n = words->counts;
  if (anti) s.at_most = n.empty() ? 1 : n[0];
  else s.max_skew = n.empty() ? 1 : n[0];
  if (n.size() == 2) s.minimum_domains = n[1];
  return s;
}
[[nodiscard]] constexpr bool is_spread_key(std::string_view key) noexcept {
  return key == "spread" || key == "anti" || key == "prefer-spread" || key == "prefer-anti";
}
/// What those read, for messages.
inline constexpr const char* spread_form = "LEVEL, LEVEL:SKEW or LEVEL:SKEW:DOMAINS with numbers above 0";
inline constexpr const char* anti_form = "LEVEL or LEVEL:TASKS with a number above 0";

/// What is wrong with a rule by itself, as {found, expected}.
[[nodiscard]] inline std::optional<std::pair<std::string, std::string>> fault_of(const spread_spec& s) {
  using fault = std::pair<std::string, std::string>;
  if (s.level.empty()) return fault{"a rule of spreading without level", "the name of a level, or node"};
  if (s.max_skew == 0 && !s.at_most && !s.beside)
    return fault{"a rule of spreading over " + io_text::quoted(s.level) + " that asks for nothing",
                 "a skew or a number of tasks at most"};
  if (s.minimum_domains != 0 && s.max_skew == 0)
    return fault{"a least number of domains of " + io_text::quoted(s.level) + " without a skew", "both"};
  if (s.at_most && *s.at_most == 0 && s.own)
    return fault{"at most 0 own tasks in each " + io_text::quoted(s.level), "at least 1"};
  return std::nullopt;
}

}  // namespace job_detail

}  // namespace berth
