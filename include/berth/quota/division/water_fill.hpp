#pragma once
/// \file
/// Weighted water-filling of one resource, exact in whole units.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "berth/quota/division.hpp"

namespace berth {

/// Divides `amount` between all rows of `w.rows` in proportion to their weights, whose sum is `total`: rounded down,
/// then single units to the largest remainders. \returns 0. O(rows).
template <class Weight>
quota_amount hand_out(const sibling_group& g, quota_amount amount, quota_amount total, Weight&& weight_of,
                      quota_amount* share, division_workspace& w) {
  w.small_claims.clear();
  quota_amount left = amount;
  const double each = static_cast<double>(amount) / static_cast<double>(total);
  for (const auto i : w.rows) {
    const auto weight = weight_of(i);
    quota_detail::quotient q;
    if (amount < (quota_amount{1} << 48)) {
      // As in `multiply_divide`, with one division for all.
      q.whole = static_cast<quota_amount>(each * static_cast<double>(weight));
      q.rest = static_cast<quota_amount>(static_cast<std::uint64_t>(amount) * static_cast<std::uint64_t>(weight) -
                                         static_cast<std::uint64_t>(q.whole) * static_cast<std::uint64_t>(total));
      if (q.rest < 0) --q.whole, q.rest += total;
      else if (q.rest >= total) ++q.whole, q.rest -= total;
    } else {
      q = quota_detail::multiply_divide(amount, weight, total);
    }
    share[i] += q.whole;
    left -= q.whole;
    w.small_claims.push_back({q.rest, i});
  }
  const auto lucky = static_cast<std::ptrdiff_t>(left);  // less than one for each
  std::nth_element(
      w.small_claims.begin(), w.small_claims.begin() + lucky, w.small_claims.end(),
      [&](const auto& a, const auto& b) { return a.rest != b.rest ? a.rest > b.rest : g.older(a.row, b.row); });
  for (std::ptrdiff_t k = 0; k < lucky; ++k) ++share[w.small_claims[static_cast<std::size_t>(k)].row];
  return 0;
}

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
  quota_detail::wide sum = 0;
  std::size_t n = 0;
  for (const auto i : w.rows) {
    w.rows[n] = i;
    const bool takes = weight[i] > 0 && need(i) > 0;
    sum += takes ? weight[i] : 0;
    n += takes ? 1U : 0U;
  }
  quota_amount total = sum > max_quota ? unlimited : static_cast<quota_amount>(sum);
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
  // Everybody who is satisfied at the present level leaves, which can only raise the level for the others. The loop has
  // no branch that depends on the numbers but for ties: half of the rows go one way and half the other.
  for (bool again = true; again && n > 0;) {
    std::size_t kept = 0;
    const double level = static_cast<double>(amount) / static_cast<double>(total);
    const quota_amount amount_now = amount, total_now = total;
    for (std::size_t k = 0; k < n; ++k) {
      const auto i = w.rows[k];
      const quota_amount wants = need(i), heavy = weight_of(i);
      // Clear cases by doubles, close ones exactly.
      const double gets = level * static_cast<double>(heavy), asks = static_cast<double>(wants);
      bool satisfied = asks <= gets;
      const double off = asks - gets, close = gets * 1e-12;
      if (off <= close && -off <= close)
        satisfied =
            static_cast<quota_detail::wide>(wants) * total_now <= static_cast<quota_detail::wide>(amount_now) * heavy;
      const quota_amount mask = -static_cast<quota_amount>(satisfied);
      w.rows[kept] = i;
      kept += satisfied ? 0U : 1U;
      share[i] += wants & mask;
      amount -= wants & mask;
      total -= heavy & mask;
    }
    again = kept < n;
    n = kept;
  }
  w.rows.resize(n);
  if (n == 0) return amount;
  if (unit == 1) return hand_out(g, amount, total, weight_of, share, w);
  w.claims.clear();
  quota_amount left = amount;
  for (const auto i : w.rows) {
    const auto [whole, rest] = quota_detail::multiply_divide(amount, weight_of(i), total);
    const auto beyond = whole % unit;
    share[i] += whole - beyond;
    left -= whole - beyond;
    w.claims.push_back({static_cast<quota_detail::wide>(beyond) * total + rest, i});
  }
  // `left` is less than a unit for each of them: the first left / unit claims get one, the next what is over.
  std::sort(w.claims.begin(), w.claims.end(),
            [&](const auto& a, const auto& b) { return a.rest != b.rest ? a.rest > b.rest : g.older(a.row, b.row); });
  for (std::size_t k = 0; k < w.claims.size() && left > 0; ++k) {
    const auto i = w.claims[k].row;
    const auto has = quota_detail::multiply_divide(amount, weight_of(i), total).whole;
    const auto gets = quota_detail::least(quota_detail::least(unit, left), need(i) - (has - has % unit));
    share[i] += gets;
    left -= gets;
  }
  return left;
}

}  // namespace berth
