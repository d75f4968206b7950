/// \file
/// What does a second thread buy? Gangs are placed, committed and, at random, released again, on a cluster at 85 %.
///
///   parallel/threads:1/…   one thread places, commits and releases
///   parallel/threads:2/…   a reader places on its replica and hands its proposals over; the writer commits and
///   releases
///
/// One iteration is one gang committed and one released. Names are `parallel/threads:<n>/gang:<n>/gpus:<n>`, time is
/// that of the clock on the wall. Counters: `conflicts` refused proposals per committed gang, `behind` how often the
/// reader had to copy all nodes.

#include <benchmark/benchmark.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench_place/fixture.hpp"
#include "berth/cluster/replica.hpp"

namespace {

using bench::fixture;
using bench::scenario;

fixture& shared_fixture(std::uint32_t gpus, std::uint32_t gang) {
  static std::unique_ptr<fixture> kept;
  static std::pair<std::uint32_t, std::uint32_t> key;
  if (!kept || key != std::pair{gpus, gang}) {
    kept.reset();
    kept = std::make_unique<fixture>(scenario::whole_nodes, gpus / 8, gang);
    key = {gpus, gang};
  }
  return *kept;
}

/// Takes a committed gang into the standing ones and releases a random one for it.
bool replace_standing(fixture& f, berth::job_key key) {
  const std::size_t i = f.random.below(f.standing.size());
  return f.c.release(std::exchange(f.standing[i], key)).has_value();
}

void one_thread(benchmark::State& state, std::uint32_t gpus, std::uint32_t gang) {
  fixture& f = shared_fixture(gpus, gang);
  bool ok = true;
  for (auto _ : state) {
    const berth::decision d = f.place(f.request);
    const berth::job_key key{f.next_key++};
    ok = ok && d && f.c.commit(key, d.where).has_value() && replace_standing(f, key);
  }
  if (!ok) state.SkipWithError("unexpected answer");
  state.counters["conflicts"] = 0;
}

/// Waits for the other thread: briefly on this core, then by giving the core away, in case both share one.
class waiting {
 public:
  void once() {
    if (++times_ > 200) std::this_thread::yield();
  }
  void reset() { times_ = 0; }

 private:
  unsigned times_ = 0;
};

/// Proposals between one reader and one writer, in order; nothing is allocated after the first round.
class proposal_ring {
 public:
  enum class answer : std::uint8_t { pending, committed, conflict };
  struct slot {
    std::vector<berth::task_placement> tasks;
    berth::task_shape shape{};
    std::atomic<answer> fate{answer::pending};
  };

  // The reader's side.
  [[nodiscard]] bool is_full() const { return put_.load(std::memory_order_relaxed) - settled_ == slots_.size(); }
  void put(const berth::placement& p) {
    const std::uint64_t at = put_.load(std::memory_order_relaxed);
    slot& s = slots_[at % slots_.size()];
    s.tasks.assign(p.tasks.begin(), p.tasks.end());
    s.shape = p.shapes[0];
    s.fate.store(answer::pending, std::memory_order_relaxed);
    put_.store(at + 1, std::memory_order_release);
  }
  /// Calls `f(slot)` for every proposal that was answered since, oldest first.
  template <class F>
  void each_answer(F&& f) {
    for (; settled_ != put_.load(std::memory_order_relaxed); ++settled_) {
      slot& s = slots_[settled_ % slots_.size()];
      if (s.fate.load(std::memory_order_acquire) == answer::pending) return;
      f(s);
    }
  }
  // The writer's side.
  [[nodiscard]] slot* next() {
    return put_.load(std::memory_order_acquire) == taken_ ? nullptr : &slots_[taken_ % slots_.size()];
  }
  void settle(slot& s, bool committed) {
    s.fate.store(committed ? answer::committed : answer::conflict, std::memory_order_release);
    ++taken_;
  }

 private:
  std::array<slot, 512> slots_;
  alignas(64) std::atomic<std::uint64_t> put_{0};
  std::uint64_t settled_ = 0;
  alignas(64) std::uint64_t taken_ = 0;
};

void read(const berth::cluster& at_rest, const berth::change_feed& feed, const berth::gang& request, proposal_ring& out,
          const std::atomic<bool>& stop, std::atomic<bool>& ready, std::uint64_t& behind) {
  berth::replica mine{at_rest, feed};
  berth::placer<> place{mine.view()};
  ready.store(true);
  waiting wait;
  while (!stop.load(std::memory_order_relaxed)) {
    behind += mine.catch_up() == berth::catch_up_result::recopied ? 1U : 0U;
    out.each_answer([&](proposal_ring::slot& s) {
      if (s.fate.load(std::memory_order_relaxed) == proposal_ring::answer::conflict) mine.retract(s.tasks);
    });
    if (out.is_full()) {
      wait.once();
      continue;
    }
    const berth::decision d = place(request);
    if (!d) {  // all that is free is proposed already
      wait.once();
      continue;
    }
    wait.reset();
    out.put(d.where);
    mine.assume(d.where);
  }
}

void two_threads(benchmark::State& state, std::uint32_t gpus, std::uint32_t gang) {
  fixture& f = shared_fixture(gpus, gang);
  berth::change_feed feed{f.c.nodes()};
  f.c.attach(&feed);
  proposal_ring ring;
  std::atomic<bool> stop{false}, ready{false};
  std::uint64_t behind = 0, conflicts = 0;
  bool ok = true;
  std::thread reader{[&] { read(f.c, feed, f.request, ring, stop, ready, behind); }};
  while (!ready.load()) std::this_thread::yield();
  for (auto _ : state) {
    waiting wait;
    for (bool committed = false; !committed;) {
      proposal_ring::slot* s = ring.next();
      if (s == nullptr) {
        wait.once();
        continue;
      }
      wait.reset();
      const berth::job_key key{f.next_key++};
      committed = f.c.commit(key, {s->tasks, {&s->shape, 1}}).has_value();
      ring.settle(*s, committed);
      conflicts += committed ? 0U : 1U;
      if (committed) ok = ok && replace_standing(f, key);
    }
  }
  stop.store(true);
  reader.join();
  f.c.attach(nullptr);
  if (!ok) state.SkipWithError("a standing gang could not be released");
  state.counters["conflicts"] = benchmark::Counter(static_cast<double>(conflicts), benchmark::Counter::kAvgIterations);
  state.counters["behind"] = static_cast<double>(behind);
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::uint32_t gpus : {8192U, 131072U})
    for (const std::uint32_t gang : {1U, 8U, 64U})
      for (const int threads : {1, 2}) {
        const std::string name = "parallel/threads:" + std::to_string(threads) + "/gang:" + std::to_string(gang) +
                                 "/gpus:" + std::to_string(gpus);
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& s) {
          threads == 1 ? one_thread(s, gpus, gang) : two_threads(s, gpus, gang);
        })->UseRealTime();
      }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
