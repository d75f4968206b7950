#pragma once
/// \file
/// "This, else that": several ways to ask for the same work, tried in order. Of a placer, gangs that differ in their
/// filters, sizes or anything else; of a packer, one task with one set of GPU models after the other.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "berth/cluster/share_node.hpp"
#include "berth/job/gang.hpp"
#include "berth/solver/decision.hpp"
#include "berth/solver/packer.hpp"

namespace berth {

/// An answer and which of the choices it is for.
struct first_choice {
  decision answer{};
  std::size_t which = 0;  ///< where nothing was placed: the choice that the refusal is about
};
/// The first of the choices that can be placed now. Where none can: the first refusal that may change with time, else
/// the first. The answer is the placer's, and holds until its next call. O(calls of the placer). \pre choices not empty
template <class Placer>
[[nodiscard]] first_choice place_first(Placer& place, std::span<const gang> choices) {
  first_choice refused;
  bool any = false;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    decision d = place(choices[i]);
    if (d.result == verdict::placed) return {d, i};
    if (!any || (refused.answer.result == verdict::never && d.result != verdict::never)) refused = {d, i};
    any = true;
  }
  return refused;
}

/// A task placed with the models of one of the choices.
struct first_models {
  packed_task where{};
  std::size_t which = 0;
  share_task as{};  ///< what was placed: to be given to `release`
};
/// Places the task on the first set of models (a bit per model, as `share_task::models`) that has room, of those that
/// serve it at all; empty where none has. A policy that learns sees the one request that is placed, or where none is
/// that with the first choice that shares a model with the task. Cost: the choices tried × a decision. \pre
/// t.is_valid(), choices not empty
template <class Policy>
[[nodiscard]] std::optional<first_models> place_first(packer<Policy>& pack, const share_task& t,
                                                      std::span<const std::uint64_t> choices) {
  share_task narrowed = t;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    narrowed.models = t.models & choices[i];
    if (pack.has_room(narrowed)) return first_models{*pack.place(narrowed), i, narrowed};
  }
  std::size_t first = 0;
  while (first + 1 < choices.size() && (t.models & choices[first]) == 0) ++first;
  narrowed.models = t.models & choices[first];
  static_cast<void>(pack.place(narrowed));  // arrives and is refused
  return std::nullopt;
}

}  // namespace berth
