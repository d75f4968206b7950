#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/presets.hpp"
#include "berth/core/random.hpp"
#include "berth/place.hpp"
#include "berth/solver/explain.hpp"
#include "berth/solver/explain_text.hpp"
#include "berth/solver/placer.hpp"
#include "berth/solver/validate.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "solver/random_fabric.hpp"

// Gangs with a guaranteed rate between their nodes, rails, NVLink domains that span nodes.

namespace {

using namespace berth_test;

constexpr std::int64_t giga = 1'000'000'000;

/// What trying every share of the tasks over the nodes finds.
struct by_trying {
  const cluster& c;
  const gang& g;
  std::vector<std::uint32_t> most, taken;
  std::uint64_t best_tasks = 0;
  unsigned best_level = 0;

  explicit by_trying(const cluster& cl, const gang& ga) : c{cl}, g{ga}, taken(cl.node_count()) {
    const task_shape& t = g.groups[0].shape;
    for (std::uint32_t n = 0; n < c.node_count(); ++n) {
      most.push_back(count_bits(c.node(node_id{n}).free) / t.devices);
      if (t.per_node != 0) most.back() = std::min(most.back(), t.per_node);
    }
    share(0, 0);
  }
  void share(std::uint32_t n, std::uint64_t sum) {
    if (sum > g.groups[0].wanted) return;
    if (n == c.node_count()) {
      if (sum >= g.groups[0].minimum) judge(sum);
      return;
    }
    for (taken[n] = 0; taken[n] <= most[n]; ++taken[n]) share(n + 1, sum + taken[n]);
    taken[n] = 0;
  }
  void judge(std::uint64_t sum) {
    const std::int64_t k = g.groups[0].shape.devices, all = static_cast<std::int64_t>(sum) * k,
                       rate = g.between_nodes.count();
    const auto nodes = std::count_if(taken.begin(), taken.end(), [](std::uint32_t x) { return x != 0; });
    if (nodes > 1 && rate > 50 * giga) return;
    unsigned narrowest = 0;
    for (std::uint8_t l = 0; l < c.tree().level_count(); ++l) {
      std::uint32_t used = 0;
      for (std::uint32_t d = 0; d < c.tree().domain_count(level_id{l}); ++d) {
        std::int64_t in = 0;
        const id_range range = c.tree().at(level_id{l}, domain_id{d}).nodes;
        for (std::uint32_t n = range.first; n < range.last; ++n) in += taken[n] * k;
        used += in != 0 ? 1U : 0U;
        if (l == 0 || in == 0 || in == all) continue;
        if (c.is_detached(level_id{l}, domain_id{d})) return;
        const std::int64_t need = std::min(in, all - in) * rate;
        if (need > 0 && (c.uplinks().is_unknown(l, d, 0) || need > c.uplinks().left(l, d, 0))) return;
      }
      if (used == 1) narrowest = l;
    }
    if (g.where == locality::required && narrowest < g.level.raw()) return;
    if (sum > best_tasks) best_tasks = sum, best_level = narrowest;
    else if (sum == best_tasks) best_level = std::max(best_level, narrowest);
  }
};

}  // namespace

