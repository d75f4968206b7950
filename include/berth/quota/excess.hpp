#pragma once
/// \file
/// What may be taken back: from a queue over its limit, and for a queue below its guarantee.

#include <optional>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/quota/queue_tree.hpp"

namespace berth {

/// How much may be taken back from a queue whose limit was lowered below its use: use - limit in every resource that
/// has a limit, but never so much that an ancestor falls below its guarantee; an ancestor without a guarantee of a
/// resource does not protect it. By resource; empty where the queue has no limit or nothing is over it. Source:
/// apache/yunikorn-core pkg/scheduler/objects/quota_preemptor.go (setPreemptableResources). O(depth × resources).
[[nodiscard]] std::optional<std::vector<quota_amount>> excess(const queue_tree& t, queue_id q);

/// A queue from which another one's guarantee can be taken.
struct debtor {
  queue_id queue;
  quota_amount above = 0;  ///< what its subtree uses beyond its guarantee
};

/// Who uses more than its guarantee while `q`, which wants `wanted` in all, is below its own: the siblings of the
/// queues on the path from `q`, nearest first, until an ancestor is found that has its guarantee itself. Empty when `q`
/// has its guarantee or does not want it. O(depth × siblings). This is the state that reclaim has to end: nobody with
/// unmet demand stays below guarantee while a sibling is above its own.
[[nodiscard]] std::vector<debtor> debtors(const queue_tree& t, queue_id q, resource_id r, quota_amount wanted);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/impl/excess.hpp"
#endif
