#pragma once
/// \file
/// Topologies that are declared by labels or patterns instead of by names: which machines of all files lie where.
/// Standard library alone (through `io/site_report.hpp`: Boost.Graph).
///
/// A level by label works as in Kueue: a domain is one combination of the values of its label and of the labels of all
/// levels around it, so that `rack1` of two blocks is two domains. A machine without some of the labels hangs on the
/// innermost domain whose label it has.
///
/// Cost  O(machines × (labels + rules)); patterns by a matcher that is polynomial in pattern and name.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/text.hpp"

namespace berth {

/// The value of a machine's label `key`; empty where it has none. O(labels).
[[nodiscard]] inline std::optional<std::string_view> label_of(const machine_report& m, std::string_view key) noexcept {
  return label_value(m.labels, key);
}

/// True where all requirements hold. A missing label meets `not_in`, as in Kubernetes.
[[nodiscard]] inline bool meets(const machine_report& m, const std::vector<label_requirement>& all) noexcept {
  return meets_all(m.labels, all);
}

/// The prefix of labels that this library writes for levels whose names are no labels; the level's name follows it.
inline constexpr std::string_view own_level_prefix = "topology.berth/";

/// The longest pattern that is accepted.
inline constexpr std::size_t max_name_pattern = 256;

/// Reads a pattern for names. The grammar is ECMAScript's without references back; what the pattern of another grammar
/// has besides is refused.
[[nodiscard]] inline std::optional<std::regex> parse_name_pattern(const std::string& pattern) {
  if (pattern.empty() || pattern.size() > max_name_pattern) return std::nullopt;
  // libstdc++ expands counts: a few nested ones would be a very large machine.
  std::size_t counts = 0, depth = 0, deepest = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
      if (i < pattern.size() && pattern[i] >= '1' && pattern[i] <= '9') return std::nullopt;
      continue;
    }
    if (pattern[i] == '{') {
      const std::size_t end = pattern.find('}', i);
      if (end == std::string::npos || end - i > 6) return std::nullopt;
      ++counts;
    }
    if (pattern[i] == '(' && ++depth > deepest) deepest = depth;
    if (pattern[i] == ')' && depth > 0) --depth;
  }
  if (counts > 4 || deepest > 16) return std::nullopt;
  try {
    return std::regex{pattern, std::regex::ECMAScript | std::regex::nosubs | std::regex_constants::__polynomial};
  } catch (const std::regex_error&) {
    return std::nullopt;
  }
}

namespace topology_rule_detail {

/// Puts one machine into the domains of its labels; false where it has none of them.
inline bool place_by_labels(topology_report& t, std::unordered_map<std::string, std::uint32_t>& known,
                            const machine_report& m, const std::string& name) {
  std::uint32_t at = domain_declaration::no_parent;
  for (std::size_t l = 0; l < t.label_levels.size(); ++l) {
    const auto v = label_of(m, t.label_levels[l]);
    if (!v || v->empty()) continue;
    const std::string key = std::to_string(at) + " " + std::to_string(l) + " " + std::string{*v};
    const auto [it, fresh] = known.emplace(key, static_cast<std::uint32_t>(t.domains.size()));
    if (fresh) {
      std::string_view level = t.label_levels[l];
      if (level.starts_with(own_level_prefix)) level.remove_prefix(own_level_prefix.size());
      t.domains.push_back({std::string{*v}, at, std::string{level}});
      t.domain_places.push_back(m.place);
    }
    at = it->second;
  }
  if (at == domain_declaration::no_parent) return false;
  t.members.push_back({name, at});
  return true;
}

}  // namespace topology_rule_detail

