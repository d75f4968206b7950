// The site as text: machines, levels, bandwidths, the tree.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/assumptions.hpp"
#include "berth/report/floor_plan.hpp"
#include "berth/report/tree_text.hpp"
#include "berth/topology/graph/compile.hpp"
#include "berth_topo/commands.hpp"
#include "shared/words.hpp"

namespace berth_topo {

namespace {

using berth::decimal_text;
using berth::io_text::counted;

std::string pad(std::string s, std::size_t width) {
  if (s.size() < width) s.insert(0, width - s.size(), ' ');
  return s;
}

// Words of a paragraph within 110 columns, later lines indented.
std::string wrapped(const std::string& head, const std::string& text) {
  std::string out = head, line;
  std::size_t column = head.size();
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = std::min(text.find(' ', i), text.size());
    if (column + (end - i) + 1 > 110) {
      out += "\n" + std::string(head.size(), ' ');
      column = head.size();
    } else if (i != 0) {
      out += ' ';
      ++column;
    }
    out += text.substr(i, end - i);
    column += end - i;
    i = end + 1;
  }
  return out + "\n";
}

std::string machines_line(const berth::site& s) {
  std::vector<std::uint32_t> count(s.spec.shapes.size());
  std::uint64_t gpus = 0;
  std::uint32_t unknown = 0;
  for (std::uint32_t n = 0; n < s.spec.nodes.size(); ++n) {
    const auto shape = s.spec.nodes[n].shape.index();
    if (s.hardware_known[n] == 0) ++unknown;
    else ++count[shape];
    gpus += s.spec.shapes[shape].devices;
  }
  std::string kinds;
  for (std::size_t i = 0; i < count.size(); ++i)
    if (count[i] != 0) kinds += (kinds.empty() ? "" : ", ") + std::to_string(count[i]) + " x " + s.spec.shapes[i].name;
  if (unknown != 0) kinds += (kinds.empty() ? "" : ", ") + std::to_string(unknown) + " of unknown hardware";
  return counted(s.spec.nodes.size(), "machine") + " with " + counted(gpus, "GPU") + " (" + kinds + ")";
}

std::string levels_line(const berth::site& s) {
  std::string out;
  for (std::uint8_t l = 1; l < s.spec.tree.level_count(); ++l) {
    std::uint32_t real = 0;
    for (std::uint32_t d = 0; d < s.spec.tree.domain_count(berth::level_id{l}); ++d)
      real += s.spec.tree.at(berth::level_id{l}, berth::domain_id{d}).implicit ? 0U : 1U;
    out += (out.empty() ? "" : ", ") + berth_program::counted_domains(real, s.spec.tree.level_name(berth::level_id{l}));
  }
  return out;
}

std::string fabric_line(const berth::site& s) {
  std::map<std::string, std::uint32_t> switches;
  std::map<std::string, std::pair<std::uint64_t, std::string>> cables;
  const auto& g = s.net.graph;
  for (berth::part_id v = 0; v < boost::num_vertices(g); ++v)
    if (g[v].kind != berth::vertex_kind::node)
      ++switches[g[v].kind == berth::vertex_kind::nvlink_domain ? "NVLink domain"
                                                                : std::string{to_string(g[v].kind)} + " switch"];
  for (auto [e, end] = boost::edges(g); e != end; ++e) {
    const auto& l = g[*e];
    if (!l.rate) continue;
    const std::uint32_t n = l.count.value_or(std::uint16_t{1});
    cables[std::string{to_string(l.kind)} + " of " + decimal_text(l.rate->count() / n) + " GB/s"].first += n;
  }
  std::string out;
  for (const auto& [kind, n] : switches)
    out += (out.empty() ? "" : ", ") + std::to_string(n) + " " + kind +
           (n == 1                     ? ""
            : kind.ends_with("switch") ? "es"
                                       : "s");
  if (!s.has_fabric && !out.empty()) out += "; no file lists cables, so what they carry is unknown";
  for (const auto& [what, n] : cables) out += ", " + std::to_string(n.first) + " x " + what;
  return out;
}

// One row per GPU with GB/s to every other one, and what they share.
std::string bandwidths(const berth::site& s, std::size_t inside, std::uint32_t machines) {
  const auto& g = s.net.shapes[inside];
  const auto shape = berth::compile_shape(g);
  if (!shape || shape->devices == 0) return {};
  std::string out = "\n" + g[boost::graph_bundle].name + "  (" + counted(machines, "machine") + ")";
  if (s.inside_known[inside] == 0) return out + ": how its GPUs are joined is unknown\n";
  std::map<double, std::uint32_t> pairs;
  std::uint32_t unknown = 0;
  for (unsigned a = 0; a < shape->devices; ++a)
    for (unsigned b = a + 1; b < shape->devices; ++b) {
      if (const auto r = shape->bandwidth.between(a, b)) ++pairs[r->count()];
      else ++unknown;
    }
  std::string summary;
  for (auto it = pairs.rbegin(); it != pairs.rend(); ++it)
    summary += (summary.empty() ? "" : ", ") + counted(it->second, "pair") + " at " + decimal_text(it->first) + " GB/s";
  if (unknown != 0) summary += (summary.empty() ? "" : ", ") + counted(unknown, "pair") + " unknown";
  if (!summary.empty()) out += ": " + summary;
  out += "\n";
  const auto gpus = berth::parts_of(g, berth::vertex_kind::gpu);
  if (shape->devices > 1 && shape->devices <= 16 && (pairs.size() > 1 || unknown != 0)) {
    out += "        ";
    for (unsigned b = 0; b < shape->devices; ++b) out += pad(std::to_string(b), 7);
    out += "\n";
    for (unsigned a = 0; a < shape->devices; ++a) {
      out += "  " + pad("gpu" + std::to_string(a), 6);
      for (unsigned b = 0; b < shape->devices; ++b) {
        const auto r = a == b ? std::nullopt : shape->bandwidth.between(a, b);
        out += pad(a == b ? "-" : r ? decimal_text(r->count()) : "?", 7);
      }
      out += "\n";
    }
  }
  for (std::size_t n = 0; n < shape->numa.size(); ++n)
    out += "  numa" + std::to_string(n) + ": " +
           (shape->numa[n].devices == 0 ? "no GPU" : berth_program::numbered("GPU", shape->numa[n].devices)) +
           (shape->numa[n].cpu.count() == 0 ? "" : ", " + berth::detail::cpu_words(shape->numa[n].cpu)) + "\n";
  const auto nics = berth::parts_of(g, berth::vertex_kind::nic);
  for (std::size_t i = 0; i < shape->nics.size(); ++i) {
    const auto& nic = shape->nics[i];
    out += "  " + g[nics[i]].name + ": " +
           (nic.devices == 0 ? "near no GPU" : "nearest to " + berth_program::numbered("GPU", nic.devices)) +
           (nic.rate ? ", " + decimal_text(nic.rate->count()) + " GB/s" : "") +
           (nic.rail ? ", rail " + std::to_string(*nic.rail) : "") + "\n";
  }
  return out;
}

// Down and up of every leaf switch, equal ones together.
std::string uplinks(const berth::site& s) {
  if (!s.has_fabric) return {};
  const auto& g = s.net.graph;
  std::map<std::pair<double, double>, std::vector<std::string>> leaves;
  for (const auto v : berth::parts_of(g, berth::vertex_kind::leaf)) {
    double down = 0, up = 0;
    bool known = true;
    for (auto [e, end] = boost::out_edges(v, g); e != end; ++e) {
      const auto kind = g[boost::target(*e, g)].kind;
      if (kind == berth::vertex_kind::leaf || !g[*e].healthy) continue;
      known = known && g[*e].rate.has_value();
      (kind == berth::vertex_kind::node ? down : up) += g[*e].rate ? g[*e].rate->count() : 0;
    }
    if (known) leaves[{down, up}].push_back(g[v].name);
  }
  std::string out;
  for (auto& [rates, names] : leaves)
    out += wrapped(
        "  ",
        std::to_string(names.size()) + (names.size() == 1 ? " leaf switch (" : " leaf switches (") +
            berth::merge_detail::names_text(names) + "): " + decimal_text(rates.first) + " GB/s to machines, " +
            decimal_text(rates.second) + " GB/s up" +
            (rates.second > 0 && rates.first > 0 ? ", " + decimal_text(rates.first / rates.second) + " to 1" : ""));
  return out.empty() ? out : "\nUplinks\n" + out;
}

std::string tree(const options& o, const berth::site& s) {
  berth::floor_plan plan;
  plan.tree = &s.spec.tree;
  plan.jobs = s.held.jobs;
  plan.nodes.resize(s.spec.nodes.size());
  for (std::uint32_t n = 0; n < plan.nodes.size(); ++n) {
    plan.nodes[n].name = s.spec.nodes[n].name;
    plan.nodes[n].devices.assign(s.spec.shapes[s.spec.nodes[n].shape.index()].devices,
                                 s.spec.nodes[n].usable ? berth::free_device : berth::unhealthy_device);
  }
  for (const auto& h : s.held.held)
    berth::for_each_bit(h.devices, [&](unsigned d) {
      plan.nodes[h.node.index()].devices[d] = static_cast<berth::device_owner>(h.job);
    });
  for (const auto& h : s.held.unhealthy)
    berth::for_each_bit(h.devices,
                        [&](unsigned d) { plan.nodes[h.node.index()].devices[d] = berth::unhealthy_device; });
  berth::tree_text_options how;
  how.ascii = o.ascii;
  return berth::draw_tree(plan, how);
}

}  // namespace

