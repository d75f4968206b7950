#pragma once
/// \file
/// A job file: one JSON object with task groups, locality and segments. Described in docs/cluster-file.md. Needs
/// nlohmann-json.

#include <string>
#include <utility>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/text_file.hpp"

namespace berth {

namespace json_detail {

[[nodiscard]] inline expected<group_spec, input_error> read_group(const json_value& v, const std::string& source) {
  const json_reader r{v, source};
  group_spec g;
  auto ok = r.only({"name", "tasks", "min", "gpus", "cpus", "memory", "model", "labels"});
  if (ok) ok = r.text("name", g.name);
  if (ok) ok = r.integer("tasks", g.wanted, 1, max_tasks);
  g.minimum = g.wanted;
  if (ok) ok = r.integer("min", g.minimum, 1, max_tasks);
  if (ok) ok = r.integer("gpus", g.gpus, 0, max_tasks);
  if (ok) ok = r.cpus("cpus", g.cpu);
  if (ok) ok = r.memory("memory", g.memory);
  if (ok) ok = r.text("model", g.gpu_model);
  if (ok) ok = r.texts("labels", g.labels);
  if (!ok) return unexpected{std::move(ok).error()};
  return g;
}

[[nodiscard]] inline expected<segment_spec, input_error> read_segments(const json_value& v, const std::string& source) {
  const json_reader r{v, source};
  segment_spec s;
  std::string layout = "free";
  auto ok = r.only({"count", "level", "layout"});
  if (ok && (v.find("count") == nullptr || v.find("level") == nullptr))
    ok = unexpected{r.error(v, "segments without \"count\" or \"level\"", "both")};
  if (ok) ok = r.integer("count", s.count, 1, max_tasks);
  if (ok) ok = r.text("level", s.level);
  if (ok && s.level.empty()) ok = r.wrong("level", *v.find("level"), "the name of a level");
  if (ok) ok = r.text("layout", layout);
  if (ok) {
    const auto l = parse_segment_layout(layout);
    if (l) s.layout = *l;
    else ok = r.wrong("layout", *v.find("layout"), "free, spread or consolidate");
  }
  if (!ok) return unexpected{std::move(ok).error()};
  return s;
}

}  // namespace json_detail

/// Reads a job file. O(bytes).
[[nodiscard]] inline expected<job_spec, input_error> read_job_json(const named_text& file) {
  const auto root = parse_json(file.text, file.name);
  if (!root) return unexpected{root.error()};
  const json_reader r{*root, file.name};
  job_spec job;
  auto ok = r.only({"name", "groups", "within", "prefer", "segments"});
  if (ok) ok = r.text("name", job.name);
  const auto* within = root->find("within");
  const auto* prefer = root->find("prefer");
  if (ok && within != nullptr && prefer != nullptr)
    ok = unexpected{r.error(*prefer, "both \"within\" and \"prefer\"", "one of them")};
  if (ok && within != nullptr) ok = r.text("within", job.level);
  if (ok && prefer != nullptr) ok = r.text("prefer", job.level);
  if (ok && (within != nullptr || prefer != nullptr)) {
    job.where = within != nullptr ? locality::required : locality::preferred;
    if (job.level.empty()) ok = unexpected{r.error(within != nullptr ? *within : *prefer, "''", "the name of a level")};
  }
  if (!ok) return unexpected{std::move(ok).error()};
  const auto groups = r.array("groups");
  if (!groups) return unexpected{groups.error()};
  if (*groups != nullptr)
    for (const auto& g : (*groups)->items) {
      auto group = json_detail::read_group(g, file.name);
      if (!group) return unexpected{std::move(group).error()};
      if (g.find("name") == nullptr && (*groups)->items.size() > 1)
        return unexpected{r.error(g, "a group without \"name\"", "a name for each of several groups")};
      job.groups.push_back(std::move(*group));
    }
  if (const auto* s = root->find("segments")) {
    auto segments = json_detail::read_segments(*s, file.name);
    if (!segments) return unexpected{std::move(segments).error()};
    job.segments = std::move(*segments);
  }
  if (auto f = fault_of(job))
    return unexpected{r.error(*groups != nullptr ? **groups : *root, std::move(f->first), std::move(f->second))};
  return job;
}

}  // namespace berth
