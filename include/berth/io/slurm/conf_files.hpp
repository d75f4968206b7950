#pragma once
/// \file
/// Slurm's configuration files as lines by what they are about. What a file is follows from its lines, not from its
/// name:
///   topology   a line with SwitchName=, BlockName= or BlockSizes=; then every line must be one of these
///   gres.conf  a line with Name= or AutoDetect=, NodeName= or not; then every line must be one of these
///   slurm.conf anything else; NodeName=, DownNodes=, PartitionName= and ClusterName= are read, other keys of Slurm's
///              are about other matters, keys that are not Slurm's are noted

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/slurm/conf_keys.hpp"
#include "berth/io/slurm_hardware.hpp"
#include "berth/io/slurm_lines.hpp"
#include "berth/io/text_file.hpp"

namespace berth {

/// What the readers of Slurm's files are told besides the texts.
struct slurm_options {
  hardware_defaults hardware;
  std::vector<std::string> model_ids;  ///< GPU models of the catalogue; empty: the site's words are kept
  std::size_t max_nodes = default_hostlist_limit;
  text_loader load = load_text_file;  ///< how included files are found; empty refuses `include`
};

namespace slurm_detail {

struct sorted_lines {
  std::vector<conf_line> topology, nodes, gres, partitions;
  std::string cluster_name;
  std::vector<std::string> notes;  ///< keys that are not Slurm's
};

[[nodiscard]] inline bool has_any(const conf_line& l, std::initializer_list<std::string_view> keys) {
  for (const auto k : keys)
    if (l.find(k) != nullptr) return true;
  return false;
}

[[nodiscard]] inline bool looks_like_yaml(std::string_view name, std::string_view text) {
  if (name.ends_with(".yaml") || name.ends_with(".yml")) return true;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = text.find('\n', i);
    if (end == std::string_view::npos) end = text.size();
    const std::string_view line = io_text::trim(text.substr(i, end - i));
    i = end + 1;
    if (line.empty() || line.front() == '#') continue;
    return line == "---" || line.starts_with("- ");
  }
  return false;
}

[[nodiscard]] inline expected<void, input_error> sort_file(const named_text& file, const text_loader& load,
                                                           sorted_lines& out) {
  const auto fail = [&](std::string found, std::string expected_text) {
    return unexpected{input_error{file.name, 0, std::move(found), std::move(expected_text)}};
  };
  if (looks_like_yaml(file.name, file.text))
    return fail("YAML that is no topology.yaml", "lines of Key=value, or topologies with their switches or blocks");
  auto lines = read_conf_lines(file.name, file.text, load);
  if (!lines) return unexpected{std::move(lines).error()};
  if (lines->empty()) return fail("no line but blanks and comments", "SwitchName=, NodeName= or Name=gpu lines");
  // Included files may be of another kind than the file that includes them, so lines are sorted one by one. What kind a
  // source is decides which lines it may hold.
  std::unordered_map<std::string, bool> strict;  // by source: true where only topology or gres lines may stand
  bool useful = false;
  for (const auto& l : *lines) {
    const bool topology = has_any(l, {"SwitchName", "BlockName", "BlockSizes", "RingName"});
    const bool gres = !topology && has_any(l, {"Name", "AutoDetect"});
    strict[l.source] = strict[l.source] || topology || gres;
    useful = useful || topology || gres || has_any(l, {"NodeName", "PartitionName"});
  }
  if (!useful) {
    const auto& l = lines->front();
    return unexpected{l.error(
        "key " + io_text::quoted(l.pairs.front().key) + " and no line about switches, nodes or GPUs in the file",
        "SwitchName=, BlockName=, NodeName= or Name=gpu lines")};
  }
  for (auto& l : *lines) {
    if (has_any(l, {"SwitchName", "BlockName", "BlockSizes", "RingName"})) out.topology.push_back(std::move(l));
    else if (has_any(l, {"Name", "AutoDetect"})) out.gres.push_back(std::move(l));
    else if (strict[l.source] && !has_any(l, {"NodeName"})) {
      const auto& key = l.pairs.front().key;
      if (auto bad = io_text::misspelt_key(l.source, l.line, key,
                                           "SwitchName BlockName BlockSizes RingName Name AutoDetect NodeName"))
        return unexpected{std::move(*bad)};
      return unexpected{l.error("key " + io_text::quoted(key) + " in a topology or gres file",
                                "SwitchName=, BlockName=, BlockSizes=, Name= or AutoDetect= lines")};
    } else if (has_any(l, {"NodeName", "DownNodes"})) out.nodes.push_back(std::move(l));
    else if (has_any(l, {"PartitionName", "NodeSet"})) out.partitions.push_back(std::move(l));
    else {
      if (auto ok = check_cluster_line(l, out.notes); !ok) return ok;
      if (const auto* name = l.find("ClusterName")) out.cluster_name = *name;
    }
  }
  return {};
}

}  // namespace slurm_detail
}  // namespace berth
