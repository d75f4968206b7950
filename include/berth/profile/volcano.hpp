#pragma once
/// \file
/// Volcano's rules. Its allocate action is composed of
///
/// | question              | policy                                                        | here                    |
/// |-----------------------|---------------------------------------------------------------|-------------------------|
/// | how much may a queue  | `volcano_proportion`, or three numbers per queue (capacity)   | `volcano_quota.hpp`     |
/// | which queue, job      | share of the queue; not ready first, dominant share of the job | `volcano_allocate.hpp`  |
/// | which domains         | narrowest tier first, `domain_order` inside one               | `volcano_allocate.hpp`  |
/// | which node            | `near_node_order`, `plain_node_order`                         | `volcano_allocate.hpp`  |
/// | is it enough          | `gang_view`: roles, subgroups, the gang's least               | `volcano_cluster.hpp`   |
///
/// What evicts (preempt, reclaim, their gang forms) is not part of it; `eviction_could_help` tells whether it could
/// change anything. Needs Eigen.

#include <cstddef>
#include <vector>

#include "berth/profile/volcano_allocate.hpp"

namespace berth::volcano {

/// Considers jobs that wait for admission, as the enqueue action does: all whose queue has room for what they need to
/// start beside what runs and what was admitted before.
inline void admit(cluster& c, quota_rules rules) {
  const quota books{c, rules};
  std::vector<quantities> waiting(c.queues.size(), quantities(c.resources.size(), 0));
  const auto reserve = [&](const job& j) {
    if (!j.least_request || j.queue == nowhere) return;
    for (auto q = j.queue; q != nowhere; q = c.queues[q].parent) add(waiting[q], *j.least_request);
  };
  for (const auto& j : c.jobs) {
    bool runs = false;
    for (const auto t : j.tasks) runs = runs || holds(c.tasks[t].state);
    if (j.admitted && !runs) reserve(j);
  }
  for (auto& j : c.jobs)
    if (!j.admitted && j.queue != nowhere && books.admits(j, waiting)) {
      j.admitted = true;
      reserve(j);
    }
}

enum class eviction : std::uint8_t { preempt, reclaim };

/// Whether the action could do anything: a gang that lacks tasks to run has one that would fit on a node with others
/// whom it may evict. Decides from the state alone, and never says no where the action would act.
[[nodiscard]] inline bool eviction_could_help(const cluster& c, quota_rules rules, eviction e) {
  const quota books{c, rules};
  if (!books.usable()) return false;
  for (std::size_t i = 0; i < c.jobs.size(); ++i) {
    const auto& j = c.jobs[i];
    const gang_view v{c, j};
    if (j.queue == nowhere || !j.admitted || !v.valid() || !v.starving()) continue;
    bool limited = j.limit.has_value();
    for (const auto& s : j.subgroups) limited = limited || s.limit.has_value();
    if (e == eviction::preempt && limited) continue;  // not done for gangs with a spread limit
    if (e == eviction::reclaim && books.overused(j.queue)) continue;
    for (const auto t : j.tasks) {
      const auto& x = c.tasks[t];
      if (x.state != task_state::pending || !x.may_preempt) continue;
      if (e == eviction::reclaim && rules.kind != quota_kind::proportion && !books.may_reclaim(j.queue, x.request))
        continue;
      for (std::size_t n = 0; n < c.nodes.size(); ++n) {
        if (x.allowed && (*x.allowed)[n] == 0) continue;
        auto free = c.nodes[n].later();
        bool any = false;
        for (const auto& o : c.tasks) {
          if (o.node != n || o.state != task_state::running || !o.preemptible) continue;
          const auto q = c.jobs[o.job].queue;
          if (e == eviction::preempt ? q != j.queue : q == j.queue || q == nowhere || !c.queues[q].reclaimable)
            continue;
          add(free, o.request);
          any = true;
        }
        if (any && within(x.request, free)) return true;
      }
    }
  }
  return false;
}

}  // namespace berth::volcano
