#pragma once
/// \file
/// Which GPU type should a job run on now, so that in the long run it has its shares (`type_shares`)?
///
/// With X(m, j) the share of job m on type j, R(m, j) the seconds that it ran there and A(m) the seconds since it came,
///
///     priority(m, j) = X(m, j) / (R(m, j) / A(m)),
///
/// infinite before the first turn, 0 without a share; a job's next type is the one with the highest priority that has
/// room. Among equal priorities the larger deficit X(m, j) × A(m) - R(m, j) counts, then the larger share, then the
/// lower job and type. `round` hands out turns to all jobs in that order: a job gets one type, or waits.
///
/// Numbers: shares 0.75 on type 0 and 0.25 on type 1, both always free, turns of a minute: 0, 1, 0, 0, 0, 1, 0, 0, …
///
/// Source   Narayanan et al. (Gavel), OSDI 2020, section 5: rounds of some minutes, priority = share / part received.

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "berth/core/shell_sort.hpp"
#include "berth/solver/type_shares.hpp"

namespace berth {

class type_turns {
 public:
  /// \param types  number of GPU types
  explicit type_turns(std::size_t types) : types_{types} {}

  /// A job comes, with its GPUs and its shares. \returns its number, the lowest that is unused.
  /// \pre one share a type, none negative; devices > 0
  std::uint32_t add(std::uint32_t devices, std::span<const double> shares) {
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
  /// New shares, as jobs come and go; what was received still counts. \pre m is there
  void set_shares(std::uint32_t m, std::span<const double> shares) noexcept {
    assert(shares.size() == types_);
    for (std::size_t j = 0; j < types_; ++j) share_[m * types_ + j] = shares[j];
  }
  /// It is gone.
  void remove(std::uint32_t m) noexcept { jobs_[m] = {}; }
  /// Forgets what was received so far, as Gavel does when shares change.
  void start_again() noexcept {
    for (auto& j : jobs_) j.seconds = 0;
    for (double& r : ran_) r = 0;
  }
  /// So much time has passed for all jobs. Whoever ran in it is booked by `ran`.
  void pass(double seconds) noexcept {
    for (auto& j : jobs_) j.seconds += j.devices != 0 ? seconds : 0;
  }
  void ran(std::uint32_t m, std::size_t type, double seconds) noexcept { ran_[m * types_ + type] += seconds; }

  /// Part of its time that it ran on the type; 0 before any time passed.
  [[nodiscard]] double received(std::uint32_t m, std::size_t type) const noexcept {
    return jobs_[m].seconds > 0 ? ran_[m * types_ + type] / jobs_[m].seconds : 0;
  }
  [[nodiscard]] double priority(std::uint32_t m, std::size_t type) const noexcept {
    const double share = share_[m * types_ + type], got = received(m, type);
    if (share <= 0) return 0;
    return got > 0 ? share / got : std::numeric_limits<double>::infinity();
  }
  /// Seconds that it is behind its share of a type; negative when ahead.
  [[nodiscard]] double deficit(std::uint32_t m, std::size_t type) const noexcept {
    return share_[m * types_ + type] * jobs_[m].seconds - ran_[m * types_ + type];
  }
  /// The type that the job should get now, of those with `free` GPUs for it; empty: none of its types has room.
  /// O(types).
  [[nodiscard]] std::optional<std::size_t> type_for(std::uint32_t m,
                                                    std::span<const std::uint32_t> free) const noexcept {
    std::optional<std::size_t> best;
    for (std::size_t j = 0; j < types_; ++j)
      if (share_[m * types_ + j] > 0 && free[j] >= jobs_[m].devices && (!best || before(m, j, m, *best))) best = j;
    return best;
  }
  /// One round: every job's type, by number, empty for those that wait. Books it as time that passed.
  /// About O(n^1.3) for n = jobs × types.
  [[nodiscard]] std::vector<std::optional<std::size_t>> round(std::span<const std::uint32_t> devices, double seconds) {
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

 private:
  struct job {
    std::uint32_t devices = 0;  // 0: not there
    double seconds = 0;         // since it came
  };
  struct turn {
    std::uint32_t job = 0, type = 0;
  };
  [[nodiscard]] bool before(std::uint32_t a, std::size_t x, std::uint32_t b, std::size_t y) const noexcept {
    const double p = priority(a, x), q = priority(b, y);
    if (p != q) return p > q;
    const double d = deficit(a, x), e = deficit(b, y);
    if (d != e) return d > e;
    const double s = share_[a * types_ + x], t = share_[b * types_ + y];
    if (s != t) return s > t;
    return a != b ? a < b : x < y;
  }
  std::size_t types_;
  std::vector<job> jobs_;
  std::vector<double> share_, ran_;  // by job and type
};

}  // namespace berth
