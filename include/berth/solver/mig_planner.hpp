#pragma once
/// \file
/// Repartition planner: the cheapest steps (create, destroy, drain, switch MIG mode) after which a queue of profiles,
/// or a target mix, fits. Doing nothing is an answer.
///
/// How it is found stands in `mig_plan_search.hpp`.
///
/// Cost     up to `budget` extensions of states: well below a second. Allocates; for planning, not for the hot path.
/// Exact    `optimal` says that the plan is proven the cheapest. A plan is valid whatever the budget.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/solver/mig_plan.hpp"

namespace berth {

class mig_planner {
 public:
  static constexpr std::size_t max_gpus = 16384;
  static constexpr std::uint32_t max_need = 10'000;       ///< per profile
  static constexpr std::int64_t max_ms = 10'000'000'000;  ///< of any cost or loss: 115 days

  mig_plan_costs costs;          ///< what steps cost
  std::size_t budget = 400'000;  ///< extensions of states

  explicit mig_planner(const mig_geometry& g, mig_plan_costs c = {});

  /// The cheapest plan found. Refused: GPUs whose instances contradict the geometry or their mode, profiles that the
  /// product does not have or the site does not offer, costs that are negative or beyond `max_ms`.
  [[nodiscard]] expected<mig_plan, input_error> plan(const std::vector<mig_gpu_now>& gpus,
                                                     const mig_plan_request& request) const;

 private:
  [[nodiscard]] std::optional<input_error> fault(const std::vector<mig_gpu_now>& gpus,
                                                 const mig_plan_request& request) const;

  mig_geometry g_;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/solver/impl/mig_planner.hpp"
#endif
