// How fast and how well do MIG policies choose?
//
//   mig/<policy>/nodes:<n>   one request in churn on n nodes of 8 H100, 80 % full: a random instance is
//                            destroyed, a request of the uniform mix is learned from, decided and created. Time of the
//                            whole step, so an upper bound of the decision's.
//   mig/in_cluster/nodes:<n> the same stream as gangs of one task in `berth::cluster`: place, commit, release.
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

#include "bench_mig/churn.hpp"
#include "bench_mig/in_cluster.hpp"
#include "bench_mig/quality.hpp"
#include "berth/core/random.hpp"
#include "berth/policy/mig.hpp"
#include "berth/policy/mig_most_options.hpp"
#include "berth/topology/mig_lookup.hpp"

namespace {

using namespace berth;

const mig_state_table& h100() {
  static const mig_state_table t{make_mig_geometry(**find_mig_product("h100-80gb"))};
  return t;
}

template <class Policy>
void decide(benchmark::State& state, Policy p) {
  const auto& t = h100();
  const auto gpus = static_cast<std::uint32_t>(state.range(0)) * 8;
  mig_cluster c{t, gpus};
  random_source random{11};
  const unsigned plain[] = {0, 3, 4, 5, 6};  // 1g, 2g, 3g, 4g, 7g
  std::vector<unsigned> asked(1U << 16U);
  for (auto& q : asked) q = plain[random.below(5)];
  std::vector<mig_instance> live;
  std::size_t i = 0;
  const auto request = [&] {
    const unsigned q = asked[i++ & (asked.size() - 1)];
    p.arrived(c, q);
    const auto where = p.choose(c, q);
    if (!where) return false;
    static_cast<void>(c.create(*where));
    live.push_back(*where);
    return true;
  };
  const auto leave = [&] {
    const std::size_t k = random.below(live.size());
    static_cast<void>(c.destroy(live[k]));
    live[k] = live.back();
    live.pop_back();
  };
  live.reserve(gpus * std::size_t{8});
  const auto full = [&] { return c.used_compute() * 100 >= gpus * std::uint64_t{7} * 80; };
  bench_mig::churn(state, live, full, request, leave);
  unsigned distinct = 0;
  c.for_each_state([&](mig_state_id) { ++distinct; });
  state.counters["states"] = distinct;
}

void add(const char* name, auto make) {
  for (const std::int64_t nodes : {1, 16, 128, 1024})
    benchmark::RegisterBenchmark((std::string{"mig/"} + name).c_str(),
                                 [make](benchmark::State& s) { decide(s, make()); })
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
  for (const auto* product : {"h100-80gb", "a100-80gb"}) {
    const mig_state_table t{make_mig_geometry(**find_mig_product(product))};
    for (const auto& m : bench_mig::mixes)
      for (const double load : {0.6, 0.8, 0.9, 0.0})
        for (const auto* policy : policies)
          for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            const auto r = load > 0 ? bench_mig::with_departures(policy, m, t, 64, load, seed, requests)
                                    : bench_mig::until_full(policy, m, t, 64, seed);
            nlohmann::json by = nlohmann::json::object();
            for (unsigned q = 0; q < r.refused_by_profile.size(); ++q)
              if (r.refused_by_profile[q] != 0) by[std::string{t.geometry().row(q).name}] = r.refused_by_profile[q];
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
            auto& s = sums[{product, m.name, load, policy}];
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
  add("mig_first_fit", [] { return mig_first_fit{}; });
  add("mig_preferred_start", [] { return mig_preferred_start{}; });
  add("mig_pack", [] { return mig_pack{}; });
  add("mig_spread", [] { return mig_spread{}; });
  add("mig_most_options", [] { return mig_most_options{h100()}; });
  for (const std::int64_t nodes : {1, 16, 128, 1024})
    benchmark::RegisterBenchmark("mig/in_cluster", bench_mig::in_cluster)->Arg(nodes)->ArgName("nodes");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
