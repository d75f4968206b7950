#pragma once
/// \file
/// Bodies of `berth/solver/detail/gang_filler.hpp`.

#include "berth/solver/detail/gang_filler.hpp"

namespace berth::detail {

BERTH_INLINE void gang_filler::select(const live_shape& s, std::uint32_t group) noexcept {
  shape_ = &s, group_ = group, whole_ = 0;
  one_by_one_ = s.asks_inside() || has_parts_;
}

BERTH_INLINE void gang_filler::append(const task_placement& t, const part_places& places) noexcept {
  if (has_parts_) places_[count_] = places;
  out_[count_++] = t;
}

BERTH_INLINE void gang_filler::sort_tasks() noexcept {
  const auto before = [](const task_placement& a, const task_placement& b) {
    if (a.group != b.group) return a.group < b.group;
    if (a.node != b.node) return a.node < b.node;
    return a.devices < b.devices;
  };
  for (std::size_t gap = count_ / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
    for (std::size_t i = gap; i < count_; ++i) {
      const task_placement t = out_[i];
      const part_places p = places_of(i);
      std::size_t at = i;
      for (; at >= gap && before(t, out_[at - gap]); at -= gap) {
        out_[at] = out_[at - gap];
        if (has_parts_) places_[at] = places_[at - gap];
      }
      out_[at] = t;
      if (has_parts_) places_[at] = p;
    }
}

BERTH_INLINE void gang_filler::prefer_used(bool on) noexcept {
  if (remember_ == on) return;
  remember_ = on;
  for (auto& level : used_)
    for (auto& w : level) w = 0;
}

BERTH_INLINE void gang_filler::forget_used() noexcept {
  for (auto& level : used_)
    for (auto& w : level) w = 0;
}

BERTH_INLINE void gang_filler::remember_tasks() noexcept {
  forget_used();
  for (const task_placement& t : tasks()) mark_used(t.node);
}

BERTH_INLINE void gang_filler::score_tasks() noexcept {
  for (auto& u : score_->domains_used) u = 0;
  forget_used();
  for (const task_placement& t : tasks()) mark_used(t.node);
  for (std::size_t l = 0; l < levels_; ++l)
    for (const std::uint64_t w : used_[l]) score_->domains_used[l] += count_bits(w);
}

BERTH_INLINE void gang_filler::mark_used(node_id n) noexcept {
  std::uint32_t d = cluster_->tree().leaf_of(n).raw();
  for (std::size_t l = levels_; l-- > 0;) {
    used_[l][d / 64] |= bit(d % 64);
    d = cluster_->tree().at(level_id{static_cast<std::uint8_t>(l)}, domain_id{d}).parent;
  }
}

BERTH_INLINE std::span<part_places> gang_filler::places() noexcept {
  return {places_.data(), has_parts_ ? count_ : 0};
}

BERTH_INLINE std::span<task_placement> gang_filler::tasks() noexcept {
  return {out_.data(), count_};
}

BERTH_INLINE gang_filler::gang_filler(const cluster& c) : cluster_{&c}, levels_{c.tree().level_count()} {
  for (std::uint8_t l = 0; l < levels_; ++l) used_[l].assign((c.tree().domain_count(level_id{l}) + 63) / 64, 0);
}

}  // namespace berth::detail
