// What the domain and node policies choose on trees small enough to check by eye.

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/core/random.hpp"
#include "berth/policy/compose.hpp"
#include "berth/policy/domain_fit.hpp"
#include "berth/policy/node_fit.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace {

using namespace berth;

/// `free[l]` of the four nodes of leaf l are free; four leaves a spine. Eight devices a node.
cluster with_free_nodes(const std::vector<std::uint32_t>& free) {
  cluster_spec s;
  s.tree =
      domain_tree_builder::regular({"cluster", "spine", "leaf"}, {static_cast<std::uint32_t>(free.size() / 4), 4}, 4);
  s.shapes = {make_plain_shape("eight", 8, "m", cpus(64), gibibytes(512))};
  for (std::uint32_t n = 0; n < s.tree.node_count(); ++n)
    s.nodes.push_back({"", shape_id{0}, {}, cpus(64), gibibytes(512)});
  cluster c{s, {.jobs = 100, .tasks = 1000}};
  for (std::uint32_t l = 0; l < free.size(); ++l)
    for (std::uint32_t n = free[l]; n < 4; ++n) c.hold(node_id{l * 4 + n}, 0xff, cpus(0), bytes{});
  return c;
}
/// One leaf; `free[n]` devices of node n are free, the lowest ones.
cluster with_free_devices(const std::vector<unsigned>& free) {
  cluster_spec s;
  s.tree = domain_tree_builder::regular({"cluster", "leaf"}, {1}, static_cast<std::uint32_t>(free.size()));
  s.shapes = {make_plain_shape("eight", 8, "m", cpus(64), gibibytes(512))};
  for (std::size_t n = 0; n < free.size(); ++n) s.nodes.push_back({"", shape_id{0}, {}, cpus(64), gibibytes(512)});
  cluster c{s, {.jobs = 100, .tasks = 1000}};
  for (std::uint32_t n = 0; n < free.size(); ++n)
    if (free[n] != 8) c.hold(node_id{n}, 0xff & ~low_bits(free[n]), cpus(0), bytes{});
  return c;
}

gang tasks_of(std::uint32_t count, std::uint32_t devices) {
  gang g;
  g.groups.push_back({.name = "w", .shape = {.devices = devices}, .wanted = count, .minimum = count});
  return g;
}

using counts = std::map<std::uint32_t, int>;
template <class Domain, class Node = bin_pack>
counts per_leaf(cluster& c, std::uint32_t nodes, Domain domain = {}) {
  placer<Domain, Node, lowest_index> place{c, std::move(domain)};
  counts out;
  const decision d = place(tasks_of(nodes, 8));
  for (const auto& t : d.where.tasks) ++out[c.node(t.node).leaf];
  return out;
}
template <class Node>
counts per_node(cluster& c, std::uint32_t tasks, std::uint32_t devices, Node node = {}) {
  placer<tightest, Node, lowest_index> place{c, tightest{}, std::move(node)};
  counts out;
  const decision d = place(tasks_of(tasks, devices));
  for (const auto& t : d.where.tasks) ++out[t.node.raw()];
  return out;
}

/// A policy that has the score of another, but not its order.
template <class P>
struct score_only {
  P policy{};
  template <class Subject, class Request>
  auto score(const Subject& s, const Request& r) const noexcept -> decltype(policy.score(s, r)) {
    return policy.score(s, r);
  }
};
static_assert(scored_domain_policy<score_only<tightest>> && !indexed_domain_policy<score_only<tightest>>);
static_assert(scored_node_policy<score_only<bin_pack>> && !indexed_node_policy<score_only<bin_pack>>);
struct by_high_id {
  std::uint32_t score(const domain_view& d, std::uint64_t) const noexcept { return d.domain.raw(); }
};
struct evenly_by_high_id : by_high_id {
  static constexpr split_order split = split_order::even;
};

}  // namespace

TEST_CASE("a gang that one leaf can hold goes to one leaf: the tightest, or the emptiest, or the first of equals") {
  cluster c = with_free_nodes({4, 2, 3, 2, 0, 3, 2, 1});
  CHECK(per_leaf<fewest_domains>(c, 2) == counts{{1, 2}});
  CHECK(per_leaf<tightest>(c, 2) == counts{{1, 2}});
  CHECK(per_leaf<least_free_first>(c, 2) == counts{{1, 2}});
  CHECK(per_leaf<balanced>(c, 2) == counts{{1, 2}});
  CHECK(per_leaf<most_free_first>(c, 2) == counts{{0, 2}});
  CHECK(per_leaf<tightest>(c, 3) == counts{{2, 3}});
  CHECK(per_leaf<tightest>(c, 1) == counts{{7, 1}});
  CHECK(per_leaf<score_only<tightest>>(c, 2) == counts{{1, 2}});
  CHECK(per_leaf<score_only<most_free_first>>(c, 2) == counts{{0, 2}});
}

