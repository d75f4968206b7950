#pragma once
/// \file
/// From a job in words to a gang on a concrete cluster: names of levels, GPU models and labels become ids and filters.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/text.hpp"
#include "berth/job/gang.hpp"

namespace berth {

namespace job_detail {

/// "cluster, spine or leaf"
[[nodiscard]] inline std::string any_of(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i)
    out += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return out;
}

[[nodiscard]] inline expected<level_id, input_error> resolve_level(const std::string& name, const domain_tree& tree,
                                                                   const std::string& source) {
  if (const auto l = tree.find_level(name)) return *l;
  std::vector<std::string> levels;
  for (std::uint8_t l = 0; l < tree.level_count(); ++l) levels.push_back(tree.level_name(level_id{l}));
  return unexpected{input_error{source, 0, "level " + io_text::quoted(name), any_of(levels)}};
}

/// The models of the cluster that a word means: the model of that name, or all that begin with it ("h100" for
/// "h100-sxm5-80gb"). Empty where no model does.
[[nodiscard]] inline std::vector<std::string> models_of(std::string_view word, const std::vector<std::string>& all) {
  std::vector<std::string> out;
  for (const auto& m : all)
    if (io_text::equal_nocase(m, word)) return {m};
  const std::string start = io_text::lower(word) + "-";
  for (const auto& m : all)
    if (io_text::lower(m).starts_with(start)) out.push_back(m);
  return out;
}

[[nodiscard]] inline std::vector<std::string> models_in(const cluster& c) {
  std::vector<std::string> out;
  for (const auto& s : c.shapes())
    for (const auto& m : s.models) {
      bool known = m.empty();
      for (const auto& o : out) known = known || o == m;
      if (!known) out.push_back(m);
    }
  return out;
}

}  // namespace job_detail

/// Turns a job into a gang for `c`, registering its filters there.
///
/// A GPU model may be abbreviated; one that neither the cluster nor `known_models` has is an error, one that is merely
/// not in the cluster makes a gang that never fits. A label that no node has does so too: labels are the site's own
/// words. Amounts beyond any machine are kept as they are: the placer refuses them and `explain` says why. \param
/// source  what messages call the job: its file, or "--gang"
[[nodiscard]] inline expected<gang, input_error> resolve_job(const job_spec& job, cluster& c,
                                                             const std::vector<std::string>& known_models = {},
                                                             const std::string& source = "job") {
  if (auto f = fault_of(job)) return unexpected{input_error{source, 0, std::move(f->first), std::move(f->second)}};
  gang g;
  g.where = job.where;
  if (job.where != locality::unconstrained) {
    const auto l = job_detail::resolve_level(job.level, c.tree(), source);
    if (!l) return unexpected{l.error()};
    g.level = *l;
  }
  if (job.segments) {
    const auto l = job_detail::resolve_level(job.segments->level, c.tree(), source);
    if (!l) return unexpected{l.error()};
    g.segments = segment_request{job.segments->count, *l, job.segments->layout};
  }
  const std::vector<std::string> models = job_detail::models_in(c);
  for (const auto& s : job.groups) {
    node_filter f;
    f.all_of = s.labels;
    if (!s.gpu_model.empty()) {
      f.models = job_detail::models_of(s.gpu_model, models);
      if (f.models.empty()) {
        if (job_detail::models_of(s.gpu_model, known_models).empty())
          return unexpected{
              input_error{source, 0, "GPU model " + io_text::quoted(s.gpu_model),
                          models.empty() ? "no model: the cluster's files name none" : job_detail::any_of(models)}};
        f.models = {s.gpu_model};
      }
    }
    task_group t;
    t.name = s.name;
    t.shape = {s.gpus, s.cpu, s.memory, c.add_filter(f)};
    t.wanted = s.wanted;
    t.minimum = s.minimum;
    if (g.segments && t.minimum % (t.wanted / g.segments->count) != 0)
      return unexpected{input_error{source, 0,
                                    "group " + io_text::quoted(s.name) + " with a minimum of " +
                                        std::to_string(s.minimum) + " tasks in segments of " +
                                        std::to_string(t.wanted / g.segments->count),
                                    "a minimum that is a whole number of segments"}};
    g.groups.push_back(std::move(t));
  }
  return g;
}

}  // namespace berth
