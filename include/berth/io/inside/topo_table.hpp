#pragma once
/// \file
/// The table that `nvidia-smi topo -m` prints, as cells. Needs Boost.Graph (for `path_cell`).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/expected.hpp"
#include "berth/io/input_place.hpp"
#include "berth/io/inside/bus_id.hpp"
#include "berth/io/inside/path_kind.hpp"
#include "berth/io/inside/plain_lines.hpp"
#include "berth/io/text.hpp"

namespace berth::topo_text {

/// Most devices of one table.
inline constexpr std::size_t max_gpus = 64, max_nics = 256;

/// One GPU or NIC of the table.
struct device {
  std::string label;                 ///< "GPU0", "NIC3", "mlx5_0"
  std::string name;                  ///< of a NIC: what the legend calls it, else its label
  bool is_gpu = false;               ///
  std::uint32_t number = 0;          ///< of a GPU: the one in its label
  std::size_t line = 0;              ///< of its row; 0: it has none
  std::string cpus, numa, gpu_numa;  ///< the affinity columns; "" where not stated or "N/A"
};

/// The table: GPUs by number, then NICs in the order of the columns.
struct table {
  std::size_t line = 0;
  std::vector<device> devices;
  std::size_t gpus = 0;
  std::vector<std::vector<path_cell>> cells;
};

/// The cell that a word says; empty where it is none. "-" and "N/A" are cells of unknown kind.
[[nodiscard]] inline std::optional<path_cell> parse_cell(std::string_view w) noexcept {
  if (w == "X") return path_cell{path_kind::self, 0};
  if (w == "PIX") return path_cell{path_kind::pix, 0};
  if (w == "PXB") return path_cell{path_kind::pxb, 0};
  if (w == "PHB") return path_cell{path_kind::phb, 0};
  if (w == "NODE") return path_cell{path_kind::node, 0};
  if (w == "SYS" || w == "SOC") return path_cell{path_kind::sys, 0};
  if (w == "N/A" || w == "-") return path_cell{};
  if (w.starts_with("NV"))
    if (const auto n = io_text::parse_count(w.substr(2), 255); n && *n > 0)
      return path_cell{path_kind::nvlink, static_cast<std::uint16_t>(*n)};
  return std::nullopt;
}

/// The number of "GPU3"; empty for other words.
[[nodiscard]] inline std::optional<std::uint32_t> gpu_number(std::string_view w) noexcept {
  if (!w.starts_with("GPU")) return std::nullopt;
  const auto n = io_text::parse_count(w.substr(3), 9999);
  if (!n) return std::nullopt;
  return static_cast<std::uint32_t>(*n);
}

/// A word that may name a device: a letter first, then letters, digits and a few signs.
[[nodiscard]] inline bool is_label(std::string_view w) noexcept {
  if (w.empty() || w.size() > 64 || io_text::is_digit(w[0])) return false;
  for (const char c : w) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || io_text::is_digit(c);
    if (!letter && c != '_' && c != '-' && c != '.' && c != ':' && c != '@') return false;
  }
  return !parse_cell(w);
}

/// The words of a line of a table, without the signs that quoting and tables put around them.
[[nodiscard]] inline std::vector<std::string_view> row_words(std::string_view line) {
  auto out = inside_text::words(line);
  while (!out.empty() && (out.front() == ">" || out.front() == "|" || out.front() == "#")) out.erase(out.begin());
  std::erase(out, std::string_view{"|"});
  return out;
}

/// Begins a row: a device and its first cell.
[[nodiscard]] inline bool starts_row(const std::vector<std::string_view>& w) noexcept {
  return w.size() >= 2 && is_label(w[0]) && parse_cell(w[1]);
}
/// The header: GPUs first, and no cells.
[[nodiscard]] inline bool starts_header(const std::vector<std::string_view>& w) noexcept {
  if (w.empty() || !gpu_number(w[0])) return false;
  return w.size() == 1 || w[1] == "CPU" ||
         (is_label(w[1]) && w[1].find_first_of("0123456789") != std::string_view::npos);
}

