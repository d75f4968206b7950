#pragma once
/// \file
/// `rocm-smi --showtopo` and `amd-smi topology`: how AMD GPUs of a machine are joined. Plain text; needs Boost.Graph.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/io/inside/bus_id.hpp"
#include "berth/io/inside/gpu_names.hpp"
#include "berth/io/inside/plain_lines.hpp"
#include "berth/io/site_report.hpp"

namespace berth {

namespace detail {

/// "GPU3" or a PCI bus id as a word that names a GPU in these tables.
[[nodiscard]] inline bool is_rocm_gpu(std::string_view w) {
  if (w.starts_with("GPU")) return io_text::parse_count(w.substr(3), 9999).has_value();
  return w.size() >= 7 && inside_text::parse_pci_address(w).has_value();
}

}  // namespace detail

/// True when the first 64 KiB have the words of such tables.
[[nodiscard]] inline bool looks_like_rocm_topo(std::string_view text) noexcept {
  text = text.substr(0, std::size_t{1} << 16);
  const auto has = [text](std::string_view w) { return text.find(w) != std::string_view::npos; };
  return (has("ROCm System Management Interface") && (has("between two GPUs") || has("(Topology)"))) ||
         has("LINK TYPE TABLE");
}

/// Reads `rocm-smi --showtopo` (tables Hops and Link Type, lines "(Topology) Numa Node") and `amd-smi topology`. XGMI
/// at one hop, or of unstated hops, is a link of unknown rate between two GPUs; more hops and PCIE go over the NUMA
/// nodes. Errors: no table, rows that are missing or too short, unknown words, more than 64 GPUs. O(length).
[[nodiscard]] inline expected<site_report, input_error> read_rocm_topo(const named_text& in,
                                                                       const reader_options& options = {}) {
  const auto lines = inside_text::plain_lines(in.name, in.text);
  if (!lines) return unexpected{lines.error()};
  site_report out;
  out.source = in.name;
  out.format = "rocm-smi --showtopo";
  const auto fail = [&in](std::size_t line, std::string found, std::string wanted) {
    return unexpected{input_error{in.name, line, std::move(found), std::move(wanted)}};
  };
  std::vector<std::string> gpus;
  std::vector<std::vector<std::string>> types;
  std::vector<std::vector<std::uint64_t>> hops;
  std::map<std::size_t, std::uint32_t> numa, affinity;
  enum class table { none, hop_counts, link_types, other } title = table::none;
  std::size_t first = 0;
  for (std::size_t i = 0; i < lines->size(); ++i) {
    const auto& l = (*lines)[i];
    const std::string low = io_text::lower(l.text);
    if (low.find("hops between") != std::string::npos || low.find("hops table") != std::string::npos)
      title = table::hop_counts;
    else if (low.find("link type between") != std::string::npos || low.find("link type table") != std::string::npos)
      title = table::link_types;
    else if (low.find("between two") != std::string::npos || low.find(" table") != std::string::npos)
      title = table::other;
    // GPU[3]          : (Topology) Numa Node: 0
    const std::size_t topology = l.text.find("(Topology)");
    if (topology != std::string::npos && io_text::trim(l.text).starts_with("GPU[")) {
      const std::string_view t = io_text::trim(l.text);
      const auto gpu = io_text::parse_count(t.substr(4, std::min(t.find(']'), t.size()) - 4), 9999);
      const std::size_t colon = t.rfind(':');
      const std::string_view value = io_text::trim(t.substr(colon + 1));
      const auto node = io_text::parse_count(value, 65535);
      if (!gpu || (!node && value != "-1" && value != "N/A"))
        return fail(l.number, io_text::quoted(t), "\"GPU[0] : (Topology) Numa Node: 0\"");
      if (node)
        (t.find("Affinity") != std::string_view::npos ? affinity : numa)
            .emplace(*gpu, static_cast<std::uint32_t>(*node));
      continue;
    }
    const auto header = inside_text::words(l.text);
    if (header.empty() || !std::all_of(header.begin(), header.end(), detail::is_rocm_gpu)) continue;
    if (header.size() > max_devices_per_node)
      return fail(l.number, std::to_string(header.size()) + " GPUs", "at most 64");
    // A table: rows with the same names in the same order.
    std::vector<std::string> names;
    for (const auto w : header) names.emplace_back(w);
    if (first == 0) first = l.number;
    if (!gpus.empty() && gpus != names) return fail(l.number, "a table of other GPUs", "the GPUs of the table before");
    gpus = names;
    const std::size_t n = gpus.size();
    bool words_only = true, numbers_only = true;
    std::vector<std::vector<std::string>> cells(n);
    for (std::size_t r = 0; r < n; ++r) {
      std::size_t at = i + 1;
      while (at < lines->size() && inside_text::words((*lines)[at].text).empty()) ++at;
      if (at >= lines->size()) return fail(l.number, std::to_string(r) + " rows below the header", std::to_string(n));
      const auto w = inside_text::words((*lines)[at].text);
      if (w[0] != gpus[r] || w.size() != n + 1)
        return fail((*lines)[at].number, io_text::quoted((*lines)[at].text),
                    "row " + gpus[r] + " with " + std::to_string(n) + " cells");
      for (std::size_t j = 0; j < n; ++j) {
        cells[r].emplace_back(w[j + 1]);
        if (j == r) continue;
        (io_text::parse_count(w[j + 1]) ? words_only : numbers_only) = false;
      }
      i = at;
    }
    if (n == 1 && title == table::none) continue;
    const bool kinds = std::any_of(cells.begin(), cells.end(), [](const auto& row) {
      return std::any_of(row.begin(), row.end(),
                         [](const std::string& c) { return c == "XGMI" || c == "PCIE" || c == "XXXX"; });
    });
    if (kinds || (title == table::link_types && words_only)) {
      types = std::move(cells);
    } else if (title == table::hop_counts && numbers_only) {
      hops.assign(n, std::vector<std::uint64_t>(n));
      for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < n; ++b) hops[a][b] = io_text::parse_count(cells[a][b]).value_or(0);
    }
  }
  if (gpus.empty()) return fail(lines->empty() ? 0 : 1, "no table of GPUs", "the output of rocm-smi --showtopo");

