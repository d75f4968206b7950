#pragma once
/// \file
/// Batch scripts of Slurm (`#SBATCH`) as jobs.
///
/// A task of a group is what runs on one node: with `--nodes`, or where an amount is stated per node, a group has one
/// task per node, and no two of them share a node; without, each of `--ntasks` is a task of its own and several may
/// share a node. Components of a heterogeneous job are groups of one gang. Arrays are so many equal jobs.
///
/// Source: the manual page of sbatch.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/hostlist.hpp"
#include "berth/io/job/sbatch_options.hpp"
#include "berth/io/job/sbatch_values.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"

namespace berth {

namespace sbatch_detail {

/// Reads one component.
class component_reader {
 public:
  component_reader(const component& c, const std::string& source, job_spec& job, bool first)
      : c_{c}, source_{source}, job_{job}, first_{first} {}

  [[nodiscard]] expected<group_spec, input_error> read(std::string name) {
    group_spec g;
    g.line.is = c_.line;
    g.name = std::move(name);
    if (!read_counts() || !read_gpus() || !read_amounts()) return unexpected{std::move(*fault_)};
    if (!name_nodes(g) || !shape(g) || !choose_nodes(g) || !localise(g)) return unexpected{std::move(*fault_)};
    tell();
    return g;
  }

  /// What belongs to the job rather than to a component; the first component that says it counts.
  [[nodiscard]] bool read_job() {
    if (const auto* s = c_.find("job-name"); s != nullptr && first_) job_.name = s->value;
    if (const auto* s = c_.find("partition")) {
      if (job_.queue.empty()) job_.queue = s->value;
      else if (job_.queue != s->value)
        assume(*s, "another partition than that of the first component is told, not checked");
    }
    if (const auto* s = c_.find("account")) {
      if (job_.queue.empty()) job_.queue = s->value;
    }
    if (const auto* s = c_.find("qos")) job_.priority_class = s->value;
    if (const auto* s = c_.find("priority")) {
      const auto n = io_text::parse_count(s->value, std::uint64_t{1} << 40);
      if (n) job_.priority = static_cast<std::int64_t>(*n);
      else if (!io_text::equal_nocase(s->value, "top")) return wrong(*s, "a number or TOP");
    }
    if (const auto* s = c_.find("time")) {
      const auto t = parse_time(s->value);
      if (!t) return wrong(*s, "a time such as 90, 1:30:00 or 2-12:00");
      if (*t > job_.seconds) job_.seconds = *t;
    }
    if (const auto* s = c_.find("array")) {
      const auto a = parse_array(s->value);
      if (!a) return wrong(*s, "task ids such as 0-15, 1,3,7 or 0-99%10");
      job_.copies = a->jobs;
      job_.at_once = a->at_once;
    }
    if (const auto* s = c_.find("dependency")) {
      std::string_view rest = s->value;
      for (;;) {
        const std::size_t at = rest.find_first_of(",?");
        if (rest.substr(0, at).empty()) return wrong(*s, "dependencies such as afterok:123");
        job_.after.emplace_back(rest.substr(0, at));
        if (at == std::string_view::npos) break;
        rest.remove_prefix(at + 1);
      }
    }
    return true;
  }
  [[nodiscard]] input_error fault() { return std::move(*fault_); }

 private:
  [[nodiscard]] bool wrong(const setting& s, std::string form) {
    fault_ = input_error{source_, s.line, "--" + std::string{s.option->name} + "=" + io_text::quoted(s.value),
                         std::move(form)};
    return false;
  }
  void assume(const setting& s, const std::string& what) {
    job_.assumptions.push_back(source_ + ":" + std::to_string(s.line) + ": --" + std::string{s.option->name} +
                               (s.value.empty() ? "" : "=" + s.value) + ": " + what + ".");
  }
  [[nodiscard]] bool count(std::string_view name, std::optional<std::uint32_t>& out) {
    const auto* s = c_.find(name);
    if (s == nullptr) return true;
    out = parse_tasks(s->value);
    return (out && *out > 0) || wrong(*s, "a number of at least 1");
  }

