#pragma once
/// \file
/// Lists of GPUs, as `nvidia-smi -L`, `-q -x`, `--query-gpu` and the DCGM exporter give them, as machines. Needs
/// Boost.Graph.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/inside/bus_id.hpp"
#include "berth/io/inside/gpu_names.hpp"
#include "berth/io/site_report.hpp"

namespace berth::inside_text {

/// What a list says about one GPU. "" and empty where it says nothing.
struct gpu_row {
  std::optional<std::uint32_t> number;
  std::string name, uuid, bus_id;
  std::optional<std::uint32_t> memory_mib;
  std::optional<bool> mig;            ///< MIG mode
  std::vector<std::string> profiles;  ///< MIG profiles of its instances
  std::string clique;                 ///< "<cluster UUID>.<clique id>" of its NVLink domain
  bool broken = false;
  std::size_t line = 0;
};

/// A value that stands for nothing: "", "N/A", "[N/A]", "[Not Supported]", "[Requested functionality …]".
[[nodiscard]] inline bool is_nothing(std::string_view v) noexcept {
  return v.empty() || v == "N/A" || v == "-" || (v.front() == '[' && v.back() == ']') || v == "None";
}
/// A UUID, or "" where it is masked with zeros.
[[nodiscard]] inline std::string real_uuid(std::string_view v) {
  const std::size_t dash = v.find('-');
  if (is_nothing(v) || dash == std::string_view::npos || v.size() > 128) return {};
  return v.substr(dash).find_first_not_of("0-") == std::string_view::npos ? std::string{} : std::string{v};
}
/// "81559 MiB" or "81559" as MiB.
[[nodiscard]] inline std::optional<std::uint32_t> mebibytes_of(std::string_view v) noexcept {
  v = io_text::trim(v);
  if (v.ends_with("MiB")) v = io_text::trim(v.substr(0, v.size() - 3));
  const auto n = io_text::parse_count(v, 100'000'000);
  if (!n) return std::nullopt;
  return static_cast<std::uint32_t>(*n);
}

/// Makes a machine of a list: GPUs in the order of their numbers (of the list, where one has none), model, memory, MIG
/// and NVLink clique as labels. How the GPUs are joined is open. Errors: a number, UUID or bus id twice, more than 64.
/// O(n log n).
[[nodiscard]] inline expected<machine_report, input_error> machine_of(std::vector<gpu_row> rows, input_place place,
                                                                      const reader_options& options,
                                                                      std::vector<std::string>& assumptions) {
  if (rows.empty()) return unexpected{place.error("no GPU", "at least one")};
  if (rows.size() > max_devices_per_node)
    return unexpected{place.error(std::to_string(rows.size()) + " GPUs in one machine", "at most 64")};
  const bool numbered = std::all_of(rows.begin(), rows.end(), [](const gpu_row& r) { return r.number.has_value(); });
  if (numbered)
    std::stable_sort(rows.begin(), rows.end(),
                     [](const gpu_row& a, const gpu_row& b) { return *a.number < *b.number; });
  machine_report m;
  m.place = std::move(place);
  m.name = options.machine;
  m.gpus = static_cast<unsigned>(rows.size());
  hardware_graph g;
  const std::string fallback = options.gpu_model == "guess" ? std::string{} : gpu_model_or_name(options.gpu_model);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    gpu_row& r = rows[i];
    for (std::size_t j = 0; j < i; ++j)
      for (const bool same : {numbered && *r.number == *rows[j].number, !r.uuid.empty() && r.uuid == rows[j].uuid,
                              !r.bus_id.empty() && r.bus_id == rows[j].bus_id})
        if (same)
          return unexpected{input_error{
              m.place.source, r.line, "the GPU of line " + std::to_string(rows[j].line) + " again", "every GPU once"}};
    const part_id v = add_part(g, vertex_kind::gpu, static_cast<std::uint32_t>(i));
    g[v].model = r.name.empty() ? fallback : gpu_model_or_name(r.name);
    g[v].uuid = std::move(r.uuid);
    g[v].bus_id = std::move(r.bus_id);
    g[v].healthy = !r.broken;
    if (r.broken) m.unhealthy |= bit(static_cast<unsigned>(i));
    if (i == 0) m.gpu_model = g[v].model;
    else if (m.gpu_model != g[v].model) m.gpu_model.clear();
  }
  if (numbered && *rows.back().number + 1 != rows.size())
    assumptions.push_back("the list skips GPU numbers: its GPU " + std::to_string(*rows.back().number) + " is GPU " +
                          std::to_string(rows.size() - 1) + " here");
  const auto all_equal = [&rows](auto field) {
    return std::all_of(rows.begin(), rows.end(), [&](const gpu_row& r) { return r.*field == rows[0].*field; });
  };
  if (rows[0].memory_mib && all_equal(&gpu_row::memory_mib))
    m.labels.push_back("gpu.memory=" + std::to_string(*rows[0].memory_mib) + "MiB");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].memory_mib && !all_equal(&gpu_row::memory_mib))
      m.labels.push_back("gpu" + std::to_string(i) + ".memory=" + std::to_string(*rows[i].memory_mib) + "MiB");
    if (rows[i].mig.value_or(!rows[i].profiles.empty())) m.split |= bit(static_cast<unsigned>(i));
    if (rows[i].profiles.empty()) {
      if (rows[i].mig.value_or(false)) m.labels.push_back("gpu" + std::to_string(i) + ".mig=enabled");
      continue;
    }
    std::string label = "gpu" + std::to_string(i) + ".mig=";
    for (const auto& p : rows[i].profiles) label += (label.back() == '=' ? "" : ",") + p;
    m.labels.push_back(std::move(label));
  }
  if (!rows[0].clique.empty()) {
    if (all_equal(&gpu_row::clique)) m.labels.push_back("nvidia.com/gpu.clique=" + rows[0].clique);
    else assumptions.push_back("GPUs of one machine are in several NVLink cliques: none is noted");
  }
  m.inside = std::move(g);
  return m;
}

/// The sentence that belongs to every list.
inline constexpr const char* joined_unknown = "how the GPUs are joined is not in this list";

}  // namespace berth::inside_text
