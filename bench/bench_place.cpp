/// \file
/// How long does it take to place a gang, commit it and release it again? Beside the library (`berth/…`) stand the
/// least work this could be (`floor/…`) and what pod-by-pod schedulers do (`scan/…`), on the same cluster in the same
/// run.
///
///   bench_place                                   everything (a few minutes)
///   bench_place --benchmark_filter=gpus:8192      one size
///
/// Names are `floor|scan|berth/<case>/gang:<n>/gpus:<n>`. Without suffix a case runs hot: the same gang again and
/// again. With `_churn` every iteration commits one gang and releases a random standing one. Counters: `visited_nodes`
/// per decision, `allocations` per iteration, `bytes_per_gpu` of state and index.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "../tests/counting_new.hpp"
#include "bench_place/fixture.hpp"
#include "bench_place/floor_tree.hpp"
#include "bench_place/scan_scheduler.hpp"

namespace {

using bench::fixture;
using bench::scenario;

constexpr const char* case_names[] = {"whole_nodes", "single_gpu", "no_fit", "constrained"};

/// Fixtures are expensive: one is kept, for the benchmarks that follow each other on it.
fixture& shared_fixture(scenario what, std::uint32_t gpus, std::uint32_t gang) {
  static std::unique_ptr<fixture> kept;
  static std::tuple<scenario, std::uint32_t, std::uint32_t> key;
  if (!kept || key != std::tuple{what, gpus, gang}) {
    kept.reset();
    kept = std::make_unique<fixture>(what, gpus / 8, gang);
    key = {what, gpus, gang};
  }
  return *kept;
}

struct allocation_meter {
  std::uint64_t before = counting_new::count();
  void report(benchmark::State& state) const {
    state.counters["allocations"] =
        benchmark::Counter(static_cast<double>(counting_new::count() - before), benchmark::Counter::kAvgIterations);
  }
};

void check(benchmark::State& state, bool ok) {
  if (!ok) state.SkipWithError("unexpected answer");
}

// -- berth ---------------------------------------------------------------------------------------------------------

void berth_hot(benchmark::State& state, scenario what, std::uint32_t gpus, std::uint32_t gang) {
  fixture& f = shared_fixture(what, gpus, gang);
  const bool fits = what != scenario::no_fit;
  std::uint64_t visited = 0;
  bool ok = true;
  const berth::job_key key{f.next_key++};
  static_cast<void>(f.place(f.request));  // warm-up
  const allocation_meter meter;
  for (auto _ : state) {
    const berth::decision d = f.place(f.request);
    visited += d.steps;
    ok = ok && static_cast<bool>(d) == fits;
    if (d) {
      ok = ok && f.c.commit(key, d.where).has_value();
      ok = ok && f.c.release(key).has_value();
    }
  }
  meter.report(state);
  check(state, ok);
  state.counters["visited_nodes"] =
      benchmark::Counter(static_cast<double>(visited), benchmark::Counter::kAvgIterations);
  state.counters["bytes_per_gpu"] = static_cast<double>(f.c.memory()) / gpus;
}

void berth_churn(benchmark::State& state, scenario what, std::uint32_t gpus, std::uint32_t gang) {
  fixture& f = shared_fixture(what, gpus, gang);
  std::uint64_t visited = 0;
  bool ok = !f.standing.empty();
  const allocation_meter meter;
  for (auto _ : state) {
    const berth::decision d = f.place(f.request);
    visited += d.steps;
    const berth::job_key key{f.next_key++};
    ok = ok && d && f.c.commit(key, d.where).has_value();
    const std::size_t i = f.random.below(f.standing.size());
    ok = ok && f.c.release(f.standing[i]).has_value();
    f.standing[i] = key;
  }
  meter.report(state);
  check(state, ok);
  state.counters["visited_nodes"] =
      benchmark::Counter(static_cast<double>(visited), benchmark::Counter::kAvgIterations);
  state.counters["bytes_per_gpu"] = static_cast<double>(f.c.memory()) / gpus;
}

// -- scan ----------------------------------------------------------------------------------------------------------

void scan_hot(benchmark::State& state, scenario what, std::uint32_t gpus, std::uint32_t gang) {
  fixture& f = shared_fixture(what, gpus, gang);
  bench::scan_scheduler scan{f.c};
  const berth::job_key key{f.next_key++};
  const bool fits = what != scenario::no_fit;
  bool ok = true;
  for (auto _ : state) {
    const berth::placement p = scan.place(f.request);
    ok = ok && p.tasks.empty() != fits;
    if (fits) {
      ok = ok && f.c.commit(key, p).has_value();
      ok = ok && f.c.release(key).has_value();
    }
  }
  check(state, ok);
  state.counters["visited_nodes"] =
      benchmark::Counter(static_cast<double>(scan.visited()), benchmark::Counter::kAvgIterations);
}

void scan_churn(benchmark::State& state, scenario what, std::uint32_t gpus, std::uint32_t gang) {
  fixture& f = shared_fixture(what, gpus, gang);
  bench::scan_scheduler scan{f.c};
  bool ok = !f.standing.empty();
  for (auto _ : state) {
    const berth::placement p = scan.place(f.request);
    const berth::job_key key{f.next_key++};
    ok = ok && f.c.commit(key, p).has_value();
    const std::size_t i = f.random.below(f.standing.size());
    ok = ok && f.c.release(f.standing[i]).has_value();
    f.standing[i] = key;
  }
  check(state, ok);
  state.counters["visited_nodes"] =
      benchmark::Counter(static_cast<double>(scan.visited()), benchmark::Counter::kAvgIterations);
}

// -- floor ---------------------------------------------------------------------------------------------------------

/// A floor tree with the free nodes of the fixture; for `no_fit` without any, as none has the CPUs.
bench::floor_tree floor_of(const fixture& f, scenario what) {
  bench::floor_tree t{f.c.node_count()};
  if (what == scenario::no_fit) return t;
  for (std::uint32_t n = 0; n < f.c.node_count(); ++n)
    if (berth::count_bits(f.c.node(berth::node_id{n}).free) == 8) t.give(n);
  return t;
}

void floor_hot(benchmark::State& state, scenario what, std::uint32_t gpus, std::uint32_t gang) {
  fixture& f = shared_fixture(what, gpus, gang);
  bench::floor_tree t = floor_of(f, what);
  bool ok = true;
  std::uint64_t owner = 0;
  for (auto _ : state) {
    ok = ok && (t.take(gang, ++owner) != 0) == (what != scenario::no_fit);
    t.undo(t.chosen());
  }
  check(state, ok);
  state.counters["visited_nodes"] = gang;
}

void floor_churn(benchmark::State& state, scenario what, std::uint32_t gpus, std::uint32_t gang) {
  fixture& f = shared_fixture(what, gpus, gang);
  bench::floor_tree t = floor_of(f, what);
  std::vector<std::vector<std::uint32_t>> standing;
  for (const berth::job_key key : f.standing) {
    standing.emplace_back();
    f.c.for_each_task(key, [&](const berth::committed_task& c) { standing.back().push_back(c.node.raw()); });
  }
  bool ok = !standing.empty();
  std::uint64_t owner = 0;
  for (auto _ : state) {
    ok = ok && t.take(gang, ++owner) != 0;
    auto& job = standing[f.random.below(standing.size())];
    t.undo(job);
    for (std::size_t i = 0; i < gang; ++i) job[i] = t.chosen()[i];
  }
  check(state, ok);
  state.counters["visited_nodes"] = gang;
}

bench::floor_devices floor_devices_of(const fixture& f) {
  bench::floor_devices t{f.c.node_count()};
  for (std::uint32_t n = 0; n < f.c.node_count(); ++n)
    t.give(n, static_cast<std::uint8_t>(f.c.node(berth::node_id{n}).free));
  return t;
}

void floor_device_hot(benchmark::State& state, scenario what, std::uint32_t gpus, std::uint32_t gang) {
  fixture& f = shared_fixture(what, gpus, gang);
  bench::floor_devices t = floor_devices_of(f);
  std::uint64_t owner = 0;
  bool ok = true;
  for (auto _ : state) {
    const std::uint32_t got = t.take(++owner);
    ok = ok && got != 0xffffffffU;
    t.give(got / 8, static_cast<std::uint8_t>(1U << (got % 8)));
  }
  check(state, ok);
  state.counters["visited_nodes"] = 1;
}

void floor_device_churn(benchmark::State& state, scenario what, std::uint32_t gpus, std::uint32_t gang) {
  fixture& f = shared_fixture(what, gpus, gang);
  bench::floor_devices t = floor_devices_of(f);
  std::vector<std::uint32_t> standing;
  for (const berth::job_key key : f.standing)
    f.c.for_each_task(key, [&](const berth::committed_task& c) {
      standing.push_back(c.node.raw() * 8 + berth::lowest_bit(c.devices));
    });
  std::uint64_t owner = 0;
  bool ok = !standing.empty();
  for (auto _ : state) {
    const std::uint32_t got = t.take(++owner);
    ok = ok && got != 0xffffffffU;
    auto& job = standing[f.random.below(standing.size())];
    t.give(job / 8, static_cast<std::uint8_t>(1U << (job % 8)));
    job = got;
  }
  check(state, ok);
  state.counters["visited_nodes"] = 1;
}

void build_cluster(benchmark::State& state, std::uint32_t gpus) {
  for (auto _ : state) {
    const berth::cluster c{bench::make_spec(gpus / 8, 1), {gpus / 8, gpus / 8, 1, 1024}};
    benchmark::DoNotOptimize(c.node_count());
  }
}

using body = void (*)(benchmark::State&, scenario, std::uint32_t, std::uint32_t);

void add(const char* who, scenario what, bool churn, std::uint32_t gpus, std::uint32_t gang, body run) {
  const std::string name = std::string{who} + "/" + case_names[static_cast<int>(what)] + (churn ? "_churn" : "") +
                           "/gang:" + std::to_string(gang) + "/gpus:" + std::to_string(gpus);
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& s) { run(s, what, gpus, gang); });
}

