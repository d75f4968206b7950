#pragma once
/// \file
/// Bodies of `berth/policy/power_budget.hpp`.

#include <limits>

#include "berth/core/bits.hpp"
#include "berth/policy/power_budget.hpp"

namespace berth {

BERTH_INLINE domain_budget power_budget(const cluster& c, level_id level,
                                        std::span<const std::optional<std::int64_t>> caps,
                                        std::span<const node_power> power, const task_shape& t) {
  domain_budget out{level, {}, 0};
  for (const auto& cap : caps) out.left.push_back(cap ? *cap : std::numeric_limits<std::int64_t>::max());
  const bool nodes = level == level_of_nodes(c.tree());
  for (std::uint32_t n = 0; n < c.node_count(); ++n) {
    const node_id id{n};
    if (!c.is_member(id)) continue;
    const node_power& p = power[c.class_of(id).shape.index()];
    const std::size_t d = nodes ? n : c.tree().domain_of(id, level).index();
    if (caps[d]) out.left[d] -= p.idle_watts + p.device_watts * count_bits(c.node(id).held);
    const eligibility e = c.eligible(t.filter, id);
    const std::int64_t each = p.device_watts * t.devices;
    if (e.admits && count_bits(e.devices & c.node(id).installed) >= t.devices && each > out.per_task)
      out.per_task = each;
  }
  return out;
}

}  // namespace berth
