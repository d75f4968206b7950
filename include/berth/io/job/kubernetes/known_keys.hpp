#pragma once
/// \file
/// Labels and annotations of the schedulers whose words about placement berth reads. A misspelt one does nothing in
/// the cluster either, so that it is no error; but nobody wants that, and berth says so. So it does for what such a
/// scheduler may read and berth does not.
///
/// Sources: the constants of Kueue 0.19, LeaderWorkerSet 0.10, JobSet 0.12, Koordinator 1.8, Volcano 1.15, KAI of March
/// 2026 and the scheduler plugins' PodGroup, in the packages of their APIs.

#include <cstddef>
#include <string>
#include <string_view>

#include "berth/io/close_word.hpp"
#include "berth/io/job/kubernetes/context.hpp"

namespace berth::kube_job {

/// The keys below one prefix.
struct key_family {
  std::string_view prefix;
  std::string_view placing;  ///< those that berth reads: where pods go, how many start together
  std::string_view other;    ///< those that make no difference to that
};
inline constexpr key_family key_families[] = {
    {"kueue.x-k8s.io",
     "pod-group-name pod-group-total-count podset-required-topology podset-preferred-topology "
     "podset-slice-required-topology podset-slice-size "
     "podset-slice-required-topology-constraints podset-group-name job-min-parallelism queue-name priority-class",
     "podset-unconstrained-topology managed managed-by job-uid podset tas workload admission admission-gated-by "
     "priority-boost elastic-job max-exec-time-seconds prebuilt-workload-name safe-to-forcefully-delete "
     "safe-to-forcefully-terminate pod-index-offset role-hash pod-group-pod-index pod-group-pod-index-label "
     "pod-group-fast-admission pod-group-serving retriable-in-group pod-suspending-parent is-group-workload "
     "local-queue-name cluster-queue-name auto-generated stopping multikueue multikueue-origin multikueue-origin-uid "
     "job-owner-name job-owner-gvk cannot-preempt preemption-cost preemption-gated workload-slice-name "
     "workload-slice-replacement-for workload-allowed-resource-flavors job-completions-equal-parallelism "
     "raycluster-generation parent-workload"},
    {"kai.scheduler",
     "topology-required-placement topology-preferred-placement batch-min-member subgroup-name pod-group-name "
     "gpu-fraction queue skip-podgrouper",
     "topology task-priority preemptibility type top-owner-metadata stale-podgroup-timestamp last-start-timestamp "
     "ignore-workload-api accounting pod-index-label"},
    {"leaderworkerset.sigs.k8s.io", "exclusive-topology subgroup-exclusive-topology",
     "name group-index group-key worker-index subgroup-index subgroup-key subgroup-size subgroup-policy-type "
     "subdomainPolicy size replicas template-revision-hash leader-requests-tpus leader-name group-restart-count "
     "experimental-recreate-group-after-start"},
    {"alpha.jobset.sigs.k8s.io", "exclusive-topology", "node-selector no-schedule namespaced-job"},
    {"gang.scheduling.koordinator.sh", "name min-available total-number network-topology-spec",
     "mode match-policy timeout waiting-time network-topology-index"},
    {"pod-group.scheduling.sigs.k8s.io", "name min-available", "match-policy"},
    {"scheduling.x-k8s.io", "pod-group", ""},
    {"scheduling.volcano.sh", "queue-name", "queue-allocation-gate"},
};

/// What is to say of a label or annotation; "" for nothing. O(length of the key × length of the lists).
[[nodiscard]] inline std::string remark_on_key(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos || key.size() > 200) return {};
  const std::string_view prefix = key.substr(0, slash), name = key.substr(slash + 1);
  const auto meant = [&](const key_family& f, std::string_view word) {
    return io_text::quoted(key) + " is passed over, as it is by the scheduler; " +
           io_text::quoted(std::string{f.prefix} + "/" + std::string{word}, 120) + " may be meant";
  };
  for (const auto& f : key_families) {
    if (prefix != f.prefix) continue;
    if (io_text::is_word_of(name, f.placing) || io_text::is_word_of(name, f.other)) return {};
    if (const auto word = io_text::close_to(name, f.placing); !word.empty()) return meant(f, word);
    std::string list{f.placing};
    for (std::size_t at = list.find(' '); at != std::string::npos; at = list.find(' ', at + 2)) list.insert(at, ",");
    return io_text::quoted(key) + " is not read; of " + std::string{prefix} + " berth reads " + list;
  }
  // A right name below a prefix that is almost right.
  for (const auto& f : key_families)
    if (io_text::is_word_of(name, f.placing) && name != "name" && !io_text::close_to(prefix, f.prefix).empty())
      return meant(f, name);
  return {};
}

/// Says of the labels and annotations of an object or pod template what `remark_on_key` has to say of each.
inline void remark_on_keys(const context& c, const json_value* metadata, job_spec& job) {
  for (const char* where : {"labels", "annotations"})
    if (const auto* words = c.object(metadata, where); words != nullptr)
      for (std::size_t i = 0; i < words->keys.size(); ++i)
        if (const std::string said = remark_on_key(words->keys[i]); !said.empty())
          c.assume(job, words->items[i], (*where == 'l' ? "the label " : "the annotation ") + said);
}

}  // namespace berth::kube_job
