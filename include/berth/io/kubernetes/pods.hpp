#pragma once
/// \file
/// Pods that run: what they hold, and where. Needs nlohmann-json and yaml-cpp (through `io/kubernetes/values.hpp`).
///
/// A pod counts with its containers' requests (limits where there are none), or with its largest init container, as
/// kube-scheduler counts. Which GPUs it has is not in it: they are held by number. Parts of GPUs: `pod_parts.hpp`.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

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

/// \pre is_running_pod(o)
[[nodiscard]] inline expected<void, input_error> read_running_pod(const kube_object& o, reading& r) {
  const json_value& spec = *o.value->find("spec");
  asked_amounts sum, largest;
  for (const std::string_view list : {"containers", "initContainers"}) {
    const auto containers = r.in.optional_member(spec, list, json_value::kind::array);
    if (!containers) return unexpected{containers.error()};
    if (*containers == nullptr) continue;
    if ((*containers)->items.size() > 1000) return r.in.error(**containers, "more than 1000 containers", "a pod");
    for (const auto& c : (*containers)->items) {
      const auto a = asked_by(c, r.in);
      if (!a) return unexpected{a.error()};
      if (a->unread)
        r.assume(
            "Shares of GPUs that running pods have by resources of Volcano, Koordinator, Aliyun or Tencent are not "
            "read; "
            "their GPUs count as free.");
      if (list == "containers") {
        for (const held_part& p : a->parts.list) sum.parts.list.push_back(p);
        sum.gpus += a->gpus;
        sum.cpu += a->cpu;
        sum.memory += a->memory;
      } else {
        if (a->gpus > largest.gpus) largest.gpus = a->gpus;
        if (a->cpu > largest.cpu) largest.cpu = a->cpu;
        if (a->memory > largest.memory) largest.memory = a->memory;
      }
    }
  }
  if (largest.gpus > sum.gpus) sum.gpus = largest.gpus;
  if (largest.cpu > sum.cpu) sum.cpu = largest.cpu;
  if (largest.memory > sum.memory) sum.memory = largest.memory;
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
