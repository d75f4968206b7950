#pragma once
/// \file
/// Reads a file of queues, whatever system it comes from. Needs yaml-cpp, nlohmann-json and pugixml.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/kubernetes/documents.hpp"
#include "berth/io/quota/kai_queues.hpp"
#include "berth/io/quota/kai_simulation.hpp"
#include "berth/io/quota/kueue_queues.hpp"
#include "berth/io/quota/quota_json.hpp"
#include "berth/io/quota/slurm_associations.hpp"
#include "berth/io/quota/slurm_dump.hpp"
#include "berth/io/quota/volcano_queues.hpp"
#include "berth/io/quota/yarn_queues.hpp"
#include "berth/io/quota/yunikorn_queues.hpp"
#include "berth/io/text_file.hpp"

namespace berth {

/// Tells by the content: our JSON, Kueue's ClusterQueues and Cohorts, KAI's Queues or its simulator's file, Volcano's
/// Queues, YuniKorn's queues.yaml (alone or in a ConfigMap), YARN's capacity-scheduler.xml, Slurm's associations, as a
/// table or dumped.
[[nodiscard]] inline expected<queue_file, input_error> read_queues(const named_text& file) {
  if (constexpr std::string_view mark = "\xEF\xBB\xBF"; file.text.starts_with(mark))
    return read_queues({file.name, file.text.substr(mark.size())});
  if (looks_like_slurm_associations(file.text)) return read_slurm_associations(file);
  if (looks_like_slurm_dump(file.text)) return read_slurm_dump(file);
  if (looks_like_yarn_queues(file.text)) return read_yarn_queues(file);
  const auto documents = parse_documents(file.text, file.name);
  if (!documents) return unexpected{documents.error()};
  if (documents->size() == 1 && is_quota_json(documents->front()))
    return read_quota_json(documents->front(), file.name);
  if (documents->size() == 1 && is_kai_simulation(documents->front()))
    return read_kai_simulation(documents->front(), file.name);
  for (const auto& d : *documents)
    if (d.type == json_value::kind::object && (d.find("partitions") != nullptr || yunikorn_config_map(d) != nullptr))
      return read_yunikorn_queues(*documents, file.name);
  const auto objects = read_kube_documents(file);
  if (objects && holds_kueue_queues(*objects)) return read_kueue_queues(*objects);
  if (objects && holds_kai_queues(*objects)) return read_kai_queues(*objects);
  if (objects && holds_volcano_queues(*objects)) return read_volcano_queues(*objects);
  return unexpected{
      input_error{file.name, 0, "no queues",
                  "berth-queues/1 JSON, Kueue's ClusterQueues or Cohorts, KAI's or Volcano's Queues, YuniKorn's "
                  "queues.yaml, YARN's capacity-scheduler.xml, or the output of sacctmgr -p show assoc tree or dump"}};
}

}  // namespace berth
