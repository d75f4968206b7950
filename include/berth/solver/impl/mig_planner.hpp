#pragma once
/// \file
/// Bodies of `berth/solver/mig_planner.hpp`.

#include <string>
#include <utility>

#include "berth/solver/mig_plan_search.hpp"
#include "berth/solver/mig_planner.hpp"

namespace berth {

BERTH_INLINE expected<mig_plan, input_error> mig_planner::plan(const std::vector<mig_gpu_now>& gpus,
                                                               const mig_plan_request& request) const {
  if (auto bad = fault(gpus, request)) return unexpected{std::move(*bad)};
  detail::mig_plan_search s{g_, costs, gpus, request, budget};
  if (!s.prepare())
    return unexpected{input_error{"MIG plan", 0, "costs and needs whose product is beyond 64 bits",
                                  "smaller costs, or fewer GPUs or instances at once"}};
  s.cover();
  s.set_prices();
  s.walk();
  return s.result();
}

BERTH_INLINE std::optional<input_error> mig_planner::fault(const std::vector<mig_gpu_now>& gpus,
                                                           const mig_plan_request& request) const {
  const auto say = [](std::string found, std::string wanted) {
    return input_error{"MIG plan", 0, std::move(found), std::move(wanted)};
  };
  for (const auto ms : {costs.create_ms, costs.destroy_ms, costs.drain_ms, costs.restart_ms, costs.toggle_ms,
                        costs.reset_ms, costs.wait_ms.value_or(0)})
    if (ms < 0 || ms > max_ms) return say("a cost of " + std::to_string(ms) + " ms", "0 to 10^10 ms");
  if (gpus.size() > max_gpus) return say(std::to_string(gpus.size()) + " GPUs", "at most 16384 at once");
  for (unsigned q = 0; q <= mig_whole_gpu; ++q) {
    if (request.need[q] > max_need) return say(std::to_string(request.need[q]) + " instances", "at most 10000");
    if (request.need[q] == 0 || q == mig_whole_gpu) continue;
    if (q >= g_.profiles || g_.of_profile[q] == 0)
      return say(q < g_.profiles ? std::string{g_.row(q).name} + ", which the site does not offer"
                                 : std::string{"a profile that the product does not have"},
                 "profiles of " + std::string{g_.product->id});
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const mig_gpu_now& n = gpus[i];
    const std::string gpu = "GPU " + std::to_string(i);
    mig_set held = n.idle;
    bool twice = false;
    for (const auto& r : n.running) {
      if (r.placement >= g_.placements) return say(gpu + " with an unknown placement", "those of the geometry");
      twice = twice || (held >> r.placement & 1U) != 0;
      held |= mig_set{1} << r.placement;
      if (r.who.lost_ms < 0 || r.who.lost_ms > max_ms)
        return say(gpu + " with " + std::to_string(r.who.lost_ms) + " ms of work lost", "0 to 10^10 ms");
    }
    if (twice || !g_.key_of(held))
      return say(gpu + " with instances that contradict the geometry", "instances that may lie beside each other");
    if (held != 0 && n.mode != mig_mode::on)
      return say(gpu + " with instances, but not in MIG mode", "instances in MIG mode alone");
    if (n.whole && n.mode != mig_mode::whole && n.mode != mig_mode::shared)
      return say(gpu + " held whole in another mode", "mode whole or shared");
    if (n.whole && (n.whole->lost_ms < 0 || n.whole->lost_ms > max_ms))
      return say(gpu + " with " + std::to_string(n.whole->lost_ms) + " ms of work lost", "0 to 10^10 ms");
  }
  return std::nullopt;
}

BERTH_INLINE mig_planner::mig_planner(const mig_geometry& g, mig_plan_costs c) : costs{c}, g_{g} {}

}  // namespace berth
