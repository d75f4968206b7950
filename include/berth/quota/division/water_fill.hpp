#pragma once
/// \file
/// Weighted water-filling of one resource, exact in whole units.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "berth/quota/division.hpp"

namespace berth {

/// Divides `amount` between the rows of `w.rows` so that share / weight is as equal as whole units allow and nobody
/// gets more than he needs: everybody who needs no more than level × weight gets his need, the others level × weight
/// rounded down to whole units, and single units go to the largest remainders, then the older, then the lower row. Adds
/// to `share[i]`, a column. `need(i)` is what row i still wants, and stays the same meanwhile; rows of weight 0 get
/// nothing.
/// \returns what nobody could take. O(rows × rounds); a round removes all who are satisfied, in practice three to six.
template <class Need>
quota_amount water_fill(const sibling_group& g, Eigen::Index r, quota_amount amount, const quota_amount* weight,
                        Need&& need, quota_amount* share, division_workspace& w) {
  const quota_amount unit = g.unit[static_cast<std::size_t>(r)];
  quota_amount total = 0;
  std::size_t n = 0;
  for (const auto i : w.rows)
    if (weight[i] > 0 && need(i) > 0) {
      total = quota_detail::add(total, weight[i]);
      w.rows[n++] = i;
    }
  w.rows.resize(n);
  if (n == 0 || amount <= 0) return amount;
  // Weights beyond any use (their sum passes 2^62) are halved until they add up; the ratios stay within 2^-50.
  int shift = 0;
  while (total == unlimited) {
    ++shift;
    total = 0;
    for (const auto i : w.rows) total = quota_detail::add(total, quota_detail::most(1, weight[i] >> shift));
  }
  const auto weight_of = [&](std::uint32_t i) {
    return shift == 0 ? weight[i] : quota_detail::most(1, weight[i] >> shift);
  };
  for (bool again = true; again && n > 0;) {
    again = false;
    std::size_t kept = 0;
    double level = static_cast<double>(amount) / static_cast<double>(total);
    for (std::size_t k = 0; k < n; ++k) {
      const auto i = w.rows[k];
      const auto wants = need(i), heavy = weight_of(i);
      // Clear cases by doubles, close ones exactly.
      const double gets = level * static_cast<double>(heavy), asks = static_cast<double>(wants);
      const bool satisfied = asks < gets * (1 - 1e-12) ||
                             (asks <= gets * (1 + 1e-12) && static_cast<quota_detail::wide>(wants) * total <=
                                                                static_cast<quota_detail::wide>(amount) * heavy);
      if (!satisfied) {
        w.rows[kept++] = i;
        continue;
      }
      share[i] += wants;
      amount -= wants;
      total -= heavy;
      again = true;
      level = total > 0 ? static_cast<double>(amount) / static_cast<double>(total) : 0;
    }
    n = kept;
  }
  w.rows.resize(n);
  if (n == 0) return amount;
  w.claims.clear();
  quota_amount left = amount;
  for (const auto i : w.rows) {
    const auto [whole, rest] = quota_detail::multiply_divide(amount, weight_of(i), total);
    const auto beyond = unit == 1 ? 0 : whole % unit;
    const auto gets = whole - beyond;
    share[i] += gets;
    left -= gets;
    w.claims.push_back(
        {unit == 1 ? quota_detail::wide{rest} : static_cast<quota_detail::wide>(beyond) * total + rest, i});
  }
  // `left` is less than a unit for each of them: the first left / unit claims get one, the next what is over.
  const auto before = [&](const division_workspace::claim& a, const division_workspace::claim& b) {
    return a.rest != b.rest ? a.rest > b.rest : g.older(a.row, b.row);
  };
  const auto lucky = std::min(static_cast<std::size_t>((left + unit - 1) / unit), w.claims.size());
  if (unit != 1) std::sort(w.claims.begin(), w.claims.end(), before);
  else if (lucky < w.claims.size())
    std::nth_element(w.claims.begin(), w.claims.begin() + static_cast<std::ptrdiff_t>(lucky), w.claims.end(), before);
  for (std::size_t k = 0; k < w.claims.size() && left > 0; ++k) {
    const auto i = w.claims[k].row;
    quota_amount gets = quota_detail::least(unit, left);
    if (unit != 1) {
      const auto has = quota_detail::multiply_divide(amount, weight_of(i), total).whole;
      gets = quota_detail::least(gets, need(i) - (has - has % unit));
    }
    share[i] += gets;
    left -= gets;
  }
  return left;
}

}  // namespace berth
