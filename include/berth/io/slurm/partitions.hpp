#pragma once
/// \file
/// `PartitionName=` and `NodeSet=` lines of slurm.conf: which partitions a node is in, and which of them start jobs.
///
/// Nodes    host lists, names of node sets, or ALL; a set is `Nodes=` and nodes with its `Feature=`.
///          `PartitionName=DEFAULT` gives `Nodes=` and `State=` to the lines after it.
/// State    UP where not given. DOWN and INACTIVE start no job; DRAIN takes no new ones and starts those that wait.
/// Source   slurm.conf(5)

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/slurm/conf_keys.hpp"
#include "berth/io/slurm_lines.hpp"
#include "berth/io/slurm_nodes.hpp"
#include "berth/io/slurm_topology.hpp"
#include "berth/io/text.hpp"

namespace berth {

/// A partition and its nodes, in the order given, each once.
struct slurm_partition {
  input_place place;
  std::string name;
  std::vector<std::string> nodes;
  bool starts_jobs = true;
};

namespace slurm_detail {

struct partition_reader {
  const slurm_nodes& known;
  std::size_t max_names;
  std::unordered_map<std::string, std::vector<std::string>> sets{};
  std::vector<std::string> all{};  // made when first asked for

  using names = expected<std::vector<std::string>, input_error>;

  [[nodiscard]] const std::vector<std::string>& every_node() {
    if (all.empty())
      for (const auto& l : known.lines) all.insert(all.end(), l.nodes.begin(), l.nodes.end());
    return all;
  }

  /// Nodes of a `Nodes=` value. A name that is neither node nor set is an error where slurm.conf lists nodes.
  [[nodiscard]] names resolve(const conf_line& l, const std::string& value) {
    std::vector<std::string> out;
    std::unordered_map<std::string, bool> seen;
    const auto add = [&](const std::string& n) {
      if (seen.emplace(n, true).second) out.push_back(n);
    };
    auto list = names_of(l, "Nodes", value, max_names);
    if (!list) return unexpected{std::move(list).error()};
    for (const auto& name : *list) {
      if (io_text::equal_nocase(name, "ALL")) {
        for (const auto& n : every_node()) add(n);
      } else if (const auto set = sets.find(name); set != sets.end()) {
        for (const auto& n : set->second) add(n);
      } else if (known.lines.empty() || known.line_of_node.contains(name)) {
        add(name);
      } else {
        return unexpected{l.error("unknown node " + name + " in Nodes=", "a node with a NodeName= line, or a NodeSet")};
      }
    }
    return out;
  }

  [[nodiscard]] expected<void, input_error> add_set(const conf_line& l, const std::string& name) {
    if (auto ok = only_keys(l, "NodeSet Nodes Feature"); !ok) return ok;
    std::vector<std::string> out;
    if (const auto* nodes = l.find("Nodes")) {
      auto r = resolve(l, *nodes);
      if (!r) return unexpected{std::move(r).error()};
      out = std::move(*r);
    }
    if (const auto* feature = l.find("Feature"))
      for (const auto& line : known.lines)
        for (const auto& f : line.features)
          if (f == *feature) out.insert(out.end(), line.nodes.begin(), line.nodes.end());
    if (!sets.emplace(name, std::move(out)).second)
      return unexpected{l.error("second NodeSet=" + io_text::quoted(name), "each set once")};
    return {};
  }
};

/// Whether a partition with that `State=` starts jobs.
[[nodiscard]] inline expected<bool, input_error> partition_starts_jobs(const conf_line& l, const std::string& state) {
  for (const std::string_view up : {"UP", "DRAIN"})
    if (io_text::equal_nocase(state, up)) return true;
  for (const std::string_view down : {"DOWN", "INACTIVE"})
    if (io_text::equal_nocase(state, down)) return false;
  return unexpected{l.error("State=" + io_text::quoted(state), "UP, DOWN, DRAIN or INACTIVE")};
}

}  // namespace slurm_detail

/// Reads the `NodeSet=` and `PartitionName=` lines among `lines`. O(lines × keys + names over all partitions).
/// Errors: a partition twice, unknown nodes, unknown states, misspelt keys, more names than the limit in all.
/// \param notes  if given, gets a sentence for each key that is not Slurm's.
[[nodiscard]] inline expected<std::vector<slurm_partition>, input_error> read_partition_lines(
    const std::vector<conf_line>& lines, const slurm_nodes& nodes, std::size_t max_names = default_hostlist_limit,
    std::vector<std::string>* notes = nullptr) {
  slurm_detail::partition_reader r{nodes, max_names};
  std::vector<slurm_partition> out;
  std::unordered_map<std::string, std::size_t> index;
  for (const auto& l : lines)
    if (const auto* set = l.find("NodeSet"))
      if (auto ok = r.add_set(l, *set); !ok) return unexpected{std::move(ok).error()};
  std::string default_nodes;
  bool default_starts = true;
  std::size_t names = 0;
  for (const auto& l : lines) {
    const auto* name = l.find("PartitionName");
    if (name == nullptr) continue;
    if (auto ok = slurm_detail::check_partition_keys(l, notes); !ok) return unexpected{std::move(ok).error()};
    const auto* list = l.find("Nodes");
    bool starts = default_starts;
    if (const auto* state = l.find("State")) {
      const auto read = slurm_detail::partition_starts_jobs(l, *state);
      if (!read) return unexpected{read.error()};
      starts = *read;
    }
    if (io_text::equal_nocase(*name, "DEFAULT")) {
      if (list != nullptr) default_nodes = *list;
      default_starts = starts;
      continue;
    }
    if (!index.emplace(*name, out.size()).second)
      return unexpected{l.error("second PartitionName=" + io_text::quoted(*name), "each partition once")};
    slurm_partition p{{l.source, l.line}, *name, {}, starts};
    const std::string& value = list != nullptr ? *list : default_nodes;
    if (!value.empty() && !io_text::equal_nocase(value, "(null)")) {
      auto found = r.resolve(l, value);
      if (!found) return unexpected{std::move(found).error()};
      p.nodes = std::move(*found);
    }
    // A few partitions over all nodes are normal; thousands are not.
    names += p.nodes.size();
    if (names > max_names * 4)
      return unexpected{
          l.error("partitions with more than " + std::to_string(max_names * 4) + " nodes in all", "fewer")};
    out.push_back(std::move(p));
  }
  return out;
}

}  // namespace berth