  [[nodiscard]] bool read_counts() {
    if (const auto* s = c_.find("nodes")) {
      nodes_ = parse_nodes(s->value);
      if (!nodes_) return wrong(*s, "a number of nodes such as 4 or 2-4");
    }
    return count("ntasks", tasks_) && count("ntasks-per-node", per_node_) && count("tasks-per-node", per_node_) &&
           count("ntasks-per-gpu", per_gpu_) && count("cpus-per-task", cpus_) && count("cpus-per-gpu", cpus_per_gpu_) &&
           count("mincpus", least_cpus_) && count("sockets-per-node", sockets_);
  }
  // GPUs go to `out`, all else to the other resources of a node.
  [[nodiscard]] bool gpus(std::string_view name, std::string_view plain, std::optional<std::uint32_t>& out) {
    const auto* s = c_.find(name);
    if (s == nullptr) return true;
    const auto list = parse_gres(s->value, plain);
    if (!list) return wrong(*s, plain.empty() ? "resources such as gpu:a100:4,mps:50" : "GPUs such as 8 or a100:8");
    for (const auto& e : *list) {
      if (e.name != "gpu") {
        if (e.name == "cpu" && name == "tres-per-task") {
          if (e.count > io_text::max_cpus) return wrong(*s, "at most a million CPUs");
          cpus_ = static_cast<std::uint32_t>(e.count);
        } else if (e.count > 0) {
          (name == "tres-per-task" ? task_other_ : other_)
              .push_back({e.name + (e.type.empty() ? "" : ":" + e.type), e.count});
          node_other_ = node_other_ || name == "gres";
        }
        continue;
      }
      if (e.count > max_tasks) return wrong(*s, "at most " + std::to_string(max_tasks) + " GPUs");
      const std::string profile = mig_profile_in(e.type);
      if (!profile.empty()) {
        if (e.count > 0) mig_.push_back({profile, e.count});
        continue;
      }
      if (!e.type.empty()) {
        if (!model_.empty() && model_ != e.type) return wrong(*s, "GPUs of one type per component");
        model_ = {e.type, s->line};
      }
      const std::uint64_t sum = (out ? *out : 0) + static_cast<std::uint64_t>(e.count);
      if (sum > max_tasks) return wrong(*s, "at most " + std::to_string(max_tasks) + " GPUs");
      out = static_cast<std::uint32_t>(sum);
    }
    return true;
  }
  [[nodiscard]] bool read_gpus() {
    if (!gpus("gres", "", per_node_gpus_)) return false;
    std::optional<std::uint32_t> by_node, per_socket;
    if (!gpus("gpus-per-node", "gpu", by_node) || !gpus("gpus-per-socket", "gpu", per_socket) ||
        !gpus("gpus-per-task", "gpu", per_task_gpus_) || !gpus("tres-per-task", "", per_task_gpus_) ||
        !gpus("gpus", "gpu", all_gpus_))
      return false;
    if (by_node) per_node_gpus_ = by_node;
    if (per_socket) {
      const auto* s = c_.find("gpus-per-socket");
      if (!sockets_) return wrong(*s, "--sockets-per-node beside it");
      const std::uint64_t n = std::uint64_t{*per_socket} * *sockets_;
      if (n > max_tasks) return wrong(*s, "at most " + std::to_string(max_tasks) + " GPUs");
      per_node_gpus_ = static_cast<std::uint32_t>(n);
    }
    return true;
  }
  [[nodiscard]] bool size(std::string_view name, std::optional<bytes>& out) {
    const auto* s = c_.find(name);
    if (s == nullptr) return true;
    out = parse_megabytes(s->value);
    return out || wrong(*s, megabytes_form);
  }
  [[nodiscard]] bool read_amounts() {
    if (!size("mem", memory_) || !size("mem-per-cpu", memory_per_cpu_) || !size("mem-per-gpu", memory_per_gpu_))
      return false;
    if (memory_ && memory_->count() == 0) {
      assume(*c_.find("mem"),
             "all memory of each node is meant; how much that is depends on the node, so none is asked for");
      memory_.reset();
    }
    std::optional<bytes> disk;
    if (!size("tmp", disk)) return false;
    if (disk && disk->count() > 0) other_.push_back({"tmp-disk", disk->count()});
    if (const auto* s = c_.find("licenses")) {
      std::string_view rest = s->value;
      for (;;) {
        const std::size_t at = rest.find_first_of(",;|");
        const auto item = rest.substr(0, at);
        const std::size_t colon = item.find(':');
        const auto n = colon == std::string_view::npos ? std::optional<std::uint64_t>{1}
                                                       : io_text::parse_count(item.substr(colon + 1), max_tasks);
        if (item.empty() || !n || *n == 0) return wrong(*s, "licences such as matlab:2");
        other_.push_back({"license:" + std::string{item.substr(0, colon)}, static_cast<std::int64_t>(*n)});
        if (at == std::string_view::npos) break;
        rest.remove_prefix(at + 1);
      }
    }
    return true;
  }

