#pragma once
/// \file
/// Labels and resources of Kubernetes nodes that say what hardware a node has and where it hangs. Facts, with sources;
/// standard library alone.

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/io/inside/gpu_names.hpp"
#include "berth/io/text.hpp"

namespace berth::kube_labels {

/// Our own label for a bare word of a node: + word = "true". Levels: `own_level_prefix` of `io/topology_rules.hpp`.
inline constexpr std::string_view own_feature = "feature.berth/";

/// Resources that count whole GPUs. Sources: the device plugins of NVIDIA, AMD, Intel (i915 and xe), Habana; Alibaba's
/// GPU-share extender.
inline constexpr std::string_view gpu_resources[] = {
    "nvidia.com/gpu",  "amd.com/gpu",     "gpu.intel.com/i915",         "gpu.intel.com/xe",
    "habana.ai/gaudi", "nvidia.com/pgpu", "alibabacloud.com/gpu-count", "aliyun.com/gpu-count",
};
/// Resources of the system itself, which are no devices.
[[nodiscard]] constexpr bool is_system_resource(std::string_view r) noexcept {
  return r == "cpu" || r == "memory" || r == "pods" || r == "ephemeral-storage" || r.starts_with("hugepages-") ||
         r.starts_with("attachable-volumes-") || r == "storage";
}

/// Labels that name the GPU model, best first. Sources: GPU feature discovery; AMD's node labeller; GKE; CoreWeave; EKS
/// and Karpenter; Intel's device plugin; Alibaba and Koordinator.
inline constexpr std::string_view model_labels[] = {
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "beta.amd.com/gpu.product-name",
    "gpu.nvidia.com/model",
    "cloud.google.com/gke-accelerator",
    "gpu.intel.com/product",
    "node.koordinator.sh/gpu-model",
    "alibabacloud.com/gpu-card-model",
    "aliyun.accelerator/nvidia_name",
    "k8s.amazonaws.com/accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
    "eks.amazonaws.com/instance-gpu-name",
};

/// Labels that count whole GPUs.
inline constexpr std::string_view count_labels[] = {
    "nvidia.com/gpu.count",
    "cloud.google.com/gke-accelerator-count",
    "karpenter.k8s.aws/instance-gpu-count",
    "eks.amazonaws.com/instance-gpu-count",
};

/// Labels of one provider that say where in the network a machine hangs, outermost first.
struct level_family {
  std::string_view name;
  std::span<const std::string_view> levels;
};

namespace detail {
// Older releases say datacenter and block, newer ones core and leaf.
inline constexpr std::string_view topograph[] = {
    "network.topology.nvidia.com/core", "network.topology.nvidia.com/datacenter", "network.topology.nvidia.com/spine",
    "network.topology.nvidia.com/block", "network.topology.nvidia.com/leaf"};
inline constexpr std::string_view coreweave[] = {"backend.coreweave.cloud/fabric", "backend.coreweave.cloud/superpod",
                                                 "backend.coreweave.cloud/leafgroup"};
inline constexpr std::string_view coreweave_ib[] = {"ib.coreweave.cloud/fabric", "ib.coreweave.cloud/superpod",
                                                    "ib.coreweave.cloud/leafgroup"};
inline constexpr std::string_view gke[] = {"cloud.google.com/gce-topology-block",
                                           "cloud.google.com/gce-topology-subblock"};
inline constexpr std::string_view gke_job[] = {"topology.gke.io/cluster", "topology.gke.io/rack"};
inline constexpr std::string_view oci[] = {"oci.oraclecloud.com/rdma.hpc_island_id",
                                           "oci.oraclecloud.com/rdma.network_block_id",
                                           "oci.oraclecloud.com/rdma.local_block_id"};
inline constexpr std::string_view kueue[] = {"cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"};
inline constexpr std::string_view volcano[] = {"volcano.sh/hypercluster", "volcano.sh/hypernode", "volcano.sh/tor"};
}  // namespace detail

/// Families in the order in which they are preferred. `topology.k8s.aws/network-node-layer-N` (1 is the spine) and
/// `network.topology.nvidia.com/tier-N` (0 is nearest to the node) have any number of levels and are not listed.
/// Sources: topograph's documentation, CoreWeave's, GKE's (`gce-topology-host` is the machine itself), Oracle's
/// oci-hpc-oke, Kueue's and Volcano's examples.
inline constexpr level_family families[] = {
    {"topograph", detail::topograph},
    {"CoreWeave", detail::coreweave},
    {"CoreWeave", detail::coreweave_ib},
    {"GKE", detail::gke},
    {"GKE", detail::gke_job},
    {"OCI", detail::oci},
    {"Kueue", detail::kueue},
    {"Volcano", detail::volcano},
};
/// Around every family, where stated.
inline constexpr std::string_view zone_levels[] = {"topology.kubernetes.io/region", "topology.kubernetes.io/zone"};
inline constexpr std::string_view old_zone_levels[] = {"failure-domain.beta.kubernetes.io/region",
                                                       "failure-domain.beta.kubernetes.io/zone"};

/// The names of levels that say where machines stand and not what joins them.
[[nodiscard]] inline std::vector<std::string> zone_level_names() {
  std::vector<std::string> out{"region", "zone"};
  out.insert(out.end(), std::begin(zone_levels), std::end(zone_levels));
  out.insert(out.end(), std::begin(old_zone_levels), std::end(old_zone_levels));
  return out;
}

/// The model that a label's word means: the catalogue's id where it is known, else the word. A suffix that tells of
/// sharing or MIG is cut off.
[[nodiscard]] inline std::string gpu_model(std::string_view word) {
  // Google's words for accelerators (GKE's documentation, "GPU types").
  struct alias {
    std::string_view word, model;
  };
  static constexpr alias aliases[] = {
      {"nvidia-tesla-v100", "v100-sxm2-16gb"},
      {"nvidia-tesla-t4", "t4"},
      {"nvidia-tesla-a100", "a100-sxm4-40gb"},
      {"nvidia-a100-80gb", "a100-sxm4-80gb"},
      {"nvidia-l4", "l4"},
      {"nvidia-h100-80gb", "h100-sxm5-80gb"},
      {"nvidia-h100-mega-80gb", "h100-sxm5-80gb"},
      {"nvidia-h200-141gb", "h200-sxm5-141gb"},
      {"nvidia-b200", "b200-sxm-180gb"},
      {"nvidia-gb200", "gb200-186gb"},
      {"nvidia-gb300", "gb300-288gb"},
  };
  for (const auto& a : aliases)
    if (a.word == word) return std::string{a.model};
  if (word.ends_with("-SHARED")) word.remove_suffix(7);
  if (const std::size_t mig = word.find("-MIG-"); mig != std::string_view::npos) word = word.substr(0, mig);
  return inside_text::gpu_model_or_name(word);
}

/// Of a product label under the MIG strategy "single": the profile ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"); "" otherwise.
[[nodiscard]] inline std::string_view mig_of_product(std::string_view word) noexcept {
  const std::size_t at = word.find("-MIG-");
  if (at == std::string_view::npos) return {};
  word = word.substr(at + 5);
  if (word.ends_with("-SHARED")) word.remove_suffix(7);
  return word;
}

/// Of a resource such as `nvidia.com/mig-1g.5gb` (also `mig-1g.5gb.shared`): the profile; "" otherwise.
[[nodiscard]] inline std::string_view mig_of_resource(std::string_view resource) noexcept {
  constexpr std::string_view prefix = "nvidia.com/mig-";
  if (!resource.starts_with(prefix)) return {};
  resource.remove_prefix(prefix.size());
  if (resource.ends_with(".shared")) resource.remove_suffix(7);
  return resource;
}

/// Labels that are no fact about a machine's kind: times and names of the machine itself.
[[nodiscard]] constexpr bool is_volatile(std::string_view key) noexcept {
  return key == "kubernetes.io/hostname" || key == "beta.kubernetes.io/hostname" || key == "nvidia.com/gfd.timestamp";
}

}  // namespace berth::kube_labels
