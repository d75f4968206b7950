#pragma once
/// \file
/// Bodies of `berth/policy/device_requirements.hpp`.

#include "berth/policy/device_requirements.hpp"

namespace berth {

BERTH_INLINE std::vector<std::string> model_ids_that_meet(std::span<const catalogue::gpu_model> models,
                                                          const device_requirements& r) {
  std::vector<std::string> out;
  for (const auto& m : models)
    if (meets(m, r)) out.emplace_back(m.id);
  return out;
}

}  // namespace berth
