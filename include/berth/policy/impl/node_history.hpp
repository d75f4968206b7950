#pragma once
/// \file
/// Bodies of `berth/policy/node_history.hpp`.

#include "berth/policy/node_history.hpp"

namespace berth {

BERTH_INLINE void node_history::fault(node_id n, double now, double weight) noexcept {
  entry& e = nodes_[n.index()];
  e.faults = faults(n, now) + (weight > 0 ? weight : 0);
  e.fault_at = now > e.fault_at ? now : e.fault_at;
}

BERTH_INLINE void node_history::step(node_id n, double now, double seconds, double median) noexcept {
  if (!(seconds > 0) || !(median > 0)) return;
  entry& e = nodes_[n.index()];
  const double r = seconds > median ? seconds / median : 1.0, s = slowness(n, now);
  e.slow = s + settings_.slow_share * (r - s);
  e.slow_at = now > e.slow_at ? now : e.slow_at;
}

BERTH_INLINE double node_history::faults(node_id n, double now) const noexcept {
  const entry& e = nodes_[n.index()];
  return e.faults * faded(now - e.fault_at, settings_.fault_half_life_seconds);
}

BERTH_INLINE double node_history::slowness(node_id n, double now) const noexcept {
  const entry& e = nodes_[n.index()];
  return 1.0 + (e.slow - 1.0) * faded(now - e.slow_at, settings_.slow_half_life_seconds);
}

BERTH_INLINE void node_history::write(domain_scores& out, double now) const noexcept {
  out.use_means();
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) out.set(node_id{n}, score(node_id{n}, now));
}

BERTH_INLINE node_history::node_history(std::uint32_t nodes, const history_settings& settings)
    : settings_{settings}, nodes_(nodes) {}

}  // namespace berth
