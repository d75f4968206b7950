#include "berth/cluster/cluster.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "berth/cluster/change_feed.hpp"
#include "berth/cluster/transaction.hpp"
#include "berth/core/random.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "six_nodes.hpp"

using namespace six;

namespace {

// The hot path neither throws nor hides that it could.
static_assert(noexcept(std::declval<cluster&>().commit(job_key{}, placement{})));
static_assert(noexcept(std::declval<cluster&>().release(job_key{})));
static_assert(noexcept(std::declval<cluster&>().set_device_health(node_id{}, 0U, true)));
static_assert(noexcept(std::declval<cluster&>().set_node_usable(node_id{}, true)));
static_assert(noexcept(std::declval<cluster&>().set_uplink_health(level_id{}, domain_id{}, true)));
static_assert(noexcept(std::declval<cluster&>().hold(node_id{}, device_mask{}, cpu_millis{}, bytes{})));
static_assert(noexcept(std::declval<cluster&>().unhold(node_id{}, device_mask{}, cpu_millis{}, bytes{})));
static_assert(noexcept(std::declval<const cluster&>().counters(task_shape{})));
static_assert(noexcept(transaction{std::declval<cluster&>()}));
static_assert(noexcept(std::declval<transaction&>().commit()) && noexcept(std::declval<transaction&>().rollback()));
static_assert(std::is_copy_constructible_v<cluster> && std::is_copy_assignable_v<cluster>);
static_assert(std::is_nothrow_move_constructible_v<cluster> && std::is_nothrow_move_assignable_v<cluster>);
static_assert(!std::is_copy_constructible_v<transaction>);

}  // namespace

TEST_CASE("commit takes devices, CPU and memory, and release gives them back to the bit") {
  cluster c{six_nodes(), plenty};
  const auto empty = state(c);
  REQUIRE(commit(c, 7, two, {on(1, 0b0011), on(1, 0b1100), on(4, 0b1001)}));
  CHECK(c.node(node_id{1}).free == 0);
  CHECK(c.node(node_id{1}).cpu == cpus(12));
  CHECK(c.node(node_id{1}).memory == gibibytes(56));
  CHECK(c.node(node_id{1}).tasks == 2);
  CHECK(c.node(node_id{4}).free == 0b0110);
  CHECK(c.job_count() == 1);
  std::vector<device_mask> devices;
  CHECK(c.for_each_task(job_key{7}, [&](const committed_task& t) { devices.push_back(t.devices); }));
  CHECK(devices == std::vector<device_mask>{0b0011, 0b1100, 0b1001});  // in the order of the placement
  CHECK(c.check_invariants());
  REQUIRE(release(c, 7));
  CHECK(state(c) == empty);
  CHECK(c.job_count() == 0);
  CHECK_FALSE(c.for_each_task(job_key{7}, [](const committed_task&) {}));
}

TEST_CASE("a placement with one impossible task changes nothing, and names the node") {
  cluster c{six_nodes(), plenty};
  REQUIRE(commit(c, 1, one, {on(2, 0b0001)}));
  const auto before = state(c);
  for (const auto& [bad, why] : std::vector<std::pair<task_placement, cluster_errc>>{
           {on(2, 0b0001), cluster_errc::conflict},           // held by a job
           {on(0, 0b0001), cluster_errc::conflict},           // twice in the same placement
           {on(3, 0b10000), cluster_errc::conflict},          // no such device
           {on(3, 0b0011), cluster_errc::bad_argument},       // more devices than the shape says
           {on(6, 0b0001), cluster_errc::bad_argument},       // no such node
           {{1, node_id{3}, 1}, cluster_errc::bad_argument},  // no such group
           {{1, node_id{}, 0}, cluster_errc::bad_argument}}) {
    const auto r = commit(c, 2, one, {on(0, 0b0001), on(1, 0b0001), bad});
    REQUIRE(refused(r, why));
    CHECK(r.error().node == bad.node);
    CHECK(state(c) == before);
    CHECK(c.job_count() == 1);
  }
  const task_shape much_cpu{1, cpus(17), {}}, much_memory{1, {}, gibibytes(65)}, nothing{}, negative{1, cpus(-1), {}};
  CHECK(refused(commit(c, 2, much_cpu, {on(0, 1)}), cluster_errc::conflict));
  CHECK(refused(commit(c, 2, much_memory, {on(0, 1)}), cluster_errc::conflict));
  CHECK(refused(commit(c, 2, nothing, {on(0, 0)}), cluster_errc::bad_argument));
  CHECK(refused(commit(c, 2, negative, {on(0, 1)}), cluster_errc::bad_argument));
  CHECK(refused(commit(c, 2, one, {}), cluster_errc::bad_argument));
  CHECK(state(c) == before);
  CHECK(c.check_invariants());
}

