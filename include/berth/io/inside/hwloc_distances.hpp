#pragma once
/// \file
/// Matrices of bandwidths between devices in hwloc's XML (`NVLinkBandwidth`, `XGMIBandwidth`, in MB/s), and what joins
/// the devices by them. Needs pugixml and Boost.Graph.
/// Source: hwloc 2.x and 3.0, the documentation of distances; topology-nvml.c and topology-rsmi.c.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/close_word.hpp"
#include "berth/io/inside/gpu_names.hpp"
#include "berth/io/inside/pci_tree.hpp"
#include "berth/io/inside/xml_text.hpp"
#include "berth/io/text.hpp"

namespace berth::inside_text {

/// Bandwidths between objects.
struct hwloc_matrix {
  static constexpr std::size_t nothing = static_cast<std::size_t>(-1);
  std::string_view name;  ///< points into the document
  bool xgmi = false;
  std::vector<std::uint64_t> objects;  ///< their gp_index
  std::vector<std::uint64_t> values;   ///< MB/s, row by row

  /// MB/s in one direction: of two unlike values the smaller.
  [[nodiscard]] std::uint64_t between(std::size_t i, std::size_t j) const {
    return std::min(values[i * objects.size() + j], values[j * objects.size() + i]);
  }
};

/// A <distances2> that says how devices are joined; empty for others. Errors: a name that is almost one of these, a
/// matrix that is not square. O(values).
[[nodiscard]] inline expected<std::optional<hwloc_matrix>, input_error> read_hwloc_matrix(const xml_text& xml,
                                                                                          pugi::xml_node v) {
  const std::string_view name = attribute(v, "name");
  const bool xgmi = name == "XGMIBandwidth";
  if (!xgmi && name != "NVLinkBandwidth") {
    const auto meant = io_text::close_to(name, "NVLinkBandwidth XGMIBandwidth");
    if (meant.empty()) return std::optional<hwloc_matrix>{};
    return unexpected{xml.place(v).error("distances called " + io_text::quoted(name), std::string{meant})};
  }
  const auto n = io_text::parse_count(attribute(v, "nbobjs"), 2048);
  if (!n || *n == 0)
    return unexpected{xml.place(v).error("nbobjs " + io_text::quoted(attribute(v, "nbobjs")), "1 to 2048")};
  hwloc_matrix out;
  out.name = name;
  out.xgmi = xgmi;
  const auto words_of = [&](const char* element, auto take) -> std::optional<input_error> {
    for (const auto c : v.children(element)) {
      std::string_view text = c.text().get();
      while (!text.empty()) {
        const std::size_t begin = text.find_first_not_of(" \t\r\n");
        if (begin == std::string_view::npos) break;
        text.remove_prefix(begin);
        const std::size_t end = std::min(text.find_first_of(" \t\r\n"), text.size());
        if (!take(text.substr(0, end)))
          return xml.place(c).error(io_text::quoted(text.substr(0, end)),
                                    "numbers, as many as objects or pairs of them");
        text.remove_prefix(end);
      }
    }
    return std::nullopt;
  };
  if (auto bad = words_of("indexes", [&](std::string_view w) {
        const std::size_t colon = w.rfind(':');
        const auto gp = io_text::parse_count(colon == std::string_view::npos ? w : w.substr(colon + 1));
        if (!gp || out.objects.size() >= *n) return false;
        out.objects.push_back(*gp);
        return true;
      }))
    return unexpected{std::move(*bad)};
  if (auto bad = words_of("u64values", [&](std::string_view w) {
        const auto value = io_text::parse_count(w);
        if (!value || out.values.size() >= *n * *n) return false;
        out.values.push_back(*value);
        return true;
      }))
    return unexpected{std::move(*bad)};
  if (out.objects.size() != *n || out.values.size() != *n * *n)
    return unexpected{xml.place(v).error(
        std::to_string(out.objects.size()) + " indexes and " + std::to_string(out.values.size()) + " values",
        std::to_string(*n) + " and " + std::to_string(*n * *n))};
  return std::optional<hwloc_matrix>{std::move(out)};
}

/// Joins the devices of a tree. \param items  by object of the matrix: its item, or `nothing`
inline void join_by_bandwidth(pci_tree& tree, const std::vector<std::size_t>& items, const hwloc_matrix& m,
                              std::vector<std::string>& assumptions) {
  const std::size_t n = items.size();
  const auto is_switch = [&](std::size_t i) { return tree.items[items[i]].what == pci_item::kind::nvswitch; };
  bool switches = false, equal = true;
  std::uint64_t first = 0, sum = 0;
  std::vector<std::size_t> gpus;
  for (std::size_t i = 0; i < n; ++i) {
    if (items[i] == hwloc_matrix::nothing) continue;
    if (is_switch(i)) switches = true;
    else gpus.push_back(i);
  }
  for (const auto i : gpus)
    for (const auto j : gpus) {
      if (i == j) continue;
      if (first == 0) first = m.between(i, j);
      equal = equal && m.between(i, j) == first;
      if (i == gpus[0]) sum += m.between(i, j);
    }
  const auto* model = gpus.empty() ? nullptr : catalogue::find_gpu_model(tree.items[items[gpus[0]]].content.model);
  const auto link_of = [&](std::uint64_t mbps) {
    link l;
    l.kind = m.xgmi ? link_kind::xgmi : link_kind::nvlink;
    l.rate = gigabytes_per_second{static_cast<double>(mbps) / 1000};
    if (!m.xgmi && model != nullptr && model->nvlink) {
      l.generation = model->nvlink->generation;
      const double count = l.rate->count() / model->nvlink->gbps_per_link;
      if (count >= 1 && count <= 255 && count == static_cast<double>(static_cast<std::uint16_t>(count)))
        l.count = static_cast<std::uint16_t>(count);
    }
    return l;
  };
  const double most = model != nullptr && model->nvlink ? model->nvlink->links * model->nvlink->gbps_per_link : 900;
  if (!m.xgmi && !switches && equal && gpus.size() > 2 && static_cast<double>(sum) / 1000 > most * 1.01) {
    pci_item s;
    s.what = pci_item::kind::nvswitch;
    const std::size_t at = tree.items.size();
    tree.items.push_back(std::move(s));
    for (const auto i : gpus) tree.links.push_back({items[i], at, false, link_of(first)});
    assumptions.push_back(
        "equal NVLink bandwidth between all GPUs, more than their ports give to every peer: taken as NVSwitches, "
        "shown as one");
    return;
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (items[i] != hwloc_matrix::nothing && items[j] != hwloc_matrix::nothing && items[i] != items[j] &&
          m.between(i, j) != 0)
        tree.links.push_back({items[j], items[i], false, link_of(m.between(i, j))});
}

}  // namespace berth::inside_text
