#pragma once
/// \file
/// Bodies of `berth/solver/mig_plan_search.hpp`.

#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "berth/core/shell_sort.hpp"
#include "berth/solver/mig_plan_search.hpp"

namespace berth::detail {

BERTH_INLINE std::int64_t mig_plan_search::missing(const need& left) const noexcept {
  std::int64_t sum = 0;
  for (unsigned q = 0; q < kinds_of_need; ++q) sum += left[q] > 0 ? left[q] * weight[q] : 0;
  return sum;
}

BERTH_INLINE std::int64_t mig_plan_search::reduced(const mig_gpu_option& o) const noexcept {
  std::int64_t c = o.cost;
  for (unsigned q = 0; q < kinds_of_need; ++q) c -= price[q] * o.net[q];
  return c;
}

BERTH_INLINE bool mig_plan_search::prepare() {
  std::uint32_t useful = 0;
  for (unsigned q = 0; q < kinds_of_need; ++q) wanted[q] = request.need[q];
  for (const auto& n : gpus) subtract(wanted, maker.counted(n));
  for (unsigned q = 0; q < kinds_of_need; ++q)
    if (request.need[q] > 0) useful |= 1U << q;
  if (maker.replaces())  // a drained job's own profile can become needed
    for (const auto& n : gpus) {
      for (const auto& r : n.running)
        if (r.who.drainable) useful |= 1U << geometry.placement[r.placement].profile;
      if (n.whole && n.whole->drainable) useful |= 1U << mig_whole_gpu;
    }
  bool any = false;
  for (const auto w : wanted) any = any || w > 0;
  if (!any) useful = 0;

  std::map<std::vector<std::int64_t>, std::uint32_t> seen;
  std::int64_t dearest = 0, slices = 0;
  for (const auto& n : gpus) {
    const auto [at, fresh] = seen.emplace(described(n), static_cast<std::uint32_t>(kinds.size()));
    if (fresh) {
      kinds.push_back(useful != 0 ? maker.options(n, useful) : std::vector<mig_gpu_option>(1));
      members.push_back(0);
    }
    kind_of.push_back(at->second);
    ++members[at->second];
    std::int64_t most = 0;
    for (const auto& o : kinds[at->second]) most = o.cost > most ? o.cost : most;
    dearest += most;
    slices += 64;
  }
  for (const auto w : wanted) slices += w > 0 ? 8 * w : 0;
  // Where all must be served, one slice left out is dearer than every plan.
  for (const auto& k : kinds)
    for (const auto& o : k) grain = std::gcd(grain, o.cost);
  if (costs.wait_ms) grain = std::gcd(grain, *costs.wait_ms);
  if (grain == 0) grain = 1;
  const std::int64_t unit = costs.wait_ms ? *costs.wait_ms : (dearest / grain + 1) * grain;
  if (slices > 0 && (dearest >= (std::int64_t{1} << 61) / slices || unit >= (std::int64_t{1} << 61) / slices))
    return false;
  for (unsigned q = 0; q < kinds_of_need; ++q)
    if (q == mig_whole_gpu || q < geometry.profiles) weight[q] = unit * maker.slices(q);
  best.assign(gpus.size(), 0);
  upper = missing(wanted);
  return true;
}

BERTH_INLINE std::vector<std::int64_t> mig_plan_search::described(const mig_gpu_now& n) {
  std::vector<std::int64_t> out{static_cast<std::int64_t>(n.mode), static_cast<std::int64_t>(n.idle)};
  if (n.whole) out.insert(out.end(), {n.whole->lost_ms, n.whole->drainable ? 1 : 0});
  std::vector<std::array<std::int64_t, 3>> rows;
  for (const auto& r : n.running) rows.push_back({r.placement, r.who.lost_ms, r.who.drainable ? 1 : 0});
  shell_sort(rows.data(), rows.size(), [](const auto& a, const auto& b) { return a < b; });
  for (const auto& r : rows) out.insert(out.end(), r.begin(), r.end());
  return out;
}

BERTH_INLINE void mig_plan_search::improve(std::vector<std::uint16_t> choice) {
  need left = wanted;
  std::int64_t cost = 0;
  for (std::size_t i = 0; i < choice.size(); ++i) {
    subtract(left, kinds[kind_of[i]][choice[i]].net);
    cost += kinds[kind_of[i]][choice[i]].cost;
  }
  const auto set = [&](std::size_t i, std::size_t o) {
    const auto& k = kinds[kind_of[i]];
    for (unsigned q = 0; q < kinds_of_need; ++q) left[q] += k[choice[i]].net[q] - k[o].net[q];
    cost += k[o].cost - k[choice[i]].cost;
    choice[i] = static_cast<std::uint16_t>(o);
  };
  struct move {
    double rate = 0;
    std::size_t gpu = 0, option = 0;
    std::int64_t all = 0;
  };
  // The choice of one GPU that serves most for its cost (`by_rate`), or leaves the least to pay.
  const auto best_of = [&](std::size_t i, bool by_rate, move& m) {
    const auto& k = kinds[kind_of[i]];
    const std::int64_t now = missing(left);
    work = work > k.size() ? work - k.size() : 0;
    for (std::size_t o = 0; o < k.size(); ++o) {
      need then = left;
      for (unsigned q = 0; q < kinds_of_need; ++q) then[q] += k[choice[i]].net[q] - k[o].net[q];
      const std::int64_t miss = missing(then), by = k[o].cost - k[choice[i]].cost;
      if (!by_rate) {
        if (cost + by + miss < m.all) m = {0, i, o, cost + by + miss};
      } else if (miss + by < now) {
        const double rate = static_cast<double>(now - miss) / static_cast<double>(by > 0 ? by + 1 : 1);
        if (rate > m.rate) m = {rate, i, o, 0};
      }
    }
  };
  while (missing(left) != 0) {  // the best changes of all GPUs at once, as long as they stay good
    std::vector<move> moves;
    for (std::size_t i = 0; i < choice.size(); ++i) {
      move m;
      best_of(i, true, m);
      if (m.rate > 0) moves.push_back(m);
    }
    if (moves.empty()) break;
    shell_sort(moves.data(), moves.size(),
               [](const move& a, const move& b) { return a.rate != b.rate ? a.rate > b.rate : a.gpu < b.gpu; });
    for (const move& m : moves) {
      move again;
      best_of(m.gpu, true, again);
      if (again.rate >= 0.9 * m.rate) set(m.gpu, again.option);
    }
  }
  for (bool better = true; better && work != 0;) {
    better = false;
    for (std::size_t i = 0; i < choice.size(); ++i) {
      move m{0, i, choice[i], cost + missing(left)};
      best_of(i, false, m);
      if (m.option == choice[i]) continue;
      set(i, m.option);
      better = true;
    }
  }
  for (bool better = true; better && work != 0;) {
    better = false;
    for (std::size_t i = 0; i < choice.size() && work != 0; ++i) {
      if (choice[i] == 0) continue;
      const std::int64_t all = cost + missing(left);
      const auto was = choice[i];
      set(i, 0);
      move m{0, i, was, all};
      for (std::size_t j = 0; j < choice.size(); ++j) best_of(j, false, m);
      if (m.all < all) {
        set(m.gpu, m.option);
        better = true;
      } else {
        set(i, was);
      }
    }
  }
  if (cost + missing(left) >= upper) return;
  upper = cost + missing(left);
  best = std::move(choice);
}

BERTH_INLINE void mig_plan_search::cover() {
  work = 20 * budget;
  improve(best);
}

BERTH_INLINE std::vector<std::uint16_t> mig_plan_search::priced(const need& at) {
  price = at;
  std::vector<std::uint16_t> pick(kinds.size(), 0), out;
  for (std::size_t k = 0; k < kinds.size(); ++k)
    for (std::size_t o = 1; o < kinds[k].size(); ++o)
      if (reduced(kinds[k][o]) < reduced(kinds[k][pick[k]])) pick[k] = static_cast<std::uint16_t>(o);
  for (const auto k : kind_of) out.push_back(pick[k]);
  return out;
}

BERTH_INLINE void mig_plan_search::set_prices() {
  std::size_t choices = 1;
  for (const auto& k : kinds) choices += k.size();
  const std::size_t rounds = 30 * budget / choices < 100    ? 100
                             : 30 * budget / choices > 2000 ? 2000
                                                            : 30 * budget / choices;
  need now{}, top{};
  double step = 1;
  unsigned idle = 0;
  bool fresh = false;  // whether the best prices have been tried as a plan
  work = 20 * budget;
  for (std::size_t round = 0; round < rounds && lower < upper && step > 1e-4; ++round) {
    price = now;
    std::int64_t value = 0;
    need slack = wanted;
    for (unsigned q = 0; q < kinds_of_need; ++q) value += now[q] * wanted[q];
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      std::size_t pick = 0;
      std::int64_t least = reduced(kinds[k][0]);
      for (std::size_t o = 1; o < kinds[k].size(); ++o)
        if (const auto c = reduced(kinds[k][o]); c < least) least = c, pick = o;
      value += members[k] * least;
      for (unsigned q = 0; q < kinds_of_need; ++q) slack[q] -= members[k] * kinds[k][pick].net[q];
    }
    if (round == 0 || value > reached) {
      reached = value;
      const std::int64_t rounded = value > 0 ? (value + grain - 1) / grain * grain : 0;
      lower = rounded > lower ? rounded : lower;
      top = now;
      idle = 0;
      fresh = true;
    } else if (++idle == 20) {
      step /= 2;
      idle = 0;
      if (fresh) improve(priced(top));
      fresh = false;
    }
    // Prices grow with slices, so that steps do too. What a price at its limit cannot follow does not count.
    std::array<double, kinds_of_need> way{};
    double square = 0;
    for (unsigned q = 0; q < kinds_of_need; ++q) {
      if (weight[q] == 0 || (slack[q] <= 0 && now[q] == 0) || (slack[q] >= 0 && now[q] == weight[q])) continue;
      const auto size = static_cast<double>(maker.slices(q));
      way[q] = size * size * static_cast<double>(slack[q]);
      square += way[q] * static_cast<double>(slack[q]);
    }
    if (square == 0) break;
    const double by = step * static_cast<double>(upper - value) / square;
    for (unsigned q = 0; q < kinds_of_need; ++q) {
      const double to = static_cast<double>(now[q]) + by * way[q];
      now[q] = to <= 0 ? 0 : to >= static_cast<double>(weight[q]) ? weight[q] : static_cast<std::int64_t>(to);
    }
  }
  price = top;
}

