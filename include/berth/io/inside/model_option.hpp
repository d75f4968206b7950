#pragma once
/// \file
/// The GPU model of files that do not say it: given, guessed when asked, or open. Needs Boost.Graph
/// (`site_report.hpp`).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/io/inside/bus_id.hpp"
#include "berth/io/inside/gpu_names.hpp"
#include "berth/io/site_report.hpp"
#include "berth/topology/catalogue/gpu_models.hpp"

namespace berth::inside_text {

/// What a table of connections tells about the GPUs in it.
struct model_hints {
  std::size_t gpus = 0;
  std::uint32_t nvlinks = 0;  ///< most NVLinks of one GPU
  bool cpu_memory = false;    ///< GPUs are NUMA nodes of their own: Grace boards
};

/// The most common model with so many NVLinks; "" where none comes to mind.
[[nodiscard]] inline std::string guess_gpu_model(const model_hints& h) {
  if (h.cpu_memory) return h.gpus > 2 ? "gb200-186gb" : "gh200-96gb";
  if (h.nvlinks == 18) return "h100-sxm5-80gb";
  if (h.nvlinks == 12) return "a100-sxm4-80gb";
  if (h.nvlinks == 8) return "a800-sxm4-80gb";
  if (h.nvlinks == 6) return h.gpus > 8 ? "v100-sxm3-32gb" : "v100-sxm2-32gb";
  return "";
}

/// The model for a file that names none, from the options; a guess is noted in `assumptions`. A model that the
/// catalogue knows under another name gets its id.
[[nodiscard]] inline std::string chosen_gpu_model(const reader_options& options, const model_hints& hints,
                                                  std::vector<std::string>& assumptions) {
  if (options.gpu_model != "guess") return gpu_model_or_name(options.gpu_model);
  std::string model = guess_gpu_model(hints);
  if (model.empty())
    assumptions.push_back("the GPU model could not be guessed: " + std::to_string(hints.nvlinks) +
                          " NVLinks per GPU fit no model in particular");
  else
    assumptions.push_back(
        "the GPUs are taken for " + model + ": a guess from " +
        (hints.cpu_memory ? std::string{"their own NUMA nodes"} : std::to_string(hints.nvlinks) + " NVLinks per GPU"));
  return model;
}

/// A link of `count` NVLinks, with the rate where the model is known to have NVLinks.
[[nodiscard]] inline link nvlink_of(const catalogue::gpu_model* model, std::uint16_t count) {
  link l;
  l.kind = link_kind::nvlink;
  l.count = count;
  if (model != nullptr && model->nvlink) {
    l.generation = model->nvlink->generation;
    l.rate = gigabytes_per_second{model->nvlink->gbps_per_link * count};
  }
  return l;
}

/// A PCIe link; generation and rate where both speed and lanes are known.
[[nodiscard]] inline link pcie_link(std::optional<pcie_speed> speed, std::optional<std::uint16_t> lanes) {
  link l;
  l.kind = link_kind::pcie;
  if (speed) l.generation = speed->generation;
  if (lanes && *lanes > 0) l.count = lanes;
  if (speed && l.count) l.rate = gigabytes_per_second{speed->lane_gbps * *l.count};
  return l;
}
/// The PCIe link that a model of GPU has.
[[nodiscard]] inline link pcie_of(const catalogue::gpu_model& m) {
  link l = pcie_link(pcie_generation(m.pcie_generation), m.pcie_lanes);
  l.rate = gigabytes_per_second{m.pcie_gbps};
  return l;
}
/// What to say where it is taken for all PCIe links of a machine.
[[nodiscard]] inline std::string pcie_assumption(const catalogue::gpu_model& m) {
  return "every PCIe link is taken as Gen" + std::to_string(m.pcie_generation) + " x" + std::to_string(m.pcie_lanes) +
         ", as " + std::string{m.id} + " has";
}

}  // namespace berth::inside_text
