#pragma once
/// \file
/// Rules of `policy/device_kind.hpp` as a JSON file:
///
///     {"berth_kind_rules": 1, "rules": [
///       {"name": "notebooks", "kinds": ["development"], "memory_percent_at_most": 50, "use": "time-slice",
///        "why": "…", "source": "…"}]}
///
/// Of a rule, `name` and `use` are needed; `kinds`, `latency` (arrays of words), `linked`, `memory_percent_at_most` and
/// `utilisation_percent_at_most` are conditions. Needs nlohmann-json.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/json_document.hpp"
#include "berth/policy/device_kind.hpp"

namespace berth {

namespace json_detail {

/// Index of a word among names, or as many as there are.
[[nodiscard]] inline std::size_t word_index(std::span<const std::string_view> names, std::string_view word) noexcept {
  std::size_t i = 0;
  while (i < names.size() && names[i] != word) ++i;
  return i;
}
[[nodiscard]] inline std::string word_list(std::span<const std::string_view> names) {
  std::string out;
  for (const auto n : names) out += (out.empty() ? "" : ", ") + std::string{n};
  return out;
}
/// An array of such words as a mask; absent leaves it alone.
[[nodiscard]] inline expected<void, input_error> read_words(const json_reader& r, const json_value& v,
                                                            std::string_view key,
                                                            std::span<const std::string_view> names,
                                                            std::uint8_t& out) {
  std::vector<std::string> words;
  auto ok = r.texts(key, words);
  const json_value* const at = v.find(key);
  if (!ok || at == nullptr) return ok;
  if (words.empty()) return r.wrong(key, *at, "at least one of " + word_list(names));
  unsigned mask = 0;
  for (const auto& w : words) {
    const std::size_t i = word_index(names, w);
    if (i == names.size())
      return unexpected{r.error(*at, std::string{key} + ": " + io_text::quoted(w), "one of " + word_list(names))};
    mask |= 1U << i;
  }
  out = static_cast<std::uint8_t>(mask);
  return {};
}
[[nodiscard]] inline expected<kind_rule, input_error> read_kind_rule(const json_value& v, const std::string& source) {
  const json_reader r{v, source};
  kind_rule out;
  std::string use;
  auto ok = r.only("name kinds latency linked memory_percent_at_most utilisation_percent_at_most use why source");
  if (ok) ok = r.text("name", out.name);
  if (ok && out.name.empty()) ok = unexpected{r.error(v, "a rule without \"name\"", "a name")};
  if (ok) ok = r.text("use", use);
  const std::size_t kind = word_index(device_kind_names, use);
  if (ok && kind == std::size(device_kind_names))
    ok = unexpected{r.error(v.find("use") != nullptr ? *v.find("use") : v,
                            "rule " + io_text::quoted(out.name) + " with use " + io_text::quoted(use),
                            "one of " + word_list(device_kind_names))};
  if (ok) out.use = static_cast<device_kind>(kind);
  if (ok) ok = read_words(r, v, "kinds", work_kind_names, out.kinds);
  if (ok) ok = read_words(r, v, "latency", latency_class_names, out.latencies);
  if (ok && v.find("linked") != nullptr) {
    bool linked = false;
    ok = r.yes_or_no("linked", linked);
    out.linked = linked;
  }
  const auto percent = [&](std::string_view key, std::optional<unsigned>& to) {
    if (!ok || v.find(key) == nullptr) return;
    unsigned n = 0;
    ok = r.integer(key, n, 0, 100);
    to = n;
  };
  percent("memory_percent_at_most", out.memory_at_most);
  percent("utilisation_percent_at_most", out.utilisation_at_most);
  if (ok) ok = r.text("why", out.why);
  if (ok) ok = r.text("source", out.source);
  if (!ok) return unexpected{std::move(ok).error()};
  return out;
}

}  // namespace json_detail

/// Reads a table of rules; at most 1,000.
[[nodiscard]] inline expected<std::vector<kind_rule>, input_error> read_kind_rules(std::string_view text,
                                                                                   const std::string& source) {
  const auto root = parse_json(text, source);
  if (!root) return unexpected{root.error()};
  const json_reader r{*root, source};
  std::int64_t version = 0;
  auto ok = r.only("berth_kind_rules rules");
  if (ok) ok = r.integer("berth_kind_rules", version, 1, 1);
  if (ok && version != 1) ok = unexpected{r.error(*root, "no \"berth_kind_rules\"", "\"berth_kind_rules\": 1")};
  if (!ok) return unexpected{std::move(ok).error()};
  const auto list = r.array("rules");
  if (!list) return unexpected{list.error()};
  if (*list == nullptr || (*list)->items.empty() || (*list)->items.size() > 1000)
    return unexpected{r.error(*root, "no rules, or too many", "\"rules\": an array of 1 to 1000 rules")};
  std::vector<kind_rule> out;
  for (const auto& v : (*list)->items) {
    auto one = json_detail::read_kind_rule(v, source);
    if (!one) return unexpected{std::move(one).error()};
    out.push_back(std::move(*one));
  }
  return out;
}

/// The same as a file's text.
[[nodiscard]] inline std::string write_kind_rules(std::span<const kind_rule> rules) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const kind_rule& r : rules) {
    nlohmann::ordered_json o;
    o["name"] = r.name;
    const auto words = [&](const char* key, std::span<const std::string_view> names, unsigned mask) {
      if (mask == 0xff) return;
      for (std::size_t i = 0; i < names.size(); ++i)
        if ((mask >> i & 1U) != 0) o[key].push_back(std::string{names[i]});
    };
    words("kinds", work_kind_names, r.kinds);
    words("latency", latency_class_names, r.latencies);
    if (r.linked) o["linked"] = *r.linked;
    if (r.memory_at_most) o["memory_percent_at_most"] = *r.memory_at_most;
    if (r.utilisation_at_most) o["utilisation_percent_at_most"] = *r.utilisation_at_most;
    o["use"] = std::string{device_kind_names[static_cast<unsigned>(r.use)]};
    if (!r.why.empty()) o["why"] = r.why;
    if (!r.source.empty()) o["source"] = r.source;
    list.push_back(std::move(o));
  }
  nlohmann::ordered_json root;
  root["berth_kind_rules"] = 1;
  root["rules"] = std::move(list);
  return root.dump(2) + "\n";
}

}  // namespace berth
