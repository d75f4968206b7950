#pragma once
// The question, the answer and how both are shown.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/cluster/task_binding.hpp"
#include "berth/job/gang.hpp"
#include "berth/report/floor_plan.hpp"
#include "berth/solver/decision.hpp"
#include "berth/solver/explanation.hpp"
#include "berth_place/options.hpp"
#include "berth_place/site.hpp"
#include "berth_place/spread.hpp"

namespace berth_place {

// What a gang with a guaranteed rate reserves on the uplinks of one domain.
struct reserved_uplink {
  berth::level_id level{};
  berth::domain_id domain{};
  std::optional<unsigned> rail;  // where every rail has uplinks of its own
  std::int64_t taken = 0;        // bytes per second
  std::int64_t left = 0;         // with the gang there
};

struct answer {
  berth::gang request;
  berth::job_spec job;
  berth::decision decision;                   // a view into the placer, which must outlive it
  std::vector<berth::task_binding> bindings;  // by task; empty where no group asks for anything inside a node
  std::vector<reserved_uplink> uplinks;
  std::optional<berth::explanation> explanation;  // of a refusal
  std::optional<spread_answer> spread;            // of a gang with rules of spreading
  std::uint64_t nanoseconds = 0;                  // of one decision, warm
  // A refusal of rules that there is room for otherwise.
  [[nodiscard]] bool refused_by_rules() const { return spread && spread->why && !explanation; }
  [[nodiscard]] berth::verdict result() const {
    if (refused_by_rules()) return spread->why->result;
    return explanation ? explanation->result : decision.result;
  }
};

enum exit_code { exit_placed = 0, exit_not_now = 1, exit_bad_input = 2, exit_never = 3, exit_gave_up = 4 };

// A MIG instance of the gang: GPU, profile and start.
struct placed_instance {
  unsigned device = 0;
  std::string profile;
  unsigned start = 0;
};
// Those of the i-th task of the answer; none where it asks for none.
[[nodiscard]] std::vector<placed_instance> instances_of(const site& s, const answer& a, std::size_t task);

// The cluster with the gang on it, or without it where it was refused.
// Fills in what the placement binds and reserves, by taking it and giving it back.
void work_out_reservations(site& s, answer& a);

// NICs of the compute fabric beside the devices of a task, by their position in its node's shape.
[[nodiscard]] std::uint64_t nics_beside(const site& s, const berth::task_placement& t);

// For a refusal: the link inside a node that lacks what a task asks for, as a sentence; "" where none does.
[[nodiscard]] std::string host_link_sentence(const site& s, const answer& a);

[[nodiscard]] berth::floor_plan make_plan(const site& s, const answer& a);

// One sentence: where the gang went, or that and why it did not.
[[nodiscard]] std::string headline(const site& s, const answer& a);
[[nodiscard]] std::string as_svg(const berth::floor_plan& plan);
[[nodiscard]] std::string as_text(const options& o, const site& s, const answer& a, const berth::floor_plan& plan);
[[nodiscard]] std::string as_json(const options& o, const site& s, const answer& a);

}  // namespace berth_place
