/// \file
/// How fast does a queue of thousands of pending gangs get its answers? Few kinds of gangs, and most of them do not
/// fit: what a scheduler sees in every cycle on a full cluster.
///
///   batch/place_all/…    the whole queue at once
///   batch/one_by_one/…   the placer, gang by gang
///   batch/scan/…         every gang by filtering and scoring all nodes for every task
///
/// Names are `batch/<way>/queue:<n>/gpus:<n>`. `items_per_second` counts gangs answered; `placed`, `refused` and
/// `excused` are per queue. What was committed is released between two queues, outside the measured time.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench_place/fixture.hpp"
#include "bench_place/scan_scheduler.hpp"
#include "berth/core/random.hpp"
#include "berth/solver/batch.hpp"

namespace {

using bench::fixture;
using bench::scenario;

/// The free nodes lack CPUs for what nine of ten gangs ask; the tenth is content with less.
struct pending_queue {
  std::vector<berth::gang> kinds;
  std::vector<berth::pending_gang> gangs;
  std::uint64_t first_key = 1'000'000'000;

  explicit pending_queue(std::size_t length) {
    const berth::task_shape whole{8, berth::cpus(192), berth::gibibytes(1024)};
    const berth::task_shape half{4, berth::cpus(176), berth::gibibytes(512)};
    const berth::task_shape modest{8, berth::cpus(64), berth::gibibytes(512)};
    for (const std::uint32_t tasks : {1U, 2U, 4U, 8U}) kinds.push_back(bench::make_gang(tasks, whole));
    for (const std::uint32_t tasks : {2U, 4U, 8U, 16U}) kinds.push_back(bench::make_gang(tasks, half));
    for (const std::uint32_t tasks : {1U, 4U}) kinds.push_back(bench::make_gang(tasks, modest));
    berth::random_source random{17};
    for (std::size_t i = 0; i < length; ++i) {
      const std::size_t kind = random.below(10) == 0 ? 8 + random.below(2) : random.below(8);
      gangs.push_back({&kinds[kind], berth::job_key{first_key + i}});
    }
  }
  /// Releases what was committed. \returns how many gangs that were
  std::uint32_t clear(berth::cluster& c) const {
    std::uint32_t released = 0;
    for (const auto& p : gangs) released += c.release(p.key).has_value() ? 1U : 0U;
    return released;
  }
};

fixture& shared_fixture(std::uint32_t gpus) {
  static std::unique_ptr<fixture> kept;
  static std::uint32_t key = 0;
  if (!kept || key != gpus) {
    kept.reset();
    kept = std::make_unique<fixture>(scenario::no_fit, gpus / 8, 1);
    key = gpus;
  }
  return *kept;
}

void report(benchmark::State& state, std::size_t length, const berth::batch_result& r, bool ok) {
  state.SetItemsProcessed(static_cast<std::int64_t>(static_cast<std::size_t>(state.iterations()) * length));
  state.counters["placed"] = r.placed;
  state.counters["refused"] = r.refused;
  state.counters["excused"] = r.excused;
  if (!ok || r.placed == 0 || r.failed != 0) state.SkipWithError("unexpected answer");
}

/// Measures `answer(queue)`, which places and commits a whole queue.
template <class Answer>
void measure(benchmark::State& state, fixture& f, std::size_t length, Answer&& answer) {
  const pending_queue queue{length};
  berth::batch_result r = answer(queue);  // warm-up
  bool ok = queue.clear(f.c) == r.placed;
  for (auto _ : state) {
    r = answer(queue);
    state.PauseTiming();
    ok = ok && queue.clear(f.c) == r.placed;
    state.ResumeTiming();
  }
  report(state, length, r, ok);
}

void place_all(benchmark::State& state, std::uint32_t gpus, std::size_t length) {
  fixture& f = shared_fixture(gpus);
  measure(state, f, length, [&](const pending_queue& q) { return berth::place_all(f.c, f.place, q.gangs); });
}
void one_by_one(benchmark::State& state, std::uint32_t gpus, std::size_t length) {
  fixture& f = shared_fixture(gpus);
  measure(state, f, length, [&](const pending_queue& q) {
    berth::batch_result r;
    for (const auto& p : q.gangs) {
      const berth::decision d = f.place(*p.what);
      if (!d) ++r.refused;
      else if (f.c.commit(p.key, d.where)) ++r.placed;
      else ++r.failed;
    }
    return r;
  });
}
void scan(benchmark::State& state, std::uint32_t gpus, std::size_t length) {
  fixture& f = shared_fixture(gpus);
  bench::scan_scheduler scheduler{f.c};
  measure(state, f, length, [&](const pending_queue& q) {
    berth::batch_result r;
    for (const auto& p : q.gangs) {
      const berth::placement where = scheduler.place(*p.what);
      if (where.tasks.empty()) ++r.refused;
      else if (f.c.commit(p.key, where)) ++r.placed;
      else ++r.failed;
    }
    return r;
  });
}

}  // namespace

int main(int argc, char** argv) {
  using body = void (*)(benchmark::State&, std::uint32_t, std::size_t);
  const auto add = [](const char* way, std::uint32_t gpus, std::size_t length, body run) {
    const std::string name =
        std::string{"batch/"} + way + "/queue:" + std::to_string(length) + "/gpus:" + std::to_string(gpus);
    return benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& s) { run(s, gpus, length); });
  };
  for (const std::uint32_t gpus : {8192U, 131072U})
    for (const std::size_t length : {1000U, 10'000U}) {
      add("place_all", gpus, length, place_all);
      add("one_by_one", gpus, length, one_by_one);
      if (length == 1000) add("scan", gpus, length, scan);
    }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
