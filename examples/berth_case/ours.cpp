#include "berth_case/ours.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/case/cluster.hpp"
#include "berth/io/case/requests.hpp"
#include "berth/place.hpp"
#include "berth/profile/site_tree.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace berth_case {
namespace {

using counts = std::map<std::string, std::int64_t>;  // tasks by node

/// Whole numbers of what our tasks are made of; empty for anything else.
struct need {
  std::int64_t gpus = 0, cpu = 0, memory = 0;
  static std::optional<need> of(const berth::amount_list& all) {
    need n;
    for (const auto& a : all) {
      const std::int64_t whole = a.thousandths > 0 ? a.thousandths / 1000 : 0;
      if (a.resource == "gpu") n.gpus = whole;
      else if (a.resource == "cpu") n.cpu = whole;
      else if (a.resource == "mem") n.memory = whole;
      else if (a.resource != "pods") return std::nullopt;
      if (a.thousandths % 1000 != 0) return std::nullopt;
    }
    return n;
  }
};

/// A named site as one of our clusters: its levels, its nodes as large as what is free on them.
struct translated {
  berth::cluster_spec spec;
  std::vector<std::string> names;  // by node id
  std::string why_not;
};

translated translate(const berth::named_site& site, const berth::node_wish& wish) {
  translated out;
  berth::site_tree tree{site};
  std::vector<berth::domain_declaration> domains;
  std::map<std::uint32_t, std::uint32_t> declared;
  std::vector<std::uint32_t> node_domain;
  std::vector<std::size_t> site_node;
  for (const auto& leaf : tree.leaves) {
    for (const std::size_t n : leaf.nodes) {
      const auto labels = tree.labels_of(site.nodes[n]);
      if (berth::untolerated(site.nodes[n].taints, wish.tolerations) != nullptr || wish.missing(labels) != nullptr ||
          !wish.affinity_matches(labels))
        continue;
      std::vector<std::uint32_t> chain;
      for (std::uint32_t d = leaf.domain; d != berth::counted_tree::none; d = tree.tree.at(d).parent)
        chain.push_back(d);
      std::uint32_t parent = berth::domain_declaration::no_parent;
      for (std::size_t i = chain.size(); i-- > 0;) {
        const auto [where, fresh] = declared.emplace(chain[i], static_cast<std::uint32_t>(domains.size()));
        if (fresh) domains.push_back({tree.name(chain[i]), parent, site.levels[tree.tree.at(chain[i]).level]});
        parent = where->second;
      }
      node_domain.push_back(parent);
      site_node.push_back(n);
    }
  }
  auto built = berth::domain_tree_builder::build(domains, node_domain);
  if (!built) {
    out.why_not = "no node is in question";
    return out;
  }
  out.spec.tree = std::move(built->tree);
  out.spec.nodes.resize(site_node.size());
  out.names.resize(site_node.size());
  std::map<std::string, berth::amount_list> used;
  for (const auto& u : site.uses)
    if (u.counts) used[u.node.empty() && !u.domain.empty() ? u.domain.back() : u.node].add(u.requests, u.count);
  for (std::size_t i = 0; i < site_node.size(); ++i) {
    const auto& n = site.nodes[site_node[i]];
    berth::amount_list free = n.free;
    if (const auto u = used.find(n.name); u != used.end()) free.add(u->second, -1);
    const auto has = need::of(free);
    if (!has || has->gpus > 64) {
      out.why_not = "node " + n.name + " has what our nodes do not have";
      return out;
    }
    auto& to = out.spec.nodes[built->node_ids[i].index()];
    out.names[built->node_ids[i].index()] = n.name;
    to.name = n.name;
    to.shape = berth::shape_id{static_cast<std::uint16_t>(out.spec.shapes.size())};
    to.cpu = berth::cpu_millis{has->cpu};
    to.memory = berth::bytes{has->memory};
    out.spec.shapes.push_back(
        berth::make_plain_shape(n.name, static_cast<unsigned>(has->gpus), "GPU", to.cpu, to.memory));
  }
  return out;
}

/// Domains used per level, outermost first, and nodes that keep a part free.
struct measures {
  std::vector<std::size_t> domains;
  std::size_t broken = 0;
};

measures measure(const berth::named_site& site, const counts& where, const berth::amount_list& per_task) {
  measures m;
  for (std::size_t l = 0; l < site.levels.size(); ++l) {
    std::map<std::vector<std::string>, bool> used;
    for (const auto& n : site.nodes) {
      if (where.count(n.name) == 0) continue;
      std::vector<std::string> path;
      for (std::size_t k = 0; k <= l && k < n.path.size(); ++k) path.push_back(n.path[k].value_or(""));
      used[path] = true;
    }
    m.domains.push_back(used.size());
  }
  for (const auto& n : site.nodes)
    if (const auto at = where.find(n.name); at != where.end()) {
      berth::amount_list left = n.free;
      left.add(per_task, -at->second);
      if (berth::times_in(left, per_task, 0) > 0) ++m.broken;
    }
  return m;
}

std::string verdict(const berth::named_site& site, const measures& ours, const measures& theirs) {
  for (std::size_t l = 0; l < ours.domains.size(); ++l)
    if (ours.domains[l] != theirs.domains[l])
      return (ours.domains[l] < theirs.domains[l] ? "better: " : "worse: ") +
             berth::io_text::counted(ours.domains[l], "domain") + " of level " + site.levels[l] + " instead of " +
             std::to_string(theirs.domains[l]);
  if (ours.broken != theirs.broken)
    return (ours.broken < theirs.broken ? "better: " : "worse: ") + berth::io_text::counted(ours.broken, "node") +
           " with room left instead of " + std::to_string(theirs.broken);
  return "as good";
}

std::string text(const counts& where) {
  std::string out;
  for (const auto& [node, n] : where) out += (out.empty() ? "" : " ") + node + ":" + std::to_string(n);
  return out;
}

}  // namespace

