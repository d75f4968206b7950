// Explanations of refusals: counts against hand-made states, changes against brute force.
#include "berth/solver/explain.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/solver/explain_text.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace {

using namespace berth;

cluster_spec make_spec(std::uint32_t spines, std::uint32_t leaves, std::uint32_t nodes, unsigned devices) {
  cluster_spec s;
  s.tree = domain_tree_builder::regular({"cluster", "spine", "leaf"}, {spines, leaves}, nodes);
  s.shapes.push_back(make_plain_shape("box", devices, "h100", cpus(64), gibibytes(512)));
  for (std::uint32_t n = 0; n < s.tree.node_count(); ++n)
    s.nodes.push_back({"n" + std::to_string(n), shape_id{0}, {}, cpus(64), gibibytes(512)});
  return s;
}
cluster make_cluster(const cluster_spec& s) {
  return cluster{s, {.jobs = 64, .tasks = 256, .live_shapes = 8}};
}

void take(cluster& c, std::uint64_t key, std::uint32_t node, device_mask devices, cpu_millis cpu = {},
          bytes memory = {}) {
  const task_placement t{devices, node_id{node}, 0};
  const task_shape s{count_bits(devices), cpu, memory, filter_id{0}};
  REQUIRE(c.commit(job_key{key}, {{&t, 1}, {&s, 1}}).has_value());
}
gang alike(std::uint32_t tasks, std::uint32_t devices, locality where = locality::unconstrained,
           std::uint8_t level = 0) {
  gang g;
  g.groups.push_back({"worker", {devices, {}, {}, filter_id{0}}, tasks, tasks});
  g.where = where;
  g.level = level_id{level};
  return g;
}
explanation ask(cluster& c, const gang& g) {
  placer place{c};
  const decision d = place(g);
  REQUIRE(!d);
  return explain(c, g, d);
}
const remedy* find(const explanation& e, remedy::kind k) {
  for (const auto& r : e.remedies)
    if (r.what == k) return &r;
  return nullptr;
}
std::uint32_t count(const explanation& e, node_cause c) {
  return e.causes[static_cast<std::size_t>(c)];
}

}  // namespace

