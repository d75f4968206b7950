#pragma once
/// \file
/// Dividing capacity between siblings: the matrices (queues × resources) that every share policy works on, and the
/// concept that one satisfies. Needs Eigen.
///
/// Shapes      Row i is sibling i, column r resource r; columns are contiguous. All matrices of a group have one shape.
/// Units       Amounts as in `amount.hpp`; shares are whole multiples of `unit[r]` but for what a queue asks less.
/// Ties        the older sibling first, then the lower row.

#include <Eigen/Core>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/quota/amount.hpp"

namespace berth {

/// Amounts by queue and resource.
using quota_matrix = Eigen::Matrix<quota_amount, Eigen::Dynamic, Eigen::Dynamic>;
/// Rows of a `quota_matrix`, to read.
using quota_rows = Eigen::Ref<const quota_matrix, 0, Eigen::OuterStride<>>;
/// Rows of a `quota_matrix`, to write.
using quota_rows_out = Eigen::Ref<quota_matrix, 0, Eigen::OuterStride<>>;
/// Rows of fractions.
using fraction_rows = Eigen::Ref<const Eigen::MatrixXd, 0, Eigen::OuterStride<>>;

/// Siblings that share what their parent has. A view: the matrices belong to somebody else.
struct sibling_group {
  quota_rows guarantee;                      ///< deserved (KAI), minimum (Koordinator), subtree quota (Kueue)
  quota_rows deserved;                       ///< Volcano's middle number; the guarantee for everybody else
  quota_rows demand;                         ///< all they want: running and waiting
  quota_rows cap;                            ///< or `unlimited`
  quota_rows weight;                         ///< of one scale within a column
  quota_rows local;                          ///< the part of the guarantee that is never lent
  quota_rows ceiling;                        ///< guarantee and borrowing limit together, or `unlimited`
  fraction_rows past_usage;                  ///< of the capacity, over the policy's window; 0 where nothing is known
  std::span<const std::int32_t> priority;    ///< by row, larger first
  std::span<const std::int64_t> created_at;  ///< by row, seconds
  std::span<const std::uint8_t> lends;       ///< by row: whether unused guarantee is lent at all
  std::span<const quota_amount> capacity;    ///< by resource
  std::span<const quota_amount> unit;        ///< by resource

  [[nodiscard]] Eigen::Index size() const noexcept { return demand.rows(); }
  [[nodiscard]] Eigen::Index resources() const noexcept { return demand.cols(); }
  /// What row i can use of resource r: its demand up to its cap.
  [[nodiscard]] quota_amount need(Eigen::Index i, Eigen::Index r) const noexcept {
    return quota_detail::least(demand(i, r), cap(i, r));
  }
  /// Whether row i goes before row j where all else is equal.
  [[nodiscard]] bool older(std::size_t i, std::size_t j) const noexcept {
    return created_at[i] != created_at[j] ? created_at[i] < created_at[j] : i < j;
  }
};

/// Scratch memory of policies: grows to the largest group it has served, then no division allocates.
struct division_workspace {
  struct claim {
    quota_detail::wide rest = 0;
    std::uint32_t row = 0;
  };
  std::vector<std::uint32_t> rows, order;
  struct small_claim {
    quota_amount rest = 0;
    std::uint32_t row = 0;
  };
  struct turn {
    double key = 0;
    std::uint32_t row = 0;
  };
  std::vector<claim> claims;
  std::vector<small_claim> small_claims;
  std::vector<turn> turns;
  std::vector<double> numbers, more_numbers;
  std::vector<quota_amount> amounts;
};

/// A rule that divides: `divide(group, share, workspace)` fills `share` for every row and resource.
template <class P>
concept division_policy = std::copy_constructible<P> &&
    requires(const P& p, const sibling_group& g, quota_rows_out share, division_workspace& w) {
  { P::name } -> std::convertible_to<std::string_view>;
  { p.divide(g, share, w) } -> std::same_as<void>;
};

/// A group that owns its matrices: for tests, and for callers without a `queue_tree`.
struct division_problem {
  quota_matrix guarantee, deserved, demand, cap, weight, local, ceiling;
  Eigen::MatrixXd past_usage;
  std::vector<std::int32_t> priority;
  std::vector<std::int64_t> created_at;
  std::vector<std::uint8_t> lends;
  std::vector<quota_amount> capacity, unit;

  /// n queues that want, have and may have nothing special: no guarantee, no cap, weight 1000.
  division_problem(Eigen::Index n, Eigen::Index m);
  [[nodiscard]] sibling_group view() const;
  template <division_policy P>
  [[nodiscard]] quota_matrix divided_by(const P& p) const {
    quota_matrix out = quota_matrix::Zero(demand.rows(), demand.cols());
    division_workspace w;
    p.divide(view(), out, w);
    return out;
  }
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/impl/division.hpp"
#endif
