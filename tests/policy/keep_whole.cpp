// What stays whole: pods, racks, nodes and islands of devices inside nodes, judged by trying every placement.

#include "berth/policy/keep_whole.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "allocation_count.hpp"
#include "berth/core/random.hpp"
#include "berth/policy/compose.hpp"
#include "berth/policy/domain_fit.hpp"
#include "berth/policy/keep_islands.hpp"
#include "berth/policy/node_fit.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace {

using namespace berth;

/// Four devices, bridges between 0 and 1, 2 and 3.
node_shape two_pairs() {
  node_shape s = make_plain_shape("pairs", 4, "m", cpus(32), gibibytes(256));
  for (unsigned a = 0; a < 4; ++a)
    for (unsigned b = 0; b < a; ++b) s.bandwidth.set(a, b, gigabytes_per_second{a / 2 == b / 2 ? 50.0 : 10.0});
  return s;
}
/// `pods` pods of `racks` racks of `nodes` such nodes.
cluster pods_of(std::uint32_t pods, std::uint32_t racks, std::uint32_t nodes) {
  cluster_spec s;
  s.tree = domain_tree_builder::regular({"cluster", "pod", "rack"}, {pods, racks}, nodes);
  s.shapes = {two_pairs()};
  for (std::uint32_t n = 0; n < s.tree.node_count(); ++n)
    s.nodes.push_back({"", shape_id{0}, {}, cpus(32), gibibytes(256)});
  return cluster{s, {.jobs = 400, .tasks = 2000}};
}
gang tasks_of(std::uint32_t count, std::uint32_t devices, std::int64_t cores = 1) {
  gang g;
  g.groups.push_back(
      {.name = "w", .shape = {.devices = devices, .cpu = cpus(cores)}, .wanted = count, .minimum = count});
  return g;
}
using inner = lexicographic<whole_nodes_last, whole_islands_last, bin_pack>;
using nodes = lexicographic<whole_nodes_last, bin_pack>;
using keeper = placer<whole_domains_last, inner, keep_islands>;
static_assert(explain_policy<whole_domains_last, inner, keep_islands>::ok);
static_assert(explain_policy<least_free_outwards, whole_nodes_last, best_bandwidth>::ok);
static_assert(
    explain_policy<lexicographic<whole_domains_last, least_free_outwards>, whole_islands_last, lowest_index>::ok);

/// Which whole things a placement of one task breaks: pods, racks, nodes, pairs. A node is its own judge here: nothing
/// of `domain_use` is asked.
std::array<int, 4> breaks(const cluster& c, node_id n, device_mask devices) {
  const auto whole = [&](level_id l) {
    const auto r = c.tree().at(l, c.tree().domain_of(n, l)).nodes;
    for (std::uint32_t k = r.first; k < r.last; ++k)
      if (c.node(node_id{k}).tasks != 0) return false;
    return true;
  };
  int pairs = 0;
  for (const device_mask pair : {device_mask{3}, device_mask{12}})
    if ((pair & ~c.node(n).free) == 0 && (pair & devices) != 0 && (pair & ~devices) != 0) ++pairs;
  return {whole(level_id{1}), whole(level_id{2}), c.node(n).tasks == 0, pairs};
}

}  // namespace

