#pragma once
/// \file
/// Which nodes and devices may serve a task: labels and device models. A filter is evaluated once per class of equal
/// nodes, never per node.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/core/id.hpp"
#include "berth/core/separate.hpp"
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

/// Whether a label is a taint: `taint:KEY=VALUE:EFFECT`.
[[nodiscard]] bool is_taint(const std::string& label);

/// Whether one of the tolerations lets tasks onto a node with that taint. A toleration is `KEY[=VALUE][:EFFECT]`, or
/// `*` for every taint; what it leaves out matches anything. \pre is_taint(taint)
[[nodiscard]] bool is_tolerated(const std::string& taint, const std::vector<std::string>& tolerations);

/// A conjunction of conditions. Empty lists do not restrict.
struct node_filter {
  std::vector<std::string> all_of{};       ///< labels that a node must have
  std::vector<std::string> none_of{};      ///< labels that a node must not have
  std::vector<std::string> any_of{};       ///< at least one of these labels
  std::vector<std::string> models{};       ///< device models that may serve the task
  bool taints = false;                     ///< labels that are taints keep tasks away, unless
  std::vector<std::string> tolerations{};  ///< these let them, see `is_tolerated`

  friend bool operator==(const node_filter&, const node_filter&) = default;
};

/// The same conditions, but for taints.
[[nodiscard]] node_filter without_taints(node_filter f);

/// What a filter leaves of one class.
struct eligibility {
  bool admits = false;      ///< the node may serve tasks, also those without devices
  device_mask devices = 0;  ///< devices that may serve tasks
};

/// Evaluates `filter` on one class. O(labels of both + devices × models).
[[nodiscard]] eligibility evaluate(const node_filter& filter, const node_class& c, const node_shape& shape);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/node_filter.hpp"
#endif
