#pragma once
/// \file
/// Tasks of a job that run already, told by what their controller wrote on them.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "berth/io/close_word.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/spread_spec.hpp"

namespace berth {

/// Labels by which controllers tell the pods of one object from those of another: `batch/v1`, JobSet, the training
/// operator, Volcano, KubeRay and LeaderWorkerSet.
inline constexpr std::string_view controller_labels =
    "batch.kubernetes.io/job-name job-name jobset.sigs.k8s.io/jobset-name training.kubeflow.org/job-name "
    "volcano.sh/job-name ray.io/cluster leaderworkerset.sigs.k8s.io/name";

/// Whether a running task with these labels (`key=value`) is one of the job's own: it has the job's namespace and a
/// label of its controller. O(labels of both).
[[nodiscard]] inline bool is_own_task(const job_spec& job, const std::vector<std::string>& labels) {
  const auto has = [&](const std::string& l) {
    for (const auto& have : labels)
      if (have == l) return true;
    return false;
  };
  for (const auto& g : job.groups) {
    bool here = false, same = false;
    for (const auto& l : g.task_labels.is) {
      const std::string_view key = std::string_view{l}.substr(0, l.find('='));
      here = here || (key == namespace_label && has(l));
      same = same || (io_text::is_word_of(key, controller_labels) && has(l));
    }
    if (here && same) return true;
  }
  return false;
}

}  // namespace berth