void register_all() {
  for (const std::uint32_t gpus : {8192U, 131072U, 1048576U}) {
    for (const scenario what : {scenario::whole_nodes, scenario::constrained, scenario::no_fit})
      for (const std::uint32_t gang : {1U, 8U, 64U, 512U}) {
        if (gang == 512 && gpus < 131072) continue;
        if (what == scenario::constrained && gang == 64 && gpus < 131072)
          continue;  // 256 nodes are admitted, 31 are free
        add("floor", what, false, gpus, gang, floor_hot);
        add("berth", what, false, gpus, gang, berth_hot);
        add("scan", what, false, gpus, gang, scan_hot);
        if (what == scenario::no_fit) continue;
        add("floor", what, true, gpus, gang, floor_churn);
        add("berth", what, true, gpus, gang, berth_churn);
        add("scan", what, true, gpus, gang, scan_churn);
      }
    add("floor", scenario::single_gpu, false, gpus, 1, floor_device_hot);
    add("berth", scenario::single_gpu, false, gpus, 1, berth_hot);
    add("scan", scenario::single_gpu, false, gpus, 1, scan_hot);
    add("floor", scenario::single_gpu, true, gpus, 1, floor_device_churn);
    add("berth", scenario::single_gpu, true, gpus, 1, berth_churn);
    add("scan", scenario::single_gpu, true, gpus, 1, scan_churn);
    benchmark::RegisterBenchmark(("build/cluster/gpus:" + std::to_string(gpus)).c_str(), [=](benchmark::State& s) {
      build_cluster(s, gpus);
    })->Unit(benchmark::kMillisecond);
  }
}

}  // namespace

int main(int argc, char** argv) {
  register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
