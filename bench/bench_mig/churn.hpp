#pragma once
/// \file
/// The loop that all timings of bench_mig share: one instance leaves, one request comes.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <vector>

namespace bench_mig {

/// Requests until `full()`, goes on for 20,000 turns so that the layouts are those of churn, then measures turns.
/// `live` is what was granted: `request` adds to it, `leave` takes one away.
template <class T, class Full, class Request, class Leave>
void churn(benchmark::State& state, const std::vector<T>& live, Full full, Request request, Leave leave) {
  while (!full()) request();
  const std::size_t target = live.size();
  for (int n = 0; n < 20'000; ++n) {
    if (live.size() >= target) leave();
    request();
  }
  for (auto _ : state) {
    if (live.size() >= target) leave();
    benchmark::DoNotOptimize(request());
  }
}

}  // namespace bench_mig
