#pragma once
/// \file
/// Bodies of `berth/cluster/node_filter.hpp`.

#include "berth/cluster/node_filter.hpp"

namespace berth {

BERTH_INLINE bool is_tolerated(const std::string& taint, const std::vector<std::string>& tolerations) {
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

BERTH_INLINE node_filter without_taints(node_filter f) {
  f.taints = false;
  f.tolerations.clear();
  return f;
}

BERTH_INLINE eligibility evaluate(const node_filter& filter, const node_class& c, const node_shape& shape) {
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

BERTH_INLINE bool is_taint(const std::string& label) {
  return label.compare(0, 6, "taint:") == 0;
}

}  // namespace berth
