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

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/core/shell_sort.hpp"

namespace berth {

class type_turns {
 public:
  /// \param types  number of GPU types
  explicit type_turns(std::size_t types);

  /// A job comes, with its GPUs and its shares. \returns its number, the lowest that is unused.
  /// \pre one share a type, none negative; devices > 0
  std::uint32_t add(std::uint32_t devices, std::span<const double> shares);
  /// New shares, as jobs come and go; what was received still counts. \pre m is there
  void set_shares(std::uint32_t m, std::span<const double> shares) noexcept;
  /// It is gone.
  void remove(std::uint32_t m) noexcept { jobs_[m] = {}; }
  /// Forgets what was received so far, as Gavel does when shares change.
  void start_again() noexcept;
  /// So much time has passed for all jobs. Whoever ran in it is booked by `ran`.
  void pass(double seconds) noexcept {
    for (auto& j : jobs_) j.seconds += j.devices != 0 ? seconds : 0;
  }
  void ran(std::uint32_t m, std::size_t type, double seconds) noexcept { ran_[m * types_ + type] += seconds; }

  /// Part of its time that it ran on the type; 0 before any time passed.
  [[nodiscard]] double received(std::uint32_t m, std::size_t type) const noexcept {
    return jobs_[m].seconds > 0 ? ran_[m * types_ + type] / jobs_[m].seconds : 0;
  }
  [[nodiscard]] double priority(std::uint32_t m, std::size_t type) const noexcept;
  /// Seconds that it is behind its share of a type; negative when ahead.
  [[nodiscard]] double deficit(std::uint32_t m, std::size_t type) const noexcept {
    return share_[m * types_ + type] * jobs_[m].seconds - ran_[m * types_ + type];
  }
  /// The type that the job should get now, of those with `free` GPUs for it; empty: none of its types has room.
  /// O(types).
  [[nodiscard]] std::optional<std::size_t> type_for(std::uint32_t m,
                                                    std::span<const std::uint32_t> free) const noexcept;
  /// One round: every job's type, by number, empty for those that wait. Books it as time that passed.
  /// About O(n^1.3) for n = jobs × types.
  [[nodiscard]] std::vector<std::optional<std::size_t>> round(std::span<const std::uint32_t> devices, double seconds);

 private:
  struct job {
    std::uint32_t devices = 0;  // 0: not there
    double seconds = 0;         // since it came
  };
  struct turn {
    std::uint32_t job = 0, type = 0;
  };
  [[nodiscard]] bool before(std::uint32_t a, std::size_t x, std::uint32_t b, std::size_t y) const noexcept;
  std::size_t types_;
  std::vector<job> jobs_;
  std::vector<double> share_, ran_;  // by job and type
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/solver/impl/type_turns.hpp"
#endif
