#pragma once
/// \file
/// What looks wrong about a site: contradictions between its files, machines off the fabric, GPUs with fewer NVLinks
/// than their peers, GPUs far from every NIC, leaves that differ, broken parts. Needs Boost.Graph.
///
/// Peers are compared only where most of them agree, so that a mixed site is no fault.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/hostlist.hpp"
#include "berth/io/merge/site.hpp"
#include "berth/topology/graph/compile.hpp"

namespace berth {

/// One thing that looks wrong.
struct site_finding {
  std::string kind;  ///< "conflict", "missing_from_fabric", "fewer_nvlinks", "far_nic", …: stable words for scripts
  std::string text;  ///< one sentence
  std::vector<std::string> nodes;  ///< machines that it is about, where it is about machines

  friend bool operator==(const site_finding&, const site_finding&) = default;
};

namespace merge_detail {

/// Names in a sentence, cut after some.
[[nodiscard]] inline std::string names_text(const std::vector<std::string>& names) {
  std::string out = compress_hostlist(names);
  if (out.size() <= 200) return out;
  out.resize(200);
  while (io_text::find_bad_utf8(out)) out.pop_back();
  return out + "…";
}

class site_checker {
 public:
  explicit site_checker(const site& s) : s_{s} {}

  [[nodiscard]] std::vector<site_finding> run() {
    for (const auto& c : s_.conflicts) out_.push_back({"conflict", c.text(), {}});
    if (s_.has_fabric && !s_.off_fabric.empty())
      out_.push_back({"missing_from_fabric",
                      io_text::counted(s_.off_fabric.size(), "machine") + " (" + names_text(s_.off_fabric) +
                          (s_.off_fabric.size() == 1 ? ") is" : ") are") + " on no switch of the fabric's files",
                      s_.off_fabric});
    by_inside_.resize(s_.net.shapes.size());
    for (std::uint32_t n = 0; n < s_.spec.nodes.size(); ++n) by_inside_[s_.net.shape_of[n].index()].push_back(n);
    for (std::size_t i = 0; i < by_inside_.size(); ++i)
      if (!by_inside_[i].empty()) check_inside(i);
    check_leaves();
    check_gpu_counts();
    check_cables();
    check_health();
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::vector<std::string> names_of(const std::vector<std::uint32_t>& nodes) const {
    std::vector<std::string> out;
    for (const auto n : nodes) out.push_back(s_.spec.nodes[n].name);
    return out;
  }
  void add(const char* kind, std::string text, std::vector<std::string> nodes) {
    text = io_text::counted(nodes.size(), "machine") + " (" + names_text(nodes) + "): " + text;
    for (auto& f : out_)
      if (f.kind == kind && f.text == text) return;
    out_.push_back({kind, std::move(text), std::move(nodes)});
  }

  void check_inside(std::size_t i) {
    const hardware_graph& g = s_.net.shapes[i];
    const auto names = names_of(by_inside_[i]);
    const auto gpus = parts_of(g, vertex_kind::gpu);
    // NVLinks of every GPU, beside others of its model.
    std::vector<std::uint32_t> links(gpus.size());
    std::vector<double> host(gpus.size(), -1);
    for (std::size_t k = 0; k < gpus.size(); ++k)
      for (auto [e, end] = boost::out_edges(gpus[k], g); e != end; ++e) {
        const link& l = g[*e];
        const auto to = boost::target(*e, g);
        const bool between_gpus =
            l.kind == link_kind::nvlink || (l.kind == link_kind::xgmi && g[to].kind == vertex_kind::gpu);
        if (between_gpus && l.healthy && g[to].healthy) links[k] += l.count.value_or(std::uint16_t{1});
        if (l.kind == link_kind::pcie && is_host_part(g[to].kind) && l.rate) host[k] = l.rate->count();
      }
    std::string few, slow;
    std::uint32_t most = 0;
    double widest = 0;
    for (std::size_t k = 0; k < gpus.size(); ++k) {
      std::uint32_t top = 0;
      double top_rate = -1;
      for (std::size_t o = 0; o < gpus.size(); ++o)
        if (g[gpus[o]].model == g[gpus[k]].model) top = std::max(top, links[o]), top_rate = std::max(top_rate, host[o]);
      if (links[k] < top) {
        few += (few.empty() ? "" : ", ") + g[gpus[k]].name + " has " + io_text::counted(links[k], "NVLink");
        most = std::max(most, top);
      }
      if (host[k] >= 0 && host[k] < top_rate) {
        slow += (slow.empty() ? "" : ", ") + g[gpus[k]].name + " has " + decimal_text(host[k]);
        widest = std::max(widest, top_rate);
      }
    }
    if (!few.empty()) add("fewer_nvlinks", few + "; its peers have " + std::to_string(most), names);
    if (!slow.empty()) add("slower_pcie", slow + " GB/s of PCIe; its peers have " + decimal_text(widest), names);
    check_nics(g, gpus, names);
    for (auto [e, end] = boost::edges(g); e != end; ++e)
      if (!g[*e].healthy)
        add("broken_link",
            "the link from " + g[boost::source(*e, g)].name + " to " + g[boost::target(*e, g)].name + " is broken",
            names);
  }

  /// A GPU on a NUMA node without a NIC, while another NUMA node has some.
  void check_nics(const hardware_graph& g, const std::vector<part_id>& gpus, const std::vector<std::string>& names) {
    std::map<part_id, std::size_t> nics;  // by NUMA node
    std::size_t known = 0;
    for (const auto v : parts_of(g, vertex_kind::nic))
      if (const auto home = detail::home_numa(g, v)) ++nics[*home], ++known;
    if (known == 0) return;
    std::map<part_id, std::vector<std::string>> far;
    for (const auto v : gpus)
      if (const auto home = detail::home_numa(g, v); home && nics.count(*home) == 0 && !shares_socket(g, *home, nics))
        far[*home].push_back(g[v].name);
    for (const auto& [numa, list] : far) {
      std::string who;
      for (const auto& n : list) who += (who.empty() ? "" : ", ") + n;
      std::string where;
      for (const auto& [home, n] : nics) where += (where.empty() ? "" : ", ") + g[home].name;
      add("far_nic",
          who + (list.size() == 1 ? " is on " : " are on ") + g[numa].name + ", which has no NIC; the NICs are on " +
              where,
          names);
    }
  }
  /// Some NIC is on another NUMA node of the same package.
  [[nodiscard]] static bool shares_socket(const hardware_graph& g, part_id numa,
                                          const std::map<part_id, std::size_t>& nics) {
    for (auto [e, end] = boost::out_edges(numa, g); e != end; ++e) {
      const auto w = boost::target(*e, g);
      if (g[*e].kind == link_kind::on_die && nics.count(w) != 0) return true;
      if (g[w].kind != vertex_kind::socket) continue;
      for (auto [x, last] = boost::out_edges(w, g); x != last; ++x)
        if (g[boost::target(*x, g)].kind == vertex_kind::numa && nics.count(boost::target(*x, g)) != 0) return true;
    }
    return false;
  }

  void check_leaves() {
    const domain_tree& t = s_.spec.tree;
    for (std::uint8_t l = 1; l < t.level_count(); ++l) {
      const level_id level{l};
      if (t.domain_count(level) < 2) continue;
      std::vector<std::pair<std::uint32_t, std::uint32_t>> sizes;  // {GPU machines, domain}
      for (std::uint32_t d = 0; d < t.domain_count(level); ++d) {
        const auto& at = t.at(level, domain_id{d});
        if (at.implicit || t.name(level, domain_id{d}) == s_.spec.nodes[at.nodes.first].name) continue;
        std::uint32_t n = 0;
        for (std::uint32_t k = at.nodes.first; k < at.nodes.last; ++k)
          n += s_.hardware_known[k] == 0 || s_.spec.shapes[s_.spec.nodes[k].shape.index()].devices != 0 ? 1U : 0U;
        if (n != 0) sizes.emplace_back(n, d);
      }
      if (sizes.size() < 2) continue;
      std::sort(sizes.begin(), sizes.end());
      const std::uint32_t least = sizes.front().first, most = sizes.back().first;
      if (most <= least + std::max(1U, most / 10)) continue;
      const auto name = [&](std::uint32_t d) {
        const auto& n = t.name(level, domain_id{d});
        return n.empty() ? t.level_name(level) + "-" + std::to_string(d) : n;
      };
      out_.push_back({"unbalanced_leaves",
                      "domains of level " + t.level_name(level) + " hold " + std::to_string(least) + " (" +
                          name(sizes.front().second) + ") to " + std::to_string(most) + " machines (" +
                          name(sizes.back().second) + ")",
                      {}});
    }
  }

  /// Machines with fewer GPUs than nearly all others of their model.
  void check_gpu_counts() {
    std::map<std::string, std::map<unsigned, std::vector<std::uint32_t>>> counts;
    for (std::uint32_t n = 0; n < s_.spec.nodes.size(); ++n) {
      const node_shape& s = s_.spec.shapes[s_.spec.nodes[n].shape.index()];
      if (s_.hardware_known[n] != 0 && s.devices != 0) counts[s.models.front()][s.devices].push_back(n);
    }
    for (const auto& [model, by_count] : counts) {
      std::size_t all = 0;
      for (const auto& [gpus, nodes] : by_count) all += nodes.size();
      const auto& top = *by_count.rbegin();
      if (by_count.size() < 2 || top.second.size() * 4 < all * 3 || all < 4) continue;
      for (const auto& [gpus, nodes] : by_count)
        if (gpus != top.first)
          add("fewer_gpus", io_text::counted(gpus, "GPU") + " each; their peers have " + std::to_string(top.first),
              names_of(nodes));
    }
  }

  /// Machines and leaf switches with fewer cables than nearly all of their kind.
  void check_cables() {
    if (!s_.has_fabric) return;
    const hardware_graph& g = s_.net.graph;
    std::map<std::string, std::map<std::uint32_t, std::vector<std::string>>> machines, leaves;
    for (part_id v = 0; v < boost::num_vertices(g); ++v) {
      std::uint32_t down = 0, up = 0;
      for (auto [e, end] = boost::out_edges(v, g); e != end; ++e) {
        const auto kind = g[boost::target(*e, g)].kind;
        const std::uint32_t n = g[*e].healthy ? g[*e].count.value_or(std::uint16_t{1}) : 0U;
        if (kind == vertex_kind::node || kind == vertex_kind::leaf) down += n;
        if (kind == vertex_kind::spine || kind == vertex_kind::core) up += n;
      }
      if (g[v].kind == vertex_kind::node && down != 0) machines[g[v].model][down].push_back(g[v].name);
      if (g[v].kind == vertex_kind::leaf && up != 0) leaves[""][up].push_back(g[v].name);
    }
    const auto report = [&](const auto& all, const char* kind, const char* what, bool are_nodes) {
      for (const auto& [model, by_count] : all) {
        std::size_t sum = 0;
        for (const auto& [n, names] : by_count) sum += names.size();
        const auto& top = *by_count.rbegin();
        if (by_count.size() < 2 || top.second.size() * 4 < sum * 3 || sum < 4) continue;
        for (const auto& [n, names] : by_count)
          if (n != top.first)
            out_.push_back({kind,
                            io_text::counted(names.size(), what) + " (" + names_text(names) +
                                "): " + io_text::counted(n, are_nodes ? "cable" : "uplink") +
                                " each; the others have " + std::to_string(top.first),
                            are_nodes ? names : std::vector<std::string>{}});
      }
    };
    report(machines, "fewer_cables", "machine", true);
    report(leaves, "fewer_uplinks", "leaf switch", false);
  }

  void check_health() {
    for (const auto& b : s_.held.unhealthy)
      add("broken_gpu", "GPU " + io_text::device_list_text(b.devices) + " is broken",
          {s_.spec.nodes[b.node.index()].name});
    std::vector<std::string> down, unknown;
    for (std::uint32_t n = 0; n < s_.spec.nodes.size(); ++n) {
      if (!s_.spec.nodes[n].usable) down.push_back(s_.spec.nodes[n].name);
      if (s_.hardware_known[n] == 0) unknown.push_back(s_.spec.nodes[n].name);
    }
    if (!down.empty()) add("out_of_service", "down, drained or cordoned", down);
    if (!unknown.empty() && unknown.size() != s_.spec.nodes.size())
      add("unknown_hardware", "no file says what they are, unlike the others", unknown);
  }

  const site& s_;
  std::vector<std::vector<std::uint32_t>> by_inside_;
  std::vector<site_finding> out_;
};

}  // namespace merge_detail

/// All findings; none for a site that looks right. O(machines + parts² + cables).
[[nodiscard]] inline std::vector<site_finding> check_site(const site& s) {
  return merge_detail::site_checker{s}.run();
}

}  // namespace berth
