#pragma once
/// \file
/// Bodies of `berth/quota/division/drf.hpp`.

#include <algorithm>
#include <cmath>

#include "berth/quota/division/drf.hpp"
#include "berth/quota/division/guarantees.hpp"

namespace berth {

BERTH_INLINE void dominant_resource_fairness::divide(const sibling_group& g, quota_rows_out share,
                                                     division_workspace& w) const {
  fractions(g, w);
  for (Eigen::Index r = 0; r < g.resources(); ++r) {
    const auto unit = g.unit[static_cast<std::size_t>(r)];
    quota_detail::wide left = g.capacity[static_cast<std::size_t>(r)];
    w.claims.clear();
    for (Eigen::Index i = 0; i < g.size(); ++i) {
      const auto need = g.need(i, r);
      const double exact =
          w.numbers[static_cast<std::size_t>(i)] * static_cast<double>(need) / static_cast<double>(unit);
      // What is a whole number but for rounding stays one.
      const auto units = static_cast<quota_amount>(exact * (1 + 4e-16) + 1e-9);
      share(i, r) = quota_detail::least(quota_detail::multiply(units, unit), need);
      left -= share(i, r);
      const double rest = exact - static_cast<double>(units);
      if (rest > 1e-9 && share(i, r) < need)
        // Rounded, so that equal remainders are equal whatever order the sums above were made in.
        w.claims.push_back({std::llround(rest * 0x1p30), static_cast<std::uint32_t>(i)});
    }
    std::sort(w.claims.begin(), w.claims.end(),
              [&](const auto& a, const auto& b) { return a.rest != b.rest ? a.rest > b.rest : g.older(a.row, b.row); });
    for (const auto& c : w.claims) {
      const auto gets = quota_detail::least(unit, g.need(c.row, r) - share(c.row, r));
      if (gets > left) break;
      share(c.row, r) += gets;
      left -= gets;
    }
    // Doubles may have given a unit too many: the last rows return it.
    for (Eigen::Index i = g.size(); i-- > 0 && left < 0;) {
      const auto back = quota_detail::least(share(i, r), unit);
      share(i, r) -= back;
      left += back;
    }
  }
}

BERTH_INLINE void dominant_resource_fairness::fractions(const sibling_group& g, division_workspace& w) const {
  const auto n = static_cast<std::size_t>(g.size());
  const auto m = static_cast<std::size_t>(g.resources());
  w.numbers.assign(n, 0);               // part of the need
  w.more_numbers.assign(n + 2 * m, 0);  // per row: dominant need / weight; per resource: used, slope
  double* const dominant = w.more_numbers.data();
  double* const used = dominant + n;
  double* const slope = used + m;
  w.order.clear();
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    double d = 0;
    bool possible = true, wants = false;
    for (std::size_t r = 0; r < m; ++r) {
      const auto need = g.need(row, static_cast<Eigen::Index>(r));
      if (need == 0) continue;
      wants = true;
      if (g.capacity[r] <= 0) possible = false;
      else d = std::fmax(d, static_cast<double>(need) / static_cast<double>(g.capacity[r]));
    }
    const auto weight = static_cast<double>(m == 0 ? 0 : g.weight(row, 0));
    if (!possible || !wants || weight == 0) continue;
    dominant[i] = d / weight;
    w.order.push_back(static_cast<std::uint32_t>(i));
    for (std::size_t r = 0; r < m; ++r)
      slope[r] += static_cast<double>(g.need(row, static_cast<Eigen::Index>(r))) / dominant[i];
  }
  // Who needs least of its dominant resource for its weight is satisfied first.
  std::sort(w.order.begin(), w.order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return dominant[a] != dominant[b] ? dominant[a] < dominant[b] : a < b;
  });
  double level = 0;
  std::size_t next = 0;
  const auto leaves = [&](std::size_t i, double part) {
    w.numbers[i] = part;
    for (std::size_t r = 0; r < m; ++r)
      slope[r] -= static_cast<double>(g.need(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(r))) / dominant[i];
    dominant[i] = 0;
  };
  for (;;) {
    while (next < w.order.size() && dominant[w.order[next]] == 0) ++next;
    if (next == w.order.size()) break;
    const double satisfied = dominant[w.order[next]];
    double end = satisfied;
    std::size_t full = m;
    for (std::size_t r = 0; r < m; ++r) {
      if (!asked(g, w, dominant, next, r)) continue;
      const double room = std::fmax(0.0, static_cast<double>(g.capacity[r]) - used[r]);
      if (const double at = level + room / slope[r]; at < end) end = at, full = r;
    }
    for (std::size_t r = 0; r < m; ++r) used[r] += std::fmax(0.0, slope[r]) * (end - level);
    level = end;
    if (full == m) {
      leaves(w.order[next], 1);
      continue;
    }
    for (const auto i : w.order)
      if (dominant[i] != 0 && g.need(i, static_cast<Eigen::Index>(full)) > 0) leaves(i, level / dominant[i]);
  }
}

BERTH_INLINE bool dominant_resource_fairness::asked(const sibling_group& g, const division_workspace& w,
                                                    const double* dominant, std::size_t next, std::size_t r) {
  for (std::size_t k = next; k < w.order.size(); ++k)
    if (dominant[w.order[k]] != 0 && g.need(w.order[k], static_cast<Eigen::Index>(r)) > 0) return true;
  return false;
}

}  // namespace berth
