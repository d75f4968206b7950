#pragma once
/// \file
/// kubernetes-sigs/scheduler-plugins: elastic quota (capacity scheduling) and the least NUMA nodes.
///
/// | asked | answered by | source |
/// |---|---|---|
/// | may a pod be admitted | `queue_tree::may_admit` on the tree of `as_elastic_quota` |
/// pkg/capacityscheduling/capacity_scheduling.go | | which NUMA nodes a pod needs | `least_numa` |
/// pkg/noderesourcetopology/least_numa.go |

#include <string>
#include <utility>

#include "berth/profile/scheduler_plugins_numa.hpp"
#include "berth/quota/queue_tree.hpp"

namespace berth {

/// Elastic quotas as a tree: one root above all queues, so that the sum of all minimums is what is there. A request is
/// refused by `cap` where its own queue would pass its maximum, and by `guarantees` where all queues together would
/// pass the sum of minimums. A namespace without a quota is not in the tree and not checked.
inline void as_elastic_quota(queue_tree_spec& s, const std::string& root = "*") {
  for (auto& q : s.queues)
    if (q.parent.empty()) q.parent = root;
  queue_spec top;
  top.name = root;
  top.quota.resize(s.resources.size());
  s.queues.push_back(std::move(top));
  s.rule = quota_rule::cohort;
  s.guarantees = guarantee_rule::own_plus_children;
}

}  // namespace berth
