#pragma once
/// \file
/// Runs whole files of cases, and prints what came out. Needs nlohmann-json and Eigen.

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/case.hpp"

namespace berth {

/// What is asked of a run.
struct case_run_options {
  std::string profile;  ///< answer by this one's rules instead of the file's peer's
  std::string kind;     ///< only these; empty: all
  bool ours = false;    ///< also what berth's own default would do
};

/// What `--ours` says of a case; empty where it has nothing to say.
using case_ours = std::string (*)(const case_question&);

struct case_outcome {
  std::string id, kind;
  case_verdict verdict;
  bool malformed = false;  ///< `verdict.why` says where and how
};

struct case_totals {
  std::size_t agree = 0, differ = 0, unsupported = 0;
};

struct case_file_outcome {
  std::string file;
  std::vector<case_outcome> cases;
  std::map<std::string, case_totals> kinds;

  [[nodiscard]] bool all_agree() const noexcept {
    for (const auto& [kind, t] : kinds)
      if (t.differ != 0 || t.unsupported != 0) return false;
    return true;
  }
  [[nodiscard]] bool malformed() const noexcept {
    for (const auto& c : cases)
      if (c.malformed) return true;
    return false;
  }
};

/// Answers every case of a file that the options name. A malformed case counts as not supported.
[[nodiscard]] inline case_file_outcome run_cases(case_file& file, const case_run_options& options,
                                                 case_ours ours = nullptr) {
  case_file_outcome out;
  out.file = file.name;
  for (auto& q : file.cases) {
    if (!options.kind.empty() && q.kind != options.kind) continue;
    if (!options.profile.empty()) q.profile = options.profile;
    case_outcome one{q.id, q.kind, {}, false};
    auto answer = answer_case(q);
    if (answer) {
      one.verdict = std::move(*answer);
      // Nothing to compare with is no agreement.
      if (const auto* e = q.body.find("expect");
          e != nullptr && e->items.empty() && one.verdict.result == case_result::agrees)
        one.verdict = case_verdict::unsupported("nothing is expected");
    } else {
      one.verdict = case_verdict::unsupported(answer.error().message());
      one.malformed = true;
    }
    if (options.ours && ours != nullptr && !one.malformed) one.verdict.ours = ours(q);
    auto& t = out.kinds[q.kind];
    ++(one.verdict.result == case_result::agrees    ? t.agree
       : one.verdict.result == case_result::differs ? t.differ
                                                    : t.unsupported);
    out.cases.push_back(std::move(one));
  }
  return out;
}

/// One line per case, and the totals of every kind.
[[nodiscard]] inline std::string case_text(const std::vector<case_file_outcome>& files) {
  std::string out;
  std::map<std::string, case_totals> all;
  for (const auto& f : files) {
    out += f.file + "\n";
    for (const auto& c : f.cases) {
      out += "  " + c.id + "  " + (c.malformed ? "malformed" : std::string{name_of(c.verdict.result)});
      switch (c.verdict.result) {
        case case_result::agrees:
          break;
        case case_result::differs:
          out += ": expected " + c.verdict.expected + ", got " + c.verdict.got + " (" + c.verdict.why + ")";
          break;
        case case_result::unsupported:
          out += ": " + c.verdict.why;
          break;
      }
      if (!c.verdict.ours.empty()) out += "\n    ours: " + c.verdict.ours;
      out += "\n";
    }
    for (const auto& [kind, t] : f.kinds) {
      auto& sum = all[kind];
      sum.agree += t.agree;
      sum.differ += t.differ;
      sum.unsupported += t.unsupported;
    }
  }
  out += "kind              agree  differ  not supported\n";
  for (const auto& [kind, t] : all) {
    const auto right = [](std::size_t n, std::size_t width) {
      std::string text = std::to_string(n);
      return std::string(text.size() < width ? width - text.size() : 0, ' ') + text;
    };
    out += kind + std::string(kind.size() < 16 ? 16 - kind.size() : 1, ' ') + right(t.agree, 7) + right(t.differ, 8) +
           right(t.unsupported, 15) + "\n";
  }
  return out;
}

/// {"files": [{"file", "kinds": {kind: {"agree", "differ", "unsupported"}}}], "cases": [{"id", "kind", "verdict",
/// "why"}]}; the verdict is one of agree, differ, unsupported. A case that differs also has "expected" and "got", and
/// every case has "ours" where that was asked for.
[[nodiscard]] inline std::string case_json(const std::vector<case_file_outcome>& files) {
  using json = nlohmann::ordered_json;
  json out{{"files", json::array()}, {"cases", json::array()}};
  for (const auto& f : files) {
    json kinds = json::object();
    for (const auto& [kind, t] : f.kinds)
      kinds[kind] = {{"agree", t.agree}, {"differ", t.differ}, {"unsupported", t.unsupported}};
    out["files"].push_back({{"file", f.file}, {"kinds", std::move(kinds)}});
    for (const auto& c : f.cases) {
      const char* verdict = c.verdict.result == case_result::agrees    ? "agree"
                            : c.verdict.result == case_result::differs ? "differ"
                                                                       : "unsupported";
      json one{{"id", c.id}, {"kind", c.kind}, {"verdict", verdict}, {"why", c.verdict.why}};
      if (c.verdict.result == case_result::differs) {
        one["expected"] = c.verdict.expected;
        one["got"] = c.verdict.got;
      }
      if (!c.verdict.ours.empty()) one["ours"] = c.verdict.ours;
      out["cases"].push_back(std::move(one));
    }
  }
  return out.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace berth
