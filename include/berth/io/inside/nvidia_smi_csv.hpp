#pragma once
/// \file
/// `nvidia-smi --query-gpu=… --format=csv`: one line per GPU, with a header. Plain text; needs Boost.Graph.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/csv.hpp"
#include "berth/io/inside/gpu_list.hpp"
#include "berth/io/inside/plain_lines.hpp"
#include "berth/io/site_report.hpp"

namespace berth {

namespace detail {

/// A column's name without its unit, with one word for what nvidia-smi has two names for.
[[nodiscard]] constexpr std::string_view csv_column(std::string_view title) noexcept {
  if (const std::size_t unit = title.find(" ["); unit != std::string_view::npos) title = title.substr(0, unit);
  if (title == "gpu_name") return "name";
  if (title == "gpu_uuid") return "uuid";
  if (title == "gpu_bus_id") return "pci.bus_id";
  return title;
}
/// Columns that tell a header of such a file.
[[nodiscard]] constexpr bool csv_known(std::string_view column) noexcept {
  return column == "index" || column == "name" || column == "uuid" || column == "pci.bus_id" ||
         column == "memory.total" || column == "mig.mode.current" || column == "driver_version" ||
         column == "compute_cap";
}
/// How many such columns a line names.
[[nodiscard]] constexpr std::size_t csv_score(std::string_view line) noexcept {
  std::size_t n = 0;
  for (;;) {
    const std::size_t comma = line.find(',');
    if (csv_known(csv_column(io_text::trim(line.substr(0, comma))))) ++n;
    if (comma == std::string_view::npos) return n;
    line.remove_prefix(comma + 1);
  }
}

}  // namespace detail

/// True when a line of the first 16 KiB names at least two of index, name, uuid, pci.bus_id, memory.total, ….
[[nodiscard]] inline bool looks_like_nvidia_smi_csv(std::string_view text) noexcept {
  text = text.substr(0, std::size_t{1} << 14);
  for (int lines = 0; lines < 10; ++lines) {
    const std::size_t end = text.find('\n');
    if (detail::csv_score(text.substr(0, end)) >= 2) return true;
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
  }
  return false;
}

/// Reads `nvidia-smi --query-gpu=… --format=csv` with its header: index, name, uuid, pci.bus_id, memory.total,
/// mig.mode.current, fabric and hostname where they were asked for; other columns are measurements. A GPU that comes
/// again
/// (`-l`) must say the same. Lines of several host names are several machines. Errors: no header, lines with another
/// number of cells, values that are none. O(length).
[[nodiscard]] inline expected<site_report, input_error> read_nvidia_smi_csv(const named_text& in,
                                                                            const reader_options& options = {}) {
  const auto lines = inside_text::plain_lines(in.name, in.text);
  if (!lines) return unexpected{lines.error()};
  site_report out;
  out.source = in.name;
  out.format = "nvidia-smi --query-gpu";
  std::vector<std::string> columns;
  struct host {
    std::string name;
    std::size_t line = 0;
    std::vector<inside_text::gpu_row> rows;
  };
  std::vector<host> hosts;
  std::size_t header = 0;
  for (const auto& l : *lines) {
    if (io_text::trim(l.text).empty()) continue;
    const auto fail = [&](std::string found, std::string wanted) {
      return unexpected{input_error{in.name, l.number, std::move(found), std::move(wanted)}};
    };
    if (columns.empty()) {
      if (detail::csv_score(l.text) < 2) continue;  // a prompt, a title
      for (const auto c : csv_cells(l.text)) columns.emplace_back(detail::csv_column(c));
      header = l.number;
      continue;
    }
    const auto cells = csv_cells(l.text);
    if (cells.size() != columns.size())
      return fail(std::to_string(cells.size()) + " cells", std::to_string(columns.size()) + ", as the header has");
    if (detail::csv_score(l.text) >= 2) continue;  // the header again
    inside_text::gpu_row r;
    r.line = l.number;
    std::string machine, cluster, clique;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string_view c = cells[i], name = columns[i];
      if (inside_text::is_nothing(c) || c.size() > 256) continue;
      if (name == "index") {
        const auto n = io_text::parse_count(c, 9999);
        if (!n) return fail("index " + io_text::quoted(c), "a number");
        r.number = static_cast<std::uint32_t>(*n);
      } else if (name == "name") {
        r.name = std::string{c};
      } else if (name == "uuid") {
        r.uuid = inside_text::real_uuid(c);
      } else if (name == "pci.bus_id") {
        const auto id = inside_text::normal_bus_id(c);
        if (!id) return fail("pci.bus_id " + io_text::quoted(c), inside_text::bus_id_form);
        r.bus_id = *id;
      } else if (name == "memory.total") {
        r.memory_mib = inside_text::mebibytes_of(c);
        if (!r.memory_mib) return fail("memory.total " + io_text::quoted(c), "MiB");
      } else if (name == "mig.mode.current") {
        r.mig = c == "Enabled";
      } else if (name == "hostname") {
        machine = std::string{c};
      } else if (name == "fabric.clusterUuid") {
        if (c.find_first_not_of("0-") != std::string_view::npos) cluster = std::string{c};
      } else if (name == "fabric.cliqueId") {
        if (io_text::parse_count(c)) clique = std::string{c};
      } else if (name == "gpu_recovery_action") {
        r.broken = c == "Reset" || c == "Reboot" || c == "Drain and Reset";
      }
    }
    if (!cluster.empty() && !clique.empty()) r.clique = cluster + "." + clique;
    auto h = std::find_if(hosts.begin(), hosts.end(), [&](const host& o) { return o.name == machine; });
    if (h == hosts.end()) {
      if (hosts.size() >= std::min<std::size_t>(options.max_machines, 4096))
        return fail("one more host", "at most 4096");
      h = hosts.insert(hosts.end(), host{machine, l.number, {}});
    }
    const auto again = std::find_if(h->rows.begin(), h->rows.end(), [&](const inside_text::gpu_row& o) {
      return (r.number && o.number == r.number) || (!r.uuid.empty() && o.uuid == r.uuid);
    });
    if (again != h->rows.end()) {
      if (again->number != r.number || again->uuid != r.uuid || again->name != r.name || again->bus_id != r.bus_id)
        return fail("the GPU of line " + std::to_string(again->line) + " with another name, UUID or bus id",
                    "the same GPU in every sample");
      continue;
    }
    if (h->rows.size() >= max_devices_per_node) return fail("one more GPU", "at most 64 in a machine");
    h->rows.push_back(std::move(r));
  }
  if (columns.empty())
    return unexpected{input_error{in.name, lines->empty() ? 0U : 1U, "no header with index, name, uuid or pci.bus_id",
                                  "the output of nvidia-smi --query-gpu=… --format=csv"}};
  if (hosts.empty()) return unexpected{input_error{in.name, header, "a header without GPUs", "a line for each GPU"}};
  for (auto& h : hosts) {
    auto m = inside_text::machine_of(std::move(h.rows), {in.name, h.line}, options, out.assumptions);
    if (!m) return unexpected{std::move(m).error()};
    if (!h.name.empty()) m->name = h.name;
    out.machines.push_back(*std::move(m));
  }
  out.assumptions.push_back(inside_text::joined_unknown);
  return out;
}

}  // namespace berth