TEST_CASE(
    "a guaranteed rate: placed exactly when some share over the nodes keeps it, in the narrowest domain that does") {
  random_source r{21};
  int placed = 0, refused = 0, named = 0;
  for (int round = 0; round < 60; ++round) {
    cluster c{random_fabric(r), {.jobs = 16, .tasks = 64}};
    placer place{c};
    for (std::uint32_t n = 0; n < c.node_count(); ++n)
      for (unsigned d = 0; d < 4; ++d)
        if (r.below(4) == 0) REQUIRE(c.set_device_health(node_id{n}, d, false));
    if (r.below(4) == 0) REQUIRE(c.set_uplink_health(c.tree().leaf_level(), domain_id{1}, false));
    for (std::uint64_t key = 0; key < 8; ++key) {
      CAPTURE(round);
      CAPTURE(key);
      const auto wanted = static_cast<std::uint32_t>(r.between(1, 7));
      gang g{.groups = {{.shape = {.devices = static_cast<std::uint32_t>(r.between(1, 3))},
                         .wanted = wanted,
                         .minimum = static_cast<std::uint32_t>(r.between(1, wanted))}},
             .between_nodes = bytes_per_second{static_cast<std::int64_t>(r.between(1, 11)) * 5 * giga}};
      if (r.below(4) == 0) g.where = locality::required, g.level = level_id{1};
      if (r.below(3) == 0) g.groups[0].shape.per_node = static_cast<std::uint32_t>(r.between(1, 2));
      const by_trying truth{c, g};
      const auto amounts = c.uplinks().amounts();
      const decision d = place(g);
      CHECK(c.uplinks().amounts() == amounts);
      REQUIRE((d.result == verdict::placed) == (truth.best_tasks != 0));
      if (d) {
        ++placed;
        CHECK(d.where.tasks.size() == truth.best_tasks);
        CHECK(d.level.raw() == truth.best_level);
        CHECK(d.where.between_nodes == g.between_nodes);
        REQUIRE(c.commit(job_key{key}, d.where));
      } else {
        ++refused;
        gang loose = g;
        loose.between_nodes = {};
        const bool room = place(loose).result == verdict::placed;
        CHECK(d.why.link.has_value() == room);  // there is room, so a link lacks it, and it has a name
        if (d.why.link) {
          ++named;
          CHECK(d.why.link->needs > d.why.link->left);
        }
      }
      CHECK(c.check_invariants());
    }
    for (std::uint64_t key = 0; key < 8; ++key) static_cast<void>(c.release(job_key{key}));
    CHECK(c.uplinks().is_untouched());
  }
  CHECK(placed > 50);
  CHECK(refused > 50);
  CHECK(named > 20);
}

TEST_CASE("an oversubscribed leaf: what its uplinks have left decides, and what is released can be promised again") {
  // Two leaves of four machines, 1:4: 8 of 32 cables go up, 400 GB/s, of which 320 are given out.
  const auto spec = make_preset("leaf-spine:nodes=8,per-leaf=4,oversubscription=4");
  REQUIRE(spec.has_value());
  cluster c{*spec, {.jobs = 8, .tasks = 64}};
  placer place{c};
  gang g{.groups = {{.shape = {.devices = 8}, .wanted = 6, .minimum = 6}},
         .between_nodes = bytes_per_second{20 * giga}};
  const auto d = place(g);  // 4 + 2 machines: min(32, 16) × 20 = 320
  REQUIRE(d);
  REQUIRE(c.commit(job_key{1}, d.where));
  const level_id leaf = c.tree().leaf_level();
  CHECK(c.uplinks().left(leaf.raw(), 0, 0) == 0);
  REQUIRE(c.release(job_key{1}));
  g.between_nodes = bytes_per_second{21 * giga};
  const auto no = place(g);
  CHECK(no.result == verdict::not_now);
  REQUIRE(no.why.link.has_value());
  CHECK(no.why.link->level == leaf);
  CHECK(no.why.link->left == 320 * giga);
  CHECK(no.why.link->needs == 336 * giga);
  const auto said = explain(c, g, no);
  CHECK(said.result == verdict::never);  // an empty fabric carries no more
  const auto text = explanation_sentences(said, g, *spec);
  bool named = false;
  for (const auto& line : text)
    named = named || line.find("of 336 GB/s needed, the uplinks of leaf-0 have 320 GB/s left") != std::string::npos;
  CHECK(named);
  // Seven machines at 40: 4 + 3 need min(32, 24) × 40; five machines as 4 + 1 need 8 × 40 = 320.
  g.groups[0].wanted = 7, g.groups[0].minimum = 1;
  g.between_nodes = bytes_per_second{40 * giga};
  const auto fewer = place(g);
  REQUIRE(fewer);
  CHECK(fewer.where.tasks.size() == 5);
  CHECK(fewer.score.tasks_missing == 2);
}

