#pragma once
/// \file
/// Bodies of `berth/solver/type_turns.hpp`.

#include <cassert>
#include <limits>

#include "berth/solver/type_shares.hpp"
#include "berth/solver/type_turns.hpp"

namespace berth {

BERTH_INLINE std::uint32_t type_turns::add(std::uint32_t devices, std::span<const double> shares) {
  std::uint32_t m = 0;
  while (m < jobs_.size() && jobs_[m].devices != 0) ++m;
  if (m == jobs_.size()) {
    jobs_.emplace_back();
    share_.resize(jobs_.size() * types_, 0);
    ran_.resize(jobs_.size() * types_, 0);
  }
  jobs_[m] = {devices, 0};
  for (std::size_t j = 0; j < types_; ++j) ran_[m * types_ + j] = 0;
  set_shares(m, shares);
  return m;
}

BERTH_INLINE void type_turns::set_shares(std::uint32_t m, std::span<const double> shares) noexcept {
  assert(shares.size() == types_);
  for (std::size_t j = 0; j < types_; ++j) share_[m * types_ + j] = shares[j];
}

BERTH_INLINE void type_turns::start_again() noexcept {
  for (auto& j : jobs_) j.seconds = 0;
  for (double& r : ran_) r = 0;
}

BERTH_INLINE double type_turns::priority(std::uint32_t m, std::size_t type) const noexcept {
  const double share = share_[m * types_ + type], got = received(m, type);
  if (share <= 0) return 0;
  return got > 0 ? share / got : std::numeric_limits<double>::infinity();
}

BERTH_INLINE std::optional<std::size_t> type_turns::type_for(std::uint32_t m,
                                                             std::span<const std::uint32_t> free) const noexcept {
  std::optional<std::size_t> best;
  for (std::size_t j = 0; j < types_; ++j)
    if (share_[m * types_ + j] > 0 && free[j] >= jobs_[m].devices && (!best || before(m, j, m, *best))) best = j;
  return best;
}

BERTH_INLINE std::vector<std::optional<std::size_t>> type_turns::round(std::span<const std::uint32_t> devices,
                                                                       double seconds) {
  assert(devices.size() == types_);
  std::vector<turn> turns;
  turns.reserve(jobs_.size() * types_);
  for (std::uint32_t m = 0; m < jobs_.size(); ++m)
    for (std::uint32_t j = 0; j < types_; ++j)
      if (jobs_[m].devices != 0 && share_[m * types_ + j] > 0) turns.push_back({m, j});
  detail::shell_sort(turns.data(), turns.size(),
                     [&](const turn& a, const turn& b) { return before(a.job, a.type, b.job, b.type); });
  std::vector<std::optional<std::size_t>> out(jobs_.size());
  std::vector<std::uint32_t> free(devices.begin(), devices.end());
  for (const turn& t : turns) {
    if (out[t.job] || free[t.type] < jobs_[t.job].devices) continue;
    out[t.job] = t.type;
    free[t.type] -= jobs_[t.job].devices;
  }
  pass(seconds);
  for (std::uint32_t m = 0; m < jobs_.size(); ++m)
    if (out[m]) ran(m, *out[m], seconds);
  return out;
}

BERTH_INLINE bool type_turns::before(std::uint32_t a, std::size_t x, std::uint32_t b, std::size_t y) const noexcept {
  const double p = priority(a, x), q = priority(b, y);
  if (p != q) return p > q;
  const double d = deficit(a, x), e = deficit(b, y);
  if (d != e) return d > e;
  const double s = share_[a * types_ + x], t = share_[b * types_ + y];
  if (s != t) return s > t;
  return a != b ? a < b : x < y;
}

BERTH_INLINE type_turns::type_turns(std::size_t types) : types_{types} {}

}  // namespace berth
