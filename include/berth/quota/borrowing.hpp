#pragma once
/// \file
/// Who may borrow what from whom, for reports: off the hot path.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "berth/quota/queue_tree.hpp"

namespace berth {

/// How much a queue could use now beyond its own idle guarantee; `unlimited` where nothing limits it. O(depth).
[[nodiscard]] inline quota_amount may_borrow(const queue_tree& t, queue_id q, resource_id r) noexcept {
  const auto c = t.cell(q, r);
  const auto fits = t.available(q, r);
  if (fits == unlimited) return unlimited;
  return quota_detail::most(0, fits - quota_detail::most(0, c.subtree - c.climbed));
}

/// A queue or cohort with idle quota for others.
struct lender {
  queue_id from;
  quota_amount idle = 0;  ///< what it has and does not use, after its lending limit
};

namespace quota_detail {

/// What a queue has of a resource, lets others have and does not use; not positive where there is none.
[[nodiscard]] inline quota_amount idle_for_others(const queue_tree& t, queue_id i, resource_id r) noexcept {
  const auto c = t.cell(i, r);
  const auto& d = t.description();
  if (d.rule == quota_rule::cohort) return c.subtree - c.local - most(0, c.climbed - c.local);
  auto due = t.spec(i).quota[r.index()].deserved.value_or(c.subtree);
  if (r.index() < d.capacity.size() && d.capacity[r.index()])
    due = least(due, *d.capacity[r.index()]);  // "everything there is"
  return due - (t.spec(i).lends ? c.used : most(c.used, c.subtree));
}

}  // namespace quota_detail

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
  lender_index(const queue_tree& t, resource_id r) : t_{&t}, r_{r} {
    before_.reserve(std::size_t{t.queue_count()} + 1);
    for (std::uint32_t i = 0; i < t.queue_count(); ++i) {
      before_.push_back(static_cast<std::uint32_t>(all_.size()));
      if (const auto idle = quota_detail::idle_for_others(t, queue_id{i}, r); idle > 0)
        all_.push_back({queue_id{i}, idle});
    }
    before_.push_back(static_cast<std::uint32_t>(all_.size()));
  }

  struct answer {
    std::vector<lender> nearest;
    std::size_t more = 0;  ///< how many lenders there are beyond these
  };
  /// At most `most` lenders of a queue. O(depth + most).
  [[nodiscard]] answer of(queue_id q, std::size_t most) const {
    answer out;
    const bool cohort = t_->description().rule == quota_rule::cohort;
    for (auto below = q, up = t_->parent(q);; below = up, up = t_->parent(up)) {
      const auto [first, count] = up ? t_->children(up) : std::pair{std::uint32_t{0}, cohort ? 0U : t_->root_count()};
      const std::size_t end = before_[first + count];
      std::size_t i = before_[first];
      for (; i < end && out.nearest.size() < most; ++i)
        if (all_[i].from != below) out.nearest.push_back(all_[i]);
      const bool itself = count > 0 && before_[below.index()] < before_[below.index() + 1];
      out.more += end - i - (itself && before_[below.index()] >= i ? 1U : 0U);
      if (!up) return out;
      if (const auto own = cohort ? t_->cell(up, r_).guarantee : 0; own > 0) {
        if (out.nearest.size() < most) out.nearest.push_back({up, own});
        else ++out.more;
      }
    }
  }

 private:
  const queue_tree* t_;
  resource_id r_;
  std::vector<lender> all_;            // who has anything idle, by id
  std::vector<std::uint32_t> before_;  // by queue: how many of these have smaller ids
};

/// All lenders of one queue. O(queues).
[[nodiscard]] inline std::vector<lender> lenders(const queue_tree& t, queue_id q, resource_id r) {
  return lender_index{t, r}.of(q, t.queue_count() + t.depth(q)).nearest;
}

/// How much of a resource lies idle under the same root but is kept back by lending limits, and by whom. A refusal by
/// `quota_limit::guarantees` with some of this left is one that lending limits caused. O(queues under the root).
[[nodiscard]] inline std::vector<lender> kept_back(const queue_tree& t, queue_id q, resource_id r) {
  std::vector<lender> out;
  auto root = q;
  while (t.parent(root)) root = t.parent(root);
  std::vector<std::uint32_t> todo{root.raw()};
  for (std::size_t k = 0; k < todo.size(); ++k) {
    const queue_id self{todo[k]};
    const auto c = t.cell(self, r);
    if (const auto idle = c.local - c.climbed; self != q && t.parent(self) && idle > 0) out.push_back({self, idle});
    const auto [first, count] = t.children(self);
    for (auto i = first; i < first + count; ++i) todo.push_back(i);
  }
  return out;
}

}  // namespace berth
