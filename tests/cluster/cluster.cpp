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
#include "effort.hpp"

namespace {

using namespace berth;

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

/// Two leaves of three nodes, four devices each; node ids 0 … 5.
cluster_spec six_nodes() {
  cluster_spec s;
  s.tree = domain_tree_builder::regular({"cluster", "leaf"}, {2}, 3);
  s.shapes = {make_plain_shape("quad", 4, "m", cpus(16), gibibytes(64)),
              make_plain_shape("octo", 8, "m", cpus(16), gibibytes(64))};
  for (int n = 0; n < 6; ++n) s.nodes.push_back({"n" + std::to_string(n), shape_id{0}, {}, cpus(16), gibibytes(64)});
  return s;
}
constexpr cluster_limits plenty{.jobs = 16, .tasks = 64};
const task_shape one{1, cpus(1), gibibytes(1)}, two{2, cpus(2), gibibytes(4)};
const level_id leaf{1};

using tasks = std::vector<task_placement>;
task_placement on(std::uint32_t node, device_mask devices) {
  return {devices, node_id{node}, 0};
}

expected<void, cluster_error> commit(cluster& c, std::uint64_t key, const task_shape& s, const tasks& t) {
  return c.commit(job_key{key}, {t, {&s, 1}});
}
expected<void, cluster_error> release(cluster& c, std::uint64_t key) {
  return c.release(job_key{key});
}
bool refused(const expected<void, cluster_error>& r, cluster_errc why) {
  return !r && r.error().code == why;
}
std::vector<node_state> state(const cluster& c) {
  return {c.nodes().begin(), c.nodes().end()};
}
std::uint64_t room(const cluster& c, const task_shape& s) {
  return c.counters(s)->capacity(0, 0);
}

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
  CHECK(state(c) == before);
  CHECK(c.epoch() == epoch);
  CHECK(release(c, 2));  // never there: nothing to give back
  CHECK(state(c) == before);
  CHECK(c.epoch() == epoch);
  REQUIRE(release(c, 1));
  const std::uint64_t released = c.epoch();
  CHECK(release(c, 1));  // again
  CHECK(c.epoch() == released);
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

TEST_CASE("a node leaves only when idle, its id stays vacant, and a new node of the leaf fills it") {
  cluster_spec spec = six_nodes();
  cluster c{spec, plenty};
  REQUIRE(commit(c, 1, one, {on(4, 1)}));
  CHECK(refused(c.remove_node(node_id{4}), cluster_errc::still_in_use));
  REQUIRE(release(c, 1));
  REQUIRE(c.remove_node(node_id{4}));
  CHECK_FALSE(c.is_member(node_id{4}));
  CHECK(c.is_member(node_id{3}));
  CHECK(room(c, one) == 20);
  CHECK(c.potential(*c.counters(one), 0) == 20);

  // A vacant id is no node.
  CHECK(refused(commit(c, 1, one, {on(4, 1)}), cluster_errc::conflict));
  CHECK(refused(c.set_node_usable(node_id{4}, true), cluster_errc::bad_argument));
  CHECK(refused(c.set_device_health(node_id{4}, 0, false), cluster_errc::bad_argument));
  CHECK(refused(c.relabel(node_id{4}, {"x"}), cluster_errc::bad_argument));
  CHECK(refused(c.set_link_health(node_id{4}, 0, 1, false), cluster_errc::bad_argument));
  CHECK(c.remove_node(node_id{4}));  // gone is gone

  node_spec larger{"new", shape_id{1}, {"big"}, cpus(32), gibibytes(128)};
  const auto full = c.add_node(domain_id{0}, larger);
  REQUIRE_FALSE(full);
  CHECK(full.error().code == cluster_errc::capacity_exhausted);  // leaf 0 has no vacant id
  const auto id = c.add_node(domain_id{1}, larger);
  REQUIRE(id);
  CHECK(*id == node_id{4});
  CHECK(c.shape_of(*id).devices == 8);
  CHECK(room(c, one) == 28);
  CHECK(room(c, {8, {}, {}}) == 1);  // more devices than any node had before
  const task_shape eight{8, cpus(8), {}};
  REQUIRE(commit(c, 2, eight, {on(4, 0xff)}));
  CHECK(room(c, one) == 20);
  CHECK(c.check_invariants());

  transaction t{c};
  CHECK(refused(c.remove_node(node_id{0}), cluster_errc::bad_argument));
  CHECK_FALSE(c.add_node(domain_id{1}, larger));
}

TEST_CASE("filters see labels and models, also after a relabel and its undoing") {
  cluster_spec spec = six_nodes();
  spec.shapes[0].models = {"m", "m", "x", "x"};
  spec.nodes[2].labels = {"fast"};
  cluster c{spec, plenty};
  const filter_id fast = c.add_filter({{"fast"}, {}, {}, {}}), x = c.add_filter({{}, {"fast"}, {}, {"x"}});
  CHECK(c.add_filter({{"fast"}, {}, {}, {}}) == fast);
  CHECK(c.add_filter({}) == filter_id{0});
  const task_shape on_fast{1, {}, {}, fast}, on_x{1, {}, {}, x};
  CHECK(room(c, on_fast) == 4);
  CHECK(room(c, on_x) == 10);
  CHECK(c.eligible(x, node_id{0}).devices == 0b1100);
  CHECK_FALSE(c.eligible(fast, node_id{0}).admits);
  {
    transaction t{c};
    REQUIRE(c.relabel(node_id{3}, {"fast"}));
    CHECK(room(c, on_fast) == 8);
    CHECK(room(c, on_x) == 8);
    CHECK(c.potential(*c.counters(on_fast), 0) == 8);
  }
  CHECK(room(c, on_fast) == 4);
  CHECK(c.potential(*c.counters(on_fast), 0) == 4);
  CHECK(room(c, on_x) == 10);
  CHECK_FALSE(c.is_valid({1, {}, {}, filter_id{3}}));
  CHECK_FALSE(c.is_valid({1, {}, {}, filter_id{}}));
  CHECK(c.is_valid(on_x));
}

TEST_CASE("a node that lost the label its task wants since it was placed is not taken; the next one is") {
  cluster c{six_nodes(), plenty};
  node_filter fast;
  fast.all_of = {"fast"};
  const task_shape on_fast{1, {}, {}, c.add_filter(fast)};
  REQUIRE(c.relabel(node_id{2}, {"fast"}));
  REQUIRE(c.relabel(node_id{3}, {"fast"}));
  const auto before = std::vector(c.nodes().begin(), c.nodes().end());
  CHECK(commit(c, 1, on_fast, {on(2, 1), on(1, 1)}).error().code == cluster_errc::conflict);
  CHECK(commit(c, 1, on_fast, {on(2, 1), on(1, 1)}).error().node == node_id{1});
  CHECK(std::vector(c.nodes().begin(), c.nodes().end()) == before);
  REQUIRE(commit(c, 1, on_fast, {on(2, 1), on(3, 1)}));
  REQUIRE(c.relabel(node_id{2}, {}));
  CHECK(commit(c, 2, on_fast, {on(2, 2)}).error().code == cluster_errc::conflict);
  REQUIRE(commit(c, 2, on_fast, {on(3, 2)}));
  REQUIRE(commit(c, 1, on_fast, {on(2, 1), on(3, 1)}));  // the same again is still no error
  const task_shape unknown{1, {}, {}, filter_id{7}};
  CHECK(commit(c, 3, unknown, {on(3, 4)}).error().code == cluster_errc::bad_argument);
  // A filter for devices of another model admits no device here.
  node_filter model;
  model.models = {"other"};
  const task_shape on_model{1, {}, {}, c.add_filter(model)};
  CHECK(commit(c, 3, on_model, {on(3, 4)}).error().code == cluster_errc::conflict);
  CHECK(c.check_invariants());
}

TEST_CASE("mirrored calls may repeat: a second release, removal or addition changes nothing") {
  cluster c{six_nodes(), plenty};
  REQUIRE(commit(c, 1, one, {on(2, 1)}));
  REQUIRE(c.release(job_key{1}));
  const std::uint64_t after = c.epoch();
  CHECK(c.release(job_key{1}));
  CHECK(c.release(job_key{99}));
  CHECK(c.epoch() == after);

  const node_class like = c.class_of(node_id{1});
  const node_spec named{"extra", like.shape, {"rack=1"}, like.cpu, like.memory};
  REQUIRE(c.remove_node(node_id{1}));
  REQUIRE(c.remove_node(node_id{2}));
  const std::uint64_t structure = c.structure();
  CHECK(c.remove_node(node_id{1}));
  CHECK(c.structure() == structure);
  const auto first = c.add_node(domain_id{0}, named);
  REQUIRE(first);
  CHECK(c.find_node("extra") == *first);
  const std::uint64_t added = c.epoch();
  CHECK(*c.add_node(domain_id{0}, named) == *first);
  REQUIRE(c.set_node_usable(*first, false));  // what became of it since is no reason to add it again
  CHECK(*c.add_node(domain_id{0}, named) == *first);
  CHECK(c.epoch() == added + 1);
  node_spec other = named;
  other.labels = {"rack=2"};
  CHECK(c.add_node(domain_id{0}, other).error().code == cluster_errc::key_in_use);
  CHECK(c.add_node(domain_id{0}, other).error().node == *first);
  CHECK(c.add_node(domain_id{1}, named).error().code == cluster_errc::key_in_use);
  // Gone, the name is free again, also for another kind.
  REQUIRE(c.remove_node(*first));
  CHECK_FALSE(c.find_node("extra"));
  CHECK(c.add_node(domain_id{0}, other));
  // Nodes without a name are all different.
  node_spec nameless = named;
  nameless.name.clear();
  const auto second = c.add_node(domain_id{0}, nameless);
  REQUIRE(second);
  CHECK(c.add_node(domain_id{0}, nameless).error().code == cluster_errc::capacity_exhausted);
  CHECK(c.check_invariants());
}

TEST_CASE("names are found whatever was added and removed before") {
  detail::node_names names;
  CHECK(names.find("n1") == detail::node_names::none);
  random_source random{3};
  std::vector<std::string> twin(40);
  for (int step = 0; step < 2000; ++step) {
    const auto n = static_cast<std::uint32_t>(random.below(twin.size()));
    if (twin[n].empty()) {
      std::string name = "n" + std::to_string(random.below(60));
      if (std::find(twin.begin(), twin.end(), name) != twin.end()) continue;
      names.set(n, name, twin.size());
      twin[n] = std::move(name);
    } else {
      names.clear(n);
      twin[n].clear();
    }
    for (std::uint32_t k = 0; k < 60; ++k) {
      const auto at = std::find(twin.begin(), twin.end(), "n" + std::to_string(k));
      const std::uint32_t want =
          at == twin.end() ? detail::node_names::none : static_cast<std::uint32_t>(at - twin.begin());
      if (names.find("n" + std::to_string(k)) != want) FAIL("name " << k << " after step " << step);
    }
  }
}

TEST_CASE("relabelling keeps the counters of other shapes, and brings potentials up to date when they are asked for") {
  cluster c{six_nodes(), plenty};
  node_filter fast;
  fast.none_of = {"slow"};
  const task_shape on_fast{4, {}, {}, c.add_filter(fast)};
  CHECK(c.potential(*c.counters(on_fast), 0) == 6);
  CHECK(c.counters(on_fast)->capacity(0, 0) == 6);
  for (std::uint32_t n = 0; n < 6; ++n) {
    REQUIRE(c.relabel(node_id{n}, {"slow", "n" + std::to_string(n)}));  // a class of its own
    CHECK(c.counters(on_fast)->capacity(0, 0) == 5 - n);
    CHECK(c.counters(one)->capacity(0, 0) == 24);
    if (n % 2 == 1) CHECK(c.potential(*c.counters(on_fast), 0) == 5 - n);
    CHECK(c.potential(*c.counters(one), 0) == 24);
    CHECK(c.check_invariants());
  }
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

#if defined(__OPTIMIZE__) && !defined(BERTH_TEST_SANITIZED)
TEST_CASE("a cluster that has met as many kinds of node as it can tell apart says so") {
  cluster_spec s;
  s.tree = domain_tree_builder::regular({"cluster", "leaf"}, {2}, 32'768, false);
  s.shapes = {make_plain_shape("none", 0, "", cpus(1), gibibytes(1))};
  for (std::uint32_t n = 0; n < 65'536; ++n)  // the last two are alike
    s.nodes.push_back({"", shape_id{0}, {}, cpu_millis{n < 65'535 ? n + 1 : n}, gibibytes(1)});
  cluster c{s, {.jobs = 1, .tasks = 1, .live_shapes = 1}};
  REQUIRE(c.classes().size() == cluster::max_classes);
  const auto before = state(c);
  CHECK(refused(c.relabel(node_id{0}, {"x"}), cluster_errc::capacity_exhausted));
  CHECK(refused(c.remove_node(node_id{0}), cluster_errc::capacity_exhausted));
  CHECK(state(c) == before);
  CHECK(c.class_of(node_id{65'535}).cpu == cpu_millis{65'535});
  CHECK(c.relabel(node_id{0}, {}));  // no change needs no room
  CHECK(c.counters({0, cpu_millis{65'535}, {}})->capacity(0, 0) == 2);
}
#endif
