#include "bench_mig/quality.hpp"

#include <cmath>
#include <map>
#include <queue>
#include <string_view>
#include <utility>

#include "bench_mig/pool.hpp"
#include "berth/core/random.hpp"
#include "berth/solver/mig_packer.hpp"
#include "berth/solver/placer.hpp"

namespace bench_mig {

using namespace berth;

std::vector<double> weights_of(const mix& m, const mig_geometry& g) {
  std::vector<double> out(g.profiles, 0.0);
  double sum = 0;
  for (unsigned q = 0; q < g.profiles; ++q)
    if (g.row(q).variant == catalogue::mig_variant::plain && g.row(q).compute < 8)
      sum += out[q] = m.weight[g.row(q).compute];
    else if (g.row(q).variant == catalogue::mig_variant::double_memory && g.row(q).compute == 1)
      sum += out[q] = m.small_with_double_memory;
  for (auto& w : out) w /= sum;
  return out;
}

namespace {

unsigned draw(const std::vector<double>& weights, random_source& r) {
  double x = r.unit();
  unsigned last = 0;
  for (unsigned q = 0; q < weights.size(); ++q) {
    if (weights[q] <= 0) continue;
    last = q;
    if (x < weights[q]) return q;
    x -= weights[q];
  }
  return last;
}

// Calls f with a placer by the policy of that name.
template <class F>
auto with_policy(const std::string& name, pool& p, const std::vector<double>& mix, F&& f) {
  const auto with = [&](auto policy) {
    using devices = with_parts<best_bandwidth, decltype(policy)>;
    placer<fewest_domains, bin_pack, devices> place{p.live, {}, {}, devices{{}, policy}};
    return f(place);
  };
  if (name == "mig_first_fit") return with(mig_first_fit{});
  if (name == "mig_preferred_start") return with(mig_preferred_start{});
  if (name == "mig_pack") return with(mig_pack{});
  if (name == "mig_spread") return with(mig_spread{});
  keep_mig_options most;
  if (name == "mig_most_options_given") most.mix = mix;
  return with(most);
}

void count_refusal(quality_run& r, const pool& p, unsigned q) {
  const auto& row = p.geometry().row(q);
  const auto why = explain_mig_refusal(p.view(), q);
  ++r.refused;
  ++r.refused_by_profile[q];
  if (why.fragmented != 0) ++r.refused_while_free;
  if (why.free_units >= *row.size && why.free_compute >= row.compute) ++r.refused_while_cluster_free;
}

struct leaving {
  double at;
  std::uint64_t job;
  unsigned profile;
  bool operator<(const leaving& o) const { return at > o.at; }
};
struct pool_leaving {
  double at;
  unsigned profile;
  bool operator<(const pool_leaving& o) const { return at > o.at; }
};

void prepare(quality_run& r, const mig_geometry& g) {
  r.refused_by_profile.assign(g.profiles, 0);
  for (unsigned q = 0; q < g.profiles; ++q) r.profiles.emplace_back(g.row(q).name);
}

// The most compute slices that the requests alive at one moment could fill, whoever chooses among them and however they
// are packed: no policy can use more at any time. The least of many dual solutions; a new one is made now and then.
class moment_bound {
 public:
  moment_bound(const mig_geometry& g, std::uint32_t gpus) : packer_{g}, gpus_{gpus} {
    known_.push_back({});  // all that is asked for
    for (unsigned q = 0; q < g.profiles; ++q) known_.back().per_instance[q] = g.row(q).compute;
    known_.push_back({});  // all that there is
    known_.back().per_gpu = *g.product->compute;
  }
  double operator()(const mig_demand& alive) {
    double least = known_.front().of(alive, gpus_);
    for (const auto& k : known_) least = std::fmin(least, k.of(alive, gpus_));
    if (calls_++ % 1000 == 500) {
      const auto fresh = packer_.compute_bound(alive, gpus_);
      if (fresh.of(alive, gpus_) < least - 0.01) known_.push_back(fresh);
      least = std::fmin(least, fresh.of(alive, gpus_));
    }
    return std::floor(least + 1e-6);
  }

