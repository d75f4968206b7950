#pragma once
/// \file
/// Repartition planner: the cheapest steps (create, destroy, drain, switch MIG mode) after which a queue of profiles,
/// or a target mix, fits. Doing nothing is an answer.
///
/// What a plan does on one GPU is one choice out of a list (`mig_plan_options.hpp`); the choices of all GPUs together
/// have to cover the need: a multiple-choice covering program. A greedy cover comes first. Prices of profiles from
/// subgradient steps on the Lagrangian dual (Held and Karp 1971; Fisher 1981) give a lower bound, and rule out choices
/// that no better plan can contain. The rest is a dynamic program over the GPUs, whose states are what is still needed;
/// states that cannot beat the best plan known are dropped, and where more are left than the budget allows, the least
/// promising, whose bound then limits what is claimed.
///
/// Cost     up to `budget` extensions of states: well below a second. Allocates; for planning, not for the hot path.
/// Exact    `optimal` says that the plan is proven the cheapest. A plan is valid whatever the budget.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/core/shell_sort.hpp"
#include "berth/solver/mig_plan.hpp"
#include "berth/solver/mig_plan_options.hpp"

namespace berth {

class mig_planner {
 public:
  static constexpr std::size_t max_gpus = 16384;
  static constexpr std::uint32_t max_need = 10'000;       ///< per profile
  static constexpr std::int64_t max_ms = 10'000'000'000;  ///< of any cost or loss: 115 days

  mig_plan_costs costs;          ///< what steps cost
  std::size_t budget = 400'000;  ///< extensions of states

  explicit mig_planner(const mig_geometry& g, mig_plan_costs c = {}) : costs{c}, g_{g} {}

  /// The cheapest plan found. Refused: GPUs whose instances contradict the geometry or their mode, profiles that the
  /// product does not have or the site does not offer, costs that are negative or beyond `max_ms`.
  [[nodiscard]] expected<mig_plan, input_error> plan(const std::vector<mig_gpu_now>& gpus,
                                                     const mig_plan_request& request) const {
    if (auto bad = fault(gpus, request)) return unexpected{std::move(*bad)};
    search s{g_, costs, gpus, request, budget};
    if (!s.prepare())
      return unexpected{input_error{"MIG plan", 0, "costs and needs whose product is beyond 64 bits",
                                    "smaller costs, or fewer GPUs or instances at once"}};
    s.cover();
    s.set_prices();
    s.walk();
    return s.result();
  }

 private:
  static constexpr unsigned kinds_of_need = max_mig_profiles + 1;
  using net = detail::mig_net;
  using option = detail::mig_gpu_option;
  using need = std::array<std::int64_t, kinds_of_need>;

  struct search {
    search(const mig_geometry& g, const mig_plan_costs& c, const std::vector<mig_gpu_now>& now,
           const mig_plan_request& r, std::size_t steps)
        : geometry{g}, costs{c}, gpus{now}, request{r}, budget{steps}, maker{g, c, r} {}

    const mig_geometry& geometry;
    const mig_plan_costs& costs;
    const std::vector<mig_gpu_now>& gpus;
    const mig_plan_request& request;
    std::size_t budget;
    detail::mig_option_maker maker;

    std::vector<std::vector<option>> kinds;  ///< per kind of GPU: its choices, doing nothing first
    std::vector<std::uint32_t> kind_of;      ///< per GPU
    std::vector<std::int64_t> members;       ///< GPUs per kind
    need wanted{};                           ///< still missing if nothing is done; may be negative: a surplus
    need weight{};                           ///< what one that is left out costs
    std::vector<std::uint16_t> best;         ///< per GPU: the choice of the best plan known
    std::int64_t upper = 0, lower = 0;
    std::int64_t grain = 0;    ///< divides the cost of every plan, so that bounds are rounded up to it
    std::int64_t reached = 0;  ///< the bound that `price` gives
    need price{};

