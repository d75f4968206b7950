#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/place.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "berth/topology/domain_tree_builder.hpp"

// Tasks that ask something of the inside of their nodes, through placer, cluster and transactions.

namespace {

using namespace berth;

cluster_spec some_machines(const std::vector<std::string>& ids, std::uint32_t leaves, std::uint32_t per_leaf) {
  cluster_spec s;
  s.tree = domain_tree_builder::regular({"cluster", "leaf"}, {leaves}, per_leaf);
  for (const auto& id : ids) {
    s.shapes.push_back(*catalogue_shape(id));
    s.shapes.back().memory = gibibytes(512);
  }
  for (std::uint32_t n = 0; n < leaves * per_leaf; ++n) {
    const auto& shape = s.shapes[n % ids.size()];
    s.nodes.push_back({"n" + std::to_string(n),
                       shape_id{static_cast<std::uint16_t>(n % ids.size())},
                       {},
                       shape.cpu,
                       shape.memory,
                       true});
  }
  return s;
}

/// What committed tasks take of a node, added up by hand from their bindings.
struct ledger {
  std::vector<std::int64_t> cpu, memory, link;
};

/// Every reservation against the capacity of its NUMA node and link, and every task against what it asked for.
void check_bindings(const cluster& c, const std::map<std::uint64_t, std::vector<task_shape>>& asked) {
  std::vector<ledger> used(c.node_count());
  for (std::uint32_t n = 0; n < c.node_count(); ++n) {
    used[n].cpu.resize(c.shape_of(node_id{n}).numa.size());
    used[n].memory.resize(used[n].cpu.size());
    used[n].link.resize(c.shape_of(node_id{n}).host_links.size());
  }
  for (const auto& entry : asked) {
    const std::uint64_t key = entry.first;
    const std::vector<task_shape>& shapes = entry.second;
    std::size_t i = 0;
    c.for_each_task(job_key{key}, [&](const committed_task& t) {
      const task_shape& s = shapes.size() == 1 ? shapes[0] : shapes[i];
      ++i;
      const node_shape& m = c.shape_of(t.node);
      ledger& u = used[t.node.index()];
      std::uint64_t homes = 0;
      for (std::size_t k = 0; k < m.numa.size(); ++k)
        if ((m.numa[k].devices & t.devices) != 0) homes |= bit(static_cast<unsigned>(k));
      const task_binding b = c.binding_of(t);
      if (s.bind.numa == numa_rule::single_node) {
        CHECK(count_bits(homes | b.cpu_nodes | b.memory_nodes) == 1);
        CHECK((s.cpu.count() == 0) == (b.cpu_nodes == 0));
      }
      if (s.bind.numa == numa_rule::restricted && s.cpu.count() != 0) CHECK((b.cpu_nodes & homes) != 0);
      for (std::size_t k = 0; k < u.cpu.size(); ++k) {
        if ((b.cpu_nodes >> k & 1) != 0) u.cpu[k] += t.cpu.count() / count_bits(b.cpu_nodes);
        if ((b.memory_nodes >> k & 1) != 0) u.memory[k] += t.memory.count() / count_bits(b.memory_nodes);
      }
      for (std::size_t l = 0; l < u.link.size() && s.bind.host.count() != 0; ++l)
        u.link[l] += static_cast<std::int64_t>(count_bits(t.devices & m.host_links[l].devices)) *
                     ((s.bind.host.count() + s.devices - 1) / s.devices);
    });
  }
  for (std::uint32_t n = 0; n < c.node_count(); ++n) {
    const node_shape& m = c.shape_of(node_id{n});
    for (std::size_t k = 0; k < m.numa.size(); ++k) {
      CHECK(used[n].cpu[k] <= m.numa[k].cpu.count());
      CHECK(used[n].memory[k] <= m.memory.count() / static_cast<std::int64_t>(m.numa.size()) + 8);
    }
    for (std::size_t l = 0; l < m.host_links.size(); ++l)
      CHECK(static_cast<double>(used[n].link[l]) <= m.host_links[l].rate->count() * 1e9);
  }
}

std::vector<std::int64_t> amounts(const cluster& c) {
  std::vector<std::int64_t> out;
  for (std::uint32_t n = 0; n < c.node_count(); ++n) {
    const auto* left = c.inside().left(n);
    out.insert(out.end(), left, left + c.inside().layout(c.node(node_id{n}).node_class).amounts());
    out.push_back(static_cast<std::int64_t>(c.inside().nics_down(n)));
    out.push_back(static_cast<std::int64_t>(c.node(node_id{n}).free));
    out.push_back(c.node(node_id{n}).cpu.count());
  }
  return out;
}

task_shape random_shape(random_source& r, unsigned most_devices) {
  task_shape t;
  t.devices = static_cast<std::uint32_t>(r.between(1, most_devices));
  t.cpu = cpus(static_cast<std::int64_t>(r.between(0, 12)) * t.devices);
  t.memory = gibibytes(static_cast<std::int64_t>(r.between(0, 40)) * t.devices);
  t.bind.numa = static_cast<numa_rule>(r.below(4));
  t.bind.near_nic = r.below(4) == 0;
  t.bind.keep_ratio = r.below(5) == 0;
  if (r.below(3) == 0)
    t.bind.host = bytes_per_second{static_cast<std::int64_t>(r.between(1, 12)) * 3'000'000'000 * t.devices};
  return t;
}

/// How many tasks of a shape fit on a node, by trying every way. Devices alike in NUMA node, links and NICs are tried
/// once.
std::uint32_t most_on(const cluster& c, node_id n, const task_shape& t) {
  const auto& y = c.inside().layout(c.node(n).node_class);
  const auto pack = [&](const auto& self, node_residual now, std::uint32_t have,
                        std::uint32_t enough) -> std::uint32_t {
    std::uint32_t most = 0;
    for (device_mask set = now.pool; set != 0 && most + have < enough; set = (set - 1) & now.pool) {
      task_binding b;
      if (count_bits(set) != t.devices || !now.bind(t, set, b)) continue;
      std::vector<std::int64_t> left(now.left, now.left + y.amounts());
      detail::apply_binding(y, left.data(), b, t.cpu, t.memory, set, -1);
      node_residual next = now;
      next.left = left.data();
      next.pool &= ~set, next.free &= ~set, next.cpu -= t.cpu, next.memory -= t.memory;
      most = std::max(most, 1 + self(self, next, have + 1, enough));
    }
    return most;
  };
  const node_state& s = c.node(n);
  std::uint32_t bound = count_bits(s.free) / t.devices;
  return pack(pack, c.residual(n, s.free), 0, bound);
}

}  // namespace

TEST_CASE("random walks with needs: placed exactly when it fits, bound as asked, undone bit for bit") {
  random_source r{7};
  for (int round = 0; round < 6; ++round) {
    const auto spec = round % 2 == 0 ? some_machines({"dgx1-v100", "pcie-l40s-8"}, 2, 2)
                                     : some_machines({"gb200-tray", "azure-ndv4", "gh200"}, 1, 3);
    cluster c{spec, {.jobs = 64, .tasks = 256, .bindings = true}};
    placer place{c};
    const auto empty = amounts(c);
    std::map<std::uint64_t, std::vector<task_shape>> asked;
    for (std::uint64_t step = 1; step <= 60; ++step) {
      CAPTURE(round);
      CAPTURE(step);
      if (r.below(3) == 0 && !asked.empty()) {
        auto it = asked.begin();
        std::advance(it, static_cast<std::ptrdiff_t>(r.below(asked.size())));
        REQUIRE(c.release(job_key{it->first}));
        asked.erase(it);
      } else if (r.below(6) == 0) {
        const node_id n{static_cast<std::uint32_t>(r.below(c.node_count()))};
        const auto nics = c.shape_of(n).nics.size();
        if (nics != 0) CHECK(c.set_nic_health(n, static_cast<unsigned>(r.below(nics)), r.below(2) == 0));
      } else {
        const task_shape t = random_shape(r, 5);
        const auto wanted = static_cast<std::uint32_t>(r.between(1, 4));
        const gang g{
            .groups = {{.shape = t, .wanted = wanted, .minimum = static_cast<std::uint32_t>(r.between(1, wanted))}}};
        const auto before = amounts(c);
        const auto d = place(g);
        CHECK(amounts(c) == before);
        // `restricted` over several NUMA nodes is counted one after the other on machines of more than two.
        std::uint32_t most = 0;
        for (std::uint32_t n = 0; n < c.node_count(); ++n) most += most_on(c, node_id{n}, t);
        CHECK((d.result == verdict::placed) == (most >= g.groups[0].minimum));
        if (d) {
          CHECK(d.where.tasks.size() == std::min(most, wanted));
          {
            transaction what_if{c};
            REQUIRE(c.commit(job_key{step}, d.where));
            CHECK(c.check_invariants());
          }
          CHECK(amounts(c) == before);
          REQUIRE(c.commit(job_key{step}, d.where));
          asked[step] = {t};
          if (r.below(4) == 0) {
            const auto now = amounts(c);
            transaction what_if{c};
            REQUIRE(c.release(job_key{step}));
            what_if.rollback();
            CHECK(amounts(c) == now);
          }
        }
      }
      REQUIRE(c.check_invariants());
    }
    check_bindings(c, asked);
    for (const auto& [key, shapes] : asked) REQUIRE(c.release(job_key{key}));
    for (std::uint32_t n = 0; n < c.node_count(); ++n)
      for (unsigned nic = 0; nic < c.shape_of(node_id{n}).nics.size(); ++nic)
        REQUIRE(c.set_nic_health(node_id{n}, nic, true));
    CHECK(amounts(c) == empty);
  }
}

TEST_CASE("gangs of several shapes with needs: what is placed can be committed, and everything comes back") {
  random_source r{8};
  int placed = 0;
  for (int round = 0; round < 40; ++round) {
    const auto spec = some_machines({"dgx1-v100", "azure-ndv5"}, 2, 2);
    cluster c{spec, {.jobs = 8, .tasks = 64, .bindings = true}};
    placer place{c};
    placer<fewest_domains, bin_pack, lowest_index> plain{c};
    const auto empty = amounts(c);
    for (std::uint64_t key = 1; key <= 3; ++key) {
      gang g{.groups = {}};
      for (int i = 0; i < 2; ++i) {
        const auto n = static_cast<std::uint32_t>(r.between(1, 3));
        g.groups.push_back({.shape = random_shape(r, 4), .wanted = n, .minimum = n});
      }
      const auto before = amounts(c);
      const decision d = key % 2 == 0 ? plain(g) : place(g);
      CHECK(amounts(c) == before);
      if (!d) continue;
      ++placed;
      const auto kept = c.commit(job_key{key}, d.where);
      CHECK(kept.has_value());
      CHECK(c.check_invariants());
    }
    for (std::uint64_t key = 1; key <= 3; ++key) static_cast<void>(c.release(job_key{key}));
    CHECK(amounts(c) == empty);
  }
  CHECK(placed > 40);
}

TEST_CASE("without the side table a task with needs is refused, and others see no difference") {
  const auto spec = some_machines({"azure-ndv5"}, 1, 2);
  cluster c{spec, {.jobs = 4, .tasks = 8}};
  placer place{c};
  gang g{.groups = {{.shape = {.devices = 2, .bind = {.numa = numa_rule::single_node}}}}};
  CHECK(place(g).result == verdict::capacity_exhausted);
  const task_shape shapes[] = {g.groups[0].shape};
  const task_placement tasks[] = {{0b11, node_id{0}, 0}};
  const auto refused = c.commit(job_key{1}, {tasks, shapes});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == cluster_errc::capacity_exhausted);
  g.groups[0].shape.bind = {};
  CHECK(place(g).result == verdict::placed);
  CHECK_FALSE(c.set_nic_health(node_id{0}, 0, false).has_value());
}

