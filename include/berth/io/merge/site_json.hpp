#pragma once
/// \file
/// A whole site in our own JSON: the cluster file of `io/cluster_json.hpp` with the graphs of the fabric and of the
/// machines, NVLink domains, holdings and conflicts beside it. Reading what was written gives the same site; the jobs
/// that files ask for are not part of it. Described in docs/cluster-file.md. Needs nlohmann-json and Boost.Graph.
///
/// A file without graphs gets those that its shapes make.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/cluster_json.hpp"
#include "berth/io/graph_json.hpp"
#include "berth/io/held_part_json.hpp"
#include "berth/io/merge/levels.hpp"
#include "berth/io/merge/shape_graph.hpp"
#include "berth/io/merge/site.hpp"
#include "berth/io/merge/site_graph.hpp"
#include "berth/io/merge/uplinks.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "berth/topology/graph/node_graph.hpp"

namespace berth {

namespace merge_detail {

/// Names as a host list that expands to the same names in the same order.
[[nodiscard]] inline std::string host_list_of(const std::vector<std::string>& names) {
  std::string list = compress_hostlist(names);
  if (const auto again = expand_hostlist(list, names.size()); again && *again == names) return list;
  list.clear();
  for (const auto& n : names) list += (list.empty() ? "" : ",") + n;
  return list;
}

/// Fills the graphs of a site whose spec is there: insides from shapes, switches from the domain tree.
inline void graphs_from_spec(site& s) {
  s.net = {};
  s.inside_known.clear();
  const auto nodes = static_cast<std::uint32_t>(s.spec.nodes.size());
  for (const auto& shape : s.spec.shapes) {
    const auto known = catalogue_shape(shape.name);
    node_shape same = shape;  // amounts are the site's, the wiring may still be the catalogue's
    if (known) same.cpu = known->cpu, same.memory = known->memory;
    const bool catalogued = known && same_hardware(*known, same);
    s.net.shapes.push_back(catalogued ? *make_node_graph(shape.name) : graph_of_shape(shape));
    bool wired = catalogued || shape.devices < 2;
    for (unsigned a = 0; a < shape.devices; ++a)
      for (unsigned b = 0; b < a; ++b) wired = wired || shape.bandwidth.between(a, b).has_value();
    s.inside_known.push_back(wired ? char{1} : char{0});
  }
  hardware_graph& g = s.net.graph;
  std::vector<node_id> ids;
  std::vector<std::uint32_t> node_of;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    const part_id v = add_part(g, vertex_kind::node, n);
    g[v].name = s.spec.nodes[n].name;
    g[v].model = s.spec.shapes[s.spec.nodes[n].shape.index()].name;
    s.net.nodes.push_back(v);
    s.net.shape_of.push_back(s.spec.nodes[n].shape);
    ids.push_back(node_id{n});
    node_of.push_back(n);
  }
  const hierarchy net = declarations_of(s.spec.tree, ids);
  if (!net.empty()) add_declared_switches(g, net, node_of);
  s.hardware_known.assign(nodes, 1);
  s.nvlink.assign(nodes, "");
}

}  // namespace merge_detail

/// A site of a spec alone, such as a preset's or one that was read from Slurm's files.
[[nodiscard]] inline site site_of_spec(cluster_spec spec) {
  site out;
  out.spec = std::move(spec);
  merge_detail::graphs_from_spec(out);
  return out;
}

