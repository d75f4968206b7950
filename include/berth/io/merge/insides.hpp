#pragma once
/// \file
/// Several files about the inside of one machine become one graph.
///
/// The file with most links of known rate is the base; the others add what it leaves open: models, UUIDs, bus ids,
/// GUIDs, line rates, CPUs, broken GPUs. GPUs are the same by bus id, else by UUID, else by their order where there are
/// equally many; NICs by GUID, bus id or name. What two files say differently is reported, and the base counts.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/merge/site.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/text.hpp"
#include "berth/topology/graph/compile.hpp"
#include "berth/topology/graph/hardware_graph.hpp"
#include "berth/topology/graph/paths.hpp"

namespace berth::merge_detail {

/// One word for a GPU model begins the other ("h100" and "h100-sxm5-80gb"), or one is not stated.
[[nodiscard]] inline bool models_agree(const std::string& a, const std::string& b) {
  const std::string x = io_text::lower(a), y = io_text::lower(b);
  return x.empty() || y.empty() || x == y || x.starts_with(y + "-") || y.starts_with(x + "-");
}

/// How much a graph tells: links of known rate, then links.
[[nodiscard]] inline std::pair<std::size_t, std::size_t> detail_of(const hardware_graph& g) {
  std::size_t known = 0;
  for (auto [e, end] = boost::edges(g); e != end; ++e) known += g[*e].rate ? 1U : 0U;
  return {known, boost::num_edges(g)};
}

/// Which part of `other` is which of `base` among the parts of one kind, by what identifies them; empty: cannot be
/// told.
[[nodiscard]] inline std::optional<std::vector<std::pair<part_id, part_id>>> match_parts(const hardware_graph& base,
                                                                                         const hardware_graph& other,
                                                                                         vertex_kind kind) {
  const auto a = parts_of(base, kind), b = parts_of(other, kind);
  std::vector<std::pair<part_id, part_id>> out;
  const auto by = [&](auto key) {
    std::map<decltype(key(base[0])), part_id> seen;
    out.clear();
    for (const auto v : a)
      if (const auto k = key(base[v]); !k.empty()) seen.emplace(k, v);
    for (const auto v : b)
      if (const auto k = key(other[v]); !k.empty())
        if (const auto it = seen.find(k); it != seen.end()) out.emplace_back(it->second, v);
    return !out.empty();
  };
  const auto all_have = [&](auto key) {
    for (const auto v : a)
      if (key(base[v]).empty()) return false;
    for (const auto v : b)
      if (key(other[v]).empty()) return false;
    return !a.empty() && !b.empty();
  };
  const auto bus = [](const part& p) { return p.bus_id; };
  const auto uuid = [](const part& p) { return p.uuid; };
  const auto guid = [](const part& p) { return p.guid ? std::to_string(*p.guid) : std::string{}; };
  const auto name = [](const part& p) { return p.name; };
  if (kind == vertex_kind::nic && by(guid)) return out;
  if (by(bus)) return out;
  if (all_have(bus)) return std::nullopt;
  if (kind == vertex_kind::gpu && by(uuid)) return out;
  if (kind == vertex_kind::gpu && all_have(uuid)) return std::nullopt;
  if (kind == vertex_kind::nic) {
    (void)by(name);
    return out;
  }
  if (a.size() != b.size()) return std::nullopt;
  out.clear();
  for (std::size_t i = 0; i < a.size(); ++i) out.emplace_back(a[i], b[i]);
  return out;
}

/// Adds to `base` what `other` tells more. Contradictions are appended to `conflicts`.
inline void add_inside(hardware_graph& base, const input_place& base_place, const hardware_graph& other,
                       const input_place& place, const std::string& who, std::vector<site_conflict>& conflicts) {
  const auto conflict = [&](std::string what) { conflicts.push_back({who + what, base_place, place}); };
  const auto gpus = parts_of(base, vertex_kind::gpu).size(), others = parts_of(other, vertex_kind::gpu).size();
  const auto same = match_parts(base, other, vertex_kind::gpu);
  if (!same) {
    conflict(gpus != others ? "has " + io_text::counted(gpus, "GPU") + " in one file and " + std::to_string(others) +
                                  " in the other; the first is used"
                            : std::string{"has other GPU bus ids in one file than in the other; the first is used"});
    return;
  }
  if (gpus != others)
    conflict("has " + io_text::counted(gpus, "GPU") + " in one file and " + std::to_string(others) +
             " in the other; the first is used");
  for (const auto& [mine, theirs] : *same) {
    part& p = base[mine];
    const part& q = other[theirs];
    if (!models_agree(p.model, q.model))
      conflict(p.name + " is a " + p.model + " in one file and a " + q.model + " in the other; the first is used");
    else if (q.model.size() > p.model.size()) p.model = q.model;
    if (p.uuid.empty()) p.uuid = q.uuid;
    if (p.bus_id.empty()) p.bus_id = q.bus_id;
    p.healthy = p.healthy && q.healthy;
  }
  if (const auto nics = match_parts(base, other, vertex_kind::nic))
    for (const auto& [mine, theirs] : *nics) {
      part& p = base[mine];
      const part& q = other[theirs];
      if (!p.guid) p.guid = q.guid;
      if (p.bus_id.empty()) p.bus_id = q.bus_id;
      if (!p.rail) p.rail = q.rail;
      if (p.rate && q.rate && *p.rate != *q.rate)
        conflict(p.name + " has " + decimal_text(p.rate->count() * 8) + " Gb/s in one file and " +
                 decimal_text(q.rate->count() * 8) + " in the other; the first is used");
      if (!p.rate) p.rate = q.rate;
      p.healthy = p.healthy && q.healthy;
    }
  const auto numa = parts_of(base, vertex_kind::numa), numa2 = parts_of(other, vertex_kind::numa);
  if (numa.size() == numa2.size())
    for (std::size_t i = 0; i < numa.size(); ++i)
      if (!base[numa[i]].cpu && base[numa[i]].index == other[numa2[i]].index) base[numa[i]].cpu = other[numa2[i]].cpu;
  // The rates that both know.
  if (detail_of(other).first == 0 || same->size() > 16) return;
  const path_finder here{base}, there{other};
  std::size_t unlike = 0;
  std::string example;
  for (std::size_t i = 0; i < same->size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      const auto x = here.between((*same)[k].first, (*same)[i].first).bandwidth;
      const auto y = there.between((*same)[k].second, (*same)[i].second).bandwidth;
      if (!x || !y || std::abs(x->count() - y->count()) <= 0.05 * std::max(x->count(), y->count())) continue;
      if (unlike++ == 0)
        example = base[(*same)[k].first].name + " and " + base[(*same)[i].first].name + ": " +
                  decimal_text(x->count()) + " and " + decimal_text(y->count()) + " GB/s";
    }
  if (unlike != 0)
    conflict("has unlike bandwidths of " + io_text::counted(unlike, "pair") + " of GPUs (" + example +
             "); the first is used");
}

/// One graph of all that is told about one inside. \pre `told` is not empty and every one has an inside.
[[nodiscard]] inline hardware_graph join_insides(const std::vector<const machine_report*>& told, const std::string& who,
                                                 std::vector<site_conflict>& conflicts) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < told.size(); ++i)
    if (detail_of(*told[i]->inside) > detail_of(*told[best]->inside)) best = i;
  hardware_graph out = *told[best]->inside;
  for (std::size_t i = 0; i < told.size(); ++i)
    if (i != best) add_inside(out, told[best]->place, *told[i]->inside, told[i]->place, who, conflicts);
  return out;
}

