// Fabrics: published counts, trees from graphs, faults, the full expansion.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "berth/topology/catalogue/fabrics.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "berth/topology/graph/bisection.hpp"
#include "berth/topology/graph/derive.hpp"
#include "berth/topology/graph/fabric_graph.hpp"
#include "berth/topology/graph/paths.hpp"
#include "berth/topology/graph/queries.hpp"
#include "support.hpp"

using namespace berth;
using namespace berth::testing;

namespace {
fabric_spec spec(std::string_view preset) {
  auto s = parse_preset(preset);
  REQUIRE_MESSAGE(s.has_value(), std::string{preset});
  return *std::move(s);
}
fabric build(std::string_view preset, const fabric_latencies& lag = {}) {
  auto f = make_fabric(spec(preset), lag);
  REQUIRE(f.has_value());
  return *std::move(f);
}
derived_tree derived(const fabric& f) {
  auto t = derive_tree(f.graph);
  REQUIRE(t.has_value());
  CHECK(broken_law(t->tree) == "");
  return *std::move(t);
}
/// Cables between two kinds of part, each link's `count` taken.
std::uint32_t cables(const hardware_graph& g, vertex_kind x, vertex_kind y) {
  std::uint32_t sum = 0;
  for (auto [e, end] = boost::edges(g); e != end; ++e) {
    const auto a = g[boost::source(*e, g)].kind, b = g[boost::target(*e, g)].kind;
    if ((a == x && b == y) || (a == y && b == x)) sum += *g[*e].count;
  }
  return sum;
}
part_id named(const hardware_graph& g, std::string_view name) {
  for (part_id v = 0; v < boost::num_vertices(g); ++v)
    if (g[v].name == name) return v;
  FAIL("no part " << std::string{name});
  return 0;
}
}  // namespace

