// Nodes that come, go and change their labels, and calls that repeat.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/change_feed.hpp"
#include "berth/cluster/cluster.hpp"
#include "berth/cluster/transaction.hpp"
#include "berth/core/random.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "effort.hpp"
#include "six_nodes.hpp"

using namespace six;

TEST_CASE("nodes with an inside that come and go, larger and smaller, take no more memory each time") {
  cluster_spec spec = six_nodes();
  for (node_shape& s : spec.shapes) s.numa = {{low_bits(s.devices), s.cpu, s.memory}};
  spec.shapes[1].numa = {{bit(0), cpu_millis{spec.shapes[1].cpu.count() / 2}, {}},
                         {bit(1), cpu_millis{spec.shapes[1].cpu.count() / 2}, {}}};
  cluster_limits limits = plenty;
  limits.bindings = true;
  cluster c{spec, limits};
  const auto come_and_go = [&](std::uint32_t times) {
    for (std::uint32_t i = 0; i < times; ++i) {
      const shape_id kind{static_cast<std::uint16_t>(i % 2)};
      const node_shape& s = c.shapes()[kind.index()];
      REQUIRE(c.remove_node(node_id{4}));
      REQUIRE(c.add_node(c.tree().leaf_of(node_id{4}), {"new", kind, {}, s.cpu, s.memory}).has_value());
      const auto& y = c.inside().layout(c.node(node_id{4}).node_class);
      REQUIRE(y.amounts() != 0);
      for (std::size_t k = 0; k < y.amounts(); ++k) CHECK(c.inside().left(4)[k] == y.capacity()[k]);
    }
  };
  come_and_go(4);
  const std::size_t before = c.memory();
  come_and_go(400);
  CHECK(c.memory() == before);
  CHECK(c.check_invariants());
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
  for (const auto& [cpu, memory] : {std::pair{cpus(-1), gibibytes(128)}, std::pair{cpus(32), bytes{-1}}}) {
    node_spec negative = larger;
    negative.cpu = cpu;
    negative.memory = memory;
    CHECK(c.add_node(domain_id{1}, negative).error().code == cluster_errc::bad_argument);
  }
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
  cluster_spec spec = six_nodes();
  spec.shapes[0].bandwidth.set(0, 1, gigabytes_per_second{100});
  cluster c{spec, plenty};
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
  // Broken links are health, whether they break later or the node comes with them.
  const std::size_t known = c.shapes().size();
  REQUIRE(c.set_link_health(node_id{0}, 0, 1, false));
  REQUIRE(c.shapes().size() == known + 1);
  node_spec broken = named;
  broken.shape = shape_id{static_cast<std::uint16_t>(known)};
  REQUIRE(*c.add_node(domain_id{0}, broken) == *first);
  CHECK_FALSE(c.shape_of(*first).bandwidth == c.shapes()[named.shape.index()].bandwidth);
  CHECK(*c.add_node(domain_id{0}, broken) == *first);
  CHECK(*c.add_node(domain_id{0}, named) == *first);
  REQUIRE(c.set_link_health(*first, 0, 1, true));
  CHECK(*c.add_node(domain_id{0}, broken) == *first);
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