TEST_CASE("one socket per task: four GPUs and half the CPUs, twice on a machine, never across sockets") {
  const auto spec = some_machines({"dgx-h100"}, 1, 2);
  cluster c{spec, {.jobs = 4, .tasks = 8, .bindings = true}};
  placer place{c};
  gang g{.groups = {{.shape = {.devices = 4, .cpu = cpus(100), .bind = {.numa = numa_rule::single_node}},
                     .wanted = 4,
                     .minimum = 4}}};
  const auto d = place(g);
  REQUIRE(d);
  for (const auto& t : d.where.tasks) CHECK((t.devices == 0x0f || t.devices == 0xf0));
  REQUIRE(c.commit(job_key{1}, d.where));
  g.groups[0] = {.shape = {.cpu = cpus(13), .bind = {.numa = numa_rule::single_node}}, .wanted = 1, .minimum = 1};
  CHECK(place(g).result == verdict::not_now);  // 12 CPUs are left on every socket, 48 in all
  g.groups[0].shape.bind = {};
  CHECK(place(g).result == verdict::placed);
  // On an empty machine it would fit; a whole machine's CPUs on one socket never do.
  g.groups[0].shape = {.cpu = cpus(150), .bind = {.numa = numa_rule::single_node}};
  CHECK(place(g).result == verdict::never);
}