/// In a machine of an NVLink domain, its own NVSwitches are those of the domain, which one part stands for.
/// \return false where the graph has no NVSwitch
[[nodiscard]] inline bool share_nvswitches(hardware_graph& g) {
  const auto chips = parts_of(g, vertex_kind::nvswitch);
  if (chips.empty() || !parts_of(g, vertex_kind::nvlink_domain).empty()) return false;
  hardware_graph out;
  out[boost::graph_bundle] = g[boost::graph_bundle];
  std::vector<part_id> at(boost::num_vertices(g));
  std::optional<part_id> one;
  for (part_id v = 0; v < boost::num_vertices(g); ++v) {
    if (g[v].kind != vertex_kind::nvswitch) {
      at[v] = boost::add_vertex(g[v], out);
      continue;
    }
    if (!one) one = add_part(out, vertex_kind::nvlink_domain, 0);
    at[v] = *one;
  }
  std::map<part_id, link> to_domain;  // all NVLinks of a part together
  for (auto [e, end] = boost::edges(g); e != end; ++e) {
    const auto a = at[boost::source(*e, g)], b = at[boost::target(*e, g)];
    if (a == b) continue;
    if (a != *one && b != *one) {
      (void)join(out, a, b, g[*e]);
      continue;
    }
    const auto [it, fresh] = to_domain.emplace(a == *one ? b : a, g[*e]);
    if (fresh) continue;
    link& l = it->second;
    if (l.count && g[*e].count) l.count = static_cast<std::uint16_t>(*l.count + *g[*e].count);
    else l.count.reset();
    if (l.rate && g[*e].rate) *l.rate += *g[*e].rate;
    else l.rate.reset();
  }
  for (auto& [v, l] : to_domain) (void)join(out, v, *one, std::move(l));
  g = std::move(out);
  return true;
}

}  // namespace berth::merge_detail
