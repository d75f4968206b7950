#pragma once
/// \file
/// Devices that a pod claims through dynamic resource allocation: ResourceClaim and ResourceClaimTemplate, with the
/// selectors that name a MIG profile or a product.
///
/// Source: `resource.k8s.io/v1` (and v1beta1, whose requests have no `exactly`); the device classes of NVIDIA's DRA
/// driver (gpu.nvidia.com, mig.nvidia.com, imex.nvidia.com, compute-domain-*.nvidia.com).

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/job/kubernetes/context.hpp"

namespace berth::kube_job {

/// The literal that an attribute is compared with: `….profile == '1g.5gb'`; "" when the expression does not say so.
[[nodiscard]] inline std::string compared_with(std::string_view expression, std::string_view attribute) {
  std::size_t at = expression.find(attribute);
  if (at == std::string_view::npos) return {};
  at += attribute.size();
  const auto blanks = [&] {
    while (at < expression.size() && (io_text::is_blank(expression[at]) || expression[at] == '\n')) ++at;
  };
  blanks();
  if (expression.substr(at, 2) != "==") return {};
  at += 2;
  blanks();
  if (at >= expression.size() || (expression[at] != '\'' && expression[at] != '"')) return {};
  const std::size_t end = expression.find(expression[at], at + 1);
  if (end == std::string_view::npos) return {};
  return std::string{expression.substr(at + 1, end - at - 1)};
}

/// What one selector says.
struct selection {
  std::string profile, product, type;
  std::vector<std::string> unread;  ///< expressions that say something else
};
inline void read_selectors(const context& c, const json_value* request, selection& out) {
  const auto* list = c.array(request, "selectors");
  if (list == nullptr) return;
  for (const auto& s : list->items) {
    const std::string expression = c.text(c.object(&s, "cel"), "expression");
    std::size_t terms = 1;
    for (std::size_t at = expression.find("&&"); at != std::string::npos; at = expression.find("&&", at + 2)) ++terms;
    std::size_t read = expression.find("device.driver ==") != std::string::npos ? 1 : 0;
    const auto found = [&](std::string_view attribute, std::string& to) {
      if (std::string v = compared_with(expression, attribute); !v.empty()) to = std::move(v), ++read;
    };
    found(".profile", out.profile);
    found(".productName", out.product);
    found(".type", out.type);
    if (read < terms || expression.find("||") != std::string::npos) out.unread.push_back(expression);
  }
}

/// Adds the devices of one claim to a group of pods that each have it for themselves.
inline void put_claim(const context& c, const json_value& spec, const std::string& space, job_spec& job,
                      group_spec& g) {
  const auto* requests = c.array(c.object(&spec, "devices"), "requests");
  if (requests == nullptr) return;
  for (const auto& r : requests->items) {
    const json_value* exact = c.object(&r, "exactly");
    if (const auto* choices = c.array(&r, "firstAvailable"); choices != nullptr && !choices->items.empty()) {
      exact = &choices->items.front();
      if (choices->items.size() > 1)
        c.assume(job, r, "of the alternatives of a device request only the first is asked for");
    }
    if (exact == nullptr) exact = &r;
    const std::string device_class = c.text(exact, "deviceClassName");
    if (device_class.empty()) c.fail(r, "a device request without deviceClassName", "the name of a class");
    selection s;
    read_selectors(c, exact, s);
    if (const auto* k = c.find("DeviceClass", device_class, space))
      if (const auto* of_class = c.object(k->value, "spec")) read_selectors(c, of_class, s);
    const std::int64_t count = c.integer(exact, "count", 1, max_tasks).value_or(1);
    const std::string mode = c.text(exact, "allocationMode");
    if (c.flag(exact, "adminAccess")) continue;  // looks at devices that others hold
    if (!mode.empty() && mode != "ExactCount") {
      g.other.push_back({"all devices of class " + device_class, 1});
      continue;
    }
    // Capacity that may be shared: so much of the device's memory and no more.
    if (const auto* part = c.object(c.object(exact, "capacity"), "requests"); part != nullptr && !part->keys.empty()) {
      bool read =
          part->keys.size() == 1 && !g.share && (part->keys[0] == "memory" || part->keys[0].ends_with("/memory"));
      if (read) {
        const bytes m = c.need(c.in().memory(part->items[0], part->keys[0]));
        read = m.count() > 0;
        if (read) g.share = gpu_share_spec{static_cast<std::uint32_t>(count), 0, m};
      }
      if (!read) g.other.push_back({"a part of " + device_class, count});
      continue;
    }
    const bool imex = device_class.find("imex") != std::string::npos || device_class.starts_with("compute-domain");
    const bool mig = device_class.find("mig") != std::string::npos || s.type == "mig" || !s.profile.empty();
    const bool gpu = device_class.find("gpu") != std::string::npos || s.type == "gpu";
    if (imex) {
      if (g.own.within.empty()) g.own.within = "nvidia.com/gpu.clique";
      c.assume(job, r, "pods that share an IMEX channel or compute domain must lie in one NVLink domain");
    } else if (mig && !s.profile.empty()) {
      bool known = false;
      for (auto& m : g.mig)
        if (m.name == s.profile) known = true, m.count += count;
      if (!known) g.mig.push_back({s.profile, count});
    } else if (gpu && !mig) {
      if (count > max_tasks - g.gpus) c.fail(r, "more GPUs than any machine has", "a smaller count");
      g.gpus += static_cast<std::uint32_t>(count);
      if (!s.product.empty()) {
        if (!g.gpu_model.empty() && g.gpu_model != s.product)
          c.fail(r, "GPUs of two products in one pod", "one product");
        g.gpu_model = s.product;
      }
    } else {
      g.other.push_back({device_class, count});
    }
    for (auto& e : s.unread) g.other.push_back({"devices with " + std::move(e), 1});
  }
}

/// Adds what `spec.resourceClaims` of a pod claims.
/// \param space  namespace of the pod
inline void put_claims(const context& c, const json_value* pod_spec, const std::string& space, job_spec& job,
                       group_spec& g) {
  const auto* claims = c.array(pod_spec, "resourceClaims");
  if (claims == nullptr) return;
  // Of a pod that runs it is enough to know what its claims were given; that is no matter of the job's.
  const bool runs = !c.text(pod_spec, "nodeName").empty();
  const auto missing = [&](const json_value& claim, const std::string& what, const char* wanted) {
    if (!runs) c.lack(claim, what, wanted);
    c.assume(job, claim, what + " is not in the file; were the pod placed anew, what it claims would not be asked for");
  };
  for (const auto& claim : claims->items) {
    const json_value* source = c.object(&claim, "source");  // until Kubernetes 1.30
    if (source == nullptr) source = &claim;
    const std::string name = c.text(source, "resourceClaimName");
    const std::string from = c.text(source, "resourceClaimTemplateName");
    if (name.empty() && from.empty())
      c.fail(claim, "a claim without resourceClaimName or resourceClaimTemplateName", "one of them");
    if (!from.empty()) {
      const auto* t = c.find("ResourceClaimTemplate", from, space);
      if (t == nullptr) {
        // A ComputeDomain makes a template of its own.
        c.each_of("ComputeDomain", [&](const kube_object& o) {
          if (c.text(c.object(c.object(c.object(o.value, "spec"), "channel"), "resourceClaimTemplate"), "name") == from)
            t = &o;
        });
        if (t == nullptr) {
          missing(claim, "ResourceClaimTemplate " + io_text::quoted(from), "the template beside the pods that use it");
          continue;
        }
        if (g.own.within.empty()) g.own.within = "nvidia.com/gpu.clique";
        continue;
      }
      if (const auto* spec = c.object(c.object(t->value, "spec"), "spec")) put_claim(c, *spec, space, job, g);
      continue;
    }
    const auto* o = c.find("ResourceClaim", name, space);
    if (o == nullptr) {
      missing(claim, "ResourceClaim " + io_text::quoted(name), "the claim beside the pods that use it");
      continue;
    }
    const auto* spec = c.object(o->value, "spec");
    if (spec == nullptr) continue;
    group_spec shared;
    put_claim(c, *spec, space, job, shared);
    if (!shared.own.within.empty() && g.own.within.empty()) g.own.within = shared.own.within;
    if (shared.gpus == 0 && shared.mig.empty() && shared.other.empty()) continue;
    if (g.wanted == 1) {
      g.gpus += shared.gpus;
      g.gpu_model = shared.gpu_model.empty() ? g.gpu_model : shared.gpu_model;
      g.mig.insert(g.mig.end(), shared.mig.begin(), shared.mig.end());
      g.other.insert(g.other.end(), shared.other.begin(), shared.other.end());
    } else {
      g.other.push_back({"the devices of the shared claim " + name, 1});
    }
  }
}

}  // namespace berth::kube_job
