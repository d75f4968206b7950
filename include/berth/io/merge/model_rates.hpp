#pragma once
/// \file
/// Rates of links inside a machine from the model of its GPUs, where one file tells the links and another the model: a
/// table of `nvidia-smi topo -m` says how many NVLinks there are, and not how fast one is.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/io/inside/bus_id.hpp"
#include "berth/io/inside/model_option.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/text.hpp"
#include "berth/topology/catalogue/gpu_models.hpp"
#include "berth/topology/graph/hardware_graph.hpp"

namespace berth::merge_detail {

/// The model of all GPUs of a graph; "" where they differ or some has none.
[[nodiscard]] inline std::string one_model_of(const hardware_graph& g) {
  const auto gpus = parts_of(g, vertex_kind::gpu);
  if (gpus.empty()) return "";
  for (const auto v : gpus)
    if (g[v].model != g[gpus.front()].model) return "";
  return g[gpus.front()].model;
}

/// What a model did to a graph.
struct model_rates {
  std::string note;   ///< what was assumed; "" for nothing
  std::string fault;  ///< what the model cannot have; "" for nothing
};

/// Gives NVLinks whose number alone is known the rate of the GPUs at their ends. What the catalogue does not know stays
/// unknown, and so do NVLinks that are more than the model has. O(parts + links).
/// \param whole  all ways between GPUs are told: then PCIe links, where speed, lanes or rate of none is stated, are
/// those of the GPUs' model, as readers take them that are told the model
[[nodiscard]] inline model_rates rate_by_models(hardware_graph& g, bool whole) {
  model_rates out;
  bool pcie_told = false, pcie = false;
  for (auto [e, end] = boost::edges(g); e != end; ++e) {
    link& l = g[*e];
    if (l.kind == link_kind::pcie) {
      pcie = true;
      pcie_told = pcie_told || l.rate || l.count || l.generation;
    }
    if (l.kind != link_kind::nvlink || l.rate || !l.count) continue;
    std::optional<link> by_model;
    bool known = true;
    for (const auto v : {boost::source(*e, g), boost::target(*e, g)}) {
      if (g[v].kind != vertex_kind::gpu) continue;
      const auto* model = catalogue::find_gpu_model(g[v].model);
      if (model == nullptr) {
        known = false;
        continue;
      }
      const unsigned most = model->nvlink ? model->nvlink->links : 0U;
      if (*l.count > most) {
        known = false;
        if (out.fault.empty())
          out.fault = "has " + io_text::counted(*l.count, "NVLink") + " at " + g[v].name + ", and a " + g[v].model +
                      " has at most " + std::to_string(most) + "; their rate stays unknown";
        continue;
      }
      const link here = inside_text::nvlink_of(model, *l.count);
      if (!by_model || *here.rate < *by_model->rate) by_model = here;
    }
    if (!known || !by_model) continue;
    l.rate = by_model->rate;
    l.generation = by_model->generation;
  }
  if (!whole || !pcie || pcie_told) return out;
  const auto* model = catalogue::find_gpu_model(one_model_of(g));
  if (model == nullptr) return out;
  for (auto [e, end] = boost::edges(g); e != end; ++e) {
    link& l = g[*e];
    if (l.kind != link_kind::pcie) continue;
    l = inside_text::pcie_of(*model);
  }
  out.note = inside_text::pcie_assumption(*model) + ".";
  return out;
}

}  // namespace berth::merge_detail
