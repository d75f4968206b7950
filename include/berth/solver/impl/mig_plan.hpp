#pragma once
/// \file
/// Bodies of `berth/solver/mig_plan.hpp`.

#include "berth/solver/mig_plan.hpp"

namespace berth {

BERTH_INLINE bool mig_plan::serves_all() const noexcept {
  for (const auto n : unserved)
    if (n != 0) return false;
  return true;
}

BERTH_INLINE expected<std::vector<mig_gpu_now>, input_error> replay_mig_plan(const mig_geometry& g,
                                                                             std::vector<mig_gpu_now> gpus,
                                                                             const mig_plan& plan) {
  const auto held = [](const mig_gpu_now& n) {
    mig_set out = n.idle;
    for (const auto& r : n.running) out |= mig_set{1} << r.placement;
    return out;
  };
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const mig_step& s = plan.steps[i];
    const auto refuse = [&](const char* why) {
      return unexpected{input_error{"MIG plan", i + 1, why, "a step that the GPU's state allows"}};
    };
    if (s.gpu >= gpus.size()) return refuse("a GPU that is not there");
    mig_gpu_now& n = gpus[s.gpu];
    const bool known = s.placement < g.placements;
    const mig_set bit = known ? mig_set{1} << s.placement : 0;
    switch (s.what) {
      case mig_step::kind::drain: {
        if (s.whole) {
          if (!n.whole || !n.whole->drainable) return refuse("nobody to drain from the GPU");
          n.whole.reset();
          n.mode = mig_mode::off;
          break;
        }
        std::size_t at = 0;
        while (at < n.running.size() && n.running[at].placement != s.placement) ++at;
        if (at == n.running.size() || !n.running[at].who.drainable) return refuse("nobody to drain");
        n.running.erase(n.running.begin() + static_cast<std::ptrdiff_t>(at));
        n.idle |= bit;
        break;
      }
      case mig_step::kind::destroy:
        if ((n.idle & bit) == 0) return refuse("no idle instance to destroy");
        n.idle &= ~bit;
        break;
      case mig_step::kind::mig_off:
        if (n.mode != mig_mode::on || held(n) != 0) return refuse("a switch of a GPU with instances");
        n.mode = mig_mode::off;
        break;
      case mig_step::kind::mig_on:
        if (n.mode != mig_mode::off || n.whole) return refuse("a switch of a GPU that is in use");
        n.mode = mig_mode::on;
        break;
      case mig_step::kind::create: {
        if (n.mode != mig_mode::on || !known) return refuse("an instance on a GPU that takes none");
        const auto key = g.key_of(held(n));
        if ((held(n) & bit) != 0 || !key || !g.fits(*key, s.placement)) return refuse("an instance that overlaps");
        n.idle |= bit;
        break;
      }
    }
  }
  return gpus;
}

}  // namespace berth
