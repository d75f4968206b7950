#pragma once
/// \file
/// KAI's Queue objects (scheduling.run.ai/v2) as a queue tree. Needs yaml-cpp and nlohmann-json.
///
/// Units as KAI counts them: GPUs in thousandths (shares are whole GPUs), CPUs in millicores, memory in megabytes of
/// 10^6 bytes, kept in bytes. -1 is no limit, and as a quota everything there is. A missing quota, limit or over-quota
/// weight is 0, as the CRD has no defaults and getQueueQuota (pkg/scheduler/api/queue_info/queue_info.go) takes over
/// what is not there: of a resource without a limit a queue gets nothing, which `notes` says. A queue without
/// `resources` is an error: KAI's webhook refuses it (pkg/apis/scheduling/v2/queue_webhook.go). A missing priority is
/// 100 (`DefaultQueuePriority`). Source: NVIDIA/KAI-Scheduler of March 2026.

#include <cstddef>
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
  struct unstated {
    std::size_t queues = 0;
    std::string first;
  };
  unstated limits[3], weights[3];
  for (const auto& o : d.objects) {
    if (o.group != "scheduling.run.ai" || o.kind != "Queue") {
      ++ignored[o.kind.empty() ? "objects without a kind" : o.kind];
      continue;
    }
    const std::string who = "queue " + io_text::quoted(o.name);
    const auto spec = in.member(*o.value, "spec", json_value::kind::object);
    if (!spec) return unexpected{spec.error()};
    const auto parent = in.optional_text(**spec, "parentQueue");
    const auto priority = in.optional_integer(**spec, "priority", -1'000'000'000, 1'000'000'000);
    const auto resources = in.optional_member(**spec, "resources", json_value::kind::object);
    if (!parent) return unexpected{parent.error()};
    if (!priority) return unexpected{priority.error()};
    if (!resources) return unexpected{resources.error()};
    if (*resources == nullptr)
      return in.error(**spec, "no resources of " + who, "resources: a mapping of gpu, cpu and memory, as KAI requires");
    if (auto ok = in.only(**resources, "gpu cpu memory", "the resources of " + who); !ok)
      return unexpected{std::move(ok).error()};
    queue_spec q;
    q.name = o.name;
    q.line = o.value->line;
    q.parent = parent->value_or("");
    q.priority = static_cast<std::int32_t>(priority->value_or(100));
    q.quota.resize(3);
    for (std::size_t r = 0; r < 3; ++r) {
      auto& mine = q.quota[r];
      mine.cap = 0;
      mine.weight = 0;
      bool limited = false, weighed = false;
      const auto kind = in.optional_member(**resources, kinds[r].first, json_value::kind::object);
      if (!kind) return unexpected{kind.error()};
      if (*kind != nullptr) {
        if (auto ok = in.only(**kind, "quota limit overQuotaWeight", std::string{kinds[r].first} + " of " + who); !ok)
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
          if (weight) mine.weight = amount, weighed = true;
          else if (key == fields[1].first) mine.cap = amount, limited = true;
          else mine.guarantee = quota_detail::least(amount, max_quota);
        }
      }
      const auto count = [&](unstated& u) {
        if (++u.queues == 1) u.first = who;
      };
      if (!limited) count(limits[r]);
      else if (!weighed && mine.cap > mine.guarantee) count(weights[r]);
    }
    out.tree.queues.push_back(std::move(q));
  }
  for (std::size_t r = 0; r < 3; ++r) {
    const std::string what = kinds[r].first;
    const auto say = [&](const unstated& u, const char* unsaid, const char* so) {
      if (u.queues == 0) return;
      out.notes.push_back(u.first + (u.queues > 1 ? " and " + io_text::counted(u.queues - 1, "other queue") : "") +
                          (u.queues > 1 ? " state" : " states") + " no " + unsaid + " of " + what + ": KAI counts 0, " +
                          so);
    };
    say(limits[r], "limit", "so that nothing of it may be used there; -1 is no limit");
    say(weights[r], "overQuotaWeight", "so that nothing beyond the quota is shared out there");
  }
  for (const auto& i : ignored) out.notes.push_back(io_text::counted(i.second, i.first) + " not read: not a queue");
  return out;
}

}  // namespace berth
