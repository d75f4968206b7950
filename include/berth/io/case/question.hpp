#pragma once
/// \file
/// A scheduling question with its expected answer (`berth-cases/1`), and what answering it gives. Needs nlohmann-json.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/json_document.hpp"

namespace berth {

/// One case of a file. What it asks depends on its kind, so its members stay JSON; `case_value.hpp` and its neighbours
/// read the parts that kinds share.
struct case_question {
  std::string id;
  std::string kind;
  std::string profile;               ///< whose rules answer it: the file's peer, unless another one is asked for
  std::string source;                ///< file name for messages
  json_value body;                   ///< the whole case
  const json_value* file = nullptr;  ///< the whole file, for what cases refer to (`clusters`)

  [[nodiscard]] const json_value* find(std::string_view key) const noexcept { return body.find(key); }
  /// A member that is no null.
  [[nodiscard]] const json_value* given(std::string_view key) const noexcept {
    const auto* v = body.find(key);
    return v == nullptr || v->type == json_value::kind::null ? nullptr : v;
  }
  /// A member of `policy` that is no null.
  [[nodiscard]] const json_value* policy(std::string_view key) const noexcept {
    const auto* p = given("policy");
    const auto* v = p == nullptr ? nullptr : p->find(key);
    return v == nullptr || v->type == json_value::kind::null ? nullptr : v;
  }
  /// Whether `policy.key` is true.
  [[nodiscard]] bool policy_flag(std::string_view key) const noexcept {
    const auto* v = policy(key);
    return v != nullptr && v->type == json_value::kind::boolean && v->boolean;
  }
  /// The text of `policy.key`; empty where there is none.
  [[nodiscard]] std::string policy_text(std::string_view key) const {
    const auto* v = policy(key);
    return v != nullptr && v->type == json_value::kind::string ? v->text : std::string{};
  }
};

enum class case_result : std::uint8_t { agrees, differs, unsupported };

/// `agrees`, `differs` and `not supported` as they are printed; `agree`, `differ`, `unsupported` are the keys of
/// totals.
[[nodiscard]] constexpr std::string_view name_of(case_result r) noexcept {
  return r == case_result::agrees ? "agrees" : r == case_result::differs ? "differs" : "not supported";
}

/// The answer to one case, judged.
struct case_verdict {
  case_result result = case_result::unsupported;
  std::string why;       ///< differs: what is unlike; not supported: what is missing
  std::string expected;  ///< the answer that the case states
  std::string got;       ///< ours
  std::string ours;      ///< what berth's own default would do, where that was asked for

  [[nodiscard]] static case_verdict unsupported(std::string missing) {
    return {case_result::unsupported, std::move(missing), {}, {}, {}};
  }
  /// Agrees where the two texts are equal.
  [[nodiscard]] static case_verdict compare(std::string expected, std::string got, std::string why = {}) {
    const bool same = expected == got;
    return {same ? case_result::agrees : case_result::differs,
            same          ? std::string{}
            : why.empty() ? std::string{"another answer"}
                          : std::move(why),
            std::move(expected),
            std::move(got),
            {}};
  }
};

/// How a case is answered. Every kind has a function of this form; it fails only where the case is malformed.
using case_answer = expected<case_verdict, input_error>;
using case_answerer = case_answer (*)(const case_question&);

}  // namespace berth
