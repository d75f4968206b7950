// Decision time of packing policies: one task placed on a cluster of shared GPUs in churn (a random standing task
// leaves for every one that comes), as the cluster grows.
//
// Names: packing/<policy>/nodes:<n>. Nodes and tasks are those of the openb cluster (examples/data/openb), repeated.
// The baseline is scan/<policy>: the same policy, every node scored anew for every task, as pod-by-pod schedulers do.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/io/openb.hpp"
#include "berth/io/text_file.hpp"
#include "berth/policy/fragmentation.hpp"
#include "berth/policy/future_value.hpp"
#include "berth/policy/packing_fit.hpp"
#include "berth/solver/packer.hpp"

namespace {

using namespace berth;

struct trace {
  openb_cluster cluster;
  openb_tasks tasks;
  std::vector<workload_class> workload;
};

const trace& openb() {
  static const trace t = [] {
    const std::string dir = BERTH_SOURCE_DIR "/examples/data/openb/";
    const auto nodes = read_text_file(dir + "openb_node_list_gpu_node.csv");
    const auto pods = read_text_file(dir + "openb_pod_list_default.csv");
    if (!nodes || !pods) {
      std::fputs("examples/data/openb is missing\n", stderr);
      std::exit(2);
    }
    trace out;
    auto cluster = read_openb_nodes(*nodes);
    if (cluster) out.cluster = *std::move(cluster);
    auto tasks = read_openb_tasks(*pods, out.cluster);
    if (tasks) out.tasks = *std::move(tasks);
    out.workload = target_workload(out.tasks.tasks);
    return out;
  }();
  return t;
}

std::vector<share_node> repeated(std::size_t count) {
  const auto& base = openb().cluster.nodes;
  std::vector<share_node> out;
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) out.push_back(base[i % base.size()]);
  return out;
}

struct standing {
  share_task task;
  packed_task where;
};

// Until 85 % of the GPU share is taken.
template <class Packer>
std::vector<standing> fill(Packer& p, random_source& random) {
  std::uint64_t capacity = 0, taken = 0;
  for (std::uint32_t n = 0; n < p.node_count(); ++n) capacity += p.installed(n).free_total();
  std::vector<standing> out;
  const auto& tasks = openb().tasks.tasks;
  for (std::uint32_t refused = 0; taken * 100 < capacity * 85 && refused < 1000;) {
    const auto& t = tasks[random.below(tasks.size())];
    if (const auto where = p.place(t)) {
      out.push_back({t, *where});
      taken += t.demand();
    } else {
      ++refused;
    }
  }
  return out;
}

template <class Policy>
void packing(benchmark::State& state, const Policy& policy) {
  packer<Policy> p{repeated(static_cast<std::size_t>(state.range(0))), policy};
  random_source random{7};
  auto running = fill(p, random);
  const auto& tasks = openb().tasks.tasks;
  const auto step = [&] {
    const auto& t = tasks[random.below(tasks.size())];
    if (const auto where = p.place(t)) running.push_back({t, *where});
    while (running.size() > 1 && p.node_count() != 0) {
      const std::size_t k = random.below(running.size());
      p.release(running[k].task, running[k].where);
      running[k] = running.back();
      running.pop_back();
      break;
    }
  };
  // Every kind of task has been seen before measuring begins.
  for (int i = 0; i < 2000; ++i) step();
  const auto before = p.scores();
  for (auto _ : state) step();
  state.counters["scores"] =
      benchmark::Counter(static_cast<double>(p.scores() - before), benchmark::Counter::kAvgIterations);
}

template <class Policy>
void scan(benchmark::State& state, const Policy& policy) {
  const auto nodes = repeated(static_cast<std::size_t>(state.range(0)));
  packer<Policy> p{nodes, policy};
  random_source random{7};
  static_cast<void>(fill(p, random));
  const auto& tasks = openb().tasks.tasks;
  for (auto _ : state) {
    const auto& t = tasks[random.below(tasks.size())];
    std::optional<packed_task> best;
    for (std::uint32_t n = 0; n < p.node_count(); ++n) {
      if (!fits(p.node(n), t)) continue;
      const auto s = policy.score({p.node(n), p.installed(n), 1, 0}, t);
      if (!best || s.value > best->score) best = {n, s.devices, s.value};
    }
    benchmark::DoNotOptimize(best);
  }
}

template <class Policy>
void add(const char* name, const Policy& policy, bool with_scan) {
  for (const std::int64_t n : {1213, 10'000, 100'000}) {
    benchmark::RegisterBenchmark((std::string{"packing/"} + name).c_str(),
                                 [policy](benchmark::State& s) { packing(s, policy); })
        ->ArgName("nodes")
        ->Arg(n);
    if (with_scan && n < 100'000)
      benchmark::RegisterBenchmark((std::string{"scan/"} + name).c_str(),
                                   [policy](benchmark::State& s) { scan(s, policy); })
          ->ArgName("nodes")
          ->Arg(n);
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  add("first_fit", first_fit_packing{}, true);
  add("best_fit", best_fit_packing{}, true);
  add("worst_fit", worst_fit_packing{}, false);
  add("dot_product", dot_product_packing{}, false);
  add("gpu_packing", gpu_packing{}, false);
  add("gpu_clustering", gpu_clustering{}, false);
  add("most_allocated", most_allocated_packing{}, false);
  add("least_allocated", least_allocated_packing{}, false);
  add("balanced", balanced_packing{}, false);
  add("requested_to_capacity", requested_to_capacity_packing{}, false);
  add("fgd", fragmentation_gradient{openb().workload}, true);
  add("berth", future_value{}, false);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
