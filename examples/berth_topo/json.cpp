// The site as JSON for scripts: vertices, links, levels. The schema is in docs/berth-topo.md.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/graph_json.hpp"
#include "berth/io/merge/expand_site.hpp"
#include "berth/io/merge/site_json.hpp"
#include "berth/topology/graph/compile.hpp"
#include "berth/topology/graph/derive.hpp"
#include "berth_topo/commands.hpp"

namespace berth_topo {

namespace {

using json = nlohmann::ordered_json;

// More parts than this are shown as if --shared were given: a person's editor gives up before that.
constexpr std::size_t most_parts = 400'000;

json number_or_null(const std::optional<berth::gigabytes_per_second>& rate) {
  return rate ? json(rate->count()) : json(nullptr);
}

class graph_writer {
 public:
  explicit graph_writer(const berth::site& s) : s_{s} {}

  void add(const berth::part& p, const std::string& machine) {
    json v;
    v["id"] = vertices.size();
    v.update(berth::json_detail::part_json(p));
    v.erase("machine");
    if (!machine.empty()) v["machine"] = machine;
    if (!v.contains("latency_ns")) v["latency_ns"] = nullptr;
    names_.push_back(p.name);
    vertices.push_back(std::move(v));
  }
  void join(std::size_t from, std::size_t to, const berth::link& l) {
    json v{{"from", from}, {"to", to}, {"ends", {names_[from], names_[to]}}};
    v.update(berth::json_detail::link_json(l));
    if (!v.contains("gigabytes_per_second")) v["gigabytes_per_second"] = nullptr;
    if (!v.contains("latency_ns")) v["latency_ns"] = nullptr;
    links.push_back(std::move(v));
  }

  // Every machine with its own parts.
  void expanded() {
    const auto& g = s_.net.graph;
    std::vector<std::uint32_t> inside;
    for (std::uint32_t n = 0; n < s_.spec.nodes.size(); ++n)
      if (boost::num_vertices(s_.net.shapes[s_.net.shape_of[n].index()]) != 0) inside.push_back(n);
    const auto full = berth::expand_site(s_, inside);
    for (berth::part_id v = 0; v < boost::num_vertices(full.graph); ++v)
      add(full.graph[v], full.graph[v].machine ? s_.spec.nodes[*full.graph[v].machine].name : "");
    for (auto [e, end] = boost::edges(full.graph); e != end; ++e)
      join(boost::source(*e, full.graph), boost::target(*e, full.graph), full.graph[*e]);
    // Machines as a whole; those without known parts hang on their switches themselves. Switches come first in both.
    std::vector<std::size_t> at(boost::num_vertices(g));
    std::size_t next = 0;
    for (berth::part_id v = 0; v < boost::num_vertices(g); ++v)
      if (g[v].kind != berth::vertex_kind::node) at[v] = next++;
    std::vector<char> has_parts(s_.spec.nodes.size());
    for (const auto n : inside) has_parts[n] = 1;
    for (std::uint32_t n = 0; n < s_.spec.nodes.size(); ++n) {
      const auto own = vertices.size();
      add(g[s_.net.nodes[n]], s_.spec.nodes[n].name);
      if (has_parts[n] != 0) continue;
      for (auto [e, end] = boost::out_edges(s_.net.nodes[n], g); e != end; ++e)
        if (g[boost::target(*e, g)].kind != berth::vertex_kind::node) join(own, at[boost::target(*e, g)], g[*e]);
    }
  }

  // The fabric, and every kind of inside once.
  void shared() {
    const auto& g = s_.net.graph;
    for (berth::part_id v = 0; v < boost::num_vertices(g); ++v)
      add(g[v], g[v].kind == berth::vertex_kind::node ? g[v].name : "");
    for (auto [e, end] = boost::edges(g); e != end; ++e) join(boost::source(*e, g), boost::target(*e, g), g[*e]);
    for (std::size_t i = 0; i < s_.net.shapes.size(); ++i) {
      const auto& in = s_.net.shapes[i];
      const std::size_t first = vertices.size();
      for (berth::part_id v = 0; v < boost::num_vertices(in); ++v) {
        berth::part p = in[v];
        p.name = "inside" + std::to_string(i) + "/" + p.name;
        add(p, "");
        vertices.back()["inside"] = i;
      }
      for (auto [e, end] = boost::edges(in); e != end; ++e)
        join(first + boost::source(*e, in), first + boost::target(*e, in), in[*e]);
    }
  }

  json vertices = json::array(), links = json::array();

