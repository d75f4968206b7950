#pragma once
/// \file
/// Bodies of `berth/solver/small_lp.hpp`.

#include <cassert>

#include "berth/solver/small_lp.hpp"

namespace berth {

BERTH_INLINE std::optional<small_lp::solution> small_lp::maximise() const {
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

BERTH_INLINE small_lp::tableau::tableau(const small_lp& p)
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

BERTH_INLINE std::vector<double> small_lp::tableau::prices(std::size_t goal) const {
  const auto& top = at[count + goal];
  return {top.begin() + static_cast<std::ptrdiff_t>(columns), top.end() - 1};
}

BERTH_INLINE bool small_lp::tableau::climb(std::size_t goal) {
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

BERTH_INLINE void small_lp::tableau::pivot(std::size_t leaves, std::size_t enters) {
  const double by = at[leaves][enters];
  for (auto& v : at[leaves]) v /= by;
  for (std::size_t r = 0; r < at.size(); ++r) {
    const double factor = r == leaves ? 0 : at[r][enters];
    if (factor == 0) continue;
    for (std::size_t c = 0; c < width; ++c) at[r][c] -= factor * at[leaves][c];
  }
  basis[leaves] = enters;
}

}  // namespace berth
