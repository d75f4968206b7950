#pragma once
/// \file
/// Proves at a glance that several task shapes together ask for more than a domain has, where each by itself would fit:
/// the usual reason why a mixed gang does not.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "berth/cluster/cluster.hpp"
#include "berth/core/separate.hpp"
#include "berth/job/gang.hpp"

namespace berth::detail {

/// Sums what sets of groups can use of the nodes of a domain, and compares it with what they need. On a node a set of
/// groups can use no more devices than it may, no more than as many tasks of each as fit alone would, and only
/// multiples of the greatest common divisor of their sizes; likewise CPU and memory. For up to four groups every set is
/// looked at, for more only the whole gang.
class joint_bound {
 public:
  /// \param counts  tasks wanted, by group
  joint_bound(const cluster& c, const gang& g, std::span<const std::uint64_t> counts) noexcept;

  /// Adds what a node offers. O(groups × sets).
  void add(node_id n) noexcept;

  /// Whether some set of groups needs more than all nodes added offer it.
  [[nodiscard]] bool exceeded() const noexcept;

 private:
  static constexpr std::size_t most_groups = 4;
  static constexpr unsigned most_sets = (1U << most_groups) - 1U;
  struct amount {
    std::uint64_t devices = 0, cpu = 0, memory = 0;
  };
  /// Whether set `s` holds group `i`; a single set holds all.
  [[nodiscard]] bool holds(unsigned s, std::size_t i) const noexcept { return sets_ == 1 || ((s + 1U) >> i & 1U) != 0; }
  [[nodiscard]] static std::uint32_t common_divisor(std::uint32_t a, std::uint32_t b) noexcept;
  /// How often `need` fits into `have`.
  [[nodiscard]] static std::uint64_t room(std::int64_t have, std::int64_t need) noexcept {
    return need == 0 ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(have / need);
  }
  [[nodiscard]] static std::uint64_t least(std::uint64_t a, std::uint64_t b) noexcept { return a < b ? a : b; }

  const cluster& cluster_;
  const gang& gang_;
  std::span<const std::uint64_t> counts_;
  unsigned sets_;
  std::uint32_t step_[most_sets] = {};  ///< greatest common divisor of the device counts
  amount have_[most_sets];
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/solver/impl/joint_bound.hpp"
#endif
