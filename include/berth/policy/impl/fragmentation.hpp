#pragma once
/// \file
/// Bodies of `berth/policy/fragmentation.hpp`.

#include <cmath>

#include "berth/core/shell_sort.hpp"
#include "berth/policy/fragmentation.hpp"

namespace berth {

BERTH_INLINE std::vector<workload_class> target_workload(const std::vector<share_task>& tasks, double cover) {
  std::vector<workload_class> all;
  for (const auto& t : tasks) {
    share_task key = t;
    key.memory = bytes{};
    std::size_t i = 0;
    while (i < all.size() && !(all[i].task == key)) ++i;
    if (i == all.size()) all.push_back({key, 0});
    all[i].popularity += 1;
  }
  detail::shell_sort(all.data(), all.size(), [](const workload_class& a, const workload_class& b) {
    if (a.popularity != b.popularity) return a.popularity > b.popularity;
    if (a.task.cpu != b.task.cpu) return a.task.cpu > b.task.cpu;
    if (a.task.share != b.task.share) return a.task.share > b.task.share;
    if (a.task.devices != b.task.devices) return a.task.devices > b.task.devices;
    return a.task.models < b.task.models;  // those that any model serves last
  });
  std::size_t kept = 0;
  double covered = 0;
  while (kept < all.size() && covered < cover * static_cast<double>(tasks.size())) covered += all[kept++].popularity;
  all.resize(kept);
  for (auto& c : all) c.popularity /= covered;
  return all;
}

BERTH_INLINE double fragmented_share(const share_node& n, const std::vector<workload_class>& workload) noexcept {
  const double total = n.free_total();
  double sum = 0;
  for (const auto& c : workload) {
    const share_task& t = c.task;
    if (t.devices == 0 || (t.models >> n.model & 1U) == 0 || n.cpu < t.cpu) {
      sum += c.popularity * total;
      continue;
    }
    unsigned eligible = 0, small = 0;
    for (unsigned g = 0; g < n.devices; ++g) {
      if (n.free[g] >= t.share) ++eligible;
      else small += n.free[g];
    }
    sum += c.popularity * (eligible < t.devices ? total : small);
  }
  return sum;
}

BERTH_INLINE packing_score fragmentation_gradient::score(const packing_view& v, const share_task& t) const noexcept {
  const double before = fragmented_share(v.now, workload);
  packing_score best{-1e300, 0};
  for_each_choice(v.now, t, [&](device_mask m) {
    share_node after = v.now;
    take(after, t, m);
    const double falls = before - fragmented_share(after, workload);
    const double s = rule == score_rule::exact ? falls : std::floor(100 / (1 + std::exp(-falls / 1000)));
    if (s > best.value) best = {s, m};
  });
  return best;
}

}  // namespace berth