/// A site as JSON. O(nodes + parts + links).
[[nodiscard]] inline nlohmann::ordered_json site_json(const site& s) {
  auto j = cluster_json(s.spec, catalogue_shape);
  const auto list_of = [&](auto wanted) {
    std::vector<std::string> names;
    for (std::uint32_t n = 0; n < s.spec.nodes.size(); ++n)
      if (wanted(n)) names.push_back(s.spec.nodes[n].name);
    return names;
  };
  j["insides"] = nlohmann::ordered_json::array();
  std::vector<std::vector<std::string>> inside(s.net.shapes.size());
  for (std::uint32_t n = 0; n < s.spec.nodes.size(); ++n)
    inside[s.net.shape_of[n].index()].push_back(s.spec.nodes[n].name);
  for (std::size_t i = 0; i < s.net.shapes.size(); ++i) {
    nlohmann::ordered_json one;
    one["nodes"] = merge_detail::host_list_of(inside[i]);
    if (s.inside_known[i] == 0) one["known"] = false;
    one["graph"] = graph_json(s.net.shapes[i]);
    j["insides"].push_back(std::move(one));
  }
  j["fabric"] = {{"cables", s.has_fabric}, {"graph", graph_json(s.net.graph)}};
  if (!s.off_fabric.empty()) j["fabric"]["missing"] = merge_detail::host_list_of(s.off_fabric);
  for (const auto& p : s.ports) {
    nlohmann::ordered_json one{{"node", p.node}, {"to", p.to}};
    if (!p.nic.empty()) one["nic"] = p.nic;
    if (p.guid) one["guid"] = json_detail::guid_json(*p.guid);
    if (p.rate) one["gigabytes_per_second"] = p.rate->count();
    j["fabric"]["ports"].push_back(std::move(one));
  }
  std::vector<std::string> domains;
  for (const auto& d : s.nvlink)
    if (!d.empty() && std::find(domains.begin(), domains.end(), d) == domains.end()) domains.push_back(d);
  for (const auto& d : domains)
    j["nvlink"].push_back(
        {{"domain", d}, {"nodes", merge_detail::host_list_of(list_of([&](auto n) { return s.nvlink[n] == d; }))}});
  if (!s.blocks.names.empty()) {
    auto& blocks = j["blocks"];
    if (!s.blocks.sizes.empty()) blocks["sizes"] = s.blocks.sizes;
    std::vector<std::vector<std::string>> members(s.blocks.names.size());
    for (std::uint32_t n = 0; n < s.blocks.of.size(); ++n)
      if (s.blocks.of[n] != site_blocks::none) members[s.blocks.of[n]].push_back(s.spec.nodes[n].name);
    for (std::size_t b = 0; b < members.size(); ++b)
      blocks["blocks"].push_back({{"block", s.blocks.names[b]}, {"nodes", merge_detail::host_list_of(members[b])}});
  }
  for (const auto& h : s.held.held) {
    nlohmann::ordered_json one{{"job", s.held.jobs[h.job]},
                               {"node", s.spec.nodes[h.node.index()].name},
                               {"devices", io_text::device_list_text(h.devices)},
                               {"cpus", json_detail::cpus_json(h.cpu)},
                               {"memory", io_text::memory_text(h.memory)}};
    if (h.split) one["split"] = true;
    for (const held_part& p : h.parts) one["parts"].push_back(held_part_json(p));
    j["held"].push_back(std::move(one));
  }
  const auto any = [](const auto& by_job) {
    for (const auto& of : by_job)
      if (!of.empty()) return true;
    return false;
  };
  if (any(s.held.labels) || any(s.held.keeps_away))
    j["assumptions"].push_back(
        "Labels of running pods, and whom they keep away, are not in this file: rules of spreading about them are not "
        "applied.");
  for (const auto& h : s.held.unhealthy)
    j["unhealthy"].push_back(
        {{"node", s.spec.nodes[h.node.index()].name}, {"devices", io_text::device_list_text(h.devices)}});
  if (const auto names = list_of([&](auto n) { return s.hardware_known[n] == 0; }); !names.empty())
    j["unknown_hardware"] = merge_detail::host_list_of(names);
  for (const auto& c : s.conflicts) {
    nlohmann::ordered_json one{{"what", c.what}, {"file", c.first.source}, {"line", c.first.line}};
    if (!c.second.source.empty()) one["second_file"] = c.second.source, one["second_line"] = c.second.line;
    j["conflicts"].push_back(std::move(one));
  }
  return j;
}