TEST_SUITE("solver/explain") {
  TEST_CASE("the nearest leaf, the nodes to free, the wider level and the smaller gang are named") {
    const cluster_spec spec = make_spec(2, 2, 4, 8);
    cluster c = make_cluster(spec);
    // Leaf 0 has two whole nodes left, leaf 1 three, leaves 2 and 3 none.
    take(c, 1, 0, 0xff);
    take(c, 2, 1, 0x01);
    take(c, 3, 4, 0x0f);
    for (std::uint32_t n = 8; n < 16; ++n) take(c, n, n, 0x80);
    const gang g = alike(4, 8, locality::required, 2);
    const explanation e = ask(c, g);
    CHECK(e.result == verdict::not_now);
    CHECK(e.fits_empty == true);
    REQUIRE(e.nearest.has_value());
    CHECK(e.nearest->level == level_id{2});
    CHECK(e.nearest->domain == domain_id{1});
    CHECK(e.nearest->holds == 3);
    CHECK(e.nearest->needs == 4);
    CHECK(count(e, node_cause::devices_in_use) == 11);
    CHECK(count(e, node_cause::has_room) == 5);
    CHECK(e.room.tasks_anywhere == 5);
    CHECK(e.room.tasks_in_one == 3);
    const remedy* r = find(e, remedy::kind::free_nodes);
    REQUIRE(r != nullptr);
    CHECK(r->least);
    CHECK(r->nodes == std::vector<node_id>{node_id{4}});
    r = find(e, remedy::kind::wider_level);
    REQUIRE(r != nullptr);
    CHECK(r->level == level_id{1});
    CHECK(r->domain == domain_id{0});
    CHECK(r->spread == 2);
    r = find(e, remedy::kind::fewer_tasks);
    REQUIRE(r != nullptr);
    CHECK(r->count == 3);
    r = find(e, remedy::kind::smaller_tasks);
    REQUIRE(r != nullptr);
    CHECK(r->count == 7);
    CHECK(r->level == level_id{2});

    const auto text = explanation_sentences(e, g, spec);
    REQUIRE(text.size() == 8);
    CHECK(text[0] == "Not now: there is no room for 4 tasks of 8 GPUs each, within one leaf.");
    CHECK(text[1] == "Leaf-1 comes nearest: it holds 3 of 4 tasks.");
    CHECK(text[2] == "Room is scattered: 5 tasks would fit in the cluster, but at most 3 in one leaf.");
    CHECK(text[3] == "For a task the 16 nodes are: 5 with room, 11 with too many GPUs in use.");
    CHECK(text[4] == "1 more node free and healthy in leaf-1 would do: n4.");
    CHECK(text[5] == "3 instead of 4 tasks would fit now, in leaf-1.");
    CHECK(text[6] == "One level wider it would fit now, in spine-0, over 2 leaves.");
    CHECK(text[7] == "Tasks of 7 GPUs instead of 8 would fit now, in leaf-2.");
  }

  TEST_CASE("every node counts once, under the first cause that applies") {
    cluster_spec spec = make_spec(1, 2, 8, 8);
    spec.shapes.push_back(make_plain_shape("small", 2, "h100", cpus(64), gibibytes(512)));
    spec.shapes.push_back(make_plain_shape("other", 8, "a100", cpus(64), gibibytes(512)));
    for (auto& n : spec.nodes) n.labels = {"prod"};
    spec.nodes[0].labels = {"test"};
    spec.nodes[1].shape = shape_id{1};
    spec.nodes[2].shape = shape_id{2};
    spec.nodes[3].cpu = cpus(4);
    spec.nodes[4].memory = gibibytes(4);
    cluster c = make_cluster(spec);
    REQUIRE(c.set_node_usable(node_id{5}, false).has_value());
    for (unsigned d = 0; d < 5; ++d) REQUIRE(c.set_device_health(node_id{6}, d, false).has_value());
    take(c, 1, 7, 0x1f);
    take(c, 2, 8, 0x01, cpus(60));
    take(c, 3, 9, 0x01, {}, gibibytes(510));
    REQUIRE(c.remove_node(node_id{10}).has_value());
    // Two at once: the one that no repair would change counts.
    REQUIRE(c.set_node_usable(node_id{0}, false).has_value());
    gang g = alike(100, 4);
    g.groups[0].shape.cpu = cpus(8);
    g.groups[0].shape.memory = gibibytes(8);
    g.groups[0].shape.filter = c.add_filter({{"prod"}, {}, {}, {"h100"}});
    const explanation e = ask(c, g);
    for (std::size_t i = 0; i + 1 < node_cause_count; ++i) {
      const auto cause = static_cast<node_cause>(i);
      INFO(to_string(cause));
      // Nothing here is broken in the fabric, and no task asks for anything inside its node.
      const bool none = cause == node_cause::uplink_down || cause == node_cause::inside_in_use ||
                        cause == node_cause::fragmented || cause == node_cause::tainted;
      CHECK(e.causes[i] == (none ? 0U : 1U));
    }
    CHECK(count(e, node_cause::has_room) == 5);
  }

  TEST_CASE("room behind a broken uplink is counted, and repairing the uplink is a way out") {
    cluster c = make_cluster(make_spec(1, 2, 4, 8));
    REQUIRE(c.set_uplink_health(level_id{2}, domain_id{0}, false).has_value());
    const explanation e = ask(c, alike(6, 8));
    CHECK(e.result == verdict::not_now);
    CHECK(count(e, node_cause::uplink_down) == 4);
    CHECK(count(e, node_cause::has_room) == 4);
    CHECK(find(e, remedy::kind::restore_uplinks) != nullptr);
    CHECK(find(e, remedy::kind::free_nodes) == nullptr);
    CHECK(e.nearest->holds == 4);
  }

  TEST_CASE("what an empty cluster cannot hold is never possible, and what it could hold is said") {
    const cluster_spec spec = make_spec(2, 2, 4, 8);
    cluster c = make_cluster(spec);
    take(c, 1, 0, 0xff);
    const gang g = alike(6, 8, locality::required, 2);
    const explanation e = ask(c, g);
    CHECK(e.result == verdict::never);
    CHECK(e.fits_empty == false);
    CHECK(e.best_ever->holds == 4);
    CHECK(find(e, remedy::kind::free_nodes) == nullptr);
    REQUIRE(find(e, remedy::kind::wider_level) != nullptr);
    CHECK(find(e, remedy::kind::wider_level)->level == level_id{1});
    CHECK(explanation_sentences(e, g, spec)[0] ==
          "Never: even with everything free and healthy the cluster cannot hold 6 tasks of 8 GPUs each, within one "
          "leaf.");
    CHECK(explanation_sentences(e, g, spec)[1] == "Leaf-0 comes nearest: empty, it holds 4 of 6 tasks.");
  }

  TEST_CASE("never is exact for several groups, where each alone would fit an empty cluster") {
    const cluster_spec spec = make_spec(1, 1, 4, 8);
    cluster c = make_cluster(spec);
    gang g = alike(3, 8);
    g.groups.push_back({"more", {5, {}, {}, filter_id{0}}, 2, 2});
    placer place{c};
    const decision d = place(g);
    REQUIRE(!d);
    const explanation e = explain(c, g, d);
    CHECK(e.result == verdict::never);
    CHECK(e.groups_fit_alone);
    // The same gang with one task less fits.
    const remedy* r = find(e, remedy::kind::fewer_tasks);
    REQUIRE(r != nullptr);
    g.groups[e.group].wanted = g.groups[e.group].minimum = r->count;
    CHECK(place(g).result == verdict::placed);
  }

  TEST_CASE("a task larger than any machine can be is never possible") {
    const cluster_spec spec = make_spec(1, 1, 2, 8);
    cluster c = make_cluster(spec);
    gang g = alike(2, 100);
    explanation e = ask(c, g);
    CHECK(e.result == verdict::never);
    CHECK(count(e, node_cause::too_few_devices) == 2);
    REQUIRE(find(e, remedy::kind::smaller_tasks) != nullptr);
    CHECK(find(e, remedy::kind::smaller_tasks)->count == 8);
    g.groups[0].wanted = 0;
    e = ask(c, g);
    CHECK(e.result == verdict::invalid);
    CHECK(e.fault == gang_fault::bad_count);
    CHECK(explanation_sentences(e, g, spec).size() == 1);
  }

  TEST_CASE("absurd numbers of tasks are answered without memory for them") {
    cluster c = make_cluster(make_spec(2, 2, 4, 8));
    const gang g = alike(1'000'000'000, 1);
    decision d;
    d.result = verdict::never;
    d.why = {gang_fault::none, 0, level_id{0}, {}, 128, 1'000'000'000};
    const explanation e = explain(c, g, d);
    CHECK(e.result == verdict::never);
    CHECK(e.best_ever->holds == 128);
  }

  TEST_CASE("with a limit of tasks per node, nodes are lacking and not GPUs, and the limit that would do is named") {
    const cluster_spec spec = make_spec(1, 2, 2, 8);
    cluster c = make_cluster(spec);
    take(c, 1, 0, 0xff);
    gang g = alike(9, 1);
    g.groups[0].shape.per_node = 2;  // three nodes with room hold six
    explanation e = ask(c, g);
    CHECK(e.result == verdict::never);
    CHECK(e.room.tasks_anywhere == 6);
    CHECK(e.room.tasks_crowded == 24);
    CHECK(count(e, node_cause::has_room) == 3);
    CHECK(e.best_ever->holds == 8);
    const remedy* more = find(e, remedy::kind::more_per_node);
    REQUIRE(more != nullptr);
    CHECK(more->count == 3);
    std::string all;
    g.groups[0].wanted = g.groups[0].minimum = 7;
    e = ask(c, g);
    CHECK(e.result == verdict::not_now);
    REQUIRE(find(e, remedy::kind::free_nodes) != nullptr);
    CHECK(find(e, remedy::kind::free_nodes)->nodes == std::vector{node_id{0}});
    for (const auto& line : explanation_sentences(e, g, spec)) all += line + "\n";
    CHECK(all.find("7 tasks of 1 GPU, at most 2 on a node each") == std::string::npos);
    CHECK(all.find("Nodes are lacking, not GPUs: with at most 2 on a node, 6 tasks would fit in the cluster, and 24 if "
                   "they might share nodes.") != std::string::npos);
    CHECK(all.find("With up to 3 tasks on a node it would fit now") != std::string::npos);
  }
  TEST_CASE("taints say not now: they can be lifted, or tolerated, and are named") {
    cluster_spec spec = make_spec(2, 2, 4, 8);
    for (std::size_t n = 0; n + 1 < spec.nodes.size(); ++n) spec.nodes[n].labels = {"taint:nvidia.com/gpu=:NoSchedule"};
    spec.nodes[0].labels.emplace_back("taint:slurm/drain=:NoSchedule");
    cluster c = make_cluster(spec);
    const auto nodes = static_cast<std::uint32_t>(spec.nodes.size());
    gang g = alike(2, 8);
    node_filter filter;
    filter.taints = true;
    g.groups[0].shape.filter = c.add_filter(filter);
    placer place{c};
    CHECK(place(g).result == verdict::not_now);
    explanation e = ask(c, g);
    CHECK(e.result == verdict::not_now);
    CHECK(e.fits_empty == true);
    CHECK(count(e, node_cause::tainted) == nodes - 1);
    CHECK(count(e, node_cause::has_room) == 1);
    REQUIRE(e.taints.size() == 2);
    CHECK(find(e, remedy::kind::no_taints) != nullptr);
    CHECK(find(e, remedy::kind::no_filter) == nullptr);
    std::string all;
    for (const auto& line : explanation_sentences(e, g, spec)) all += line + "\n";
    CHECK(all.find("slurm/drain on 1 node") != std::string::npos);
    CHECK(all.find("If its tasks tolerated these taints it would fit now") != std::string::npos);

    filter.tolerations = {"nvidia.com/gpu"};  // one drained node is left out
    g = alike(nodes - 1, 8);
    g.groups[0].shape.filter = c.add_filter(filter);
    CHECK(place(g).result == verdict::placed);
    g = alike(nodes, 8);
    g.groups[0].shape.filter = c.add_filter(filter);
    e = ask(c, g);
    CHECK(e.result == verdict::not_now);
    CHECK(count(e, node_cause::tainted) == 1);
    REQUIRE(e.taints.size() == 1);
    CHECK(e.taints[0].key == "slurm/drain");

    g = alike(nodes + 1, 8);  // more than there are
    g.groups[0].shape.filter = c.add_filter(filter);
    CHECK(place(g).result == verdict::never);
    CHECK(ask(c, g).result == verdict::never);
  }
  TEST_CASE("filters and segments that stand in the way are named") {
    cluster_spec spec = make_spec(2, 2, 4, 8);
    spec.nodes[0].labels = {"gold"};
    cluster c = make_cluster(spec);
    gang g = alike(2, 8);
    g.groups[0].shape.filter = c.add_filter({{"gold"}, {}, {}, {}});
    CHECK(find(ask(c, g), remedy::kind::no_filter) != nullptr);

    g = alike(10, 8);
    g.segments = segment_request{5, level_id{2}, segment_layout::spread};
    explanation e = ask(c, g);
    CHECK(e.result == verdict::never);  // four leaves, five segments
    CHECK(find(e, remedy::kind::any_layout) != nullptr);
    CHECK(find(e, remedy::kind::no_segments) != nullptr);
    REQUIRE(find(e, remedy::kind::fewer_segments) != nullptr);
    CHECK(find(e, remedy::kind::fewer_segments)->count == 4);
    CHECK(e.best_ever->holds == 4);
    CHECK(e.best_ever->needs == 5);

    // Every leaf has three whole nodes left: six pairs of nodes do not fit, and two more nodes help.
    for (std::uint32_t leaf = 0; leaf < 4; ++leaf) take(c, leaf, leaf * 4, 0x1);
    g.segments = segment_request{6, level_id{2}, segment_layout::free};
    g.groups[0].wanted = g.groups[0].minimum = 12;
    e = ask(c, g);
    CHECK(e.result == verdict::not_now);
    const remedy* r = find(e, remedy::kind::free_nodes);
    REQUIRE(r != nullptr);
    CHECK(r->count == 2);
    CHECK(find(e, remedy::kind::no_segments) != nullptr);
    CHECK(find(e, remedy::kind::fewer_segments)->count == 4);
  }

  TEST_CASE("random clusters: smallest changes agree with brute force") {
    random_source random{20240611};
    int refused = 0, freed = 0, fewer = 0, smaller = 0, never = 0;
    for (int round = 0; round < 400; ++round) {
      const unsigned devices = 4;
      const cluster_spec spec = make_spec(2, 2, 3, devices);
      cluster c = make_cluster(spec);
      for (std::uint32_t n = 0; n < c.node_count(); ++n) {
        const device_mask m = random() & random() & low_bits(devices);
        if (m != 0) take(c, n + 1, n, m);
        if (random.below(5) == 0) REQUIRE(c.set_device_health(node_id{n}, 0, false).has_value());
        if (random.below(8) == 0) REQUIRE(c.set_node_usable(node_id{n}, false).has_value());
      }
      const auto level = static_cast<std::uint8_t>(random.below(3));
      const gang g = alike(static_cast<std::uint32_t>(random.between(1, 8)),
                           static_cast<std::uint32_t>(random.between(1, devices)), locality::required, level);
      placer place{c};
      const decision d = place(g);
      if (d) continue;
      ++refused;
      const explanation e = explain(c, g, d);
      std::uint32_t nodes = 0;
      for (const auto n : e.causes) nodes += n;
      CHECK(nodes == c.node_count());
      const std::uint32_t needs = g.groups[0].minimum, per = g.groups[0].shape.devices;
      // Room by domain of the level, by simple counting, with the nodes of `free` counted as free.
      const auto most = [&](std::uint32_t free, std::uint32_t size) {
        std::uint32_t best = 0;
        for (std::uint32_t dom = 0; dom < c.tree().domain_count(g.level); ++dom) {
          const id_range r = c.tree().at(g.level, domain_id{dom}).nodes;
          std::uint32_t sum = 0;
          for (std::uint32_t n = r.first; n < r.last; ++n)
            sum += ((free >> n & 1U) != 0 ? devices : count_bits(c.node(node_id{n}).free)) / size;
          best = sum > best ? sum : best;
        }
        return best;
      };
      const std::uint32_t all = (1U << c.node_count()) - 1;
      CHECK((e.result == verdict::never) == (most(all, per) < needs));
      never += e.result == verdict::never ? 1 : 0;
      const std::uint32_t base = e.result == verdict::never ? all : 0;
      if (const remedy* r = find(e, remedy::kind::fewer_tasks)) {
        CHECK(r->count == most(base, per));
        ++fewer;
      } else {
        CHECK(most(base, per) == 0);
      }
      std::uint32_t size = per;
      while (size > 0 && most(base, size) < needs) --size;
      if (const remedy* r = find(e, remedy::kind::smaller_tasks)) {
        CHECK(r->count == size);
        ++smaller;
      } else {
        CHECK(size == 0);
      }
      std::optional<std::uint32_t> least;
      for (std::uint32_t s = 0; s <= all; ++s)
        if ((!least || count_bits(s) < *least) && most(s, per) >= needs) least = count_bits(s);
      const remedy* r = find(e, remedy::kind::free_nodes);
      if (least) {
        REQUIRE(r != nullptr);
        CHECK(r->count == *least);
        CHECK(r->nodes.size() == *least);
        ++freed;
      } else {
        CHECK(r == nullptr);
      }
    }
    CHECK(refused > 100);
    CHECK(freed > 50);
    CHECK(fewer > 50);
    CHECK(smaller > 50);
    CHECK(never > 10);
  }

  TEST_CASE("random mixed gangs in segments: every change that is named works") {
    random_source random{77};
    int changes = 0;
    for (int round = 0; round < 60; ++round) {
      const cluster_spec spec = make_spec(2, 2, 3, 4);
      cluster c = make_cluster(spec);
      for (std::uint32_t n = 0; n < c.node_count(); ++n) {
        const device_mask m = random() & low_bits(4);
        if (m != 0 && random.below(3) != 0) take(c, n + 1, n, m);
      }
      gang g = alike(static_cast<std::uint32_t>(random.between(1, 3)) * 2, 4);
      g.groups.push_back({"small", {static_cast<std::uint32_t>(random.between(1, 3)), {}, {}, filter_id{0}}, 4, 4});
      if (random.below(2) == 0)
        g.segments =
            segment_request{2, level_id{2}, random.below(2) == 0 ? segment_layout::free : segment_layout::spread};
      else g.where = locality::required, g.level = level_id{static_cast<std::uint8_t>(random.below(3))};
      placer place{c};
      const decision d = place(g);
      if (d) continue;
      const explanation e = explain(c, g, d);
      for (const remedy& r : e.remedies) {
        ++changes;
        cluster other = c;
        gang h = g;
        if (e.result == verdict::never) {
          cluster empty = make_cluster(spec);
          other = empty;
        }
        if (r.what == remedy::kind::free_nodes)
          for (const node_id n : r.nodes)
            REQUIRE((c.node(n).held == 0 || other.release(job_key{n.raw() + 1}).has_value()));
        if (r.what == remedy::kind::wider_level) h.level = r.level;
        if (r.what == remedy::kind::fewer_tasks) h.groups[e.group].wanted = h.groups[e.group].minimum = r.count;
        if (r.what == remedy::kind::smaller_tasks) h.groups[e.group].shape.devices = r.count;
        if (r.what == remedy::kind::any_layout) h.segments->layout = segment_layout::free;
        if (r.what == remedy::kind::no_segments) h.segments.reset();
        if (r.what == remedy::kind::fewer_segments) {
          for (auto& t : h.groups) t.wanted = t.minimum = t.wanted / h.segments->count * r.count;
          h.segments->count = r.count;
        }
        placer again{other};
        INFO(to_string(r.what));
        CHECK(again(h).result == verdict::placed);
      }
    }
    CHECK(changes > 50);
  }
}