  const std::size_t n = gpus.size();
  hardware_graph g;
  std::map<std::uint32_t, part_id> nodes;
  machine_report m;
  m.place = {in.name, first};
  m.name = options.machine;
  m.gpus = static_cast<unsigned>(n);
  m.gpu_model = options.gpu_model == "guess" ? std::string{} : inside_text::gpu_model_or_name(options.gpu_model);
  for (std::size_t i = 0; i < n; ++i) {
    const part_id v = add_part(g, vertex_kind::gpu, static_cast<std::uint32_t>(i));
    g[v].model = m.gpu_model;
    if (const auto id = inside_text::normal_bus_id(gpus[i])) g[v].bus_id = *id;
  }
  std::size_t unlike = 0, unknown = 0, far = 0;
  for (const auto& [gpu, node] : numa) {
    if (gpu >= n) return fail(first, "a NUMA node of GPU " + std::to_string(gpu), "GPUs of the table");
    const auto other = affinity.find(gpu);
    if (other != affinity.end() && other->second != node) ++unlike;
    auto it = nodes.find(node);
    if (it == nodes.end()) {
      const part_id v = add_part(g, vertex_kind::numa, node);
      it = nodes.emplace(node, v).first;
    }
    link l;
    l.kind = link_kind::pcie;
    join(g, gpu, it->second, l);
  }
  for (auto a = nodes.begin(); a != nodes.end(); ++a)
    for (auto b = nodes.begin(); b != a; ++b)
      join(g, b->second, a->second, link{link_kind::cpu_link, {}, {}, {}, {}, {}, true});
  for (std::size_t a = 0; a < n && !types.empty(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      const std::string &x = types[a][b], &y = types[b][a];
      if (x != y)
        return fail(first, x + " from " + gpus[a] + " to " + gpus[b] + " but " + y + " back",
                    "the same in both directions");
      if (x == "XGMI") {
        if (!hops.empty() && hops[a][b] > 1) ++far;
        else join(g, b, a, link{link_kind::xgmi, {}, {}, {}, {}, {}, true});
      } else if (x == "XXXX" || x == "N/A" || x == "UNKNOWN") {
        ++unknown;
      } else if (x != "PCIE") {
        return fail(first, io_text::quoted(x) + " between " + gpus[b] + " and " + gpus[a], "XGMI, PCIE or XXXX");
      }
    }
  if (types.empty()) out.assumptions.push_back("the file has no table of link types: how the GPUs are joined is open");
  if (unknown != 0)
    out.assumptions.push_back(io_text::counted(unknown, "pair") +
                              " of GPUs whose link the tool could not tell (XXXX): joined over their NUMA nodes only");
  if (far != 0)
    out.assumptions.push_back(io_text::counted(far, "pair") +
                              " of GPUs joined by XGMI over other GPUs: not a link of their own");
  if (unlike != 0)
    out.assumptions.push_back("NUMA node and NUMA affinity of " + io_text::counted(unlike, "GPU") +
                              " differ: the node counts");
  m.inside = std::move(g);
  out.machines.push_back(std::move(m));
  return out;
}

}  // namespace berth
