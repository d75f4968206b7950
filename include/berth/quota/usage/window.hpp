#pragma once
/// \file
/// Usage within a window of time: sliding or tumbling, exact in unit-seconds.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/quota/amount.hpp"

namespace berth {

/// Unit-seconds of the last `buckets` × `bucket_seconds` seconds, in steps of one bucket: the bucket that is open and
/// the `buckets` - 1 before it. Intervals are cut at bucket borders exactly, so that samples may come at any times and
/// in any sizes. One bucket makes a tumbling window. Source: KAI docs/time-based-fairshare (a week, sliding or
/// tumbling).
class usage_window {
 public:
  /// \pre bucket_seconds > 0, buckets > 0
  usage_window(std::int64_t bucket_seconds, std::size_t buckets);
  [[nodiscard]] static usage_window tumbling(std::int64_t seconds) { return {seconds, 1}; }

  /// Adds `rate` units for every second of [from, to). What lies before the window is left out; what lies after its
  /// open bucket opens new ones. O(buckets touched, at most all). Does not allocate. \pre from <= to
  void run(quota_amount rate, std::int64_t from, std::int64_t to) noexcept;
  /// Lets time pass up to `t`: buckets that have left the window are forgotten. Earlier times change nothing.
  void advance(std::int64_t t) noexcept;
  /// Unit-seconds in the window. O(buckets).
  [[nodiscard]] quota_amount total() const noexcept;
  /// As a part of what `capacity` units could do in the whole window. \pre capacity > 0
  [[nodiscard]] double fraction(quota_amount capacity) const noexcept;

 private:
  [[nodiscard]] std::int64_t floor_div(std::int64_t t) const noexcept { return t / width_ - (t % width_ < 0 ? 1 : 0); }
  [[nodiscard]] quota_amount& slot(std::int64_t bucket) noexcept;
  std::int64_t width_;
  std::vector<quota_amount> sums_;
  std::int64_t open_ = 0;
  bool begun_ = false;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/usage/impl/window.hpp"
#endif