/// The affinity columns of a row: CPUs, NUMA nodes, the GPU's own NUMA node; "" where empty or "N/A". `line`: the row
/// where it is one line; `tail`: its words after the cells. A cell may be empty, which only tabs show; without tabs a
/// lone number is taken for the NUMA node.
[[nodiscard]] inline std::array<std::string, 3> affinity_of(std::string_view line, std::size_t cells,
                                                            std::vector<std::string> tail, bool has_cpu, bool has_numa,
                                                            bool has_gpu_numa) {
  std::array<std::string, 3> out;
  if (!has_cpu && !has_numa && !has_gpu_numa) has_cpu = has_numa = has_gpu_numa = true;
  std::vector<std::string> fields;
  while (line.find('\t') != std::string_view::npos || !line.empty()) {
    const std::size_t tab = line.find('\t');
    fields.emplace_back(io_text::trim(line.substr(0, tab)));
    if (tab == std::string_view::npos) break;
    line.remove_prefix(tab + 1);
  }
  const bool tabs = fields.size() > cells && parse_cell(fields[1]) && parse_cell(fields[cells]);
  if (tabs) {
    std::size_t at = cells + 1;
    const auto take = [&](bool column) { return column && at < fields.size() ? fields[at++] : std::string{}; };
    out[0] = take(has_cpu);
    out[1] = take(has_numa);
    // Values of this column come after two tabs, its title after one.
    while (has_gpu_numa && out[2].empty() && at < fields.size()) out[2] = fields[at++];
  } else {
    std::size_t from = 0, to = tail.size();
    const std::size_t columns = std::size_t{has_cpu} + std::size_t{has_numa} + std::size_t{has_gpu_numa};
    if (has_gpu_numa && to > 0 && (to == columns || tail[to - 1] == "N/A")) out[2] = tail[--to];
    const bool lone = has_cpu && has_numa && to == 1 && io_text::parse_count(tail[0]);
    if (has_cpu && !lone && from < to) out[0] = tail[from++];
    if (has_numa && from < to) out[1] = tail[from++];
    if (has_gpu_numa && from < to) out[2] = tail[from++];
  }
  for (auto& v : out)
    if (v == "N/A" || v == "-") v.clear();
  return out;
}

