#pragma once
/// \file
/// Scheduling questions with known answers (`berth-cases/1`), taken from the tests of other schedulers: reads files of
/// them and answers each with the rules of that scheduler (`profile/`). One header per kind in `io/case/`. Needs
/// nlohmann-json and Eigen.
///
/// Whoever adds a kind writes a `case_answerer` in a header of its own and names it in `case_kinds`.

#include <cstddef>
#include <string>
#include <string_view>

#include "berth/io/case/cluster.hpp"
#include "berth/io/case/cycle.hpp"
#include "berth/io/case/fair_share.hpp"
#include "berth/io/case/file.hpp"
#include "berth/io/case/numa.hpp"
#include "berth/io/case/order.hpp"
#include "berth/io/case/place.hpp"
#include "berth/io/case/question.hpp"
#include "berth/io/case/queues.hpp"
#include "berth/io/case/quota.hpp"
#include "berth/io/case/sequence.hpp"
#include "berth/io/case/settle.hpp"
#include "berth/io/case/value.hpp"

namespace berth {

/// What waits for the scheduling cycle.
[[nodiscard]] inline case_answer needs_eviction(const case_question&) {
  return case_verdict::unsupported("eviction");
}

struct case_kind {
  std::string_view name;
  case_answerer answer;
};

/// Every kind of the format.
inline constexpr case_kind case_kinds[] = {
    {"place", answer_place},           {"replace", answer_replace},
    {"order", answer_order},           {"select-domains", answer_select_domains},
    {"capacity", answer_capacity},     {"numa", answer_numa},
    {"fair-share", answer_fair_share}, {"quota-check", answer_quota_check},
    {"excess", answer_excess},         {"preempt", needs_eviction},
    {"admit", needs_eviction},         {"settle", case_io::answer_settle},
    {"cycle", case_io::answer_cycle},  {"sequence", case_io::answer_sequence},
};

/// Answers a case with the rules of its `profile`.
[[nodiscard]] inline case_answer answer_case(const case_question& q) {
  for (const auto& k : case_kinds)
    if (k.name == q.kind) return k.answer(q);
  return case_verdict::unsupported("kind " + io_text::quoted(q.kind));
}

}  // namespace berth
