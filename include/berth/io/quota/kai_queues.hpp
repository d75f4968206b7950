#pragma once
/// \file
/// KAI's Queue objects (scheduling.run.ai/v2) as a queue tree. Needs yaml-cpp and nlohmann-json.
///
/// Units as KAI counts them: GPUs in thousandths (shares are whole GPUs), CPUs in millicores, memory in megabytes of
/// 10^6 bytes, kept in bytes. -1 is no limit, and as a quota everything there is; a missing quota is 0, a missing
/// weight 1, a missing priority 100 (`DefaultQueuePriority` of KAI's pkg/scheduler/api/queue_info).

#include <map>
#include <string>
#include <utility>

#include "berth/io/kubernetes/documents.hpp"
#include "berth/io/kubernetes/values.hpp"
#include "berth/io/quota/queue_file.hpp"

namespace berth {

[[nodiscard]] inline bool holds_kai_queues(const kube_documents& d) noexcept {
  for (const auto& o : d.objects)
    if (o.group == "scheduling.run.ai" && o.kind == "Queue") return true;
  return false;
}

/// Reads the Queues of a file.
[[nodiscard]] inline expected<queue_file, input_error> read_kai_queues(const kube_documents& d) {
  const kube_reader in{d.source};
  queue_file out;
  out.system = "kai";
  out.policy = "kai";
  out.tree.source = d.source;
  out.tree.rule = quota_rule::caps;
  out.tree.guarantees = guarantee_rule::as_given;
  out.tree.resources = {{"gpu", "", 1000}, {"cpu", "", 1}, {"memory", "", 1}};
  const std::pair<const char*, double> kinds[] = {{"gpu", 1000}, {"cpu", 1}, {"memory", 1e6}};
  std::map<std::string, std::size_t> ignored;
  for (const auto& o : d.objects) {
    if (o.group != "scheduling.run.ai" || o.kind != "Queue") {
      ++ignored[o.kind.empty() ? "objects without a kind" : o.kind];
      continue;
    }
    const std::string who = "queue " + io_text::quoted(o.name);
    const auto spec = in.optional_member(*o.value, "spec", json_value::kind::object);
    if (!spec) return unexpected{spec.error()};
    queue_spec q;
    q.name = o.name;
    q.line = o.value->line;
    q.quota.resize(3);
    for (auto& k : q.quota) k.weight = 1000;
    q.priority = 100;
    if (*spec != nullptr) {
      const auto parent = in.optional_text(**spec, "parentQueue");
      const auto priority = in.optional_integer(**spec, "priority", -1'000'000'000, 1'000'000'000);
      const auto resources = in.optional_member(**spec, "resources", json_value::kind::object);
      if (!parent) return unexpected{parent.error()};
      if (!priority) return unexpected{priority.error()};
      if (!resources) return unexpected{resources.error()};
      q.parent = parent->value_or("");
      q.priority = static_cast<std::int32_t>(priority->value_or(100));
      if (*resources != nullptr)
        if (auto ok = in.only_members(**resources, "gpu cpu memory", "the resources of " + who); !ok)
          return unexpected{std::move(ok).error()};
      for (std::size_t r = 0; r < 3 && *resources != nullptr; ++r) {
        const auto kind = in.optional_member(**resources, kinds[r].first, json_value::kind::object);
        if (!kind) return unexpected{kind.error()};
        if (*kind == nullptr) continue;
        if (auto ok =
                in.only_members(**kind, "quota limit overQuotaWeight", std::string{kinds[r].first} + " of " + who);
            !ok)
          return unexpected{std::move(ok).error()};
        const std::pair<const char*, double> fields[] = {
            {"quota", kinds[r].second}, {"limit", kinds[r].second}, {"overQuotaWeight", 1000}};
        for (const auto& [key, scale] : fields) {
          const json_value* v = (*kind)->find(key);
          if (v == nullptr || v->type == json_value::kind::null) continue;
          const bool number = v->type == json_value::kind::integer || v->type == json_value::kind::real;
          const bool weight = key == fields[2].first;
          if (!number || !(v->real >= 0 || (v->real == -1 && !weight)) || v->real * scale >= 4e18)
            return in.error(*v, std::string{key} + " of " + who + ": " + v->described(),
                            weight ? "a number from 0" : "a number from 0, or -1 for no limit");
          const auto amount = v->real < 0 ? unlimited : static_cast<quota_amount>(v->real * scale + 0.5);
          if (weight) q.quota[r].weight = amount;
          else if (key == fields[1].first) q.quota[r].cap = amount;
          else q.quota[r].guarantee = quota_detail::least(amount, max_quota);
        }
      }
    }
    out.tree.queues.push_back(std::move(q));
  }
  for (const auto& i : ignored) out.notes.push_back(io_text::counted(i.second, i.first) + " not read: not a queue");
  return out;
}

}  // namespace berth
