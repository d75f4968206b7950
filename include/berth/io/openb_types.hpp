#pragma once
/// \file
/// What is known of the GPU types that openb's files name: memory, and watts of the GPU and of the CPUs beside it.
///
/// | type    | MiB    | GPU idle, busy W | CPU idle, busy W, cores             |
/// |---------|--------|------------------|-------------------------------------|
/// | T4      | 15,109 | 10, 70           | Xeon Platinum 8163: 20, 165, 24     |
/// | P100    | 16,280 | 25, 250          | Xeon E5-2682 v4: 15, 120, 16        |
/// | V100M16 | 16,160 | 30, 300          | Xeon Gold 6326: 20, 185, 16         |
/// | V100M32 | 32,510 | 30, 300          | Xeon Gold 6326: 20, 185, 16         |
/// | A10     | 22,731 | 30, 150          | Xeon Platinum 8369B: 20, 270, 32    |
/// | A100    | 81,251 | 50, 400          | Xeon Platinum 8369B: 20, 270, 32    |
/// | G2      | 20,000 | 30, 150 (as A10) | Xeon Platinum 8369B: 20, 270, 32    |
/// | G3      | 30,000 | 50, 400 (as A100) | Xeon Platinum 8369B: 20, 270, 32   |
///
/// G2 and G3 are pseudonyms of the trace; which models they are is a guess of the source of the watts. So is which CPU
/// stands beside which GPU.
///
/// Sources  memory: hkust-adsl/kubernetes-scheduler-simulator, pkg/type/open-gpu-share/utils/const.go. Watts:
///          Fr4nz83/PWR-plugin-kubernetes (Lettich et al., CCGrid 2025), the same file and the notebook in data/ that
///          adds CPU models to the nodes. Busy watts are the vendors' TDP, those of the catalogue where it has the
///          model.
///
/// Models of the catalogue (`topology/catalogue/gpu_models.hpp`), by their id, draw their TDP when busy and an eighth
/// of it idle, the median of the table above; their CPUs are taken to be Xeon Platinum 8369B. That is an estimate.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cluster/share_node.hpp"
#include "berth/io/openb.hpp"
#include "berth/policy/power_model.hpp"
#include "berth/topology/catalogue/gpu_models.hpp"

namespace berth {

/// Facts of a GPU type.
struct openb_type {
  std::string_view name;
  std::uint32_t memory_mib = 0;
  model_power power{};
};

namespace openb_detail {
inline constexpr model_power beside(double idle, double busy, power_draw cpu, std::int64_t cores) noexcept {
  return {{idle, busy}, cpu, cpus(2 * cores)};
}
inline constexpr openb_type types[] = {
    {"T4", 15'109, beside(10, 70, {20, 165}, 24)},       {"P100", 16'280, beside(25, 250, {15, 120}, 16)},
    {"V100M16", 16'160, beside(30, 300, {20, 185}, 16)}, {"V100M32", 32'510, beside(30, 300, {20, 185}, 16)},
    {"A10", 22'731, beside(30, 150, {20, 270}, 32)},     {"A100", 81'251, beside(50, 400, {20, 270}, 32)},
    {"G2", 20'000, beside(30, 150, {20, 270}, 32)},      {"G3", 30'000, beside(50, 400, {20, 270}, 32)},
};
}  // namespace openb_detail

/// What is known of a type: by its name in the trace, else by its id in the catalogue. O(types).
[[nodiscard]] inline std::optional<openb_type> find_openb_type(std::string_view name) noexcept {
  for (const openb_type& t : openb_detail::types)
    if (t.name == name) return t;
  const catalogue::gpu_model* const m = catalogue::find_gpu_model(name);
  if (m == nullptr) return std::nullopt;
  const double watts = m->tdp_watts;
  return openb_type{m->id, m->memory_mib ? *m->memory_mib : m->memory_gb * 1024U,
                    openb_detail::beside(watts / 8, watts, {20, 270}, 32)};
}

/// The facts that a cluster's types need for policies about watts and sizes.
struct openb_facts {
  power_model power{};
  double size[max_device_models]{};  ///< memory as part of the largest type's
  std::vector<std::string> unknown;  ///< types that nothing is known of
};
/// By the cluster's numbers of its types; types in `unknown` draw nothing and have size 0. O(types).
[[nodiscard]] inline openb_facts facts_of(const openb_cluster& cluster) {
  openb_facts out;
  double largest = 0;
  for (std::size_t m = 0; m < cluster.models.size(); ++m) {
    const auto known = find_openb_type(cluster.models[m]);
    if (!known) {
      out.power.of[m] = {{0, 0}, {0, 0}, cpus(1)};
      out.unknown.push_back(cluster.models[m]);
      continue;
    }
    out.power.of[m] = known->power;
    out.size[m] = known->memory_mib;
    if (known->memory_mib > largest) largest = known->memory_mib;
  }
  for (double& s : out.size)
    if (largest > 0) s /= largest;
  return out;
}

}  // namespace berth