    [[nodiscard]] std::int64_t missing(const need& left) const noexcept {
      std::int64_t sum = 0;
      for (unsigned q = 0; q < kinds_of_need; ++q) sum += left[q] > 0 ? left[q] * weight[q] : 0;
      return sum;
    }
    static void subtract(need& left, const net& n) noexcept {
      for (unsigned q = 0; q < kinds_of_need; ++q) left[q] -= n[q];
    }
    [[nodiscard]] std::int64_t reduced(const option& o) const noexcept {
      std::int64_t c = o.cost;
      for (unsigned q = 0; q < kinds_of_need; ++q) c -= price[q] * o.net[q];
      return c;
    }

    /// What is missing, the choices of every kind of GPU, and what leaving out costs. False: numbers too large.
    bool prepare() {
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
          kinds.push_back(useful != 0 ? maker.options(n, useful) : std::vector<option>(1));
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
    [[nodiscard]] static std::vector<std::int64_t> described(const mig_gpu_now& n) {
      std::vector<std::int64_t> out{static_cast<std::int64_t>(n.mode), static_cast<std::int64_t>(n.idle)};
      if (n.whole) out.insert(out.end(), {n.whole->lost_ms, n.whole->drainable ? 1 : 0});
      std::vector<std::array<std::int64_t, 3>> rows;
      for (const auto& r : n.running) rows.push_back({r.placement, r.who.lost_ms, r.who.drainable ? 1 : 0});
      detail::shell_sort(rows.data(), rows.size(), [](const auto& a, const auto& b) { return a < b; });
      for (const auto& r : rows) out.insert(out.end(), r.begin(), r.end());
      return out;
    }

    /// A first plan: again and again the change of one GPU that serves most for its cost.
    void cover() {
      std::vector<std::vector<std::uint32_t>> idle(kinds.size());
      for (std::size_t i = gpus.size(); i-- > 0;) idle[kind_of[i]].push_back(static_cast<std::uint32_t>(i));
      need left = wanted;
      std::int64_t cost = 0;
      while (true) {
        const std::int64_t now = missing(left);
        if (now == 0) break;
        double most = 0;
        std::size_t kind = 0, pick = 0;
        for (std::size_t k = 0; k < kinds.size(); ++k) {
          if (idle[k].empty()) continue;
          for (std::size_t o = 1; o < kinds[k].size(); ++o) {
            need then = left;
            subtract(then, kinds[k][o].net);
            const std::int64_t gain = now - missing(then);
            if (gain <= kinds[k][o].cost) continue;
            const double rate = static_cast<double>(gain) / static_cast<double>(kinds[k][o].cost + 1);
            if (rate > most) most = rate, kind = k, pick = o;
          }
        }
        if (pick == 0) break;
        best[idle[kind].back()] = static_cast<std::uint16_t>(pick);
        idle[kind].pop_back();
        subtract(left, kinds[kind][pick].net);
        cost += kinds[kind][pick].cost;
      }
      upper = cost + missing(left);
    }

    /// Prices that give the best lower bound found.
    void set_prices() {
      need now{}, top{};
      double step = 1.5;
      unsigned idle = 0;
      for (unsigned round = 0; round < 300 && lower < upper; ++round) {
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
        } else if (++idle % 10 == 0) {
          step /= 2;
        }
        double square = 0;
        for (const auto x : slack) square += static_cast<double>(x) * static_cast<double>(x);
        if (square == 0) break;
        const double by = step * static_cast<double>(upper - value) / square;
        for (unsigned q = 0; q < kinds_of_need; ++q) {
          const double to = static_cast<double>(now[q]) + by * static_cast<double>(slack[q]);
          now[q] = to <= 0 ? 0 : to >= static_cast<double>(weight[q]) ? weight[q] : static_cast<std::int64_t>(to);
        }
      }
      price = top;
    }

    struct state {
      std::int64_t cost = 0;
      std::uint32_t parent = 0;
      std::uint16_t choice = 0;
    };
    struct candidate {
      std::int64_t bound = 0;
      need left{};
      state how;
    };

