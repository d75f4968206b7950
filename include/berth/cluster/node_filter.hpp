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
[[nodiscard]] inline bool is_taint(const std::string& label) {
  return label.compare(0, 6, "taint:") == 0;
}

/// Whether one of the tolerations lets tasks onto a node with that taint. A toleration is `KEY[=VALUE][:EFFECT]`, or
/// `*` for every taint; what it leaves out matches anything. \pre is_taint(taint)
[[nodiscard]] inline bool is_tolerated(const std::string& taint, const std::vector<std::string>& tolerations) {
  const std::size_t colon = taint.rfind(':'), equals = taint.find('=');
  const bool whole = colon > 6 && equals < colon;
  const auto same = [&](std::size_t first, std::size_t last, const std::string& t, std::size_t from, std::size_t to) {
    return taint.compare(first, last - first, t, from, to - from) == 0;
  };
  for (const auto& t : tolerations) {
    const std::size_t effect = t.rfind(':') == std::string::npos ? t.size() : t.rfind(':');
    const std::size_t value = t.find('=') < effect ? t.find('=') : effect;
    const bool any = value == effect && effect == 1 && t[0] == '*';
    if (!any && !same(6, whole ? equals : taint.size(), t, 0, value)) continue;
    if (value != effect && !(whole && same(equals + 1, colon, t, value + 1, effect))) continue;
    if (effect != t.size() && !(whole && same(colon + 1, taint.size(), t, effect + 1, t.size()))) continue;
    return true;
  }
  return false;
}

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
[[nodiscard]] inline node_filter without_taints(node_filter f) {
  f.taints = false;
  f.tolerations.clear();
  return f;
}

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
  if (filter.taints)
    for (const auto& l : c.labels)
      if (is_taint(l) && !is_tolerated(l, filter.tolerations)) return {};
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