std::string ours(const berth::case_question& q) {
  if (q.kind != "place") return {};
  const auto site = berth::case_io::cluster(q);
  const auto requests = berth::case_io::requests(q);
  if (!site || !requests || requests->empty() || site->levels.empty()) return {};
  if (site->nodes.size() > 10'000) return "not tried: more than 10000 nodes";
  if (site->levels.size() > 12) return "not tried: more than 12 levels";
  for (const auto& r : *requests)
    if (r.name.empty() || r.segments.size() > 1 || !r.previous.empty() || r.per_task.empty())
      return "not tried: our gangs have one layer of segments, and amounts";
  if (requests->size() > 1 && (*requests)[0].group.empty()) return "not tried: more than one gang";
  auto cluster_of = translate(*site, requests->back().wish);
  if (!cluster_of.why_not.empty()) return "not tried: " + cluster_of.why_not;
  const auto level_of = [&](const std::string& name) -> std::optional<berth::level_id> {
    for (std::uint8_t l = 0; l < cluster_of.spec.tree.level_count(); ++l)
      if (cluster_of.spec.tree.level_name(berth::level_id{l}) == name) return berth::level_id{l};
    return std::nullopt;
  };
  berth::gang g;
  std::int64_t tasks = 0;
  const berth::named_request* workers = &requests->front();
  for (const auto& r : *requests) {
    const auto n = need::of(r.per_task);
    if (!n || n->gpus > 64 || r.count < 1 || r.count > 4096) return "not tried: tasks that are not ours";
    if (r.count > workers->count) workers = &r;
    berth::task_group group;
    group.name = r.name;
    group.wanted = group.minimum = static_cast<std::uint32_t>(r.count);
    group.shape.devices = static_cast<std::uint32_t>(n->gpus);
    group.shape.cpu = berth::cpu_millis{n->cpu};
    group.shape.memory = berth::bytes{n->memory};
    if (!group.shape.is_valid()) return "not tried: tasks that ask for nothing";
    tasks += r.count;
    g.groups.push_back(std::move(group));
  }
  if (workers->mode == berth::topology_mode::required || workers->mode == berth::topology_mode::preferred) {
    const auto l = level_of(workers->level);
    if (!l) return "not tried: no level " + workers->level;
    g.level = *l;
    g.where = workers->mode == berth::topology_mode::required ? berth::locality::required : berth::locality::preferred;
  }
  if (!workers->segments.empty() && workers->segments[0].size > 1) {
    const auto l = level_of(workers->segments[0].level);
    if (!l || workers->count % workers->segments[0].size != 0 || requests->size() > 1)
      return "not tried: segments that are not ours";
    g.segments = berth::segment_request{static_cast<std::uint32_t>(workers->count / workers->segments[0].size), *l};
  }
  berth::cluster_limits limits;
  limits.jobs = 1;
  limits.tasks = static_cast<std::size_t>(tasks);
  berth::cluster cluster{cluster_of.spec, limits};
  berth::placer place{cluster};
  const auto answer = place(g);

  const auto* expect = q.find("expect");
  counts theirs;
  bool they_place = false;
  if (expect != nullptr && expect->type == berth::json_value::kind::array)
    for (const auto& e : expect->items) {
      const berth::case_io::object o{e, q.source};
      std::string name, result;
      if (!o.text("request", name) || !o.text("result", result)) return {};
      if (name != workers->name) continue;
      they_place = result == "placed";
      const auto where = berth::case_io::placements(o, "placements");
      if (where)
        for (const auto& p : *where) theirs[p.domain.back()] += p.count;
    }
  if (answer.result != berth::verdict::placed) return they_place ? "refused, where they place" : "refused as well";
  counts mine;
  // Groups follow one another in the answer, each with its tasks in a row.
  std::size_t at = 0;
  for (const auto& group : g.groups)
    for (std::uint32_t i = 0; i < group.wanted; ++i, ++at)
      if (group.name == workers->name) ++mine[cluster_of.names[answer.where.tasks[at].node.index()]];
  if (!they_place) return "placed on " + text(mine) + ", where they refuse";
  bool by_node = !theirs.empty();
  for (const auto& [node, n] : theirs) by_node = by_node && site->node(node).has_value();
  if (!by_node) return "placed on " + text(mine);
  return "placed on " + text(mine) + "; " +
         verdict(*site, measure(*site, mine, workers->per_task), measure(*site, theirs, workers->per_task));
}

}  // namespace berth_case
