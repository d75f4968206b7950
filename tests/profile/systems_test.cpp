// What has no files of cases: Slurm's trees and blocks, kube-scheduler's scores, YARN's GPU sets.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "berth/profile/koordinator.hpp"
#include "berth/profile/kube_scheduler.hpp"
#include "berth/profile/kueue.hpp"
#include "berth/profile/scheduler_plugins.hpp"
#include "berth/profile/slurm.hpp"
#include "berth/profile/yarn.hpp"
#include "berth/profile/yunikorn.hpp"

using namespace berth;

namespace {

using ids = std::vector<std::uint32_t>;

/// a, a+1, … b
ids range(std::uint32_t a, std::uint32_t b) {
  ids out;
  for (; a <= b; ++a) out.push_back(a);
  return out;
}
ids operator+(ids a, const ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
std::vector<slurm_node> machine(std::uint32_t n, const ids& busy = {}) {
  std::vector<slurm_node> out(n);
  for (const auto b : busy) out[b].free = false;
  return out;
}
/// Leaves 0 .. 3 of four nodes each, under switches 4 and 5, under 6.
slurm_tree sixteen() {
  return slurm_tree{{{4, 0, range(0, 3)},
                     {4, 0, range(4, 7)},
                     {5, 0, range(8, 11)},
                     {5, 0, range(12, 15)},
                     {6, 1, {}},
                     {6, 1, {}},
                     {slurm_switch::no_parent, 2, {}}}};
}
slurm_tree_job nodes(std::uint32_t n) {
  return {n, n, 0, 0, 300};
}

}  // namespace

TEST_CASE("Slurm's tree takes the tightest leaf, then the leaves nearest to it") {
  struct row {
    const char* why;
    ids busy;
    std::uint32_t wanted;
    ids expected;
  };
  const row table[] = {
      {"equal leaves: the first", {}, 4, range(0, 3)},
      {"the leaf that fits tightest", range(0, 1) + range(12, 12), 2, {2, 3}},
      {"tightest of two sizes", range(0, 0) + range(4, 5), 3, {1, 2, 3}},
      {"no leaf holds it: the half of the tree that holds it more tightly, its larger leaf first",
       {6, 7},
       6,
       range(0, 5)},
      {"the other half where the first is too small", {6, 7}, 8, range(8, 15)},
      {"the second leaf is the nearest that holds the rest", range(1, 3) + range(8, 11), 6,
       ids{0} + range(4, 7) + ids{12}},
      {"the whole machine", {}, 16, range(0, 15)},
  };
  const auto network = sixteen();
  for (const auto& r : table) {
    CAPTURE(r.why);
    const auto got = network.place(machine(16, r.busy), nodes(r.wanted));
    REQUIRE(got);
    CHECK(got->nodes == r.expected);
    CHECK(got->good_switches);
  }
  CHECK_FALSE(network.place(machine(16, {5}), nodes(16)));
  // Two trees without a link: the one that holds it.
  const slurm_tree apart{{{slurm_switch::no_parent, 0, range(0, 3)}, {slurm_switch::no_parent, 0, range(4, 11)}}};
  CHECK(apart.place(machine(12), nodes(6))->nodes == range(4, 9));
  CHECK_FALSE(apart.place(machine(12), nodes(9)));
}

TEST_CASE("Slurm takes nodes of low weight before it looks at the tree") {
  const auto network = sixteen();
  auto m = machine(16);
  for (std::uint32_t n = 0; n < 4; ++n) m[n].weight = 10;
  CHECK(network.place(m, nodes(4))->nodes == range(4, 7));
  CHECK(network.place(m, nodes(14))->nodes == range(0, 1) + range(4, 15));
}

TEST_CASE("--switches refuses to spread until the job has waited, and takes fewer nodes of a range first") {
  const auto network = sixteen();
  const auto m = machine(16, {0, 4, 8, 12});  // three nodes a leaf
  slurm_tree_job job{4, 4, 1, 0, 300};
  auto got = network.place(m, job);
  REQUIRE(got);
  CHECK_FALSE(got->good_switches);
  CHECK(got->leaves == 2);
  job.waited = 299;
  CHECK_FALSE(network.place(m, job)->good_switches);
  job.waited = 300;
  CHECK(network.place(m, job)->good_switches);
  job = {4, 4, 1, 60, 60};
  CHECK(network.place(m, job)->good_switches);
  job = {4, 4, 1, 400, 100000};  // never longer than max_switch_wait
  CHECK(network.place(m, job)->good_switches);
  job = {2, 4, 1, 0, 300};
  got = network.place(m, job);
  REQUIRE(got);
  CHECK(got->good_switches);
  CHECK(got->nodes == ids{1, 2, 3});
}

TEST_CASE("Slurm's dragonfly takes one leaf, or spreads over all of them") {
  const std::vector<slurm_switch> switches{
      {3, 0, range(0, 3)}, {3, 0, range(4, 7)}, {3, 0, range(8, 11)}, {slurm_switch::no_parent, 1, {}}};
  const slurm_tree network{switches, true};
  CHECK(network.place(machine(12), nodes(4))->nodes == range(0, 3));
  CHECK(network.place(machine(12, {0}), nodes(3))->nodes == range(4, 6));  // the leaf with most nodes, not the tightest
  CHECK(network.place(machine(12), nodes(7))->nodes == ids{0, 1, 2, 4, 5, 8, 9});
  CHECK_FALSE(network.place(machine(12), nodes(13)));
}

TEST_CASE("Slurm's torus gives boxes: light nodes, whole larger boxes spared, the fullest torus") {
  // 4 × 4 × 1: boxes of 2 × 1 and of 2 × 2.
  slurm_torus_part part;
  part.size = {4, 4, 1};
  for (std::uint32_t n = 0; n < 16; ++n) part.nodes.emplace_back(n);
  part.shapes = {{{2, 2, 1}, {}, {}}, {{2, 1, 1}, {}, {}}};
  const slurm_torus one{{part}};
  CHECK(*one.place(machine(16), 4) == std::vector<ids>{{0, 1, 4, 5}});
  CHECK_FALSE(one.place(machine(16), 3));  // no such shape
  CHECK(*one.place(machine(16), 2) == std::vector<ids>{{0, 1}});
  // Node 15 is taken, so its box is broken already: the rest of it goes first.
  CHECK(*one.place(machine(16, {15}), 2) == std::vector<ids>{{10, 11}});
  CHECK(*one.place(machine(16), 8, 4) == std::vector<ids>{{0, 1, 4, 5}, {8, 9, 12, 13}});
  CHECK_FALSE(one.place(machine(16), 6, 4));
  auto m = machine(16);
  m[0].weight = 9;
  CHECK(*one.place(m, 4) == std::vector<ids>{{8, 9, 12, 13}});
  // A box may run around the end; a cell without a node is no place.
  auto wrapped = part;
  wrapped.shapes = {{{2, 2, 1}, {3, 0, 0}, {}}};
  wrapped.nodes[2] = std::nullopt;
  CHECK(*slurm_torus{{wrapped}}.place(machine(16), 4) == std::vector<ids>{{3, 0, 7, 4}});
  CHECK(*slurm_torus{{wrapped}}.place(machine(16, {0}), 4) == std::vector<ids>{{11, 8, 15, 12}});
  // Two of them: the one with fewer idle nodes.
  auto second = part;
  for (std::uint32_t n = 0; n < 16; ++n) second.nodes[n] = 16 + n;
  CHECK(*slurm_torus{{part, second}}.place(machine(32, {31}), 4) == std::vector<ids>{{16, 17, 20, 21}});
}

namespace {

/// Base blocks of four nodes.
std::vector<ids> base_blocks(std::uint32_t n) {
  std::vector<ids> out;
  for (std::uint32_t b = 0; b < n; ++b) out.push_back(range(4 * b, 4 * b + 3));
  return out;
}

}  // namespace

TEST_CASE("Slurm's blocks: the smallest level that holds the job, the fullest block, few base blocks") {
  struct row {
    const char* why;
    ids levels;
    ids busy;
    slurm_block_job job;
    std::vector<ids> expected;  // by segment; empty: refused
  };
  const row table[] = {
      {"equal base blocks: the last", {0, 1, 2}, {}, {4, 0, false, false}, {range(28, 31)}},
      {"the fullest that suffices", {0, 1, 2}, {12}, {3, 0, false, false}, {range(13, 15)}},
      {"two base blocks of one aggregate", {0, 1, 2}, {}, {6, 0, false, false}, {{24, 25, 28, 29, 30, 31}}},
      {"never across aggregates of that level", {0, 1}, {0, 8, 16, 24}, {8, 0, false, false}, {}},
      {"a level that does not exist is the whole machine", {0}, range(0, 23), {8, 0, false, false}, {range(24, 31)}},
      {"at most as many lower-level blocks as needed: the first aggregate has ten nodes, but on four base blocks",
       {0, 2},
       ids{8, 9, 10, 12, 13, 14} + range(24, 29),
       {10, 0, false, false},
       {range(16, 23) + ids{30, 31}}},
      {"a segment larger than the job is ignored", {0, 1, 2}, {}, {2, 4, false, false}, {{28, 29}}},
      {"segments may share a base block", {0, 1, 2}, {}, {4, 2, false, false}, {{28, 29}, {30, 31}}},
      {"or must not", {0, 1, 2}, {}, {4, 2, true, false}, {{28, 29}, {24, 25}}},
      {"segments are free to lie apart",
       {0, 1, 2},
       ids{4, 5, 12, 13, 20, 21} + range(28, 31),
       {6, 2, true, false},
       {{22, 23}, {14, 15}, {6, 7}}},
      {"or stay in one aggregate",
       {0, 1, 2},
       {0, 1, 2, 20, 21, 22, 28, 29, 30},
       {8, 2, false, true},
       {{12, 13}, {14, 15}, {8, 9}, {10, 11}}},
      {"a segment must divide the job", {0, 1, 2}, {}, {6, 4, false, false}, {}},
  };
  for (const auto& r : table) {
    CAPTURE(r.why);
    const slurm_block blocks{base_blocks(8), r.levels};
    const auto got = blocks.place(machine(32, r.busy), r.job);
    if (r.expected.empty()) {
      CHECK_FALSE(got);
      continue;
    }
    REQUIRE(got);
    CHECK(*got == r.expected);
  }
  const slurm_block blocks{base_blocks(8), {0, 1, 2}};
  CHECK(blocks.place(machine(32), {6, 4, false, false}).error() == slurm_block_refusal::bad_segment);
  CHECK(blocks.place(machine(32, {0}), {32, 0, false, false}).error() == slurm_block_refusal::no_fit);
  // Light nodes first, also where that leaves a fuller block for later.
  auto m = machine(32);
  for (std::uint32_t n = 4; n < 32; ++n) m[n].weight = 5;
  CHECK(*blocks.place(m, {2, 0, false, false}) == std::vector<ids>{{0, 1}});
}

TEST_CASE("Slurm's fragmentation: what is broken counts with everything around it") {
  const slurm_block blocks{base_blocks(8), {0, 1, 2}};
  std::vector<bool> usable(32, true);
  CHECK(blocks.fragmentation(usable) == 0);
  usable[0] = false;  // its base block, a pair and an aggregate of four: 7 base blocks, and one node
  CHECK(blocks.fragmentation(usable) == 7 * 4 + 1);
  usable[1] = false;
  CHECK(blocks.fragmentation(usable) == 7 * 4 + 2);
  usable[5] = false;  // another base block of the same pair
  CHECK(blocks.fragmentation(usable) == 8 * 4 + 3);
  usable[31] = false;
  CHECK(blocks.fragmentation(usable) == 15 * 4 + 4);
  // Of possible starts the one that breaks the least: two whole base blocks of a pair, not parts of three.
  CHECK(blocks.best_start({range(2, 9), range(8, 15), range(16, 23)}, 32) == 1);
  // An aggregate that is not whole for want of blocks does not count.
  const slurm_block odd{base_blocks(5), {0, 2}};
  CHECK(odd.fragmentation(std::vector<bool>(16, true)) == 1 * 4 + 4);
}

TEST_CASE("Fair Tree: a child of a better account goes before every child of a worse one") {
  using node = fair_tree_node;
  // Accounts 0 and 1 of equal shares, the first used less; a user of the first who used a lot still goes first.
  const std::vector<node> tree{{node::no_parent, 1, 100, false},
                               {node::no_parent, 1, 300, false},
                               {0, 1, 90, true},
                               {0, 1, 10, true},
                               {1, 1, 0, true},
                               {1, 1, 300, true}};
  const auto f = fair_tree::factors(tree);
  CHECK(f[3] == doctest::Approx(1.0));
  CHECK(f[2] == doctest::Approx(0.75));
  CHECK(f[4] == doctest::Approx(0.5));
  CHECK(f[5] == doctest::Approx(0.25));
}

namespace {

amount_list amounts(std::int64_t cpu, std::int64_t mem, std::int64_t gpu = 0) {
  amount_list a;
  a.set("cpu", cpu * 1000);
  a.set("mem", mem * 1000);
  if (gpu > 0) a.set("gpu", gpu * 1000);
  return a;
}

}  // namespace

TEST_CASE("kube-scheduler's scores on worked numbers") {
  const auto capacity = amounts(4000, 10000);
  const auto used = amounts(3000, 5000);
  const kube_load load{capacity, used};
  CHECK(kube_least_allocated{}.score(load) == (25 + 50) / 2);
  CHECK(kube_most_allocated{}.score(load) == (75 + 50) / 2);
  CHECK(kube_balanced_allocation{}.score(load) == 87);  // 1 - |0.75 - 0.5| / 2
  const kube_weights three{{"cpu", 1}, {"mem", 1}, {"gpu", 1}};
  const auto with_gpus = amounts(4000, 10000, 8);
  const auto used_gpus = amounts(4000, 0, 4);  // 1, 0 and 0.5: deviation sqrt(1/6)
  CHECK(kube_balanced_allocation{three}.score({with_gpus, used_gpus}) == 59);
  kube_requested_to_capacity shape;
  CHECK(shape.at(0) == 0);
  CHECK(shape.at(50) == 50);
  CHECK(shape.score(load) == 63);  // 75 and 50, rounded half up
  shape.shape = {{0, 10}, {50, 0}, {100, 5}};
  CHECK(shape.at(25) == 50);
  CHECK(shape.at(75) == 25);
  const auto over = amounts(5000, 10000);
  CHECK(kube_least_allocated{}.score({capacity, over}) == 0);
  // Three pods where there are none elsewhere: 100 × (max + min - s) / max.
  CHECK(kube_topology_spread({{{3, 0, 1}, 3, 1}}, 3) == std::vector<std::int64_t>{0, 100, 60});
  CHECK(kube_topology_spread({}, 2) == std::vector<std::int64_t>{100, 100});
  CHECK(kube_scored(99) == 99);
  CHECK(kube_scored(1000) == 420);
  CHECK(kube_scored(5000) == 500);
  CHECK(kube_scored(10000) == 500);
  CHECK(kube_scored(1000, 30) == 300);
}

TEST_CASE("kube-scheduler places a group in the first domain that holds most of it, and takes nothing back") {
  named_site site;
  site.levels = {"rack", "host"};
  for (const auto& [rack, name, gpus] : {std::tuple{"r1", "a", 2}, std::tuple{"r1", "b", 1}, std::tuple{"r2", "c", 4},
                                         std::tuple{"r2", "d", 1}, std::tuple{"r3", "e", 9}}) {
    site_node n;
    n.name = name;
    n.path = {std::string{rack}, std::string{name}};
    n.capacity = n.free = amounts(8000, 8000, gpus);
    site.nodes.push_back(n);
  }
  named_request g;
  g.name = "g";
  g.count = 5;
  g.level = "rack";
  g.per_task = amounts(1000, 1000, 1);
  const kube_most_allocated pack{{{"gpu", 1}}};
  auto got = kube_place_group(site, g, 5, pack);
  CHECK(got.outcome == named_answer::result::placed);
  REQUIRE(got.placements.size() == 2);
  CHECK(got.placements[0] == placed_count{{"c"}, 4});
  CHECK(got.placements[1] == placed_count{{"d"}, 1});
  g.count = 8;
  got = kube_place_group(site, g, 3, pack);
  CHECK(got.outcome == named_answer::result::placed);
  CHECK(got.placements.front().domain.front() == "e");
  g.count = 12;
  CHECK(kube_place_group(site, g, 12, pack).outcome == named_answer::result::unschedulable);
  CHECK(kube_place_group(site, g, 8, pack).outcome == named_answer::result::partial);
}

TEST_CASE("YARN's GPU sets: the cheapest free set, or the dearest") {
  // Two pairs of NVLink, the rest across sockets.
  const yarn_costs costs;
  std::vector<std::vector<std::int64_t>> cost(4, std::vector<std::int64_t>(4, costs.of(yarn_link::socket)));
  cost[0][1] = cost[1][0] = cost[2][3] = cost[3][2] = costs.of(yarn_link::nvlink);
  const yarn_gpu_sets sets{cost};
  CHECK(sets.choose(0b1111, 2) == std::uint64_t{0b0011});
  CHECK(sets.choose(0b1110, 2) == std::uint64_t{0b1100});
  CHECK(sets.choose(0b1111, 2, true) == std::uint64_t{0b1010});
  CHECK(sets.choose(0b0101, 2) == std::uint64_t{0b0101});
  CHECK(sets.choose(0b1111, 3) == std::uint64_t{0b0111});
  CHECK(sets.choose(0b1000, 1) == std::uint64_t{0b1000});
  CHECK(sets.choose(0b1111, 4) == std::uint64_t{0b1111});
  CHECK_FALSE(sets.choose(0b0111, 4));
  // The original takes one PCIe switch for dearer than a socket; whoever knows better says so.
  CHECK(costs.of(yarn_link::one_pcie_switch) > costs.of(yarn_link::socket));
}

TEST_CASE("NUMA nodes: the fewest, then the closest; unknown distances are all alike") {
  const auto part = [](std::int64_t id, std::int64_t cpu, std::map<std::int64_t, std::int64_t> d) {
    numa_part p;
    p.id = id;
    p.free.set("cpu", cpu * 1000);
    p.distance = std::move(d);
    return p;
  };
  amount_list four;
  four.set("cpu", 4000);
  const std::vector<numa_part> parts{part(2, 2, {{2, 10}, {5, 30}, {1, 20}}), part(5, 2, {{5, 10}, {2, 30}, {1, 12}}),
                                     part(1, 2, {{1, 10}, {2, 20}, {5, 12}})};
  const auto got = least_numa(parts, four);
  REQUIRE(got);
  CHECK(got->ids == std::vector<std::int64_t>{1, 5});
  CHECK(got->least_distance);
  four.set("cpu", 7000);
  CHECK_FALSE(least_numa(parts, four));
  four.set("gpu", 1000);
  CHECK_FALSE(least_numa(parts, four));
}

TEST_CASE("Kueue and Koordinator on the worked numbers of their documents") {
  // Capacities 3, 3, 2, 1 and 7 tasks: best fit gives 3, 3, 0, 1; least free gives 1, 3, 2, 1
  // (in some order of the two that are equal).
  const auto walked = [](const std::vector<std::int64_t>& free, std::int64_t count, std::int64_t segment, bool most) {
    named_site site;
    site.levels = {"host"};
    for (std::size_t i = 0; i < free.size(); ++i) {
      site_node n;
      n.name = std::string(1, static_cast<char>('a' + static_cast<int>(i)));
      n.path = {n.name};
      n.capacity.set("cpu", free[i] * 1000);
      n.capacity.set("pods", 100'000);
      n.free = n.capacity;
      site.nodes.push_back(n);
    }
    named_request r;
    r.name = "r";
    r.count = count;
    r.per_task.set("cpu", 1000);
    r.mode = most ? topology_mode::preferred : topology_mode::unconstrained;
    r.level = "host";
    if (segment > 1) r.segments = {{"host", segment}};
    const auto got = kueue_topology{site}.place({r});
    std::vector<std::int64_t> out(free.size(), 0);
    for (const auto& p : got[0].placements) out[static_cast<std::size_t>(p.domain[0][0] - 'a')] = p.count;
    return out;
  };
  using v = std::vector<std::int64_t>;
  CHECK(walked({3, 3, 2, 1}, 7, 1, true) == v{3, 3, 0, 1});
  CHECK(walked({3, 3, 2, 1}, 7, 1, false) == v{3, 1, 2, 1});  // of the two equal ones the first is filled
  CHECK(walked({6, 5, 4, 3, 2}, 12, 2, true) == v{6, 0, 4, 0, 2});
  CHECK(walked({6, 5, 4, 3, 2}, 10, 2, false) == v{0, 2, 4, 2, 2});
}
