#pragma once
/// \file
/// The scheduling request of HiveD in a pod's annotation: cells of a type, their number, the affinity group (the gang).
///
/// Numbers of cells and pods are positive, as HiveD requires (ExtractPodSchedulingSpec in pkg/internal/utils.go).
/// Source: `pkg/api/types.go` of microsoft/hivedscheduler (PodSchedulingSpec); its first versions said gpuType,
/// gpuNumber and reservationId.

#include <cstdint>
#include <string>
#include <utility>

#include "berth/io/job/kubernetes/context.hpp"
#include "berth/io/yaml_document.hpp"

namespace berth::kube_job {

/// Members of HiveD's request that say what one pod needs.
inline void put_cells(const context& c, const json_value& spec, const json_value& at, group_spec& g) {
  const auto first = [&](const char* a, const char* b) {
    std::string v = c.text(&spec, a);
    return v.empty() ? c.text(&spec, b) : v;
  };
  auto cells = c.tasks(&spec, "leafCellNumber", 1);
  if (!cells) cells = c.tasks(&spec, "gpuNumber", 1);
  if (!cells) c.fail(at, "a request without leafCellNumber", "the number of cells");
  g.gpus += *cells;
  if (std::string type = first("leafCellType", "gpuType"); !type.empty()) g.gpu_model = std::move(type);
  if (std::string pinned = first("pinnedCellId", "reservationId"); !pinned.empty())
    g.labels.push_back("hivedscheduler.microsoft.com/pinned-cell=" + pinned);
}

inline void put_hived(const context& c, const json_value* metadata, draft& d, group_spec& g) {
  constexpr const char* key = "hivedscheduler.microsoft.com/pod-scheduling-spec";
  const std::string text = c.annotation(metadata, key);
  d.affinity.clear();
  d.members.clear();
  if (text.empty()) return;
  const json_value& at = *c.object(metadata, "annotations")->find(key);
  auto parsed = parse_yaml(text, c.in().source());
  if (!parsed || parsed->empty() || parsed->front().type != json_value::kind::object)
    c.fail(at, "a scheduling spec that is no YAML mapping", "HiveD's pod-scheduling-spec");
  // Lines inside the annotation count from its own line.
  const auto shift = [&at](auto&& self, json_value& v) -> void {
    v.line = at.line;
    for (auto& i : v.items) self(self, i);
  };
  json_value& spec = parsed->front();
  shift(shift, spec);
  put_cells(c, spec, at, g);
  if (std::string vc = c.text(&spec, "virtualCluster"); !vc.empty()) d.job.queue = std::move(vc);
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (const auto p = c.integer(&spec, "priority", -most, most)) d.job.priority = *p;
  const auto* group = c.object(&spec, "affinityGroup");
  if (group == nullptr) return;
  d.affinity = c.text(group, "name");
  if (const auto* members = c.array(group, "members"))
    for (const auto& m : members->items) {
      const auto pods = c.tasks(&m, "podNumber", 1);
      auto cells = c.tasks(&m, "leafCellNumber", 1);
      if (!cells) cells = c.tasks(&m, "gpuNumber", 1);
      if (!pods || !cells) c.fail(at, "a member without podNumber or leafCellNumber", "both");
      d.members.emplace_back(*pods, *cells);
    }
}

}  // namespace berth::kube_job
