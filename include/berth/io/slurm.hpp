#pragma once
/// \file
/// A site's Slurm files alone to one `cluster_spec`: topology.conf or topology.yaml gives the domain tree, slurm.conf
/// the nodes, gres.conf their GPUs, commands what is live. Any subset will do as long as nothing needed is missing; see
/// docs/slurm-files.md for all rules. Together with other files: `io/read_site.hpp`. Needs Boost.Graph, yaml-cpp and
/// nlohmann-json.
///
/// Errors  the first one found, with file and line. Nothing is half-applied: there is a whole spec or none.
/// Cost    O(bytes + nodes × log).

#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/spec.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/merge.hpp"
#include "berth/io/slurm/report.hpp"
#include "berth/io/text_file.hpp"

namespace berth {

/// Reads Slurm files that belong to one cluster; their order does not matter.
[[nodiscard]] inline expected<cluster_spec, input_error> read_slurm(const std::vector<named_text>& files,
                                                                    const slurm_options& options = {}) {
  if (files.empty()) return unexpected{input_error{"slurm", 0, "no file", "at least one file"}};
  auto report = read_slurm_report(files, options);
  if (!report) return unexpected{std::move(report).error()};
  merge_options merge;
  merge.hardware = options.hardware;
  merge.hardware_needed = true;
  merge.max_nodes = options.max_nodes;
  std::vector<site_report> reports;
  reports.push_back(std::move(*report));
  auto site = merge_site(reports, merge);
  if (!site) return unexpected{std::move(site).error()};
  return std::move(site->spec);
}

/// The same from paths.
[[nodiscard]] inline expected<cluster_spec, input_error> read_slurm_files(const std::vector<std::string>& paths,
                                                                          const slurm_options& options = {}) {
  std::vector<named_text> files;
  for (const auto& p : paths) {
    auto f = read_text_file(p);
    if (!f) return unexpected{std::move(f).error()};
    files.push_back(std::move(*f));
  }
  return read_slurm(files, options);
}

}  // namespace berth
