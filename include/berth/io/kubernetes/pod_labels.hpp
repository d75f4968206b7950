#pragma once
/// \file
/// What rules of spreading see of pods that run: their labels, and whom their required anti-affinity keeps away. Needs
/// nlohmann-json and yaml-cpp (through `io/kubernetes/values.hpp`).

#include <string>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/job/kubernetes/context.hpp"
#include "berth/io/job/kubernetes/pod_rules.hpp"
#include "berth/io/kubernetes/documents.hpp"
#include "berth/io/kubernetes/values.hpp"
#include "berth/io/site_report.hpp"

namespace berth::kube_detail {

/// Sets `labels` and `keeps_away`.
[[nodiscard]] inline expected<void, input_error> read_pod_labels(const kube_object& o, const kube_reader& in,
                                                                 holding_report& h) {
  const kube_documents none{in.source(), {}, {}};
  const std::vector<const kube_documents*> nothing;
  const kube_job::context c{none, nothing};
  const std::vector<kube_job::given_label> given;
  try {
    const json_value* metadata = c.object(o.value, "metadata");
    kube_job::own_labels own{c.object(metadata, "labels"), &given, c.text(metadata, "namespace")};
    if (own.space.empty()) own.space = "default";
    h.labels = kube_job::labels_of(c, own);
    const json_value* affinity = c.object(c.object(o.value, "spec"), "affinity");
    if (const auto* hard =
            c.array(c.object(affinity, "podAntiAffinity"), "requiredDuringSchedulingIgnoredDuringExecution"))
      for (const auto& t : hard->items) {
        kube_job::pod_rules rules;
        job_spec unsaid;
        kube_job::read_affinity_term(c, t, own, false, 0, unsaid, rules);
        for (auto& s : rules.required) h.keeps_away.push_back(std::move(s));
      }
  } catch (kube_job::job_fault& f) {
    return unexpected{std::move(f.what)};
  }
  return {};
}

}  // namespace berth::kube_detail
