#pragma once
/// \file
/// Which members of a case are read. Nothing that a case says is left out of its question: a member that is close to
/// one of the format is an error with the one that is meant, and any other that the answer does not look at makes the
/// case one that is not answered. Needs nlohmann-json.

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "berth/io/case/question.hpp"
#include "berth/io/unknown_key.hpp"

namespace berth::case_io {

/// The first member that nobody looks at.
struct unread_members {
  std::string first;                    ///< "request with colour (line 12)"; empty: all are read
  std::optional<input_error> misspelt;  ///< of one that was meant to be another

  /// Looks at the members of an object. \param known  those that are read (blanks between); null ones say nothing
  void look(const json_value& v, std::string_view known, std::string_view what, const std::string& source) {
    for (std::size_t i = 0; i < v.keys.size(); ++i) {
      const std::string& key = v.keys[i];
      if (v.items[i].type == json_value::kind::null || key == "note" || io_text::is_word_of(key, known)) continue;
      if (!misspelt) misspelt = io_text::misspelt_key(source, v.items[i].line, key, known, "a " + std::string{what});
      if (first.empty()) first = std::string{what} + " with " + key + " (line " + std::to_string(v.items[i].line) + ")";
    }
  }
};

/// Members of the parts of a case, by the member that holds the part or a list of them. Others hold names of the case's
/// own (amounts, labels).
struct part_members {
  std::string_view part;   ///< such as "requests"
  std::string_view known;  ///< with blanks between
  std::string_view what;   ///< one of them, in words; "" where another reader looks at the part
};
inline constexpr part_members common_parts[] = {
    {"cluster", "levels nodes node_filter", "cluster"},
    {"nodes", "name path capacity free free_slots labels taints ready schedulable", "node"},
    {"taints", "key value effect", "taint"},
    {"usage", "name node domain requests count state counts", "usage"},
    {"requests", "name count per_pod group node_selector tolerations node_affinity previous topology", "request"},
    {"tolerations", "key op value effect", "toleration"},
    {"node_affinity", "required_any_of preferred", "node affinity"},
    {"required_any_of", "all_of key op values", "term"},
    {"preferred", "weight all_of key op values", "term"},
    {"all_of", "key op values", "condition"},
    {"topology", "mode level slices", "topology"},
    {"slices", "level size", "slice"},
    {"existing", "request levels placements", "placement"},
    {"previous", "levels placements", "placement"},
    {"placements", "node domain count", "placement"},
    {"queue_groups", "name parent weight quota", "queue group"},
    {"queues", "name parent weight quota", "queue"},
    {"domains",
     "name path parent free_pods free_slots free_slices free_pods_if_leader_here free_slices_if_leader_here "
     "leaders_that_fit affinity_score score existing existing_pods",
     "domain"},
    {"need", "leaders slices workers min_per_domain slice_size", "need"},
};

namespace members_detail {

struct looker {
  const std::string& source;
  std::initializer_list<part_members> own;
  unread_members out;

  [[nodiscard]] const part_members* of(std::string_view part) const noexcept {
    for (const auto& p : own)
      if (p.part == part) return &p;
    for (const auto& p : common_parts)
      if (p.part == part) return &p;
    return nullptr;
  }
  /// Depth is bounded by that of the document.
  void part(const json_value& v, const part_members& p) {
    for (const auto& i : v.items)
      if (v.type == json_value::kind::array) part(i, p);
    if (v.type != json_value::kind::object || p.what.empty()) return;
    out.look(v, p.known, p.what, source);
    for (std::size_t i = 0; i < v.keys.size(); ++i) {
      // A usage's `requests` are amounts.
      if (p.part == "usage" || !io_text::is_word_of(v.keys[i], p.known)) continue;
      if (const auto* below = of(v.keys[i])) part(v.items[i], *below);
    }
  }
};

}  // namespace members_detail

/// What keeps a case from being answered: an error for a misspelt member, "not supported" for one that the answer does
/// not look at. `expect` is left to whoever compares. O(members × known ones).
/// \param body  members of the case that are read, beside those that every case has
/// \param own   parts whose members are others than in `common_parts`
[[nodiscard]] inline std::optional<case_answer> unread(const case_question& q, std::string_view body,
                                                       std::initializer_list<part_members> own = {}) {
  const std::string all = "id kind source policy expect topic " + std::string{body};
  members_detail::looker l{q.source, own, {}};
  l.part(q.body, {"", all, "case"});
  if (l.out.misspelt) return case_answer{unexpected{std::move(*l.out.misspelt)}};
  if (!l.out.first.empty()) return case_answer{case_verdict::unsupported(std::move(l.out.first))};
  return std::nullopt;
}

}  // namespace berth::case_io
