#pragma once
/// \file
/// Bodies of `berth/quota/kueue_share.hpp`.

#include <cmath>
#include <limits>

#include "berth/quota/kueue_share.hpp"

namespace berth {

BERTH_INLINE double kueue_share::weighted() const noexcept {
  if (infinite()) return std::numeric_limits<double>::infinity();
  return ratio == 0 ? 0 : ratio / weight;
}

BERTH_INLINE std::optional<std::int64_t> kueue_share::rounded() const noexcept {
  if (infinite()) return std::nullopt;
  return static_cast<std::int64_t>(std::ceil(weighted()));
}

BERTH_INLINE kueue_share kueue_share_of(const queue_tree& t, queue_id q, std::span<const quota_amount> added) {
  kueue_share out;
  out.weight = static_cast<double>(t.spec(q).weight) / 1000;
  const auto up = t.parent(q);
  if (!up) return out;
  const auto borrowed = [&](std::uint16_t r) {
    const auto c = t.cell(q, resource_id{r});
    return quota_detail::most(0, c.climbed - c.subtree + (added.empty() ? 0 : added[r]));
  };
  for (std::uint16_t r = 0; r < t.resource_count(); ++r) {
    if (borrowed(r) == 0) continue;
    out.borrowing = true;
    const std::string_view name = t.resource(resource_id{r}).name;
    quota_amount sum = 0, lendable = 0;
    for (std::uint16_t p = 0; p < t.resource_count(); ++p)
      if (t.resource(resource_id{p}).name == name) {
        sum += borrowed(p);
        lendable += t.cell(up, resource_id{p}).potential;
      }
    if (lendable <= 0) continue;
    const double ratio = static_cast<double>(sum) * 1000.0 / static_cast<double>(lendable);
    if (ratio > out.ratio || (ratio == out.ratio && name < out.dominant)) {
      out.ratio = ratio;
      out.dominant = name;
    }
  }
  return out;
}

BERTH_INLINE std::vector<std::size_t> kueue_tournament::winners(std::span<const kueue_head> heads) {
  for (auto& s : at_) s.head = none;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    auto& s = at_[heads[i].queue.index()];
    s.head = i;
    s.reaches = heads[i].request;
  }
  std::vector<std::size_t> out;
  // Children have larger ids than their parents, so every child is settled before its cohort.
  for (auto q = t_->queue_count(); q-- > 0;) {
    const queue_id self{q}, up = t_->parent(self);
    auto& s = at_[q];
    if (s.head == none) continue;
    if (!up) {
      out.insert(out.begin(), s.head);
      continue;
    }
    contender c{kueue_share_of(*t_, self, s.reaches), kueue_share_of(*t_, self), borrows(self, s.reaches), self};
    auto& above = at_[up.index()];
    if (above.head != none && !before(heads, s.head, c, above.head, above.best)) continue;
    above.head = s.head;
    above.best = c;
    above.reaches.assign(s.reaches.size(), 0);
    for (std::uint16_t r = 0; r < t_->resource_count(); ++r) {
      const auto n = t_->cell(self, resource_id{r});
      above.reaches[r] = quota_detail::most(0, s.reaches[r] - quota_detail::most(0, n.local - n.climbed));
    }
  }
  return out;
}

BERTH_INLINE bool kueue_tournament::borrows(queue_id q, const quota_amounts& request) const {
  for (std::uint16_t r = 0; r < t_->resource_count(); ++r) {
    const auto c = t_->cell(q, resource_id{r});
    if (request[r] > 0 && c.climbed + request[r] > c.subtree) return true;
  }
  return false;
}

BERTH_INLINE bool kueue_tournament::before(std::span<const kueue_head> heads, std::size_t i, const contender& a,
                                           std::size_t j, const contender& b) {
  if (a.with != b.with) return a.with < b.with;
  const auto &x = heads[i], &y = heads[j];
  if (x.has_preempted != y.has_preempted) return x.has_preempted;
  if (a.borrows != b.borrows) return !a.borrows;
  if (a.now != b.now) return a.now < b.now;
  if (x.priority != y.priority) return x.priority > y.priority;
  if (x.queued_at != y.queued_at) return x.queued_at < y.queued_at;
  return a.child < b.child;
}

BERTH_INLINE kueue_tournament::kueue_tournament(const queue_tree& t) : t_{&t}, at_(t.queue_count()) {}

}  // namespace berth
