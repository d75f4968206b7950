#pragma once
/// \file
/// Who may borrow what from whom, for reports: off the hot path.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/quota/queue_tree.hpp"

namespace berth {

/// How much a queue could use now beyond its own idle guarantee; `unlimited` where nothing limits it. O(depth).
[[nodiscard]] quota_amount may_borrow(const queue_tree& t, queue_id q, resource_id r) noexcept;

/// A queue or cohort with idle quota for others.
struct lender {
  queue_id from;
  quota_amount idle = 0;  ///< what it has and does not use, after its lending limit
};

/// Where the borrowing of one resource would come from, nearest first: idle quota of the siblings of every queue on the
/// borrower's path, and what cohorts above hold for themselves. The borrower's own limits may allow less than the sum:
/// `may_borrow` says how much. Under `quota_rule::caps`, where nothing asks for a lender, it is what siblings are due
/// (deserved, else guaranteed) and do not use; of who does not lend, only what is deserved beyond the guarantee.
///
/// Looks at every queue once, so that the nearest lenders of all queues of a group do not cost its size squared. Speaks
/// of the usage at the time it was made.
class lender_index {
 public:
  /// O(queues) time and memory.
  lender_index(const queue_tree& t, resource_id r);

  struct answer {
    std::vector<lender> nearest;
    std::size_t more = 0;  ///< how many lenders there are beyond these
  };
  /// At most `most` lenders of a queue. O(depth + most).
  [[nodiscard]] answer of(queue_id q, std::size_t most) const;

 private:
  const queue_tree* t_;
  resource_id r_;
  std::vector<lender> all_;            // who has anything idle, by id
  std::vector<std::uint32_t> before_;  // by queue: how many of these have smaller ids
};

/// All lenders of one queue. O(queues).
[[nodiscard]] std::vector<lender> lenders(const queue_tree& t, queue_id q, resource_id r);

/// How much of a resource lies idle under the same root but is kept back by lending limits, and by whom. A refusal by
/// `quota_limit::guarantees` with some of this left is one that lending limits caused. O(queues under the root).
[[nodiscard]] std::vector<lender> kept_back(const queue_tree& t, queue_id q, resource_id r);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/impl/borrowing.hpp"
#endif
