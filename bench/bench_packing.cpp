// Decision time of packing policies: one task placed on a cluster of shared GPUs in churn (a random standing task
// leaves for every one that comes), as the cluster grows.
//
// Names: packing/<policy>/nodes:<n>. Nodes and tasks are those of the openb cluster (examples/data/openb), repeated.
// The baseline is scan/<policy>: the same policy, every node scored anew for every task, as pod-by-pod schedulers do.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
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

// A cluster in churn.
template <class Policy>
class churn {
 public:
  churn(std::size_t nodes, const Policy& policy) : p_{repeated(nodes), policy} {
    running_ = fill(p_, random_);
    // Every kind of task has been seen before measuring begins.
    for (int i = 0; i < 2000; ++i) step();
  }
  void step() {
    const auto& tasks = openb().tasks.tasks;
    const auto& t = tasks[random_.below(tasks.size())];
    if (const auto where = p_.place(t)) running_.push_back({t, *where});
    if (running_.size() < 2) return;
    const std::size_t k = random_.below(running_.size());
    p_.release(running_[k].task, running_[k].where);
    running_[k] = running_.back();
    running_.pop_back();
  }
  [[nodiscard]] std::uint64_t scores() const { return p_.scores(); }

 private:
  random_source random_{7};
  packer<Policy> p_;
  std::vector<standing> running_;
};

// `kept`: made at the first call. A benchmark is called several times with more and more iterations; filling the
// cluster for each would take longer than all of them.
template <class Policy>
void packing(benchmark::State& state, const Policy& policy, std::shared_ptr<churn<Policy>>& kept) {
  if (kept == nullptr) kept = std::make_shared<churn<Policy>>(static_cast<std::size_t>(state.range(0)), policy);
  const auto before = kept->scores();
  for (auto _ : state) kept->step();
  state.counters["scores"] =
      benchmark::Counter(static_cast<double>(kept->scores() - before), benchmark::Counter::kAvgIterations);
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
  // One cluster stands at a time.
  static std::shared_ptr<churn<Policy>> kept;
  static std::int64_t kept_nodes = 0;
  static std::string kept_name;
  for (const std::int64_t n : {1213, 10'000, 100'000}) {
    benchmark::RegisterBenchmark((std::string{"packing/"} + name).c_str(),
                                 [policy, n, name](benchmark::State& s) {
                                   if (kept_nodes != n || kept_name != name) kept = nullptr;
                                   kept_nodes = n;
                                   kept_name = name;
                                   packing(s, policy, kept);
                                 })
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
