#pragma once
/// \file
/// Bodies of `berth/quota/usage/window.hpp`.

#include "berth/quota/usage/window.hpp"

namespace berth {

BERTH_INLINE void usage_window::run(quota_amount rate, std::int64_t from, std::int64_t to) noexcept {
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

BERTH_INLINE void usage_window::advance(std::int64_t t) noexcept {
  const auto bucket = floor_div(t);
  if (!begun_) open_ = bucket, begun_ = true;
  if (bucket <= open_) return;
  const auto all = static_cast<std::int64_t>(sums_.size());
  for (auto b = bucket - open_ >= all ? bucket - all + 1 : open_ + 1; b <= bucket; ++b) slot(b) = 0;
  open_ = bucket;
}

BERTH_INLINE quota_amount usage_window::total() const noexcept {
  quota_amount s = 0;
  for (const auto b : sums_) s += b;
  return s;
}

BERTH_INLINE double usage_window::fraction(quota_amount capacity) const noexcept {
  return static_cast<double>(total()) /
         (static_cast<double>(capacity) * static_cast<double>(width_) * static_cast<double>(sums_.size()));
}

BERTH_INLINE quota_amount& usage_window::slot(std::int64_t bucket) noexcept {
  const auto n = static_cast<std::int64_t>(sums_.size());
  return sums_[static_cast<std::size_t>(((bucket % n) + n) % n)];
}

BERTH_INLINE usage_window::usage_window(std::int64_t bucket_seconds, std::size_t buckets)
    : width_{bucket_seconds}, sums_(buckets, 0) {}

}  // namespace berth