TEST_SUITE("policy/keep_whole") {
  TEST_CASE("one task at a time: no other node and no other devices would have broken less, at any level") {
    random_source random{21};
    for (int round = 0; round < 20; ++round) {
      cluster c = pods_of(2, 3, 3);
      domain_use use{c};
      const whole_islands_last islands{c};
      keeper place{c, whole_domains_last{&c, &use, &islands}, inner{whole_nodes_last{}, islands, bin_pack{}}};
      std::vector<std::pair<job_key, std::vector<task_placement>>> running;
      std::uint64_t key = 0;
      for (int step = 0; step < 120; ++step) {
        if (!running.empty() && random.below(100) < 40) {
          const std::size_t at = random.below(running.size());
          REQUIRE(c.release(running[at].first));
          use.update(c, running[at].second);
          running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
          continue;
        }
        const auto devices = static_cast<std::uint32_t>(random.below(5));
        const auto cores = static_cast<std::int64_t>(random.between(1, 8));
        std::array<int, 4> best{2, 2, 2, 9};
        bool fits = false;
        for (std::uint32_t n = 0; n < c.node_count(); ++n) {
          const node_state& st = c.node(node_id{n});
          if (st.cpu < cpus(cores)) continue;
          for (device_mask m = 0; m < 16; ++m) {
            if (count_bits(m) != devices || (m & ~st.free) != 0) continue;
            fits = true;
            const auto b = breaks(c, node_id{n}, m);
            if (b < best) best = b;
          }
        }
        const gang job = tasks_of(1, devices, cores);
        const auto allocations = counting_new::count();
        const decision d = place(job);
        if (step != 0) CHECK(counting_new::count() == allocations);
        CAPTURE(round);
        CAPTURE(step);
        REQUIRE((d.result == verdict::placed) == fits);
        if (!fits) continue;
        const task_placement t = d.where.tasks[0];
        CHECK(breaks(c, t.node, t.devices) == best);
        REQUIRE(c.commit(job_key{++key}, d.where));
        use.update(c, d.where.tasks);
        running.push_back({job_key{key}, {t}});
      }
      domain_use fresh{c};
      for (const level_id l : {level_id{0}, level_id{1}, level_id{2}})
        for (std::uint32_t k = 0; k < c.tree().domain_count(l); ++k)
          CHECK(fresh.broken_nodes(l, domain_id{k}) == use.broken_nodes(l, domain_id{k}));
    }
  }

  TEST_CASE("A03 with pods: single tasks fill the rack and then the pod that are broken into") {
    struct outcome {
      std::string racks;
      bool pod_left = false;  // a gang of a whole pod still fits
    };
    const auto run = [](auto domain) {
      cluster c = pods_of(2, 2, 2);
      const task_shape one{1, cpus(1), {}};
      const task_placement first{1, node_id{5}, 0};  // pod 1, rack 2, its second node
      REQUIRE(c.commit(job_key{1000}, {{&first, 1}, {&one, 1}}));
      domain_use use{c};
      placer place{c, domain(c, use), nodes{}};
      outcome out;
      for (std::uint64_t k = 0; k < 15; ++k) {
        const decision d = place(tasks_of(1, 1));
        REQUIRE(d.result == verdict::placed);
        out.racks += std::to_string(c.tree().leaf_of(d.where.tasks[0].node).raw());
        REQUIRE(c.commit(job_key{k}, d.where));
        use.update(c, d.where.tasks);
      }
      gang pod = tasks_of(4, 4);
      pod.where = locality::required;
      pod.level = level_id{1};
      out.pod_left = place(pod).result == verdict::placed;
      return out;
    };
    const auto kept = run([](const cluster& c, const domain_use& use) { return whole_domains_last{&c, &use}; });
    CHECK(kept.racks == "222222233333333");
    CHECK(kept.pod_left);
    const auto filled = run([](const cluster& c, const domain_use&) { return least_free_outwards{&c}; });
    CHECK(filled.racks == "222222233333333");
    CHECK(filled.pod_left);
    // Best fit by room alone sees racks, and no pods.
    const auto best_fit = run([](const cluster&, const domain_use&) { return tightest{}; });
    CHECK(best_fit.racks == "222222200000000");
    CHECK_FALSE(best_fit.pod_left);
  }

  TEST_CASE("tasks without devices break nodes too, and drained or broken ones are not whole") {
    cluster c = pods_of(1, 3, 2);
    domain_use use{c};
    placer place{c, whole_domains_last{&c, &use}, nodes{}};
    REQUIRE(c.set_node_usable(node_id{5}, false));
    use.sync(c);
    CHECK(use.is_broken(node_id{5}));
    CHECK(use.whole_around(level_id{2}, domain_id{0}) == 1);
    CHECK(use.whole_around(level_id{2}, domain_id{2}) == 0);
    // The rack with the drained node can give nobody two whole nodes.
    decision d = place(tasks_of(1, 0));
    REQUIRE(d.where.tasks[0].node == node_id{4});
    REQUIRE(c.commit(job_key{1}, d.where));
    use.update(c, d.where.tasks);
    d = place(tasks_of(1, 1));
    CHECK(d.where.tasks[0].node == node_id{4});
    CHECK(place(tasks_of(2, 4)).domain == domain_id{0});
    REQUIRE(c.set_node_usable(node_id{5}, true));
    REQUIRE(c.release(job_key{1}));
    use.sync(c);
    CHECK(use.broken_nodes(level_id{0}, domain_id{0}) == 0);
    CHECK(use.whole_around(level_id{2}, domain_id{2}) == 3);
  }

  TEST_CASE("a gang goes where the most of it fits on broken nodes") {
    cluster c = pods_of(1, 3, 4);
    domain_use use{c};
    placer place{c, whole_domains_last{&c, &use}, nodes{}};
    // Rack 1 has two nodes with a device in use, rack 2 one with three.
    std::uint64_t key = 0;
    for (const auto& [node, mask] : {std::pair{4U, 1U}, std::pair{5U, 1U}, std::pair{8U, 7U}}) {
      const task_shape s{count_bits(mask), cpus(1), {}};
      const task_placement t{mask, node_id{node}, 0};
      REQUIRE(c.commit(job_key{++key}, {{&t, 1}, {&s, 1}}));
      use.update(c, t.node);
    }
    const decision two = place(tasks_of(2, 2));
    CHECK(two.domain == domain_id{1});
    for (const auto& t : two.where.tasks) CHECK(use.is_broken(t.node));
    CHECK(place(tasks_of(1, 1)).where.tasks[0].node == node_id{8});
    CHECK(place(tasks_of(1, 4)).domain == domain_id{1});  // less room than rack 2
  }
}

