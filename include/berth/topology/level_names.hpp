#pragma once
/// \file
/// What the names of levels of a domain tree say about them, as presets and readers give them.

#include <string_view>

namespace berth {

/// Labels of Kubernetes nodes whose value is an NVLink domain of several machines, best first. Readers name levels
/// after them. Sources: GPU feature discovery (<cluster UUID>.<clique>), topograph, CoreWeave, EKS.
inline constexpr std::string_view nvlink_labels[] = {
    "nvidia.com/gpu.clique",          "network.topology.nvidia.com/accelerator", "accelerator.topograph.run/domain",
    "ds.coreweave.com/nvlink.domain", "topology.k8s.aws/ultraserver-id",
};

[[nodiscard]] constexpr bool is_nvlink_label(std::string_view name) noexcept {
  for (const std::string_view label : nvlink_labels)
    if (name == label) return true;
  return false;
}
/// Whether the domains of a level are NVLink domains: "nvlink", "nvlink-…" where such domains nest, and the labels
/// above.
[[nodiscard]] constexpr bool is_nvlink_level(std::string_view name) noexcept {
  return name == "nvlink" || name.substr(0, 7) == "nvlink-" || is_nvlink_label(name);
}

/// Whether the domains of a level are switches: "leaf", "spine", "core", "tier4", …, as the builder names levels by their
/// height, and "leaf-2" where a site uses such a word otherwise. What hangs on a switch directly is as near to each
/// other as under a switch of this level. The domains of other levels (racks, blocks, NVLink domains, labels) join what
/// a site says they join.
[[nodiscard]] constexpr bool is_switch_level(std::string_view name) noexcept {
  for (const std::string_view word : {"leaf", "spine", "core", "tier"})
    if (name.substr(0, word.size()) == word) {
      std::string_view rest = name.substr(word.size());
      if (!rest.empty() && rest.front() == '-') rest.remove_prefix(1);
      return rest.find_first_not_of("0123456789") == std::string_view::npos;
    }
  return false;
}

}  // namespace berth
