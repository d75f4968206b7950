#pragma once
/// \file
/// Bodies of `berth/quota/division/hierarchical_drf.hpp`.

#include <algorithm>
#include <limits>

#include "berth/quota/division/hierarchical_drf.hpp"

namespace berth {

BERTH_INLINE std::vector<std::int64_t> hierarchical_drf::divide_tree(std::span<const hdrf_node> nodes,
                                                                     std::span<const quota_amount> capacity) {
  const std::size_t n = nodes.size(), m = capacity.size();
  std::vector<std::int64_t> given(n, 0);
  if (n == 0) return given;
  std::vector<double> share(n, 0), key(n, 0), vector(n * m, 0);
  std::vector<std::uint8_t> blocked(n, 0);
  std::vector<quota_amount> left(capacity.begin(), capacity.end()), largest(m, 0);
  std::vector<std::vector<std::uint32_t>> children(n);
  for (std::uint32_t i = 1; i < n; ++i) children[nodes[i].parent].push_back(i);
  std::vector<std::uint8_t> inner(n, 0);
  for (std::size_t i = 0; i < n; ++i) inner[i] = children[i].empty() ? 0 : 1;

  const auto fits = [&](std::size_t i) {
    bool any = false;
    for (std::size_t r = 0; r < m; ++r) {
      if (nodes[i].task[r] > left[r]) return false;
      any = any || nodes[i].task[r] > 0;
    }
    return any && given[i] < nodes[i].tasks;
  };
  const auto refresh = [&](std::size_t i) {  // share and vector of one node from below
    double* v = &vector[i * m];
    if (inner[i] == 0) {
      for (std::size_t r = 0; r < m; ++r)
        v[r] = capacity[r] > 0 && !nodes[i].task.empty()
                   ? static_cast<double>(given[i]) * static_cast<double>(nodes[i].task[r]) /
                         static_cast<double>(capacity[r])
                   : 0;
    } else {
      double smallest = std::numeric_limits<double>::infinity();
      for (const auto c : children[i])
        if (!blocked[c] && share[c] > 0) smallest = std::min(smallest, share[c] / weight(nodes[c]));
      std::fill(v, v + m, 0.0);
      for (const auto c : children[i]) {
        double scale = 1;
        if (!blocked[c] && share[c] > 0) scale = smallest * weight(nodes[c]) / share[c];
        for (std::size_t r = 0; r < m; ++r) v[r] += scale * vector[c * m + r];
      }
    }
    share[i] = 0;
    for (std::size_t r = 0; r < m; ++r) share[i] = std::max(share[i], v[r]);
    key[i] = share[i] / weight(nodes[i]);
  };
  // The node and all above it; nobody asks for the root's share.
  const auto refresh_path = [&](std::size_t i) {
    for (; i != 0; i = nodes[i].parent) refresh(i);
  };
  // Blocked nodes stay so, because nothing is taken back. A node whose last open child was this one goes with it.
  std::vector<std::uint32_t> open(n, 0);
  for (std::size_t i = 0; i < n; ++i) open[i] = static_cast<std::uint32_t>(children[i].size());
  const auto block = [&](std::size_t i) {
    if (blocked[i] != 0) return;
    blocked[i] = 1;
    while (i != 0) {
      i = nodes[i].parent;
      if (--open[i] > 0 || blocked[i] != 0) break;
      blocked[i] = 1;
    }
  };
  // Blocks the leaves whose next task does not fit.
  const auto look_through = [&] {
    std::fill(largest.begin(), largest.end(), 0);
    for (std::size_t i = n; i-- > 0;) {
      if (inner[i] != 0 || blocked[i] != 0) continue;
      if (nodes[i].task.size() != m || (nodes[i].weight == 0 && i != 0) || !fits(i)) {
        block(i);
        refresh_path(nodes[i].parent);
        continue;
      }
      for (std::size_t r = 0; r < m; ++r) largest[r] = std::max(largest[r], nodes[i].task[r]);
    }
  };
  for (std::size_t i = n; i-- > 1;)
    if (inner[i] != 0 && nodes[i].weight == 0) block(i);
  look_through();
  while (!blocked[0]) {
    std::size_t at = 0;
    while (inner[at] != 0) {
      std::size_t best = n;
      for (const auto c : children[at])
        if (!blocked[c] && (best == n || key[c] < key[best])) best = c;
      at = best;
    }
    ++given[at];
    bool short_of = false;
    for (std::size_t r = 0; r < m; ++r) {
      left[r] -= nodes[at].task[r];
      short_of = short_of || left[r] < largest[r];
    }
    if (given[at] >= nodes[at].tasks) block(at);
    refresh_path(at);
    if (short_of) look_through();
  }
  return given;
}

BERTH_INLINE void hierarchical_drf::divide(const sibling_group& g, quota_rows_out share, division_workspace& w) const {
  share.setZero();
  const auto n = static_cast<std::size_t>(g.size());
  w.amounts.assign(g.capacity.begin(), g.capacity.end());  // what is left, then per row: steps, and how many it took
  w.amounts.resize(w.amounts.size() + 2 * n, 0);
  w.numbers.assign(n, 0);  // dominant share per step and weight
  w.turns.clear();
  const filling f{g, share, w, finest};
  for (std::uint32_t i = 0; i < n; ++i)
    if (f.prepare(i)) w.turns.push_back({0, i});
  const auto later = [&](const division_workspace::turn& a, const division_workspace::turn& b) {
    return a.key != b.key ? a.key > b.key : g.older(b.row, a.row);
  };
  // Many steps at once, then one by one through the end of a resource, and again for those who do not need it.
  const auto patience = static_cast<quota_amount>(4 * n + 64);
  quota_amount wait = patience;
  for (quota_amount soon = 0; !w.turns.empty(); --soon) {
    if (soon == 0) {
      const auto took = f.many_steps();
      wait = took > wait ? patience : quota_detail::least(2 * wait, max_quota / 4);
      soon = wait;
      std::make_heap(w.turns.begin(), w.turns.end(), later);
      if (w.turns.empty()) break;
    }
    std::pop_heap(w.turns.begin(), w.turns.end(), later);
    auto& t = w.turns.back();
    if (!f.step(t.row)) {
      w.turns.pop_back();
      continue;
    }
    t.key = f.key(t.row);
    std::push_heap(w.turns.begin(), w.turns.end(), later);
  }
}

BERTH_INLINE quota_amount hierarchical_drf::filling::after(std::size_t i, std::size_t r, quota_amount k) const {
  const auto all = need(i, r), unit = g.unit[r];
  if (k == steps(i)) return all;
  return quota_detail::multiply_divide(all / unit, k, steps(i)).whole * unit;
}

BERTH_INLINE bool hierarchical_drf::filling::prepare(std::size_t i) const {
  double dominant = 0;
  quota_amount most = 0;
  for (std::size_t r = 0; r < resources(); ++r) {
    const auto all = need(i, r);
    if (all == 0) continue;
    if (g.capacity[r] <= 0) return false;
    most = quota_detail::most(most, quota_detail::most(1, all / g.unit[r]));
    dominant = std::max(dominant, static_cast<double>(all) / static_cast<double>(g.capacity[r]));
  }
  if (most == 0 || g.weight(static_cast<Eigen::Index>(i), 0) == 0) return false;
  steps(i) = quota_detail::least(most, finest);
  w.numbers[i] =
      dominant / static_cast<double>(steps(i)) / static_cast<double>(g.weight(static_cast<Eigen::Index>(i), 0));
  return true;
}

BERTH_INLINE bool hierarchical_drf::filling::fits(std::size_t i) const {
  if (taken(i) == steps(i)) return false;
  for (std::size_t r = 0; r < resources(); ++r)
    if (after(i, r, taken(i) + 1) - has(i, r) > left(r)) return false;
  return true;
}

BERTH_INLINE bool hierarchical_drf::filling::step(std::size_t i) const {
  if (!fits(i)) return false;
  go_to(i, taken(i) + 1);
  return true;
}

BERTH_INLINE void hierarchical_drf::filling::go_to(std::size_t i, quota_amount k) const {
  for (std::size_t r = 0; r < resources(); ++r) {
    const auto now = after(i, r, k);
    left(r) -= now - has(i, r);
    has(i, r) = now;
  }
  taken(i) = k;
}

BERTH_INLINE quota_amount hierarchical_drf::filling::many_steps() const {
  const auto m = resources();
  auto& turns = w.turns;
  turns.erase(std::remove_if(turns.begin(), turns.end(), [&](const auto& t) { return !fits(t.row); }), turns.end());
  if (turns.empty()) return 0;
  // Usage in fractions is concave from the highest level reached on: going by its slope never passes the end.
  double level = 0, coarsest = 0;
  for (const auto& t : turns) level = std::max(level, key(t.row)), coarsest = std::max(coarsest, w.numbers[t.row]);
  for (int round = 0; round < 40; ++round) {
    w.more_numbers.assign(2 * m, 0);
    double* const used = w.more_numbers.data();
    double* const slope = used + m;
    for (const auto& t : turns) {
      const double full = static_cast<double>(steps(t.row)) * w.numbers[t.row];
      const double part = (std::min(full, level) - key(t.row)) / full, speed = level < full ? 1 / full : 0;
      for (std::size_t r = 0; r < m; ++r) {
        const auto all = static_cast<double>(need(t.row, r));
        used[r] += all * part;
        slope[r] += all * speed;
      }
    }
    double rise = std::numeric_limits<double>::infinity();
    for (std::size_t r = 0; r < m; ++r)
      if (slope[r] > 0) rise = std::min(rise, (static_cast<double>(left(r)) - used[r]) / slope[r]);
    level += rise;
    if (!(rise > 1e-9 * level) || rise == std::numeric_limits<double>::infinity()) break;
  }
  // Everybody takes the steps that begin below the level, hence ends at most one step above it.
  level = (level - coarsest) * (1 - 1e-12);
  const auto reaches = [&](std::size_t i) {
    const double rate = w.numbers[i];
    if (!(level < static_cast<double>(steps(i)) * rate)) return steps(i);
    auto k = static_cast<quota_amount>(std::max(0.0, level / rate));
    while (k > 0 && static_cast<double>(k - 1) * rate >= level) --k;
    while (static_cast<double>(k) * rate < level) ++k;
    return quota_detail::most(k, taken(i));
  };
  for (std::size_t r = 0; r < m; ++r) {
    quota_detail::wide sum = 0;
    for (const auto& t : turns) sum += after(t.row, r, reaches(t.row)) - has(t.row, r);
    if (sum > left(r)) return 0;
  }
  quota_amount took = 0;
  for (auto& t : turns) {
    const auto k = reaches(t.row);
    took += k - taken(t.row);
    go_to(t.row, k);
    t.key = key(t.row);
  }
  return took;
}

}  // namespace berth
