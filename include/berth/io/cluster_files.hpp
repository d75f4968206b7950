#pragma once
/// \file
/// `--cluster FILE…`: one JSON cluster file, or the Slurm files of one site. Needs nlohmann-json.

#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/spec.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/cluster_json.hpp"
#include "berth/io/slurm.hpp"
#include "berth/io/text_file.hpp"

namespace berth {

/// Reads what belongs to one cluster. A file whose first character is `{` is a JSON cluster file and must be the only
/// one. \param catalogue  finds the shapes that a JSON file names; `slurm` holds what Slurm files need.
[[nodiscard]] inline expected<cluster_spec, input_error> read_cluster_files(const std::vector<std::string>& paths,
                                                                            const slurm_options& slurm = {},
                                                                            shape_lookup catalogue = nullptr) {
  std::vector<named_text> files;
  for (const auto& p : paths) {
    auto f = read_text_file(p);
    if (!f) return unexpected{std::move(f).error()};
    files.push_back(std::move(*f));
  }
  for (const auto& f : files) {
    const std::size_t first = f.text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos || f.text[first] != '{') continue;
    if (files.size() > 1)
      return unexpected{input_error{f.name, 0, "a JSON cluster file beside other files", "a JSON cluster file alone"}};
    return read_cluster_json(f, catalogue, slurm.max_nodes);
  }
  return read_slurm(files, slurm);
}

}  // namespace berth
