#pragma once
/// \file
/// All share policies, and a list of them for programs that choose at run time.

#include <optional>
#include <string_view>
#include <utility>

#include "berth/quota/division/contract.hpp"
#include "berth/quota/division/drf.hpp"
#include "berth/quota/division/entitlement.hpp"
#include "berth/quota/division/hierarchical_drf.hpp"
#include "berth/quota/division/kai.hpp"
#include "berth/quota/division/koordinator.hpp"
#include "berth/quota/division/kueue_cohort.hpp"
#include "berth/quota/division/volcano.hpp"
#include "berth/quota/division/weighted_max_min.hpp"

namespace berth {

/// Calls `f(policy)` with every policy at its default settings.
template <class F>
void for_each_division_policy(F&& f) {
  f(weighted_max_min{});
  f(kueue_cohort{});
  f(kai_division{});
  f(volcano_proportion{});
  f(volcano_capacity{});
  f(koordinator_runtime{});
  f(dominant_resource_fairness{});
  f(hierarchical_drf{});
  f(slurm_shares{});
  f(head_room{});
  f(contract_division{});
}
/// Calls `f(policy)` with the policy of that name. False where there is none.
template <class F>
bool with_division_policy(std::string_view name, F&& f) {
  bool found = false;
  for_each_division_policy([&](const auto& p) {
    if (p.name != name) return;
    found = true;
    f(p);
  });
  return found;
}

}  // namespace berth
