#pragma once
/// \file
/// Which nodes and devices may serve a task: labels and device models. A filter is evaluated once per class of equal
/// nodes, never per node.

#include <cstdint>
#include <string>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/core/id.hpp"
#include "berth/core/units.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth {

/// Nodes that no rule tells apart: same hardware, same labels, same totals.
struct node_class {
  shape_id shape{};
  std::vector<std::string> labels;  ///< sorted
  cpu_millis cpu{};                 ///< total of the node
  bytes memory{};                   ///< total of the node
};

/// A conjunction of conditions. Empty lists do not restrict.
struct node_filter {
  std::vector<std::string> all_of{};   ///< labels that a node must have
  std::vector<std::string> none_of{};  ///< labels that a node must not have (taints that are not tolerated)
  std::vector<std::string> any_of{};   ///< at least one of these labels
  std::vector<std::string> models{};   ///< device models that may serve the task

  friend bool operator==(const node_filter&, const node_filter&) = default;
};

/// What a filter leaves of one class.
struct eligibility {
  bool admits = false;      ///< the node may serve tasks, also those without devices
  device_mask devices = 0;  ///< devices that may serve tasks
};

/// Evaluates `filter` on one class. O(labels of both + devices × models).
[[nodiscard]] inline eligibility evaluate(const node_filter& filter, const node_class& c, const node_shape& shape) {
  const auto has = [&](const std::string& label) {
    for (const auto& l : c.labels)
      if (l == label) return true;
    return false;
  };
  for (const auto& l : filter.all_of)
    if (!has(l)) return {};
  for (const auto& l : filter.none_of)
    if (has(l)) return {};
  if (!filter.any_of.empty()) {
    bool any = false;
    for (const auto& l : filter.any_of) any = any || has(l);
    if (!any) return {};
  }
  eligibility out{true, 0};
  for (unsigned d = 0; d < shape.devices; ++d) {
    bool ok = filter.models.empty();
    for (const auto& m : filter.models) ok = ok || (d < shape.models.size() && shape.models[d] == m);
    if (ok) out.devices |= bit(d);
  }
  return out;
}

}  // namespace berth