TEST_CASE("the same key with the same content is a no-op, with other content an error") {
  cluster c{six_nodes(), plenty};
  REQUIRE(commit(c, 1, two, {on(0, 0b0011), on(1, 0b0011)}));
  const auto before = state(c);
  const auto epoch = c.epoch();
  CHECK(commit(c, 1, two, {on(0, 0b0011), on(1, 0b0011)}));
  CHECK(c.epoch() == epoch);
  CHECK(refused(commit(c, 1, two, {on(0, 0b0011), on(1, 0b1100)}), cluster_errc::key_in_use));
  CHECK(refused(commit(c, 1, two, {on(1, 0b0011), on(0, 0b0011)}), cluster_errc::key_in_use));
  CHECK(refused(commit(c, 1, two, {on(0, 0b0011)}), cluster_errc::key_in_use));
  CHECK(refused(commit(c, 1, two, {on(0, 0b0011), on(1, 0b0011), on(2, 0b0011)}), cluster_errc::key_in_use));
  CHECK(refused(commit(c, 1, {2, cpus(1), gibibytes(4)}, {on(0, 0b0011), on(1, 0b0011)}), cluster_errc::key_in_use));
  CHECK(refused(commit(c, 1, two, {}), cluster_errc::key_in_use));
  task_shape filtered = two, bound = two, part = two, crowded = two;
  filtered.filter = c.add_filter({.all_of = {"ssd"}});
  bound.bind.numa = numa_rule::best_effort;
  part.part = part_need::share(500, 0);
  crowded.per_node = 1;  // says where to look, not what is held
  for (const task_shape& s : {filtered, bound, part})
    CHECK(refused(commit(c, 1, s, {on(0, 0b0011), on(1, 0b0011)}), cluster_errc::key_in_use));
  CHECK(commit(c, 1, crowded, {on(0, 0b0011), on(1, 0b0011)}));
  CHECK(c.epoch() == epoch);
  CHECK(release(c, 2));  // never there: nothing to give back
  CHECK(state(c) == before);
  CHECK(c.epoch() == epoch);
  REQUIRE(release(c, 1));
  const std::uint64_t released = c.epoch();
  CHECK(release(c, 1));  // again
  CHECK(c.epoch() == released);
}

