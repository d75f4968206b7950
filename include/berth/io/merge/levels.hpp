#pragma once
/// \file
/// Which tree the machines hang in: the declared topology, else what the fabric's switches say, else one switch; with
/// NVLink domains between machines as a level of their own.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/io/merge/machine_index.hpp"
#include "berth/io/merge/site.hpp"
#include "berth/io/site_report.hpp"
#include "berth/topology/domain_tree.hpp"

namespace berth::merge_detail {

inline constexpr std::uint32_t no_domain = domain_declaration::no_parent;

/// A hierarchy over the machines: domains, and by machine the innermost one.
struct hierarchy {
  std::vector<domain_declaration> domains;
  std::vector<std::uint32_t> of;                                            ///< by machine; `no_domain`: in none
  std::vector<input_place> places;                                          ///< by domain
  std::vector<std::vector<std::optional<gigabytes_per_second>>> uplinks{};  ///< by domain, as stated; may be shorter
  const topology_report* from = nullptr;

  [[nodiscard]] bool empty() const noexcept { return domains.empty(); }
  [[nodiscard]] std::size_t members() const noexcept {
    std::size_t n = 0;
    for (const auto d : of) n += d != no_domain ? 1U : 0U;
    return n;
  }
};

/// Domains from `d` to its root. O(depth); \pre no cycle
[[nodiscard]] inline std::vector<std::uint32_t> chain_of(const hierarchy& h, std::uint32_t d) {
  std::vector<std::uint32_t> out;
  for (; d != no_domain; d = h.domains[d].parent) out.push_back(d);
  return out;
}

/// Checks parents and cycles, so that chains end.
[[nodiscard]] inline std::optional<input_error> fault_of(const topology_report& t) {
  const auto place = [&](std::size_t d) { return d < t.domain_places.size() ? t.domain_places[d] : t.place; };
  std::vector<std::uint32_t> seen(t.domains.size(), 0);
  for (std::uint32_t d = 0; d < t.domains.size(); ++d)
    for (std::uint32_t at = d; at != no_domain && seen[at] == 0; at = t.domains[at].parent) {
      seen[at] = d + 1;
      const auto up = t.domains[at].parent;
      if (up != no_domain && (up >= t.domains.size() || seen[up] == d + 1))
        return place(at).error("a cycle: " + io_text::quoted(t.domains[at].name) + " is above itself", "a tree");
    }
  for (const auto& m : t.members)
    if (m.domain >= t.domains.size()) return t.place.error("a machine in no domain", "a tree");
  return std::nullopt;
}

/// The members of a declared topology as machines. A machine in two unlike domains is a conflict; the first counts.
[[nodiscard]] inline hierarchy take_topology(const topology_report& t, machine_index& index,
                                             std::vector<site_conflict>& conflicts) {
  hierarchy h;
  h.from = &t;
  h.domains = t.domains;
  h.places = t.domain_places;
  h.uplinks = t.uplinks;
  h.places.resize(h.domains.size(), t.place);
  for (const auto& m : t.members) {
    const std::uint32_t id = index.at(m.machine, h.places[m.domain]);
    index.machines[id].declared = true;
    if (h.of.size() < index.machines.size()) h.of.resize(index.machines.size(), no_domain);
    if (h.of[id] == m.domain) continue;
    if (h.of[id] != no_domain)
      conflicts.push_back({"machine " + index.machines[id].name + " is in " + h.domains[h.of[id]].name + " and in " +
                               h.domains[m.domain].name + "; the first is used",
                           h.places[h.of[id]], h.places[m.domain]});
    else h.of[id] = m.domain;
  }
  return h;
}

/// The blocks of Slurm among NVLink domains; empty where there are none. \param machine_of  by node: its machine
[[nodiscard]] inline site_blocks blocks_of(const hierarchy& nv, const std::vector<std::uint32_t>& machine_of) {
  site_blocks out;
  std::vector<std::uint32_t> at(nv.domains.size(), site_blocks::none);
  for (std::uint32_t d = 0; d < nv.domains.size(); ++d) {
    if (nv.domains[d].level != "block") continue;
    at[d] = static_cast<std::uint32_t>(out.names.size());
    out.names.push_back(nv.domains[d].name);
  }
  if (out.names.empty()) return out;
  if (nv.from != nullptr) out.sizes = nv.from->block_sizes;
  out.of.assign(machine_of.size(), site_blocks::none);
  for (std::size_t n = 0; n < machine_of.size(); ++n)
    if (machine_of[n] < nv.of.size())
      for (const auto d : chain_of(nv, nv.of[machine_of[n]]))
        if (out.of[n] == site_blocks::none) out.of[n] = at[d];
  return out;
}

/// The declarations that make a tree again.
[[nodiscard]] inline hierarchy declarations_of(const domain_tree& tree, const std::vector<node_id>& ids) {
  hierarchy h;
  std::vector<std::uint32_t> above, here;
  for (std::uint8_t l = 1; l < tree.level_count(); ++l) {
    const level_id level{l};
    here.clear();
    for (std::uint32_t d = 0; d < tree.domain_count(level); ++d) {
      const auto& at = tree.at(level, domain_id{d});
      const std::uint32_t parent = l == 1 ? no_domain : above[at.parent];
      if (at.implicit) {
        here.push_back(parent);
        continue;
      }
      here.push_back(static_cast<std::uint32_t>(h.domains.size()));
      h.domains.push_back({tree.name(level, domain_id{d}), parent, tree.level_name(level)});
    }
    above = here;
  }
  for (const auto id : ids) h.of.push_back(id ? above[tree.leaf_of(id).index()] : no_domain);
  h.places.resize(h.domains.size());
  return h;
}

/// Names levels by their height above the machines, as the tree builder does where no name is given, so that another
/// level can be put below or between.
inline void name_levels(hierarchy& h) {
  static constexpr const char* words[] = {"leaf", "spine", "core"};
  for (const auto& d : h.domains)
    if (!d.level.empty()) return;
  std::vector<std::uint32_t> height(h.domains.size(), 0);
  std::vector<char> used(h.domains.size());
  for (const auto d : h.of)
    if (d != no_domain) {
      const auto chain = chain_of(h, d);
      for (std::uint32_t i = 0; i < chain.size(); ++i) {
        used[chain[i]] = 1;
        height[chain[i]] = std::max(height[chain[i]], i);
      }
    }
  for (std::size_t d = 0; d < h.domains.size(); ++d)
    if (used[d] != 0) h.domains[d].level = height[d] < 3 ? words[height[d]] : "tier" + std::to_string(height[d] + 1);
}

/// Where NVLink domains go in the network tree.
enum class nvlink_fit : std::uint8_t {
  alone,    ///< there is no network tree
  below,    ///< every one lies in one innermost domain
  between,  ///< every one is made of whole domains
  across,   ///< neither: the network tree keeps its levels, and each leaf is divided by NVLink domain
};

/// One level of NVLink domains: by machine its domain, `no_domain` in none.
struct nvlink_layer {
  std::vector<std::uint32_t> of;
  std::string level;
};

/// Puts one level of NVLink domains (`nv.domains`, `layer`) into the network tree. O(machines × depth).
inline nvlink_fit insert_layer(hierarchy& net, const hierarchy& nv, const nvlink_layer& layer) {
  const std::size_t machines = net.of.size();
  // By NVLink domain: the network domains that its machines are in, ascending; then level by level those above them,
  // as long as they hold no other machine.
  std::vector<std::vector<std::uint32_t>> under(nv.domains.size());
  bool hung = true, below = true;
  for (std::size_t m = 0; m < machines; ++m)
    if (layer.of[m] != no_domain) {
      under[layer.of[m]].push_back(net.of[m]);
      hung = hung && net.of[m] != no_domain;
    }
  for (auto& u : under) {
    std::sort(u.begin(), u.end());
    u.erase(std::unique(u.begin(), u.end()), u.end());
    below = below && u.size() <= 1;
  }
  std::vector<std::size_t> spread;  // by NVLink domain: in how many innermost domains
  for (const auto& u : under) spread.push_back(u.size());
  std::vector<std::uint32_t> made(nv.domains.size(), no_domain);
  const auto add = [&](std::uint32_t d, std::uint32_t parent, std::string name) {
    net.domains.push_back({std::move(name), parent, layer.level});
    net.places.push_back(d < nv.places.size() ? nv.places[d] : input_place{});
    return static_cast<std::uint32_t>(net.domains.size() - 1);
  };
  // Which one NVLink domain all machines below a network domain are in; `mixed` where there are several or none.
  constexpr std::uint32_t mixed = no_domain - 1;
  std::vector<std::uint32_t> owner(net.domains.size(), no_domain);
  for (std::size_t m = 0; m < machines; ++m) {
    if (net.of[m] == no_domain) continue;
    const std::uint32_t mine = layer.of[m] == no_domain ? mixed : layer.of[m];
    for (const auto d : chain_of(net, net.of[m])) owner[d] = owner[d] == no_domain || owner[d] == mine ? mine : mixed;
  }
  // The network tree may have these very domains already.
  bool there = true, any = false;
  for (std::size_t m = 0; m < machines && there; ++m) {
    if (layer.of[m] == no_domain) continue;
    any = true;
    bool hit = false;
    if (net.of[m] != no_domain)
      for (const auto d : chain_of(net, net.of[m]))
        hit = hit || (owner[d] == layer.of[m] && net.domains[d].name == nv.domains[layer.of[m]].name);
    there = hit;
  }
  if (there && any) return nvlink_fit::below;
  if (hung && below) {
    for (std::size_t m = 0; m < machines; ++m) {
      if (layer.of[m] == no_domain) continue;
      auto& own = made[layer.of[m]];
      if (own == no_domain) own = add(layer.of[m], net.of[m], nv.domains[layer.of[m]].name);
      net.of[m] = own;
    }
    return nvlink_fit::below;
  }
  bool between = hung;
  std::vector<std::uint32_t> parents(nv.domains.size(), no_domain);
  for (std::uint32_t d = 0; d < under.size() && between; ++d) {
    auto& units = under[d];
    for (;;) {
      for (const auto u : units) between = between && owner[u] == d;
      if (!between || units.empty()) break;
      bool together = true;
      for (const auto u : units) together = together && net.domains[u].parent == net.domains[units.front()].parent;
      if (together) break;
      for (auto& u : units) {
        u = net.domains[u].parent;
        if (u == no_domain) between = false;
      }
      if (!between) break;
      std::sort(units.begin(), units.end());
      units.erase(std::unique(units.begin(), units.end()), units.end());
    }
    if (between && !units.empty()) parents[d] = net.domains[units.front()].parent;
  }
  if (between) {
    for (std::uint32_t d = 0; d < under.size(); ++d) {
      if (under[d].empty()) continue;
      const auto own = add(d, parents[d], nv.domains[d].name);
      for (const auto u : under[d]) net.domains[u].parent = own;
    }
    return nvlink_fit::between;
  }
  std::unordered_map<std::string, std::uint32_t> piece;
  for (std::size_t m = 0; m < machines; ++m) {
    if (layer.of[m] == no_domain || net.of[m] == no_domain) continue;
    const auto d = layer.of[m];
    const auto [it, fresh] = piece.emplace(std::to_string(d) + "/" + std::to_string(net.of[m]), 0);
    if (fresh)
      it->second = add(d, net.of[m], nv.domains[d].name + (spread[d] == 1 ? "" : " in " + net.domains[net.of[m]].name));
    net.of[m] = it->second;
  }
  return nvlink_fit::across;
}

/// Puts NVLink domains into the network tree, outermost first. \return how the worst of their levels fits
inline nvlink_fit insert_nvlink(hierarchy& net, const hierarchy& nv) {
  const std::size_t machines = net.of.size();
  const auto nv_of = [&](std::size_t m) { return m < nv.of.size() ? nv.of[m] : no_domain; };
  if (net.empty()) {
    net.domains = nv.domains;
    net.places = nv.places;
    for (auto& d : net.domains)
      if (d.level.empty()) d.level = "nvlink";
    for (std::size_t m = 0; m < machines; ++m) net.of[m] = nv_of(m);
    return nvlink_fit::alone;
  }
  name_levels(net);
  std::vector<nvlink_layer> layers;
  for (std::size_t m = 0; m < machines; ++m) {
    if (nv_of(m) == no_domain) continue;
    auto chain = chain_of(nv, nv_of(m));
    std::reverse(chain.begin(), chain.end());
    for (std::size_t i = 0; i < chain.size(); ++i) {
      if (layers.size() <= i) layers.push_back({std::vector<std::uint32_t>(machines, no_domain), ""});
      layers[i].of[m] = chain[i];
      if (layers[i].level.empty()) layers[i].level = nv.domains[chain[i]].level;
    }
  }
  nvlink_fit worst = nvlink_fit::below;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto& level = layers[i].level;
    if (level.empty()) level = i == 0 ? "nvlink" : "nvlink-" + std::to_string(i + 1);
    for (const auto& d : net.domains)
      if (d.level == level) {
        level = "nvlink-" + level;
        break;
      }
    worst = std::max(worst, insert_layer(net, nv, layers[i]));
  }
  return worst;
}

}  // namespace berth::merge_detail
