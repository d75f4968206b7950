#pragma once
/// \file
/// `--cluster FILE…`: files of any known kind as the `cluster_spec` of one site. The same as `read_site`
/// (`io/read_site.hpp`), which also gives graphs, holdings and conflicts; here a conflict is a sentence among the
/// assumptions. Heavy: includes every reader.

#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/spec.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/cluster_json.hpp"
#include "berth/io/read_site.hpp"
#include "berth/io/slurm.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"

namespace berth {

/// Reads what belongs to one cluster. Every machine's hardware must be known, from a file or from `slurm.hardware`.
/// \param slurm  what Slurm files need, which the others take too. \param catalogue  finds the shapes that a JSON file
/// alone names.
[[nodiscard]] inline expected<cluster_spec, input_error> read_cluster_files(const std::vector<std::string>& paths,
                                                                            const slurm_options& slurm = {},
                                                                            shape_lookup catalogue = catalogue_shape) {
  site_options options;
  options.merge.hardware = slurm.hardware;
  options.merge.hardware_needed = true;
  options.merge.max_nodes = slurm.max_nodes;
  options.load = slurm.load;
  if (paths.size() == 1)
    if (const auto one = read_text_file(paths.front()); one && recognise_detail::looks_like_our_cluster(one->text))
      return read_cluster_json(*one, catalogue, slurm.max_nodes);
  auto s = read_site(paths, options);
  if (!s) return unexpected{std::move(s).error()};
  for (const auto& c : s->conflicts) s->spec.assumptions.push_back(c.text());
  return std::move(s->spec);
}

}  // namespace berth
