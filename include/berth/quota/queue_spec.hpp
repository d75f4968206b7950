#pragma once
/// \file
/// A queue tree as its owner describes it: what readers produce and `queue_tree::build` compiles.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/quota/amount.hpp"

namespace berth {

/// One resource of a tree. The same name in several pools (Kueue's flavors, GPU models) is several columns; dominant
/// shares add the pools of one name up.
struct quota_resource {
  std::string name;       ///< "nvidia.com/gpu", "cpu", "mig-1g.10gb", "licence:matlab"
  std::string pool;       ///< may be empty
  quota_amount unit = 1;  ///< shares are rounded to multiples of it: 1000 for GPUs counted in thousandths

  /// `pool/name`, or the name alone.
  [[nodiscard]] std::string label() const;
};

/// What one queue has of one resource. Amounts are 0 .. `max_quota` or, for limits, `unlimited`.
struct queue_quota {
  quota_amount guarantee = 0;                ///< nominal quota, deserved (KAI), minimum (Koordinator)
  quota_amount borrowing_limit = unlimited;  ///< at most this much above the guarantees of its subtree
  quota_amount lending_limit = unlimited;    ///< at most this much of its subtree's quota is for others
  quota_amount cap = unlimited;              ///< the subtree never uses more: maximum, limit, capability, GrpTRES
  quota_amount budget = unlimited;           ///< unit-seconds the subtree may spend; see `queue_tree::charge`
  std::optional<quota_amount> deserved;      ///< Volcano's middle number; absent: the guarantee
  std::optional<quota_amount> weight;        ///< for what is left over, on the scale of the queue's; absent: that one
};

/// What one user, or everybody for himself, may use of a queue.
struct user_limit {
  std::string user;                   ///< "*": every user without a limit of his own
  std::vector<quota_amount> at_most;  ///< by resource, or `unlimited`
};

/// One queue.
struct queue_spec {
  std::string name;                ///< unique in its tree
  std::string parent;              ///< name of the parent; empty for a root
  std::vector<queue_quota> quota;  ///< by resource
  quota_amount weight = 1000;      ///< thousandths: 1000 is the usual weight 1
  std::int32_t priority = 0;       ///< larger first
  std::int64_t created_at = 0;     ///< seconds; older first on ties
  bool active = true;              ///< an inactive queue admits nothing (stopped, or in a cycle of cohorts)
  bool lends = true;               ///< Koordinator's allow-lent-resource
  bool group = false;              ///< holds queues only, no jobs of its own (cohort, account)
  std::vector<user_limit> user_limits;
  std::size_t line = 0;  ///< where it stands in its file; 0 where unknown
};

/// Against what admission is checked.
enum class quota_rule : std::uint8_t {
  cohort,  ///< guarantees are the capacity: what is not guaranteed must be borrowed (Kueue, capacity scheduling)
  caps,    ///< only caps, user limits, budgets and the whole capacity hold (YuniKorn, YARN, KAI, Slurm, Volcano)
};

/// How a parent's guarantee relates to those of its children.
enum class guarantee_rule : std::uint8_t {
  as_given,           ///< independent numbers (KAI)
  own_plus_children,  ///< the parent's own number comes on top (Kueue)
  at_least_children,  ///< a parent without a number has the sum; a smaller number is an error (YuniKorn, YARN, Volcano)
};

/// A whole tree (or several: any number of roots).
struct queue_tree_spec {
  std::string source = "queues";  ///< file name for messages
  std::vector<quota_resource> resources;
  std::vector<queue_spec> queues;
  std::vector<std::optional<quota_amount>> capacity;  ///< of the cluster by resource; empty or absent: not known
  quota_rule rule = quota_rule::cohort;
  guarantee_rule guarantees = guarantee_rule::own_plus_children;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/impl/queue_spec.hpp"
#endif
