#pragma once
/// \file
/// The file of KAI's simulator of time-based fair share (`Nodes`, `Queues`, `Jobs`) as a queue tree. Needs yaml-cpp and
/// nlohmann-json.
///
/// GPUs are counted in thousandths, as in KAI; the nodes' GPUs are the capacity. Of a queue `Priority` (100 where
/// absent), `DeservedGPUs` (0) and `Weight` (1) are read. What jobs ask for is summed up in `notes`; cycles, window and
/// decay belong to the simulator. Source: kai-scheduler/KAI-Scheduler cmd/time-based-fairshare-simulator.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "berth/io/kubernetes/values.hpp"
#include "berth/io/quota/queue_file.hpp"

namespace berth {

/// Whether a document is such a file.
[[nodiscard]] inline bool is_kai_simulation(const json_value& document) noexcept {
  return document.type == json_value::kind::object && document.find("Queues") != nullptr &&
         document.find("Nodes") != nullptr;
}

/// Reads the queues. O(bytes).
[[nodiscard]] inline expected<queue_file, input_error> read_kai_simulation(const json_value& document,
                                                                           const std::string& source) {
  const kube_reader in{source};
  queue_file out;
  out.system = "kai";
  out.policy = "kai";
  out.tree.source = source;
  out.tree.rule = quota_rule::caps;
  out.tree.guarantees = guarantee_rule::as_given;
  out.tree.resources = {{"gpu", "", 1000}};
  const auto nodes = in.member(document, "Nodes", json_value::kind::array);
  const auto queues = in.member(document, "Queues", json_value::kind::array);
  const auto jobs = in.optional_member(document, "Jobs", json_value::kind::object);
  if (!nodes) return unexpected{nodes.error()};
  if (!queues) return unexpected{queues.error()};
  if (!jobs) return unexpected{jobs.error()};
  constexpr std::int64_t most = 1'000'000'000;
  quota_amount gpus = 0;
  for (const auto& n : (*nodes)->items) {
    const auto each = in.optional_integer(n, "GPUs", 0, 1'000'000), count = in.optional_integer(n, "Count", 0, most);
    if (!each) return unexpected{each.error()};
    if (!count) return unexpected{count.error()};
    gpus = quota_detail::add(gpus, each->value_or(0) * count->value_or(1));
  }
  const auto thousandths = quota_detail::multiply(gpus, 1000);
  if (thousandths == unlimited)
    return in.error(**nodes, std::to_string(gpus) + " GPUs", "amounts below 2^62 thousandths");
  out.tree.capacity = {thousandths};
  for (const auto& v : (*queues)->items) {
    queue_spec q;
    q.line = v.line;
    const auto name = in.text(v, "Name");
    const auto parent = in.optional_text(v, "Parent");
    const auto priority = in.optional_integer(v, "Priority", -most, most);
    if (!name) return unexpected{name.error()};
    if (!parent) return unexpected{parent.error()};
    if (!priority) return unexpected{priority.error()};
    q.name = *name;
    q.parent = parent->value_or("");
    q.priority = static_cast<std::int32_t>(priority->value_or(100));
    q.quota.resize(1);
    q.quota[0].weight = 1000;
    for (const bool weight : {false, true}) {
      const char* key = weight ? "Weight" : "DeservedGPUs";
      const json_value* n = v.find(key);
      if (n == nullptr || n->type == json_value::kind::null) continue;
      const bool number = n->type == json_value::kind::integer || n->type == json_value::kind::real;
      if (!number || !(n->real >= 0 && n->real <= 1e12))
        return in.error(*n, std::string{key} + " of queue " + io_text::quoted(*name) + ": " + n->described(),
                        "a number from 0 to 10^12");
      const auto a = static_cast<quota_amount>(n->real * 1000 + 0.5);
      if (weight) q.quota[0].weight = a;
      else q.quota[0].guarantee = a;
    }
    out.tree.queues.push_back(std::move(q));
  }
  for (std::size_t i = 0; *jobs != nullptr && i < (*jobs)->keys.size(); ++i) {
    const auto& j = (*jobs)->items[i];
    quota_amount all = 1;
    for (const char* key : {"GPUs", "NumPods", "NumJobs"}) {
      const auto n = in.optional_integer(j, key, 0, most);
      if (!n) return unexpected{n.error()};
      all = quota_detail::multiply(all, n->value_or(1));
    }
    if (all != unlimited)
      out.notes.push_back("jobs of queue " + io_text::quoted((*jobs)->keys[i]) + " ask for " + std::to_string(all) +
                          " GPUs in all: not read, as demand is no part of the queues");
  }
  return out;
}

}  // namespace berth
