#pragma once
/// \file
/// Bodies of `berth/policy/keep_whole.hpp`.

#include "berth/policy/keep_whole.hpp"

namespace berth {

BERTH_INLINE domain_use::domain_use(const cluster& c)
    : tree_{&c.tree()}, broken_((c.node_count() + 63) / 64), counts_(c.tree().level_count()) {
  for (std::uint8_t l = 0; l < c.tree().level_count(); ++l) counts_[l].resize(c.tree().domain_count(level_id{l}));
  sync(c);
}

BERTH_INLINE void domain_use::update(const cluster& c, node_id n) noexcept {
  const bool now = !is_whole(c.node(n));
  std::uint64_t& word = broken_[n.index() / 64];
  if (((word & bit(n.raw() % 64)) != 0) == now) return;
  word ^= bit(n.raw() % 64);
  std::uint32_t d = tree_->leaf_of(n).raw();
  for (std::size_t l = counts_.size(); l-- > 0;) {
    counts_[l][d] += now ? 1U : ~0U;
    d = tree_->at(level_id{static_cast<std::uint8_t>(l)}, domain_id{d}).parent;
  }
}

BERTH_INLINE unsigned domain_use::whole_around(level_id l, domain_id d) const noexcept {
  unsigned out = 0;
  std::uint32_t at = d.raw();
  for (std::size_t i = l.index() + 1; i-- > 0 && counts_[i][at] == 0;) {
    ++out;
    at = tree_->at(level_id{static_cast<std::uint8_t>(i)}, domain_id{at}).parent;
  }
  return out;
}

BERTH_INLINE std::tuple<int, std::int64_t, std::uint64_t, std::int64_t> whole_domains_last::score(
    const domain_view& d, std::uint64_t need) const noexcept {
  const auto room = -static_cast<std::int64_t>(d.capacity);
  if (use == nullptr) return {0, 0, 0, room};
  const int breaks = static_cast<int>(use->whole_around(d.level, d.domain));
  const live_shape* const s = breaks != 0 || of == nullptr || d.shape == nullptr ? nullptr : of->counters(*d.shape);
  if (s == nullptr) return {-breaks, -static_cast<std::int64_t>(need), 0, room};
  std::uint64_t there = 0, best = 0;
  const bool inside = islands != nullptr && need == 1 && d.shape->devices != 0;
  use->each_broken(d.level, d.domain, [&](node_id n) {
    const std::uint32_t fits = s->fits(n.raw());
    there += fits;
    if (inside && fits != 0) {
      const std::uint64_t here = islands->score({n, of->node(n), of->shape_of(n), fits, 0}, *d.shape);
      best = here > best ? here : best;
    }
    return inside || there < need;
  });
  return {0, there < need ? -static_cast<std::int64_t>(need - there) : 0, best, room};
}

BERTH_INLINE least_free_outwards::chain least_free_outwards::score(const domain_view& d, std::uint64_t) const noexcept {
  chain out;
  const live_shape* const s = of == nullptr || d.shape == nullptr ? nullptr : of->counters(*d.shape);
  std::uint32_t at = d.domain.raw();
  for (std::size_t l = d.level.index() + 1U; l-- > 0;) {
    out.room[l] = l == d.level.index() ? d.capacity : s == nullptr ? 0 : s->capacity(static_cast<unsigned>(l), at);
    if (of != nullptr) at = of->tree().at(level_id{static_cast<std::uint8_t>(l)}, domain_id{at}).parent;
  }
  return out;
}

BERTH_INLINE void domain_use::update(const cluster& c, std::span<const task_placement> tasks) noexcept {
  for (const task_placement& t : tasks) update(c, t.node);
}

}  // namespace berth