  [[nodiscard]] static std::uint64_t up(std::uint64_t a, std::uint64_t b) noexcept { return (a + b - 1) / b; }
  // \param tasks  how many of Slurm's tasks are one of the group
  [[nodiscard]] bool fill(group_spec& g, std::uint64_t gpus, std::uint64_t cpus, std::uint64_t tasks = 1) {
    const auto bound = [&](std::uint64_t cpu) { return cpu > static_cast<std::uint64_t>(io_text::max_cpus); };
    if (gpus > max_tasks || bound(cpus)) return absurd("at most a million CPUs and ten million GPUs per task");
    g.gpus = static_cast<std::uint32_t>(gpus);
    g.cpu = berth::cpus(static_cast<std::int64_t>(cpus));
    const auto times = [](bytes per, std::uint64_t n) {
      const auto m = static_cast<std::uint64_t>(per.count());
      return n != 0 && m > static_cast<std::uint64_t>(io_text::max_memory) / n ? std::optional<std::uint64_t>{}
                                                                               : std::optional{m * n};
    };
    std::optional<std::uint64_t> memory = 0;
    if (memory_per_cpu_) memory = times(*memory_per_cpu_, cpus);
    if (memory_per_gpu_ && gpus != 0) memory = times(*memory_per_gpu_, gpus);
    if (memory_) memory = static_cast<std::uint64_t>(memory_->count());
    if (!memory) return absurd("at most 4 PiB of memory per task");
    g.memory = bytes{static_cast<std::int64_t>(*memory)};
    g.gpu_model = model_;
    g.mig = mig_;
    g.other = other_;
    for (const named_count& o : task_other_) {
      constexpr std::uint64_t most = std::uint64_t{1} << 60;
      if (tasks != 0 && static_cast<std::uint64_t>(o.count) > most / tasks) return absurd("fewer of " + o.name);
      if (tasks != 0) g.other.push_back({o.name, o.count * static_cast<std::int64_t>(tasks)});
    }
    return true;
  }
  [[nodiscard]] bool absurd(std::string wanted) {
    fault_ = input_error{source_, c_.line, "amounts per task beyond any machine", std::move(wanted)};
    return false;
  }
  [[nodiscard]] static const char* plural_told() noexcept { return "spread over as few nodes as the placer finds"; }

  [[nodiscard]] bool shape(group_spec& g) {
    const std::uint64_t cpt = cpus_.value_or(1);
    const bool by_node = nodes_ || named_ != 0 || per_node_ || per_node_gpus_ || !mig_.empty() || node_other_ ||
                         memory_.has_value() || !tasks_ || *tasks_ == 1;
    if (!by_node) {  // tasks that may share nodes or not
      std::uint64_t gpus = per_task_gpus_.value_or(0);
      if (!per_task_gpus_ && all_gpus_) {
        if (*all_gpus_ % *tasks_ != 0)
          return wrong(*c_.find("gpus"), "GPUs that " + std::to_string(*tasks_) + " tasks divide evenly, or --nodes");
        gpus = *all_gpus_ / *tasks_;
      }
      if (gpus != 0) assume(*c_.find("ntasks"), std::string{"each task gets its own GPUs, "} + plural_told());
      g.wanted = g.minimum = *tasks_;
      return fill(g, gpus, cpus_per_gpu_ && gpus != 0 ? *cpus_per_gpu_ * gpus : cpt);
    }
    if (!nodes_ && !per_node_ && !per_node_gpus_ && named_ == 0 && all_gpus_ && !tasks_ && mig_.empty() && !memory_) {
      // A number of GPUs and nothing about nodes: they may be anywhere.
      assume(*c_.find("gpus"), std::string{"the GPUs may lie on any nodes, "} + plural_told());
      if (*all_gpus_ == 0) return wrong(*c_.find("gpus"), "at least 1 GPU");
      g.wanted = g.minimum = *all_gpus_;
      return fill(g, 1, cpus_per_gpu_ ? *cpus_per_gpu_ : up(cpt, *all_gpus_));
    }
    if (!nodes_) {
      nodes_ = node_range{};
      std::uint64_t n = 1;
      if (named_ != 0) n = named_;
      else if (tasks_ && per_node_) n = up(*tasks_, *per_node_);
      else if (all_gpus_ && per_node_gpus_ && *per_node_gpus_ != 0) n = up(*all_gpus_, *per_node_gpus_);
      else if (tasks_ && *tasks_ > 1)
        assume(*c_.find("ntasks"), "amounts are stated per node and the number of nodes is not; one node is taken");
      if (n == 0) n = 1;
      nodes_ = node_range{static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(n)};
    }
    g.wanted = nodes_->most;
    g.minimum = nodes_->least;
    if (g.wanted > 1) g.per_node = 1;
    std::uint64_t gpus = per_node_gpus_.value_or(0);
    std::uint64_t tpn = per_node_ ? *per_node_ : tasks_ ? up(*tasks_, nodes_->least) : 1;
    if (!per_node_gpus_ && per_task_gpus_) gpus = *per_task_gpus_ * tpn;
    else if (!per_node_gpus_ && all_gpus_) gpus = up(*all_gpus_, nodes_->least);
    if (per_gpu_ && !per_node_ && !tasks_) tpn = *per_gpu_ * gpus;
    const auto uneven = [&](std::string_view name, std::uint64_t n) {
      if (n % nodes_->least != 0)
        assume(*c_.find(name), "not even over " + std::to_string(nodes_->least) +
                                   " nodes; every node is asked for as much as the fullest gets");
    };
    if (tasks_ && !per_node_) uneven("ntasks", *tasks_);
    if (!per_node_gpus_ && !per_task_gpus_ && all_gpus_) uneven("gpus", *all_gpus_);
    std::uint64_t cpus = tpn * cpt;
    if (cpus_per_gpu_ && gpus != 0) cpus = *cpus_per_gpu_ * gpus;
    if (least_cpus_ && *least_cpus_ > cpus) cpus = *least_cpus_;
    return fill(g, gpus, cpus, tpn);
  }

