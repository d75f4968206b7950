#pragma once
// The question, the answer and how both are shown.

#include <cstdint>
#include <optional>
#include <string>

#include "berth/job/gang.hpp"
#include "berth/report/floor_plan.hpp"
#include "berth/solver/decision.hpp"
#include "berth/solver/explanation.hpp"
#include "berth_place/options.hpp"
#include "berth_place/site.hpp"

namespace berth_place {

struct answer {
  berth::gang request;
  berth::job_spec job;
  berth::decision decision;                       // a view into the placer, which must outlive it
  std::optional<berth::explanation> explanation;  // of a refusal
  std::uint64_t nanoseconds = 0;                  // of one decision, warm
  [[nodiscard]] berth::verdict result() const { return explanation ? explanation->result : decision.result; }
};

enum exit_code { exit_placed = 0, exit_not_now = 1, exit_bad_input = 2, exit_never = 3, exit_gave_up = 4 };

// The cluster with the gang on it, or without it where it was refused.
[[nodiscard]] berth::floor_plan make_plan(const site& s, const answer& a);

// One sentence: where the gang went, or that and why it did not.
[[nodiscard]] std::string headline(const site& s, const answer& a);
[[nodiscard]] std::string as_svg(const berth::floor_plan& plan);
[[nodiscard]] std::string as_text(const options& o, const site& s, const answer& a, const berth::floor_plan& plan);
[[nodiscard]] std::string as_json(const options& o, const site& s, const answer& a);

}  // namespace berth_place