TEST_CASE("a gang that no leaf can hold stays under one spine") {
  // Spine 0 has room for 6, spine 1 for 11: the tightest that suffices, or the emptiest.
  cluster c = with_free_nodes({2, 2, 1, 1, 4, 4, 3, 0});
  CHECK(per_leaf<tightest>(c, 5) == counts{{0, 2}, {1, 2}, {2, 1}});
  CHECK(per_leaf<most_free_first>(c, 5) == counts{{4, 4}, {5, 1}});
  CHECK(per_leaf<tightest>(c, 7) == counts{{4, 4}, {6, 3}});  // spine 0 is too small; the last leaf is the tightest
}

TEST_CASE("fewest_domains takes the spine that needs fewer leaves, tightest the fuller one") {
  cluster c = with_free_nodes({2, 2, 1, 1, 4, 3, 0, 0});
  CHECK(per_leaf<tightest>(c, 6) == counts{{0, 2}, {1, 2}, {2, 1}, {3, 1}});
  CHECK(per_leaf<fewest_domains>(c, 6) == counts{{4, 4}, {5, 2}});
  CHECK(per_leaf(c, 6, fewest_domains{.candidates = 1}) == counts{{0, 2}, {1, 2}, {2, 1}, {3, 1}});
  // Equal numbers of leaves: the fuller one.
  cluster even = with_free_nodes({4, 4, 0, 0, 4, 3, 0, 0});
  CHECK(per_leaf<fewest_domains>(even, 7) == counts{{4, 4}, {5, 3}});
}

TEST_CASE("how a gang is split over the leaves of a spine") {
  SUBCASE("emptiest first, and the rest into the tightest leaf that holds it") {
    cluster c = with_free_nodes({1, 4, 3, 2});
    CHECK(per_leaf<tightest>(c, 5) == counts{{1, 4}, {0, 1}});
    CHECK(per_leaf<fewest_domains>(c, 6) == counts{{1, 4}, {3, 2}});
    CHECK(per_leaf<tightest>(c, 8) == counts{{1, 4}, {2, 3}, {0, 1}});
  }
  SUBCASE("emptiest first throughout") {
    cluster c = with_free_nodes({1, 4, 3, 2});
    CHECK(per_leaf<most_free_first>(c, 5) == counts{{1, 4}, {2, 1}});
  }
  SUBCASE("fullest first") {
    cluster c = with_free_nodes({1, 4, 3, 2});
    CHECK(per_leaf<least_free_first>(c, 5) == counts{{0, 1}, {3, 2}, {2, 2}});
    CHECK(per_leaf<least_free_first>(c, 10) == counts{{0, 1}, {1, 4}, {2, 3}, {3, 2}});
  }
  SUBCASE("evenly over the fewest leaves that suffice") {
    cluster c = with_free_nodes({4, 4, 4, 4});
    CHECK(per_leaf<balanced>(c, 6) == counts{{0, 3}, {1, 3}});
    CHECK(per_leaf<balanced>(c, 9) == counts{{0, 3}, {1, 3}, {2, 3}});
    CHECK(per_leaf<balanced>(c, 16) == counts{{0, 4}, {1, 4}, {2, 4}, {3, 4}});
    cluster uneven = with_free_nodes({1, 4, 3, 2});
    CHECK(per_leaf<balanced>(uneven, 5) == counts{{1, 3}, {2, 2}});  // what is left over goes to the emptier leaf
    CHECK(per_leaf<balanced>(uneven, 9) == counts{{1, 4}, {2, 3}, {3, 2}});  // as even as room allows
  }
  SUBCASE("best score first, where a policy has only a score") {
    cluster c = with_free_nodes({1, 4, 3, 2});
    CHECK(per_leaf<score_only<most_free_first>>(c, 5) == counts{{1, 4}, {2, 1}});
    CHECK(per_leaf<score_only<least_free_first>>(c, 5) == counts{{0, 1}, {3, 2}, {2, 2}});
  }
}

TEST_CASE("combined with others a policy still splits as it does alone") {
  // Three leaves take seven tasks, not four; between leaves with equal room the next policy decides.
  cluster c = with_free_nodes({1, 4, 3, 2});
  CHECK(per_leaf<tightest>(c, 8) == counts{{1, 4}, {2, 3}, {0, 1}});
  CHECK(per_leaf<lexicographic<tightest, most_free_first>>(c, 8) == counts{{1, 4}, {2, 3}, {0, 1}});
  CHECK(per_leaf<lexicographic<most_free_first, tightest>>(c, 5) == counts{{1, 4}, {2, 1}});
  CHECK(per_leaf<lexicographic<least_free_first, tightest>>(c, 5) == counts{{0, 1}, {3, 2}, {2, 2}});
  CHECK(per_leaf<lexicographic<lexicographic<tightest>, by_high_id>>(c, 7) == counts{{1, 4}, {2, 3}});
  cluster equal = with_free_nodes({3, 3, 3, 3});
  CHECK(per_leaf<lexicographic<tightest, by_high_id>>(equal, 7) == counts{{3, 3}, {2, 3}, {1, 1}});
  CHECK(per_leaf<lexicographic<by_high_id, tightest>>(equal, 7) == counts{{3, 3}, {2, 3}, {1, 1}});
  CHECK(per_leaf<evenly_by_high_id>(equal, 4) == counts{{3, 2}, {2, 2}});
  // The same as alone wherever the score of the policy decides everything.
  random_source random{11};
  for (int round = 0; round < 60; ++round) {
    std::vector<std::uint32_t> free(8);
    std::uint32_t total = 0;
    for (auto& f : free) f = static_cast<std::uint32_t>(random.below(5)), total += f;
    if (total == 0) continue;
    cluster some = with_free_nodes(free);
    const auto n = static_cast<std::uint32_t>(random.between(1, total));
    CHECK(per_leaf<lexicographic<tightest>>(some, n) == per_leaf<tightest>(some, n));
    CHECK(per_leaf<lexicographic<least_free_first>>(some, n) == per_leaf<least_free_first>(some, n));
    CHECK(per_leaf<lexicographic<most_free_first>>(some, n) == per_leaf<most_free_first>(some, n));
  }
}