std::string show_text(const options& o, const berth::site& s) {
  std::string out;
  for (std::size_t i = 0; i < s.formats.size() && s.formats.size() == o.files.size() && i < 8; ++i)
    out += (i == 0 ? "Files     " : "          ") + o.files[i] + ": " + s.formats[i] + "\n";
  out += wrapped("Site      ", machines_line(s));
  if (const auto levels = levels_line(s); !levels.empty()) out += wrapped("Levels    ", levels);
  if (const auto fabric = fabric_line(s); !fabric.empty()) out += wrapped("Fabric    ", fabric);
  for (std::size_t i = 0; i < s.spec.assumptions.size(); ++i)
    out += wrapped(i == 0 ? "Assumed   " : "          ", s.spec.assumptions[i]);
  for (std::size_t i = 0; i < s.conflicts.size(); ++i)
    out += wrapped(i == 0 ? "Conflicts " : "          ", s.conflicts[i].text());
  bool first = true;
  for (const auto& job : s.jobs) {
    if (job.runs_already()) continue;
    out += wrapped(std::exchange(first, false) ? "Jobs      " : "          ", job.name);
  }
  std::vector<std::uint32_t> count(s.net.shapes.size());
  for (const auto i : s.net.shape_of) ++count[i.index()];
  std::size_t shown = 0;
  for (std::size_t i = 0; i < count.size(); ++i) {
    if (count[i] == 0) continue;
    const std::string text = bandwidths(s, i, count[i]);
    if (!text.empty() && ++shown <= 16) out += text;
  }
  if (shown > 16) out += "\n… and " + counted(shown - 16, "more kind") + " of machines\n";
  out += uplinks(s);
  return out + "\n" + tree(o, s);
}

}  // namespace berth_topo
