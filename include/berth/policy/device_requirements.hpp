#pragma once
/// \file
/// Which GPU models serve a task, from what it needs of a GPU: memory, rate, compute capability, or a list of models.
/// Facts come from the catalogue (`topology/catalogue/gpu_models.hpp`); a model that the catalogue does not know, or
/// whose rate it does not know, serves no task that asks for it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/catalogue/rows.hpp"

namespace berth {

/// What a task needs of each of its GPUs. Whatever is empty or 0 does not matter.
struct device_requirements {
  unsigned least_memory_gb = 0;                ///< the marketing number
  unsigned most_memory_gb = 0;                 ///< the same: keeps small tasks off large GPUs
  double least_fp16_tflops = 0;                ///< dense
  std::string_view least_capability{};         ///< "8.0": at least
  std::string_view below_capability{};         ///< "9.0": less than
  std::span<const std::string_view> models{};  ///< ids; the model is one of them
};

/// "8.9" < "9.0" < "10.3"; empty where the text is no such number. O(length).
[[nodiscard]] constexpr std::optional<unsigned> capability_number(std::string_view text) noexcept {
  unsigned part[2]{}, at = 0, digits = 0;
  for (const char c : text) {
    if (c == '.') {
      if (at == 1 || digits == 0) return std::nullopt;
      at = 1;
      digits = 0;
      continue;
    }
    if (c < '0' || c > '9' || ++digits > 3) return std::nullopt;
    part[at] = 10 * part[at] + static_cast<unsigned>(c - '0');
  }
  if (at == 0 || digits == 0) return std::nullopt;
  return 1000 * part[0] + part[1];
}

/// Whether a model meets them.
[[nodiscard]] constexpr bool meets(const catalogue::gpu_model& m, const device_requirements& r) noexcept {
  if (m.memory_gb < r.least_memory_gb) return false;
  if (r.most_memory_gb != 0 && m.memory_gb > r.most_memory_gb) return false;
  if (r.least_fp16_tflops > 0 && (!m.tflops.fp16 || *m.tflops.fp16 < r.least_fp16_tflops)) return false;
  const auto has = capability_number(m.compute_capability);
  if (!r.least_capability.empty()) {
    const auto least = capability_number(r.least_capability);
    if (!least || !has || *has < *least) return false;
  }
  if (!r.below_capability.empty()) {
    const auto below = capability_number(r.below_capability);
    if (!below || !has || *has >= *below) return false;
  }
  if (r.models.empty()) return true;
  for (const auto id : r.models)
    if (id == m.id) return true;
  return false;
}

/// A bit per cluster model that meets them, as `share_task::models` has it. \param of_cluster  catalogue rows by the
/// cluster's model number; nullptr: not in the catalogue. At most 64.
[[nodiscard]] constexpr std::uint64_t models_that_meet(std::span<const catalogue::gpu_model* const> of_cluster,
                                                       const device_requirements& r) noexcept {
  std::uint64_t out = 0;
  for (std::size_t m = 0; m < of_cluster.size() && m < 64; ++m)
    if (of_cluster[m] != nullptr && meets(*of_cluster[m], r)) out |= bit(static_cast<unsigned>(m));
  return out;
}

/// Ids of the models that meet them, for `node_filter::models`: what the placer asks of devices. Empty where none does,
/// which as a filter would restrict nothing. O(models); allocates.
[[nodiscard]] std::vector<std::string> model_ids_that_meet(std::span<const catalogue::gpu_model> models,
                                                           const device_requirements& r);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/device_requirements.hpp"
#endif
