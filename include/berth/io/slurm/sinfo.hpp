#pragma once
/// \file
/// `sinfo` as text, with a heading: the default, `-N`, `-N -l`, and formats of one's own such as
/// `sinfo -N -o "%N %P %t %c %m %G %f"`, also with a bar between the columns. Plain text; needs Boost.Graph for the
/// result.
///
/// Read      columns by their heading: NODELIST or HOSTNAMES, PARTITION, AVAIL, STATE, CPUS, CPUS(A/I/O/T), MEMORY,
///           GRES, GRES_USED, AVAIL_FEATURES or ACTIVE_FEATURES (also cut, as AVAIL_FE), NODES, FREE_MEM …; others are
///           passed over. A node that comes once per partition is one node. "64+" (nodes of unlike sizes in one row)
///           is no number of any node and stays open.
/// Errors    a row with more or fewer words than the heading, a number of nodes that is not that of its list (which a
///           width such as `%10N` may have cut).
/// Source    slurm src/sinfo/print.c and src/sinfo/opts.c

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/io/hostlist.hpp"
#include "berth/io/slurm/live_nodes.hpp"
#include "berth/io/text_lines.hpp"

namespace berth {

namespace slurm_detail {

enum class sinfo_column : std::uint8_t {
  other,
  nodes,
  partition,
  available,
  state,
  cpus,
  cpu_use,
  memory,
  gres,
  gres_used,
  features,
  count,
  reason,
  timestamp
};

[[nodiscard]] constexpr std::optional<sinfo_column> column_of(std::string_view w) noexcept {
  using c = sinfo_column;
  constexpr std::pair<std::string_view, c> known[] = {{"NODELIST", c::nodes},
                                                      {"HOSTNAMES", c::nodes},
                                                      {"PARTITION", c::partition},
                                                      {"AVAIL", c::available},
                                                      {"STATE", c::state},
                                                      {"STATECOMPLETE", c::state},
                                                      {"CPUS", c::cpus},
                                                      {"CPUS(A/I/O/T)", c::cpu_use},
                                                      {"MEMORY", c::memory},
                                                      {"GRES", c::gres},
                                                      {"GRES_USED", c::gres_used},
                                                      {"AVAIL_FEATURES", c::features},
                                                      {"ACTIVE_FEATURES", c::features},
                                                      {"AVAIL_FE", c::features},
                                                      {"ACTIVE_F", c::features},
                                                      {"NODES", c::count},
                                                      {"REASON", c::reason},
                                                      {"TIMESTAMP", c::timestamp}};
  for (const auto& [word, column] : known)
    if (word == w) return column;
  constexpr std::string_view passed[] = {"TIMELIMIT",    "S:C:T",
                                         "SOCKETS",      "CORES",
                                         "THREADS",      "TMP_DISK",
                                         "WEIGHT",       "CPU_LOAD",
                                         "FREE_MEM",     "GROUPS",
                                         "ROOT",         "OVERSUBSCRIBE",
                                         "OVERSUBS",     "JOB_SIZE",
                                         "NODES(A/I)",   "NODES(A/I/O/T)",
                                         "PRIO_TIER",    "PRIO_JOB_FACTOR",
                                         "PREEMPT_MODE", "USER",
                                         "DEFAULTTIME",  "MAX_CPUS_PER_NODE",
                                         "VERSION",      "ALLOCMEM",
                                         "CLUSTER",      "NODE_ADDR",
                                         "PORT",         "RESERVATION",
                                         "ALLOCNODES",   "COMMENT",
                                         "EXTRA",        "NODEADDR",
                                         "HOSTNAME"};
  for (const auto word : passed)
    if (word == w) return c::other;
  return std::nullopt;
}

/// Takes the next cell of a line whose cells a bar separates, else the next word. \return false at the end
[[nodiscard]] inline bool take_cell(std::string_view& line, bool bars, std::string_view& cell) {
  if (!bars) {
    cell = io_text::take_word(line);
    return !cell.empty();
  }
  if (line.data() == nullptr) return false;
  const std::size_t bar = line.find('|');
  cell = io_text::trim(line.substr(0, bar));
  line = bar == std::string_view::npos ? std::string_view{} : line.substr(bar + 1);
  return true;
}

/// The columns of a heading; empty when the line is none. A heading has all its words known and names nodes.
[[nodiscard]] inline std::vector<sinfo_column> heading_of(std::string_view line) {
  std::vector<sinfo_column> out;
  bool nodes = false, known = true;
  const bool bars = line.find('|') != std::string_view::npos;
  for (std::string_view w; take_cell(line, bars, w);) {
    const auto c = column_of(w);
    known = c && out.size() < 64;
    if (!known) break;
    nodes = nodes || *c == sinfo_column::nodes;
    out.push_back(*c);
  }
  if (!known || !nodes) out.clear();
  return out;
}

}  // namespace slurm_detail

/// Whether the text has a heading of `sinfo` among its first lines.
[[nodiscard]] inline bool looks_like_sinfo(std::string_view text) {
  for (int lines = 0; lines < 5 && !text.empty(); ++lines) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : text.size());
    if (line.size() < 4096 && !slurm_detail::heading_of(line).empty()) return true;
  }
  return false;
}