TEST_SUITE("topology/fabric") {
  TEST_CASE(
      "SuperPOD H100: machines, switches and cables are those that were published, for one to four scalable units") {
    const auto* row = catalogue::find_fabric("superpod-h100");
    REQUIRE(row != nullptr);
    REQUIRE(row->scale.size() == 4);
    for (const auto& s : row->scale) {
      const auto f = build("superpod-h100:su=" + std::to_string(*s.su));
      CAPTURE(*s.su);
      CHECK(f.nodes.size() == *s.nodes);
      CHECK(parts_of(f.graph, vertex_kind::leaf).size() == *s.leaf);
      CHECK(parts_of(f.graph, vertex_kind::spine).size() == *s.spine);
      CHECK(parts_of(f.graph, vertex_kind::core).empty());
      // The published count holds four more cables, to the fabric manager's hosts, which are not machines here.
      CHECK(cables(f.graph, vertex_kind::node, vertex_kind::leaf) + 4 == *s.node_leaf_cables);
      CHECK(cables(f.graph, vertex_kind::leaf, vertex_kind::spine) == *s.leaf_spine_cables);
      CHECK(derived(f).tree.domain_count(lv(1)) == *s.su);
    }
  }

  TEST_CASE("the preset's tree is the one that its graph gives") {
    for (const std::string_view preset :
         {"superpod-h100:su=1", "superpod-h100:su=3", "rail:nodes=96", "rail:nodes=100,per-leaf=16",
          "rail:nodes=5,shape=pcie-l40s-8", "leaf-spine:nodes=64,per-leaf=4,oversubscription=2",
          "leaf-spine:nodes=13,per-leaf=4,oversubscription=4", "clos3:nodes=256,per-leaf=8,leaves=4",
          "clos3:nodes=250,per-leaf=8,leaves=4,core-oversubscription=4", "clos3:nodes=16,per-leaf=4,leaves=8",
          "clos3:nodes=64,per-leaf=2,leaves=1", "nvl72:racks=1", "nvl72:racks=8", "nvl72:racks=9",
          "nvl72:racks=5,racks-per-leaf=2"}) {
      CAPTURE(preset);
      const auto s = spec(preset);
      const auto f = make_fabric(s);
      REQUIRE(f.has_value());
      const auto from_graph = derived(*f);
      CHECK(difference(make_tree(s), from_graph.tree) == "");
      for (std::uint32_t n = 0; n < s.nodes; ++n) CHECK(from_graph.node_ids[n] == node_id{n});
      CHECK(from_graph.cut_off.empty());
    }
  }

  TEST_CASE("rails: a machine hangs on eight leaves at once, which are one leaf domain") {
    const auto f = build("rail:nodes=64");
    CHECK(boost::out_degree(f.nodes[0], f.graph) == 8);
    CHECK(parts_of(f.graph, vertex_kind::leaf).size() == 16);
    CHECK(derived(f).tree.domain_count(lv(1)) == 2);
  }

  TEST_CASE("rails: losing cables, a whole leaf or a spine does not change who is whose neighbour") {
    auto f = build("rail:nodes=64");
    const auto before = derived(f);
    f.graph[link_between(f.graph, f.nodes[3], named(f.graph, "leaf-0-rail-5"))].healthy = false;
    f.graph[named(f.graph, "leaf-1-rail-2")].healthy = false;
    f.graph[named(f.graph, "spine-0")].healthy = false;
    CHECK(difference(derived(f).tree, before.tree) == "");
    const path_finder paths{f.graph};
    CHECK(rate_of(paths.between(f.nodes[0], f.nodes[3]).bandwidth) == 7 * 50);
    CHECK(rate_of(paths.between(f.nodes[0], f.nodes[1]).bandwidth) == 8 * 50);
    CHECK(rate_of(paths.between(f.nodes[32], f.nodes[33]).bandwidth) == 7 * 50);
  }

  TEST_CASE(
      "a machine without any cable left is a domain of its own; a dead one has no id; the rest stay as they were") {
    auto f = build("leaf-spine:nodes=16,per-leaf=4");
    f.graph[link_between(f.graph, f.nodes[5], named(f.graph, "leaf-1"))].healthy = false;
    f.graph[f.nodes[9]].healthy = false;
    const auto t = derived(f);
    CHECK(t.cut_off == std::vector<std::uint32_t>{5});
    CHECK_FALSE(static_cast<bool>(t.node_ids[9]));
    CHECK(t.tree.node_count() == 15);
    CHECK(t.tree.domain_count(lv(1)) == 5);
    CHECK(t.tree.path(t.node_ids[5]) == std::vector<std::string>{"node-5"});
    CHECK(t.tree.path(t.node_ids[4]) == std::vector<std::string>{"leaf-1"});
    CHECK(t.tree.path(t.node_ids[10]) == std::vector<std::string>{"leaf-2"});
    const auto whole = derive_tree(f.graph, health_view::as_built);
    REQUIRE(whole.has_value());
    CHECK(difference(whole->tree, make_tree(spec("leaf-spine:nodes=16,per-leaf=4"))) == "");
  }

  TEST_CASE("a fabric without machines has no tree") {
    const auto t = derive_tree(hardware_graph{});
    REQUIRE_FALSE(t.has_value());
    CHECK(t.error().what == tree_error::kind::no_nodes);
  }

  TEST_CASE("machines of a rack and plain machines under one leaf: mixed depths in one tree") {
    hardware_graph g;
    std::vector<part_id> m;
    for (std::uint32_t i = 0; i < 5; ++i) m.push_back(add_part(g, vertex_kind::node, i));
    const auto rack = add_part(g, vertex_kind::nvlink_domain, 0), leaf = add_part(g, vertex_kind::leaf, 0);
    for (const auto v : m) wire(g, v, leaf, 50, link_kind::infiniband);
    for (std::size_t i = 1; i < 4; ++i) wire(g, m[i], rack, 3600, link_kind::nvlink);
    const auto t = derive_tree(g);
    REQUIRE(t.has_value());
    CHECK(t->tree.path(t->node_ids[0]) == std::vector<std::string>{"leaf0"});
    CHECK(t->tree.path(t->node_ids[2]) == std::vector<std::string>{"leaf0", "nvlink0"});
    CHECK(t->tree.level_name(lv(2)) == "nvlink");
  }

  TEST_CASE("NVL72: 18 machines in one NVLink domain, rails between racks") {
    const auto f = build("nvl72:racks=3,racks-per-leaf=2");
    CHECK(f.nodes.size() == 54);
    const auto t = derived(f);
    CHECK(t.tree.level_name(lv(2)) == "nvlink");
    CHECK(t.tree.domain_count(lv(2)) == 3);
    CHECK(t.tree.at(lv(2), domain_id{1}).nodes == id_range{18, 36});
    const path_finder paths{f.graph};
    CHECK(rate_of(paths.between(f.nodes[0], f.nodes[17]).bandwidth) == 4 * 900);
    CHECK(rate_of(paths.between(f.nodes[0], f.nodes[18]).bandwidth) == 4 * 50);
    CHECK(rate_of(paths.between(f.nodes[0], f.nodes[53]).bandwidth) == 4 * 50);
  }

  TEST_CASE("oversubscription is felt across leaves and pods, not inside") {
    const auto f = build("leaf-spine:nodes=16,per-leaf=4,oversubscription=4");
    const path_finder paths{f.graph};
    const auto leaf = [&](std::uint32_t l) {
      return std::vector<part_id>(f.nodes.begin() + l * 4, f.nodes.begin() + l * 4 + 4);
    };
    CHECK(rate_of(paths.between(f.nodes[0], f.nodes[1]).bandwidth) == 400);
    CHECK(rate_of(paths.between(f.nodes[0], f.nodes[4]).bandwidth) == 400);  // one machine alone finds 8 uplinks of 50
    CHECK(rate_of(cut_bandwidth(paths, {f.nodes[0], f.nodes[1]}, {f.nodes[2], f.nodes[3]})) == 800);
    CHECK(rate_of(cut_bandwidth(paths, leaf(0), leaf(1))) == 400);  // four machines of 400 share them: 4 to 1

    const auto c = build("clos3:nodes=32,per-leaf=4,leaves=2,core-oversubscription=8");
    const path_finder clos{c.graph};
    const auto pod = [&](std::uint32_t p) {
      return std::vector<part_id>(c.nodes.begin() + p * 8, c.nodes.begin() + p * 8 + 8);
    };
    CHECK(rate_of(cut_bandwidth(clos, {c.nodes[0], c.nodes[1], c.nodes[2], c.nodes[3]},
                                {c.nodes[4], c.nodes[5], c.nodes[6], c.nodes[7]})) == 1600);
    CHECK(rate_of(cut_bandwidth(clos, pod(0), pod(1))) == 8 * 400 / 8);
    CHECK(cables(c.graph, vertex_kind::spine, vertex_kind::core) * 8 ==
          cables(c.graph, vertex_kind::leaf, vertex_kind::spine));
  }

  TEST_CASE("latency between machines is that of cables and switches, where they are stated") {
    fabric_latencies lag;
    lag.cable = nanoseconds{25};
    lag.network_switch = nanoseconds{150};
    const auto f = build("leaf-spine:nodes=16,per-leaf=4", lag);
    const path_finder paths{f.graph};
    CHECK(paths.between(f.nodes[0], f.nodes[1]).links == 2);
    CHECK(paths.between(f.nodes[0], f.nodes[1]).latency->count() == 2 * 25 + 150);
    CHECK(paths.between(f.nodes[0], f.nodes[5]).links == 4);
    CHECK(paths.between(f.nodes[0], f.nodes[5]).latency->count() == 4 * 25 + 3 * 150);
    CHECK_FALSE(between(build("leaf-spine:nodes=16,per-leaf=4").graph, 0, 1).latency.has_value());
  }

  TEST_CASE("expansion of a SuperPOD: every GPU and NIC, rails kept, rates of the wire between machines") {
    auto f = build("superpod-h100:su=1");
    f.graph[f.nodes[7]].healthy = false;
    const auto x = expand(f);
    REQUIRE(x.has_value());
    CHECK(parts_of(x->graph, vertex_kind::gpu).size() == 248);
    CHECK(parts_of(x->graph, vertex_kind::nic).size() == 310);
    CHECK(cables(x->graph, vertex_kind::nic, vertex_kind::leaf) == 248);
    CHECK_FALSE(x->graph[x->gpus[7][0]].healthy);
    const path_finder paths{x->graph};
    const auto same_rail = paths.between(x->gpus[0][3], x->gpus[1][3]);
    CHECK(rate_of(same_rail.bandwidth) == 50);
    CHECK(same_rail.links == 6);  // switch, NIC, leaf, NIC, switch, GPU
    const auto across = paths.between(x->gpus[0][3], x->gpus[1][4]);
    CHECK(rate_of(across.bandwidth) == 50);
    CHECK(across.links == 8);  // over a spine
    CHECK(rate_of(paths.between(x->gpus[0][0], x->gpus[0][7]).bandwidth) == 450);
    CHECK_FALSE(paths.between(x->gpus[0][0], x->gpus[7][0]).joined);
    // Sixteen GPUs of two machines: eight NICs carry what goes between.
    CHECK(rate_of(cut_bandwidth(paths, x->gpus[0], x->gpus[1])) == 400);
    // A rail lost on one machine: its GPUs go out through the other NICs.
    auto cut = *x;
    cut.graph[x->nics[0][3]].healthy = false;
    CHECK(rate_of(between(cut.graph, x->gpus[0][3], x->gpus[1][3]).bandwidth) == 50);
    CHECK(between(cut.graph, x->gpus[0][3], x->gpus[1][3]).links > 6);
  }

  TEST_CASE("inside a machine nothing goes over the network, however slow the sockets are") {
    auto f = build("superpod-h100:su=1");
    for (auto& shape : f.shapes)
      for (const auto v : parts_of(shape, vertex_kind::nvswitch)) shape[v].healthy = false;
    const auto x = expand(f);
    REQUIRE(x.has_value());
    CHECK(rate_of(between(x->graph, x->gpus[0][0], x->gpus[0][7]).bandwidth) ==
          22);  // not the 50 of two NICs and a leaf
  }

  TEST_CASE("expansion of NVL72 racks: the trays share 18 NVSwitches, one link of every GPU to each") {
    auto f = build("nvl72:racks=2,racks-per-leaf=2");
    const auto x = expand(f);
    REQUIRE(x.has_value());
    CHECK(parts_of(x->graph, vertex_kind::gpu).size() == 144);
    CHECK(parts_of(x->graph, vertex_kind::nvswitch).size() == 36);
    CHECK(parts_of(x->graph, vertex_kind::nvlink_domain).empty());
    CHECK(cables(x->graph, vertex_kind::gpu, vertex_kind::nvswitch) == 144 * 18);
    const path_finder paths{x->graph};
    CHECK(rate_of(paths.between(x->gpus[0][0], x->gpus[17][3]).bandwidth) == 900);
    CHECK(rate_of(paths.between(x->gpus[0][0], x->gpus[0][3]).bandwidth) == 900);
    CHECK(rate_of(paths.between(x->gpus[0][0], x->gpus[18][0]).bandwidth) == 50);
    CHECK(rate_of(cut_bandwidth(paths, x->gpus[0], x->gpus[1])) == 3600);
    // A tray cut off from the rack's switches keeps its NICs.
    f.graph[link_between(f.graph, f.nodes[1], named(f.graph, "nvlink-0"))].healthy = false;
    const auto y = expand(f);
    REQUIRE(y.has_value());
    CHECK(rate_of(between(y->graph, y->gpus[0][0], y->gpus[1][0]).bandwidth) == 50);
    CHECK(rate_of(between(y->graph, y->gpus[0][0], y->gpus[2][0]).bandwidth) == 900);
  }

  TEST_CASE("what cannot be expanded or built is said in words") {
    fabric f = build("rail:nodes=4,per-leaf=4");
    f.graph[link_between(f.graph, f.nodes[0], named(f.graph, "leaf-0-rail-0"))].rail = std::uint8_t{9};
    const auto x = expand(f);
    REQUIRE_FALSE(x.has_value());
    CHECK(x.error() == "node-0 has no NIC for leaf-0-rail-0");
    auto s = spec("rail:nodes=4");
    s.shape = "abacus";
    const auto g = make_fabric(s);
    REQUIRE_FALSE(g.has_value());
    CHECK(g.error().find("abacus") != std::string::npos);
  }
}
