#include "berth_replay/openb.hpp"

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include "berth/io/openb.hpp"
#include "berth/io/openb_types.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"
#include "berth/policy/fragmentation.hpp"
#include "berth/policy/future_value.hpp"
#include "berth/policy/packing_fit.hpp"
#include "berth/policy/packing_rules.hpp"
#include "berth/sim/task_stream.hpp"

namespace berth_replay {

namespace {

using berth::unexpected;

// One line that is written over, where a person looks on.
class progress_line {
 public:
  progress_line(std::size_t runs) : runs_{runs}, shown_{isatty(STDERR_FILENO) == 1} {}
  void begin(const std::string& what, std::size_t tasks) {
    what_ = what;
    tasks_ = tasks;
    ++run_;
  }
  void operator()(std::uint32_t done) const {
    if (!shown_ || (done % 512 != 0 && done != tasks_)) return;
    constexpr std::size_t width = 30;
    const std::size_t full = tasks_ == 0 ? width : width * done / tasks_;
    const std::string bar = std::string(full, '#') + std::string(width - full, '.');
    static_cast<void>(std::fprintf(stderr, "\r\033[K[%s] run %zu of %zu: %s", bar.c_str(), run_, runs_, what_.c_str()));
  }
  void end() const {
    if (shown_) static_cast<void>(std::fputs("\r\033[K", stderr));
  }

