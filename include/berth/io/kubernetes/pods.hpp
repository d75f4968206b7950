#pragma once
/// \file
/// Pods that run: what they hold, and where. Needs nlohmann-json and yaml-cpp (through `io/kubernetes/values.hpp`).
///
/// A pod counts with its containers' requests (limits where there are none), as kube-scheduler counts. Which GPUs it
/// has is not in it: they are held by number. Parts of GPUs: `pod_parts.hpp`; what it claims: `held_claims.hpp`.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/kubernetes/documents.hpp"
#include "berth/io/kubernetes/labels.hpp"
#include "berth/io/kubernetes/nodes.hpp"
#include "berth/io/kubernetes/pod_labels.hpp"
#include "berth/io/kubernetes/pod_parts.hpp"
#include "berth/io/kubernetes/values.hpp"
#include "berth/io/site_report.hpp"

namespace berth::kube_detail {

/// A pod that was given a node and has not ended.
[[nodiscard]] inline bool is_running_pod(const kube_object& o) noexcept {
  if (o.kind != "Pod" || !o.group.empty()) return false;
  const json_value* spec = o.value->find("spec");
  const json_value* node = spec == nullptr ? nullptr : spec->find("nodeName");
  if (node == nullptr || node->type != json_value::kind::string || node->text.empty()) return false;
  const json_value* status = o.value->find("status");
  const json_value* phase = status == nullptr ? nullptr : status->find("phase");
  return phase == nullptr || (phase->text != "Succeeded" && phase->text != "Failed");
}

/// What containers ask for.
struct asked_amounts {
  std::int64_t gpus = 0;
  cpu_millis cpu{};
  bytes memory{};
  pod_parts parts;
  bool unread = false;  ///< shares of GPUs in words of which it is not read what a running pod has
};
/// Shares of GPUs under other schedulers' names.
[[nodiscard]] inline bool is_unread_share(std::string_view key) noexcept {
  for (const std::string_view prefix :
       {"volcano.sh/vgpu-", "volcano.sh/gpu-", "koordinator.sh/gpu", "aliyun.com/gpu-mem", "tencent.com/vcuda-"})
    if (key.starts_with(prefix)) return true;
  return false;
}

[[nodiscard]] inline expected<asked_amounts, input_error> asked_by(const json_value& container, const kube_reader& in) {
  asked_amounts out;
  const auto resources = in.optional_member(container, "resources", json_value::kind::object);
  if (!resources) return unexpected{resources.error()};
  if (*resources == nullptr) return out;
  const auto requests = in.optional_member(**resources, "requests", json_value::kind::object);
  const auto limits = in.optional_member(**resources, "limits", json_value::kind::object);
  if (!requests) return unexpected{requests.error()};
  if (!limits) return unexpected{limits.error()};
  for (const json_value* list : {*limits, *requests}) {  // requests count where both are stated
    if (list == nullptr) continue;
    std::int64_t gpus = 0;
    bool stated = false;
    for (std::size_t i = 0; i < list->keys.size(); ++i) {
      const std::string_view key = list->keys[i];
      const json_value& v = list->items[i];
      if (key == "cpu") {
        const auto c = in.cpus(v, "cpu");
        if (!c) return unexpected{c.error()};
        out.cpu = *c;
      } else if (key == "memory") {
        const auto m = in.memory(v, "memory");
        if (!m) return unexpected{m.error()};
        out.memory = *m;
      } else if (const auto part = take_part(out.parts, key, v, in, list == *requests); !part) {
        return unexpected{part.error()};
      } else if (!*part) {
        bool gpu = false;
        for (const auto g : kube_labels::gpu_resources) gpu = gpu || key == g;
        if (!gpu) {
          out.unread = out.unread || is_unread_share(key);
          continue;
        }
        const auto n = in.count(v, key, max_devices_per_node);
        if (!n) return unexpected{n.error()};
        gpus += *n;
        stated = true;
      }
    }
    if (stated) out.gpus = gpus;
  }
  out.gpus = out.parts.add_shares(out.gpus);
  return out;
}

/// What a pod asks for, as kube-scheduler counts: its containers and those init containers that stay (restartPolicy
/// Always), or what is largest while it starts; amounts of the pod as a whole in their place (Kubernetes 1.34);
/// overhead.
[[nodiscard]] inline expected<asked_amounts, input_error> asked_by_pod(const json_value& spec, const kube_reader& in) {
  asked_amounts sum, staying;
  std::vector<std::pair<asked_amounts, bool>> starting;  // and whether it stays
  const auto add = [](asked_amounts& to, const asked_amounts& a) {
    to.gpus += a.gpus;
    to.cpu += a.cpu;
    to.memory += a.memory;
    to.parts.list.insert(to.parts.list.end(), a.parts.list.begin(), a.parts.list.end());
  };
  for (const std::string_view list : {"containers", "initContainers"}) {
    const auto containers = in.optional_member(spec, list, json_value::kind::array);
    if (!containers) return unexpected{containers.error()};
    if (*containers == nullptr) continue;
    if ((*containers)->items.size() > 1000) return in.error(**containers, "more than 1000 containers", "a pod");
    for (const auto& c : (*containers)->items) {
      auto a = asked_by(c, in);
      if (!a) return unexpected{a.error()};
      sum.unread = sum.unread || a->unread;
      if (list == "containers") {
        add(sum, *a);
      } else {
        const auto policy = in.optional_text(c, "restartPolicy");
        if (!policy) return unexpected{policy.error()};
        const bool stays = *policy == "Always";
        if (stays) add(sum, *a);
        starting.emplace_back(std::move(*a), stays);
      }
      if (sum.parts.list.size() > 1000) return in.error(c, "more than 1000 parts of GPUs", "a pod");
    }
  }
  const auto key_of = [](const held_part& p) { return p.profile + (p.share ? "/" : ""); };
  std::map<std::string, std::int64_t> have, stay;  // parts, all through and of what stays so far
  for (const held_part& p : sum.parts.list) ++have[key_of(p)];
  for (const auto& [a, stays] : starting) {
    auto now = stay;
    for (const held_part& p : a.parts.list) {
      if (++now[key_of(p)] <= have[key_of(p)]) continue;
      ++have[key_of(p)];
      sum.parts.list.push_back(p);
    }
    sum.gpus = std::max(sum.gpus, staying.gpus + a.gpus);
    sum.cpu = std::max(sum.cpu, staying.cpu + a.cpu);
    sum.memory = std::max(sum.memory, staying.memory + a.memory);
    if (stays) add(staying, a), stay = std::move(now);
  }
  const auto whole = asked_by(spec, in);
  if (!whole) return unexpected{whole.error()};
  if (whole->cpu.count() != 0) sum.cpu = whole->cpu;
  if (whole->memory.count() != 0) sum.memory = whole->memory;
  const auto overhead = in.optional_member(spec, "overhead", json_value::kind::object);
  if (!overhead) return unexpected{overhead.error()};
  if (*overhead == nullptr) return sum;
  if (const auto* v = (*overhead)->find("cpu")) {
    const auto c = in.cpus(*v, "cpu");
    if (!c) return unexpected{c.error()};
    sum.cpu += *c;
  }
  if (const auto* v = (*overhead)->find("memory")) {
    const auto m = in.memory(*v, "memory");
    if (!m) return unexpected{m.error()};
    sum.memory += *m;
  }
  return sum;
}

/// \pre is_running_pod(o)
[[nodiscard]] inline expected<void, input_error> read_running_pod(const kube_object& o, reading& r) {
  const json_value& spec = *o.value->find("spec");
  auto asked = asked_by_pod(spec, r.in);
  if (!asked) return unexpected{asked.error()};
  asked_amounts& sum = *asked;
  if (sum.unread)
    r.assume(
        "Shares of GPUs that running pods have by resources of Volcano, Koordinator, Aliyun or Tencent are not "
        "read; "
        "their GPUs count as free.");
  if (auto ok = read_annotated_parts(o, r, sum.gpus == 0, sum.parts.list); !ok) return ok;
  if (sum.parts.list.size() > 1000) return r.in.error(*o.value, "more than 1000 parts of GPUs", "a pod");
  std::string name = o.name;
  if (const json_value* meta = o.value->find("metadata"))
    if (const json_value* space = meta->find("namespace")) name = scalar_text(*space) + "/" + name;
  holding_report h;
  h.place = r.in.place(*o.value);
  h.job = name.empty() ? "pod at line " + std::to_string(o.value->line) : name;
  h.machine = spec.find("nodeName")->text;
  h.gpus = static_cast<std::uint32_t>(sum.gpus);
  h.cpu = sum.cpu;
  h.memory = sum.memory;
  h.parts = std::move(sum.parts.list);
  if (auto ok = read_pod_labels(o, r.in, h); !ok) return ok;
  if (h.gpus != 0 || h.cpu.count() != 0 || h.memory.count() != 0 || !h.parts.empty())
    r.out.held.push_back(std::move(h));
  else r.assume("Pods that run and request nothing hold nothing, and rules about other pods do not see them.");
  return {};
}

}  // namespace berth::kube_detail
