#pragma once
/// \file
/// Volcano's two plugins: proportion (by weight) and capacity (by three numbers).

#include <cstddef>
#include <cstdint>
#include <span>

#include "berth/core/separate.hpp"
#include "berth/quota/division.hpp"

namespace berth {

/// What of resource r row i can ever have: the capacity less what the others are guaranteed, up to its capability.
[[nodiscard]] quota_amount volcano_real_capability(const sibling_group& g, Eigen::Index i, Eigen::Index r,
                                                   quota_amount all_guarantees) noexcept;
[[nodiscard]] quota_amount all_guarantees(const sibling_group& g, Eigen::Index r) noexcept;

/// deserved += remaining × weight / Σ weights of the queues not yet met, at most min(real capability, request), at
/// least the guarantee, in all resources at once; a queue is met when its request is covered in every resource, or
/// nothing changed for it; again with what remains, until nothing does or changes. Volcano counts in fractions; here
/// whole units, single ones to the largest remainders. Guarantees can push the sum above the capacity when heavier
/// queues took first: so does Volcano. Source: peer_semantics item 44; volcano-sh/volcano
/// pkg/scheduler/plugins/proportion/. O(rounds × queues × resources).
struct volcano_proportion {
  static constexpr std::string_view name = "volcano-proportion";

  void divide(const sibling_group& g, quota_rows_out share, division_workspace& w) const;

 private:
  static quota_matrix capabilities(const sibling_group& g);
};

/// share = max(guarantee, min(deserved, real capability, request)). Beyond that, up to the real capability, a queue may
/// use what is idle, and gives it back first. O(queues × resources). Source: as above, pkg/scheduler/plugins/capacity/.
struct volcano_capacity {
  static constexpr std::string_view name = "volcano-capacity";

  void divide(const sibling_group& g, quota_rows_out share, division_workspace&) const;
};

/// A queue is over-used, and gets no more, when in some resource that it deserves anything of it has all it deserves.
/// \pre rows of the same resources. Source: peer_semantics item 44.
[[nodiscard]] bool volcano_over_used(std::span<const quota_amount> deserved,
                                     std::span<const quota_amount> allocated) noexcept;

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/division/impl/volcano.hpp"
#endif
