// Spread rules: the shares against trying every share, the conditions against Kubernetes' pod by pod, and the placer on
// clusters small enough to check by eye.

#include "berth/job/spread.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/part_setup.hpp"
#include "berth/core/random.hpp"
#include "berth/job/label_book.hpp"
#include "berth/policy/power_budget.hpp"
#include "berth/solver/placer.hpp"
#include "berth/solver/spread_placer.hpp"
#include "berth/solver/spread_shares.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "solver/racks.hpp"

namespace {

using namespace berth_test;

struct instance {
  spread_tree tree;
  std::vector<spread_skew> skews;
};
std::int64_t pick(random_source& random, std::uint64_t below) {
  return static_cast<std::int64_t>(random.below(below));
}

/// Three levels: one domain, two to three racks, four to six rows of nodes.
instance random_instance(random_source& random) {
  instance out;
  const std::uint32_t racks = 2 + static_cast<std::uint32_t>(random.below(2)), per_rack = 2;
  out.tree.most = {{100}, amounts(racks), amounts(racks * per_rack)};
  out.tree.existing.resize(3);
  out.tree.children.resize(3);
  out.tree.children[0] = {{0, racks}};
  for (std::uint32_t r = 0; r < racks; ++r) out.tree.children[1].push_back({r * per_rack, (r + 1) * per_rack});
  for (auto& m : out.tree.most[1]) m = random.below(3) == 0 ? pick(random, 4) : 100;
  for (auto& m : out.tree.most[2]) m = pick(random, 4);
  for (std::size_t level = 1; level <= 2; ++level)
    for (std::uint64_t i = random.below(3); i > 0; --i) {
      spread_skew s;
      s.level = level;
      s.skew = 1 + pick(random, 3);
      s.least_is_zero = random.below(5) == 0;
      for (std::size_t d = 0; d < out.tree.most[level].size(); ++d) {
        s.existing.push_back(random.below(2) == 0 ? 0 : pick(random, 4));
        s.eligible.push_back(random.below(5) == 0 ? 0 : 1);
        if (s.eligible.back() == 0) out.tree.most[level][d] = 0;
      }
      out.skews.push_back(s);
      if (out.tree.existing[level].empty()) out.tree.existing[level] = s.existing;
    }
  return out;
}

/// The shares of the level above.
spread_shares summed(const instance& in, const amounts& bottom) {
  spread_shares out{amounts(1), amounts(in.tree.most[1].size()), bottom};
  for (std::size_t l = 2; l-- > 0;)
    for (std::size_t d = 0; d < out[l].size(); ++d)
      for (std::uint32_t c = in.tree.children[l][d].first; c < in.tree.children[l][d].last; ++c)
        out[l][d] += out[l + 1][c];
  return out;
}
std::int64_t least_total(const spread_skew& s, const amounts& x) {
  if (s.least_is_zero) return 0;
  std::int64_t m = 1'000'000;
  for (std::size_t d = 0; d < x.size(); ++d)
    if (s.eligible[d] != 0 && s.existing[d] + x[d] < m) m = s.existing[d] + x[d];
  return m;
}
/// The conditions word by word.
bool keeps(const instance& in, const spread_shares& x) {
  for (std::size_t l = 0; l < x.size(); ++l)
    for (std::size_t d = 0; d < x[l].size(); ++d)
      if (x[l][d] < 0 || x[l][d] > in.tree.most[l][d]) return false;
  for (const spread_skew& s : in.skews) {
    const std::int64_t m = least_total(s, x[s.level]);
    for (std::size_t d = 0; d < x[s.level].size(); ++d)
      if (x[s.level][d] > 0 && s.existing[d] + x[s.level][d] > m + s.skew) return false;
  }
  return true;
}
amounts leasts(const instance& in, const spread_shares& x) {
  amounts out;
  for (const spread_skew& s : in.skews) out.push_back(least_total(s, x[s.level]));
  return out;
}
template <class F>
void each_share(const instance& in, std::int64_t n, F&& f) {
  amounts x(in.tree.most[2].size());
  for (;;) {
    std::int64_t sum = 0;
    for (const auto v : x) sum += v;
    if (sum == n) f(summed(in, x));
    std::size_t i = 0;
    while (i < x.size() && x[i] == in.tree.most[2][i]) x[i++] = 0;
    if (i == x.size()) return;
    ++x[i];
  }
}

}  // namespace