 private:
  mig_packer packer_;
  std::uint32_t gpus_;
  std::vector<mig_compute_bound> known_;
  std::uint64_t calls_ = 0;
};
// One per product, as a bound serves every mix and load.
moment_bound& bound_of(const mig_geometry& g, std::uint32_t gpus) {
  static std::map<std::pair<std::string_view, std::uint32_t>, moment_bound> all;
  return all.try_emplace({g.product->id, gpus}, g, gpus).first->second;
}

}  // namespace

std::string_view product_of(std::string_view model) {
  return catalogue::find_gpu_model(model)->mig_product;
}

quality_run with_departures(const std::string& policy, const mix& m, std::string_view model, std::uint32_t gpus,
                            double load, std::uint64_t seed, std::uint64_t requests) {
  pool c{model, gpus / gpus_per_node};
  const auto& g = c.geometry();
  const auto weights = weights_of(m, g);
  double compute = 0, units = 0;
  for (unsigned q = 0; q < g.profiles; ++q)
    if (weights[q] > 0) compute += weights[q] * g.row(q).compute, units += weights[q] * *g.row(q).size;
  const double slices = gpus * static_cast<double>(*g.product->compute);
  // Of compute or memory, whichever the mix needs more of: memory where 1g with double memory is most of it.
  const double mean = std::max(compute, units * *g.product->compute / *g.product->units);
  const double rate = load * slices / mean;  // stays last 1 on average
  const auto warm = static_cast<std::uint64_t>(4 * slices / mean) + 2000;
  return with_policy(policy, c, weights, [&](auto& place) {
    quality_run r;
    r.policy = policy, r.mix = m.name, r.product = g.product->id, r.gpus = gpus, r.load = load, r.departures = true,
    r.seed = seed;
    prepare(r, g);
    std::priority_queue<leaving> queue;
    std::priority_queue<pool_leaving> pool, offered_now;
    mig_demand alive{};
    moment_bound& bound = bound_of(g, gpus);
    double most_now = 0, most_time = 0, bounded = 0;
    double pool_compute = 0, pool_units = 0, now = 0, used_time = 0, began = 0;
    std::uint64_t pool_refused = 0;
    double offered = 0, lost = 0;
    random_source arrivals{seed}, kinds{seed + 1000}, stays{seed + 2000};
    for (std::uint64_t i = 0; i < warm + requests; ++i) {
      const double next = now - std::log(1 - arrivals.unit()) / rate;
      if (i == warm) began = now;
      const auto use = [&](double until) {
        if (i >= warm) used_time += static_cast<double>(c.used) * (until - now);
        while (!offered_now.empty() && offered_now.top().at <= until) {
          if (i >= warm) most_time += most_now * (offered_now.top().at - bounded);
          bounded = offered_now.top().at;
          --alive[offered_now.top().profile];
          offered_now.pop();
          if (i >= warm) most_now = bound(alive);
        }
        if (i >= warm) most_time += most_now * (until - bounded);
        bounded = until;
        now = until;
      };
      while (!queue.empty() && queue.top().at <= next) {
        use(queue.top().at);
        c.leave(queue.top().job, queue.top().profile);
        queue.pop();
      }
      use(next);
      const unsigned q = draw(weights, kinds);
      const double stay = -std::log(1 - stays.unit());
      ++alive[q];
      offered_now.push({now + stay, q});
      const auto& row = g.row(q);
      while (!pool.empty() && pool.top().at <= now) {
        pool_compute -= g.row(pool.top().profile).compute;
        pool_units -= *g.row(pool.top().profile).size;
        pool.pop();
      }
      if (pool_compute + row.compute <= slices &&
          pool_units + *row.size <= gpus * static_cast<double>(*g.product->units)) {
        pool_compute += row.compute;
        pool_units += *row.size;
        pool.push({now + stay, q});
      } else if (i >= warm) {
        ++pool_refused;
      }
      most_now = i + 1 >= warm ? bound(alive) : 0;
      const decision d = place(c.asked[q]);
      if (i >= warm) ++r.requests, offered += row.compute;
      if (const std::uint64_t job = c.next; d && c.take(d.where, q)) {
        queue.push({now + stay, job, q});
      } else if (i >= warm) {
        count_refusal(r, c, q);
        lost += row.compute;
      }
    }
    r.refused_percent = 100.0 * static_cast<double>(r.refused) / static_cast<double>(r.requests);
    r.refused_slices_percent = 100 * lost / offered;
    r.slices_used_percent = 100 * used_time / ((now - began) * slices);
    r.optimum_percent = 100 * most_time / ((now - began) * slices);
    r.pooled_refused_percent = 100.0 * static_cast<double>(pool_refused) / static_cast<double>(r.requests);
    return r;
  });
}

quality_run until_full(const std::string& policy, const mix& m, std::string_view model, std::uint32_t gpus,
                       std::uint64_t seed) {
  pool c{model, gpus / gpus_per_node};
  const auto& g = c.geometry();
  const auto weights = weights_of(m, g);
  const double slices = gpus * static_cast<double>(*g.product->compute);
  return with_policy(policy, c, weights, [&](auto& place) {
    quality_run r;
    r.policy = policy, r.mix = m.name, r.product = g.product->id, r.gpus = gpus, r.seed = seed;
    prepare(r, g);
    random_source kinds{seed + 1000};
    mig_demand seen{};
    double pool_compute = 0, pool_units = 0, offered = 0, lost = 0;
    std::uint64_t pool_refused = 0;
    const auto full = [&] {
      for (unsigned q = 0; q < g.profiles; ++q) {
        bool fits = false;
        if (weights[q] > 0) c.view().for_each_state([&](mig_state_id s) { fits |= c.table().open(s, q) != 0; });
        if (fits) return false;
      }
      return true;
    };
    while (!full()) {
      const unsigned q = draw(weights, kinds);
      ++seen[q];
      ++r.requests;
      const auto& row = g.row(q);
      offered += row.compute;
      if (pool_compute + row.compute <= slices &&
          pool_units + *row.size <= gpus * static_cast<double>(*g.product->units))
        pool_compute += row.compute, pool_units += *row.size;
      else ++pool_refused;
      if (const decision d = place(c.asked[q]); d && c.take(d.where, q)) continue;
      if (r.refused == 0) r.first_refusal_percent = 100 * static_cast<double>(c.used) / slices;
      count_refusal(r, c, q);
      lost += row.compute;
    }
    if (r.refused == 0) r.first_refusal_percent = 100 * static_cast<double>(c.used) / slices;
    r.refused_percent = 100.0 * static_cast<double>(r.refused) / static_cast<double>(r.requests);
    r.refused_slices_percent = 100 * lost / offered;
    r.slices_used_percent = 100 * static_cast<double>(c.used) / slices;
    r.optimum_percent = 100 * std::floor(mig_packer{g}.most_compute(seen, gpus) + 1e-6) / slices;
    r.pooled_refused_percent = 100.0 * static_cast<double>(pool_refused) / static_cast<double>(r.requests);
    return r;
  });
}

}  // namespace bench_mig
