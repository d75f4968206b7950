// How fast and how well do MIG policies choose?
//
//   mig/<policy>/nodes:<n>        one decision of the placer on n nodes of 8 H100, 80 % full after churn, for a
//                                 request of the uniform mix; the state moves on every 256 of them.
//   mig/in_cluster/nodes:<n>      the same stream placed, committed and released: the whole step.
//   --quality --json FILE    random streams on 64 GPUs, see bench_mig/quality.hpp: with departures at load 0.6,
//                            0.8, 0.9, and without until nothing fits. --seeds N streams each (default 4),
//                            --requests N (40000).

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "bench_mig/pool.hpp"
#include "bench_mig/quality.hpp"
#include "berth/core/random.hpp"
#include "berth/solver/placer.hpp"

namespace {

using namespace berth;

/// Requests come and go on a pool kept 80 % full.
template <class Policy>
class stream {
 public:
  stream(std::uint32_t nodes, Policy p)
      : pool_{"h100-sxm5-80gb", nodes}, place_{pool_.live, {}, {}, with_parts<best_bandwidth, Policy>{{}, p}} {
    for (unsigned q = 0; q < pool_.geometry().profiles; ++q)
      if (pool_.geometry().row(q).variant == catalogue::mig_variant::plain && pool_.compute(q) != 0)
        plain_.push_back(q);
    // 1g, 2g, 3g, 4g, 7g: of two profiles with one size, the one with less memory.
    for (std::size_t i = 1; i < plain_.size();)
      if (pool_.compute(plain_[i]) == pool_.compute(plain_[i - 1])) plain_.erase(plain_.begin() + static_cast<long>(i));
      else ++i;
    live_.reserve(nodes * std::size_t{64});
    while (pool_.used * 100 < nodes * std::uint64_t{gpus_per_node} * 7 * 80) request();
    target_ = live_.size();
    for (int n = 0; n < 20'000; ++n) turn();
  }
  /// Asks and takes nothing.
  bool decide() { return static_cast<bool>(place_(pool_.asked[any()])); }
  /// One leaves, one comes.
  bool turn() {
    if (live_.size() >= target_) leave();
    return request();
  }
  [[nodiscard]] unsigned states() const {
    unsigned n = 0;
    pool_.view().for_each_state([&](mig_state_id) { ++n; });
    return n;
  }

 private:
  static constexpr unsigned gpus_per_node = bench_mig::gpus_per_node;
  struct job {
    std::uint64_t key;
    unsigned profile;
  };
  unsigned any() { return plain_[random_.below(plain_.size())]; }
  bool request() {
    const unsigned q = any();
    const decision d = place_(pool_.asked[q]);
    const std::uint64_t key = pool_.next;
    if (!d || !pool_.take(d.where, q)) return false;
    live_.push_back({key, q});
    return true;
  }
  void leave() {
    const std::size_t k = random_.below(live_.size());
    pool_.leave(live_[k].key, live_[k].profile);
    live_[k] = live_.back();
    live_.pop_back();
  }

  bench_mig::pool pool_;
  placer<fewest_domains, bin_pack, with_parts<best_bandwidth, Policy>> place_;
  random_source random_{11};
  std::vector<unsigned> plain_;
  std::vector<job> live_;
  std::size_t target_ = 0;
};

template <class Policy>
void decide(benchmark::State& state, Policy p) {
  stream<Policy> s{static_cast<std::uint32_t>(state.range(0)), p};
  std::uint64_t n = 0;
  for (auto _ : state) {
    if (++n % 256 == 0) {
      state.PauseTiming();
      for (int i = 0; i < 32; ++i) s.turn();
      state.ResumeTiming();
    }
    benchmark::DoNotOptimize(s.decide());
  }
  state.counters["states"] = s.states();
}
void in_cluster(benchmark::State& state) {
  stream<keep_mig_options> s{static_cast<std::uint32_t>(state.range(0)), {}};
  for (auto _ : state) benchmark::DoNotOptimize(s.turn());
}

template <class Policy>
void add(const char* name, Policy p) {
  for (const std::int64_t nodes : {1, 16, 128, 1024})
    benchmark::RegisterBenchmark((std::string{"mig/"} + name).c_str(), [p](benchmark::State& s) { decide(s, p); })
        ->Arg(nodes)
        ->ArgName("nodes");
}

int quality(const std::string& file, std::uint64_t seeds, std::uint64_t requests) {
  constexpr const char* policies[] = {"mig_first_fit", "mig_preferred_start", "mig_pack",
                                      "mig_spread",    "mig_most_options",    "mig_most_options_given"};
  nlohmann::json runs = nlohmann::json::array();
  struct sum {
    double refused = 0, slices = 0, used = 0, optimum = 0, pooled = 0, free = 0, first = 0;
  };
  std::map<std::tuple<std::string, std::string, double, std::string>, sum> sums;
  for (const auto* model : {"h100-sxm5-80gb", "a100-sxm4-80gb"}) {
    const std::string_view product = bench_mig::product_of(model);
    for (const auto& m : bench_mig::mixes)
      for (const double load : {0.6, 0.8, 0.9, 0.0})
        for (const auto* policy : policies)
          for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            const auto r = load > 0 ? bench_mig::with_departures(policy, m, model, 64, load, seed, requests)
                                    : bench_mig::until_full(policy, m, model, 64, seed);
            nlohmann::json by = nlohmann::json::object();
            for (unsigned q = 0; q < r.refused_by_profile.size(); ++q)
              if (r.refused_by_profile[q] != 0) by[r.profiles[q]] = r.refused_by_profile[q];
            runs.push_back(
                {{"policy", r.policy},
                 {"mix", r.mix},
                 {"product", r.product},
                 {"gpus", r.gpus},
                 {"load", r.departures ? nlohmann::json(r.load) : nlohmann::json()},
                 {"departures", r.departures},
                 {"seed", r.seed},
                 {"requests", r.requests},
                 {"refused", r.refused},
                 {"refused_percent", r.refused_percent},
                 {"refused_slices_percent", r.refused_slices_percent},
                 {"refused_by_profile", by},
                 {"refused_while_free", r.refused_while_free},
                 {"refused_while_cluster_free", r.refused_while_cluster_free},
                 {"slices_used_percent", r.slices_used_percent},
                 {"first_refusal_percent", r.departures ? nlohmann::json() : nlohmann::json(r.first_refusal_percent)},
                 {"optimum_percent", r.optimum_percent},
                 {"pooled_refused_percent", r.pooled_refused_percent}});
            auto& s = sums[{std::string{product}, m.name, load, policy}];
            const auto n = static_cast<double>(seeds);
            s.refused += r.refused_percent / n, s.slices += r.refused_slices_percent / n;
            s.used += r.slices_used_percent / n, s.optimum += r.optimum_percent / n;
            s.pooled += r.pooled_refused_percent / n, s.first += r.first_refusal_percent / n;
            s.free += static_cast<double>(r.refused_while_free) / n;
          }
  }
  std::printf("%-10s %-12s %4s %-23s %8s %8s %8s %8s %8s %8s\n", "product", "mix", "load", "policy", "refused%",
              "of first", "pooled%", "whilefree", "used%", "optimum%");
  for (const auto& [key, s] : sums) {
    const auto& [product, mix, load, policy] = key;
    const auto& base = sums[{product, mix, load, "mig_first_fit"}];
    std::printf("%-10s %-12s %4.1f %-23s %8.3f %8.2f %8.3f %8.1f %8.2f %8.2f\n", product.c_str(), mix.c_str(), load,
                policy.c_str(), s.refused, base.refused > 0 ? s.refused / base.refused : 0.0, s.pooled, s.free, s.used,
                s.optimum);
  }
  if (file.empty()) return 0;
  std::FILE* out = std::fopen(file.c_str(), "wb");
  const std::string text = nlohmann::json{{"runs", runs}}.dump(1) + "\n";
  const bool ok = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  if (out == nullptr || std::fclose(out) != 0 || !ok) {
    std::fprintf(stderr, "--json: found a file that cannot be written: %s\n", file.c_str());
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  bool want_quality = false;
  std::string file;
  std::uint64_t seeds = 4, requests = 40000;
  for (int i = 1; i < argc; ++i) {
    const std::string_view a = argv[i];
    if (a == "--quality") want_quality = true;
    if (i + 1 == argc) continue;
    if (a == "--json") file = argv[i + 1];
    if (a == "--seeds") seeds = std::strtoull(argv[i + 1], nullptr, 10);
    if (a == "--requests") requests = std::strtoull(argv[i + 1], nullptr, 10);
  }
  if (want_quality) {
    if (seeds > 0 && requests > 0) return quality(file, seeds, requests);
    std::fputs("--seeds, --requests: expected numbers above 0\n", stderr);
    return 2;
  }
  add("mig_first_fit", mig_first_fit{});
  add("mig_preferred_start", mig_preferred_start{});
  add("mig_pack", mig_pack{});
  add("mig_spread", mig_spread{});
  add("mig_most_options", keep_mig_options{});
  for (const std::int64_t nodes : {1, 16, 128, 1024})
    benchmark::RegisterBenchmark("mig/in_cluster", in_cluster)->Arg(nodes)->ArgName("nodes");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
