// What users of other schedulers reported, as scenarios: the small case that went wrong there must go right here.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/transaction.hpp"
#include "berth/solver/exact.hpp"
#include "berth/solver/placer.hpp"
#include "berth/solver/validate.hpp"
#include "berth/topology/domain_tree_builder.hpp"

using namespace berth;

namespace {

/// Leaves with so many nodes each, all of one kind.
cluster_spec make_leaves(const std::vector<std::uint32_t>& nodes_per_leaf, const node_shape& shape) {
  std::vector<domain_declaration> leaves;
  std::vector<std::uint32_t> homes;
  for (std::uint32_t l = 0; l < nodes_per_leaf.size(); ++l) {
    leaves.push_back({"leaf" + std::to_string(l), domain_declaration::no_parent, "leaf"});
    homes.insert(homes.end(), nodes_per_leaf[l], l);
  }
  cluster_spec spec;
  auto built = domain_tree_builder::build(leaves, homes);
  REQUIRE(built);
  spec.tree = std::move(built->tree);
  spec.shapes = {shape};
  for (std::uint32_t n = 0; n < homes.size(); ++n)
    spec.nodes.push_back({"n" + std::to_string(n), shape_id{0}, {}, shape.cpu, shape.memory});
  return spec;
}
node_shape gpus(unsigned n) {
  return make_plain_shape("box", n, "gpu", cpus(64), gibibytes(512));
}
const cluster_limits room{.jobs = 300, .tasks = 2000};

gang tasks_of(std::uint32_t count, unsigned devices) {
  return gang{{{"worker", {devices, {}, {}}, count, count}}, {}, {}, {}};
}
gang inside(gang g, level_id level) {
  g.where = locality::required;
  g.level = level;
  return g;
}

/// Holds `devices` of a node.
void occupy(cluster& c, std::uint32_t node, device_mask devices, job_key key) {
  const task_shape shape{count_bits(devices), {}, {}};
  const task_placement t{devices, node_id{node}, 0};
  REQUIRE(c.commit(key, {{&t, 1}, {&shape, 1}}));
}
/// Places and commits, and checks the answer against the rules.
template <class Placer>
std::vector<std::uint32_t> take(cluster& c, Placer& place, const gang& g, job_key key) {
  const decision d = place(g);
  REQUIRE(d.result == verdict::placed);
  REQUIRE(static_cast<int>(validate(c, g, d).fault) == 0);
  std::vector<std::uint32_t> nodes;
  for (const task_placement& t : d.where.tasks) nodes.push_back(t.node.raw());
  REQUIRE(c.commit(key, d.where));
  return nodes;
}
/// Tasks per leaf.
std::vector<std::uint32_t> per_leaf(const cluster& c, const placement& p) {
  std::vector<std::uint32_t> out(c.tree().domain_count(c.tree().leaf_level()), 0);
  for (const task_placement& t : p.tasks) ++out[c.tree().leaf_of(t.node).index()];
  return out;
}
using counts = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("A01: eight free devices on four nodes do not hold a task that needs eight on one") {
  cluster c{make_leaves({4}, gpus(8)), room};
  for (std::uint32_t n = 0; n < 4; ++n) occupy(c, n, low_bits(6), job_key{n});
  placer place{c};
  const decision d = place(tasks_of(1, 8));
  CHECK(d.result == verdict::not_now);  // an empty node would do, so it may wait
  CHECK(d.why.holds == 0);
  CHECK(take(c, place, tasks_of(1, 1), job_key{9}).size() == 1);  // and does not stand in the way of who fits
}

TEST_CASE("A02: least free first spares the larger hole, fewest domains spares the second node") {
  cluster c{make_leaves({1, 1, 1}, gpus(2)), room};
  occupy(c, 1, 1, job_key{1});
  occupy(c, 2, 1, job_key{2});
  SUBCASE("least free first") {
    placer place{c, least_free_first{}};
    // One leaf that holds both tasks counts as the narrowest domain; so the knob shows where none does.
    occupy(c, 0, 1, job_key{3});
    REQUIRE(c.release(job_key{3}));
    const decision d = place(tasks_of(3, 1));
    REQUIRE(d);
    CHECK(per_leaf(c, d.where) == counts{1, 1, 1});
  }
  SUBCASE("fewest domains") {
    placer place{c};
    CHECK(take(c, place, tasks_of(2, 1), job_key{3}) == counts{0, 0});
    CHECK(place(tasks_of(1, 2)).result == verdict::not_now);
  }
}

TEST_CASE("A03: single tasks fill the rack that is broken into, so that a gang finds a whole one") {
  cluster c{make_leaves({2, 2, 2}, gpus(4)), room};
  occupy(c, 2, 1, job_key{100});
  placer place{c};
  const gang single{{{"worker", {1, cpus(2), {}}, 1, 1}}, {}, {}, {}};
  for (std::uint64_t k = 0; k < 6; ++k) {
    const auto nodes = take(c, place, single, job_key{k});
    CHECK(c.tree().leaf_of(node_id{nodes[0]}) == domain_id{1});
  }
  SUBCASE("a gang finds a whole rack") {
    CHECK(take(c, place, inside(tasks_of(2, 4), c.tree().leaf_level()), job_key{50}) == counts{0, 1});
  }
  SUBCASE("tasks without devices go there too") {
    const gang cpu_only{{{"helper", {0, cpus(1), {}}, 1, 1}}, {}, {}, {}};
    for (std::uint64_t k = 200; k < 220; ++k) {
      const auto nodes = take(c, place, cpu_only, job_key{k});
      CHECK(c.tree().leaf_of(node_id{nodes[0]}) == domain_id{1});
    }
  }
}

TEST_CASE("A07: single tasks fill one socket first, so that the other stays whole") {
  node_shape box = gpus(8);
  box.numa = {{low_bits(4), cpus(32), gibibytes(256)}, {low_bits(8) & ~low_bits(4), cpus(32), gibibytes(256)}};
  for (unsigned a = 0; a < 8; ++a)
    for (unsigned b = 0; b < 8; ++b)
      if (a != b) box.bandwidth.set(a, b, gigabytes_per_second{a / 4 == b / 4 ? 50.0 : 10.0});
  cluster c{make_leaves({1}, box), room};
  placer place{c};
  device_mask singles = 0;
  for (std::uint64_t k = 0; k < 2; ++k) {
    const decision d = place(tasks_of(1, 1));
    REQUIRE(d);
    singles |= d.where.tasks[0].devices;
    REQUIRE(c.commit(job_key{k}, d.where));
  }
  CHECK(((singles & ~low_bits(4)) == 0 || (singles & low_bits(4)) == 0));
  const decision d = place(tasks_of(1, 4));
  REQUIRE(d);
  CHECK((d.where.tasks[0].devices == low_bits(4) || d.where.tasks[0].devices == (low_bits(8) & ~low_bits(4))));
}

TEST_CASE("A09: packing keeps nodes whole for tasks that need them, spreading is a choice with that cost") {
  cluster c{make_leaves({4}, gpus(4)), room};
  SUBCASE("bin_pack, the default") {
    placer place{c};
    for (std::uint64_t k = 0; k < 4; ++k) take(c, place, tasks_of(1, 1), job_key{k});
    CHECK(place(tasks_of(3, 4)).result == verdict::placed);
  }
  SUBCASE("spread") {
    placer place{c, fewest_domains{}, spread{}};
    for (std::uint64_t k = 0; k < 4; ++k) take(c, place, tasks_of(1, 1), job_key{k});
    CHECK(place(tasks_of(1, 4)).result == verdict::not_now);
  }
}

TEST_CASE("A10: of two gangs that each need the whole cluster one gets it and the other holds nothing") {
  cluster c{make_leaves({50, 50}, gpus(1)), room};
  placer place{c};
  CHECK(take(c, place, tasks_of(100, 1), job_key{1}).size() == 100);
  const decision d = place(tasks_of(100, 1));
  CHECK(d.result == verdict::not_now);
  CHECK(d.where.tasks.empty());
  REQUIRE(c.release(job_key{1}));
  occupy(c, 17, 1, job_key{2});
  CHECK(place(tasks_of(100, 1)).result == verdict::not_now);
  CHECK(c.node(node_id{0}).free == 1);
}

TEST_CASE("A11: the member that fits on one node only is placed first, in whatever order the gang names its members") {
  cluster_spec spec = make_leaves({2}, gpus(0));
  spec.nodes[0].cpu = cpus(53);
  spec.nodes[1].cpu = cpus(31);
  cluster c{spec, room};
  placer place{c};
  const task_group x{"x", {0, cpus(30), {}}, 1, 1}, y{"y", {0, cpus(50), {}}, 1, 1};
  CHECK(take(c, place, gang{{x, y}, {}, {}, {}}, job_key{1}) == counts{1, 0});
  REQUIRE(c.release(job_key{1}));
  CHECK(take(c, place, gang{{y, x}, {}, {}, {}}, job_key{1}) == counts{0, 1});
}

TEST_CASE("A11: a mix that no order of whole groups can pack is found by the search") {
  // Two nodes of 10: 6+4 and 5+5 fit, every greedy order that puts 6 and 5 together or 5 with 4 does not.
  cluster_spec spec = make_leaves({2}, gpus(0));
  for (auto& n : spec.nodes) n.cpu = cpus(10);
  cluster c{spec, room};
  placer place{c};
  const gang g{
      {{"a", {0, cpus(4), {}}, 1, 1}, {"b", {0, cpus(5), {}}, 2, 2}, {"c", {0, cpus(6), {}}, 1, 1}}, {}, {}, {}};
  const auto nodes = take(c, place, g, job_key{1});
  CHECK(nodes[0] == nodes[3]);
  CHECK(nodes[1] == nodes[2]);
  CHECK(nodes[0] != nodes[1]);
}

TEST_CASE("A15: four tasks on switches of two nodes use two switches, never three") {
  cluster c{make_leaves({2, 2, 2}, gpus(1)), room};
  gang g = tasks_of(4, 1);
  g.where = locality::preferred;
  g.level = c.tree().leaf_level();
  SUBCASE("empty") {
    placer place{c};
    const decision d = place(g);
    REQUIRE(d);
    CHECK(per_leaf(c, d.where) == counts{2, 2, 0});
  }
  SUBCASE("one node of the first switch is taken") {
    occupy(c, 0, 1, job_key{1});
    placer place{c};
    const decision d = place(g);
    REQUIRE(d);
    CHECK(per_leaf(c, d.where) == counts{0, 2, 2});
  }
}

TEST_CASE("A16: 36 nodes in segments of 12 in blocks of 17 are 12 + 12 + 12, also after updates that change nothing") {
  cluster c{make_leaves({17, 17, 17}, gpus(8)), room};
  gang g = tasks_of(36, 8);
  g.segments = segment_request{3, c.tree().leaf_level(), segment_layout::free};
  for (std::uint32_t n = 0; n < c.node_count(); ++n) {
    REQUIRE(c.relabel(node_id{n}, c.class_of(node_id{n}).labels));
    REQUIRE(c.set_node_usable(node_id{n}, true));
    for (unsigned d = 0; d < 8; ++d) REQUIRE(c.set_device_health(node_id{n}, d, true));
  }
  for (std::uint32_t l = 0; l < 3; ++l) REQUIRE(c.set_uplink_health(c.tree().leaf_level(), domain_id{l}, true));
  REQUIRE(c.check_invariants());
  placer place{c};
  const decision d = place(g);
  REQUIRE(d);
  REQUIRE(static_cast<int>(validate(c, g, d).fault) == 0);
  CHECK(per_leaf(c, d.where) == counts{12, 12, 12});
  // Six nodes of a block gone, and it holds no segment; the gang may not start with two.
  for (std::uint32_t n = 0; n < 6; ++n) REQUIRE(c.set_node_usable(node_id{n}, false));
  CHECK(place(g).result == verdict::not_now);
  // With a minimum of two segments it may, and no segment shrinks.
  g.groups[0].minimum = 24;
  const decision fewer = place(g);
  REQUIRE(fewer);
  CHECK(per_leaf(c, fewer.where) == counts{0, 12, 12});
}

TEST_CASE("A17: the leader is first and rank k stands on the node after rank k-1") {
  cluster c{make_leaves({2, 2}, gpus(1)), room};
  placer place{c};
  SUBCASE("launcher and workers ask the same") {
    const gang g{{{"launcher", {1, {}, {}}, 1, 1}, {"worker", {1, {}, {}}, 3, 3}}, {}, {}, {}};
    CHECK(take(c, place, g, job_key{1}) == counts{0, 1, 2, 3});
  }
  SUBCASE("the launcher asks for less") {
    const gang g{{{"launcher", {1, cpus(1), {}}, 1, 1}, {"worker", {1, cpus(8), {}}, 3, 3}}, {}, {}, {}};
    CHECK(take(c, place, g, job_key{1}) == counts{0, 1, 2, 3});
  }
  SUBCASE("the launcher asks for less, and only its node is too poor for a worker") {
    const task_shape hog{0, cpus(60), {}};
    const task_placement t{0, node_id{3}, 0};
    REQUIRE(c.commit(job_key{7}, {{&t, 1}, {&hog, 1}}));
    const gang g{{{"launcher", {1, cpus(1), {}}, 1, 1}, {"worker", {1, cpus(8), {}}, 3, 3}}, {}, {}, {}};
    CHECK(take(c, place, g, job_key{1}) == counts{3, 0, 1, 2});
  }
  SUBCASE("the launcher asks for more") {
    const gang g{{{"launcher", {1, cpus(8), {}}, 1, 1}, {"worker", {1, cpus(1), {}}, 3, 3}}, {}, {}, {}};
    CHECK(take(c, place, g, job_key{1}) == counts{0, 1, 2, 3});
  }
}

TEST_CASE("gangs that contradict themselves are invalid, and say which group is at fault") {
  cluster c{make_leaves({2}, gpus(8)), room};
  placer place{c};
  const auto fault = [&](const gang& g) {
    const decision d = place(g);
    CHECK(d.result == verdict::invalid);
    CHECK(d.where.tasks.empty());
    return d.why;
  };
  CHECK(fault(gang{}).fault == gang_fault::no_groups);
  CHECK(fault(tasks_of(0, 8)).fault == gang_fault::bad_count);
  gang g = tasks_of(2, 8);
  g.groups.push_back({"none", {1, {}, {}}, 4, 0});
  CHECK(fault(g).fault == gang_fault::bad_count);
  CHECK(fault(g).group == 1);
  g.groups[1] = {"more than wanted", {1, {}, {}}, 4, 5};
  CHECK(fault(g).fault == gang_fault::bad_count);
  CHECK(fault(tasks_of(1, 0)).fault == gang_fault::bad_shape);
  CHECK(fault(tasks_of(1, 65)).fault == gang_fault::bad_shape);
  g = tasks_of(1, 1);
  g.groups[0].shape.filter = filter_id{7};
  CHECK(fault(g).fault == gang_fault::bad_shape);
  CHECK(fault(inside(tasks_of(1, 1), level_id{2})).fault == gang_fault::bad_level);
  g = tasks_of(5, 1);
  g.segments = segment_request{2, level_id{1}, segment_layout::free};
  CHECK(fault(g).fault == gang_fault::bad_segments);
  g.segments = segment_request{0, level_id{1}, segment_layout::free};
  CHECK(fault(g).fault == gang_fault::bad_segments);
  g = tasks_of(4, 1);
  g.groups[0].minimum = 3;
  g.segments = segment_request{2, level_id{1}, segment_layout::free};
  CHECK(fault(g).fault == gang_fault::bad_segments);
}

TEST_CASE("what is larger than the cluster is refused for ever, what is only larger than what is free may wait") {
  cluster c{make_leaves({2, 2}, gpus(8)), room};
  placer place{c};
  CHECK(place(tasks_of(5, 8)).result == verdict::never);
  CHECK(place(tasks_of(1, 9)).result == verdict::never);
  CHECK(place(inside(tasks_of(3, 8), c.tree().leaf_level())).result == verdict::never);
  gang mixed = tasks_of(4, 8);
  mixed.groups.push_back({"huge", {0, cpus(65), {}}, 1, 1});
  CHECK(place(mixed).result == verdict::never);
  CHECK(place(mixed).why.group == 1);
  occupy(c, 0, 1, job_key{1});
  CHECK(place(tasks_of(4, 8)).result == verdict::not_now);
  REQUIRE(c.release(job_key{1}));
  REQUIRE(c.set_node_usable(node_id{3}, false));
  CHECK(place(tasks_of(4, 8)).result == verdict::not_now);
  CHECK(place(inside(tasks_of(2, 8), c.tree().leaf_level())).result == verdict::placed);
}

TEST_CASE("running out of steps is said, and is neither a refusal nor remembered") {
  // Eight nodes; tasks of 7 and 3 fill five nodes of 10 exactly, in ways that packing group by group misses.
  cluster_spec spec = make_leaves({6}, gpus(0));
  for (auto& n : spec.nodes) n.cpu = cpus(12);
  cluster c{spec, room};
  const gang possible{
      {{"a", {0, cpus(7), {}}, 2, 2}, {"b", {0, cpus(5), {}}, 2, 2}, {"c", {0, cpus(4), {}}, 12, 12}}, {}, {}, {}};
  REQUIRE(solve_exactly(c, possible).result == exact_verdict::found);
  // 72 CPUs are asked for and 72 are there, but a node that holds a 7 holds no more than one 5.
  const gang impossible{{{"a", {0, cpus(7), {}}, 6, 6}, {"b", {0, cpus(4), {}}, 7, 7}}, {}, {}, {}};
  REQUIRE(solve_exactly(c, impossible).result == exact_verdict::impossible);
  placer thorough{c}, hasty{c, fewest_domains{}, bin_pack{}, best_bandwidth{}, {.search_steps = 3}};
  CHECK(thorough(possible).result == verdict::placed);
  CHECK(thorough(impossible).result == verdict::not_now);
  CHECK(hasty(impossible).result == verdict::gave_up);
  hasty.reserve({});
  CHECK(hasty(impossible).result == verdict::not_now);
}

TEST_CASE("capacities 3, 3, 2, 1 and seven tasks: 3, 3, 0, 1 for fewest domains, the smallest first for least free") {
  cluster c{make_leaves({3, 3, 2, 1}, gpus(8)), room};
  const gang g = tasks_of(7, 8);
  placer fewest{c};
  const decision a = fewest(g);
  REQUIRE(a);
  CHECK(per_leaf(c, a.where) == counts{3, 3, 0, 1});
  placer least{c, least_free_first{}};
  const decision b = least(g);
  REQUIRE(b);
  CHECK(per_leaf(c, b.where) == counts{3, 1, 2, 1});
}

TEST_CASE("capacities 6, 5, 4, 3, 2 and segments of two: twelve tasks take 6, 0, 4, 0, 2, ten take 0, 2, 4, 2, 2") {
  cluster c{make_leaves({6, 5, 4, 3, 2}, gpus(8)), room};
  gang g = tasks_of(12, 8);
  g.segments = segment_request{6, c.tree().leaf_level(), segment_layout::free};
  placer fewest{c};
  const decision a = fewest(g);
  REQUIRE(a);
  CHECK(per_leaf(c, a.where) == counts{6, 0, 4, 0, 2});
  g = tasks_of(10, 8);
  g.segments = segment_request{5, c.tree().leaf_level(), segment_layout::free};
  placer least{c, least_free_first{}};
  const decision b = least(g);
  REQUIRE(b);
  CHECK(per_leaf(c, b.where) == counts{0, 2, 4, 2, 2});
}

TEST_CASE("a domain whose uplink is down serves gangs that fit inside it and no others") {
  cluster c{make_leaves({2, 2, 2}, gpus(8)), room};
  const level_id leaf = c.tree().leaf_level();
  REQUIRE(c.set_uplink_health(leaf, domain_id{1}, false));
  placer place{c};
  const decision four = place(tasks_of(4, 8));
  REQUIRE(four);
  CHECK(per_leaf(c, four.where) == counts{2, 0, 2});
  CHECK(place(tasks_of(5, 8)).result == verdict::not_now);
  occupy(c, 0, 1, job_key{1});
  occupy(c, 4, 1, job_key{2});
  const decision two = place(tasks_of(2, 8));
  REQUIRE(two);
  CHECK(per_leaf(c, two.where) == counts{0, 2, 0});
  // Two groups, and segments wider than the domain that is cut off.
  gang mixed = tasks_of(1, 8);
  mixed.groups.push_back({"half", {4, {}, {}}, 2, 2});
  mixed.segments = segment_request{1, level_id{0}, segment_layout::free};
  occupy(c, 1, low_bits(5), job_key{3});
  occupy(c, 5, low_bits(5), job_key{4});
  const decision cut = place(mixed);
  REQUIRE(cut);
  CHECK(per_leaf(c, cut.where) == counts{0, 3, 0});
}

TEST_CASE("a placer on a cluster without live shapes says so") {
  cluster c{make_leaves({2}, gpus(8)), {.live_shapes = 0}};
  placer place{c};
  CHECK(place(tasks_of(1, 8)).result == verdict::capacity_exhausted);
  gang mixed = tasks_of(1, 8);
  mixed.groups.push_back({"half", {4, {}, {}}, 2, 2});
  CHECK(place(mixed).result == verdict::capacity_exhausted);
}