    /// The dynamic program over the GPUs.
    void walk() {
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
            const option& x = kinds[k][o];
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
          detail::shell_sort(now.data(), now.size(), [](const candidate& a, const candidate& b) {
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
    /// No completion of such a state costs less.
    [[nodiscard]] std::int64_t bound(std::int64_t cost, const need& left, std::int64_t rest) const noexcept {
      std::int64_t b = cost + rest;
      for (unsigned q = 0; q < kinds_of_need; ++q) b += price[q] * left[q];
      return b > cost ? b : cost;
    }

    [[nodiscard]] mig_plan result() const {
      mig_plan out;
      need left = wanted;
      for (int drains = 0; drains < 2; ++drains)
        for (std::size_t i = 0; i < gpus.size(); ++i) {
          const option& o = kinds[kind_of[i]][best[i]];
          if ((o.drained != 0 || o.drains_whole) != (drains == 1)) continue;
          write(out, static_cast<std::uint32_t>(i), o);
          subtract(left, o.net);
        }
      for (const auto& s : out.steps) out.cost += s.cost;
      for (unsigned q = 0; q < kinds_of_need; ++q)
        out.unserved[q] = left[q] > 0 ? static_cast<std::uint32_t>(left[q]) : 0;
      // Where all must be served, what is missing is no cost; the bound speaks of plans that leave out as little.
      const std::int64_t miss = missing(left);
      out.waiting = costs.wait_ms ? miss : 0;
      out.optimal = lower >= upper;
      const std::int64_t own = lower - (costs.wait_ms ? 0 : miss);
      out.lower_bound = own > 0 ? own : 0;
      return out;
    }
    void write(mig_plan& out, std::uint32_t gpu, const option& o) const {
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
      for_each_bit(o.made,
                   [&](unsigned p) { out.steps.push_back(of(mig_step::kind::create, p, maker.create_cost(p))); });
    }
  };

  [[nodiscard]] std::optional<input_error> fault(const std::vector<mig_gpu_now>& gpus,
                                                 const mig_plan_request& request) const {
    const auto say = [](std::string found, std::string wanted) {
      return input_error{"MIG plan", 0, std::move(found), std::move(wanted)};
    };
    for (const auto ms : {costs.create_ms, costs.destroy_ms, costs.drain_ms, costs.restart_ms, costs.toggle_ms,
                          costs.reset_ms, costs.wait_ms.value_or(0)})
      if (ms < 0 || ms > max_ms) return say("a cost of " + std::to_string(ms) + " ms", "0 to 10^10 ms");
    if (gpus.size() > max_gpus) return say(std::to_string(gpus.size()) + " GPUs", "at most 16384 at once");
    for (unsigned q = 0; q < kinds_of_need; ++q) {
      if (request.need[q] > max_need) return say(std::to_string(request.need[q]) + " instances", "at most 10000");
      if (request.need[q] == 0 || q == mig_whole_gpu) continue;
      if (q >= g_.profiles || g_.of_profile[q] == 0)
        return say(q < g_.profiles ? std::string{g_.row(q).name} + ", which the site does not offer"
                                   : std::string{"a profile that the product does not have"},
                   "profiles of " + std::string{g_.product->id});
    }
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const mig_gpu_now& n = gpus[i];
      const std::string gpu = "GPU " + std::to_string(i);
      mig_set held = n.idle;
      bool twice = false;
      for (const auto& r : n.running) {
        if (r.placement >= g_.placements) return say(gpu + " with an unknown placement", "those of the geometry");
        twice = twice || (held >> r.placement & 1U) != 0;
        held |= mig_set{1} << r.placement;
        if (r.who.lost_ms < 0 || r.who.lost_ms > max_ms)
          return say(gpu + " with " + std::to_string(r.who.lost_ms) + " ms of work lost", "0 to 10^10 ms");
      }
      if (twice || !g_.key_of(held))
        return say(gpu + " with instances that contradict the geometry", "instances that may lie beside each other");
      if (held != 0 && n.mode != mig_mode::on)
        return say(gpu + " with instances, but not in MIG mode", "instances in MIG mode alone");
      if (n.whole && n.mode != mig_mode::whole && n.mode != mig_mode::shared)
        return say(gpu + " held whole in another mode", "mode whole or shared");
      if (n.whole && (n.whole->lost_ms < 0 || n.whole->lost_ms > max_ms))
        return say(gpu + " with " + std::to_string(n.whole->lost_ms) + " ms of work lost", "0 to 10^10 ms");
    }
    return std::nullopt;
  }

  mig_geometry g_;
};

}  // namespace berth
