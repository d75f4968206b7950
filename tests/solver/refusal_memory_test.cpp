/// \file
/// A refusal is remembered exactly as long as it holds: not searched again before something could help, and never held
/// against a gang that would fit.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/transaction.hpp"
#include "berth/core/random.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "cluster/effort.hpp"
#include "solver/random_instance.hpp"

namespace {

using namespace berth;

/// Two spines of two leaves of two nodes, 4 devices each.
cluster_spec small() {
  cluster_spec spec;
  spec.tree = domain_tree_builder::regular({"cluster", "spine", "leaf"}, {2, 2}, 2);
  spec.shapes.push_back(make_plain_shape("machine", 4, "a", cpus(16), gibibytes(64)));
  for (int n = 0; n < 8; ++n) spec.nodes.push_back({"n" + std::to_string(n), shape_id{0}, {}, cpus(16), gibibytes(64)});
  return spec;
}
constexpr level_id cluster_level{0}, spine{1}, leaf{2};

task_group group(std::uint32_t n, std::uint32_t devices, cpu_millis cpu = {}) {
  return {"g", {devices, cpu, {}, filter_id{0}}, n, n};
}

/// `a` tasks of 3 devices and `b` of 2, in one domain of `within`.
gang mixed(std::uint32_t a, std::uint32_t b, level_id within = cluster_level) {
  gang g;
  g.groups = {group(a, 3), group(b, 2)};
  if (within != cluster_level) g.where = locality::required, g.level = within;
  return g;
}

/// Holds `devices` of a node for a job of its own.
void occupy(cluster& c, std::uint64_t key, std::uint32_t node, device_mask devices) {
  const task_placement t{devices, node_id{node}, 0};
  const task_shape s{count_bits(devices), {}, {}, filter_id{0}};
  REQUIRE(c.commit(job_key{key}, {{&t, 1}, {&s, 1}}));
}

/// A cluster on which node n is held but for its lowest `free[n]` devices, by job n.
cluster with_free(const std::vector<unsigned>& free) {
  cluster c{small(), {32, 64, 8, 64}};
  for (std::uint32_t n = 0; n < free.size(); ++n)
    if (free[n] < 4) occupy(c, n, n, low_bits(4) & ~low_bits(free[n]));
  return c;
}

TEST_CASE("a refused mixed gang is answered from memory until something could help") {
  // Room for every group alone, not for both: 3 + 2 devices exceed every node, and only one node has 3.
  cluster c = with_free({3, 1, 1, 1, 1, 1, 1, 1});
  placer place{c};
  const gang g = mixed(1, 1);
  const decision first = place(g);
  CHECK(first.result == verdict::not_now);
  CHECK(first.steps != 0);
  for (int i = 0; i < 3; ++i) {
    const decision again = place(g);
    CHECK(again.result == verdict::not_now);
    CHECK(again.steps == 0);
    CHECK(again.why.group == first.why.group);
    CHECK(again.why.needs == first.why.needs);
  }
  REQUIRE(c.release(job_key{5}));
  CHECK(place(g).result == verdict::placed);
}

TEST_CASE("commits do not wake a refused gang, and it reports the room of now") {
  cluster c = with_free({4, 3, 1, 1, 1, 1, 1, 1});
  placer place{c};
  const gang g = mixed(2, 1);
  const decision first = place(g);
  REQUIRE(first.result == verdict::not_now);
  occupy(c, 100, 0, 0b0110);  // two of the four, so that one task of three devices fits where two did
  const decision again = place(g);
  CHECK(again.result == verdict::not_now);
  CHECK(again.steps == 0);
  placer fresh{c};
  const decision anew = fresh(g);
  CHECK(again.why.group == anew.why.group);
  CHECK(again.why.holds == anew.why.holds);
  CHECK(again.why.nearest == anew.why.nearest);
}

TEST_CASE("broken devices, drains and lost uplinks do not wake a refused gang; repairs do") {
  cluster c = with_free({3, 1, 1, 1, 1, 1, 1, 2});
  REQUIRE(c.set_device_health(node_id{7}, 0, false));
  placer place{c};
  const gang g = mixed(1, 1);
  REQUIRE(place(g).result == verdict::not_now);
  REQUIRE(c.set_device_health(node_id{3}, 0, false));
  REQUIRE(c.set_node_usable(node_id{4}, false));
  CHECK(place(g).steps == 0);
  REQUIRE(c.set_device_health(node_id{7}, 0, true));
  CHECK(place(g).result == verdict::placed);
  REQUIRE(c.set_node_usable(node_id{7}, false));
  CHECK(place(g).result == verdict::not_now);
  CHECK(place(g).steps == 0);
  REQUIRE(c.set_node_usable(node_id{7}, true));
  CHECK(place(g).result == verdict::placed);
}

TEST_CASE("an uplink that comes back, a new label and a new node wake a refused gang") {
  cluster c = with_free({3, 1, 1, 1, 1, 1, 1, 2});
  placer place{c};
  const gang g = mixed(1, 1);
  REQUIRE(c.set_uplink_health(leaf, domain_id{3}, false));
  CHECK(place(g).result == verdict::not_now);
  CHECK(place(g).steps == 0);
  REQUIRE(c.set_uplink_health(leaf, domain_id{3}, true));
  CHECK(place(g).result == verdict::placed);

  gang labelled = mixed(1, 1);
  for (auto& t : labelled.groups) t.shape.filter = c.add_filter({{"x"}, {}, {}, {}});
  CHECK(place(labelled).result == verdict::never);
  CHECK(place(labelled).steps == 0);
  REQUIRE(c.relabel(node_id{0}, {"x"}));
  CHECK(place(labelled).result == verdict::not_now);  // one of two nodes: 3 and 2 devices are more than its 4
  REQUIRE(c.relabel(node_id{7}, {"x"}));
  CHECK(place(labelled).result == verdict::placed);

  cluster d = with_free({3, 1, 1, 1, 1, 1, 1, 4});
  REQUIRE(d.remove_node(node_id{7}));
  placer place_d{d};
  CHECK(place_d(g).result == verdict::not_now);
  CHECK(place_d(g).steps == 0);
  REQUIRE(d.add_node(domain_id{3}, {"new", shape_id{0}, {}, cpus(16), gibibytes(64)}));
  CHECK(place_d(g).result == verdict::placed);
}

TEST_CASE("a release wakes only the domains of the required level that it touches") {
  // Per leaf 4 + 1 free: 3 + 2 do not fit, though each would.
  cluster c = with_free({4, 1, 4, 1, 4, 1, 4, 1});
  placer place{c};
  const gang g = mixed(1, 1, leaf);
  const decision first = place(g);
  REQUIRE(first.result == verdict::not_now);
  REQUIRE(first.steps != 0);
  occupy(c, 100, 5, 0b0001);
  REQUIRE(place(g).steps == 0);
  REQUIRE(c.release(job_key{100}));  // leaf 2 is as it was
  const decision one_leaf = place(g);
  CHECK(one_leaf.result == verdict::not_now);
  CHECK(one_leaf.steps != 0);
  CHECK(one_leaf.steps <= first.steps / 3);  // a quarter of the leaves
  CHECK(place(g).steps == 0);
  REQUIRE(c.release(job_key{5}));
  const decision placed = place(g);
  REQUIRE(placed.result == verdict::placed);
  CHECK(placed.domain == domain_id{2});
}

TEST_CASE("a refusal excuses larger gangs of its kind, with their own verdict") {
  cluster c = with_free({3, 1, 1, 1, 1, 1, 1, 1});
  placer place{c};
  REQUIRE(place(mixed(1, 1)).result == verdict::not_now);
  const auto excused = [&](const gang& g) { return place(g).steps == 0; };
  CHECK(excused(mixed(2, 1)));
  CHECK(excused(mixed(1, 7)));
  gang more_cpu = mixed(1, 1);
  more_cpu.groups[1].shape.cpu = cpus(1);
  CHECK(excused(more_cpu));
  gang elastic = mixed(1, 1);
  elastic.groups[0].wanted = 5;
  CHECK(excused(elastic));
  // Excused, and hopeless besides: 9 tasks of 3 devices would not fit on 8 empty nodes.
  const decision hopeless = place(mixed(9, 1));
  CHECK(hopeless.steps == 0);
  CHECK(hopeless.result == verdict::never);
  CHECK(hopeless.why.needs == 9);
}

TEST_CASE("a refusal does not excuse what asks for less or for something else") {
  // 3 + 3 and 2 fit; 3 + 3 + 3 and 2 do not.
  cluster c = with_free({3, 3, 1, 1, 2, 1, 1, 1});
  const filter_id other = c.add_filter({{}, {"gone"}, {}, {}});
  gang refused = mixed(2, 2);
  refused.groups[0].shape.cpu = cpus(2);
  const auto after_refusal = [&](const gang& g) {
    placer place{c};
    REQUIRE(place(refused).result == verdict::not_now);
    const decision d = place(g);
    const decision fresh = placer{c}(g);
    CHECK(d.result == fresh.result);
    return d;
  };
  CHECK(after_refusal(refused).steps == 0);
  gang g = refused;
  g.groups[0].minimum = g.groups[0].wanted = 1;
  CHECK(after_refusal(g).result == verdict::placed);
  g = refused;
  g.groups[1].minimum = 1;
  CHECK(after_refusal(g).result == verdict::placed);
  g = refused;
  g.groups[1].shape.devices = 1;
  CHECK(after_refusal(g).result == verdict::placed);
  g = refused;
  g.groups[0].shape.cpu = cpus(1);
  CHECK(after_refusal(g).steps != 0);
  g = refused;
  g.groups[0].shape.filter = other;
  CHECK(after_refusal(g).steps != 0);
  g = refused;
  g.where = locality::required, g.level = spine;
  CHECK(after_refusal(g).steps != 0);
  g = refused;
  g.segments = segment_request{1, spine, segment_layout::free};
  CHECK(after_refusal(g).steps != 0);
  g = refused;
  g.groups.push_back(group(1, 1));
  CHECK(after_refusal(g).steps != 0);
}

TEST_CASE("segments of another size are not excused") {
  cluster c = with_free({3, 1, 1, 1, 3, 1, 1, 1});
  placer place{c};
  gang g = mixed(2, 2);
  g.segments = segment_request{2, leaf, segment_layout::free};  // 3 + 2 per segment: no leaf holds one
  REQUIRE(place(g).result != verdict::placed);
  CHECK(place(g).steps == 0);
  gang larger = mixed(4, 4);
  larger.segments = segment_request{4, leaf, segment_layout::free};
  CHECK(place(larger).steps == 0);  // more segments of that size
  gang wider = mixed(2, 2);
  wider.segments = segment_request{1, leaf, segment_layout::free};
  CHECK(place(wider).result == placer{c}(wider).result);
  gang spread = g;
  spread.segments->layout = segment_layout::spread;
  CHECK(place(spread).result == placer{c}(spread).result);
}

TEST_CASE("the latest refusal speaks: an older and smaller one that was woken does not hide it") {
  cluster c = with_free({3, 3, 1, 1, 1, 1, 1, 1});
  placer place{c};
  occupy(c, 100, 2, 0b0001);
  REQUIRE(place(mixed(2, 1)).result == verdict::not_now);  // the smaller one, never asked again
  REQUIRE(c.release(job_key{100}));
  REQUIRE(place(mixed(2, 2)).steps != 0);
  CHECK(place(mixed(2, 2)).steps == 0);
}

TEST_CASE("jobs that come and go meanwhile do not wake a refused gang; one that was there when it was refused does") {
  cluster c = with_free({3, 1, 1, 1, 1, 1, 1, 2});
  placer place{c};
  const gang g = mixed(1, 1, leaf);
  REQUIRE(place(g).result == verdict::not_now);
  for (int i = 0; i < 3; ++i) {
    occupy(c, 100, 0, 0b0001);
    REQUIRE(c.release(job_key{100}));
    {
      transaction what_if{c};
      occupy(c, 101, 7, 0b0001);
      what_if.rollback();
    }
    const decision d = place(g);
    CHECK(d.result == verdict::not_now);
    CHECK(d.steps == 0);
  }
  REQUIRE(c.release(job_key{6}));  // beside node 7
  CHECK(place(g).result == verdict::placed);
}

TEST_CASE("giving up is not remembered") {
  cluster c = with_free({4, 4, 3, 3, 3, 3, 3, 3});
  placer place{c, fewest_domains{}, bin_pack{}, best_bandwidth{}, {.tasks = 64, .groups = 8, .search_steps = 1}};
  gang g;  // fits: {3, 1} twice and 3 six times; the greedy order of one step cannot know
  g.groups = {group(8, 3), group(2, 1), group(1, 2)};
  const decision d = place(g);
  if (d.result == verdict::gave_up) CHECK(place(g).result == verdict::gave_up);
  CHECK(d.result != verdict::placed);
  // With the same memory and enough steps the answer comes from a search.
  place.reserve({.tasks = 64, .groups = 8, .search_steps = 100'000});
  const decision decided = place(g);
  CHECK((d.result != verdict::gave_up || decided.steps != 0));
}

TEST_CASE("nothing is remembered inside a transaction, and what was remembered outside does not speak there") {
  cluster c = with_free({3, 1, 1, 1, 1, 1, 1, 2});
  placer place{c};
  const gang g = mixed(1, 1);
  {
    transaction what_if{c};
    occupy(c, 100, 7, 0b0001);  // the gang does not fit in here
    REQUIRE(place(g).result == verdict::not_now);
    CHECK(place(g).steps != 0);
    what_if.rollback();
  }
  CHECK(place(g).result == verdict::placed);
  occupy(c, 101, 7, 0b0001);
  REQUIRE(place(g).result == verdict::not_now);
  {
    transaction what_if{c};
    REQUIRE(c.release(job_key{101}));
    CHECK(place(g).result == verdict::placed);
    what_if.rollback();
  }
  CHECK(place(g).result == verdict::not_now);
  {
    transaction kept{c};
    REQUIRE(c.release(job_key{101}));
    kept.commit();
  }
  CHECK(place(g).result == verdict::placed);
}

TEST_CASE("a rolled back commit gives its room back to a gang refused meanwhile") {
  cluster c = with_free({3, 2, 1, 1, 1, 1, 1, 1});
  placer place{c};
  const gang g = mixed(1, 1);
  transaction outer{c};
  occupy(c, 100, 1, 0b0001);
  CHECK(place(g).result == verdict::not_now);
  outer.rollback();
  CHECK(place(g).result == verdict::placed);
}

TEST_CASE("with memory and without, the same gangs get the same answers") {
  const std::size_t operations = effort(60'000);
  std::size_t asked = 0, placed = 0, refused = 0, searched = 0, excused = 0, gave_up = 0;
  for (std::uint64_t seed = 1; asked < operations; ++seed) {
    berth_test::instance_maker make{seed};
    random_source random{seed * 7919};
    // Anything at all, or nodes alike with little free on each, where a mix is hard to place.
    const bool tight = seed % 2 == 0;
    cluster c{tight ? small() : make.make_spec(), {64, 512, 8, 512}};
    if (tight)
      for (std::uint32_t n = 0; n < c.node_count(); ++n)
        occupy(c, n, n, low_bits(static_cast<unsigned>(random.between(1, 3))));
    else make.disturb(c);
    const placer_limits limits{.tasks = 64, .groups = 8, .search_steps = 5'000};
    placer remembers{c, fewest_domains{}, bin_pack{}, best_bandwidth{}, limits};
    std::vector<gang> kinds;
    while (tight && kinds.size() < 12) {
      gang g = mixed(1 + static_cast<std::uint32_t>(random.below(2)), 1 + static_cast<std::uint32_t>(random.below(3)),
                     level_id{static_cast<std::uint8_t>(random.below(3))});
      if (random.below(2) == 0) g.groups.push_back(group(1, 1));
      if (random.below(2) == 0) g.groups[0].shape.cpu = cpus(static_cast<std::int64_t>(random.below(4)));
      kinds.push_back(g);
    }
    while (!tight && kinds.size() < 12) {
      const auto kind = static_cast<berth_test::gang_kind>(1 + random.below(3));
      kinds.push_back(make.make_gang(c, kind, random.below(3) == 0));
      // A larger relative of what came before.
      if (random.below(2) == 0 && !kinds.back().segments) {
        gang larger = kinds.back();
        auto& t = larger.groups[random.below(larger.groups.size())];
        if (t.wanted < 12) ++t.minimum, ++t.wanted;
        kinds.push_back(larger);
      }
    }
    std::vector<job_key> jobs;
    for (std::uint64_t n = 0; tight && n < c.node_count(); ++n) jobs.push_back(job_key{n});
    std::uint64_t next = 1000;
    for (int step = 0; step < 150; ++step) {
      const gang& g = kinds[random.below(kinds.size())];
      placer forgets{c, fewest_domains{}, bin_pack{}, best_bandwidth{}, limits};
      const decision fresh = forgets(g);
      const decision d = remembers(g);
      ++asked;
      CAPTURE(seed);
      CAPTURE(step);
      CAPTURE(berth_test::describe(g));
      if (fresh.result == verdict::gave_up || d.result == verdict::gave_up) {
        ++gave_up;
      } else {
        REQUIRE(d.result == fresh.result);
        REQUIRE(d.score == fresh.score);
        REQUIRE(std::vector(d.where.tasks.begin(), d.where.tasks.end()) ==
                std::vector(fresh.where.tasks.begin(), fresh.where.tasks.end()));
        if (!d) {
          REQUIRE(d.why.group == fresh.why.group);
          REQUIRE(d.why.holds == fresh.why.holds);
          REQUIRE(d.why.needs == fresh.why.needs);
          REQUIRE(d.why.nearest == fresh.why.nearest);
        }
      }
      if (d) {
        ++placed;
      } else {
        ++refused;
        if (fresh.steps != 0) ++searched;
        if (d.steps == 0 && fresh.steps != 0) ++excused;
      }
      // Then something happens, or nothing.
      const auto node = node_id{static_cast<std::uint32_t>(random.below(c.node_count()))};
      switch (random.below(12)) {
        case 0:
        case 1:
        case 2:
          if (d && c.commit(job_key{next}, d.where)) jobs.push_back(job_key{next++});
          break;
        case 3:
        case 4:
          if (!jobs.empty()) {
            const std::size_t i = random.below(jobs.size());
            REQUIRE(c.release(jobs[i]));
            jobs[i] = jobs.back();
            jobs.pop_back();
          }
          break;
        case 5:
          static_cast<void>(c.set_device_health(node, static_cast<unsigned>(random.below(8)), random.below(2) == 0));
          break;
        case 6:
          static_cast<void>(c.set_node_usable(node, random.below(2) == 0));
          break;
        case 7:
          if (random.below(4) == 0) {
            const level_id l{static_cast<std::uint8_t>(random.below(c.tree().level_count()))};
            const domain_id at{static_cast<std::uint32_t>(random.below(c.tree().domain_count(l)))};
            static_cast<void>(c.set_uplink_health(l, at, random.below(2) == 0));
          }
          break;
        case 8:
          if (random.below(4) == 0)
            static_cast<void>(c.relabel(
                node, random.below(2) == 0 ? std::vector<std::string>{"x"} : std::vector<std::string>{"y", "z"}));
          break;
        case 9: {
          // Something that is undone: release or commit, with questions in between.
          transaction what_if{c};
          if (!jobs.empty()) static_cast<void>(c.release(jobs[random.below(jobs.size())]));
          const gang& other = kinds[random.below(kinds.size())];
          if (const decision inside = remembers(other)) static_cast<void>(c.commit(job_key{999}, inside.where));
          static_cast<void>(remembers(g));
          what_if.rollback();
          break;
        }
        default:
          break;
      }
    }
    REQUIRE(c.check_invariants());
  }
  MESSAGE(asked << " gangs: " << placed << " placed, " << refused << " refused, " << searched
                << " of them after a search, or " << searched - excused << " with memory; " << gave_up << " undecided");
  CHECK(excused > searched / 4);
  CHECK(placed > asked / 20);
}

}  // namespace