TEST_CASE("four GPUs per machine on a rail-optimised fabric: the same rails everywhere, and they are reported") {
  const auto spec = make_preset("rail:nodes=8,per-leaf=4");
  REQUIRE(spec.has_value());
  cluster c{*spec, {.jobs = 32, .tasks = 64}};
  placer place{c};
  // On every machine other GPUs are taken, so that the lowest free ones would not be the same rails.
  const task_shape three[] = {{.devices = 3}};
  for (std::uint32_t n = 0; n < 8; ++n) {
    const device_mask taken = n % 2 == 0 ? 0b0000'0111 : 0b0011'0001;
    const task_placement t[] = {{taken, node_id{n}, 0}};
    REQUIRE(c.commit(job_key{100 + n}, {t, three}));
  }
  gang g{.groups = {{.shape = {.devices = 3}, .wanted = 6, .minimum = 6}}, .rails = rail_rule::same};
  const auto d = place(g);
  REQUIRE(d);
  // Free everywhere are 3, 6 and 7.
  CHECK(d.rails == 0b1100'1000);
  for (const auto& t : d.where.tasks) CHECK(t.devices == 0b1100'1000);
  CHECK(validate(c, g, d));
  std::vector<task_placement> tasks{d.where.tasks.begin(), d.where.tasks.end()};
  std::size_t moved = 0;  // to GPU 2, which is free on every other machine and on another rail than GPU 3
  while (moved < tasks.size() && (c.node(tasks[moved].node).free & 0b100U) == 0) ++moved;
  REQUIRE(moved < tasks.size());
  tasks[moved].devices ^= 0b1100;
  placement other = d.where;
  other.tasks = tasks;
  CHECK(validate(c, g, other).fault == placement_fault::uneven_rails);
  g.groups[0].wanted = g.groups[0].minimum = 4;
  const auto four = place(g);
  REQUIRE(four);
  for (const auto& t : four.where.tasks) CHECK(t.devices == four.where.tasks[0].devices);
  CHECK(four.rails == four.where.tasks[0].devices);
  g.groups[0].shape.devices = 4;
  g.groups[0].wanted = g.groups[0].minimum = 5;
  CHECK(place(g).result == verdict::not_now);  // only four machines share four rails
  g.rails = rail_rule::any;
  const auto any = place(g);
  CHECK(any.result == verdict::placed);
  CHECK(any.rails == 0);
}

/// A machine whose devices are on a rail each, from `first` on.
node_shape on_rails(const char* name, unsigned devices, unsigned first) {
  node_shape s = make_plain_shape(name, devices, "m", cpus(64), gibibytes(64));
  for (unsigned d = 0; d < devices; ++d) {
    nic_shape& card = s.nics.emplace_back();
    card.devices = bit(d);
    card.rail = static_cast<std::uint8_t>(first + d);
  }
  return s;
}
cluster_spec of_kinds(std::vector<node_shape> shapes, std::uint32_t per_leaf) {
  cluster_spec s;
  s.tree = domain_tree_builder::regular({"cluster", "leaf"}, {2}, per_leaf);
  s.shapes = std::move(shapes);
  for (std::uint32_t n = 0; n < 2 * per_leaf; ++n)
    s.nodes.push_back({"n" + std::to_string(n),
                       shape_id{static_cast<std::uint16_t>(n * s.shapes.size() / (2 * per_leaf))},
                       {},
                       cpus(64),
                       gibibytes(64)});
  return s;
}

TEST_CASE(
    "the same rails are found among sixteen of which few are free, and on machines of another kind than the first") {
  cluster wide{of_kinds({on_rails("sixteen", 16, 0)}, 2), {.jobs = 8, .tasks = 64}};
  placer place{wide};
  const task_shape twelve{.devices = 12};
  for (std::uint32_t n = 0; n < 4; ++n) {
    const task_placement t{0xfff0, node_id{n}, 0};
    REQUIRE(wide.commit(job_key{n}, {{&t, 1}, {&twelve, 1}}));
  }
  gang g{.groups = {{.shape = {.devices = 4}, .wanted = 2, .minimum = 2}}, .rails = rail_rule::same};
  const decision d = place(g);
  REQUIRE(d);
  CHECK(d.rails == 0xf);
  CHECK(validate(wide, g, d));

  cluster two{of_kinds({on_rails("first", 4, 0), on_rails("second", 8, 4)}, 2), {.jobs = 8, .tasks = 64}};
  placer on_two{two};
  g.groups[0].shape.devices = 8;
  const decision second = on_two(g);
  REQUIRE(second);
  CHECK(second.rails == 0xff0);
  CHECK(validate(two, g, second));
  g.groups[0].wanted = g.groups[0].minimum = 3;
  CHECK(on_two(g).result == verdict::never);

  // More sets than are tried here: what a first look does not find, counting does, or it says that it does not know.
  cluster large{of_kinds({on_rails("sixteen", 16, 0)}, 2), {.jobs = 8, .tasks = 64}};
  placer on_large{large};
  const task_shape eight{.devices = 8};
  for (std::uint32_t n = 0; n < 4; ++n) {
    // Rails 0 to 3 are free everywhere, and four others on every node.
    const task_placement t{0xfff0 & ~(device_mask{0xf0} << (n % 3 * 4)), node_id{n}, 0};
    REQUIRE(large.commit(job_key{n}, {{&t, 1}, {&eight, 1}}));
  }
  for (std::uint32_t devices = 1; devices <= 4; ++devices) {
    gang h{.groups = {{.shape = {.devices = devices}, .wanted = 4, .minimum = 4}}, .rails = rail_rule::same};
    h.groups[0].shape.per_node = 1;
    CAPTURE(devices);
    const decision four = on_large(h);
    REQUIRE(four);
    CHECK(validate(large, h, four));
  }
}

TEST_CASE(
    "gangs on the same rails: placed where some set of rails has room, refused where none has, on two kinds of "
    "machine") {
  random_source random{77};
  int placed = 0, refused = 0;
  for (int round = 0; round < 300; ++round) {
    cluster c{of_kinds({on_rails("low", 4, 0), on_rails("high", 4, 2)}, 2), {.jobs = 8, .tasks = 64}};
    for (std::uint32_t n = 0; n < 4; ++n) {
      const device_mask held = random.below(16);
      const task_shape shape{.devices = count_bits(held), .cpu = cpus(1)};
      const task_placement t{held, node_id{n}, 0};
      REQUIRE(c.commit(job_key{n}, {{&t, 1}, {&shape, 1}}));
    }
    const auto k = static_cast<std::uint32_t>(random.between(1, 3));
    const auto tasks = static_cast<std::uint32_t>(random.between(1, 6));
    gang g{.groups = {{.shape = {.devices = k}, .wanted = tasks, .minimum = tasks}}, .rails = rail_rule::same};
    // A device has a rail of its own, so that a set of rails is worth as many tasks on every node that has it free.
    std::uint32_t free[4], most = 0;
    for (std::uint32_t n = 0; n < 4; ++n) {
      free[n] = static_cast<std::uint32_t>(c.node(node_id{n}).free) << (n < 2 ? 0 : 2);
      most = std::max(most, count_bits(free[n]) / k);
    }
    for (std::uint32_t set = 1; set < 64; ++set) {
      std::uint32_t here = 0;
      for (const std::uint32_t f : free) here += (f & set) == set ? count_bits(set) / k : 0;
      most = std::max(most, here);
    }
    placer place{c};
    const decision d = place(g);
    CAPTURE(round);
    REQUIRE((d.result == verdict::placed) == (most >= tasks));
    if (d) CHECK(validate(c, g, d));
    ++(d ? placed : refused);
  }
  CHECK(placed > 50);
  CHECK(refused > 50);
}

TEST_CASE("planes: a rate is taken from the uplinks of the gang's own rails, and free rails are found") {
  const auto spec = make_preset("rail:nodes=4,per-leaf=2,oversubscription=2");
  REQUIRE(spec.has_value());
  cluster c{*spec, {.jobs = 32, .tasks = 64}};
  placer place{c};
  // One cable of 50 GB/s per rail and leaf, 40 given out; rails 0 and 1 are taken between the two leaves.
  const task_shape two[] = {{.devices = 2}};
  const task_placement here[] = {{0b11, node_id{0}, 0}, {0b11, node_id{2}, 0}};
  REQUIRE(c.commit(job_key{1}, {here, two, bytes_per_second{40 * giga}}));
  gang g{.groups = {{.shape = {.devices = 6}, .wanted = 3, .minimum = 3}},
         .between_nodes = bytes_per_second{40 * giga}};
  const auto d = place(g);
  REQUIRE(d);
  CHECK(d.rails == 0b1111'1100);
  for (const auto& t : d.where.tasks) CHECK(t.devices == 0b1111'1100);
  REQUIRE(c.commit(job_key{2}, d.where));
  // Two GPUs on the rails that are left without bandwidth: refused across leaves, and the rail has a name.
  const auto no = place(
      {.groups = {{.shape = {.devices = 2}, .wanted = 8, .minimum = 8}}, .between_nodes = bytes_per_second{giga}});
  CHECK(no.result == verdict::not_now);
  g.groups[0].shape.devices = 1;
  g.groups[0].wanted = g.groups[0].minimum = 9;  // eight GPUs are left on one machine, two under the other leaf
  const auto across = place(g);
  CHECK(across.result == verdict::not_now);
  REQUIRE(across.why.link.has_value());
  CHECK(across.why.link->level == c.tree().leaf_level());
  CHECK(across.why.link->left == 0);
  g.groups[0].wanted = g.groups[0].minimum = 2;
  CHECK(place(g).result == verdict::placed);  // on one machine no link is needed
  for (const std::uint64_t key : {1U, 2U}) REQUIRE(c.release(job_key{key}));
  CHECK(c.uplinks().is_untouched());
}

TEST_CASE("an NVLink domain of several nodes comes before a leaf, and is kept whole") {
  const auto spec = make_preset("nvl72:racks=4,racks-per-leaf=2");
  REQUIRE(spec.has_value());
  cluster c{*spec, {.jobs = 8, .tasks = 128}};
  placer place{c};
  const auto nvlink = c.tree().find_level("nvlink");
  REQUIRE(nvlink.has_value());
  gang g{.groups = {{.shape = {.devices = 4}, .wanted = 18, .minimum = 18}},
         .between_nodes = bytes_per_second{40 * giga}};
  const auto d = place(g);
  REQUIRE(d);
  CHECK(d.level == *nvlink);
  REQUIRE(c.commit(job_key{1}, d.where));
  CHECK(c.uplinks().is_untouched());  // nothing leaves the rack
  // Half a rack is free in two racks of a leaf: one rack of the other leaf holds the gang instead.
  g.groups[0].wanted = g.groups[0].minimum = 10;
  const auto e = place(g);
  REQUIRE(e);
  CHECK(e.level == *nvlink);
  // 20 trays need two racks: one leaf.
  g.groups[0].wanted = g.groups[0].minimum = 20;
  const auto f = place(g);
  REQUIRE(f);
  CHECK(f.score.domains_used[nvlink->index()] == 2);
  CHECK(c.tree().level_name(f.level) == "leaf");
  g.between_nodes = bytes_per_second{51 * giga};
  const auto no = place(g);
  CHECK(no.result == verdict::not_now);
  CHECK(no.why.link.has_value());
}

TEST_CASE("several groups with a rate are placed whole, or refused with the link that lacks it") {
  const auto spec = make_preset("leaf-spine:nodes=8,per-leaf=4,oversubscription=4");
  REQUIRE(spec.has_value());
  cluster c{*spec, {.jobs = 8, .tasks = 64}};
  placer place{c};
  gang g{.groups = {{.shape = {.devices = 8}, .wanted = 3, .minimum = 3},
                    {.shape = {.devices = 4}, .wanted = 6, .minimum = 6}},
         .between_nodes = bytes_per_second{10 * giga}};
  const auto d = place(g);
  REQUIRE(d);
  CHECK(c.commit(job_key{1}, d.where).has_value());
  REQUIRE(c.release(job_key{1}));
  g.between_nodes = bytes_per_second{49 * giga};
  const auto no = place(g);
  CHECK(no.result == verdict::not_now);
  CHECK(no.where.tasks.empty());
  REQUIRE(no.why.link.has_value());
  g.between_nodes = bytes_per_second{-1};
  CHECK(place(g).result == verdict::invalid);
  CHECK(place(g).why.fault == gang_fault::bad_bandwidth);
}

TEST_CASE("a rate with needs inside the nodes: both are kept") {
  auto spec = *make_preset("leaf-spine:nodes=4,per-leaf=2,oversubscription=2");
  cluster c{spec, {.jobs = 8, .tasks = 64, .bindings = true}};
  placer place{c};
  gang g{
      .groups = {{.shape = {.devices = 4, .cpu = cpus(60), .bind = {.numa = numa_rule::single_node, .near_nic = true}},
                  .wanted = 6,
                  .minimum = 6}},
      .between_nodes = bytes_per_second{20 * giga}};
  REQUIRE(c.set_nic_health(node_id{0}, 2, false));
  const auto d = place(g);
  REQUIRE(d);
  for (const auto& t : d.where.tasks) {
    CHECK((t.devices == 0x0f || t.devices == 0xf0));
    CHECK((t.node != node_id{0} || t.devices == 0xf0));
  }
  REQUIRE(c.commit(job_key{1}, d.where));
  CHECK(c.check_invariants());
  REQUIRE(c.release(job_key{1}));
  CHECK(c.uplinks().is_untouched());
  CHECK(c.check_invariants());
}