BERTH_INLINE void mig_plan_search::walk() {
  if (lower >= upper) {
    lower = upper;
    return;
  }
  // What a plan that beats the best known may contain.
  std::vector<std::vector<std::uint16_t>> allowed(kinds.size());
  std::vector<std::int64_t> least(kinds.size());
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    least[k] = reduced(kinds[k][0]);
    for (const auto& o : kinds[k]) least[k] = reduced(o) < least[k] ? reduced(o) : least[k];
    for (std::size_t o = 0; o < kinds[k].size(); ++o)
      if (reached + reduced(kinds[k][o]) - least[k] < upper) allowed[k].push_back(static_cast<std::uint16_t>(o));
    if (allowed[k].empty()) {
      lower = upper;  // nothing does
      return;
    }
  }
  std::vector<std::uint32_t> order;  // equal GPUs side by side, so that their states merge
  for (std::size_t k = 0; k < kinds.size(); ++k)
    for (std::size_t i = 0; i < gpus.size(); ++i)
      if (kind_of[i] == k) order.push_back(static_cast<std::uint32_t>(i));
  // What the GPUs yet to come can give at the least cost, and take away at most.
  const std::size_t n = order.size();
  std::vector<std::int64_t> rest(n + 1, 0);
  std::vector<need> loss(n + 1, need{});
  for (std::size_t i = n; i-- > 0;) {
    const auto k = kind_of[order[i]];
    rest[i] = rest[i + 1] + least[k];
    loss[i] = loss[i + 1];
    for (unsigned q = 0; q < kinds_of_need; ++q) {
      std::int64_t worst = 0;
      for (const auto o : allowed[k]) worst = kinds[k][o].net[q] < worst ? kinds[k][o].net[q] : worst;
      loss[i][q] -= worst;
    }
  }
  std::size_t choices = 0;
  for (const auto i : order) choices += allowed[kind_of[i]].size() > 1 ? allowed[kind_of[i]].size() : 0;
  std::size_t width = budget / (choices != 0 ? choices : 1);
  width = width < 16 ? 16 : width;

  std::int64_t dropped = upper;  // the least bound among states that were not followed
  std::vector<std::vector<state>> layers;
  std::vector<candidate> now(1);
  now[0].left = wanted;
  for (std::size_t i = 0; i < n; ++i) {
    const auto k = kind_of[order[i]];
    std::map<need, state> next;
    for (std::size_t s = 0; s < now.size(); ++s)
      for (const auto o : allowed[k]) {
        const mig_gpu_option& x = kinds[k][o];
        need left = now[s].left;
        subtract(left, x.net);
        for (unsigned q = 0; q < kinds_of_need; ++q)
          if (left[q] < -loss[i + 1][q]) left[q] = -loss[i + 1][q];  // more cannot matter
        const state how{now[s].how.cost + x.cost, static_cast<std::uint32_t>(s), o};
        if (bound(how.cost, left, rest[i + 1]) >= upper) continue;
        const auto [at, fresh] = next.emplace(left, how);
        if (!fresh && how.cost < at->second.cost) at->second = how;
      }
    now.clear();
    for (const auto& e : next) now.push_back({bound(e.second.cost, e.first, rest[i + 1]), e.first, e.second});
    if (now.size() > width) {
      shell_sort(now.data(), now.size(), [](const candidate& a, const candidate& b) {
        return a.bound != b.bound ? a.bound < b.bound : a.left < b.left;
      });
      dropped = now[width].bound < dropped ? now[width].bound : dropped;
      now.resize(width);
    }
    layers.emplace_back();
    for (const auto& c : now) layers.back().push_back(c.how);
    if (now.empty()) break;
  }
  std::optional<std::size_t> end;
  for (std::size_t s = 0; s < now.size(); ++s) {
    const std::int64_t all = now[s].how.cost + missing(now[s].left);
    if (all >= upper) continue;
    upper = all;
    end = s;
  }
  if (end) {
    std::size_t s = *end;
    for (std::size_t i = n; i-- > 0;) {
      best[order[i]] = layers[i][s].choice;
      s = layers[i][s].parent;
    }
  }
  lower = dropped < upper ? (dropped > lower ? dropped : lower) : upper;
}