TEST_SUITE("solver/spread") {
  TEST_CASE("shares exist exactly where trying every share finds one, and even ones raise the least totals furthest") {
    random_source random{17};
    int found = 0, refused = 0, given_up = 0;
    for (int round = 0; round < 400; ++round) {
      const instance in = random_instance(random);
      for (const std::int64_t n : {1, 3, 5, 8}) {
        bool any = false;
        amounts best;
        each_share(in, n, [&](const spread_shares& x) {
          if (!keeps(in, x)) return;
          const amounts m = leasts(in, x);
          if (!any || best < m) best = m;
          any = true;
        });
        for (const bool even : {true, false}) {
          spread_solver solver{in.tree, in.skews, even};
          const auto got = solver.solve(n);
          REQUIRE(static_cast<bool>(got) == any);
          if (!got) continue;
          CHECK(keeps(in, *got));
          CHECK((*got)[0] == amounts{n});
          CHECK(summed(in, (*got)[2]) == *got);
          if (even) CHECK(leasts(in, *got) == best);
        }
        ++(any ? found : refused);
        spread_solver hasty{in.tree, in.skews, true, 0};
        if (const auto got = hasty.solve(n); got) {
          CHECK(keeps(in, *got));
        } else if (got.error().why == spread_refusal::cause::gave_up) {
          ++given_up;
        } else {
          CHECK(!any);
        }
      }
    }
    CHECK(found > 300);
    CHECK(refused > 300);
    CHECK(given_up > 10);
  }

  TEST_CASE("for one rule the conditions on the end are Kubernetes' conditions on every pod") {
    random_source random{5};
    int reached = 0;
    for (int round = 0; round < 300; ++round) {
      instance in = random_instance(random);
      if (in.skews.empty()) continue;
      in.skews.resize(1);
      const spread_skew& s = in.skews.front();
      for (auto& m : in.tree.most[1]) m = 100;
      if (s.level == 1)
        for (std::size_t d = 0; d < s.eligible.size(); ++d)
          if (s.eligible[d] == 0) in.tree.most[1][d] = 0;
      // All that pods, put one by one where existing + 1 - least <= skew, can become.
      std::set<amounts> now{amounts(in.tree.most[2].size())};
      for (std::int64_t n = 1; n <= 5; ++n) {
        std::set<amounts> next;
        for (const amounts& x : now) {
          const std::int64_t m = least_total(s, summed(in, x)[s.level]);
          for (std::size_t i = 0; i < x.size(); ++i) {
            amounts y = x;
            ++y[i];
            const spread_shares all = summed(in, y);
            const std::size_t d = s.level == 2 ? i : i / 2;
            bool room = true;
            for (std::size_t l = 1; l < 3; ++l)
              for (std::size_t k = 0; k < all[l].size(); ++k) room = room && all[l][k] <= in.tree.most[l][k];
            if (room && s.existing[d] + all[s.level][d] - m <= s.skew) next.insert(y);
          }
        }
        std::set<amounts> ends;
        each_share(in, n, [&](const spread_shares& x) {
          if (keeps(in, x)) ends.insert(x[2]);
        });
        CHECK(next == ends);
        reached += static_cast<int>(next.size());
        now = std::move(next);
      }
    }
    CHECK(reached > 1000);
  }

  TEST_CASE("a skew, its minimum domains and a full rack, in numbers") {
    cluster c = with_racks(3, 2);
    label_book book;
    take(c, book, 1, {0, 1}, "web");  // two in rack 0
    take(c, book, 2, {4}, "web");     // one in rack 2
    spread_placer place{c};
    spread_request q{.shape = {.devices = 1}, .replicas = 6, .minimum = 6, .labels = {"web"}};
    q.rules = {{.level = rack, .label = "web", .max_skew = 1}};
    auto d = place(q, book);
    REQUIRE(d);
    CHECK(per_domain(c, d.where, rack) == amounts{1, 3, 2});  // three in every rack
    CHECK(d.score.domains_used[2] == 3);
    REQUIRE(c.commit(job_key{9}, d.where));
    CHECK(c.release(job_key{9}));
    // Rack 1 has room for one only: no rack may have more than two.
    c.hold(node_id{2}, 0xff, cpus(0), bytes{});
    c.hold(node_id{3}, 0xfe, cpus(0), bytes{});
    d = place(q, book);
    CHECK(d.result == verdict::not_now);
    CHECK(d.why.why == spread_refusal::cause::skew);
    CHECK(d.rule == 0);
    CHECK(d.why.domain == 1);
    CHECK(d.why.holds == 2);
    q.minimum = 1;
    d = place(q, book);
    CHECK(d.replicas == 2);
    CHECK(d.score.tasks_missing == 4);
    CHECK(per_domain(c, d.where, rack) == amounts{0, 1, 1});
    q.rules[0].max_skew = 3;
    d = place(q, book);
    CHECK(per_domain(c, d.where, rack) == amounts{2, 1, 3});
    // Four domains asked for, three there: the least total is 0, and rack 0 is at its skew of 2.
    q.rules[0].max_skew = 2;
    q.rules[0].minimum_domains = 4;
    d = place(q, book);
    CHECK(per_domain(c, d.where, rack) == amounts{0, 1, 1});
    // A rule that is not required gives way.
    q.rules[0].required = false;
    d = place(q, book);
    CHECK(d.replicas == 6);
    CHECK(d.dropped == std::vector<std::size_t>{0});
  }

  TEST_CASE("caps, by percentage, by domain and by number") {
    cluster c = with_racks(4, 2);
    label_book book;
    spread_placer place{c};
    spread_request q{.shape = {.devices = 1}, .replicas = 10, .minimum = 10, .goal = spread_goal::packed};
    q.rules = {{.level = rack, .at_most_permille = 400}};
    CHECK(per_domain(c, place(q).where, rack) == amounts{4, 4, 2, 0});  // 4 of 10, as few racks as that allows
    q.rules[0].caps = {{domain_id{0}, 100}};
    CHECK(per_domain(c, place(q).where, rack) == amounts{0, 4, 4, 2});
    q.goal = spread_goal::even;
    CHECK(per_domain(c, place(q).where, rack) == amounts{1, 3, 3, 3});
    q.rules = {{.level = rack, .at_most_permille = 240}};  // floor(2.4) = 2 a rack
    auto d = place(q);
    CHECK(d.result == verdict::not_now);
    CHECK(d.why.why == spread_refusal::cause::room);
    CHECK(d.why.holds == 8);
    // What runs already counts: 8 of "web" and 2 more make 10; rack 0 has its 30 % already.
    take(c, book, 1, {0, 0, 0, 2, 2, 4, 4, 6}, "web");
    q = {.shape = {.devices = 1}, .replicas = 2, .minimum = 2, .labels = {"web"}, .goal = spread_goal::packed};
    q.rules = {{.level = rack, .label = "web", .at_most_permille = 300}};
    CHECK(per_domain(c, place(q, book).where, rack)[0] == 0);
    q.rules[0].at_most = 2, q.minimum = 1;
    CHECK(per_domain(c, place(q, book).where, rack) == amounts{0, 0, 0, 1});
  }

  TEST_CASE("anti-affinity by label, in both directions, at several levels at once") {
    cluster c = with_racks(4, 2, 2);  // two zones of two racks
    label_book book;
    take(c, book, 1, {0}, "db");
    take(c, book, 2, {7}, "noisy", {{"web", node_level}});
    spread_placer place{c};
    spread_request q{.shape = {.devices = 1}, .replicas = 8, .minimum = 1, .labels = {"web"}};
    q.rules = {{.level = rack, .label = "db", .at_most = 0}, {.level = node_level, .at_most = 1}};
    auto d = place(q, book);
    CHECK(per_domain(c, d.where, node_level) == amounts{0, 0, 1, 1, 1, 1, 1, 0});
    q.rules.push_back({.level = zone, .max_skew = 1});
    d = place(q, book);
    CHECK(per_domain(c, d.where, zone) == amounts{2, 3});
    q.rules.push_back({.level = rack, .label = "web", .at_most = 1});
    d = place(q, book);
    CHECK(per_domain(c, d.where, rack) == amounts{0, 1, 1, 1});
    book.erase(job_key{2});
    q.rules = {{.level = node_level, .label = "noisy", .max_skew = 1, .at_most = 0}};
    CHECK(per_domain(c, place(q, book).where, node_level)[7] == 0);
    CHECK(c.release(job_key{2}));  // gone from the cluster: counts no more
    q.rules = {{.level = node_level, .at_most = 1}};
    CHECK(per_domain(c, place(q, book).where, node_level) == amounts(8, 1));
  }

  TEST_CASE("replicas are packed inside and spread outside") {
    cluster c = with_racks(4, 3);
    label_book book;
    c.hold(node_id{0}, 0xff, cpus(0), bytes{});  // racks with 2, 3, 3 and 1 whole nodes
    c.hold(node_id{9}, 0xff, cpus(0), bytes{});
    c.hold(node_id{10}, 0x01, cpus(0), bytes{});
    spread_placer place{c};
    spread_request q{.shape = {.devices = 8}, .replicas = 3, .minimum = 1, .tasks_per_replica = 2, .inside = rack};
    q.rules = {{.level = rack, .at_most = 1}};
    auto d = place(q, book);
    REQUIRE(d.replicas == 3);
    CHECK(per_domain(c, d.where, rack) == amounts{2, 2, 2, 0});
    for (std::size_t i = 0; i < d.where.tasks.size(); i += 2)
      CHECK(c.node(d.where.tasks[i].node).leaf == c.node(d.where.tasks[i + 1].node).leaf);
    q.replicas = 4;
    CHECK(place(q).replicas == 3);
    q.minimum = 4;
    d = place(q);
    CHECK(d.why.holds == 3);
    // Four GPUs a task: a replica of two fits on one node, replicas are kept on different nodes.
    q = {.shape = {.devices = 4}, .replicas = 4, .minimum = 4, .tasks_per_replica = 2, .inside = node_level};
    q.rules = {{.level = node_level, .at_most = 1}, {.level = rack, .at_most = 2}};
    d = place(q);
    CHECK(per_domain(c, d.where, rack) == amounts{2, 2, 2, 2});
    REQUIRE(c.commit(job_key{3}, d.where));
    book.set(job_key{3}, {"r"});
    CHECK(book.count(c, "r")[11] == 2);
    q.labels = {"r"}, q.minimum = 1;
    q.rules[1].label = "r";  // two tasks that run in a rack are one replica
    d = place(q, book);
    CHECK(per_domain(c, d.where, rack) == amounts{2, 2, 2, 0});
  }

  TEST_CASE("drained nodes hold a skew back only where asked to, a rack that is cut off gets nothing") {
    cluster c = with_racks(3, 1);
    spread_placer place{c};
    spread_request q{.shape = {.devices = 1}, .replicas = 6, .minimum = 6};
    q.rules = {{.level = rack, .max_skew = 1}};
    REQUIRE(c.set_node_usable(node_id{2}, false));
    CHECK(per_domain(c, place(q).where, rack) == amounts{3, 3, 0});
    q.rules[0].drained_count = true;
    auto d = place(q);
    CHECK(d.why.why == spread_refusal::cause::skew);
    CHECK(d.why.domain == 2);
    CHECK(d.why.holds == 2);
    REQUIRE(c.set_node_usable(node_id{2}, true));
    REQUIRE(c.set_uplink_health(rack, domain_id{1}, false));
    q.rules = {{.level = node_level, .at_most = 3}};
    CHECK(per_domain(c, place(q).where, rack) == amounts{3, 0, 3});
  }

  TEST_CASE("power caps of racks and of their zone bound what goes there") {
    cluster c = with_racks(4, 2, 2);
    label_book book;
    take(c, book, 1, {0, 1}, "w", {}, 3);
    spread_placer place{c};
    spread_request q{.shape = {.devices = 2}, .replicas = 20, .minimum = 1};
    const std::vector<node_power> power{{1000, 700}};
    const std::vector<std::optional<std::int64_t>> racks{10'000, 5'000, std::nullopt, 1'000}, zones{12'500, 16'000};
    q.budgets.push_back(power_budget(c, rack, racks, power, q.shape));
    CHECK(q.budgets[0].per_task == 1400);
    CHECK(q.budgets[0].left[0] == 3800);  // 10,000 - 2 × 1,000 - 6 × 700
    CHECK(q.budgets[0].left[3] == -1000);
    auto d = place(q);
    CHECK(per_domain(c, d.where, rack) == amounts{2, 2, 8, 0});  // 3,800 and 3,000 W; rack 2 is full
    q.budgets.push_back(power_budget(c, zone, zones, power, q.shape));
    CHECK(q.budgets[1].left == amounts{4'300, 12'000});
    d = place(q);
    CHECK(d.replicas == 11);
    CHECK(per_domain(c, d.where, zone) == amounts{3, 8});
    REQUIRE(c.commit(job_key{7}, d.where));
    CHECK(power_budget(c, zone, zones, power, q.shape).left == amounts{100, 800});
    q.budgets[1].left.pop_back();
    d = place(q);
    CHECK(d.fault == spread_fault::bad_rule);
    CHECK(d.rule == 1);
  }

  TEST_CASE("instances and NUMA rules are spread like whole devices") {
    cluster_spec spec;
    spec.tree = domain_tree_builder::regular({"cluster", "zone", "rack"}, {1, 3}, 2);
    spec.shapes = {make_plain_shape("h", 2, "h100-sxm5-80gb", cpus(64), gibibytes(512)),
                   make_plain_shape("t", 2, "t4-16gb", cpus(64), gibibytes(512))};
    for (std::uint16_t n = 0; n < 6; ++n)
      spec.nodes.push_back({"", shape_id{static_cast<std::uint16_t>(n / 4)}, {}, cpus(64), gibibytes(512)});
    const part_catalogue parts = make_part_catalogue({spec.shapes.data(), spec.shapes.size()});
    cluster c{spec, {.jobs = 10, .tasks = 100, .parts = &parts}};
    const std::string_view profile[] = {"3g.40gb"};
    const auto mig = make_mig_request(parts, {profile, 1});
    REQUIRE(mig);
    spread_placer place{c};
    spread_request q{.replicas = 6, .minimum = 6};
    q.shape.part = part_need::mig(c.add_mig_request(*mig), 1, false);
    q.rules = {{.level = rack, .max_skew = 1}};  // the rack without MIG is not eligible and holds nothing back
    const auto d = place(q);
    REQUIRE(d);
    CHECK(per_domain(c, d.where, rack) == amounts{3, 3, 0});
    CHECK(c.commit(job_key{1}, d.where));
    q.replicas = q.minimum = 11;  // two a GPU, eight a rack
    CHECK(place(q).why.holds == 10);
    q.rules[0].level = node_level;
    CHECK(place(q).fault == spread_fault::parts_by_node);

    spec.shapes = {*catalogue_shape("dgx-h100")};
    for (auto& n : spec.nodes) n.shape = shape_id{0};
    cluster whole{spec, {.jobs = 10, .tasks = 100, .bindings = true}};
    spread_placer inside{whole};
    q = {.shape = {.devices = 3, .bind = {.numa = numa_rule::single_node}}, .replicas = 12, .minimum = 12};
    q.rules = {{.level = node_level, .at_most = 2}};
    const auto e = inside(q);
    REQUIRE(e);
    CHECK(per_domain(whole, e.where, node_level) == amounts(6, 2));
    for (const auto& t : e.where.tasks) CHECK(((t.devices & 0x0f) == 0 || (t.devices & 0xf0) == 0));
    CHECK(whole.commit(job_key{1}, e.where));
  }

  TEST_CASE("what contradicts itself is said to") {
    cluster c = with_racks(2, 2);
    spread_placer place{c};
    const spread_request good{.shape = {.devices = 1}, .replicas = 2};
    const auto fault = [&](auto change) {
      spread_request q = good;
      change(q);
      const auto d = place(q);
      CHECK((d.result == verdict::invalid) == (d.fault != spread_fault::none));
      return d.fault;
    };
    CHECK(fault([](auto&) {}) == spread_fault::none);
    CHECK(fault([](auto& q) { q.shape.devices = 0; }) == spread_fault::bad_shape);
    CHECK(fault([](auto& q) { q.minimum = 3; }) == spread_fault::bad_count);
    CHECK(fault([](auto& q) { q.tasks_per_replica = 0; }) == spread_fault::bad_count);
    CHECK(fault([](auto& q) { q.tasks_per_replica = 2; }) == spread_fault::bad_level);
    CHECK(fault([](auto& q) { q.rules = {{}}; }) == spread_fault::bad_level);
    CHECK(fault([](auto& q) { q.rules = {{.level = level_id{4}}}; }) == spread_fault::bad_level);
    CHECK(fault([](auto& q) { q.rules = {{.level = rack, .max_skew = 0}}; }) == spread_fault::bad_rule);
    CHECK(fault([](auto& q) { q.rules = {{.level = rack, .at_most_permille = 1001}}; }) == spread_fault::bad_rule);
    CHECK(fault([](auto& q) { q.rules = {{.level = rack, .caps = {{domain_id{2}, 1}}}}; }) == spread_fault::bad_rule);
    CHECK(fault([](auto& q) {
            q.tasks_per_replica = 2, q.inside = zone;
            q.rules = {{.level = rack}};
          }) == spread_fault::inner_rule);
    label_book book;
    take(c, book, 1, {0}, "x", {{"web", level_id{9}}});
    spread_request web = good;
    CHECK(place(web, book).fault == spread_fault::none);
    web.labels = {"web"};
    CHECK(place(web, book).fault == spread_fault::bad_book);
    CHECK(place({.shape = {.devices = 8}, .replicas = 5, .minimum = 5}).result == verdict::never);
    CHECK(place({.shape = {.devices = 1}, .replicas = 5000}).result == verdict::capacity_exhausted);
  }

  TEST_CASE("on random clusters every answer keeps its rules, can be committed, and no device is given twice") {
    random_source random{23};
    int placed = 0;
    for (int round = 0; round < 150; ++round) {
      cluster c = with_racks(4, 3, 2);
      label_book book;
      for (std::uint32_t n = 0; n < c.node_count(); ++n)
        if (random.below(2) == 0) {
          const std::string label = random.below(2) == 0 ? "a" : "b";
          take(c, book, n + 1, {n}, label, {}, 1 + static_cast<unsigned>(random.below(8)));
        }
      spread_placer<tightest, spread, lowest_index> place{c};
      spread_request q{.shape = {.devices = 1 + static_cast<unsigned>(random.below(4))}, .labels = {"a"}};
      q.replicas = 1 + static_cast<std::uint32_t>(random.below(12));
      q.minimum = 1 + static_cast<std::uint32_t>(random.below(q.replicas));
      q.goal = random.below(2) == 0 ? spread_goal::even : spread_goal::packed;
      for (const level_id l : {zone, rack, node_level}) {
        if (random.below(3) == 0) continue;
        spread_rule r{.level = l, .label = random.below(3) == 0 ? "b" : "a"};
        if (random.below(2) == 0) r.max_skew = 1 + static_cast<std::uint32_t>(random.below(3));
        if (random.below(3) == 0) r.at_most = static_cast<std::uint32_t>(random.below(5));
        if (random.below(3) == 0) r.at_most_permille = 300 + 100 * static_cast<std::uint32_t>(random.below(5));
        q.rules.push_back(r);
      }
      const auto d = place(q, book);
      if (!d) continue;
      ++placed;
      CHECK(d.replicas >= q.minimum);
      for (spread_request more = q; more.replicas > d.replicas; --more.replicas) {
        more.minimum = more.replicas;
        spread_placer<> other{c};
        CHECK(other(more, book).result != verdict::placed);
      }
      REQUIRE(d.where.tasks.size() == d.replicas);
      for (const spread_rule& r : q.rules) {
        const amounts x = per_domain(c, d.where, r.level);
        amounts total(x.size());
        const amounts by_node = book.count(c, r.label);
        for (std::uint32_t n = 0; n < c.node_count(); ++n)
          total[r.level == node_level ? n : c.tree().domain_of(node_id{n}, r.level).index()] += by_node[n];
        std::int64_t all = 0, least = 1000;
        for (std::size_t i = 0; i < x.size(); ++i) {
          if (r.label == "a") total[i] += x[i];
          all += total[i];
          least = total[i] < least ? total[i] : least;
        }
        for (std::size_t i = 0; i < x.size(); ++i) {
          if (x[i] == 0) continue;
          CHECK(total[i] <= std::int64_t{r.at_most});
          CHECK(total[i] * 1000 <= all * r.at_most_permille);
          CHECK(total[i] <= least + std::int64_t{r.max_skew});
        }
      }
      CHECK(c.commit(job_key{100}, d.where));
    }
    CHECK(placed > 60);
  }
}
