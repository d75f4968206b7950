#include "berth/topology/domain_tree.hpp"
#include "berth/topology/domain_tree_builder.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "berth/core/random.hpp"
#include "support.hpp"

using namespace berth;
using berth::testing::broken_law;
using berth::testing::difference;
using berth::testing::lv;

namespace {
constexpr auto none = domain_declaration::no_parent;
using kind = tree_error::kind;

domain_tree_builder::result build(const std::vector<domain_declaration>& d, const std::vector<std::uint32_t>& n) {
  auto r = domain_tree_builder::build(d, n);
  REQUIRE(r.has_value());
  CHECK(broken_law(r->tree) == "");
  return *std::move(r);
}
tree_error fault(const std::vector<domain_declaration>& d, const std::vector<std::uint32_t>& n) {
  auto r = domain_tree_builder::build(d, n);
  REQUIRE_FALSE(r.has_value());
  return r.error();
}
}  // namespace

TEST_SUITE("topology/domain_tree") {
  TEST_CASE("a two-level tree: nodes of a leaf are neighbours in id, whatever the order they are declared in") {
    // s0 { leafA { 1, 3 }, leafB { 0, 2 } }
    const auto r = build({{"s0", none, ""}, {"leafA", 0, ""}, {"leafB", 0, ""}}, {2, 1, 2, 1});
    CHECK(r.tree.level_count() == 3);
    CHECK(r.tree.level_name(lv(0)) == "cluster");
    CHECK(r.tree.level_name(lv(1)) == "spine");
    CHECK(r.tree.level_name(lv(2)) == "leaf");
    CHECK(r.node_ids == std::vector<node_id>{node_id{2}, node_id{0}, node_id{3}, node_id{1}});
    CHECK(r.tree.path(node_id{0}) == std::vector<std::string>{"s0", "leafA"});
    CHECK(r.tree.path(node_id{3}) == std::vector<std::string>{"s0", "leafB"});
    CHECK(r.tree.find_level("leaf") == r.tree.leaf_level());
    CHECK_FALSE(r.tree.find_level("node").has_value());
  }

  TEST_CASE("domains may be declared in any order, children before parents") {
    const auto a = build({{"top", none, ""}, {"x", 0, ""}, {"y", 0, ""}}, {1, 2});
    const auto b = build({{"x", 2, ""}, {"y", 2, ""}, {"top", none, ""}}, {0, 1});
    CHECK(difference(a.tree, b.tree) == "");
  }

  TEST_CASE("mixed depths: the shallow side is filled with implicit domains that do not show in paths") {
    // root { pod { leaf1 { 0 } }, leaf2 { 1 } }
    const auto r = build({{"root", none, ""}, {"pod", 0, ""}, {"leaf1", 1, ""}, {"leaf2", 0, ""}}, {2, 3});
    CHECK(r.tree.level_count() == 4);
    CHECK(r.tree.path(r.node_ids[0]) == std::vector<std::string>{"root", "pod", "leaf1"});
    CHECK(r.tree.path(r.node_ids[1]) == std::vector<std::string>{"root", "leaf2"});
    const auto above = r.tree.domain_of(r.node_ids[1], lv(2));
    CHECK(r.tree.at(lv(2), above).implicit);
  }

  TEST_CASE("several roots lie side by side under the cluster") {
    const auto r = build({{"a", none, ""}, {"b", none, ""}, {"c", none, ""}}, {0, 1, 2, 1});
    CHECK(r.tree.level_count() == 2);
    CHECK(r.tree.domain_count(lv(1)) == 3);
    CHECK(r.tree.at(lv(1), domain_id{1}).nodes.size() == 2);
  }

  TEST_CASE("nodes and switches under one domain: the nodes get an implicit leaf of their own") {
    // core { login-node, leaf { n1, n2 } }
    const auto r = build({{"core", none, ""}, {"leaf", 0, ""}}, {0, 1, 1});
    CHECK(r.tree.level_count() == 3);
    CHECK(r.tree.path(r.node_ids[0]) == std::vector<std::string>{"core"});
    CHECK(r.tree.path(r.node_ids[1]) == std::vector<std::string>{"core", "leaf"});
    CHECK(r.tree.leaf_of(r.node_ids[0]) != r.tree.leaf_of(r.node_ids[1]));
  }

  TEST_CASE("a level of NVLink domains: nodes that are in none share none") {
    // rack-a { 0, 1 }, rack-b { nvl { 2, 3 }, 4 }
    const auto r = build({{"rack-a", none, "rack"}, {"rack-b", none, "rack"}, {"nvl", 1, "nvlink"}}, {0, 0, 2, 2, 1});
    REQUIRE(r.tree.find_level("nvlink") == lv(2));
    CHECK(broken_law(r.tree) == "");
    CHECK(r.tree.domain_count(lv(1)) == 2);
    CHECK(r.tree.domain_count(lv(2)) == 4);
    const auto nvl = [&](std::size_t n) { return r.tree.domain_of(r.node_ids[n], lv(2)); };
    CHECK(nvl(2) == nvl(3));
    CHECK_FALSE(r.tree.at(lv(2), nvl(2)).implicit);
    for (const std::size_t n : {0U, 1U, 4U}) {
      CAPTURE(n);
      CHECK(r.tree.at(lv(2), nvl(n)).implicit);
      CHECK(r.tree.at(lv(2), nvl(n)).nodes.size() == 1);
    }
    CHECK(r.tree.domain_of(r.node_ids[0], lv(1)) == r.tree.domain_of(r.node_ids[1], lv(1)));
    CHECK(r.tree.path(r.node_ids[1]) == std::vector<std::string>{"rack-a"});
  }

  TEST_CASE("NVLink domains that nest: nodes beside them have a chain of their own, below what they share") {
    // spine { leaf { 0, 1 }, leaf-b { nvl { sub-a { 2 }, sub-b { 3 } } } }
    const auto r = build({{"spine", none, "spine"},
                          {"leaf", 0, "leaf"},
                          {"leaf-b", 0, "leaf"},
                          {"nvl", 2, "nvlink"},
                          {"sub-a", 3, "nvlink-sub"},
                          {"sub-b", 3, "nvlink-sub"}},
                         {1, 1, 4, 5});
    CHECK(broken_law(r.tree) == "");
    REQUIRE(r.tree.level_count() == 5);
    for (const unsigned l : {3U, 4U}) {
      CAPTURE(l);
      CHECK(r.tree.domain_of(r.node_ids[0], lv(l)) != r.tree.domain_of(r.node_ids[1], lv(l)));
    }
    CHECK(r.tree.domain_of(r.node_ids[0], lv(2)) == r.tree.domain_of(r.node_ids[1], lv(2)));
    CHECK(r.tree.domain_of(r.node_ids[2], lv(3)) == r.tree.domain_of(r.node_ids[3], lv(3)));
    CHECK(r.tree.domain_of(r.node_ids[2], lv(4)) != r.tree.domain_of(r.node_ids[3], lv(4)));
  }

  TEST_CASE("levels named after labels: nodes without the label share no domain; levels of switches: they do") {
    struct row {
      const char* level;
      std::uint32_t domains;
    };
    for (const row& x : {row{"topology.kubernetes.io/rack", 3}, row{"rack", 3}, row{"leaf", 2}, row{"leaf-2", 2},
                         row{"tier4", 2}, row{"leafy", 3}, row{"tier-two", 3}}) {
      CAPTURE(x.level);
      // zone { 0, 1, inner { 2, 3 } }
      const auto r = build({{"zone", none, "zone"}, {"inner", 0, x.level}}, {0, 0, 1, 1});
      CHECK(r.tree.domain_count(lv(2)) == x.domains);
      CHECK(r.tree.domain_of(r.node_ids[2], lv(2)) == r.tree.domain_of(r.node_ids[3], lv(2)));
    }
  }

  TEST_CASE("domains without any node below them are dropped") {
    const auto r = build({{"top", none, ""}, {"used", 0, ""}, {"spare", 0, ""}, {"lone root", none, ""}}, {1});
    CHECK(r.tree.domain_count(lv(1)) == 1);
    CHECK(r.tree.domain_count(lv(2)) == 1);
  }

  TEST_CASE("named levels: a domain sits at the level of its name, also where the tree below it is flatter") {
    // Both pods are at level "pod"; b's nodes hang on it directly.
    const auto r = build({{"a", none, "pod"}, {"a1", 0, "rack"}, {"b", none, "pod"}}, {1, 2});
    CHECK(r.tree.level_count() == 3);
    CHECK(r.tree.level_name(lv(1)) == "pod");
    CHECK(r.tree.level_name(lv(2)) == "rack");
    CHECK(r.tree.domain_count(lv(1)) == 2);
    CHECK(r.tree.path(r.node_ids[1]) == std::vector<std::string>{"b"});
  }

  TEST_CASE("unnamed levels beside named ones get words of their own") {
    const auto r = build({{"z", none, "zone"}, {"s", 0, ""}, {"l", 1, ""}}, {2});
    CHECK(r.tree.level_name(lv(1)) == "zone");
    CHECK(r.tree.level_name(lv(2)) == "spine");
    CHECK(r.tree.level_name(lv(3)) == "leaf");
  }

  TEST_CASE("faults name what is wrong") {
    CHECK(fault({{"a", none, ""}}, {}).what == kind::no_nodes);
    CHECK(fault({}, {}).what == kind::no_nodes);
    const auto parent = fault({{"a", none, ""}, {"b", 7, ""}}, {0});
    CHECK(parent.what == kind::bad_parent);
    CHECK(parent.subject == 1);
    const auto leaf = fault({{"a", none, ""}}, {0, 1});
    CHECK(leaf.what == kind::bad_leaf);
    CHECK(leaf.subject == 1);
    CHECK(fault({{"a", 1, ""}, {"b", 0, ""}}, {0}).what == kind::cycle);
    CHECK(fault({{"self", 0, ""}}, {0}).what == kind::cycle);
    CHECK(fault({{"root", none, ""}, {"x", 2, ""}, {"y", 1, ""}}, {0}).subject == 1);  // a cycle beside a sound root
    // A rack above a pod and a pod above a rack.
    CHECK(fault({{"p", none, "pod"}, {"r", 0, "rack"}, {"r2", none, "rack"}, {"p2", 2, "pod"}}, {1, 3}).what ==
          kind::level_order);
  }

  TEST_CASE("sixteen levels are the most, the cluster included") {
    const auto chain = [](std::uint32_t depth) {
      std::vector<domain_declaration> d;
      for (std::uint32_t i = 0; i < depth; ++i) d.push_back({"d" + std::to_string(i), i == 0 ? none : i - 1, ""});
      return d;
    };
    CHECK(build(chain(15), {14}).tree.level_count() == 16);
    CHECK(fault(chain(16), {15}).what == kind::too_many_levels);
  }

  TEST_CASE("regular: the same tree as the one declared by hand") {
    const auto t = domain_tree_builder::regular({"cluster", "pod", "leaf"}, {2, 3}, 4);
    CHECK(broken_law(t) == "");
    std::vector<domain_declaration> d;
    std::vector<std::uint32_t> n;
    for (std::uint32_t p = 0; p < 2; ++p) d.push_back({"pod-" + std::to_string(p), none, "pod"});
    for (std::uint32_t l = 0; l < 6; ++l) d.push_back({"leaf-" + std::to_string(l), l / 3, "leaf"});
    for (std::uint32_t i = 0; i < 24; ++i) n.push_back(2 + i / 4);
    CHECK(difference(t, build(d, n).tree) == "");
  }

  TEST_CASE("random forests keep the laws of a tree, and every node its declared ancestors") {
    random_source rng{7};
    for (int round = 0; round < 300; ++round) {
      const auto domains = static_cast<std::uint32_t>(rng.between(1, 20));
      std::vector<domain_declaration> d;
      for (std::uint32_t i = 0; i < domains; ++i)
        d.push_back({"d" + std::to_string(i),
                     i == 0 || rng.below(4) == 0 ? none : static_cast<std::uint32_t>(rng.below(i)), ""});
      std::vector<std::uint32_t> n;
      for (auto k = rng.between(1, 40); k != 0; --k) n.push_back(static_cast<std::uint32_t>(rng.below(domains)));
      const auto r = domain_tree_builder::build(d, n);
      if (!r) {
        CHECK(r.error().what == kind::too_many_levels);
        continue;
      }
      CHECK(broken_law(r->tree) == "");
      for (std::size_t k = 0; k < n.size(); ++k) {
        std::vector<std::string> up;
        for (std::uint32_t x = n[k]; x != none; x = d[x].parent) up.insert(up.begin(), d[x].name);
        CHECK(r->tree.path(r->node_ids[k]) == up);
      }
    }
  }
}
