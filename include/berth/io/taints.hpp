#pragma once
/// \file
/// Why a site keeps tasks off a node that works: taints, as labels of the node. `node_filter::taints` reads them.
///
///     taint:dedicated=team-a:NoSchedule                    Kubernetes, NoSchedule and NoExecute alike
///     taint:node.kubernetes.io/unschedulable=:NoSchedule   cordoned
///     taint:slurm/drain=:NoSchedule                        drained or draining
///     taint:slurm/reservation=maint-7:NoSchedule           in a reservation
///
/// Cordoned and drained nodes are out of service besides (`node_spec::usable`), so that who does not read labels places
/// nothing there.

#include <string>
#include <string_view>

#include "berth/cluster/node_filter.hpp"
#include "berth/cluster/spec.hpp"

namespace berth {

inline constexpr std::string_view cordon_taint = "taint:node.kubernetes.io/unschedulable=:NoSchedule";
inline constexpr std::string_view drain_taint = "taint:slurm/drain=:NoSchedule";

/// The taint of nodes in a reservation; `name` may be "".
[[nodiscard]] inline std::string reservation_taint(std::string_view name) {
  return "taint:slurm/reservation=" + std::string{name} + ":NoSchedule";
}

/// Whether a node is out of service for no other reason than a cordon or drain that a task may tolerate.
[[nodiscard]] inline bool is_held_back(const node_spec& n) {
  if (n.usable) return false;
  for (const auto& l : n.labels)
    if (l == cordon_taint || l == drain_taint) return true;
  return false;
}

/// Whether some toleration lets tasks onto such a node.
[[nodiscard]] inline bool tolerates_all(const std::vector<std::string>& tolerations, const node_spec& n) {
  for (const auto& l : n.labels)
    if (is_taint(l) && !is_tolerated(l, tolerations)) return false;
  return true;
}

}  // namespace berth
