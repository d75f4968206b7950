#pragma once
/// \file
/// Shares the segments of a gang out over the domains of their level, by how many each could hold at most.
///
/// Cost        O(domains of the level and of those around it × groups) per count. No allocation after construction.

#include <cstddef>
#include <cstdint>

#include "berth/cluster/cluster.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"
#include "berth/job/gang.hpp"

namespace berth::detail {

class unit_share {
 public:
  explicit unit_share(const cluster& c);

  /// Starts with a gang of `wanted` segments, each to lie in one domain of `level`, all of them in one of level
  /// `widest`. Ties go to the domain with the least room for tasks of group `by`.
  void begin(const gang& g, unsigned widest, unsigned level, std::uint32_t wanted, std::size_t by) noexcept;
  [[nodiscard]] std::uint32_t domains() const noexcept { return static_cast<std::uint32_t>(units_[level_].size()); }
  /// Notes that a domain of the level holds no more than `n` segments, whatever the counters say.
  void limit(std::uint32_t d, std::uint64_t n) noexcept { limit_[d] = n; }

  /// Counts how many segments every domain could hold at most. \returns domains looked at
  std::uint64_t count() noexcept;
  /// The most segments that one domain of any level allowed could hold.
  [[nodiscard]] std::uint64_t most() const noexcept;
  /// Shares `n` segments out below the tightest domain that has room for them, of the narrowest level that has one.
  /// False: there is none. \param ascending  the fullest children first, where the layout leaves the choice; else the
  /// emptiest first and the last
  ///                   one as tight as possible
  bool assign(std::uint64_t n, bool ascending) noexcept;
  /// What a domain of the level got.
  [[nodiscard]] std::uint64_t assigned(std::uint32_t d) const noexcept { return assigned_[level_][d]; }

 private:
  [[nodiscard]] const domain_tree::domain& at(unsigned l, std::uint32_t d) const noexcept {
    return cluster_->tree().at(level_id{static_cast<std::uint8_t>(l)}, domain_id{d});
  }
  [[nodiscard]] bool attached(unsigned l, std::uint32_t d) const noexcept {
    return !cluster_->is_detached(level_id{static_cast<std::uint8_t>(l)}, domain_id{d});
  }
  [[nodiscard]] bool tighter(const live_shape& room, unsigned l, std::uint32_t a, std::uint32_t b) const noexcept;
  void divide(const live_shape& room, unsigned level, std::uint32_t domain, std::uint64_t n, bool ascending) noexcept;

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

#if BERTH_WITH_BODIES
#include "berth/solver/impl/unit_share.hpp"
#endif
