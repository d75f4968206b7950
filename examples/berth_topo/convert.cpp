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
#include "berth/topology/level_names.hpp"
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

constexpr std::uint32_t none = berth::domain_declaration::no_parent;

// Slurm joins in one job only what hangs under one switch: where several are outermost, one above them stands for the
// whole cluster. It is read back as that.
void add_root(berth::topology_report& t) {
  std::size_t roots = 0;
  bool taken = false;
  for (const auto& d : t.domains) roots += d.parent == none ? 1U : 0U, taken = taken || d.name == "cluster";
  if (roots < 2) return;
  const auto root = static_cast<std::uint32_t>(t.domains.size());
  for (auto& d : t.domains)
    if (d.parent == none) d.parent = root;
  t.domains.push_back({taken ? "cluster-root" : "cluster", none, ""});
  t.domain_places.push_back(t.place);
}

// Whether a level is one of NVLink domains or of Slurm's blocks, which are no switches.
bool is_tray(const berth::site& s, const std::string& level) {
  return berth::is_nvlink_level(level) ||
         (!s.blocks.names.empty() && (level == "block" || level.starts_with("block-")));
}

// The switches of the site, as a topology. NVLink domains are none, but where nothing else is above their machines.
berth::topology_report switches_of(const berth::site& s) {
  auto all = berth::report_of_site(s, "site");
  berth::topology_report out;
  for (auto& t : all.topologies)
    if (t.what == berth::topology_report::kind::network) out = std::move(t);
  const auto tray = [&](std::uint32_t d) { return is_tray(s, out.domains[d].level); };
  const auto switch_above = [&](std::uint32_t d) {
    while (d != none && tray(d)) d = out.domains[d].parent;
    return d;
  };
  berth::topology_report flat;
  flat.place = out.place;
  std::vector<std::uint32_t> at(out.domains.size(), none);
  std::vector<std::uint32_t> from;
  for (std::uint32_t d = 0; d < out.domains.size(); ++d) {
    if (tray(d) && switch_above(d) != none) continue;
    at[d] = static_cast<std::uint32_t>(flat.domains.size());
    from.push_back(d);
    flat.domains.push_back({out.domains[d].name, none, ""});
    flat.domain_places.push_back(out.place);
  }
  const auto kept = [&](std::uint32_t d) {
    while (d != none && at[d] == none) d = out.domains[d].parent;
    return d == none ? none : at[d];
  };
  for (std::size_t i = 0; i < from.size(); ++i) flat.domains[i].parent = kept(out.domains[from[i]].parent);
  for (const auto& m : out.members)
    if (const auto d = kept(m.domain); d != none) flat.members.push_back({m.machine, d});
  add_root(flat);
  return flat;
}

// Slurm's blocks with their sizes, else NVLink domains as blocks; empty where the site has neither.
std::optional<berth::topology_report> blocks_of(const berth::site& s) {
  berth::topology_report out;
  out.place = {"site", 0};
  out.what = berth::topology_report::kind::nvlink;
  const auto add = [&](const std::string& name) {
    out.domains.push_back({name, none, "block"});
    out.domain_places.push_back(out.place);
  };
  if (!s.blocks.names.empty()) {
    out.block_sizes = s.blocks.sizes;
    for (const auto& name : s.blocks.names) add(name);
    for (std::uint32_t n = 0; n < s.spec.nodes.size() && n < s.blocks.of.size(); ++n)
      if (s.blocks.of[n] != berth::site_blocks::none) out.members.push_back({s.spec.nodes[n].name, s.blocks.of[n]});
    return out;
  }
  std::unordered_map<std::string, std::uint32_t> at;
  for (std::uint32_t n = 0; n < s.spec.nodes.size(); ++n) {
    if (s.nvlink[n].empty()) continue;
    const auto [it, fresh] = at.emplace(s.nvlink[n], static_cast<std::uint32_t>(out.domains.size()));
    if (fresh) add(s.nvlink[n]);
    out.members.push_back({s.spec.nodes[n].name, it->second});
  }
  if (out.domains.empty()) return std::nullopt;
  return out;
}

// Whether anything but NVLink domains groups the machines.
bool has_switches(const berth::site& s) {
  const auto& t = s.spec.tree;
  for (std::uint8_t l = 1; l < t.level_count(); ++l)
    if (!is_tray(s, t.level_name(berth::level_id{l}))) return true;
  return false;
}

// The tree, and the blocks beside it where there are any; blocks alone where there is no tree.
berth::expected<std::string, std::string> slurm_yaml(const options& o, const berth::site& s) {
  const std::string name = o.name.empty() ? "default" : o.name;
  std::vector<berth::topology_report> all;
  auto blocks = blocks_of(s);
  if (!blocks || has_switches(s)) {
    all.push_back(switches_of(s));
    all.front().name = name;
  }
  if (blocks) {
    blocks->name = all.empty() ? name : name + "-block";
    blocks->preferred = all.empty();
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
    if (o.to == "slurm-tree") return worded(berth::write_slurm_topology_conf(switches_of(s)));
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
