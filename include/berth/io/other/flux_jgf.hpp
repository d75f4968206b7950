#pragma once
/// \file
/// Flux's resource graph as JGF (JSON Graph Format), alone (`{"graph": …}`) or inside of an R (`scheduling`).
/// Needs nlohmann-json and Boost.Graph.
///
/// Vertices of type `node` are machines; what contains them, but for the cluster itself, are domains whose level is
/// named like their type; below them cores, memory and GPUs are counted, and GPUs joined to their socket.
///
/// Bandwidth  JGF has no field for links. Sites model what a switch carries as a pool in it (`edgeswitchbw` in an
///            `edgeswitch` in a `rack`, as in flux-sched's `mini-5subsystems-fine.graphml`; type `bandwidth` or ending
///            in `bw`): with a unit such as MB/s, such pools are what the uplinks of the domain around them carry.
///            Sizes without a unit mean what the site likes, and pools of file systems and the like are no links: not
///            read, and said.
/// Source: flux-framework/flux-sched (`resource/readers/resource_reader_jgf.cpp`), RFC 4, RFC 20, RFC 40.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/kubernetes/inside_parts.hpp"
#include "berth/io/kubernetes/values.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/text_file.hpp"

namespace berth {

/// Cheap, from the first 64 KiB.
[[nodiscard]] inline bool looks_like_flux_jgf(std::string_view text) noexcept {
  text = text.substr(0, std::size_t{64} << 10);
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  return has("\"graph\"") && has("\"nodes\"") && has("\"metadata\"") && (has("\"containment\"") || has("\"basename\""));
}

namespace flux_detail {

/// Megabytes per second of a unit of bandwidth; empty: no unit that says so.
[[nodiscard]] inline std::optional<double> megabytes_of(std::string_view unit) noexcept {
  for (const auto& [word, megabytes] :
       {std::pair{"GB/s", 1e3}, std::pair{"MB/s", 1.0}, std::pair{"KB/s", 1e-3}, std::pair{"B/s", 1e-6},
        std::pair{"Gb/s", 125.0}, std::pair{"Mb/s", 0.125}, std::pair{"Gbps", 125.0}, std::pair{"Mbps", 0.125}})
    if (unit == word) return megabytes;
  return std::nullopt;
}
[[nodiscard]] inline bool is_bandwidth(std::string_view type) noexcept {
  return type == "bandwidth" || type.ends_with("bw");
}

}  // namespace flux_detail

/// Reads a JGF resource graph.
[[nodiscard]] inline expected<site_report, input_error> read_flux_jgf(const named_text& file,
                                                                      const reader_options& options = {}) {
  auto doc = parse_json(file.text, file.name);
  if (!doc) return unexpected{std::move(doc).error()};
  const kube_reader in{file.name};
  const json_value* root = &*doc;
  if (const json_value* s = root->find("scheduling"); s != nullptr && s->type == json_value::kind::object) root = s;
  const auto graph = in.member(*root, "graph", json_value::kind::object);
  if (!graph) return unexpected{graph.error()};
  const auto nodes = in.member(**graph, "nodes", json_value::kind::array);
  if (!nodes) return unexpected{nodes.error()};
  const auto edges = in.member(**graph, "edges", json_value::kind::array);
  if (!edges) return unexpected{edges.error()};
  constexpr std::uint32_t none = 0xFFFFFFFFU;
  struct vertex {
    const json_value* at;
    std::string type, name;
    std::int64_t size = 1, number = 0;
    std::uint32_t parent = none;
    bool down = false;
    std::string unit;
  };
  std::vector<vertex> all;
  std::unordered_map<std::string, std::uint32_t> known;
  if ((*nodes)->items.size() > options.max_parts)
    return in.error(**nodes, "more than " + std::to_string(options.max_parts) + " vertices", "a smaller graph");
  for (const auto& n : (*nodes)->items) {
    const auto id = in.text(n, "id");
    if (!id) return unexpected{id.error()};
    const auto meta = in.member(n, "metadata", json_value::kind::object);
    if (!meta) return unexpected{meta.error()};
    const auto type = in.text(**meta, "type");
    if (!type) return unexpected{type.error()};
    const auto name = in.optional_text(**meta, "name");
    if (!name) return unexpected{name.error()};
    const auto base = in.optional_text(**meta, "basename");
    if (!base) return unexpected{base.error()};
    const auto number = in.optional_integer(**meta, "id", -1, std::int64_t{1} << 40);
    if (!number) return unexpected{number.error()};
    const auto size = in.optional_integer(**meta, "size", 0, std::int64_t{1} << 50);
    if (!size) return unexpected{size.error()};
    const auto unit = in.optional_text(**meta, "unit");
    if (!unit) return unexpected{unit.error()};
    const auto status = in.optional_integer(**meta, "status", 0, 16);
    if (!status) return unexpected{status.error()};
    vertex v{&n, *type, {}, size->value_or(1), number->value_or(0), none, status->value_or(0) != 0, unit->value_or("")};
    // Newer files leave out what follows from type, basename and id.
    v.name = *name && !(*name)->empty()
                 ? **name
                 : base->value_or(*type) + (*number && **number >= 0 ? std::to_string(**number) : "");
    if (!known.emplace(*id, static_cast<std::uint32_t>(all.size())).second)
      return in.error(n, "vertex " + io_text::quoted(*id) + " twice", "each id once");
    all.push_back(std::move(v));
  }
  for (const auto& e : (*edges)->items) {
    const auto from = in.text(e, "source");
    if (!from) return unexpected{from.error()};
    const auto to = in.text(e, "target");
    if (!to) return unexpected{to.error()};
    const auto a = known.find(*from), b = known.find(*to);
    if (a == known.end() || b == known.end())
      return in.error(e, "an edge to " + io_text::quoted(a == known.end() ? *from : *to), "a vertex of the graph");
    // Only containment counts: `name: {containment: contains}`, `subsystem: containment`, or nothing said.
    if (const json_value* meta = e.find("metadata"); meta != nullptr && meta->type == json_value::kind::object) {
      const json_value* name = meta->find("name");
      const json_value* subsystem = meta->find("subsystem");
      if (name != nullptr && name->type == json_value::kind::object) {
        const json_value* c = name->find("containment");
        if (c == nullptr || c->text != "contains") continue;
      } else if (subsystem != nullptr && subsystem->text != "containment") {
        continue;
      }
    }
    std::uint32_t& parent = all[b->second].parent;
    if (a->second == b->second || (parent != none && parent != a->second))
      return in.error(e, "vertex " + io_text::quoted(all[b->second].name) + " in two others", "a tree of containment");
    parent = a->second;
  }
  // The machine that a vertex lies in, and that nothing contains itself.
  std::vector<std::uint32_t> machine(all.size(), none);
  std::vector<char> state(all.size(), 0);  // 1: on the way, 2: done
  for (std::uint32_t start = 0; start < all.size(); ++start) {
    std::vector<std::uint32_t> way;
    std::uint32_t v = start;
    while (v != none && state[v] == 0) {
      state[v] = 1;
      way.push_back(v);
      v = all[v].parent;
    }
    if (v != none && state[v] == 1)
      return in.error(*all[v].at, "vertex " + io_text::quoted(all[v].name) + " inside of itself",
                      "a tree of containment");
    std::uint32_t inside = v == none ? none : all[v].type == "node" ? v : machine[v];
    for (std::size_t i = way.size(); i-- > 0;) {
      machine[way[i]] = inside;
      if (all[way[i]].type == "node") {
        if (inside != none) return in.error(*all[way[i]].at, "a node inside of a node", "nodes beside one another");
        inside = way[i];
      }
      state[way[i]] = 2;
    }
  }
  site_report out;
  out.source = file.name;
  out.format = "Flux JGF";
  topology_report tree;
  std::unordered_map<std::uint32_t, std::uint32_t> domain_of;
  std::unordered_map<std::uint32_t, std::size_t> report_of;
  std::unordered_map<std::string, std::uint32_t> names;
  for (std::uint32_t v = 0; v < all.size(); ++v) {
    if (all[v].type != "node") continue;
    if (out.machines.size() >= options.max_machines)
      return in.error(*all[v].at, "more than " + std::to_string(options.max_machines) + " machines", "a smaller graph");
    if (!names.emplace(all[v].name, v).second)
      return in.error(*all[v].at, "node " + io_text::quoted(all[v].name) + " twice", "each name once");
    report_of.emplace(v, out.machines.size());
    auto& m = out.machines.emplace_back();
    m.place = in.place(*all[v].at);
    m.name = all[v].name;
    m.usable = !all[v].down;
    m.gpus = 0;
    std::vector<std::uint32_t> around;
    for (std::uint32_t p = all[v].parent; p != none; p = all[p].parent)
      if (all[p].type != "cluster") around.push_back(p);
    if (around.size() > 15) return in.error(*all[v].at, "a node inside of more than 15 others", "a flatter graph");
    std::uint32_t at = domain_declaration::no_parent;
    for (std::size_t i = around.size(); i-- > 0;) {
      const auto [it, fresh] = domain_of.emplace(around[i], static_cast<std::uint32_t>(tree.domains.size()));
      if (fresh) {
        tree.domains.push_back({all[around[i]].name, at, all[around[i]].type});
        tree.domain_places.push_back(in.place(*all[around[i]].at));
      }
      at = it->second;
    }
    if (at != domain_declaration::no_parent) tree.members.push_back({m.name, at});
  }
  if (out.machines.empty()) return in.error(**nodes, "a graph without vertices of type node", "machines");
  // Bandwidth pools of switches; others are not of links between domains.
  bool pools = false, unread = false;
  for (const vertex& v : all) {
    if (!flux_detail::is_bandwidth(v.type) || v.parent == none || machine[v.parent] != none) continue;
    std::uint32_t at = v.parent;
    if (!domain_of.contains(at) && all[at].type.ends_with("switch")) at = all[at].parent;
    const auto megabytes = flux_detail::megabytes_of(v.unit);
    if (at == none || !domain_of.contains(at) || !megabytes) {
      unread = true;
      continue;
    }
    if (v.down) continue;
    tree.uplinks.resize(tree.domains.size());
    auto& rates = tree.uplinks[domain_of.at(at)];
    const double sum = (rates.empty() ? 0 : rates[0]->count()) + static_cast<double>(v.size) * *megabytes / 1000;
    if (sum > 1e6) return in.error(*v.at, "more than a million GB/s", "the bandwidth of a switch");
    rates.assign(1, gigabytes_per_second{sum});
    pools = true;
  }
  if (pools) out.assumptions.emplace_back("Bandwidth pools of switches are taken for what their uplinks carry.");
  if (unread)
    out.assumptions.emplace_back("Bandwidth pools without a unit, and those that are of no switch, are not read.");
  std::vector<std::vector<kube_detail::listed_device>> devices(out.machines.size());
  std::vector<std::int64_t> cores(out.machines.size(), 0);
  for (std::uint32_t v = 0; v < all.size(); ++v) {
    if (machine[v] == none || machine[v] == v) continue;
    const std::size_t i = report_of.at(machine[v]);
    machine_report& m = out.machines[i];
    if (all[v].type == "core" || all[v].type == "pu") {
      if (all[v].type == "pu") continue;
      cores[i] += all[v].size;
      if (cores[i] > io_text::max_cpus) return in.error(*all[v].at, "more than a million cores", "a machine");
    } else if (all[v].type == "memory") {
      std::int64_t unit = 1;
      const std::string u = io_text::lower(all[v].unit);
      if (u == "gb" || u == "gib" || u == "g" || u.empty()) unit = std::int64_t{1} << 30;
      else if (u == "mb" || u == "mib" || u == "m") unit = std::int64_t{1} << 20;
      else if (u == "kb" || u == "kib" || u == "k") unit = 1024;
      else if (u != "b") return in.error(*all[v].at, "memory in " + io_text::quoted(all[v].unit), "B, KB, MB or GB");
      if (all[v].size > io_text::max_memory / unit || m.memory.value_or(bytes{}).count() > io_text::max_memory)
        return in.error(*all[v].at, "memory of " + std::to_string(all[v].size) + all[v].unit, "at most 4 PiB");
      m.memory = m.memory.value_or(bytes{}) + bytes{all[v].size * unit};
    } else if (all[v].type == "gpu") {
      if (all[v].size < 0 || all[v].size > static_cast<std::int64_t>(max_devices_per_node) ||
          devices[i].size() + static_cast<std::size_t>(all[v].size) > max_devices_per_node)
        return in.error(
            *all[v].at,
            "more than " + std::to_string(max_devices_per_node) + " GPUs of node " + io_text::quoted(m.name),
            "a machine");
      for (std::int64_t k = 0; k < all[v].size; ++k) {
        kube_detail::listed_device d;
        if (all[v].size == 1) d.index = all[v].number;
        d.healthy = !all[v].down;
        for (std::uint32_t p = all[v].parent; p != none && p != machine[v]; p = all[p].parent)
          if (all[p].type == "socket" || all[p].type == "numanode" || all[p].type == "numa") {
            d.numa = all[p].number;
            break;
          }
        devices[i].push_back(std::move(d));
      }
    }
  }
  for (std::size_t i = 0; i < out.machines.size(); ++i) {
    machine_report& m = out.machines[i];
    if (cores[i] > 0) m.cpu = cpus(cores[i]);
    m.gpus = static_cast<unsigned>(devices[i].size());
    bool placed = !devices[i].empty();
    for (const auto& d : devices[i]) placed = placed && d.numa;
    if (!placed) {
      for (std::size_t k = 0; k < devices[i].size(); ++k)
        if (!devices[i][k].healthy) m.unhealthy |= bit(static_cast<unsigned>(k));
      continue;
    }
    m.inside = kube_detail::inside_of(std::move(devices[i]));
    for (part_id p = 0; p < *m.gpus; ++p)
      if (!(*m.inside)[p].healthy) m.unhealthy |= bit(static_cast<unsigned>(p));
  }
  out.assumptions.emplace_back("Cores of a Flux graph count as one CPU each.");
  if (!tree.members.empty()) {
    tree.place = tree.domain_places.front();
    out.topologies.push_back(std::move(tree));
  }
  return out;
}

}  // namespace berth