 private:
  const berth::site& s_;
  std::vector<std::string> names_;
};

json levels_of(const berth::site& s) {
  auto out = json::array();
  const auto& t = s.spec.tree;
  for (std::uint8_t l = 0; l < t.level_count(); ++l) {
    const berth::level_id level{l};
    json one{{"level", t.level_name(level)}, {"domains", json::array()}};
    for (std::uint32_t d = 0; d < t.domain_count(level); ++d) {
      const auto& at = t.at(level, berth::domain_id{d});
      json domain{{"name", l == 0 ? "cluster" : t.name(level, berth::domain_id{d})}};
      if (at.implicit && l != 0) domain["implicit"] = true;
      if (l != 0) domain["parent"] = at.parent;
      std::uint64_t gpus = 0;
      domain["nodes"] = json::array();
      for (std::uint32_t n = at.nodes.first; n < at.nodes.last; ++n) {
        domain["nodes"].push_back(s.spec.nodes[n].name);
        gpus += s.spec.shapes[s.spec.nodes[n].shape.index()].devices;
      }
      domain["gpus"] = gpus;
      one["domains"].push_back(std::move(domain));
    }
    out.push_back(std::move(one));
  }
  return out;
}

json insides_of(const berth::site& s) {
  auto out = json::array();
  std::vector<std::vector<std::string>> nodes(s.net.shapes.size());
  for (std::uint32_t n = 0; n < s.spec.nodes.size(); ++n)
    nodes[s.net.shape_of[n].index()].push_back(s.spec.nodes[n].name);
  for (std::size_t i = 0; i < s.net.shapes.size(); ++i) {
    const auto& g = s.net.shapes[i];
    json one{{"inside", i},
             {"name", g[boost::graph_bundle].name},
             {"nodes", nodes[i]},
             {"known", s.inside_known[i] != 0},
             {"gpus", berth::parts_of(g, berth::vertex_kind::gpu).size()},
             {"levels", json::array()}};
    const auto gpus = berth::parts_of(g, berth::vertex_kind::gpu);
    if (const auto shape = berth::compile_shape(g); shape && shape->devices > 1) {
      one["bandwidth"] = json::array();
      for (unsigned a = 0; a < shape->devices; ++a) {
        auto row = json::array();
        for (unsigned b = 0; b < shape->devices; ++b)
          row.push_back(a == b ? json(nullptr) : number_or_null(shape->bandwidth.between(a, b)));
        one["bandwidth"].push_back(std::move(row));
      }
      for (const auto& l : berth::derive_levels(g)) {
        json level{
            {"gigabytes_per_second", number_or_null(l.bandwidth)}, {"links", l.links}, {"domains", json::array()}};
        for (const auto& d : l.domains) {
          auto names = json::array();
          for (const auto v : d) names.push_back(g[gpus[v]].name);
          level["domains"].push_back(std::move(names));
        }
        one["levels"].push_back(std::move(level));
      }
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

std::string show_json(const options& o, const berth::site& s) {
  std::size_t parts = 0;
  for (const auto i : s.net.shape_of)
    parts += boost::num_vertices(s.net.shapes[i.index()]) + boost::num_edges(s.net.shapes[i.index()]);
  const bool shared = o.shared || parts > most_parts;
  graph_writer w{s};
  if (shared) w.shared();
  else w.expanded();
  json j;
  j["files"] = json::array();
  for (std::size_t i = 0; i < o.files.size(); ++i) {
    json file{{"file", o.files[i]}};
    if (s.formats.size() == o.files.size()) file["format"] = s.formats[i];
    j["files"].push_back(std::move(file));
  }
  std::uint64_t gpus = 0;
  for (const auto& n : s.spec.nodes) gpus += s.spec.shapes[n.shape.index()].devices;
  j["machines"] = s.spec.nodes.size();
  j["gpus"] = gpus;
  j["shared"] = shared;
  j["vertices"] = std::move(w.vertices);
  j["links"] = std::move(w.links);
  j["levels"] = levels_of(s);
  j["insides"] = insides_of(s);
  j["nodes"] = json::array();
  for (std::uint32_t n = 0; n < s.spec.nodes.size(); ++n) {
    const auto& spec = s.spec.nodes[n];
    json node{{"name", spec.name},
              {"shape", s.spec.shapes[spec.shape.index()].name},
              {"gpus", s.spec.shapes[spec.shape.index()].devices},
              {"cpus", berth::json_detail::cpus_json(spec.cpu)},
              {"memory", berth::io_text::memory_text(spec.memory)},
              {"labels", spec.labels},
              {"usable", spec.usable},
              {"hardware_known", s.hardware_known[n] != 0},
              {"inside", s.net.shape_of[n].raw()},
              {"path", s.spec.tree.path(berth::node_id{n})}};
    if (!s.nvlink[n].empty()) node["nvlink"] = s.nvlink[n];
    j["nodes"].push_back(std::move(node));
  }
  j["assumptions"] = s.spec.assumptions;
  j["conflicts"] = json::array();
  for (const auto& c : s.conflicts) j["conflicts"].push_back(c.text());
  return j.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string findings_text(const options& o, const berth::site& s, const std::vector<berth::site_finding>& all) {
  if (o.json) {
    json j{{"clean", all.empty()}, {"findings", json::array()}, {"assumptions", s.spec.assumptions}};
    for (const auto& f : all) j["findings"].push_back({{"kind", f.kind}, {"text", f.text}, {"nodes", f.nodes}});
    return j.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
  }
  std::string out;
  for (const auto& f : all) out += f.kind + ": " + f.text + "\n";
  if (all.empty())
    out = "Nothing looks wrong: " + berth::io_text::counted(s.spec.nodes.size(), "machine") + ", " +
          berth::io_text::counted(s.net.shapes.size(), "kind") + " of inside" +
          (s.has_fabric ? ", all on the fabric" : "") + ".\n";
  return out;
}

}  // namespace berth_topo
