#pragma once
/// \file
/// Dominant resource fairness.

#include <cstddef>
#include <cstdint>

#include "berth/core/separate.hpp"
#include "berth/quota/division.hpp"

namespace berth {

/// Weighted dominant resource fairness by progressive filling: every queue gets its resources in the proportions of its
/// need, and the dominant shares max_r(x_ir / C_r) divided by weight rise together, until a queue has what it needs or
/// a resource that it needs runs out; the others go on. Guarantees do not matter. Weights are those of the first
/// resource. Amounts are rounded to whole units, down first and then up by largest remainders while there is room. A
/// queue that needs a resource of which there is none gets nothing. Source: Ghodsi et al., "Dominant Resource
/// Fairness", NSDI 2011; for queues that stop on bounded demand, Parkes, Procaccia, Shah, "Beyond Dominant Resource
/// Fairness", EC 2012. O(n log n + n m^2).
struct dominant_resource_fairness {
  static constexpr std::string_view name = "drf";

  void divide(const sibling_group& g, quota_rows_out share, division_workspace& w) const;

  /// Leaves in `w.numbers` which part of its need every row gets, in [0, 1].
  void fractions(const sibling_group& g, division_workspace& w) const;

 private:
  // Whether anybody from `next` on, who still goes on, needs the resource.
  static bool asked(const sibling_group& g, const division_workspace& w, const double* dominant, std::size_t next,
                    std::size_t r);
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/division/impl/drf.hpp"
#endif
