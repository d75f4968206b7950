#pragma once
/// \file
/// Cases of kind `sequence`: decisions one after another on one state, after the tests of Flux and HiveD. Needs
/// nlohmann-json.

#include "berth/io/case/question.hpp"
#include "berth/io/case/sequence_flux.hpp"
#include "berth/io/case/sequence_hived.hpp"

namespace berth::case_io {

[[nodiscard]] inline case_answer answer_sequence(const case_question& q) {
  if (q.profile == "flux-sched" || q.profile == "flux") return flux_sequence{q}.verdict();
  if (q.profile == "hived") return hived_sequence{q}.verdict();
  return case_verdict::unsupported("sequence with profile " + q.profile);
}

}  // namespace berth::case_io