TEST_CASE("filters past those that ids can tell apart are refused, and none of those before is taken for another") {
  cluster c{six_nodes(), plenty};
  const auto filter = [&](int i) { return c.add_filter({.all_of = {"host=" + std::to_string(i)}}); };
  CHECK(c.add_filter({}) == filter_id{0});
  int made = 1;
  while (filter(made) && filter(made).index() == static_cast<std::size_t>(made)) ++made;
  CHECK(made == 65'535);
  CHECK_FALSE(filter(made));
  CHECK_FALSE(filter(made + 1));
  const task_shape s{1, {}, {}, filter(made)};
  CHECK_FALSE(c.is_valid(s));
  CHECK(refused(commit(c, 1, s, {on(0, 1)}), cluster_errc::bad_argument));
  for (const int i : {1, 17, 40'000, 65'534}) CHECK(filter(i).index() == static_cast<std::size_t>(i));
  CHECK(c.add_filter({}) == filter_id{0});
  CHECK(c.check_invariants());
}

TEST_CASE("a job's filters and needs inside its nodes are kept with it, group by group") {
  cluster_spec spec = six_nodes();
  for (node_shape& s : spec.shapes) s.numa = {{low_bits(s.devices), s.cpu, s.memory}};
  spec.nodes[1].labels = {"ssd"};
  cluster_limits limits = plenty;
  limits.bindings = true;
  cluster c{spec, limits};
  task_shape near = one, filtered = one, other = one;
  near.bind = {numa_rule::single_node, false, true, {}};
  filtered.filter = c.add_filter({.all_of = {"ssd"}});
  other.filter = c.add_filter({.none_of = {"hdd"}});
  const tasks where{{0b01, node_id{0}, 0}, {0b10, node_id{1}, 1}, {0b10, node_id{0}, 0}};
  const std::vector<task_shape> asked{near, filtered};
  const auto again = [&](const task_shape& a, const task_shape& b) {
    const std::vector<task_shape> shapes{a, b};
    return c.commit(job_key{1}, {where, shapes});
  };
  REQUIRE(again(near, filtered));
  CHECK(again(near, filtered));
  task_shape nearer = near;
  nearer.bind.numa = numa_rule::restricted;  // on this machine the same NUMA node, but not the same rule
  for (const task_shape& s : {one, nearer, other}) CHECK(refused(again(s, filtered), cluster_errc::key_in_use));
  for (const task_shape& s : {one, other, near}) CHECK(refused(again(near, s), cluster_errc::key_in_use));
  // What a node is labelled since is no other content.
  REQUIRE(c.relabel(node_id{1}, {}));
  CHECK(again(near, filtered));
  // Neither a job before it nor one that comes back leaves anything behind.
  {
    transaction t{c};
    REQUIRE(release(c, 1));
    REQUIRE(commit(c, 1, one, {on(0, 0b01)}));
    CHECK(refused(again(near, filtered), cluster_errc::key_in_use));
  }
  CHECK(again(near, filtered));
  REQUIRE(release(c, 1));
  REQUIRE(commit(c, 1, one, {on(0, 0b01), on(1, 0b10), on(0, 0b10)}));
  CHECK(again(one, one));
  CHECK(refused(again(near, filtered), cluster_errc::key_in_use));
  CHECK(c.check_invariants());
}

TEST_CASE("every limit refuses what is past it, and only that") {
  cluster c{six_nodes(), {.jobs = 2, .tasks = 3, .journal = 2}};
  REQUIRE(commit(c, 1, one, {on(0, 1), on(1, 1)}));
  CHECK(refused(commit(c, 2, one, {on(2, 1), on(3, 1)}), cluster_errc::capacity_exhausted));  // a fourth task
  REQUIRE(commit(c, 2, one, {on(2, 1)}));
  REQUIRE(release(c, 1));
  REQUIRE(commit(c, 3, one, {on(3, 1)}));
  CHECK(refused(commit(c, 4, one, {on(4, 1)}), cluster_errc::capacity_exhausted));  // a third job
  REQUIRE(release(c, 2));
  {
    transaction t{c};
    REQUIRE(commit(c, 5, one, {on(4, 1)}));
    REQUIRE(c.set_node_usable(node_id{5}, false));
    const auto before = state(c);
    CHECK(refused(release(c, 5), cluster_errc::capacity_exhausted));
    CHECK(refused(c.set_node_usable(node_id{5}, true), cluster_errc::capacity_exhausted));
    CHECK(refused(c.set_device_health(node_id{4}, 3, false), cluster_errc::capacity_exhausted));
    CHECK(refused(c.set_uplink_health(leaf, domain_id{0}, false), cluster_errc::capacity_exhausted));
    CHECK(refused(c.relabel(node_id{0}, {"x"}), cluster_errc::capacity_exhausted));
    CHECK(state(c) == before);
    CHECK(c.set_node_usable(node_id{5}, false));  // no change needs no room
    t.commit();
  }
  // Room for later is made by reserve, also while jobs are stored.
  c.reserve({.jobs = 100, .tasks = 200, .live_shapes = 0, .journal = 100});
  for (std::uint64_t k = 10; k < 14; ++k) REQUIRE(commit(c, k, one, {on(1, bit(static_cast<unsigned>(k - 10)))}));
  CHECK(c.job_count() == 6);
  CHECK(c.for_each_task(job_key{3}, [](const committed_task& t) { CHECK(t.node == node_id{3}); }));
  CHECK(c.check_invariants());
}

TEST_CASE("without reserved jobs a cluster commits nothing") {
  cluster c{six_nodes()};
  CHECK(refused(commit(c, 1, one, {on(0, 1)}), cluster_errc::capacity_exhausted));
}

TEST_CASE("keys of any value are stored and found") {
  cluster c{six_nodes(), {.jobs = 24, .tasks = 24}};
  // Keys that agree in their low bits, in their high bits, and the extremes.
  std::vector<std::uint64_t> keys{0, ~std::uint64_t{0}};
  for (std::uint64_t i = 1; i < 12; ++i) keys.push_back(i << 32), keys.push_back(i << 52);
  for (std::size_t i = 0; i < 24; ++i)
    REQUIRE(commit(c, keys[i], one, {on(static_cast<std::uint32_t>(i / 4), bit(static_cast<unsigned>(i % 4)))}));
  for (std::size_t gone = 0; gone < 24; ++gone) {
    REQUIRE(release(c, keys[gone]));
    for (std::size_t i = 0; i < 24; ++i)
      CHECK(c.for_each_task(job_key{keys[i]}, [](const committed_task&) {}) == (i > gone));
  }
}

TEST_CASE("a dropped transaction leaves no trace, a committed one all of it") {
  cluster c{six_nodes(), plenty};
  REQUIRE(commit(c, 1, two, {on(0, 0b0011)}));
  const auto before = state(c);
  std::uint64_t epoch = c.epoch();
  {
    transaction t{c};
    REQUIRE(release(c, 1));
    REQUIRE(commit(c, 2, one, {on(0, 0b0001), on(3, 0b0001)}));
    REQUIRE(c.set_device_health(node_id{5}, 0, false));
    REQUIRE(c.set_node_usable(node_id{1}, false));
    REQUIRE(c.set_uplink_health(leaf, domain_id{1}, false));
    REQUIRE(c.relabel(node_id{2}, {"x"}));
    REQUIRE(c.set_link_health(node_id{2}, 0, 1, false));
    CHECK(t.is_open());
    CHECK(room(c, one) == 7);  // of leaf 0 alone: node 1 is drained, a device of node 0 is held
  }
  CHECK(state(c) == before);
  CHECK_FALSE(c.is_detached(leaf, domain_id{1}));
  CHECK_FALSE(c.any_detached());
  CHECK(c.class_of(node_id{2}).labels.empty());
  CHECK(c.job_count() == 1);
  CHECK(c.for_each_task(job_key{1}, [](const committed_task& t) { CHECK(t.devices == 0b0011); }));
  CHECK(room(c, one) == 22);
  CHECK(c.epoch() > epoch);
  CHECK(c.check_invariants());
  epoch = c.epoch();
  {
    transaction t{c};
    REQUIRE(release(c, 1));
    t.commit();
    CHECK_FALSE(t.is_open());
  }
  CHECK(room(c, one) == 24);
  CHECK(c.epoch() > epoch);
  CHECK(c.check_invariants());
}

TEST_CASE("a job that goes before anybody looked again was no change; one that others touched, or saw, was") {
  // Both leaves have one word of nodes.
  const auto gains = [](auto&& change) {
    cluster c{six_nodes(), plenty};
    REQUIRE(commit(c, 1, two, {on(1, 0b0011), on(4, 0b0011)}));
    const std::uint64_t before = room(c, two), mark = c.mark_changes();
    REQUIRE(commit(c, 2, two, {on(1, 0b1100), on(5, 0b1100)}));
    change(c);
    const bool gained = c.gained_since(mark);
    // The latest of the changes below that lasts: a device of node 1 is broken, or job 1 is gone.
    CHECK(room(c, two) == before - (c.node(node_id{1}).unhealthy != 0 ? 1 : 0) + (c.job_count() == 0 ? 2 : 0));
    CHECK(c.check_invariants());
    return gained;
  };
  CHECK_FALSE(gains([](cluster& c) { REQUIRE(release(c, 2)); }));
  CHECK_FALSE(gains([](cluster& c) {
    REQUIRE(release(c, 2));
    transaction t{c};
    REQUIRE(commit(c, 3, one, {on(0, 1), on(1, 0b0100), on(3, 1)}));
  }));
  CHECK(gains([](cluster& c) {
    static_cast<void>(room(c, two));
    REQUIRE(release(c, 2));
  }));
  CHECK(gains([](cluster& c) {
    REQUIRE(c.set_device_health(node_id{1}, 3, false));
    REQUIRE(release(c, 2));
  }));
  CHECK(gains([](cluster& c) {
    REQUIRE(release(c, 1));
    REQUIRE(release(c, 2));
  }));
  CHECK(gains([](cluster& c) {
    REQUIRE(commit(c, 3, two, {on(0, 0b0011), on(4, 0b1100)}));
    REQUIRE(release(c, 2));
    REQUIRE(release(c, 3));
  }));
  // A job that comes back to a word of nodes.
  CHECK(gains([](cluster& c) {
    REQUIRE(commit(c, 3, one, {on(2, 1), on(3, 1), on(2, 2)}));
    REQUIRE(release(c, 3));
    REQUIRE(release(c, 2));
  }));
}

TEST_CASE("savepoints nest: an inner undo keeps the outer changes, an outer undo takes the inner ones along") {
  cluster c{six_nodes(), plenty};
  REQUIRE(commit(c, 1, one, {on(0, 1)}));
  const auto start = state(c);
  {
    transaction outer{c};
    REQUIRE(release(c, 1));
    REQUIRE(commit(c, 1, one, {on(1, 1)}));  // the key again, elsewhere
    const auto middle = state(c);
    {
      transaction inner{c};
      REQUIRE(release(c, 1));
      REQUIRE(commit(c, 1, two, {on(2, 0b11)}));
      REQUIRE(commit(c, 2, two, {on(3, 0b11)}));
      inner.rollback();
      CHECK_FALSE(inner.is_open());
    }
    CHECK(state(c) == middle);
    CHECK(c.for_each_task(job_key{1}, [](const committed_task& t) { CHECK(t.node == node_id{1}); }));
    CHECK_FALSE(c.for_each_task(job_key{2}, [](const committed_task&) {}));
    {
      transaction inner{c};
      REQUIRE(release(c, 1));
      inner.commit();
    }
    CHECK(c.job_count() == 0);
    CHECK(c.check_invariants());
  }
  CHECK(state(c) == start);
  CHECK(c.for_each_task(job_key{1}, [](const committed_task& t) { CHECK(t.node == node_id{0}); }));
  CHECK(c.check_invariants());
}

TEST_CASE("what an open transaction released can come back, so its room in the store is not free yet") {
  cluster c{six_nodes(), {.jobs = 1, .tasks = 1}};
  REQUIRE(commit(c, 1, one, {on(0, 1)}));
  {
    transaction t{c};
    REQUIRE(release(c, 1));
    CHECK(refused(commit(c, 2, one, {on(0, 1)}), cluster_errc::capacity_exhausted));
    t.commit();
  }
  CHECK(commit(c, 2, one, {on(0, 1)}));
}

TEST_CASE("a broken device stays with its job and is not handed out afterwards until it is whole") {
  cluster c{six_nodes(), plenty};
  REQUIRE(commit(c, 1, two, {on(0, 0b0011)}));
  REQUIRE(c.set_device_health(node_id{0}, 0, false));
  REQUIRE(c.set_device_health(node_id{0}, 3, false));
  CHECK(c.node(node_id{0}).held == 0b0011);
  CHECK(c.node(node_id{0}).free == 0b0100);
  REQUIRE(release(c, 1));
  CHECK(c.node(node_id{0}).free == 0b0110);
  CHECK(refused(commit(c, 2, one, {on(0, 0b0001)}), cluster_errc::conflict));
  REQUIRE(c.set_device_health(node_id{0}, 0, true));
  CHECK(commit(c, 2, one, {on(0, 0b0001)}));
  CHECK(refused(c.set_device_health(node_id{0}, 4, false), cluster_errc::bad_argument));
  CHECK(refused(c.set_device_health(node_id{0}, 64, false), cluster_errc::bad_argument));
  CHECK(refused(c.set_device_health(node_id{6}, 0, false), cluster_errc::bad_argument));
}

TEST_CASE("a drained node keeps its jobs and takes no new ones") {
  cluster c{six_nodes(), plenty};
  REQUIRE(commit(c, 1, one, {on(0, 1)}));
  REQUIRE(c.set_node_usable(node_id{0}, false));
  CHECK(c.node(node_id{0}).free == 0);
  CHECK(c.node(node_id{0}).held == 1);
  CHECK(room(c, one) == 20);
  CHECK(room(c, {0, cpus(1), {}}) == 5 * 16);
  CHECK(refused(commit(c, 2, one, {on(0, 2)}), cluster_errc::conflict));
  CHECK(refused(commit(c, 2, {0, cpus(1), {}}, {on(0, 0)}), cluster_errc::conflict));
  REQUIRE(release(c, 1));
  REQUIRE(c.set_node_usable(node_id{0}, true));
  CHECK(room(c, one) == 24);
}

TEST_CASE("a domain whose uplink is down counts for itself and not for the domains around it") {
  cluster c{six_nodes(), plenty};
  REQUIRE(c.set_uplink_health(leaf, domain_id{1}, false));
  const live_shape& s = *c.counters(one);
  CHECK(s.capacity(1, 1) == 12);
  CHECK(s.capacity(1, 0) == 12);
  CHECK(s.capacity(0, 0) == 12);
  CHECK(c.potential(s, 0) == 24);  // what there would be with everything whole
  REQUIRE(commit(c, 1, one, {on(4, 1)}));
  CHECK(c.counters(one)->capacity(1, 1) == 11);
  CHECK(room(c, one) == 12);
  REQUIRE(c.set_uplink_health(leaf, domain_id{1}, true));
  CHECK(room(c, one) == 23);
  CHECK(refused(c.set_uplink_health(level_id{0}, domain_id{0}, false), cluster_errc::bad_argument));
  CHECK(refused(c.set_uplink_health(level_id{2}, domain_id{0}, false), cluster_errc::bad_argument));
  CHECK(refused(c.set_uplink_health(leaf, domain_id{2}, false), cluster_errc::bad_argument));
}

TEST_CASE("a broken link is not one of unknown rate: its pair loses its order, until it is whole") {
  cluster_spec spec = six_nodes();
  spec.shapes[0].bandwidth.set_unknown(0, 1, 100);
  spec.shapes[0].bandwidth.set_unknown(2, 3, -0.875F);
  cluster c{spec, plenty};
  const auto rank = [&](std::uint32_t n) { return c.shape_of(node_id{n}).bandwidth.rank(0, 1); };
  REQUIRE(c.set_link_health(node_id{1}, 0, 1, false));
  CHECK(rank(1) == -1);
  CHECK(rank(0) == 100);
  CHECK(c.shape_of(node_id{1}).bandwidth.rank(2, 3) == -0.875F);
  REQUIRE(c.set_link_health(node_id{1}, 0, 1, true));
  CHECK(rank(1) == 100);
  CHECK(c.shape_of(node_id{1}).bandwidth == c.shape_of(node_id{0}).bandwidth);
}

TEST_CASE("a broken link makes the bandwidth of its pair unknown on that node alone, until it is whole") {
  cluster_spec spec = six_nodes();
  for (unsigned a = 0; a < 4; ++a)
    for (unsigned b = 0; b < a; ++b) spec.shapes[0].bandwidth.set(a, b, gigabytes_per_second{100});
  cluster c{spec, plenty};
  REQUIRE(c.set_link_health(node_id{1}, 2, 0, false));
  CHECK_FALSE(c.shape_of(node_id{1}).bandwidth.between(0, 2));
  CHECK(c.shape_of(node_id{1}).bandwidth.between(0, 1));
  CHECK(c.shape_of(node_id{0}).bandwidth.between(0, 2));
  REQUIRE(c.set_link_health(node_id{1}, 0, 1, false));
  const std::size_t shapes = c.shapes().size();
  REQUIRE(c.set_link_health(node_id{3}, 0, 1, false));
  REQUIRE(c.set_link_health(node_id{3}, 0, 2, false));
  CHECK(c.shape_of(node_id{3}).bandwidth == c.shape_of(node_id{1}).bandwidth);
  REQUIRE(c.set_link_health(node_id{3}, 0, 2, true));
  REQUIRE(c.set_link_health(node_id{3}, 0, 1, true));
  CHECK(c.shape_of(node_id{3}).bandwidth == c.shape_of(node_id{0}).bandwidth);
  CHECK(c.shapes().size() == shapes + 1);  // equal states share one kind of machine
  CHECK(room(c, one) == 24);               // the devices stay usable
  CHECK(refused(c.set_link_health(node_id{0}, 1, 1, false), cluster_errc::bad_argument));
  CHECK(refused(c.set_link_health(node_id{0}, 1, 4, false), cluster_errc::bad_argument));
  CHECK(refused(c.set_link_health(node_id{9}, 0, 1, false), cluster_errc::bad_argument));
  CHECK(c.check_invariants());
}

TEST_CASE("a copy and its original live on separately, with all their counters and room") {
  cluster a{six_nodes(), plenty};
  REQUIRE(commit(a, 1, two, {on(0, 0b0011)}));
  CHECK(room(a, one) == 22);
  cluster b = a;
  REQUIRE(commit(b, 2, two, {on(0, 0b1100), on(5, 0b0011)}));
  CHECK(room(a, one) == 22);
  CHECK(room(b, one) == 18);
  CHECK(a.job_count() == 1);
  {
    transaction t{b};
    REQUIRE(release(b, 1));  // the copy has a journal of its own, as long as the original's
    REQUIRE(b.set_node_usable(node_id{3}, false));
    CHECK(room(b, one) == 16);
  }
  CHECK(room(b, one) == 18);
  CHECK(&a.counters(one)->layout() != &b.counters(one)->layout());
  {
    const cluster gone = b;  // counters must not look at a layout that has ended
    a = gone;
  }
  CHECK(room(a, one) == 18);
  CHECK(a.counters(one)->tightest(0, 0, 1, 10) == 1);
  REQUIRE(release(a, 2));
  CHECK(room(a, one) == 22);
  CHECK(a.check_invariants());
  CHECK(b.check_invariants());
}

TEST_CASE("a moved cluster is the same cluster") {
  std::vector<cluster> many;
  {
    cluster a{six_nodes(), plenty};
    REQUIRE(commit(a, 1, two, {on(0, 0b0011)}));
    CHECK(room(a, one) == 22);
    many.push_back(std::move(a));
  }
  many.emplace_back(six_nodes(), plenty);
  many.emplace_back(six_nodes(), plenty);
  std::swap(many[0], many[2]);
  cluster& a = many[2];
  CHECK(room(a, one) == 22);
  REQUIRE(commit(a, 2, one, {on(1, 1)}));
  CHECK(room(a, one) == 21);
  CHECK(a.counters(one)->tightest(0, 0, 1, 1) == 0);
  {
    transaction t{a};
    REQUIRE(release(a, 1));
  }
  CHECK(room(a, one) == 21);
  CHECK(room(many[0], one) == 24);
  for (const cluster& c : many) CHECK(c.check_invariants());
}

TEST_CASE("a moved cluster goes on publishing, a copy does not begin to") {
  cluster a{six_nodes(), plenty};
  change_feed feed{a.nodes()};
  a.attach(&feed);
  REQUIRE(commit(a, 1, one, {on(0, 1)}));
  const auto first = feed.head();
  CHECK(first > 0);
  cluster copy = a;
  REQUIRE(commit(copy, 2, one, {on(3, 1)}));
  CHECK(feed.head() == first);
  cluster moved = std::move(a);
  REQUIRE(commit(moved, 2, one, {on(4, 1)}));
  CHECK(feed.head() > first);
  CHECK(feed.read(4) == moved.node(node_id{4}));
  cluster other{six_nodes(), plenty};
  other = std::move(moved);
  const auto second = feed.head();
  REQUIRE(release(other, 2));
  CHECK(feed.head() > second);
  CHECK(feed.read(4) == other.node(node_id{4}));
}