TEST_CASE("bin_pack keeps whole nodes whole, spread uses the emptiest") {
  cluster c = with_free_devices({8, 3, 8, 5, 2});
  CHECK(per_node<bin_pack>(c, 1, 1) == counts{{4, 1}});
  CHECK(per_node<bin_pack>(c, 1, 3) == counts{{1, 1}});
  CHECK(per_node<bin_pack>(c, 2, 2) == counts{{3, 2}});  // the fullest node that holds both
  CHECK(per_node<bin_pack>(c, 1, 8) == counts{{0, 1}});
  CHECK(per_node<bin_pack>(c, 3, 4) ==
        counts{{0, 2}, {3, 1}});  // no node holds three: most of them first, the rest tight
  CHECK(per_node<spread>(c, 1, 1) == counts{{0, 1}});
  CHECK(per_node<spread>(c, 2, 1) == counts{{0, 1}, {2, 1}});
  CHECK(per_node<spread>(c, 3, 2) == counts{{0, 2}, {2, 1}});  // 8, 8, then 6 is still more than 5
  CHECK(per_node<spread>(c, 3, 4) == counts{{0, 1}, {2, 1}, {3, 1}});
}

TEST_CASE("spread evens out what is left, also when nodes are not alike") {
  cluster c = with_free_devices({8, 6, 4});
  CHECK(per_node<spread>(c, 6, 1) == counts{{0, 4}, {1, 2}});
  CHECK(per_node<spread>(c, 18, 1) == counts{{0, 8}, {1, 6}, {2, 4}});
}

TEST_CASE("a node policy's score chooses the node its order would, for a single task on random states") {
  random_source random{9};
  for (int round = 0; round < 200; ++round) {
    std::vector<unsigned> free;
    for (int n = 0; n < 12; ++n) free.push_back(static_cast<unsigned>(random.below(9)));
    cluster c = with_free_devices(free);
    const auto devices = static_cast<std::uint32_t>(random.between(1, 8));
    CAPTURE(round);
    CHECK(per_node<bin_pack>(c, 1, devices) == per_node<score_only<bin_pack>>(c, 1, devices));
    CHECK(per_node<spread>(c, 1, devices) == per_node<score_only<spread>>(c, 1, devices));
    CHECK(per_node<lexicographic<bin_pack>>(c, 1, devices) == per_node<bin_pack>(c, 1, devices));
    // Spreading goes task by task: order and score agree for any number, also on which of equally free nodes.
    for (std::uint32_t tasks = 2; tasks <= 6; ++tasks)
      CHECK(per_node<spread>(c, tasks, devices) == per_node<score_only<spread>>(c, tasks, devices));
  }
}

TEST_CASE("combined policies decide what one alone leaves open") {
  // Both leaves hold the gang equally well; prefer the second one.
  struct prefer_odd {
    bool score(const domain_view& d, std::uint64_t) const noexcept { return d.domain.raw() % 2 == 1; }
  };
  cluster c = with_free_nodes({3, 3, 4, 2});
  CHECK(per_leaf<lexicographic<tightest, prefer_odd>>(c, 3) == counts{{1, 3}});
  CHECK(per_leaf<lexicographic<tightest, prefer_odd>>(c, 4) == counts{{2, 4}});
  CHECK(per_leaf<lexicographic<prefer_odd, tightest>>(c, 2) == counts{{3, 2}});
}

TEST_CASE("a domain whose uplink is down takes gangs that fit inside it and no part of others") {
  cluster c = with_free_nodes({4, 4, 4, 4});
  REQUIRE(c.set_uplink_health(level_id{2}, domain_id{1}, false));
  const auto check = [&]<class Domain>(Domain) {
    CHECK(per_leaf<Domain>(c, 12) == counts{{0, 4}, {2, 4}, {3, 4}});
    CHECK(per_leaf<Domain>(c, 13).empty());
  };
  check(fewest_domains{});
  check(tightest{});
  check(least_free_first{});
  check(most_free_first{});
  check(balanced{});
  check(score_only<tightest>{});
  for (std::uint32_t l : {0U, 2U, 3U})
    for (std::uint32_t n = 0; n < 4; ++n) c.hold(node_id{l * 4 + n}, 0xff, cpus(0), bytes{});
  CHECK(per_leaf<tightest>(c, 4) == counts{{1, 4}});
}
