#pragma once
/// \file
/// Bodies of `berth/quota/division/kai.hpp`.

#include <algorithm>

#include "berth/quota/division/guarantees.hpp"
#include "berth/quota/division/kai.hpp"

namespace berth {

BERTH_INLINE void kai_division::divide(const sibling_group& g, quota_rows_out share, division_workspace& w) const {
  for (Eigen::Index r = 0; r < g.resources(); ++r) {
    quota_amount left = g.capacity[static_cast<std::size_t>(r)];
    if (give_deserved)
      for (Eigen::Index i = 0; i < g.size(); ++i) {
        const auto deserved =
            g.guarantee(i, r) == unlimited ? g.capacity[static_cast<std::size_t>(r)] : g.guarantee(i, r);
        share(i, r) = quota_detail::least(deserved, g.need(i, r));
        left -= quota_detail::least(left, share(i, r));
      }
    (void)surplus(g, r, left, share, w);
  }
}

BERTH_INLINE quota_amount kai_division::surplus(const sibling_group& g, Eigen::Index r, quota_amount left,
                                                quota_rows_out share, division_workspace& w) const {
  w.order.resize(static_cast<std::size_t>(g.size()));
  for (std::uint32_t i = 0; i < w.order.size(); ++i) w.order[i] = i;
  std::sort(w.order.begin(), w.order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return g.priority[a] != g.priority[b] ? g.priority[a] > g.priority[b] : a < b;
  });
  for (std::size_t begin = 0, end = 0; begin < w.order.size() && left > 0; begin = end) {
    while (end < w.order.size() && g.priority[w.order[end]] == g.priority[w.order[begin]]) ++end;
    w.rows.assign(w.order.begin() + static_cast<std::ptrdiff_t>(begin),
                  w.order.begin() + static_cast<std::ptrdiff_t>(end));
    left = one_priority(g, r, left, share, w);
  }
  return left;
}

BERTH_INLINE quota_amount kai_division::one_priority(const sibling_group& g, Eigen::Index r, quota_amount left,
                                                     quota_rows_out share, division_workspace& w) const {
  const auto unit = g.unit[static_cast<std::size_t>(r)];
  // The last remainder of every queue, also from an earlier round.
  w.numbers.assign(static_cast<std::size_t>(g.size()), 0);
  for (bool again = true; again && left > 0;) {
    again = false;
    const auto round = left;
    std::size_t n = 0;
    quota_amount total = 0;
    for (const auto i : w.rows)
      if (g.need(i, r) > share(i, r)) {
        total = quota_detail::add(total, g.weight(i, r));
        w.rows[n++] = i;
      } else w.numbers[i] = 0;
    w.rows.resize(n);
    if (total == 0) break;
    double sum = 0;
    w.more_numbers.assign(static_cast<std::size_t>(g.size()), 0);
    if (k != 0)
      for (const auto i : w.rows) {
        const double weight = static_cast<double>(g.weight(i, r)) / static_cast<double>(total);
        w.more_numbers[i] = std::fmax(0.0, weight + k * (weight - g.past_usage(i, r)));
        sum += w.more_numbers[i];
      }
    if (k != 0 && sum == 0) break;
    for (const auto i : w.rows) {
      if (left == 0) break;
      if (g.weight(i, r) == 0) continue;
      const auto wants = g.need(i, r) - share(i, r);
      quota_amount whole = 0;
      double fraction = 0;
      bool less = false, enough = false;
      if (k == 0 && total != unlimited) {
        const auto q = quota_detail::multiply_divide(round, g.weight(i, r), total);
        whole = q.whole;
        fraction = static_cast<double>(q.rest) / static_cast<double>(total);
        enough = wants <= whole;
        less = wants < whole || (wants == whole && q.rest > 0);
      } else {
        const double part =
            k == 0 ? static_cast<double>(g.weight(i, r)) / static_cast<double>(total) : w.more_numbers[i] / sum;
        const double fair = static_cast<double>(round) * part;
        whole = static_cast<quota_amount>(fair);
        fraction = fair - static_cast<double>(whole);
        enough = static_cast<double>(wants) <= fair;
        less = static_cast<double>(wants) < fair;
      }
      quota_amount gets = wants;
      if (enough) {
        w.numbers[i] = 0;
      } else {
        gets = whole - whole % unit;
        const double rest = static_cast<double>(whole % unit) + fraction;
        if (rest > 0) w.numbers[i] = rest;
      }
      gets = quota_detail::least(gets, left);
      share(i, r) += gets;
      left -= gets;
      again = again || less;
    }
  }
  // Single units by largest remainder.
  w.rows.clear();
  for (std::uint32_t i = 0; i < w.numbers.size(); ++i)
    if (w.numbers[i] > 0) w.rows.push_back(i);
  std::sort(w.rows.begin(), w.rows.end(), [&](std::uint32_t a, std::uint32_t b) {
    return w.numbers[a] != w.numbers[b] ? w.numbers[a] > w.numbers[b] : g.older(a, b);
  });
  for (const auto i : w.rows) {
    if (left == 0) break;
    const auto gets = quota_detail::least(unit, left);
    share(i, r) += gets;
    left -= gets;
  }
  return left;
}

}  // namespace berth
