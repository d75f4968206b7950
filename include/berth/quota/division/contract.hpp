#pragma once
/// \file
/// Ai2's contract: an allocation of GPU time, a minimum run time that cannot be evicted, free use above the allocation.

#include <cstddef>
#include <cstdint>

#include "berth/core/separate.hpp"
#include "berth/quota/division.hpp"
#include "berth/quota/division/guarantees.hpp"

namespace berth {

/// owed = min(allocation, demand), where allocations that exceed the capacity are cut in proportion; what is idle then
/// is free, divided by weight. The free part carries no promise: see `run_contract`.
/// Source: peer_semantics item 50 (allenai.org, "Impactful scheduling").
struct contract_division {
  static constexpr std::string_view name = "contract";

  void divide(const sibling_group& g, quota_rows_out share, division_workspace& w) const;
  /// Fills column r with what is owed now. \returns what is left of the capacity
  static quota_amount owed(const sibling_group& g, Eigen::Index r, quota_rows_out share, division_workspace& w) {
    return give_guarantees(g, r, share, w);
  }
};

/// The promise to one workload: within its minimum run time it is not evicted, afterwards it may be.
struct run_contract {
  static constexpr std::int64_t longest = 8 * 3600;  ///< seconds; a longer wish is refused by `valid`
  std::int64_t minimum_seconds = 0;
  bool within_allocation = true;  ///< above the allocation the minimum is 0

  [[nodiscard]] constexpr bool valid() const noexcept { return minimum_seconds >= 0 && minimum_seconds <= longest; }
  /// Whether a workload that started at `started` may be evicted at `now`; seconds.
  [[nodiscard]] constexpr bool may_evict(std::int64_t started, std::int64_t now) const noexcept {
    return !within_allocation || now - started >= minimum_seconds;
  }
};

/// What one queue was owed and used, hour by hour, over a sliding week. Amounts are unit-hours.
class contract_ledger {
 public:
  static constexpr std::size_t hours = 7 * 24;
  /// Closes an hour: owed += min(allocation, demand). O(1).
  void close_hour(quota_amount allocation, quota_amount demand, quota_amount used) noexcept;
  [[nodiscard]] quota_amount owed() const noexcept { return owed_sum_; }
  [[nodiscard]] quota_amount used() const noexcept { return used_sum_; }
  /// Who goes first: the smaller used / owed; a queue that is owed nothing comes last, less used first. Exact.
  [[nodiscard]] friend bool goes_before(const contract_ledger& a, const contract_ledger& b) noexcept {
    if ((a.owed_sum_ == 0) != (b.owed_sum_ == 0)) return b.owed_sum_ == 0;
    if (a.owed_sum_ == 0) return a.used_sum_ < b.used_sum_;
    return static_cast<quota_detail::wide>(a.used_sum_) * b.owed_sum_ <
           static_cast<quota_detail::wide>(b.used_sum_) * a.owed_sum_;
  }

 private:
  quota_amount owed_[hours]{}, used_[hours]{};
  quota_amount owed_sum_ = 0, used_sum_ = 0;
  std::size_t at_ = 0;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/division/impl/contract.hpp"
#endif
