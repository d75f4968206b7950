#pragma once
/// \file
/// Small dense linear programs: maximise c·x subject to A x <= b, x >= 0, with b >= 0; and among the best x those with
/// the largest d·x.
///
/// Method      the simplex method on a tableau. The column with the largest gain enters; after some steps without gain
///             Bland's rule, until there is one, so that it ends also where bases are degenerate. A second goal goes on
///             from the best corner over those columns alone that do not take the first goal's value away
///             (reduced cost 0), so that no weights between the goals are needed.
/// Proof       every answer comes with prices y: y >= 0, A^T y >= c, b·y = c·x, which nothing but a best x can have.
/// Cost        O(rows × (rows + columns)) a step; the steps are few for programs of some hundred rows. They could be
///             exponentially many, and with rounded numbers without end, so they end at 200 a row and column.
/// Precision   double; pivots below 1e-9 count as zero.
/// Source      Bland, "New finite pivoting rules for the simplex method", Mathematics of Operations Research 2(2),
/// 1977.

#include <cstddef>
#include <optional>
#include <vector>

#include "berth/core/separate.hpp"

namespace berth {

struct small_lp {
  std::size_t columns = 0;
  std::vector<double> gain;               ///< c, one a column
  std::vector<std::vector<double>> rows;  ///< A
  std::vector<double> limits;             ///< b, one a row, >= 0
  std::vector<double> then{};             ///< d, one a column; empty: there is one goal

  struct solution {
    double value = 0;
    std::vector<double> x;
    std::vector<double> price;       ///< y, one a row: what the value grows by with one more of its limit
    double then_value = 0;           ///< d·x
    std::vector<double> then_price;  ///< of the second goal, while the first keeps its value; may be negative
  };

  /// A best x; empty where the value has no bound, or the steps ran out. \pre sizes agree, no limit is negative
  [[nodiscard]] std::optional<solution> maximise() const;

 private:
  static constexpr double zero = 1e-9;
  static constexpr unsigned patience = 40;

  struct tableau {
    std::size_t count, columns, width;    ///< rows; x, a slack a row, the limit
    std::vector<std::vector<double>> at;  ///< the rows, then the reduced costs of both goals
    std::vector<std::size_t> basis;

    explicit tableau(const small_lp& p);
    [[nodiscard]] double value(std::size_t goal) const noexcept { return at[count + goal][width - 1]; }
    [[nodiscard]] std::vector<double> prices(std::size_t goal) const;
    /// To the best value of a goal; false where it has none. For the second, what costs the first stays out.
    [[nodiscard]] bool climb(std::size_t goal);
    void pivot(std::size_t leaves, std::size_t enters);
  };
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/solver/impl/small_lp.hpp"
#endif
