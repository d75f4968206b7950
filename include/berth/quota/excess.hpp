#pragma once
/// \file
/// What may be taken back: from a queue over its limit, and for a queue below its guarantee.

#include <optional>
#include <vector>

#include "berth/quota/queue_tree.hpp"

namespace berth {

/// How much may be taken back from a queue whose limit was lowered below its use: use - limit in every resource that
/// has a limit, but never so much that an ancestor falls below its guarantee; an ancestor without a guarantee of a
/// resource does not protect it. By resource; empty where the queue has no limit or nothing is over it. Source:
/// apache/yunikorn-core pkg/scheduler/objects/quota_preemptor.go (setPreemptableResources). O(depth × resources).
[[nodiscard]] inline std::optional<std::vector<quota_amount>> excess(const queue_tree& t, queue_id q) {
  std::vector<quota_amount> out(t.resource_count(), 0);
  bool any = false;
  for (std::uint16_t r = 0; r < t.resource_count(); ++r) {
    const auto c = t.cell(q, resource_id{r});
    if (c.cap == unlimited || c.used <= c.cap) continue;
    quota_amount over = c.used - c.cap;
    for (auto i = t.parent(q); i; i = t.parent(i)) {
      const auto above = t.cell(i, resource_id{r});
      if (above.guarantee > 0) over = quota_detail::least(over, quota_detail::most(0, above.used - above.guarantee));
    }
    out[r] = over;
    any = any || over > 0;
  }
  if (!any) return std::nullopt;
  return out;
}

/// A queue from which another one's guarantee can be taken.
struct debtor {
  queue_id queue;
  quota_amount above = 0;  ///< what its subtree uses beyond its guarantee
};

/// Who uses more than its guarantee while `q`, which wants `wanted` in all, is below its own: the siblings of the
/// queues on the path from `q`, nearest first, until an ancestor is found that has its guarantee itself. Empty when `q`
/// has its guarantee or does not want it. O(depth × siblings). This is the state that reclaim has to end: nobody with
/// unmet demand stays below guarantee while a sibling is above its own.
[[nodiscard]] inline std::vector<debtor> debtors(const queue_tree& t, queue_id q, resource_id r, quota_amount wanted) {
  std::vector<debtor> out;
  const auto own = t.cell(q, r);
  if (own.used >= quota_detail::least(own.subtree, wanted)) return out;
  for (auto below = q, up = t.parent(q);; below = up, up = t.parent(up)) {
    const auto first = up ? t.children(up).first : 0U;
    const auto count = up ? t.children(up).second : t.root_count();
    for (auto i = first; i < first + count; ++i) {
      const auto c = t.cell(queue_id{i}, r);
      if (queue_id{i} != below && c.used > c.subtree) out.push_back({queue_id{i}, c.used - c.subtree});
    }
    // Further up only while the ancestor as a whole is short of its guarantee.
    if (!up || t.cell(up, r).used >= t.cell(up, r).subtree) return out;
  }
}

}  // namespace berth