/// Completes one topology with the machines of `reports`: members by its rules and by its labels. Machines that are
/// members already stay where they are; a machine that two rules put into different domains stays where the first put
/// it, and is among the conflicts. Levels by label that some file has made domains of are left alone.
/// \return sentences about machines that two rules claim
[[nodiscard]] inline std::vector<std::string> apply_topology_rules(topology_report& t,
                                                                   const std::vector<const site_report*>& reports) {
  std::vector<std::string> conflicts;
  if (t.rules.empty() && (t.label_levels.empty() || !t.domains.empty())) return conflicts;
  std::unordered_map<std::string, std::uint32_t> member;
  for (const auto& m : t.members) member.emplace(m.machine, m.domain);
  std::vector<std::optional<std::regex>> patterns;
  for (const auto& r : t.rules)
    patterns.push_back(r.pattern.empty() ? std::optional<std::regex>{} : parse_name_pattern(r.pattern));
  const bool by_labels = t.domains.empty();
  std::unordered_map<std::string, std::uint32_t> known;
  for (const site_report* report : reports)
    for (const auto& m : report->machines) {
      if (m.name.empty()) continue;
      if (by_labels && !t.label_levels.empty()) {
        if (!member.contains(m.name) && topology_rule_detail::place_by_labels(t, known, m, m.name))
          member.emplace(m.name, t.members.back().domain);
        continue;
      }
      for (std::size_t i = 0; i < t.rules.size(); ++i) {
        const auto& r = t.rules[i];
        if (r.pattern.empty() ? !meets(m, r.labels)
                              : !patterns[i] || m.name.size() > 253 || !std::regex_search(m.name, *patterns[i]))
          continue;
        const auto [it, fresh] = member.emplace(m.name, r.domain);
        if (fresh) t.members.push_back({m.name, r.domain});
        else if (it->second != r.domain)
          conflicts.push_back(r.place.text() + ": machine " + io_text::quoted(m.name) + " also matches domain " +
                              io_text::quoted(t.domains[r.domain].name) + "; it stays in " +
                              io_text::quoted(t.domains[it->second].name));
      }
    }
  return conflicts;
}

/// Joins the trees that several files declare in parts under one name (Volcano's HyperNodes by tiers): a domain of the
/// same name is one domain. What hangs elsewhere in a later file stays where the first file has it.
/// \return sentences about what does not fit together
[[nodiscard]] inline std::vector<std::string> join_topologies(std::vector<topology_report>& all,
                                                              std::string_view name = "HyperNodes") {
  constexpr std::uint32_t none = domain_declaration::no_parent;
  std::vector<std::string> conflicts;
  std::size_t first = all.size();
  std::unordered_map<std::string, std::uint32_t> known;
  for (std::size_t i = 0; i < all.size();) {
    topology_report& t = all[i];
    if (t.name != name || t.what != topology_report::kind::network) {
      ++i;
      continue;
    }
    if (first == all.size()) {
      first = i++;
      for (std::uint32_t d = 0; d < t.domains.size(); ++d) known.emplace(t.domains[d].name, d);
      continue;
    }
    topology_report& whole = all[first];
    std::vector<std::uint32_t> at;
    for (std::size_t d = 0; d < t.domains.size(); ++d) {
      const auto [it, fresh] = known.emplace(t.domains[d].name, static_cast<std::uint32_t>(whole.domains.size()));
      if (fresh) {
        whole.domains.push_back({t.domains[d].name, none, t.domains[d].level});
        whole.domain_places.push_back(t.domain_places[d]);
      } else if (whole.domains[it->second].level.empty()) {
        whole.domains[it->second].level = t.domains[d].level;
      }
      at.push_back(it->second);
    }
    for (std::size_t d = 0; d < t.domains.size(); ++d) {
      if (t.domains[d].parent == none) continue;
      std::uint32_t& parent = whole.domains[at[d]].parent;
      const std::uint32_t wanted = at[t.domains[d].parent];
      std::uint32_t above = wanted;
      for (std::size_t n = 0; n < whole.domains.size() && above != none && above != at[d]; ++n)
        above = whole.domains[above].parent;
      if ((parent != none && parent != wanted) || above == at[d])
        conflicts.push_back(t.domain_places[d].text() + ": domain " + io_text::quoted(t.domains[d].name) +
                            " hangs elsewhere in another file; the first file counts");
      else parent = wanted;
    }
    for (auto& m : t.members) whole.members.push_back({std::move(m.machine), at[m.domain]});
    for (auto& rule : t.rules) {
      rule.domain = at[rule.domain];
      whole.rules.push_back(std::move(rule));
    }
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return conflicts;
}

}  // namespace berth