 private:
  std::size_t runs_, run_ = 0, tasks_ = 0;
  bool shown_;
  std::string what_;
};

struct list {
  std::string name;
  berth::openb_tasks tasks;
  std::vector<berth::workload_class> workload;
};

// What every run of a list needs.
struct context {
  const std::vector<berth::share_node>& nodes;
  const berth::openb_facts& facts;
  const list& pods;
  const std::vector<std::uint32_t>& order;
  const progress_line& progress;
};
template <class Policy>
berth::packing_run run(const context& c, Policy policy) {
  return berth::run_packing(c.nodes, c.pods.tasks.tasks, c.order, std::move(policy), c.pods.workload, c.progress,
                            c.facts.unknown.empty() ? &c.facts.power : nullptr);
}
template <class Policy>
berth::packing_run plain(const context& c) {
  return run(c, Policy{});
}
template <berth::score_rule Rule>
berth::packing_run gradient(const context& c) {
  return run(c, berth::fragmentation_gradient{c.pods.workload, Rule});
}
// The whole scores of the published simulator.
template <class Policy>
berth::packing_run published(const context& c) {
  Policy policy;
  policy.rule = berth::score_rule::as_published;
  return run(c, policy);
}
berth::packing_run power(const context& c) {
  return run(c, berth::power_packing<>{c.facts.power});
}
berth::packing_run power_fgd(const context& c) {
  // Fragmentation of a node cannot change by more than its 16 GPUs.
  return run(c, berth::power_packing<berth::fragmentation_gradient>{
                    c.facts.power, {c.pods.workload, berth::score_rule::exact}, 16'000});
}
berth::packing_run right_size(const context& c) {
  berth::right_size_packing<> policy;
  for (unsigned m = 0; m < berth::max_device_models; ++m) policy.size[m] = c.facts.size[m];
  return run(c, policy);
}

struct entry {
  policy_help help;
  berth::packing_run (*run)(const context&);
  bool needs_facts = false;  // about every GPU type of the cluster
};

const std::vector<entry>& entries() {
  static const std::vector<entry> all{
      {{"berth", "least loss of what the cluster could still serve, learned from the requests seen so far"},
       plain<berth::future_value>},
      {{"fgd", "fragmentation gradient descent as published: whole scores"}, gradient<berth::score_rule::as_published>},
      {{"fgd_exact", "the same without rounding"}, gradient<berth::score_rule::exact>},
      {{"best_fit", "least CPU and GPU left over"}, plain<berth::best_fit_packing>},
      {{"worst_fit", "most CPU and GPU left over"}, plain<berth::worst_fit_packing>},
      {{"first_fit", "first node in the order of --ties, tightest GPU"}, plain<berth::first_fit_packing>},
      {{"dot_product", "smallest product of free and asked"}, plain<berth::dot_product_packing>},
      {{"gpu_packing", "shared GPUs, then nodes in use, then idle nodes"}, plain<berth::gpu_packing>},
      {{"gpu_clustering", "beside tasks of the same kind"}, plain<berth::gpu_clustering>},
      {{"best_fit_published", "the same with the whole scores of the published simulator"},
       published<berth::best_fit_packing>},
      {{"dot_product_published", "likewise"}, published<berth::dot_product_packing>},
      {{"gpu_packing_published", "likewise"}, published<berth::gpu_packing>},
      {{"gpu_clustering_published", "likewise"}, published<berth::gpu_clustering>},
      {{"power", "least growth of watts of GPUs and CPUs, then best fit"}, power, true},
      {{"power_fgd", "least growth of watts, then least growth of fragmentation"}, power_fgd, true},
      {{"scarcity", "best fit, types that constrained tasks press on spared"}, plain<berth::scarcity_packing<>>},
      {{"keep_whole", "best fit, broken nodes and GPUs before whole ones"}, plain<berth::keep_whole_packing<>>},
      {{"right_size", "best fit, small tasks off GPUs with much memory"}, right_size, true},
      {{"ratio", "CPU and GPU shares left in proportion"}, plain<berth::ratio_packing>},
      {{"most_allocated", "largest used part (kube-scheduler)"}, plain<berth::most_allocated_packing>},
      {{"least_allocated", "smallest used part (kube-scheduler)"}, plain<berth::least_allocated_packing>},
      {{"balanced", "used parts of CPU, memory, GPUs alike (kube-scheduler)"}, plain<berth::balanced_packing>},
      {{"requested_to_capacity", "a curve over the used part (kube-scheduler)"},
       plain<berth::requested_to_capacity_packing>},
  };
  return all;
}

std::string stem(const std::string& path) {
  std::string s = path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
  if (s.ends_with(".csv")) s.resize(s.size() - 4);
  return s;
}

}  // namespace

const std::vector<policy_help>& openb_policies() {
  static const std::vector<policy_help> names = [] {
    std::vector<policy_help> out;
    for (const auto& e : entries()) out.push_back(e.help);
    return out;
  }();
  return names;
}

bool is_openb_policy(const std::string& name) {
  for (const auto& e : entries())
    if (name == e.help.name) return true;
  return false;
}

berth::expected<std::vector<openb_result>, berth::input_error> run_openb(const openb_options& o) {
  const auto node_file = berth::read_text_file(o.nodes);
  if (!node_file) return unexpected{node_file.error()};
  const auto cluster = berth::read_openb_nodes(*node_file);
  if (!cluster) return unexpected{cluster.error()};
  const auto note = [](const std::string& text) {
    static_cast<void>(std::fprintf(stderr, "note: %s\n", text.c_str()));
  };
  if (cluster->without_gpus != 0)
    note(berth::io_text::counted(cluster->without_gpus, "node") + " of " + o.nodes +
         " without GPUs: for tasks without GPUs only.");

  const auto facts = berth::facts_of(*cluster);
  if (!facts.unknown.empty()) {
    for (const auto& name : o.policies)
      for (const auto& e : entries())
        if (name == e.help.name && e.needs_facts)
          return unexpected{berth::input_error{o.nodes, 0, "GPU type " + berth::io_text::quoted(facts.unknown.front()),
                                               "for policy " + name + " types whose watts and memory are known"}};
    note(o.nodes + ": nothing is known of GPU type " + berth::io_text::quoted(facts.unknown.front()) +
         (facts.unknown.size() == 1 ? "" : " and others") + ": no watts.");
  }

  std::vector<list> lists;
  for (const auto& path : o.pods) {
    const auto file = berth::read_text_file(path);
    if (!file) return unexpected{file.error()};
    auto tasks = berth::read_openb_tasks(*file, *cluster);
    if (!tasks) return unexpected{tasks.error()};
    if (!tasks->states_models) note(path + " has no column gpu_spec: every task may use any GPU type.");
    if (!tasks->misfits.empty()) {
      const auto& m = tasks->misfits.front();
      note(path + ": " + berth::io_text::counted(tasks->misfits.size(), "task") + " can never be placed; first " +
           path + ":" + std::to_string(m.line) + ": " + m.task + ": " + m.why + ".");
    }
    if (!tasks->remarks.empty()) {
      const auto& m = tasks->remarks.front();
      note(path + ": " + berth::io_text::counted(tasks->remarks.size(), "value") + " not counted as written; first " +
           path + ":" + std::to_string(m.line) + ": " + m.task + ": " + m.why + ".");
    }
    auto workload = berth::target_workload(tasks->tasks);
    // Lists of one name in several folders are told apart by their paths.
    bool known = false;
    for (const auto& other : o.pods) known = known || (other != path && stem(other) == stem(path));
    lists.push_back({known ? path : stem(path), std::move(*tasks), std::move(workload)});
  }

  std::vector<openb_result> out;
  progress_line progress{lists.size() * o.policies.size() * (o.last_seed - o.first_seed + 1)};
  for (const auto& l : lists)
    for (const auto& name : o.policies)
      for (const auto& e : entries()) {
        if (name != e.help.name) continue;
        for (std::uint64_t seed = o.first_seed; seed <= o.last_seed; ++seed) {
          const auto order = berth::arrivals_at_load(l.tasks.tasks, cluster->capacity(), o.load, seed);
          const auto nodes = o.ties == "name" ? cluster->nodes : berth::in_random_order(cluster->nodes, seed);
          progress.begin(name + " on " + l.name + ", seed " + std::to_string(seed), order.size());
          out.push_back({name, l.name, seed, cluster->capacity(), e.run({nodes, facts, l, order, progress})});
        }
      }
  progress.end();
  return out;
}

std::optional<double> allocated_at(const berth::packing_run& r, std::size_t percent) {
  if (percent >= r.by_load.size()) return std::nullopt;
  while (percent != 0 && r.by_load[percent].samples == 0) --percent;
  return r.by_load[percent].samples == 0 ? 0 : r.by_load[percent].allocated_percent;
}

}  // namespace berth_replay
