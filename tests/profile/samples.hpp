#pragma once
// Cases of other schedulers' tests, answered one by one: every one agrees, but those of which the test says why not.

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "berth/io/case/file.hpp"
#include "berth/io/text_file.hpp"

namespace profile_test {

struct known_answer {
  std::string_view id;
  berth::case_result result;
  std::string_view why;  // how the reason begins
};

inline void check_samples(const std::string& file, berth::case_answerer answer,
                          std::initializer_list<known_answer> known) {
  const auto path = std::string{BERTH_SOURCE_DIR} + "/tests/profile/data/" + file;
  const auto text = berth::load_text_file(path);
  REQUIRE(text);
  berth::case_file cases;
  const auto read = berth::read_cases(*text, file, cases);
  REQUIRE(read);
  for (const auto& k : known)
    CHECK_MESSAGE(std::any_of(cases.cases.begin(), cases.cases.end(), [&](const auto& q) { return q.id == k.id; }),
                  std::string{k.id});
  for (const auto& q : cases.cases) {
    CAPTURE(q.id);
    const auto a = answer(q);
    REQUIRE(a);
    CAPTURE(a->why);
    CAPTURE(a->expected);
    CAPTURE(a->got);
    const auto k = std::find_if(known.begin(), known.end(), [&](const auto& x) { return x.id == q.id; });
    CHECK(a->result == (k == known.end() ? berth::case_result::agrees : k->result));
    if (k != known.end()) CHECK(std::string_view{a->why}.starts_with(k->why));
  }
}

/// Answers one case written in a test.
inline berth::case_answer answer_text(const std::string& peer, const std::string& one, berth::case_answerer answer) {
  berth::case_file cases;
  const auto read = berth::read_cases(
      R"({"schema": "berth-cases/1", "peer": ")" + peer + R"(", "cases": [)" + one + "]}", "test", cases);
  REQUIRE(read);
  REQUIRE(cases.cases.size() == 1);
  return answer(cases.cases[0]);
}

}  // namespace profile_test
