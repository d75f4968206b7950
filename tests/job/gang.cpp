#include "berth/job/gang.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include "berth/cluster/cluster.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace {

using namespace berth;

cluster small() {
  cluster_spec s;
  s.tree = domain_tree_builder::regular({"cluster", "leaf"}, {2}, 2);
  s.shapes = {make_plain_shape("eight", 8, "m", cpus(16), gibibytes(64))};
  for (int n = 0; n < 4; ++n) s.nodes.push_back({"", shape_id{0}, {}, cpus(16), gibibytes(64)});
  return cluster{s};
}

/// A gang of two groups that has no fault.
gang sound() {
  gang g;
  g.groups.push_back({.name = "leader", .shape = {.devices = 1}, .wanted = 2, .minimum = 1});
  g.groups.push_back({.name = "worker", .shape = {.devices = 2, .cpu = cpus(1)}, .wanted = 6, .minimum = 3});
  g.segments = segment_request{.count = 2, .level = level_id{1}};
  return g;
}

struct verdict_of {
  gang_fault fault{};
  std::uint32_t group = 0;
  friend bool operator==(const verdict_of&, const verdict_of&) = default;
};
verdict_of check(const gang& g) {
  const cluster c = small();
  verdict_of v;
  v.fault = check_gang(g, c, v.group);
  return v;
}

}  // namespace

TEST_CASE("a gang is one task anywhere until it is told more") {
  const task_group t{.name = "w", .shape = {.devices = 1}};
  CHECK(t.wanted == 1);
  CHECK(t.minimum == 1);
  CHECK(t.shape.filter == filter_id{0});  // every node, every device
  const gang g{.groups = {t}};
  CHECK(g.where == locality::unconstrained);
  CHECK_FALSE(g.segments);
  CHECK(check(g) == verdict_of{});
  CHECK(check(sound()) == verdict_of{});
}

TEST_CASE("a task shape asks for something, for nothing negative, and for no more than a node may have") {
  CHECK(task_shape{.devices = 1}.is_valid());
  CHECK(task_shape{.cpu = cpu_millis{1}}.is_valid());
  CHECK(task_shape{.memory = bytes{1}}.is_valid());
  CHECK(task_shape{.devices = max_devices_per_node}.is_valid());
  CHECK_FALSE(task_shape{}.is_valid());
  CHECK_FALSE(task_shape{.devices = max_devices_per_node + 1}.is_valid());
  CHECK_FALSE(task_shape{.devices = 1, .cpu = cpu_millis{-1}}.is_valid());
  CHECK_FALSE(task_shape{.devices = 1, .memory = bytes{-1}}.is_valid());
  CHECK_FALSE(task_shape{.devices = 1, .cpu = cpu_millis{task_shape::amount_limit}}.is_valid());
  CHECK_FALSE(task_shape{.devices = 1, .memory = bytes{task_shape::amount_limit}}.is_valid());
}

TEST_CASE("every fault of a gang is named, with the group at fault") {
  CHECK(check({}) == verdict_of{gang_fault::no_groups, 0});
  const auto with = [](auto change) {
    gang g = sound();
    change(g);
    return check(g);
  };
  CHECK(with([](gang& g) { g.groups[1].shape = {}; }) == verdict_of{gang_fault::bad_shape, 1});
  CHECK(with([](gang& g) { g.groups[1].shape.cpu = cpus(-1); }) == verdict_of{gang_fault::bad_shape, 1});
  CHECK(with([](gang& g) { g.groups[0].shape.filter = filter_id{1}; }) == verdict_of{gang_fault::bad_shape, 0});
  CHECK(with([](gang& g) { g.groups[0].shape.filter = filter_id{}; }) == verdict_of{gang_fault::bad_shape, 0});
  CHECK(with([](gang& g) { g.groups[0].wanted = 0; }) == verdict_of{gang_fault::bad_count, 0});
  CHECK(with([](gang& g) { g.groups[1].minimum = 0; }) == verdict_of{gang_fault::bad_count, 1});
  CHECK(with([](gang& g) { g.groups[1].minimum = 7; }) == verdict_of{gang_fault::bad_count, 1});
  CHECK(with([](gang& g) { g.where = locality::required, g.level = level_id{2}; }) ==
        verdict_of{gang_fault::bad_level, 0});
  CHECK(with([](gang& g) { g.where = locality::preferred, g.level = level_id{}; }) ==
        verdict_of{gang_fault::bad_level, 0});
  CHECK(with([](gang& g) { g.level = level_id{9}; }) == verdict_of{});  // unconstrained: nobody reads it
  CHECK(with([](gang& g) { g.segments->level = level_id{2}; }) == verdict_of{gang_fault::bad_level, 0});
  CHECK(with([](gang& g) { g.segments->count = 0; }) == verdict_of{gang_fault::bad_segments, 0});
  CHECK(with([](gang& g) { g.segments->count = 3; }) == verdict_of{gang_fault::bad_segments, 0});
  CHECK(with([](gang& g) { g.groups[1].wanted = 7; }) == verdict_of{gang_fault::bad_segments, 1});
  CHECK(with([](gang& g) { g.groups[1].minimum = 4; }) ==
        verdict_of{gang_fault::bad_segments, 1});  // a segment and a third
}

TEST_CASE("a placer says what is wrong with a gang, and what is too large for it") {
  cluster c = small();
  placer place{c, fewest_domains{}, bin_pack{}, best_bandwidth{}, {.tasks = 8, .groups = 2}};
  gang g = sound();
  CHECK(place(g).result == verdict::placed);
  g.groups[1].minimum = 0;
  const decision faulty = place(g);
  CHECK(faulty.result == verdict::invalid);
  CHECK(faulty.why.fault == gang_fault::bad_count);
  CHECK(faulty.why.group == 1);

  gang many;
  many.groups.push_back({.name = "w", .shape = {.devices = 1}, .wanted = 9, .minimum = 1});
  CHECK(place(many).result == verdict::capacity_exhausted);
  many.groups[0].wanted = std::numeric_limits<std::uint32_t>::max();
  many.groups.push_back(many.groups[0]);  // their sum does not fit 32 bits
  CHECK(place(many).result == verdict::capacity_exhausted);
  gang groups;
  for (int i = 0; i < 3; ++i) groups.groups.push_back({.name = "w", .shape = {.devices = 1}});
  CHECK(place(groups).result == verdict::capacity_exhausted);
}
