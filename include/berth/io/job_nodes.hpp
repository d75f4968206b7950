#pragma once
/// \file
/// Nodes that a job names, wanted or not: filters know labels and no names, so the named nodes of a spec get labels,
/// and the job asks for these. Called before a cluster is made of the spec.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/cluster/spec.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/text.hpp"

namespace berth {

/// Turns `only_nodes` and `not_nodes` of every group into labels `berth/named-by=GROUP` and `berth/shunned-by=GROUP`.
/// An unwanted node that is not there is said in `notes`; a wanted one is an error. On an error nothing has changed.
/// O(nodes + names). \param source  what messages call the job
[[nodiscard]] inline expected<void, input_error> label_named_nodes(job_spec& job, cluster_spec& spec,
                                                                   const std::string& source,
                                                                   std::vector<std::string>& notes) {
  bool any = false;
  for (const auto& g : job.groups) any = any || !g.only_nodes.empty() || !g.not_nodes.empty();
  if (!any) return {};
  std::unordered_map<std::string_view, std::uint32_t> at;
  for (std::uint32_t n = 0; n < spec.nodes.size(); ++n) at.emplace(spec.nodes[n].name, n);
  for (const auto& g : job.groups)
    for (const auto& name : g.only_nodes)
      if (!at.contains(name))
        return unexpected{input_error{
            source, g.line.is, "node " + io_text::quoted(name) + " that group " + io_text::quoted(g.name) + " asks for",
            "a node of the cluster"}};
  const auto add = [&](const std::string& name, const std::string& label) {
    const auto it = at.find(name);
    if (it == at.end()) return false;
    auto& labels = spec.nodes[it->second].labels;
    const auto place = std::lower_bound(labels.begin(), labels.end(), label);
    if (place == labels.end() || *place != label) labels.insert(place, label);
    return true;
  };
  for (auto& g : job.groups) {
    const std::string named = "berth/named-by=" + g.name, shunned = "berth/shunned-by=" + g.name;
    for (const auto& name : g.only_nodes) (void)add(name, named);
    if (!g.only_nodes.empty()) g.labels.push_back(named);
    for (const auto& name : g.not_nodes)
      if (!add(name, shunned))
        notes.push_back("Node " + name + ", which group " + io_text::quoted(g.name) +
                        " avoids, is not in the cluster.");
    if (!g.not_nodes.empty()) g.not_labels.push_back(shunned);
    g.only_nodes.clear();
    g.not_nodes.clear();
  }
  return {};
}

}  // namespace berth
