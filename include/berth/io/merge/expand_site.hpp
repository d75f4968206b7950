#pragma once
/// \file
/// The full graph of some machines of a site: their GPUs, NICs and switches, with the fabric between them. Needs
/// Boost.Graph.
///
/// Cables go to the NIC that the fabric's file names (by GUID, else by name), else to the NICs of the cable's rail,
/// else to all NICs of the machine, evenly. A machine whose inside shows no NIC gets one per cable, joined to its GPUs
/// at an unknown rate.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/merge/site.hpp"
#include "berth/topology/graph/hardware_graph.hpp"

namespace berth {

/// Some machines in full.
struct expanded_site {
  hardware_graph graph;                     ///< parts of machines are named "<machine>/<part>"
  std::vector<std::vector<part_id>> parts;  ///< by machine as asked for: its parts, in the order of its inside
  std::vector<std::vector<part_id>> gpus;   ///< by machine as asked for
};

namespace merge_detail {

class site_expander {
 public:
  site_expander(const site& s, const std::vector<std::uint32_t>& nodes) : s_{s}, nodes_{nodes} {}

  [[nodiscard]] expanded_site run() {
    const hardware_graph& f = s_.net.graph;
    at_.assign(boost::num_vertices(f), absent);
    for (part_id v = 0; v < boost::num_vertices(f); ++v)
      if (f[v].kind != vertex_kind::node) at_[v] = boost::add_vertex(f[v], out_.graph);
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) add_machine(i);
    for (auto [e, end] = boost::edges(f); e != end; ++e) {
      const auto a = boost::source(*e, f), b = boost::target(*e, f);
      if (f[a].kind != vertex_kind::node && f[b].kind != vertex_kind::node)
        (void)join(out_.graph, at_[a], at_[b], f[*e]);
    }
    ports_of_.resize(s_.spec.nodes.size());
    for (const auto& p : s_.ports) ports_of_[p.node].push_back(&p);
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) add_cables_of(i);
    return std::move(out_);
  }

 private:
  static constexpr part_id absent = static_cast<part_id>(-1);

  void add_machine(std::uint32_t i) {
    const std::uint32_t n = nodes_[i];
    const hardware_graph& f = s_.net.graph;
    const hardware_graph& in = s_.net.shapes[s_.net.shape_of[n].index()];
    std::optional<part_id> rack;
    link to_rack;
    for (auto [e, end] = boost::out_edges(s_.net.nodes[n], f); e != end; ++e)
      if (f[boost::target(*e, f)].kind == vertex_kind::nvlink_domain) rack = at_[boost::target(*e, f)], to_rack = f[*e];
    auto& parts = out_.parts.emplace_back(boost::num_vertices(in), absent);
    auto& gpus = out_.gpus.emplace_back();
    bool shares = false;
    for (part_id v = 0; v < boost::num_vertices(in); ++v) {
      if (rack && in[v].kind == vertex_kind::nvlink_domain) {
        parts[v] = *rack;  // the rack's switches take the place of the tray's stand-in for them
        shares = true;
        continue;
      }
      part p = in[v];
      p.machine = n;
      p.name = s_.spec.nodes[n].name + "/" + p.name;
      p.healthy = p.healthy && f[s_.net.nodes[n]].healthy;
      const auto kind = p.kind;
      parts[v] = boost::add_vertex(std::move(p), out_.graph);
      if (kind == vertex_kind::gpu) gpus.push_back(parts[v]);
    }
    for (auto [e, end] = boost::edges(in); e != end; ++e)
      if (parts[boost::source(*e, in)] != parts[boost::target(*e, in)])
        (void)join(out_.graph, parts[boost::source(*e, in)], parts[boost::target(*e, in)], in[*e]);
    if (!rack || shares || gpus.empty()) return;
    // The inside shows no NVSwitch: every GPU hangs on those of the rack, at its share of what is known, if any is.
    link l = to_rack;
    if (l.rate) l.rate = gigabytes_per_second{l.rate->count() / static_cast<double>(gpus.size())};
    l.count.reset();
    for (const auto g : gpus) (void)join(out_.graph, g, *rack, l);
  }

  void add_cables_of(std::uint32_t i) {
    const std::uint32_t n = nodes_[i];
    const hardware_graph& f = s_.net.graph;
    const hardware_graph& in = s_.net.shapes[s_.net.shape_of[n].index()];
    std::vector<part_id> nics;  // of the inside
    for (const auto v : parts_of(in, vertex_kind::nic)) nics.push_back(v);
    std::map<part_id, std::vector<const fabric_port*>> told;  // by switch
    for (const auto* p : ports_of_[n]) told[p->to].push_back(p);
    const auto card_of = [&](const fabric_port& p) -> std::optional<part_id> {
      for (const auto v : nics)
        if (p.guid && in[v].guid == p.guid) return out_.parts[i][v];
      for (const auto v : nics)
        if (!p.nic.empty() && in[v].name == p.nic) return out_.parts[i][v];
      return std::nullopt;
    };
    for (auto [e, end] = boost::out_edges(s_.net.nodes[n], f); e != end; ++e) {
      const auto to = boost::target(*e, f);
      if (!is_network_switch(f[to].kind)) continue;
      link l = f[*e];
      std::vector<part_id> cards;
      if (const auto it = told.find(to); it != told.end())
        for (const auto* p : it->second)
          if (const auto card = card_of(*p)) cards.push_back(*card);
      if (cards.empty())
        for (const auto v : nics)
          if (l.rail ? in[v].rail == l.rail : in[v].rail.has_value()) cards.push_back(out_.parts[i][v]);
      if (cards.empty())
        for (const auto v : nics) cards.push_back(out_.parts[i][v]);
      if (cards.empty()) cards.push_back(add_nic(i, n, extra_++));
      const auto share = static_cast<std::uint32_t>(cards.size());
      if (l.count) l.count = static_cast<std::uint16_t>(std::max<std::uint32_t>(1, *l.count / share));
      if (l.rate) l.rate = gigabytes_per_second{l.rate->count() / share};
      for (const auto card : cards) (void)join(out_.graph, card, at_[to], l);
    }
  }

  /// A NIC that no file shows inside the machine.
  part_id add_nic(std::uint32_t i, std::uint32_t n, std::uint32_t index) {
    part p;
    p.kind = vertex_kind::nic;
    p.index = index;
    p.machine = n;
    p.name = s_.spec.nodes[n].name + "/nic";
    const part_id nic = boost::add_vertex(std::move(p), out_.graph);
    link unknown;
    unknown.kind = link_kind::pcie;
    std::optional<part_id> host;
    for (const auto v : out_.parts[i])
      if (!host && v != absent && out_.graph[v].kind == vertex_kind::numa) host = v;
    if (host) (void)join(out_.graph, nic, *host, unknown);
    else
      for (const auto g : out_.gpus[i]) (void)join(out_.graph, g, nic, unknown);
    return nic;
  }

  const site& s_;
  const std::vector<std::uint32_t>& nodes_;
  std::vector<part_id> at_;
  std::vector<std::vector<const fabric_port*>> ports_of_;  // by node
  std::uint32_t extra_ = 0;
  expanded_site out_;
};

}  // namespace merge_detail

/// These machines in full, with all switches of the site. O(switches + cables + parts + ports).
[[nodiscard]] inline expanded_site expand_site(const site& s, const std::vector<std::uint32_t>& nodes) {
  return merge_detail::site_expander{s, nodes}.run();
}

}  // namespace berth
