#pragma once
/// \file
/// The cables of all fabric files as one list of switches and links. Switches are the same by GUID, else by name; a NIC
/// belongs to the machine that its own file names, else to the one whose inside has a NIC of that GUID.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/io/assumptions.hpp"
#include "berth/io/merge/machine_index.hpp"
#include "berth/io/merge/site.hpp"
#include "berth/io/site_report.hpp"

namespace berth::merge_detail {

/// Switches and cables of several files.
struct joined_fabric {
  struct machine_cable {
    std::uint32_t machine = 0, to = 0;  ///< index of the machine, of the switch
    link wire;
    std::string nic;
    std::optional<std::uint64_t> guid;
  };
  struct switch_cable {
    std::uint32_t a = 0, b = 0;
    link wire;
  };
  std::vector<part> switches;
  std::vector<machine_cable> down;
  std::vector<switch_cable> between;
  std::vector<input_place> place_of_machine;  ///< by machine: where a fabric file has it; empty source: nowhere
};

/// A GUID as fabric tools write it: "0x" and 16 digits.
[[nodiscard]] inline std::string guid_text(std::uint64_t guid) {
  char out[24];
  std::snprintf(out, sizeof out, "0x%016llx", static_cast<unsigned long long>(guid));
  return out;
}

/// Which machine a NIC of a GUID is in, from named machines' own insides; a GUID in two machines tells nothing.
[[nodiscard]] inline std::unordered_map<std::uint64_t, std::uint32_t> machines_by_guid(
    const machine_index& index, std::vector<site_conflict>& conflicts) {
  std::unordered_map<std::uint64_t, std::uint32_t> out;
  for (std::uint32_t m = 0; m < index.machines.size(); ++m)
    for (const auto* r : index.machines[m].told) {
      if (!r->inside) continue;
      for (const auto v : parts_of(*r->inside, vertex_kind::nic)) {
        if (!(*r->inside)[v].guid) continue;
        const auto [it, fresh] = out.emplace(*(*r->inside)[v].guid, m);
        if (fresh || it->second == m || it->second == machine_index::none) continue;
        conflicts.push_back({"a NIC of GUID " + guid_text(it->first) + " is in machine " +
                                 index.machines[it->second].name + " and in machine " + index.machines[m].name,
                             index.machines[it->second].place, r->place});
        it->second = machine_index::none;
      }
    }
  return out;
}

/// Reads all fabric reports. Hosts that no other file knows become machines only where no file lists machines (insides
/// alone are no list).
[[nodiscard]] inline joined_fabric join_fabrics(const std::vector<site_report>& reports, machine_index& index,
                                                std::vector<site_conflict>& conflicts,
                                                std::vector<std::string>& assumptions) {
  joined_fabric out;
  bool declared = false;
  for (const auto& m : index.machines) declared = declared || m.declared;
  const auto by_guid = machines_by_guid(index, conflicts);
  std::unordered_map<std::string, std::uint32_t> switch_at;
  assumption_list left_out;
  std::size_t nameless = 0;
  const auto same_switch = [&](const part& p) {
    const std::string key = p.guid ? guid_text(*p.guid) : "name " + p.name;
    const auto [it, fresh] = switch_at.emplace(key, static_cast<std::uint32_t>(out.switches.size()));
    if (fresh) out.switches.push_back(p);
    return it->second;
  };
  using ends = std::pair<std::string, std::string>;
  std::map<ends, std::size_t> cables_before;
  for (const auto& report : reports)
    for (const auto& f : report.fabrics) {
      const hardware_graph& g = f.graph;
      std::vector<char> no_host(boost::num_vertices(g));
      for (const auto v : f.not_hosts)
        if (v < no_host.size()) no_host[v] = 1;
      std::vector<std::uint32_t> machine_of(boost::num_vertices(g), machine_index::none);
      std::vector<std::uint32_t> switch_of(boost::num_vertices(g), machine_index::none);
      for (part_id v = 0; v < boost::num_vertices(g); ++v) {
        if (no_host[v] != 0) continue;
        if (is_network_switch(g[v].kind) || is_nvlink_switch(g[v].kind)) switch_of[v] = same_switch(g[v]);
        if (g[v].kind != vertex_kind::node || g[v].name.empty()) continue;
        machine_of[v] = index.find(g[v].name);
        if (machine_of[v] == machine_index::none && declared)
          left_out.add("on the fabric but in no other file; left out.", g[v].name);
        else if (machine_of[v] == machine_index::none) machine_of[v] = index.at(g[v].name, f.place);
        if (machine_of[v] == machine_index::none) continue;
        if (out.place_of_machine.size() <= machine_of[v]) out.place_of_machine.resize(machine_of[v] + 1);
        out.place_of_machine[machine_of[v]] = f.place;
      }
      for (part_id v = 0; v < boost::num_vertices(g); ++v) {
        if (g[v].kind != vertex_kind::nic || no_host[v] != 0) continue;
        bool named = false;
        for (auto [e, end] = boost::out_edges(v, g); e != end; ++e) {
          const auto w = boost::target(*e, g);
          if (g[w].kind != vertex_kind::node) continue;
          named = named || !g[w].name.empty();
          machine_of[v] = machine_of[w];
        }
        const auto it = g[v].guid ? by_guid.find(*g[v].guid) : by_guid.end();
        const std::uint32_t inside = it == by_guid.end() ? machine_index::none : it->second;
        if (inside != machine_index::none && machine_of[v] != machine_index::none && machine_of[v] != inside)
          conflicts.push_back({"the NIC of GUID " + guid_text(*g[v].guid) + " is in machine " +
                                   index.machines[machine_of[v]].name + " by the fabric and in machine " +
                                   index.machines[inside].name + " by its inside; the fabric's word is used",
                               f.place, index.machines[inside].place});
        if (machine_of[v] == machine_index::none) machine_of[v] = inside;
        if (machine_of[v] == machine_index::none && !named) ++nameless;
        if (machine_of[v] == machine_index::none) continue;
        if (out.place_of_machine.size() <= machine_of[v]) out.place_of_machine.resize(machine_of[v] + 1);
        out.place_of_machine[machine_of[v]] = f.place;
        if (g[v].guid) (void)index.learn(guid_text(*g[v].guid), machine_of[v]);
      }
      // Two files about the same cables must not double them: of equal ends the larger number counts.
      std::map<ends, std::size_t> cables_here;
      const auto is_new = [&](std::string a, std::string b) {
        if (a > b) std::swap(a, b);
        const ends key{std::move(a), std::move(b)};
        const auto it = cables_before.find(key);
        return ++cables_here[key] > (it == cables_before.end() ? 0 : it->second);
      };
      for (auto [e, end] = boost::edges(g); e != end; ++e) {
        auto a = boost::source(*e, g), b = boost::target(*e, g);
        if (switch_of[a] != machine_index::none) std::swap(a, b);
        if (switch_of[b] == machine_index::none) continue;
        if (switch_of[a] != machine_index::none) {
          if (is_new("s" + std::to_string(switch_of[a]), "s" + std::to_string(switch_of[b])))
            out.between.push_back({switch_of[a], switch_of[b], g[*e]});
          continue;
        }
        if (machine_of[a] == machine_index::none || no_host[a] != 0) continue;
        const bool nic = g[a].kind == vertex_kind::nic;
        if (!is_new("m" + std::to_string(machine_of[a]) +
                        (g[a].guid ? guid_text(*g[a].guid)
                         : nic     ? g[a].name
                                   : ""),
                    "s" + std::to_string(switch_of[b])))
          continue;
        out.down.push_back({machine_of[a], switch_of[b], g[*e], nic ? g[a].name : std::string{}, g[a].guid});
        if (nic && !out.down.back().wire.rail) out.down.back().wire.rail = g[a].rail;
      }
      for (const auto& [key, n] : cables_here) cables_before[key] = std::max(cables_before[key], n);
    }
  for (auto& s : left_out.sentences()) assumptions.push_back(std::move(s));
  if (nameless != 0)
    assumptions.push_back(io_text::counted(nameless, "NIC") + " on the fabric " +
                          (nameless == 1 ? "names no host and is" : "name no host and are") +
                          " in no machine's inside; left out.");
  out.place_of_machine.resize(index.machines.size());
  return out;
}

}  // namespace berth::merge_detail