TEST_SUITE("policy/keep_islands") {
  TEST_CASE("the islands of known machines") {
    const auto text = [](const node_shape& s) {
      std::string out;
      for (const device_mask m : islands_of(s)) {
        out += out.empty() ? "" : " ";
        for_each_bit(m, [&](unsigned d) { out += std::to_string(d); });
      }
      return out;
    };
    CHECK(text(two_pairs()) == "0123 01 23");
    CHECK(text(*catalogue_shape("pcie-a100-8")).find("01 23 45 67") != std::string::npos);
    CHECK(text(*catalogue_shape("dgx-h100")).starts_with("01234567 0123 4567"));
    CHECK(text(*catalogue_shape("dgx1-v100")).starts_with("01234567 0123 4567"));
    CHECK(text(make_plain_shape("x", 4, "m", cpus(1), bytes{1})).empty());
    CHECK(text(make_plain_shape("x", 0, "", cpus(1), bytes{1})).empty());
  }

  TEST_CASE("of all sets the one that breaks least; among those the best bandwidth, on machines of the catalogue") {
    random_source random{4};
    for (const auto id : catalogue_shape_names()) {
      const node_shape s = *catalogue_shape(id);
      if (s.devices == 0 || s.devices > 10) continue;
      CAPTURE(std::string{id});
      const auto table = keep_islands{}.compile(s);
      const auto islands = islands_of(s);
      for (int round = 0; round < 25; ++round) {
        const device_mask free = random.below(std::uint64_t{1} << s.devices);
        const auto count = static_cast<unsigned>(random.between(1, s.devices));
        const device_mask chosen = table.choose(free, count);
        if (count_bits(free) < count) {
          CHECK(chosen == 0);
          continue;
        }
        REQUIRE(count_bits(chosen) == count);
        REQUIRE((chosen & ~free) == 0);
        // Broken islands by size, large first; then the slowest pair, negative so that less is better.
        const auto judge = [&](device_mask set) {
          std::vector<double> out(65, 0);
          for (const device_mask m : islands)
            if ((m & ~free) == 0 && (m & set) != 0 && (m & ~set) != 0) out[64 - count_bits(m)] += 1;
          float slowest = 1e9F;
          for_each_bit(set, [&](unsigned a) {
            for_each_bit(set & low_bits(a), [&](unsigned b) {
              const float r = s.bandwidth.rank(a, b);
              slowest = r < slowest ? r : slowest;
            });
          });
          out[64] = -slowest;
          return out;
        };
        const auto mine = judge(chosen);
        for (device_mask m = free; m != 0; m = (m - 1) & free)
          if (count_bits(m) == count) CHECK(mine <= judge(m));
      }
    }
  }

  TEST_CASE("a whole quad is kept where two devices of broken ones serve, best_bandwidth breaks it") {
    const node_shape s = *catalogue_shape("dgx1-v100");
    const device_mask free = 0b1111'0110;  // the second quad whole, two of the first
    CHECK(keep_islands{}.compile(s).choose(free, 1) < 16);
    CHECK(keep_islands{}.compile(s).choose(free, 2) == 0b0110);
    CHECK(keep_islands{}.compile(s).choose(free, 4) == 0b1111'0000);
    // Tasks that ask about the inside of the node get the same, out of what satisfies them.
    cluster_spec spec;
    spec.tree = domain_tree_builder::regular({"cluster", "rack"}, {1}, 1);
    spec.shapes = {s};
    spec.nodes.push_back({"", shape_id{0}, {}, s.cpu, s.memory});
    cluster c{spec, {.jobs = 10, .tasks = 10, .bindings = true}};
    const task_shape one{2, cpus(1), {}};
    const task_placement held{0b1001, node_id{0}, 0};
    REQUIRE(c.commit(job_key{1}, {{&held, 1}, {&one, 1}}));
    placer place{c, tightest{}, bin_pack{}, keep_islands{}};
    gang g = tasks_of(1, 2);
    g.groups[0].shape.bind.numa = numa_rule::single_node;
    CHECK(place(g).where.tasks[0].devices == 0b0110);
    g = tasks_of(1, 3);
    g.groups[0].shape.bind.numa = numa_rule::single_node;
    CHECK((place(g).where.tasks[0].devices & 0b1111) == 0);
    g.groups[0].shape.bind.numa = numa_rule::best_effort;
    CHECK((place(g).where.tasks[0].devices & 0b1111) == 0);
  }

  TEST_CASE("more than 12 devices: the same rules without a table, and above 16 a set whenever there is one") {
    for (const unsigned n : {14U, 20U}) {
      node_shape s = make_plain_shape("wide", n, "m", cpus(64), gibibytes(512));
      for (unsigned a = 0; a < n; ++a)
        for (unsigned b = 0; b < a; ++b) s.bandwidth.set(a, b, gigabytes_per_second{a / 2 == b / 2 ? 50.0 : 10.0});
      const auto table = keep_islands{}.compile(s);
      const device_mask free = s.all_devices() & ~device_mask{0b100001};  // 0 and 5 are taken
      CHECK(table.choose(free, 1) == bit(1));
      CHECK(table.choose(free, 2) == (n == 14 ? device_mask{0b1100} : (bit(1) | bit(4))));
      CHECK(count_bits(table.choose(free, n - 2)) == n - 2);
      CHECK(table.choose(free, n - 1) == 0);
    }
  }
}