  [[nodiscard]] bool name_nodes(group_spec& g) {
    for (const auto& [name, to] : {std::pair{"nodelist", &g.only_nodes}, std::pair{"exclude", &g.not_nodes}})
      if (const auto* s = c_.find(name)) {
        auto hosts = expand_hostlist(s->value, 100'000);
        if (!hosts) {
          fault_ = hosts.error().at(source_, s->line);
          return false;
        }
        *to = std::move(*hosts);
      }
    named_ = g.only_nodes.size();  // without --nodes they are its number
    if (const auto* s = c_.find("nodelist"); s != nullptr && nodes_ && nodes_->least > named_) {
      assume(*s, "more nodes are asked for than named; that these are among them is not promised");
      g.only_nodes.clear();
    }
    return true;
  }
  [[nodiscard]] bool choose_nodes(group_spec& g) {
    if (const auto* s = c_.find("constraint"); s != nullptr && !parse_constraint(s->value, g))
      return wrong(*s, "features joined by &, or a choice such as a|b: counts and matching choices are not read");
    if (const auto* s = c_.find("reservation"))
      for (auto& name : comma_list(s->value)) g.tolerations.push_back("slurm/reservation=" + std::move(name));
    if (const auto* s = c_.find("gres-flags")) {
      // The CPUs that gres.conf lists for the GPUs, and no others.
      bool near = false, other = false;
      for (const auto& flag : comma_list(s->value)) {
        const bool binding = io_text::equal_nocase(flag, "enforce-binding");
        near = near || binding;
        other = other || !binding;
      }
      if (near && g.gpus != 0) g.bind.numa = numa_rule::restricted;
      if (other || (near && g.gpus == 0)) assume(*s, "only enforce-binding of GPUs binds the placer");
    }
    if (const auto* s = c_.find("exclusive")) {
      if (s->value.empty()) {
        g.exclusive = true;
        if (g.wanted == 1) g.per_node = 1;
      } else if (s->value == "topo") {
        job_.exclusive_domain = true;
      } else if (s->value == "user" || s->value == "mcs") {
        assume(*s, "nodes may be shared with jobs of the same owner only, which is not checked");
      } else {
        return wrong(*s, "user, mcs or topo, or no value");
      }
    }
    return true;
  }

  [[nodiscard]] bool localise(group_spec& g) {
    if (const auto* s = c_.find("segment")) {
      const auto n = parse_tasks(s->value);
      if (!n || *n == 0) return wrong(*s, "a number of nodes");
      if (!nodes_ || g.per_node > 1) return wrong(*s, "--nodes beside it");
      if (g.wanted % *n != 0 || g.minimum % *n != 0)
        return wrong(*s, "a size that divides the " + std::to_string(g.wanted) + " nodes evenly");
      segment_spec seg{g.wanted / *n, {"block", s->line}, segment_layout::free};
      if (c_.find("spread-segments") != nullptr) seg.layout = segment_layout::spread;
      if (c_.find("consolidate-segments") != nullptr) seg.layout = segment_layout::consolidate;
      g.own.segments = std::move(seg);
    } else {
      for (const char* name : {"spread-segments", "consolidate-segments"})
        if (const auto* f = c_.find(name)) return wrong(*f, "--segment beside it");
    }
    if (const auto* s = c_.find("switches")) {
      const std::size_t at = s->value.find('@');
      const auto n = parse_tasks(std::string_view{s->value}.substr(0, at));
      if (!n || *n == 0 || (at != std::string::npos && !parse_time(std::string_view{s->value}.substr(at + 1))))
        return wrong(*s, "a number of switches such as 1, or with the longest wait 1@10:00");
      if (*n > 1) job_.domains = *n;
      else g.own.within = {"leaf", s->line};
      assume(*s, "holds while Slurm waits for so few switches, and is given up after that");
    }
    return true;
  }
  void tell() {
    for (const auto& s : c_.settings)
      if (s.option->what == use::told && c_.find(s.option->name) == &s) assume(s, "read, but does not bind the placer");
  }

  const component& c_;
  const std::string& source_;
  job_spec& job_;
  bool first_;
  std::optional<input_error> fault_;
  std::optional<node_range> nodes_;
  std::optional<std::uint32_t> tasks_, per_node_, per_gpu_, cpus_, cpus_per_gpu_, least_cpus_, sockets_;
  std::optional<std::uint32_t> per_node_gpus_, per_task_gpus_, all_gpus_;
  std::size_t named_ = 0;  ///< nodes of --nodelist
  std::optional<bytes> memory_, memory_per_cpu_, memory_per_gpu_;
  placed_word model_;
  std::vector<named_count> mig_, other_, task_other_;
  bool node_other_ = false;  ///< whether --gres, which counts per node, names more than GPUs
};

}  // namespace sbatch_detail

/// Whether a text is a batch script: one of its first lines, before any command, begins with `#SBATCH`.
[[nodiscard]] inline bool looks_like_sbatch(std::string_view text) noexcept {
  for (int lines = 0; !text.empty() && lines < 1000; ++lines) {
    const std::size_t end = text.find('\n');
    const auto line = text.substr(0, end);
    if (line.starts_with("#SBATCH")) return true;
    const auto t = io_text::trim(line);
    if (!t.empty() && t.front() != '#') return false;
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return false;
}

/// Reads a batch script: one job, of which a heterogeneous one has a group per component. O(bytes).
[[nodiscard]] inline expected<std::vector<job_spec>, input_error> read_sbatch(const named_text& file,
                                                                              const reader_options& options = {}) {
  (void)options;
  auto script = sbatch_detail::read_script(file);
  if (!script) return unexpected{std::move(script).error()};
  job_spec job;
  const std::size_t slash = file.name.rfind('/');  // sbatch names a job after its script
  job.name = slash == std::string::npos ? file.name : file.name.substr(slash + 1);
  for (std::size_t i = 0; i < script->components.size(); ++i) {
    sbatch_detail::component_reader r{script->components[i], file.name, job, i == 0};
    if (!r.read_job()) return unexpected{r.fault()};
    auto g = r.read(script->components.size() == 1 ? "tasks" : "component-" + std::to_string(i));
    if (!g) return unexpected{std::move(g).error()};
    job.groups.push_back(std::move(*g));
  }
  if (job.groups.size() == 1) {
    // One component: its locality is that of the gang.
    auto& own = job.groups.front().own;
    if (!own.within.empty()) job.where = locality::required, job.level = std::move(own.within);
    job.segments = std::move(own.segments);
    own = {};
  }
  for (const std::size_t line : script->after_start)
    job.assumptions.push_back(file.name + ":" + std::to_string(line) +
                              ": #SBATCH after the first command is not read, as sbatch does not read it.");
  if (auto f = fault_of(job))
    return unexpected{input_error{file.name, script->components[0].line, std::move(f->first), std::move(f->second)}};
  std::vector<job_spec> out;
  out.push_back(std::move(job));
  return out;
}

}  // namespace berth
