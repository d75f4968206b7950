#pragma once
// Gangs with rules of spreading: asking the placer, and what is shown of the rules.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/io/resolve_spread.hpp"
#include "berth/solver/explain_spread.hpp"
#include "berth/solver/spread_gang.hpp"
#include "berth_place/any_placer.hpp"
#include "berth_place/site.hpp"

namespace berth_place {

// Tasks that count for a rule, by domain.
struct rule_counts {
  std::vector<std::int64_t> before, now;
};

struct spread_answer {
  berth::spread_gang ask;
  berth::label_book book;
  berth::spread_gang_decision decision;
  std::vector<std::vector<rule_counts>> counts;  // by group and rule; of a placement
  // Of a refusal that the rules alone cause.
  std::optional<berth::spread_explanation> why;
  std::vector<std::string> sentences;
};

// Asks `place`, and explains a refusal. `nanoseconds` of one decision, warm.
[[nodiscard]] spread_answer ask_spread(site& s, berth::resolved_job& job, const policy_choice& policy,
                                       const berth::placer_limits& limits, any_placer& place,
                                       std::uint64_t& nanoseconds);

// The decision as that of a plain gang: a view into the answer.
[[nodiscard]] berth::decision as_decision(const site& s, const spread_answer& a);

// "task", or "segment" where rules count segments.
[[nodiscard]] std::string unit_of(const berth::spread_request& q);

// "rack r0 3, rack r1 3": the domains that count for a rule, at most so many.
[[nodiscard]] std::string counts_text(const site& s, const berth::spread_rule& r, const rule_counts& n);

}  // namespace berth_place
