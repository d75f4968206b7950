#pragma once
/// \file
/// SparkApplications of the Spark operator: a driver and its executors.
///
/// Source: `sparkoperator.k8s.io/v1beta2` (cores, coreRequest, memory as Java writes it, memoryOverhead, gpu,
/// dynamicAllocation); Spark's own rule for the overhead: a tenth of the memory, or what memoryOverheadFactor says, and
/// at least 384 MiB.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "berth/io/job/kubernetes/context.hpp"
#include "berth/io/job/kubernetes/controllers.hpp"
#include "berth/io/job/kubernetes/pod.hpp"

namespace berth::kube_job {

/// `512m`, `2g`, `1024` (MiB): the units are powers of 1024, whatever their case.
[[nodiscard]] inline std::int64_t java_memory(const context& c, const json_value& v, std::string_view key) {
  const std::string word = scalar_text(v);
  std::string_view s = word;
  if (s.size() > 1 && io_text::lower(s.back()) == 'b') s.remove_suffix(1);
  if (s.size() > 1 && io_text::lower(s.back()) == 'i') s.remove_suffix(1);
  int shift = 20;
  if (!s.empty() && !io_text::is_digit(s.back())) {
    const std::size_t at = std::string_view{"kmgt"}.find(io_text::lower(s.back()));
    shift = at == std::string_view::npos ? 0 : 10 * (static_cast<int>(at) + 1);
    s.remove_suffix(1);
  }
  const auto n = io_text::parse_count(s, static_cast<std::uint64_t>(io_text::max_memory) >> shift);
  if (!n || shift == 0) c.fail(v, std::string{key} + ": " + v.described(), "memory such as 512m or 2g");
  return static_cast<std::int64_t>(*n << shift);
}

inline void add_spark_pods(const context& c, const json_value& pods, group_spec g, std::int64_t factor, draft& d) {
  g.cpu = cpus(1);
  if (const auto* v = pods.find("cores")) g.cpu = c.need(c.in().cpus(*v, "cores"));
  if (const auto* v = pods.find("coreRequest")) g.cpu = c.need(c.in().cpus(*v, "coreRequest"));
  const auto* memory = pods.find("memory");
  std::int64_t m = memory == nullptr ? std::int64_t{1} << 30 : java_memory(c, *memory, "memory");
  if (memory == nullptr) c.assume(d.job, pods, "no memory is stated; Spark's default of 1 GiB is taken");
  const auto* over = pods.find("memoryOverhead");
  if (over != nullptr) m += java_memory(c, *over, "memoryOverhead");
  else if (factor != 0) m += std::max(m / 1000 * factor + m % 1000 * factor / 1000, std::int64_t{384} << 20);
  g.memory = bytes{m};
  if (const auto* gpu = c.object(&pods, "gpu")) g.gpus = c.tasks(gpu, "quantity").value_or(0);
  put_node_choice(c, &pods, pods, d, g);
  d.roles.emplace_back();
  d.job.groups.push_back(std::move(g));
}

[[nodiscard]] inline draft read_spark(const context& c, const kube_object& o) {
  draft d = begin(c, o);
  const json_value& spec = c.needed(*o.value, "spec", json_value::kind::object);
  std::int64_t factor = c.text(&spec, "type") == "Python" || c.text(&spec, "type") == "R" ? 400 : 100;  // thousandths
  if (const std::string f = c.text(&spec, "memoryOverheadFactor"); !f.empty()) {
    const auto t = io_text::parse_thousandths(f, 100'000);
    if (!t)
      c.fail(*spec.find("memoryOverheadFactor"), "memoryOverheadFactor: " + io_text::quoted(f), "a factor such as 0.1");
    factor = *t;
  }
  if (const auto* b = c.object(&spec, "batchSchedulerOptions")) {
    if (std::string q = c.text(b, "queue"); !q.empty()) d.job.queue = q;
    d.job.priority_class = c.text(b, "priorityClassName");
  }
  group_spec driver;
  driver.name = "driver";
  add_spark_pods(c, c.needed(spec, "driver", json_value::kind::object), std::move(driver), factor, d);
  const json_value& executors = c.needed(spec, "executor", json_value::kind::object);
  group_spec g;
  g.name = "executor";
  g.wanted = c.tasks(&executors, "instances", 1).value_or(1);
  g.minimum = g.wanted;
  if (const auto* scale = c.object(&spec, "dynamicAllocation"); scale != nullptr && c.flag(scale, "enabled")) {
    const std::uint32_t least = c.tasks(scale, "minExecutors").value_or(0);
    g.wanted = std::max({g.wanted, least, c.tasks(scale, "initialExecutors").value_or(0)});
    g.minimum = std::max(least, 1U);
    if (const auto most = c.tasks(scale, "maxExecutors", 1); most && *most >= g.wanted) g.most = *most;
  }
  add_spark_pods(c, executors, std::move(g), factor, d);
  return d;
}

}  // namespace berth::kube_job
