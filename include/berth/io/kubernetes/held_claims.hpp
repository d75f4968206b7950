#pragma once
/// \file
/// GPUs that pods hold through dynamic resource allocation: ResourceClaims with an allocation. Needs nlohmann-json.
///
/// A claim is held once, however many pods share it: by the pod that reserves it where that is one of the file, else by
/// itself. A device of a driver for GPUs counts as a whole one; MIG instances and other devices are named and not kept.
/// Source: `resource.k8s.io/v1` (ResourceClaimStatus, PodStatus.resourceClaimStatuses); NVIDIA's driver names its
/// devices gpu-0 and gpu-0-mig-….

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/kubernetes/documents.hpp"
#include "berth/io/kubernetes/nodes.hpp"
#include "berth/io/kubernetes/values.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/text.hpp"

namespace berth::kube_detail {

/// Gathers claims and the pods that run, and gives the pods what they claim.
class held_claims {
 public:
  explicit held_claims(reading& r) : r_{r} {}

  /// \pre is_running_pod(pod), and it was read. \param holds  it is the last of `site_report::held`
  void add_pod(const kube_object& pod, bool holds) {
    const std::string name = pod.space() + "/" + pod.name;
    const json_value& spec = *pod.value->find("spec");
    pods_[name] = {spec.find("nodeName")->text, holds ? r_.out.held.size() : 0};
    for (const json_value* list :
         {list_of(&spec, "resourceClaims"), list_of(pod.value->find("status"), "resourceClaimStatuses")}) {
      if (list == nullptr) continue;
      for (const auto& c : list->items)
        if (const std::string name_of = word(&c, "resourceClaimName"); !name_of.empty())
          needed_.insert(pod.space() + "/" + name_of);
      unnamed_ = unnamed_ || (list == list_of(&spec, "resourceClaims") && !list->items.empty() &&
                              list_of(pod.value->find("status"), "resourceClaimStatuses") == nullptr &&
                              word(&list->items.front(), "resourceClaimName").empty());
    }
  }
  /// `kind: ResourceClaim`.
  [[nodiscard]] expected<void, input_error> add_claim(const kube_object& o) {
    const std::string name = o.space() + "/" + o.name;
    known_.insert(name);
    const auto status = r_.in.optional_member(*o.value, "status", json_value::kind::object);
    if (!status) return unexpected{status.error()};
    if (*status == nullptr) return {};
    const auto given = r_.in.optional_member(**status, "allocation", json_value::kind::object);
    if (!given) return unexpected{given.error()};
    if (*given == nullptr) return {};
    claim c{r_.in.place(*o.value), name, {}, node_of(**given), 0};
    const json_value* devices = (*given)->find("devices");
    if (const json_value* results = list_of(devices, "results"))
      for (const auto& d : results->items) {
        const std::string driver = word(&d, "driver"), device = word(&d, "device");
        const json_value* looks_on = d.find("adminAccess");  // at devices that others hold
        if (looks_on != nullptr && looks_on->type == json_value::kind::boolean && looks_on->boolean) continue;
        if (driver.starts_with("gpu.") && device.find("mig") == std::string::npos) ++c.gpus;
        else not_kept_.insert(driver.starts_with("gpu.") ? "MIG instances of " + driver : driver);
      }
    if (c.gpus > max_devices_per_node)
      return r_.in.error(*o.value, "a claim of " + std::to_string(c.gpus) + " GPUs",
                         "at most " + std::to_string(max_devices_per_node));
    if (const json_value* users = list_of(*status, "reservedFor"); users != nullptr && !users->items.empty())
      c.pod = o.space() + "/" + word(&users->items.front(), "name");
    if (c.gpus != 0) claims_.push_back(std::move(c));
    return {};
  }
  void finish() {
    for (claim& c : claims_) {
      const auto pod = pods_.find(c.pod);
      if (pod != pods_.end() && pod->second.second != 0) {
        r_.out.held[pod->second.second - 1].gpus += c.gpus;
        continue;
      }
      holding_report h;
      h.place = c.place;
      h.job = pod != pods_.end() ? c.pod : "claim " + c.name;
      h.machine = pod != pods_.end() ? pod->second.first : c.node;
      h.gpus = c.gpus;
      if (h.machine.empty()) r_.assume("Claims that do not say on which node their GPUs are hold nothing.");
      else r_.out.held.push_back(std::move(h));
    }
    if (!not_kept_.empty()) {
      std::string names;
      for (const auto& n : not_kept_) names += (names.empty() ? "" : ", ") + n;
      r_.assume("Devices that claims hold and that are no whole GPUs are not kept: " + names + ".");
    }
    bool lost = unnamed_;
    for (const auto& n : needed_) lost = lost || !known_.contains(n);
    if (lost)
      r_.assume(
          "Pods run with ResourceClaims that are not in their file (kubectl get pods,resourceclaims -A -o yaml has "
          "both); GPUs that they claim count as free.");
  }

 private:
  struct claim {
    input_place place;
    std::string name, pod, node;
    std::uint32_t gpus = 0;
  };
  [[nodiscard]] static std::string word(const json_value* v, std::string_view key) {
    const json_value* m = v == nullptr ? nullptr : v->find(key);
    return m != nullptr && m->type == json_value::kind::string ? m->text : std::string{};
  }
  [[nodiscard]] static const json_value* list_of(const json_value* v, std::string_view key) {
    const json_value* m = v == nullptr ? nullptr : v->find(key);
    return m != nullptr && m->type == json_value::kind::array ? m : nullptr;
  }
  /// The only node that the selector of an allocation names; "" for none.
  [[nodiscard]] static std::string node_of(const json_value& allocation) {
    const json_value* terms = list_of(allocation.find("nodeSelector"), "nodeSelectorTerms");
    if (terms == nullptr || terms->items.size() != 1) return {};
    for (const char* member : {"matchFields", "matchExpressions"})
      if (const json_value* all = list_of(&terms->items[0], member))
        for (const auto& e : all->items) {
          const std::string key = word(&e, "key");
          const json_value* values = list_of(&e, "values");
          if ((key == "metadata.name" || key == "kubernetes.io/hostname") && values != nullptr &&
              values->items.size() == 1)
            return scalar_text(values->items[0]);
        }
    return {};
  }

  reading& r_;
  std::map<std::string, std::pair<std::string, std::size_t>> pods_;  // node, and 1 + its holding; 0 for none
  std::vector<claim> claims_;
  std::set<std::string> needed_, known_, not_kept_;
  bool unnamed_ = false;
};

}  // namespace berth::kube_detail
