#pragma once
/// Files of cases from tests/profile/data/ and tests/quota/data/, and what their cases come to.

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "berth/io/case/run.hpp"
#include "berth/io/text_file.hpp"

namespace profile_cases {

inline std::string text_of(const std::string& name) {
  for (const char* folder : {"/tests/profile/data/", "/tests/quota/data/"})
    if (auto text = berth::load_text_file(std::string{BERTH_SOURCE_DIR} + folder + name)) return *text;
  FAIL_CHECK("no file of cases ", name);
  return {};
}

/// Runs one kind of a file, and complains about every case that does not agree and has no reason in `explained`.
inline berth::case_totals run(const std::string& name, const std::string& kind,
                              const std::map<std::string, std::string>& explained = {}) {
  berth::case_file file;
  const auto ok = berth::read_cases(text_of(name), name, file);
  REQUIRE_MESSAGE(bool(ok), (ok ? "" : ok.error().message()));
  berth::case_run_options options;
  options.kind = kind;
  auto out = berth::run_cases(file, options);
  for (const auto& c : out.cases) {
    if (c.verdict.result == berth::case_result::agrees) continue;
    const auto reason = explained.find(c.id);
    CHECK_MESSAGE(reason != explained.end(), c.id, " ", c.verdict.why, "\n  expected ", c.verdict.expected,
                  "\n  got      ", c.verdict.got);
  }
  return out.kinds[kind];
}

}  // namespace profile_cases
