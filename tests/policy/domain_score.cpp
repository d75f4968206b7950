// Scores of nodes lifted to domains, and what placers make of them.

#include "berth/policy/domain_score.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/policy/compose.hpp"
#include "berth/policy/domain_fit.hpp"
#include "berth/policy/node_history.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace {

using namespace berth;
constexpr level_id whole{0}, zone{1}, rack{2};

/// Two zones of two racks of four nodes; the last node of every rack has the label "fast".
cluster small() {
  cluster_spec s;
  s.tree = domain_tree_builder::regular({"cluster", "zone", "rack"}, {2, 2}, 4);
  s.shapes = {make_plain_shape("eight", 8, "m", cpus(64), gibibytes(512))};
  for (std::uint32_t n = 0; n < s.tree.node_count(); ++n) {
    s.nodes.push_back({"", shape_id{0}, {}, cpus(64), gibibytes(512)});
    if (n % 4 == 3) s.nodes.back().labels = {"fast"};
    if (n == 6) s.nodes.back().labels = {"fast", "near"};
  }
  return cluster{s, {.jobs = 100, .tasks = 1000}};
}
template <class Place>
std::vector<std::uint32_t> nodes_for(Place& place, std::uint32_t tasks, std::uint32_t devices = 8) {
  gang g;
  g.groups.push_back({.name = "w", .shape = {.devices = devices}, .wanted = tasks, .minimum = tasks});
  const decision d = place(g);
  std::vector<std::uint32_t> out;
  for (const auto& t : d.where.tasks) out.push_back(t.node.raw());
  return out;
}
using ids = std::vector<std::uint32_t>;
using by_score = lexicographic<preferred_domain, tightest>;
static_assert(explain_policy<preferred_domain, preferred_node, lowest_index>::ok);
static_assert(explain_policy<by_score, lexicographic<preferred_node, bin_pack>, best_bandwidth>::ok);
static_assert(normalized_policy<preferred_domain> && normalized_policy<preferred_node>);

}  // namespace