/// Reads the output of `sinfo`. O(bytes + nodes).
[[nodiscard]] inline expected<std::vector<slurm_detail::live_node>, input_error> read_sinfo(
    const named_text& file, std::size_t max_nodes = default_hostlist_limit) {
  using namespace slurm_detail;
  using c = sinfo_column;
  io_text::line_cursor lines{file};
  std::vector<sinfo_column> heading;
  std::vector<live_node> out;
  std::unordered_map<std::string, std::size_t> index;
  std::size_t mentioned = 0;
  bool bars = false;  // between the cells: sinfo -o "%N|%t|%G"
  while (lines.next()) {
    const std::string_view line = io_text::trim(lines.line());
    if (line.empty()) continue;
    if (auto h = heading_of(line); !h.empty()) {
      heading = std::move(h);
      bars = line.find('|') != std::string_view::npos;
      continue;
    }
    if (heading.empty()) {
      if (lines.number() <= 4) continue;  // the date that -l prints, a prompt
      return unexpected{lines.error(io_text::quoted(line), "a heading such as PARTITION AVAIL … NODELIST")};
    }
    std::vector<std::string_view> words;
    std::string_view rest = line;
    if (bars) {
      for (std::string_view cell; words.size() <= heading.size() && take_cell(rest, true, cell);) words.push_back(cell);
      if (words.size() != heading.size())
        return unexpected{
            lines.error(io_text::quoted(line), "as many cells as the heading has: " + std::to_string(heading.size()))};
    } else {
      while (words.size() + 1 < heading.size()) words.push_back(io_text::take_word(rest));
      words.push_back(io_text::trim(rest));
    }
    // A partition without nodes has nothing where its nodes would be listed.
    if (words.back().empty() && heading.back() == c::nodes) {
      bool none = false;
      for (std::size_t i = 0; i + 1 < heading.size(); ++i) none = none || (heading[i] == c::count && words[i] == "0");
      if (none) continue;
    }
    // Only a reason may hold blanks, and only at the end.
    if (!bars &&
        (words.back().empty() || (heading.back() != c::reason && words.back().find(' ') != std::string_view::npos)))
      return unexpected{
          lines.error(io_text::quoted(line), "as many words as the heading has: " + std::to_string(heading.size()))};
    live_node row;
    std::vector<std::string> names;
    std::optional<std::uint64_t> count;
    const auto fail = [&](std::string_view what, std::string_view value) {
      return unexpected{
          lines.error(std::string{what} + " " + io_text::quoted(value), "what sinfo prints in that column")};
    };
    const auto number = [&](std::string_view w, std::uint64_t most, std::optional<std::uint64_t>& to) {
      if (w.ends_with('+')) return io_text::parse_count(w.substr(0, w.size() - 1), most).has_value();
      to = io_text::parse_count(w, most);
      return to.has_value();
    };
    constexpr auto cpus_most = static_cast<std::uint64_t>(io_text::max_cpus);
    for (std::size_t i = 0; i < heading.size(); ++i) {
      const std::string_view w = words[i];
      switch (heading[i]) {
        case c::nodes: {
          auto list = expand_hostlist(w, max_nodes);
          if (!list) return unexpected{list.error().at(file.name, lines.number())};
          names = std::move(*list);
          break;
        }
        case c::partition:
          if (!is_nothing(w)) row.partitions.emplace_back(w.ends_with('*') ? w.substr(0, w.size() - 1) : w);
          break;
        case c::state:
          row.state.emplace();
          if (!read_state(w, *row.state)) return fail("STATE", w);
          break;
        case c::cpus:
          if (!number(w, cpus_most, row.cpus)) return fail("CPUS", w);
          break;
        case c::cpu_use: {
          std::array<std::uint64_t, 4> n{};
          std::string_view part = w;
          for (auto& v : n) {
            const std::size_t slash = part.find('/');
            const auto parsed = io_text::parse_count(part.substr(0, slash), cpus_most);
            if (!parsed) return fail("CPUS(A/I/O/T)", w);
            v = *parsed;
            part.remove_prefix(slash == std::string_view::npos ? part.size() : slash + 1);
          }
          row.allocated_cpus = n[0];
          row.cpus = n[3];
          break;
        }
        case c::memory:
          if (!number(w, std::uint64_t{1} << 32, row.memory_mib)) return fail("MEMORY", w);
          break;
        case c::gres:
          row.gres = is_nothing(w) ? "(null)" : std::string{w};
          break;
        case c::gres_used:
          row.gres_used = is_nothing(w) ? "" : std::string{w};
          break;
        case c::features:
          row.features = word_list(w);
          break;
        case c::count:
          if (!number(w, max_nodes, count)) return fail("NODES", w);
          break;
        default:
          break;
      }
    }
    if (count && *count != names.size())
      return unexpected{lines.error(io_text::counted(static_cast<std::size_t>(*count), "node") + " beside a list of " +
                                        std::to_string(names.size()),
                                    "a NODELIST that is not cut (%N without a width)")};
    mentioned += names.size();
    if (mentioned > max_nodes * 16) return unexpected{lines.error("too many nodes in all rows", "fewer")};
    // Sums over the nodes of a row say nothing about one of them.
    if (names.size() != 1) row.allocated_cpus.reset(), row.gres_used.clear();
    for (auto i = heading.begin(); i != heading.end(); ++i)
      if (*i == c::cpu_use && names.size() != 1) row.cpus.reset();
    for (auto& name : names) {
      const auto [it, fresh] = index.emplace(name, out.size());
      if (fresh) {
        if (out.size() >= max_nodes)
          return unexpected{lines.error("more than " + std::to_string(max_nodes) + " nodes", "fewer")};
        live_node n = row;
        n.place = {file.name, lines.number()};
        n.name = std::move(name);
        out.push_back(std::move(n));
        continue;
      }
      if (!add_row(out[it->second], row))
        return unexpected{lines.error("a node in more than 1000 partitions", "fewer")};
    }
  }
  if (lines.fault()) return unexpected{*lines.fault()};
  if (out.empty())
    return unexpected{input_error{file.name, lines.number(), "no node", "rows of nodes below the heading"}};
  return out;
}

}  // namespace berth