BERTH_INLINE std::int64_t mig_plan_search::bound(std::int64_t cost, const need& left,
                                                 std::int64_t rest) const noexcept {
  std::int64_t b = cost + rest;
  for (unsigned q = 0; q < kinds_of_need; ++q) b += price[q] * left[q];
  return b > cost ? b : cost;
}

BERTH_INLINE mig_plan mig_plan_search::result() const {
  mig_plan out;
  need left = wanted;
  for (int drains = 0; drains < 2; ++drains)
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const mig_gpu_option& o = kinds[kind_of[i]][best[i]];
      if ((o.drained != 0 || o.drains_whole) != (drains == 1)) continue;
      write(out, static_cast<std::uint32_t>(i), o);
      subtract(left, o.net);
    }
  for (const auto& s : out.steps) out.cost += s.cost;
  for (unsigned q = 0; q < kinds_of_need; ++q) out.unserved[q] = left[q] > 0 ? static_cast<std::uint32_t>(left[q]) : 0;
  // Where all must be served, what is missing is no cost; the bound speaks of plans that leave out as little.
  const std::int64_t miss = missing(left);
  out.waiting = costs.wait_ms ? miss : 0;
  out.optimal = lower >= upper;
  const std::int64_t own = lower - (costs.wait_ms ? 0 : miss);
  out.lower_bound = own > 0 ? own : 0;
  return out;
}

