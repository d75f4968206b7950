#pragma once
/// \file
/// Shares the segments of a gang out over the domains of their level, by how many each could hold at most.
///
/// Cost        O(domains of the level and of those around it × groups) per count. No allocation after construction.

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "berth/cluster/cluster.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/job/gang.hpp"

namespace berth::detail {

class unit_share {
 public:
  explicit unit_share(const cluster& c) : cluster_{&c} {
    for (std::uint8_t l = 0; l < c.tree().level_count(); ++l) {
      units_[l].assign(c.tree().domain_count(level_id{l}), 0);
      assigned_[l].assign(c.tree().domain_count(level_id{l}), 0);
    }
    for (const auto& level : units_)
      if (limit_.size() < level.size()) limit_.resize(level.size());
  }

  /// Starts with a gang of `wanted` segments, each to lie in one domain of `level`, all of them in one of level
  /// `widest`. Ties go to the domain with the least room for tasks of group `by`.
  void begin(const gang& g, unsigned widest, unsigned level, std::uint32_t wanted, std::size_t by) noexcept {
    gang_ = &g;
    widest_ = widest;
    level_ = level;
    wanted_ = wanted;
    by_ = by;
    for (std::uint32_t d = 0; d < domains(); ++d) limit_[d] = wanted;
  }
  [[nodiscard]] std::uint32_t domains() const noexcept { return static_cast<std::uint32_t>(units_[level_].size()); }
  /// Notes that a domain of the level holds no more than `n` segments, whatever the counters say.
  void limit(std::uint32_t d, std::uint64_t n) noexcept { limit_[d] = n; }

  /// Counts how many segments every domain could hold at most. \returns domains looked at
  std::uint64_t count() noexcept {
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
  /// The most segments that one domain of any level allowed could hold.
  [[nodiscard]] std::uint64_t most() const noexcept {
    std::uint64_t most = 0;
    for (unsigned l = level_ + 1; l-- > widest_;)
      for (const auto u : units_[l])
        if (u > most) most = u;
    return most;
  }
  /// Shares `n` segments out below the tightest domain that has room for them, of the narrowest level that has one.
  /// False: there is none. \param ascending  the fullest children first, where the layout leaves the choice; else the
  /// emptiest first and the last
  ///                   one as tight as possible
  bool assign(std::uint64_t n, bool ascending) noexcept {
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
  /// What a domain of the level got.
  [[nodiscard]] std::uint64_t assigned(std::uint32_t d) const noexcept { return assigned_[level_][d]; }

 private:
  [[nodiscard]] const domain_tree::domain& at(unsigned l, std::uint32_t d) const noexcept {
    return cluster_->tree().at(level_id{static_cast<std::uint8_t>(l)}, domain_id{d});
  }
  [[nodiscard]] bool attached(unsigned l, std::uint32_t d) const noexcept {
    return !cluster_->is_detached(level_id{static_cast<std::uint8_t>(l)}, domain_id{d});
  }
  [[nodiscard]] bool tighter(const live_shape& room, unsigned l, std::uint32_t a, std::uint32_t b) const noexcept {
    if (units_[l][a] != units_[l][b]) return units_[l][a] < units_[l][b];
    return room.capacity(l, a) < room.capacity(l, b);
  }
  void divide(const live_shape& room, unsigned level, std::uint32_t domain, std::uint64_t n, bool ascending) noexcept {
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

  const cluster* cluster_;
  const gang* gang_ = nullptr;
  unsigned widest_ = 0, level_ = 0;
  std::uint32_t wanted_ = 1;
  std::size_t by_ = 0;
  flat_array<std::uint64_t> units_[domain_tree::max_levels],
      assigned_[domain_tree::max_levels];  ///< by level and domain
  flat_array<std::uint64_t> limit_;        ///< by domain of the segments' level
};

}  // namespace berth::detail
