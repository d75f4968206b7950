#pragma once
/// \file
/// Which levels of a domain tree are NVLink domains, by the names that presets and readers give to them.

#include <string_view>

namespace berth {

/// Labels of Kubernetes nodes whose value is an NVLink domain of several machines, best first. Readers name levels
/// after them. Sources: GPU feature discovery (<cluster UUID>.<clique>), topograph, CoreWeave, EKS.
inline constexpr std::string_view nvlink_labels[] = {
    "nvidia.com/gpu.clique",          "network.topology.nvidia.com/accelerator", "accelerator.topograph.run/domain",
    "ds.coreweave.com/nvlink.domain", "topology.k8s.aws/ultraserver-id",
};

/// "nvlink", "nvlink-…" where such domains nest, and the labels above.
[[nodiscard]] constexpr bool is_nvlink_level(std::string_view name) noexcept {
  for (const std::string_view label : nvlink_labels)
    if (name == label) return true;
  return name == "nvlink" || name.substr(0, 7) == "nvlink-";
}

}  // namespace berth
