#pragma once
/// \file
/// Small dense linear programs: maximise c·x subject to A x <= b, x >= 0, with b >= 0.
///
/// Method      the simplex method on a tableau, Bland's rule, so that it ends also where bases are degenerate.
/// Cost        O(rows × (rows + columns)) a step; the steps are few for programs of some hundred rows, exponential at
/// worst. Precision   double; pivots below 1e-9 count as zero. Source      Bland, "New finite pivoting rules for the
/// simplex method", Mathematics of Operations Research 2(2), 1977.

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

  struct solution {
    double value = 0;
    std::vector<double> x;
  };

  /// A best x; empty where the value has no bound. \pre sizes agree, no limit is negative
  [[nodiscard]] std::optional<solution> maximise() const {
    constexpr double zero = 1e-9;
    assert(gain.size() == columns && rows.size() == limits.size());
    const std::size_t width = columns + rows.size() + 1;  // x, a slack a row, the limit
    std::vector<std::vector<double>> table(rows.size() + 1, std::vector<double>(width, 0));
    std::vector<std::size_t> basis(rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      assert(rows[r].size() == columns && limits[r] >= 0);
      for (std::size_t c = 0; c < columns; ++c) table[r][c] = rows[r][c];
      table[r][columns + r] = 1;
      table[r][width - 1] = limits[r];
      basis[r] = columns + r;
    }
    auto& top = table.back();
    for (std::size_t c = 0; c < columns; ++c) top[c] = -gain[c];
    for (;;) {
      std::size_t enters = 0;
      while (enters + 1 < width && top[enters] > -zero) ++enters;
      if (enters + 1 == width) break;
      std::size_t leaves = rows.size();
      double least = 0;
      for (std::size_t r = 0; r < rows.size(); ++r) {
        if (table[r][enters] <= zero) continue;
        const double ratio = table[r][width - 1] / table[r][enters];
        if (leaves == rows.size() || ratio < least - 1e-12 || (ratio <= least && basis[r] < basis[leaves]))
          leaves = r, least = ratio;
      }
      if (leaves == rows.size()) return std::nullopt;
      const double pivot = table[leaves][enters];
      for (auto& v : table[leaves]) v /= pivot;
      for (std::size_t r = 0; r < table.size(); ++r) {
        const double factor = r == leaves ? 0 : table[r][enters];
        if (factor == 0) continue;
        for (std::size_t c = 0; c < width; ++c) table[r][c] -= factor * table[leaves][c];
      }
      basis[leaves] = enters;
    }
    solution out{top[width - 1], std::vector<double>(columns, 0)};
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (basis[r] < columns) out.x[basis[r]] = table[r][width - 1];
    return out;
  }
};

}  // namespace berth