/// The same as text.
[[nodiscard]] inline std::string write_site_json(const site& s) {
  return site_json(s).dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

namespace merge_detail {

struct site_json_reader {
  const std::string& source;
  std::size_t max_nodes, max_parts;
  site out{};
  std::unordered_map<std::string, std::uint32_t> node_of{};

  using status = expected<void, input_error>;

  [[nodiscard]] unexpected<input_error> fail(const json_value& at, std::string found, std::string expected_text) const {
    return unexpected<input_error>{input_error{source, at.line, std::move(found), std::move(expected_text)}};
  }
  /// The nodes of a host list under `key`.
  expected<std::vector<std::uint32_t>, input_error> nodes(const json_value& v, std::string_view key) const {
    const json_reader r{v, source};
    std::string list;
    if (auto ok = r.text(key, list); !ok) return unexpected{std::move(ok).error()};
    std::vector<std::uint32_t> ids;
    if (list.empty()) return ids;
    const auto names = expand_hostlist(list, max_nodes);
    if (!names) return unexpected{names.error().at(source, v.line)};
    for (const auto& n : *names) {
      const auto it = node_of.find(n);
      if (it == node_of.end()) return fail(v, "unknown node " + n, "nodes of the domains");
      ids.push_back(it->second);
    }
    return ids;
  }

  status read_insides(const json_value& list) {
    constexpr std::uint16_t open = 0xFFFF;
    std::vector<std::uint16_t> of(out.spec.nodes.size(), open);
    out.net.shapes.clear();
    out.inside_known.clear();
    if (list.items.size() >= open) return fail(list, "too many insides", "at most 65534");
    for (const auto& v : list.items) {
      const json_reader r{v, source};
      if (auto ok = r.only("nodes known graph"); !ok) return ok;
      bool known = true;
      if (auto ok = r.yes_or_no("known", known); !ok) return ok;
      const auto* graph = v.find("graph");
      if (graph == nullptr) return fail(v, "an inside without \"graph\"", "\"graph\"");
      auto g = read_graph_json(*graph, source, max_parts);
      if (!g) return unexpected{std::move(g).error()};
      const auto ids = nodes(v, "nodes");
      if (!ids) return unexpected{ids.error()};
      for (const auto n : *ids) {
        const auto gpus = parts_of(*g, vertex_kind::gpu);
        if (gpus.size() != out.spec.shapes[out.spec.nodes[n].shape.index()].devices ||
            (!gpus.empty() && gpus.back() != gpus.size() - 1))
          return fail(v, "an inside whose GPUs are not those of " + out.spec.nodes[n].name,
                      "as many GPUs as the node's shape has, before all other vertices");
        of[n] = static_cast<std::uint16_t>(out.net.shapes.size());
      }
      out.net.shapes.push_back(std::move(*g));
      out.inside_known.push_back(known ? char{1} : char{0});
    }
    for (std::uint32_t n = 0; n < of.size(); ++n) {
      if (of[n] == open) return fail(list, "no inside of node " + out.spec.nodes[n].name, "one for every node");
      out.net.shape_of[n] = shape_id{of[n]};
    }
    return {};
  }

  status read_fabric(const json_value& v) {
    const json_reader r{v, source};
    if (auto ok = r.only("cables graph ports missing"); !ok) return ok;
    if (auto ok = r.yes_or_no("cables", out.has_fabric); !ok) return ok;
    const auto* graph = v.find("graph");
    if (graph == nullptr) return fail(v, "a fabric without \"graph\"", "\"graph\"");
    auto g = read_graph_json(*graph, source, max_parts);
    if (!g) return unexpected{std::move(g).error()};
    for (part_id n = 0; n < boost::num_vertices(*g); ++n) {
      const bool node = n < out.spec.nodes.size();
      if (node != ((*g)[n].kind == vertex_kind::node) || (node && (*g)[n].name != out.spec.nodes[n].name))
        return fail(*graph, "vertex " + std::to_string(n) + " named " + io_text::quoted((*g)[n].name),
                    "first the nodes in their order, then switches");
    }
    if (boost::num_vertices(*g) < out.spec.nodes.size())
      return fail(*graph, std::to_string(boost::num_vertices(*g)) + " vertices", "one for every node");
    out.net.graph = std::move(*g);
    const auto missing = nodes(v, "missing");
    if (!missing) return unexpected{missing.error()};
    for (const auto n : *missing) out.off_fabric.push_back(out.spec.nodes[n].name);
    const auto ports = r.array("ports");
    if (!ports) return unexpected{ports.error()};
    if (*ports == nullptr) return {};
    for (const auto& p : (*ports)->items) {
      const json_reader pr{p, source};
      auto ok = pr.only("node to nic guid gigabytes_per_second");
      fabric_port port;
      std::string guid;
      std::uint32_t to = 0;
      if (ok) ok = pr.integer("node", port.node, 0, static_cast<std::int64_t>(out.spec.nodes.size()) - 1);
      if (ok) ok = pr.integer("to", to, 0, static_cast<std::int64_t>(boost::num_vertices(out.net.graph)) - 1);
      if (ok) ok = pr.text("nic", port.nic);
      if (ok) ok = pr.text("guid", guid);
      const json_detail::graph_reader amounts{source, max_parts};
      if (ok) ok = amounts.amount(pr, p, "gigabytes_per_second", port.rate);
      if (!ok) return ok;
      port.to = to;
      if (!guid.empty() && !(port.guid = json_detail::parse_guid(guid)))
        return pr.wrong("guid", *p.find("guid"), "0x and up to 16 digits");
      out.ports.push_back(std::move(port));
    }
    return {};
  }

  status read_share(const json_value& v, bool broken) {
    const json_reader r{v, source};
    auto ok = broken ? r.only("node devices") : r.only("job node devices cpus memory split parts");
    std::string job, node;
    occupied_share share;
    if (ok) ok = r.text("job", job);
    if (ok) ok = r.text("node", node);
    if (ok) ok = r.devices("devices", share.devices);
    if (ok) ok = r.cpus("cpus", share.cpu);
    if (ok) ok = r.memory("memory", share.memory);
    if (ok) ok = r.yes_or_no("split", share.split);
    if (ok) ok = read_held_parts(r, source, share.parts);
    if (!ok) return ok;
    share.place = {source, v.line};
    const auto it = node_of.find(node);
    if (it == node_of.end()) return fail(v, "unknown node " + io_text::quoted(node), "a node of the domains");
    share.node = node_id{it->second};
    const device_mask all = out.spec.shapes[out.spec.nodes[it->second].shape.index()].all_devices();
    if ((share.devices & ~all) != 0)
      return fail(v, "devices " + io_text::device_list_text(share.devices & ~all) + " of node " + node,
                  "devices that it has");
    for (const held_part& p : share.parts)
      if (p.device && (all >> *p.device & 1U) == 0)
        return fail(v, "part " + held_part_text(p) + " of node " + node, "a device that it has");
    if (broken) {
      out.held.unhealthy.push_back(share);
      return {};
    }
    std::size_t at = 0;
    while (at < out.held.jobs.size() && out.held.jobs[at] != job) ++at;
    if (at == out.held.jobs.size()) out.held.jobs.push_back(job);
    share.job = static_cast<std::uint32_t>(at);
    out.held.held.push_back(share);
    return {};
  }

  status read_blocks(const json_value& v) {
    const json_reader r{v, source};
    if (auto ok = r.only("sizes blocks"); !ok) return ok;
    const auto sizes = r.array("sizes"), blocks = r.array("blocks");
    if (!sizes || !blocks) return unexpected{sizes ? blocks.error() : sizes.error()};
    if (*sizes != nullptr)
      for (const auto& n : (*sizes)->items) {
        if (n.type != json_value::kind::integer || n.integer < 1 || n.integer > std::int64_t{1} << 32)
          return fail(n, n.described(), "a number of nodes");
        out.blocks.sizes.push_back(static_cast<std::uint64_t>(n.integer));
      }
    out.blocks.of.assign(out.spec.nodes.size(), site_blocks::none);
    if (*blocks == nullptr) return {};
    for (const auto& b : (*blocks)->items) {
      const json_reader one{b, source};
      if (auto ok = one.only("block nodes"); !ok) return ok;
      std::string name;
      if (auto ok = one.text("block", name); !ok) return ok;
      const auto ids = nodes(b, "nodes");
      if (!ids) return unexpected{ids.error()};
      for (const auto n : *ids) {
        if (out.blocks.of[n] != site_blocks::none)
          return fail(b, "node " + out.spec.nodes[n].name + " in a second block", "every node in one block");
        out.blocks.of[n] = static_cast<std::uint32_t>(out.blocks.names.size());
      }
      out.blocks.names.push_back(std::move(name));
    }
    return {};
  }

  status read_rest(const json_value& root) {
    const json_reader r{root, source};
    const auto each = [&](std::string_view key, auto read) -> status {
      const auto list = r.array(key);
      if (!list) return unexpected{list.error()};
      if (*list != nullptr)
        for (const auto& v : (*list)->items)
          if (auto ok = read(v); !ok) return ok;
      return {};
    };
    auto ok = each("nvlink", [&](const json_value& v) -> status {
      const json_reader d{v, source};
      if (auto only = d.only("domain nodes"); !only) return only;
      std::string name;
      if (auto text = d.text("domain", name); !text) return text;
      const auto ids = nodes(v, "nodes");
      if (!ids) return unexpected{ids.error()};
      for (const auto n : *ids) out.nvlink[n] = name;
      return {};
    });
    if (const auto* blocks = root.find("blocks"); ok && blocks != nullptr) ok = read_blocks(*blocks);
    if (ok) ok = each("held", [&](const json_value& v) { return read_share(v, false); });
    if (ok) ok = each("unhealthy", [&](const json_value& v) { return read_share(v, true); });
    if (ok)
      ok = each("conflicts", [&](const json_value& v) -> status {
        const json_reader c{v, source};
        site_conflict out_conflict;
        auto good = c.only("what file line second_file second_line");
        if (good) good = c.text("what", out_conflict.what);
        if (good) good = c.text("file", out_conflict.first.source);
        if (good) good = c.integer("line", out_conflict.first.line, 0, 1'000'000'000);
        if (good) good = c.text("second_file", out_conflict.second.source);
        if (good) good = c.integer("second_line", out_conflict.second.line, 0, 1'000'000'000);
        if (good) out.conflicts.push_back(std::move(out_conflict));
        return good;
      });
    if (!ok) return ok;
    const auto unknown = nodes(root, "unknown_hardware");
    if (!unknown) return unexpected{unknown.error()};
    for (const auto n : *unknown) out.hardware_known[n] = 0;
    return {};
  }
};

}  // namespace merge_detail

/// Reads a cluster file with whatever of a site it holds.
[[nodiscard]] inline expected<site, input_error> read_site_json(const named_text& file,
                                                                shape_lookup catalogue = catalogue_shape,
                                                                std::size_t max_nodes = default_hostlist_limit,
                                                                std::size_t max_parts = std::size_t{1} << 24) {
  const auto root = parse_json(file.text, file.name);
  if (!root) return unexpected{root.error()};
  json_detail::cluster_reader spec{file.name, catalogue, max_nodes};
  auto cluster = spec.read(*root);
  if (!cluster) return unexpected{std::move(cluster).error()};
  merge_detail::site_json_reader r{file.name, max_nodes, max_parts};
  r.out = site_of_spec(std::move(*cluster));
  r.out.formats.emplace_back("berth cluster");
  for (std::uint32_t n = 0; n < r.out.spec.nodes.size(); ++n) r.node_of.emplace(r.out.spec.nodes[n].name, n);
  const json_reader top{*root, file.name};
  const auto insides = top.array("insides");
  if (!insides) return unexpected{insides.error()};
  if (*insides != nullptr)
    if (auto ok = r.read_insides(**insides); !ok) return unexpected{std::move(ok).error()};
  if (const auto* fabric = root->find("fabric"))
    if (auto ok = r.read_fabric(*fabric); !ok) return unexpected{std::move(ok).error()};
  if (auto ok = r.read_rest(*root); !ok) return unexpected{std::move(ok).error()};
  if (r.out.has_fabric && r.out.spec.uplinks.levels.empty()) {
    auto told = merge_detail::uplinks_of(r.out.spec, r.out.net);
    r.out.spec.uplinks.levels = std::move(told.levels);
  }
  return std::move(r.out);
}

/// A site as a report, to be merged with others.
[[nodiscard]] inline site_report report_of_site(const site& s, const std::string& source) {
  site_report out;
  out.source = source;
  out.format = "berth cluster";
  const input_place whole_file{source, 0};
  topology_report net;
  net.place = whole_file;
  std::vector<node_id> ids;
  for (std::uint32_t n = 0; n < s.spec.nodes.size(); ++n) ids.push_back(node_id{n});
  auto levels = merge_detail::declarations_of(s.spec.tree, ids);
  net.domains = std::move(levels.domains);
  net.domain_places.assign(net.domains.size(), net.place);
  net.uplinks = merge_detail::stated_uplinks(s.spec);
  if (!net.uplinks.empty()) net.usable_permille = s.spec.uplinks.usable_permille;
  topology_report trays;
  trays.place = net.place;
  trays.what = topology_report::kind::nvlink;
  std::unordered_map<std::string, std::uint32_t> tray_of;
  // Slurm's blocks keep their order; a domain of several is above them.
  trays.block_sizes = s.blocks.sizes;
  for (const auto& name : s.blocks.names)
    trays.domains.push_back({name, merge_detail::no_domain, "block"}), trays.domain_places.push_back(net.place);
  // The catalogue's machines by their word, so that a large site does not hold the same graph for every node.
  std::vector<char> catalogued;
  for (const auto& shape : s.spec.shapes) {
    const auto known = catalogue_shape(shape.name);
    node_shape same = shape;
    if (known) same.cpu = known->cpu, same.memory = known->memory;
    catalogued.push_back(known && same_hardware(*known, same) ? char{1} : char{0});
  }
  for (std::uint32_t n = 0; n < s.spec.nodes.size(); ++n) {
    const node_spec& spec = s.spec.nodes[n];
    if (levels.of[n] != merge_detail::no_domain) net.members.push_back({spec.name, levels.of[n]});
    if (!s.nvlink[n].empty()) {
      const std::uint32_t block = n < s.blocks.of.size() ? s.blocks.of[n] : site_blocks::none;
      if (block != site_blocks::none) trays.members.push_back({spec.name, block});
      if (block == site_blocks::none || s.blocks.names[block] != s.nvlink[n]) {
        const auto [it, fresh] = tray_of.emplace(s.nvlink[n], static_cast<std::uint32_t>(trays.domains.size()));
        if (fresh)
          trays.domains.push_back({s.nvlink[n], merge_detail::no_domain, ""}), trays.domain_places.push_back(net.place);
        if (block == site_blocks::none) trays.members.push_back({spec.name, it->second});
        else trays.domains[block].parent = it->second;
      }
    }
    machine_report m;
    m.place = net.place;
    m.name = spec.name;
    if (s.hardware_known[n] != 0) {
      m.gpus = s.spec.shapes[spec.shape.index()].devices;
      const bool by_word = catalogued[spec.shape.index()] != 0 && s.nvlink[n].empty() && s.held.unhealthy.empty();
      if (by_word) m.shape = s.spec.shapes[spec.shape.index()].name;
      else if (s.inside_known[s.net.shape_of[n].index()] != 0) m.inside = s.net.shapes[s.net.shape_of[n].index()];
      if (*m.gpus != 0) m.gpu_model = s.spec.shapes[spec.shape.index()].models.front();
      if (spec.cpu.count() != 0) m.cpu = spec.cpu;
      if (spec.memory.count() != 0) m.memory = spec.memory;
    }
    m.labels = spec.labels;
    if (!spec.usable) m.usable = false;
    out.machines.push_back(std::move(m));
  }
  for (const auto& b : s.held.unhealthy) out.machines[b.node.index()].unhealthy |= b.devices;
  if (!net.members.empty()) out.topologies.push_back(std::move(net));
  if (!trays.members.empty()) out.topologies.push_back(std::move(trays));
  if (s.has_fabric) {
    fabric_report f;
    f.place = whole_file;
    f.graph = s.net.graph;
    for (part_id v = 0; v < boost::num_vertices(f.graph); ++v)
      if (is_nvlink_switch(f.graph[v].kind)) f.not_hosts.push_back(v);  // told as a topology
    out.fabrics.push_back(std::move(f));
  }
  for (const auto& h : s.held.held) {
    holding_report& one = out.held.emplace_back();
    one.place = whole_file;
    one.job = s.held.jobs[h.job];
    one.machine = s.spec.nodes[h.node.index()].name;
    one.devices = h.devices;
    one.gpus = count_bits(h.devices);
    one.cpu = h.cpu;
    one.memory = h.memory;
    one.parts = h.parts;
    one.split = h.split;
  }
  out.jobs = s.jobs;
  out.assumptions = s.spec.assumptions;
  return out;
}

}  // namespace berth
