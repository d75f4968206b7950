// Spread rules: all replicas in one domain, beside what runs, filters of what counts, and why a request is refused.

#include "berth/solver/explain_spread.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/job/label_book.hpp"
#include "berth/solver/spread_placer.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "solver/racks.hpp"

using namespace berth_test;

TEST_SUITE("solver/explain_spread") {
  TEST_CASE("all in one domain, beside tasks that run, and only where the site declares domains") {
    cluster c = with_racks(4, 2, 2);
    label_book book;
    take(c, book, 1, {0}, "db", {}, 5);
    take(c, book, 2, {4, 5}, "db", {}, 3);
    spread_placer place{c};
    spread_request q{.shape = {.devices = 1}, .replicas = 6, .minimum = 6, .labels = {"web"}};
    q.within = rack;
    q.rules = {{.level = node_level, .max_skew = 1}};
    // Rack 2 has 10 devices free and is the tightest that holds six, three on each of its nodes.
    CHECK(per_domain(c, place(q, book).where, node_level) == amounts{0, 0, 0, 0, 3, 3, 0, 0});
    q.replicas = q.minimum = 11;  // node 0 has three free, so its rack is at its skew with seven; racks 1 and 3 hold 16
    CHECK(per_domain(c, place(q, book).where, rack) == amounts{0, 11, 0, 0});
    q.replicas = q.minimum = 17;
    CHECK(place(q, book).result == verdict::not_now);
    q.minimum = 1;
    CHECK(place(q, book).replicas == 16);
    q.within.reset();
    q.rules = {{.level = rack, .label = "db", .beside = true}};
    auto d = place(q, book);
    CHECK(d.replicas == 17);  // 11 and 10 devices are free
    CHECK(per_domain(c, d.where, rack)[1] + per_domain(c, d.where, rack)[3] == 0);
    q.rules[0].label = "web";  // its own kind, of which none runs: all in one domain
    q.replicas = q.minimum = 12;
    CHECK(per_domain(c, place(q, book).where, rack) == amounts{0, 12, 0, 0});
    take(c, book, 3, {6}, "web");
    d = place(q, book);
    CHECK(per_domain(c, d.where, rack) == amounts{0, 0, 0, 12});
    q.rules[0].label = "cache";
    CHECK(place(q, book).result == verdict::not_now);
    q.rules[0].required = false;
    CHECK(place(q, book).dropped == std::vector<std::size_t>{0});
  }

  TEST_CASE("a filter says which nodes make domains eligible, domains that fill gaps get nothing") {
    cluster_spec s;
    s.tree = domain_tree_builder::regular({"cluster", "rack"}, {3}, 1);
    s.shapes = {make_plain_shape("eight", 8, "m", cpus(64), gibibytes(512))};
    for (std::uint32_t n = 0; n < 3; ++n) s.nodes.push_back({"", shape_id{0}, {}, cpus(64), gibibytes(512)});
    s.nodes[2].labels = {"slow"};
    cluster c{s, {.jobs = 4, .tasks = 40}};
    spread_placer place{c};
    spread_request q{.shape = {.devices = 1}, .replicas = 6, .minimum = 6};
    node_filter fast;
    fast.none_of = {"slow"};
    q.shape.filter = c.add_filter(fast);
    q.rules = {{.level = level_id{1}, .max_skew = 1}};
    CHECK(place(q).replicas == 6);  // the slow rack does not count
    q.rules[0].counts = filter_id{0};
    const auto d = place(q);
    CHECK(d.why.why == spread_refusal::cause::skew);
    CHECK(d.why.domain == 2);
    CHECK(d.why.total == 0);
    q.rules = {{.level = level_id{1}, .max_skew = 3, .declared_only = true}};
    CHECK(place(q).replicas == 6);
  }

  TEST_CASE("a refusal is explained by the rule at fault and by changes that were tried") {
    cluster_spec spec;
    spec.tree = domain_tree_builder::regular({"cluster", "zone", "rack"}, {1, 3}, 2);
    cluster c = with_racks(3, 2);
    spec.tree = c.tree();
    for (std::uint32_t n = 0; n < 6; ++n) spec.nodes.push_back({"n" + std::to_string(n), shape_id{0}, {}, {}, {}});
    label_book book;
    take(c, book, 1, {0, 0, 0, 1}, "db", {{"web", rack}}, 4 - 2);
    const auto make = [](cluster& other) { return std::make_unique<spread_placer<>>(other); };
    const auto explain = [&](const spread_request& q) {
      spread_placer place{c};
      const auto d = place(q, book);
      REQUIRE(!d);
      return explain_spread(c, q, book, d, make);
    };
    const auto words = [&](const spread_explanation& e, const spread_request& q) {
      std::string out;
      for (const auto& s : spread_sentences(e, q, spec)) out += s + "\n";
      return out;
    };
    // Rack 0 has two devices free on node 0 and six on node 1: seven tasks under the second rule, and ten on others.
    spread_request q{.shape = {.devices = 1}, .replicas = 30, .minimum = 30};
    q.rules = {{.level = rack, .max_skew = 3}, {.level = node_level, .at_most = 5}};
    auto e = explain(q);
    CHECK(e.result == verdict::not_now);
    CHECK(e.fits_empty == true);
    CHECK(e.holds == 27);
    CHECK(words(e, q) ==
          "Not now: there is room for 30 tasks of 1 GPU each, but not under the rules.\n"
          "The rule at fault: at most 5 tasks in a node.\n"
          "At most 6 instead of 5 in a node would fit now.\n"
          "27 instead of 30 tasks would fit now.\n");
    q.rules = {{.level = rack, .at_most = 2}};
    e = explain(q);
    CHECK(e.result == verdict::never);
    CHECK(e.rule == std::optional<std::size_t>{0});
    CHECK(e.holds == 6);
    CHECK(words(e, q) ==
          "Never: even with everything free and healthy the rules do not let the cluster hold 30 tasks of 1 GPU each.\n"
          "The rule at fault: at most 2 tasks in a rack.\n"
          "At most 11 instead of 2 in a rack would fit now.\n"
          "6 instead of 30 tasks would fit now.\n");
    q = {.shape = {.devices = 8}, .replicas = 6, .minimum = 6, .labels = {"web"}};
    q.minimum = q.replicas = 5;
    e = explain(q);  // kept out of rack 0 by the job that runs
    CHECK(e.holds == 4);
  }
}
