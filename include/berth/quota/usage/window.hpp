#pragma once
/// \file
/// Usage within a window of time: sliding or tumbling, exact in unit-seconds.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/quota/amount.hpp"

namespace berth {

/// Unit-seconds of the last `buckets` × `bucket_seconds` seconds, in steps of one bucket: the bucket that is open and
/// the `buckets` - 1 before it. Intervals are cut at bucket borders exactly, so that samples may come at any times and
/// in any sizes. One bucket makes a tumbling window. Source: KAI docs/time-based-fairshare (a week, sliding or
/// tumbling).
class usage_window {
 public:
  /// \pre bucket_seconds > 0, buckets > 0
  usage_window(std::int64_t bucket_seconds, std::size_t buckets) : width_{bucket_seconds}, sums_(buckets, 0) {}
  [[nodiscard]] static usage_window tumbling(std::int64_t seconds) { return {seconds, 1}; }

  /// Adds `rate` units for every second of [from, to). What lies before the window is left out; what lies after its
  /// open bucket opens new ones. O(buckets touched, at most all). Does not allocate. \pre from <= to
  void run(quota_amount rate, std::int64_t from, std::int64_t to) noexcept {
    advance(to > from ? to - 1 : to);
    const auto begin = (open_ - static_cast<std::int64_t>(sums_.size()) + 1) * width_;
    if (from < begin) from = begin;
    while (from < to) {
      const auto bucket = floor_div(from);
      const auto end = (bucket + 1) * width_ < to ? (bucket + 1) * width_ : to;
      slot(bucket) += rate * (end - from);
      from = end;
    }
  }
  /// Lets time pass up to `t`: buckets that have left the window are forgotten. Earlier times change nothing.
  void advance(std::int64_t t) noexcept {
    const auto bucket = floor_div(t);
    if (!begun_) open_ = bucket, begun_ = true;
    if (bucket <= open_) return;
    const auto all = static_cast<std::int64_t>(sums_.size());
    for (auto b = bucket - open_ >= all ? bucket - all + 1 : open_ + 1; b <= bucket; ++b) slot(b) = 0;
    open_ = bucket;
  }
  /// Unit-seconds in the window. O(buckets).
  [[nodiscard]] quota_amount total() const noexcept {
    quota_amount s = 0;
    for (const auto b : sums_) s += b;
    return s;
  }
  /// As a part of what `capacity` units could do in the whole window. \pre capacity > 0
  [[nodiscard]] double fraction(quota_amount capacity) const noexcept {
    return static_cast<double>(total()) /
           (static_cast<double>(capacity) * static_cast<double>(width_) * static_cast<double>(sums_.size()));
  }

 private:
  [[nodiscard]] std::int64_t floor_div(std::int64_t t) const noexcept { return t / width_ - (t % width_ < 0 ? 1 : 0); }
  [[nodiscard]] quota_amount& slot(std::int64_t bucket) noexcept {
    const auto n = static_cast<std::int64_t>(sums_.size());
    return sums_[static_cast<std::size_t>(((bucket % n) + n) % n)];
  }
  std::int64_t width_;
  std::vector<quota_amount> sums_;
  std::int64_t open_ = 0;
  bool begun_ = false;
};

}  // namespace berth