/// Reads the first table of a text. Blank lines, prompts and prose before it, legends and prose after it are passed
/// over. Errors: no table, a second one, cells that are missing, unknown or contradict each other, too many devices.
/// O(length + devices^2).
[[nodiscard]] inline expected<table, input_error> read_table(const std::string& source, std::string_view text) {
  const auto lines = inside_text::plain_lines(source, text);
  if (!lines) return unexpected{lines.error()};
  const auto fail = [&source](std::size_t line, std::string found, std::string wanted) {
    return unexpected{input_error{source, line, std::move(found), std::move(wanted)}};
  };
  constexpr const char* a_table = "the table that `nvidia-smi topo -m` prints";

  // The header: a line of device names that a row follows, perhaps after more of its own words.
  std::size_t at = 0, first_row = 0;
  std::vector<std::string> columns;
  for (; at < lines->size() && first_row == 0; ++at) {
    if (!starts_header(row_words((*lines)[at].text))) continue;
    std::size_t i = at;
    std::vector<std::string> found;
    for (; i < lines->size() && i < at + 20; ++i) {
      const auto w = row_words((*lines)[i].text);
      if (starts_row(w) && i != at) {
        first_row = i;
        break;
      }
      if (i != at && starts_header(w) && w.size() > 1 && gpu_number(w[1])) break;  // another header; start there
      for (const auto word : w) found.emplace_back(word);
    }
    if (first_row != 0) columns = std::move(found);
  }
  if (first_row == 0) return fail(lines->empty() ? 0 : 1, "no table with a header GPU0 … and rows below it", a_table);

  table t;
  t.line = (*lines)[at - 1].number;
  const bool wrapped_header = first_row > at;
  // What follows the devices in the header.
  bool has_cpu = false, has_numa = false, has_gpu_numa = false;
  std::size_t devices = 0;
  while (devices < columns.size() && is_label(columns[devices]) && columns[devices] != "CPU" &&
         columns[devices] != "NUMA" && columns[devices] != "Affinity" && columns[devices] != "GPU")
    ++devices;
  for (std::size_t i = devices; i + 1 < columns.size(); ++i) {
    if (columns[i] == "CPU") has_cpu = true;
    if (columns[i] == "NUMA" && columns[i + 1] != "ID") has_numa = true;
    if (columns[i] == "GPU" && columns[i + 1] == "NUMA") has_gpu_numa = true;
  }
  columns.resize(devices);
  const std::size_t tail_columns = std::size_t{has_cpu} + std::size_t{has_numa} + std::size_t{has_gpu_numa};

  // Rows, with the places where a line was broken.
  struct row {
    std::size_t line = 0;
    std::vector<std::string> words;
    std::vector<char> broken;  ///< after that word the line ended
    std::string text;          ///< the line, where it is one
  };
  std::vector<row> rows;
  std::size_t end = first_row;
  for (bool in_row = false; end < lines->size(); ++end) {
    const auto w = row_words((*lines)[end].text);
    if (w.empty()) {
      if (!rows.empty() && rows.size() >= columns.size()) break;
      continue;
    }
    if (starts_row(w)) {
      if (rows.size() >= max_gpus + max_nics)
        return fail((*lines)[end].number, "more rows", "at most 64 GPUs and 256 NICs");
      rows.push_back({(*lines)[end].number, {}, {}, (*lines)[end].text});
      in_row = true;
    } else {
      const bool more =
          in_row && rows.back().words.size() < columns.size() + 1 + tail_columns &&
          (io_text::is_digit(w[0][0]) || parse_cell(w[0]) || parse_cell(rows.back().words.back() + std::string{w[0]}));
      if (!more) break;
    }
    if (!starts_row(w)) rows.back().text.clear();
    for (const auto word : w) {
      rows.back().words.emplace_back(word);
      rows.back().broken.push_back(0);
    }
    if (!rows.back().broken.empty()) rows.back().broken.back() = 1;
  }
  // A header that was broken inside a word is read off the rows.
  if (wrapped_header && rows.size() > 1) {
    columns.clear();
    for (const auto& r : rows) columns.push_back(r.words[0]);
  }
  const std::size_t n = columns.size();

  std::map<std::string, std::size_t> position;
  for (std::size_t i = 0; i < n; ++i) {
    if (!position.emplace(columns[i], i).second)
      return fail(t.line, io_text::quoted(columns[i]) + " twice in the header", "every device once");
    device d;
    d.label = d.name = columns[i];
    if (const auto g = gpu_number(columns[i])) {
      d.is_gpu = true;
      d.number = *g;
      ++t.gpus;
    }
    t.devices.push_back(std::move(d));
  }
  if (t.gpus > max_gpus || n - t.gpus > max_nics)
    return fail(t.line, std::to_string(t.gpus) + " GPUs and " + std::to_string(n - t.gpus) + " NICs",
                "at most 64 GPUs and 256 NICs");

  std::vector<std::vector<std::optional<path_cell>>> seen(n, std::vector<std::optional<path_cell>>(n));
  for (auto& r : rows) {
    const auto it = position.find(r.words[0]);
    if (it == position.end())
      return fail(r.line, "a row " + io_text::quoted(r.words[0]), "a row for each device of the header");
    const std::size_t i = it->second;
    if (t.devices[i].line != 0) return fail(r.line, "a second row " + r.words[0], "one row for each device");
    t.devices[i].line = r.line;
    // Words that the end of a line cut in two.
    for (std::size_t k = 1; k + 1 < r.words.size(); ++k) {
      if (r.broken[k] == 0) continue;
      const std::string both = r.words[k] + r.words[k + 1];
      const bool in_cells = k <= n;
      const bool cell =
          in_cells && parse_cell(both) && (!parse_cell(r.words[k]) || (!parse_cell(r.words[k + 1]) && k < n));
      const bool list = !in_cells && inside_text::parse_cpu_list(both) &&
                        (r.words[k].back() == '-' || r.words[k].back() == ',' || r.words[k + 1][0] == '-' ||
                         r.words[k + 1][0] == ',');
      if (!cell && !list) continue;
      r.words[k] = both;
      r.broken[k] = r.broken[k + 1];
      r.words.erase(r.words.begin() + static_cast<std::ptrdiff_t>(k) + 1);
      r.broken.erase(r.broken.begin() + static_cast<std::ptrdiff_t>(k) + 1);
    }
    if (r.words.size() < n + 1)
      return fail(r.line, std::to_string(r.words.size() - 1) + " cells in row " + r.words[0],
                  std::to_string(n) + " cells, one for each device of the header");
    for (std::size_t j = 0; j < n; ++j) {
      seen[i][j] = parse_cell(r.words[j + 1]);
      if (!seen[i][j])
        return fail(r.line, io_text::quoted(r.words[j + 1]) + " between " + columns[i] + " and " + columns[j],
                    "X, NV#, PIX, PXB, PHB, NODE or SYS");
      if ((i == j) != (seen[i][j]->kind == path_kind::self) && seen[i][j]->kind != path_kind::unknown)
        return fail(r.line, io_text::quoted(r.words[j + 1]) + " between " + columns[i] + " and " + columns[j],
                    "X on the diagonal, and nowhere else");
      if (seen[i][j]->kind == path_kind::nvlink && (!t.devices[i].is_gpu || !t.devices[j].is_gpu))
        return fail(r.line, io_text::quoted(r.words[j + 1]) + " between " + columns[i] + " and " + columns[j],
                    "NVLink between GPUs");
    }
    std::vector<std::string> tail(r.words.begin() + static_cast<std::ptrdiff_t>(n) + 1, r.words.end());
    const std::size_t allowed = wrapped_header && tail_columns == 0 ? 3 : tail_columns;
    if (tail.size() > allowed)
      return fail(r.line, io_text::quoted(tail[allowed]) + " at the end of row " + r.words[0],
                  std::to_string(n) + " cells and " + std::to_string(tail_columns) + " of affinity");
    const auto affinity = affinity_of(r.text, n, tail, has_cpu, has_numa, has_gpu_numa);
    t.devices[i].cpus = affinity[0];
    t.devices[i].numa = affinity[1];
    t.devices[i].gpu_numa = affinity[2];
    if (!t.devices[i].cpus.empty() && !inside_text::parse_cpu_list(t.devices[i].cpus))
      return fail(r.line, io_text::quoted(t.devices[i].cpus), "CPUs such as 0-31,64-95, or N/A");
    for (const std::string* numa : {&t.devices[i].numa, &t.devices[i].gpu_numa})
      if (!numa->empty() && *numa != "-1" && !inside_text::parse_cpu_list(*numa))
        return fail(r.line, io_text::quoted(*numa), "a NUMA node or a list of them, or N/A");
  }

  // Rows of GPUs are needed; the other half of the table may be missing, not contradict.
  for (std::size_t i = 0; i < n; ++i)
    if (t.devices[i].is_gpu && t.devices[i].line == 0)
      return fail(rows.back().line, "no row " + columns[i], "a row for each GPU of the header");
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      auto& a = seen[i][j];
      auto& b = seen[j][i];
      if (a && b && *a != *b)
        return fail(t.devices[i].line,
                    to_string(*a) + " from " + columns[i] + " to " + columns[j] + " but " + to_string(*b) +
                        " in line " + std::to_string(t.devices[j].line),
                    "the same in both directions");
      if (!a) a = b;
      if (!b) b = a;
    }

  // A second table: which of the two is meant?
  for (std::size_t i = end; i < lines->size(); ++i) {
    const auto w = row_words((*lines)[i].text);
    if (w.size() >= 2 && w[0] == t.devices[0].label && w[1] == "X")
      return fail((*lines)[i].number, "a second table", "one machine in a file");
    // NIC Legend: "NIC3: mlx5_5"
    if (w.size() != 2 || w[0].size() < 2 || w[0].back() != ':' || !w[0].starts_with("NIC") || w[1] == "Legend")
      continue;
    const auto it = position.find(std::string{w[0].substr(0, w[0].size() - 1)});
    if (it != position.end() && is_label(w[1])) t.devices[it->second].name = std::string{w[1]};
  }

  // GPUs by number, then NICs.
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&t](std::size_t a, std::size_t b) {
    const device &x = t.devices[a], &y = t.devices[b];
    if (x.is_gpu != y.is_gpu) return x.is_gpu;
    return x.is_gpu && x.number < y.number;
  });
  std::vector<device> sorted;
  t.cells.assign(n, std::vector<path_cell>(n));
  for (std::size_t i = 0; i < n; ++i) {
    sorted.push_back(std::move(t.devices[order[i]]));
    for (std::size_t j = 0; j < n; ++j) t.cells[i][j] = seen[order[i]][order[j]].value_or(path_cell{});
    t.cells[i][i].kind = path_kind::self;
  }
  t.devices = std::move(sorted);
  return t;
}

}  // namespace berth::topo_text
