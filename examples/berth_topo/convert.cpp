// The topology in another form.

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/io/graphviz.hpp"
#include "berth/io/kubernetes/write.hpp"
#include "berth/io/merge/expand_site.hpp"
#include "berth/io/merge/site_json.hpp"
#include "berth/io/slurm/write_topology.hpp"
#include "berth_topo/commands.hpp"

namespace berth_topo {

namespace {

// One drawing of everything: machines in full where there are few, else one vertex each.
std::string graphviz(const berth::site& s) {
  std::vector<std::uint32_t> inside;
  std::size_t parts = 0;
  for (std::uint32_t n = 0; n < s.spec.nodes.size(); ++n) {
    inside.push_back(n);
    parts += boost::num_vertices(s.net.shapes[s.net.shape_of[n].index()]);
  }
  if (parts == 0 || parts > 500) return berth::write_graphviz_text(s.net.graph);
  return berth::write_graphviz_text(berth::expand_site(s, inside).graph);
}

// The switches of the site alone, as a topology; NVLink domains are no switches.
berth::topology_report without_trays(const berth::site& s) {
  auto all = berth::report_of_site(s, "site");
  berth::topology_report out;
  for (auto& t : all.topologies)
    if (t.what == berth::topology_report::kind::network) out = std::move(t);
  // Domains of NVLink that are a level of the tree: their machines hang on what is around them.
  const auto tray = [&](std::uint32_t d) {
    const auto& level = out.domains[d].level;
    return level.find("nvlink") != std::string::npos || level == "block" || level.starts_with("block-");
  };
  bool switches = false;
  for (std::uint32_t d = 0; d < out.domains.size(); ++d) switches = switches || !tray(d);
  if (!switches) return out;
  const auto above = [&](std::uint32_t d) {
    while (d != berth::domain_declaration::no_parent && tray(d)) d = out.domains[d].parent;
    return d;
  };
  berth::topology_report flat = out;
  flat.domains.clear();
  flat.domain_places.clear();
  flat.members.clear();
  std::vector<std::uint32_t> at(out.domains.size(), berth::domain_declaration::no_parent);
  for (std::uint32_t d = 0; d < out.domains.size(); ++d) {
    if (tray(d)) continue;
    at[d] = static_cast<std::uint32_t>(flat.domains.size());
    flat.domains.push_back({out.domains[d].name, out.domains[d].parent, ""});
    flat.domain_places.push_back(out.place);
  }
  for (auto& d : flat.domains)
    if (const auto p = d.parent == berth::domain_declaration::no_parent ? d.parent : above(d.parent);
        p == berth::domain_declaration::no_parent)
      d.parent = p;
    else d.parent = at[p];
  for (const auto& m : out.members)
    if (const auto d = above(m.domain); d != berth::domain_declaration::no_parent)
      flat.members.push_back({m.machine, at[d]});
  return flat;
}

// NVLink domains as blocks; empty where the site has none.
std::optional<berth::topology_report> blocks_of(const berth::site& s) {
  berth::topology_report out;
  out.place = {"site", 0};
  std::unordered_map<std::string, std::uint32_t> at;
  for (std::uint32_t n = 0; n < s.spec.nodes.size(); ++n) {
    if (s.nvlink[n].empty()) continue;
    const auto [it, fresh] = at.emplace(s.nvlink[n], static_cast<std::uint32_t>(out.domains.size()));
    if (fresh) {
      out.domains.push_back({s.nvlink[n], berth::domain_declaration::no_parent, "block"});
      out.domain_places.push_back(out.place);
    }
    out.members.push_back({s.spec.nodes[n].name, it->second});
  }
  if (out.domains.empty()) return std::nullopt;
  return out;
}

// The tree, and the blocks beside it where there are any.
berth::expected<std::string, std::string> slurm_yaml(const options& o, const berth::site& s) {
  std::vector<berth::topology_report> all{without_trays(s)};
  all.front().name = o.name.empty() ? "default" : o.name;
  if (auto blocks = blocks_of(s)) {
    blocks->name = all.front().name + "-block";
    blocks->preferred = false;
    all.push_back(std::move(*blocks));
  }
  return berth::write_slurm_topology_yaml(all);
}

}  // namespace

text_result convert(const options& o, const berth::site& s) {
  if (o.to == "json") return berth::write_site_json(s);
  if (o.to == "graphviz") return graphviz(s);
  const auto worded = [](berth::expected<std::string, std::string> text) -> text_result {
    if (text) return std::move(*text);
    return berth::unexpected{
        berth::input_error{"convert", 0, std::move(text).error(), "a site that the form can hold"}};
  };
  if (o.to == "slurm-tree" || o.to == "slurm-block") {
    if (o.to == "slurm-tree") return worded(berth::write_slurm_topology_conf(without_trays(s)));
    if (auto blocks = blocks_of(s)) return worded(berth::write_slurm_topology_conf(*blocks));
    return worded(berth::write_slurm_topology_conf(s.spec));
  }
  if (o.to == "slurm-yaml") return worded(slurm_yaml(o, s));
  if (o.to == "kueue") return berth::write_kueue_labels(s.spec);
  if (o.to == "hypernodes") return berth::write_volcano_hypernodes(s.spec);
  return berth::unexpected{
      berth::input_error{"--to", 0, berth::io_text::quoted(o.to),
                         "json, graphviz, slurm-tree, slurm-block, slurm-yaml, kueue or hypernodes"}};
}

}  // namespace berth_topo
