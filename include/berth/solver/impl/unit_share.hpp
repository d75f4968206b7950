#pragma once
/// \file
/// Bodies of `berth/solver/unit_share.hpp`.

#include <cassert>

#include "berth/solver/unit_share.hpp"

namespace berth::detail {

BERTH_INLINE unit_share::unit_share(const cluster& c) : cluster_{&c} {
  for (std::uint8_t l = 0; l < c.tree().level_count(); ++l) {
    units_[l].assign(c.tree().domain_count(level_id{l}), 0);
    assigned_[l].assign(c.tree().domain_count(level_id{l}), 0);
  }
  for (const auto& level : units_)
    if (limit_.size() < level.size()) limit_.resize(level.size());
}

BERTH_INLINE void unit_share::begin(const gang& g, unsigned widest, unsigned level, std::uint32_t wanted,
                                    std::size_t by) noexcept {
  gang_ = &g;
  widest_ = widest;
  level_ = level;
  wanted_ = wanted;
  by_ = by;
  for (std::uint32_t d = 0; d < domains(); ++d) limit_[d] = wanted;
}

BERTH_INLINE std::uint64_t unit_share::count() noexcept {
  for (std::uint32_t d = 0; d < domains(); ++d) units_[level_][d] = limit_[d];
  for (const task_group& t : gang_->groups) {
    const live_shape& s = *cluster_->counters(t.shape);
    const std::uint64_t size = t.wanted / wanted_;
    for (std::uint32_t d = 0; d < domains(); ++d) {
      const std::uint64_t n = s.capacity(level_, d) / size;
      if (n < units_[level_][d]) units_[level_][d] = n;
    }
  }
  if (gang_->segments->layout == segment_layout::spread)
    for (auto& u : units_[level_]) u = u != 0 ? 1 : 0;
  for (unsigned l = level_; l > widest_; --l) {
    for (auto& u : units_[l - 1]) u = 0;
    for (std::uint32_t d = 0; d < units_[l].size(); ++d)
      if (attached(l, d)) units_[l - 1][at(l, d).parent] += units_[l][d];
  }
  return std::uint64_t{domains()} * gang_->groups.size();
}

BERTH_INLINE std::uint64_t unit_share::most() const noexcept {
  std::uint64_t most = 0;
  for (unsigned l = level_ + 1; l-- > widest_;)
    for (const auto u : units_[l])
      if (u > most) most = u;
  return most;
}

BERTH_INLINE bool unit_share::assign(std::uint64_t n, bool ascending) noexcept {
  const live_shape& room = *cluster_->counters(gang_->groups[by_].shape);
  for (unsigned l = level_ + 1; l-- > widest_;) {
    std::uint32_t best = live_shape::no_domain;
    for (std::uint32_t d = 0; d < units_[l].size(); ++d)
      if (units_[l][d] >= n && (best == live_shape::no_domain || tighter(room, l, d, best))) best = d;
    if (best == live_shape::no_domain) continue;
    for (auto& a : assigned_[level_]) a = 0;
    divide(room, l, best, n, ascending && gang_->segments->layout == segment_layout::free);
    return true;
  }
  return false;
}

BERTH_INLINE bool unit_share::tighter(const live_shape& room, unsigned l, std::uint32_t a,
                                      std::uint32_t b) const noexcept {
  if (units_[l][a] != units_[l][b]) return units_[l][a] < units_[l][b];
  return room.capacity(l, a) < room.capacity(l, b);
}

BERTH_INLINE void unit_share::divide(const live_shape& room, unsigned level, std::uint32_t domain, std::uint64_t n,
                                     bool ascending) noexcept {
  if (level == level_) {
    assigned_[level][domain] = n;
    return;
  }
  const id_range kids = at(level, domain).children;
  auto& units = units_[level + 1];
  auto& assigned = assigned_[level + 1];
  for (std::uint32_t d = kids.first; d < kids.last; ++d) assigned[d] = 0;
  // The fullest first: one child that holds everything still beats several that are fuller, but only at the start.
  for (bool whole = true; n != 0; whole = !ascending) {
    std::uint32_t pick = live_shape::no_domain, tight = live_shape::no_domain;
    for (std::uint32_t d = kids.first; d < kids.last; ++d) {
      if (units[d] == 0 || assigned[d] != 0 || !attached(level + 1, d)) continue;
      if (pick == live_shape::no_domain ||
          (units[d] != units[pick] ? (units[d] < units[pick]) == ascending : tighter(room, level + 1, d, pick)))
        pick = d;
      if (units[d] >= n && (tight == live_shape::no_domain || tighter(room, level + 1, d, tight))) tight = d;
    }
    if (whole && tight != live_shape::no_domain) pick = tight;
    assert(pick != live_shape::no_domain);
    assigned[pick] = units[pick] < n ? units[pick] : n;
    n -= assigned[pick];
  }
  for (std::uint32_t d = kids.first; d < kids.last; ++d)
    if (assigned[d] != 0) divide(room, level + 1, d, assigned[d], ascending);
}

}  // namespace berth::detail
