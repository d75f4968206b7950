#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/merge.hpp"

// Levels of several sources: which counts, and how those that nest become one tree.

namespace {

using berth::site_report;
using berth::topology_report;
using berth::vertex_kind;
using names = std::vector<std::string>;
using groups = std::vector<names>;

constexpr auto root = berth::domain_declaration::no_parent;

/// Domains of one level, `group[i]` in domain PREFIXi.
topology_report grouped(const std::string& level, const groups& group, const std::string& prefix) {
  topology_report t;
  t.place = {"labels", 1};
  for (std::uint32_t i = 0; i < group.size(); ++i) {
    t.domains.push_back({prefix + std::to_string(i), root, level});
    for (const auto& n : group[i]) t.members.push_back({n, i});
  }
  return t;
}
/// Spines over leaves over machines, all cables with 50 GB/s.
berth::fabric_report cables(const std::vector<groups>& spines) {
  berth::fabric_report f;
  f.place = {"fabric", 1};
  berth::link l;
  l.kind = berth::link_kind::infiniband;
  l.rate = berth::gigabytes_per_second{50};
  std::uint32_t leaves = 0, machines = 0;
  const auto core = berth::add_part(f.graph, vertex_kind::core, 0);
  f.graph[core].name = "core";
  for (std::uint32_t s = 0; s < spines.size(); ++s) {
    const auto spine = berth::add_part(f.graph, vertex_kind::spine, s);
    f.graph[spine].name = "spine" + std::to_string(s);
    if (spines.size() > 1) berth::join(f.graph, spine, core, l);
    for (const auto& group : spines[s]) {
      const auto leaf = berth::add_part(f.graph, vertex_kind::leaf, leaves);
      f.graph[leaf].name = "leaf" + std::to_string(leaves++);
      berth::join(f.graph, leaf, spine, l);
      for (const auto& n : group) {
        const auto node = berth::add_part(f.graph, vertex_kind::node, machines++);
        f.graph[node].name = n;
        berth::join(f.graph, node, leaf, l);
      }
    }
  }
  if (spines.size() == 1) boost::remove_vertex(core, f.graph);
  return f;
}
site_report nodes(const names& all, std::vector<topology_report> topologies = {}, std::string source = "nodes") {
  site_report r;
  r.source = std::move(source);
  r.format = "test";
  for (const auto& n : all) {
    berth::machine_report m;
    m.name = n;
    m.gpus = 1;
    m.place = {r.source, 1};
    r.machines.push_back(std::move(m));
  }
  r.topologies = std::move(topologies);
  return r;
}
std::string levels(const berth::site& s) {
  std::string out;
  for (std::uint8_t l = 1; l < s.spec.tree.level_count(); ++l)
    out += (l > 1 ? "/" : "") + s.spec.tree.level_name(berth::level_id{l});
  return out;
}
std::string path_of(const berth::site& s, const std::string& node) {
  std::string out;
  for (std::uint32_t n = 0; n < s.spec.nodes.size(); ++n)
    if (s.spec.nodes[n].name == node)
      for (const auto& d : s.spec.tree.path(berth::node_id{n})) out += (out.empty() ? "" : "/") + d;
  return out;
}
const names eight{"n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"};
const std::string zone = "topology.kubernetes.io/zone";
const std::vector<groups> one_spine{{{"n1", "n2", "n3", "n4"}, {"n5", "n6", "n7", "n8"}}};
const std::vector<groups> two_spines{{{"n1", "n2"}, {"n3", "n4"}}, {{"n5", "n6"}, {"n7", "n8"}}};

TEST_SUITE("io/merge") {
  TEST_CASE("merge: declared levels and those of the cables that nest are one tree") {
    struct row {
      const char* what;
      topology_report declared;
      std::vector<groups> fabric;
      std::string levels;
      std::string path;  // of n3
      std::size_t conflicts;
    };
    auto spread_out = grouped("rack", {{"n1", "n2", "n3"}, {"n4", "n5", "n6"}, {"n7", "n8"}}, "r");
    auto switches = grouped("", {{"n1", "n2", "n3", "n4"}, {"n5", "n6", "n7", "n8"}}, "s");
    auto part_of_it = grouped(zone, {{"n1", "n2"}, {"n5", "n6", "n7"}}, "z");
    const row rows[] = {
        {"one zone hides nothing", grouped(zone, {eight}, "z"), one_spine, "topology.kubernetes.io/zone/leaf",
         "z0/leaf0", 0},
        {"a zone of each spine", grouped(zone, {{"n1", "n2", "n3", "n4"}, {"n5", "n6", "n7", "n8"}}, "z"), two_spines,
         "topology.kubernetes.io/zone/spine/leaf", "z0/spine0/leaf1", 0},
        {"a zone of two spines",
         grouped(zone, {{"n1", "n2", "n3", "n4", "n5", "n6"}, {"n7", "n8"}}, "z"),
         {{{"n1", "n2"}, {"n3"}}, {{"n4", "n5"}, {"n6"}}, {{"n7"}, {"n8"}}},
         zone + "/spine/leaf",
         "z0/spine0/leaf1",
         0},
        {"racks around leaves",
         grouped("rack", {{"n1", "n2", "n3", "n4"}, {"n5", "n6", "n7", "n8"}}, "r"),
         {{{"n1", "n2"}, {"n3", "n4"}, {"n5", "n6"}, {"n7", "n8"}}},
         "rack/leaf",
         "r0/leaf1",
         0},
        {"racks between spines and leaves",
         grouped("rack", {{"n1", "n2"}, {"n3", "n4"}, {"n5", "n6"}, {"n7", "n8"}}, "r"),
         {{{"n1"}, {"n2"}, {"n3"}, {"n4"}}, {{"n5"}, {"n6"}, {"n7"}, {"n8"}}},
         "spine/rack/leaf",
         "spine0/r1/leaf2",
         0},
        {"racks below leaves", grouped("rack", {{"n1", "n2"}, {"n3", "n4"}, {"n5", "n6"}, {"n7", "n8"}}, "r"),
         one_spine, "leaf/rack", "leaf0/r1", 0},
        {"racks that are the leaves", grouped("rack", {{"n1", "n2", "n3", "n4"}, {"n5", "n6", "n7", "n8"}}, "r"),
         one_spine, "rack", "r0", 0},
        {"machines without the label are where their leaf is", part_of_it, two_spines,
         "topology.kubernetes.io/zone/spine/leaf", "z0/spine0/leaf1", 0},
        {"racks that cross leaves contradict them", spread_out, two_spines, "rack", "r0", 1},
        {"Slurm's leaves are the cables' leaves", switches, two_spines, "leaf", "s0", 1},
        {"Slurm's leaves as the cables have them", switches, one_spine, "leaf", "s0", 0},
    };
    for (const auto& r : rows) {
      CAPTURE(r.what);
      auto f = nodes({}, {}, "fabric");
      f.fabrics.push_back(cables(r.fabric));
      for (const bool fabric_first : {true, false}) {
        const auto list = nodes(eight, {r.declared});
        const auto s = berth::merge_site(fabric_first ? std::vector{f, list} : std::vector{list, f});
        REQUIRE_MESSAGE(s.has_value(), s.error().message());
        CHECK(levels(*s) == r.levels);
        CHECK(path_of(*s, "n3") == r.path);
        CHECK(s->conflicts.size() == r.conflicts);
      }
    }
  }
  TEST_CASE("merge: a zone leaves the uplinks of the leaves known, and a level of equal groups has both names") {
    auto f = nodes({}, {}, "fabric");
    f.fabrics.push_back(cables(one_spine));
    const auto s = berth::merge_site({f, nodes(eight, {grouped(zone, {eight}, "z")})});
    REQUIRE(s.has_value());
    const auto leaf = s->spec.tree.leaf_level();
    REQUIRE(s->spec.uplinks.levels.size() == s->spec.tree.level_count());
    REQUIRE(s->spec.uplinks.levels[leaf.index()].rates.size() == 2);
    CHECK(s->spec.uplinks.levels[leaf.index()].rates[0] == berth::gigabytes_per_second{50});
    const auto racks = berth::merge_site({f, nodes(eight, {grouped("rack", {one_spine[0][0], one_spine[0][1]}, "r")})});
    REQUIRE(racks.has_value());
    CHECK(racks->level_aliases == std::vector<std::pair<std::string, std::string>>{{"leaf", "rack"}});
    CHECK(racks->spec.uplinks.levels[racks->spec.tree.leaf_level().index()].rates[1] ==
          berth::gigabytes_per_second{50});
  }
  TEST_CASE("merge: objects that declare levels count before labels of clouds and these before zones, in any order") {
    auto zones = grouped(zone, {eight}, "z"), cloud = grouped("block", {eight}, "b");
    zones.by = topology_report::standing::zones;
    cloud.by = topology_report::standing::labels;
    auto object = grouped("rack", {{"n1", "n2"}, {"n3", "n4", "n5", "n6"}}, "r");  // fewer machines
    std::vector<site_report> files{nodes(eight, {zones}, "a"), nodes({}, {cloud}, "b"), nodes({}, {object}, "c")};
    std::vector<int> order{0, 1, 2};
    do {
      const auto at = [&](int i) { return files[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]; };
      const auto all = berth::merge_site({at(0), at(1), at(2)});
      REQUIRE(all.has_value());
      CHECK(levels(*all) == "rack");
    } while (std::next_permutation(order.begin(), order.end()));
    CHECK(levels(*berth::merge_site({files[0], files[1]})) == "block");
    CHECK(levels(*berth::merge_site({files[1], files[0]})) == "block");
    // Of equals that with more levels counts, else the name decides.
    auto deep = grouped("rack", {eight}, "r");
    deep.domains.push_back({"top", root, "row"});
    deep.domains[0].parent = 1;
    auto flat = grouped("cage", {eight}, "c");
    for (const auto& other : {deep, grouped("aisle", {eight}, "a")}) {
      auto x = nodes(eight, {flat}, "x"), y = nodes(eight, {other}, "y");
      x.topologies[0].place.source = "x";
      const auto one = berth::merge_site({x, y}), two = berth::merge_site({y, x});
      REQUIRE(one.has_value());
      REQUIRE(two.has_value());
      CHECK(levels(*one) == levels(*two));
      CHECK(levels(*one) == (other.domains.size() > 1 ? "row/rack" : "aisle"));
    }
  }
}

}  // namespace
