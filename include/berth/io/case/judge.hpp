#pragma once
/// \file
/// Compares answers of the placing profiles with what a case expects. Needs nlohmann-json.

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/case/requests.hpp"

namespace berth::case_io {

/// "x1:2 x5:2", sorted. Where `expected` is given, paths are cut to the length that is expected there.
[[nodiscard]] inline std::string text_of(std::vector<placed_count> where) {
  std::vector<std::string> all;
  for (const auto& p : where) {
    std::string one;
    for (const auto& d : p.domain) one += (one.empty() ? "" : "/") + d;
    all.push_back(one + ":" + std::to_string(p.count));
  }
  std::sort(all.begin(), all.end());
  std::string out;
  for (const auto& a : all) out += (out.empty() ? "" : " ") + a;
  return out;
}
/// Without domains that get nothing, and with only the innermost name where `innermost`.
[[nodiscard]] inline std::vector<placed_count> tidy(std::vector<placed_count> where, bool innermost) {
  std::vector<placed_count> out;
  for (auto& p : where) {
    if (p.count == 0) continue;
    if (innermost && p.domain.size() > 1) p.domain.erase(p.domain.begin(), p.domain.end() - 1);
    out.push_back(std::move(p));
  }
  return out;
}

/// Letters and digits in lower case: "nodeSelector" and "node-selector" are the same word.
[[nodiscard]] inline std::string plain_word(std::string_view s) {
  std::string out;
  for (const char c : s)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// What of a refusal a case states, and what ours says there: pairs of texts.
struct judged_texts {
  std::string expected, got;
  void add(const std::string& key, const std::string& e, const std::string& g) {
    expected += " " + key + " " + e;
    got += " " + key + " " + g;
  }
};

[[nodiscard]] inline read<void> judge_reason(const object& reason, const named_refusal& ours, judged_texts& out) {
  std::string category;
  if (auto ok = reason.text("category", category); !ok) return ok;
  // What never fits does not fit now either; a case that knows no better says only that.
  const bool weaker = category == "insufficient-capacity" && ours.why == named_refusal::category::never_feasible;
  if (!category.empty()) out.add("because", category, weaker ? category : name_of(ours.why));
  const auto number = [&](const char* key, std::optional<std::int64_t> have) -> read<void> {
    if (reason.given(key) == nullptr) return {};
    std::int64_t n = 0;
    if (auto ok = reason.integer(key, n, 0, max_count); !ok) return ok;
    out.add(key, std::to_string(n), have ? std::to_string(*have) : "?");
    return {};
  };
  if (auto ok = number("fits", ours.fits); !ok) return ok;
  if (auto ok = number("needed", ours.needed); !ok) return ok;
  if (auto ok = number("nodes_considered", ours.nodes_considered); !ok) return ok;
  if (std::string level;
      ours.why == named_refusal::category::no_domains_at_level || ours.why == named_refusal::category::unknown_level) {
    if (auto ok = reason.text("level", level); !ok) return ok;
    if (!level.empty()) out.add("at", level, ours.detail);
  }
  std::string unit;
  if (auto ok = reason.text("unit", unit); !ok) return ok;
  if (!unit.empty()) out.add("unit", unit, ours.unit);
  const auto listed = [](std::vector<std::string> all) {
    std::sort(all.begin(), all.end());
    std::string text;
    for (const auto& a : all) text += (text.empty() ? "" : ", ") + a;
    return "[" + text + "]";
  };
  if (reason.given("per_level") != nullptr) {
    auto levels = reason.items("per_level");
    if (!levels) return unexpected{std::move(levels).error()};
    std::vector<std::string> e, g;
    for (const auto& i : **levels) {
      const object o{i, reason.source()};
      std::string level;
      std::int64_t fits = 0, needed = 0;
      if (auto ok = o.text("level", level); !ok) return ok;
      if (auto ok = o.integer("fits", fits, 0, max_count); !ok) return ok;
      if (auto ok = o.integer("needed", needed, 0, max_count); !ok) return ok;
      e.push_back(level + " " + std::to_string(fits) + "/" + std::to_string(needed));
    }
    for (const auto& l : ours.per_level)
      g.push_back(l.level + " " + std::to_string(l.fits) + "/" + std::to_string(l.needed));
    out.add("per level", listed(e), listed(g));
  }
  if (reason.given("excluded") != nullptr) {
    auto causes = reason.items("excluded");
    if (!causes) return unexpected{std::move(causes).error()};
    std::vector<std::string> e, g;
    bool named = false;  // whether the case names what it is about beside resources
    for (const auto& i : **causes) {
      const object o{i, reason.source()};
      std::string cause, what;
      std::int64_t nodes = 0;
      if (auto ok = o.text("cause", cause); !ok) return ok;
      if (auto ok = o.text("what", what); !ok) return ok;
      if (auto ok = o.integer("nodes", nodes, 0, max_count); !ok) return ok;
      e.push_back(plain_word(cause) + " " + plain_word(what) + " " + std::to_string(nodes));
      named = named || (!what.empty() && plain_word(cause) == "taint");
    }
    for (const auto& x : ours.excluded) {
      const std::string cause = plain_word(x.cause);
      const std::string what = cause == "taint" && !named ? std::string{} : plain_word(x.what);
      g.push_back(cause + " " + what + " " + std::to_string(x.nodes));
    }
    out.add("excluded", listed(e), listed(g));
  }
  return {};
}

/// Sorted numbers as text.
[[nodiscard]] inline std::string sorted_text(std::vector<std::int64_t> all) {
  std::sort(all.begin(), all.end());
  std::string out;
  for (const auto n : all) out += (out.empty() ? "" : ",") + std::to_string(n);
  return out;
}

/// One entry of `expect` of a placing case against our answer.
[[nodiscard]] inline read<case_verdict> judge_one(const object& e, const named_answer& ours) {
  std::string result;
  if (auto ok = e.text("result", result); !ok) return unexpected{std::move(ok).error()};
  judged_texts t;
  // A caller that only knows failure says "failed".
  std::string got = name_of(ours.outcome);
  if (result == "failed" && ours.outcome == named_answer::result::unschedulable) got = "failed";
  t.add(ours.request + ":", result, got);
  std::vector<std::string> levels;
  if (auto ok = e.texts("levels", levels); !ok) return unexpected{std::move(ok).error()};
  if (!levels.empty()) {
    const auto join = [](const std::vector<std::string>& all) {
      std::string out;
      for (const auto& l : all) out += (out.empty() ? "" : "/") + l;
      return out;
    };
    t.add("in", join(levels), join(ours.levels));
  }
  if (e.given("placements") != nullptr) {
    auto where = placements(e, "placements");
    if (!where) return unexpected{std::move(where).error()};
    bool innermost = true;
    for (const auto& p : *where) innermost = innermost && p.domain.size() == 1;
    t.add("on", text_of(tidy(*where, false)), text_of(tidy(ours.placements, innermost)));
  }
  std::map<std::string, std::int64_t> per_node;
  std::vector<std::int64_t> counts;
  for (const auto& p : ours.placements)
    if (!p.domain.empty()) per_node[p.domain.back()] += p.count;
  for (const auto& [node, n] : per_node) counts.push_back(n);
  if (e.given("placed_total") != nullptr) {
    std::int64_t n = 0;
    if (auto ok = e.integer("placed_total", n, 0, max_count); !ok) return unexpected{std::move(ok).error()};
    t.add("in all", std::to_string(n), std::to_string(ours.tasks()));
  }
  if (e.given("distinct_nodes") != nullptr) {
    std::int64_t n = 0;
    if (auto ok = e.integer("distinct_nodes", n, 0, max_count); !ok) return unexpected{std::move(ok).error()};
    t.add("nodes", std::to_string(n), std::to_string(per_node.size()));
  }
  if (const auto* d = e.given("domain")) {
    std::string want = d->type == json_value::kind::string ? d->text : std::string{};
    if (d->type == json_value::kind::array && !d->items.empty()) want = d->items.back().text;
    bool inside = !ours.placements.empty();
    for (const auto& p : ours.placements)
      inside = inside && std::find(p.domain.begin(), p.domain.end(), want) != p.domain.end();
    t.add("inside", want, inside ? want : "elsewhere");
  }
  for (std::size_t i = 0; i < e.value().keys.size(); ++i) {
    const auto& key = e.value().keys[i];
    if (!key.ends_with("_sorted") || is_null(&e.value().items[i])) continue;
    auto want = whole_numbers(e, key);
    if (!want) return unexpected{std::move(want).error()};
    t.add(key, sorted_text(std::move(*want)), sorted_text(counts));
  }
  if (const auto* r = e.given("reason"); r != nullptr && r->type == json_value::kind::object && ours.reason)
    if (auto ok = judge_reason(object{*r, e.source()}, *ours.reason, t); !ok) return unexpected{std::move(ok).error()};
  for (std::size_t i = 0; i < e.value().keys.size(); ++i) {
    // Words explain; numbers and lists that we do not know say something that was not looked at.
    constexpr std::string_view known[] = {"request", "result",         "levels", "placements",
                                          "reason",  "distinct_nodes", "domain", "placed_total"};
    const auto& key = e.value().keys[i];
    const auto type = e.value().items[i].type;
    bool looked_at = type == json_value::kind::string || type == json_value::kind::null || key.ends_with("_sorted");
    for (const auto k : known) looked_at = looked_at || key == k;
    if (!looked_at) return case_verdict::unsupported("the expectation " + io_text::quoted(key));
  }
  return case_verdict::compare(t.expected, t.got);
}

/// All entries of `expect` against the answers of the same names.
[[nodiscard]] inline case_answer judge(const case_question& q, const std::vector<named_answer>& ours) {
  const object body{q.body, q.source};
  auto all = body.items("expect");
  if (!all) return unexpected{std::move(all).error()};
  std::string expected_text, got;
  for (std::size_t i = 0; i < (*all)->size(); ++i) {
    const object e{(**all)[i], q.source};
    if (auto ok = e.is_object("expect"); !ok) return unexpected{std::move(ok).error()};
    std::string name;
    if (auto ok = e.text("request", name); !ok) return unexpected{std::move(ok).error()};
    const named_answer* mine = nullptr;
    for (const auto& a : ours)
      if (a.request == name) mine = &a;
    // By position only where one of the two has no name.
    if (mine == nullptr && i < ours.size() && (name.empty() || ours[i].request.empty())) mine = &ours[i];
    if (mine == nullptr) return e.wrong("request", e.value(), "the name of a request");
    auto v = judge_one(e, *mine);
    if (!v) return unexpected{std::move(v).error()};
    if (v->result == case_result::unsupported) return v;
    expected_text += v->expected;
    got += v->got;
  }
  return case_verdict::compare(expected_text.empty() ? "" : expected_text.substr(1), got.empty() ? "" : got.substr(1));
}

}  // namespace berth::case_io