BERTH_INLINE void mig_plan_search::write(mig_plan& out, std::uint32_t gpu, const mig_gpu_option& o) const {
  const auto of = [&](mig_step::kind what, unsigned p, std::int64_t cost) {
    return mig_step{what, gpu, static_cast<std::uint8_t>(p), false, 0, cost};
  };
  if (o.drains_whole) {
    auto s = of(mig_step::kind::drain, 0, maker.drain_cost(*gpus[gpu].whole, mig_whole_gpu));
    s.whole = true;
    s.owner = gpus[gpu].whole->owner;
    out.steps.push_back(s);
  }
  for_each_bit(o.drained, [&](unsigned p) {
    for (const auto& r : gpus[gpu].running) {
      if (r.placement != p) continue;
      auto s = of(mig_step::kind::drain, p, maker.drain_cost(r.who, geometry.placement[p].profile));
      s.owner = r.who.owner;
      out.steps.push_back(s);
    }
  });
  for_each_bit(o.destroyed,
               [&](unsigned p) { out.steps.push_back(of(mig_step::kind::destroy, p, maker.destroy_cost(p))); });
  if (o.turns_off) out.steps.push_back(of(mig_step::kind::mig_off, 0, maker.toggle_cost()));
  if (o.turns_on) out.steps.push_back(of(mig_step::kind::mig_on, 0, maker.toggle_cost()));
  for_each_bit(o.made, [&](unsigned p) { out.steps.push_back(of(mig_step::kind::create, p, maker.create_cost(p))); });
}

BERTH_INLINE mig_plan_search::mig_plan_search(const mig_geometry& g, const mig_plan_costs& c,
                                              const std::vector<mig_gpu_now>& now, const mig_plan_request& r,
                                              std::size_t steps)
    : geometry{g}, costs{c}, gpus{now}, request{r}, budget{steps}, maker{g, c, r} {}

}  // namespace berth::detail
