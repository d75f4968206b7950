#pragma once
/// \file
/// The stream of `decide` in bench_mig.cpp, placed, committed and released in `berth::cluster`.

#include <benchmark/benchmark.h>

namespace bench_mig {

void in_cluster(benchmark::State& state);

}  // namespace bench_mig
