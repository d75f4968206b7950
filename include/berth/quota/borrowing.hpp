#pragma once
/// \file
/// Who may borrow what from whom, for reports: off the hot path.

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

/// Where a queue's borrowing of one resource would come from, nearest first: idle quota of the siblings of every queue
/// on its path, and what cohorts above hold for themselves. The queue's own limits may allow less than the sum:
/// `may_borrow` says how much. Under `quota_rule::caps`, where nothing asks for a lender, it is what siblings are due
/// (deserved, else guaranteed) and do not use; of who does not lend, only what is deserved beyond the guarantee.
/// O(depth × siblings).
[[nodiscard]] inline std::vector<lender> lenders(const queue_tree& t, queue_id q, resource_id r) {
  std::vector<lender> out;
  const auto& d = t.description();
  const bool cohort = d.rule == quota_rule::cohort;
  const auto idle_of = [&](queue_id i) {
    const auto c = t.cell(i, r);
    if (cohort) return c.subtree - c.local - quota_detail::most(0, c.climbed - c.local);
    auto due = t.spec(i).quota[r.index()].deserved.value_or(c.subtree);
    if (r.index() < d.capacity.size() && d.capacity[r.index()])
      due = quota_detail::least(due, *d.capacity[r.index()]);  // "everything there is"
    return due - (t.spec(i).lends ? c.used : quota_detail::most(c.used, c.subtree));
  };
  for (auto below = q, up = t.parent(q);; below = up, up = t.parent(up)) {
    const auto [first, count] = up ? t.children(up) : std::pair{std::uint32_t{0}, cohort ? 0U : t.root_count()};
    for (auto i = first; i < first + count; ++i)
      if (const auto idle = idle_of(queue_id{i}); queue_id{i} != below && idle > 0) out.push_back({queue_id{i}, idle});
    if (!up) return out;
    if (cohort && t.cell(up, r).guarantee > 0) out.push_back({up, t.cell(up, r).guarantee});
  }
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
