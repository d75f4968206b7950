#pragma once
/// \file
/// Small linear programs by the simplex method on a dense tableau. Needs Eigen.

#include <Eigen/Core>
#include <cstddef>
#include <vector>

namespace berth::quota_detail {

/// What `maximise` found.
struct linear_answer {
  bool bounded = false;  ///< false: the objective has no largest value, or the steps ran out
  Eigen::VectorXd x;     ///< the best point
  Eigen::VectorXd dual;  ///< one price ≥ 0 per row: b·dual bounds every point's objective, and equals c·x
};

/// Maximises c·x over x ≥ 0 with A x ≤ b. \pre b ≥ 0, so that 0 is feasible and no first phase is needed. The lowest
/// index enters and leaves on ties (Bland's rule), so that it ends. O(rows × (rows + columns)) per step.
[[nodiscard]] inline linear_answer maximise(const Eigen::MatrixXd& a, const Eigen::VectorXd& b,
                                            const Eigen::VectorXd& c) {
  constexpr double tiny = 1e-11;
  const Eigen::Index m = a.rows(), n = a.cols();
  Eigen::MatrixXd t = Eigen::MatrixXd::Zero(m + 1, n + m + 1);
  t.topLeftCorner(m, n) = a;
  t.block(0, n, m, m).setIdentity();
  t.topRightCorner(m, 1) = b;
  t.bottomLeftCorner(1, n) = -c.transpose();
  std::vector<Eigen::Index> basis(static_cast<std::size_t>(m));
  for (Eigen::Index i = 0; i < m; ++i) basis[static_cast<std::size_t>(i)] = n + i;
  linear_answer out;
  for (Eigen::Index step = 0; step < 200 * (m + n); ++step) {
    Eigen::Index enters = 0;
    while (enters < n + m && t(m, enters) >= -tiny) ++enters;
    if (enters == n + m) {
      out.bounded = true;
      break;
    }
    Eigen::Index leaves = -1;
    for (Eigen::Index i = 0; i < m; ++i) {
      if (t(i, enters) <= tiny) continue;
      if (leaves < 0) {
        leaves = i;
        continue;
      }
      const double mine = t(i, n + m) * t(leaves, enters), best = t(leaves, n + m) * t(i, enters);
      if (mine < best || (mine == best && basis[static_cast<std::size_t>(i)] < basis[static_cast<std::size_t>(leaves)]))
        leaves = i;
    }
    if (leaves < 0) break;
    t.row(leaves) /= t(leaves, enters);
    for (Eigen::Index i = 0; i <= m; ++i)
      if (i != leaves && t(i, enters) != 0) t.row(i) -= t(i, enters) * t.row(leaves);
    basis[static_cast<std::size_t>(leaves)] = enters;
  }
  out.x = Eigen::VectorXd::Zero(n);
  for (Eigen::Index i = 0; i < m; ++i)
    if (const auto k = basis[static_cast<std::size_t>(i)]; k < n) out.x(k) = t(i, n + m);
  out.dual = t.block(m, n, 1, m).transpose();
  return out;
}

}  // namespace berth::quota_detail
