#pragma once
/// \file
/// The GPU model that a command line names for files that do not say it.

#include <string>

#include "berth/io/inside/gpu_names.hpp"
#include "berth/topology/catalogue/gpu_models.hpp"

namespace berth_program {

/// Whether the catalogue has the model, by its id or another name.
[[nodiscard]] inline bool is_catalogued_gpu_model(const std::string& name) {
  return !berth::inside_text::gpu_model_of_name(name).empty();
}

/// Ids of the catalogue with commas between.
[[nodiscard]] inline std::string catalogued_gpu_models() {
  std::string out;
  for (const auto& m : berth::catalogue::gpu_models) out += (out.empty() ? "" : ", ") + std::string{m.id};
  return out;
}

}  // namespace berth_program
