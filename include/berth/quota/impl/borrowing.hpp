#pragma once
/// \file
/// Bodies of `berth/quota/borrowing.hpp`.

#include <utility>

#include "berth/quota/borrowing.hpp"

namespace berth {

BERTH_INLINE quota_amount may_borrow(const queue_tree& t, queue_id q, resource_id r) noexcept {
  const auto c = t.cell(q, r);
  const auto fits = t.available(q, r);
  if (fits == unlimited) return unlimited;
  return quota_detail::most(0, fits - quota_detail::most(0, c.subtree - c.climbed));
}

}  // namespace berth

namespace berth::quota_detail {

/// What a queue has of a resource, lets others have and does not use; not positive where there is none.
[[nodiscard]] BERTH_INLINE quota_amount idle_for_others(const queue_tree& t, queue_id i, resource_id r) noexcept {
  const auto c = t.cell(i, r);
  const auto& d = t.description();
  if (d.rule == quota_rule::cohort) return c.subtree - c.local - most(0, c.climbed - c.local);
  auto due = t.spec(i).quota[r.index()].deserved.value_or(c.subtree);
  if (r.index() < d.capacity.size() && d.capacity[r.index()])
    due = least(due, *d.capacity[r.index()]);  // "everything there is"
  return due - (t.spec(i).lends ? c.used : most(c.used, c.subtree));
}

}  // namespace berth::quota_detail

namespace berth {

BERTH_INLINE lender_index::lender_index(const queue_tree& t, resource_id r) : t_{&t}, r_{r} {
  before_.reserve(std::size_t{t.queue_count()} + 1);
  for (std::uint32_t i = 0; i < t.queue_count(); ++i) {
    before_.push_back(static_cast<std::uint32_t>(all_.size()));
    if (const auto idle = quota_detail::idle_for_others(t, queue_id{i}, r); idle > 0)
      all_.push_back({queue_id{i}, idle});
  }
  before_.push_back(static_cast<std::uint32_t>(all_.size()));
}

BERTH_INLINE lender_index::answer lender_index::of(queue_id q, std::size_t most) const {
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

BERTH_INLINE std::vector<lender> kept_back(const queue_tree& t, queue_id q, resource_id r) {
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

BERTH_INLINE std::vector<lender> lenders(const queue_tree& t, queue_id q, resource_id r) {
  return lender_index{t, r}.of(q, t.queue_count() + t.depth(q)).nearest;
}

}  // namespace berth