TEST_SUITE("policy/domain_score") {
  TEST_CASE("a domain has the mean of its nodes, after any changes") {
    const cluster c = small();
    domain_scores s{c.tree(), 200};
    CHECK(s.at(whole, domain_id{0}) == 200);
    random_source random{3};
    for (int i = 0; i < 300; ++i) {
      s.set(node_id{static_cast<std::uint32_t>(random.below(16))}, static_cast<std::int64_t>(random.below(1001)));
      for (const level_id l : {whole, zone, rack})
        for (std::uint32_t d = 0; d < c.tree().domain_count(l); ++d) {
          const auto in = c.tree().at(l, domain_id{d}).nodes;
          std::int64_t sum = 0;
          for (std::uint32_t n = in.first; n < in.last; ++n) sum += s.at(node_id{n});
          REQUIRE(s.at(l, domain_id{d}) == doctest::Approx(static_cast<double>(sum) / in.size()));
        }
    }
    s.set(rack, domain_id{1}, 77);
    CHECK(s.at(rack, domain_id{1}) == 77);
  }

  TEST_CASE("preferred affinity decides between racks first, then between nodes") {
    cluster c = small();
    const weighted_filter terms[] = {{c.add_filter({.all_of = {"fast"}}), 30},
                                     {c.add_filter({.all_of = {"near"}}), 10}};
    domain_scores s{c.tree()};
    score_affinity(c, terms, s);
    CHECK(s.at(node_id{0}) == 0);
    CHECK(s.at(node_id{3}) == 750);
    CHECK(s.at(node_id{6}) == 1000);
    CHECK(s.at(rack, domain_id{1}) == 437.5);
    placer<by_score, preferred_node> place{c, by_score{preferred_domain{&s}, tightest{}}, preferred_node{&s}};
    CHECK(nodes_for(place, 2) == ids{6, 7});
    CHECK(nodes_for(place, 3) == ids{4, 6, 7});
    c.hold(node_id{6}, 0xff, cpus(0), bytes{});
    CHECK(nodes_for(place, 4) == ids{0, 1, 2, 3});  // rack 1 is preferred still, but does not hold four
    placer<preferred_domain, preferred_node> without{c};
    CHECK(nodes_for(without, 4) == ids{0, 1, 2, 3});
  }

  TEST_CASE("data counts once for a domain, wherever in it the copies are") {
    cluster c = small();
    domain_scores s{c.tree()};
    const std::vector<stored_copy> data{{100, {node_id{1}}}, {300, {node_id{9}, node_id{10}}}};
    score_data(data, s);
    CHECK(s.at(node_id{1}) == 250);
    CHECK(s.at(node_id{10}) == 750);
    CHECK(s.at(rack, domain_id{0}) == 250);
    CHECK(s.at(rack, domain_id{2}) == 750);
    CHECK(s.at(rack, domain_id{3}) == 0);
    CHECK(s.at(zone, domain_id{1}) == 750);
    CHECK(s.at(whole, domain_id{0}) == 1000);
    placer<by_score, preferred_node> place{c, by_score{preferred_domain{&s}, tightest{}}, preferred_node{&s}};
    CHECK(nodes_for(place, 2) == ids{9, 10});
    CHECK(nodes_for(place, 4) == ids{8, 9, 10, 11});
    CHECK(nodes_for(place, 6) == ids{8, 9, 10, 11, 12, 13});  // the zone with more data, its rack with data first
    score_data({}, s);
    CHECK(s.at(whole, domain_id{0}) == 0);
    const std::vector<stored_copy> huge{{std::int64_t{1} << 61, {node_id{1}}}, {std::int64_t{1} << 61, {node_id{2}}}};
    score_data(huge, s);
    CHECK(s.at(node_id{2}) == 500);
    CHECK(s.at(rack, domain_id{0}) == 1000);
    score_images({}, 1, s);  // means again
    CHECK(s.at(rack, domain_id{0}) == 0);
  }

  TEST_CASE("images score as in Kubernetes") {
    const cluster c = small();
    domain_scores s{c.tree()};
    constexpr std::int64_t mebibyte = 1024 * 1024;
    std::vector<stored_copy> images{
        {800 * mebibyte, {}}, {300 * mebibyte, {node_id{0}}}, {90'000 * mebibyte, {node_id{5}}}};
    for (std::uint32_t n = 0; n < 8; ++n) images[0].nodes.push_back(node_id{n});
    score_images(images, 1, s);
    CHECK(s.at(node_id{1}) == 380);   // 800 × 8/16 = 400 MiB: 100 × 377 / 977 = 38
    CHECK(s.at(node_id{0}) == 400);   // 18.75 MiB more: 40
    CHECK(s.at(node_id{5}) == 1000);  // above the most
    CHECK(s.at(node_id{8}) == 0);
    CHECK(s.at(rack, domain_id{0}) == doctest::Approx(385.0));
    score_images(images, 4, s);
    CHECK(s.at(node_id{1}) == 90);  // 377 / 3,977
  }

  TEST_CASE("faults and slowness are remembered and fade") {
    cluster c = small();
    node_history h{16, {.fault_half_life_seconds = 100, .slow_half_life_seconds = 50, .slow_share = 0.5}};
    CHECK(h.score(node_id{0}, 1e9) == 1000);
    h.fault(node_id{0}, 1000);
    CHECK(h.score(node_id{0}, 1000) == 500);
    CHECK(h.score(node_id{0}, 1100) == 666);
    CHECK(h.score(node_id{0}, 1200) == 800);
    CHECK(h.score(node_id{0}, 900) == 500);  // no time before the last fault
    h.fault(node_id{0}, 1100);
    CHECK(h.faults(node_id{0}, 1100) == doctest::Approx(1.5));
    CHECK(h.faults(node_id{0}, 1200) == doctest::Approx(0.75));
    h.step(node_id{1}, 1000, 1.5, 1.0);  // half of it counts
    CHECK(h.slowness(node_id{1}, 1000) == doctest::Approx(1.25));
    CHECK(h.score(node_id{1}, 1000) == 800);
    CHECK(h.slowness(node_id{1}, 1050) == doctest::Approx(1.125));
    h.step(node_id{1}, 1050, 0.5, 1.0);  // faster than the others is no credit
    CHECK(h.slowness(node_id{1}, 1050) == doctest::Approx(1.0625));
    h.step(node_id{2}, 1000, 0.0, 1.0);
    CHECK(h.score(node_id{2}, 1000) == 1000);
    domain_scores s{c.tree(), domain_scores::full};
    h.write(s, 1100);
    placer<by_score, preferred_node> place{c, by_score{preferred_domain{&s}, tightest{}}, preferred_node{&s}};
    CHECK(nodes_for(place, 4) == ids{4, 5, 6, 7});  // not rack 0, with the two bad nodes
    CHECK(nodes_for(place, 6)[0] == 8);             // nor its zone
    h.forget(node_id{0});
    CHECK(h.score(node_id{0}, 1100) == 1000);
  }
}
