#pragma once
/// \file
/// Reads a file of cases (`berth-cases/1`). Needs nlohmann-json.

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/case/question.hpp"
#include "berth/io/case/value.hpp"

namespace berth {

/// What a file says about all of its cases.
struct case_file {
  std::string name;  ///< for messages
  std::string peer;  ///< whose rules the expected answers follow
  std::string repo, commit, topic;
  json_value document;  ///< without `cases`
  std::vector<case_question> cases;

  /// Cases point into `document`, so a copy would point into the original.
  case_file() = default;
  case_file(case_file&&) = delete;
  case_file& operator=(case_file&&) = delete;
};

/// Reads `text` into an empty file. Fails where it is no JSON, has another schema, or a case lacks its id, its kind or
/// an expected answer; what a kind needs beyond that is checked when the case is answered. O(bytes).
[[nodiscard]] inline expected<void, input_error> read_cases(std::string_view text, const std::string& source,
                                                            case_file& out) {
  auto document = parse_json(text, source);
  if (!document) return unexpected{std::move(document).error()};
  const case_io::object top{*document, source};
  if (auto ok = top.is_object(""); !ok) return ok;
  auto schema = top.needed("schema", json_value::kind::string, "\"schema\": \"berth-cases/1\"");
  if (!schema) return unexpected{std::move(schema).error()};
  if ((*schema)->text != "berth-cases/1") return top.wrong("schema", **schema, "\"berth-cases/1\"");
  auto peer = top.needed("peer", json_value::kind::string, "the name of a scheduler");
  if (!peer) return unexpected{std::move(peer).error()};
  auto cases = top.needed("cases", json_value::kind::array, "an array of cases");
  if (!cases) return unexpected{std::move(cases).error()};
  if ((*cases)->items.empty()) return top.wrong("cases", **cases, "at least one case");
  std::vector<case_question> questions;
  std::set<std::string> ids;
  for (const auto& c : (*cases)->items) {
    const case_io::object o{c, source};
    if (auto ok = o.is_object("cases"); !ok) return ok;
    case_question q;
    for (const auto& [key, to] : {std::pair{"id", &q.id}, std::pair{"kind", &q.kind}}) {
      auto v = o.needed(key, json_value::kind::string, "a string");
      if (!v) return unexpected{std::move(v).error()};
      *to = (*v)->text;
    }
    if (c.find("expect") == nullptr && c.find("steps") == nullptr)
      return unexpected{input_error{source, c.line, "no expect", "an expected answer"}};
    for (const char* key : {"policy", "cluster"})
      if (const auto* v = o.given(key); v != nullptr && v->type != json_value::kind::object)
        return o.wrong(key, *v, "an object");
    if (!ids.insert(q.id).second)
      return unexpected{input_error{source, c.line, "case " + io_text::quoted(q.id) + " twice", "each id once"}};
    q.profile = (*peer)->text;
    q.source = source;
    questions.push_back(std::move(q));
  }
  out.name = source;
  out.peer = (*peer)->text;
  for (const auto& [key, to] :
       {std::pair{"repo", &out.repo}, std::pair{"commit", &out.commit}, std::pair{"topic", &out.topic}})
    if (auto ok = top.text(key, *to); !ok) return ok;
  out.document = std::move(*document);
  for (std::size_t i = 0; i < out.document.keys.size(); ++i)
    if (out.document.keys[i] == "cases") {
      auto& bodies = out.document.items[i].items;
      for (std::size_t k = 0; k < bodies.size(); ++k) questions[k].body = std::move(bodies[k]);
      bodies.clear();
    }
  out.cases = std::move(questions);
  for (auto& q : out.cases) q.file = &out.document;
  return {};
}

}  // namespace berth
