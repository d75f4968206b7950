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

#include <cassert>
#include <cstddef>
#include <optional>
#include <vector>

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
  [[nodiscard]] std::optional<solution> maximise() const {
    assert(gain.size() == columns && rows.size() == limits.size() && (then.empty() || then.size() == columns));
    tableau t{*this};
    if (!t.climb(0)) return std::nullopt;
    if (!then.empty() && !t.climb(1)) return std::nullopt;
    solution out{t.value(0), std::vector<double>(columns, 0), t.prices(0), 0, {}};
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (t.basis[r] < columns) out.x[t.basis[r]] = t.at[r][t.width - 1];
    if (!then.empty()) {
      out.then_value = t.value(1);
      out.then_price = t.prices(1);
    }
    return out;
  }

 private:
  static constexpr double zero = 1e-9;
  static constexpr unsigned patience = 40;

  struct tableau {
    std::size_t count, columns, width;    ///< rows; x, a slack a row, the limit
    std::vector<std::vector<double>> at;  ///< the rows, then the reduced costs of both goals
    std::vector<std::size_t> basis;

    explicit tableau(const small_lp& p)
        : count{p.rows.size()},
          columns{p.columns},
          width{columns + count + 1},
          at(count + 2, std::vector<double>(width, 0)),
          basis(count) {
      for (std::size_t r = 0; r < count; ++r) {
        assert(p.rows[r].size() == columns && p.limits[r] >= 0);
        for (std::size_t c = 0; c < columns; ++c) at[r][c] = p.rows[r][c];
        at[r][columns + r] = 1;
        at[r][width - 1] = p.limits[r];
        basis[r] = columns + r;
      }
      for (std::size_t c = 0; c < columns; ++c) {
        at[count][c] = -p.gain[c];
        if (!p.then.empty()) at[count + 1][c] = -p.then[c];
      }
    }
    [[nodiscard]] double value(std::size_t goal) const noexcept { return at[count + goal][width - 1]; }
    [[nodiscard]] std::vector<double> prices(std::size_t goal) const {
      const auto& top = at[count + goal];
      return {top.begin() + static_cast<std::ptrdiff_t>(columns), top.end() - 1};
    }
    /// To the best value of a goal; false where it has none. For the second, what costs the first stays out.
    [[nodiscard]] bool climb(std::size_t goal) {
      const auto may_enter = [&](std::size_t c) {
        return at[count + goal][c] < -zero && (goal == 0 || at[count][c] <= zero);
      };
      unsigned stalls = 0;  // steps without gain, one after the other
      for (std::size_t step = 0; step < 200 * width; ++step) {
        std::size_t enters = 0;
        while (enters + 1 < width && !may_enter(enters)) ++enters;
        if (enters + 1 == width) return true;
        if (stalls < patience)
          for (std::size_t c = enters + 1; c + 1 < width; ++c)
            if (may_enter(c) && at[count + goal][c] < at[count + goal][enters]) enters = c;
        std::size_t leaves = count;
        double least = 0;
        for (std::size_t r = 0; r < count; ++r) {
          if (at[r][enters] <= zero) continue;
          const double ratio = at[r][width - 1] / at[r][enters];
          if (leaves == count || ratio < least - 1e-12 || (ratio <= least && basis[r] < basis[leaves]))
            leaves = r, least = ratio;
        }
        if (leaves == count) return false;
        stalls = least > zero ? 0 : stalls + 1;
        pivot(leaves, enters);
      }
      return false;
    }
    void pivot(std::size_t leaves, std::size_t enters) {
      const double by = at[leaves][enters];
      for (auto& v : at[leaves]) v /= by;
      for (std::size_t r = 0; r < at.size(); ++r) {
        const double factor = r == leaves ? 0 : at[r][enters];
        if (factor == 0) continue;
        for (std::size_t c = 0; c < width; ++c) at[r][c] -= factor * at[leaves][c];
      }
      basis[leaves] = enters;
    }
  };
};

}  // namespace berth
