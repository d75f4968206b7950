/// \file
/// Replicas follow a writer whose devices are cut into MIG instances and shared: after catching up both know the same
/// of every device, place the same, and proposals that come too late conflict. The last case is meant for
/// ThreadSanitizer.

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "berth/cluster/part_setup.hpp"
#include "berth/cluster/replica.hpp"
#include "berth/cluster/transaction.hpp"
#include "berth/core/random.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "cluster/effort.hpp"

namespace {

using namespace berth;

cluster_spec machines() {
  cluster_spec s;
  s.tree = domain_tree_builder::regular({"cluster", "leaf"}, {3}, 4);
  for (const auto& [name, devices, model] :
       {std::tuple{"h100", 4U, "h100-sxm5-80gb"}, std::tuple{"a30", 6U, "a30-24gb"},
        std::tuple{"plain", 3U, "v100-sxm2-32gb"}})
    s.shapes.push_back(make_plain_shape(name, devices, model, cpus(64), gibibytes(512)));
  for (std::uint32_t n = 0; n < s.tree.node_count(); ++n)
    s.nodes.push_back({"n" + std::to_string(n),
                       shape_id{static_cast<std::uint16_t>(n % 5 == 4 ? 2 : n % 3 == 1)},
                       {},
                       cpus(20),
                       gibibytes(200)});
  return s;
}

/// Small instances of H100s may be shared.
part_catalogue cut_up(const cluster_spec& s) {
  part_catalogue c = make_part_catalogue({s.shapes.data(), s.shapes.size()});
  c.inside.resize(c.products.size());
  for (std::size_t p = 0; p < c.products.size(); ++p)
    for (unsigned q = 0; q < c.products[p].geometry().profiles; ++q)
      c.inside[p].push_back(c.products[p].geometry().row(q).name == "1g.10gb"
                                ? instance_limits{9000, 1000, 3, true, false}
                                : instance_limits{});
  return c;
}

/// A writer with parts, its feed, and needs that it knows.
struct writer {
  cluster_spec spec{machines()};
  part_catalogue setup{cut_up(spec)};
  cluster live{spec, {.jobs = 200, .tasks = 800, .live_shapes = 16, .journal = 256, .parts = &setup}};
  change_feed feed;
  placer<> place{live};
  std::vector<part_need> needs{part_need::share(500, 4000), part_need::share(250, 0, 2), part_need::share(0, 9000)};

  explicit writer(std::size_t ring = 64) : feed{live, ring} {
    live.attach(&feed);
    for (const char* p : {"1g.10gb", "2g.20gb", "3g.40gb", "1g.6gb", "2g.12gb"}) {
      const std::string_view name{p};
      const auto id = live.add_mig_request(*make_mig_request(setup, {&name, 1}));
      needs.push_back(part_need::mig(id));
      needs.push_back(part_need::mig(id, 2, name == "2g.20gb"));
      if (name == "1g.10gb")
        for (const std::uint16_t user : {std::uint16_t{1}, std::uint16_t{2}})
          needs.push_back(part_need::share(300, 2000).of_user(user).in_instance(id));
    }
  }
  ~writer() { live.attach(nullptr); }
  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;
};

gang any_gang(const std::vector<part_need>& needs, random_source& random) {
  gang g;
  task_group t{.name = "g"};
  if (random.below(4) == 0) t.shape.devices = static_cast<std::uint32_t>(random.between(1, 2));
  else t.shape.part = needs[random.below(needs.size())];
  if (random.below(3) == 0) t.shape.cpu = cpus(1);
  t.wanted = static_cast<std::uint32_t>(random.between(1, 4));
  t.minimum = t.wanted;
  g.groups.push_back(t);
  return g;
}

/// Nodes on which two clusters of equal machines know different things, census included.
std::vector<std::uint32_t> differences(const cluster& a, const cluster& b) {
  std::vector<std::uint32_t> out;
  const auto &x = a.inside().parts(), &y = b.inside().parts();
  for (std::uint32_t n = 0; n < a.node_count(); ++n) {
    bool same = a.node(node_id{n}) == b.node(node_id{n}) && x.masks(n) == y.masks(n);
    for (unsigned d = 0; d < a.shape_of(node_id{n}).devices; ++d) {
      same = same && x.use(n, d) == y.use(n, d);
      for (unsigned k = 0; k < max_task_instances; ++k)
        same = same && x.shared_instances(n, d)[k] == y.shared_instances(n, d)[k];
    }
    if (!same) out.push_back(n);
  }
  for (unsigned p = 0; p < x.catalogue().products.size(); ++p)
    for (std::size_t s = 0; s < x.product(p).size(); ++s)
      if (x.census(p, static_cast<mig_state_id>(s)) != y.census(p, static_cast<mig_state_id>(s)))
        out.push_back(a.node_count());
  return out;
}

/// A placement that outlives its placer's next call.
struct proposal {
  std::vector<task_placement> tasks;
  std::vector<part_places> parts;
  task_shape shape{};
  explicit proposal(const placement& p)
      : tasks{p.tasks.begin(), p.tasks.end()}, parts{p.parts.begin(), p.parts.end()}, shape{p.shapes[0]} {}
  [[nodiscard]] placement view() const { return {tasks, {&shape, 1}, {}, parts}; }
};

const std::vector<std::uint32_t> none;

TEST_CASE("a replica knows what the writer's devices are cut into, places alike, and stale proposals conflict") {
  std::uint64_t followed = 0, recopied = 0, conflicts = 0, agreed = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    writer w{16};
    random_source random{seed};
    replica mine{w.live, w.feed};
    placer<> there{mine.view()};
    std::vector<proposal> late;
    std::uint64_t next = 0;
    const std::size_t steps = effort(1500);
    for (std::size_t step = 0; step < steps; ++step) {
      const std::uint64_t roll = random.below(20);
      const node_id n{static_cast<std::uint32_t>(random.below(w.live.node_count()))};
      if (roll < 8) {
        const decision d = w.place(any_gang(w.needs, random));
        if (d) static_cast<void>(w.live.commit(job_key{next++ % 60}, d.where));
      } else if (roll < 14) {
        REQUIRE(w.live.release(job_key{random.below(60)}));
      } else if (roll < 16) {
        static_cast<void>(w.live.set_device_health(n, static_cast<unsigned>(random.below(3)), random.below(3) != 0));
      } else if (roll < 17) {
        static_cast<void>(
            w.live.set_mig_switch(n, static_cast<unsigned>(random.below(3)), static_cast<mig_switch>(random.below(3))));
      } else if (roll < 18) {
        transaction t{w.live};
        REQUIRE(w.live.release(job_key{random.below(60)}));
        if (const decision d = w.place(any_gang(w.needs, random)); d)
          static_cast<void>(w.live.commit(job_key{500}, d.where));
        if (random.below(2) == 0) t.commit();
      } else if (roll < 19) {
        static_cast<void>(w.live.set_node_usable(n, random.below(4) != 0));
      }
      static_cast<void>(w.live.release(job_key{500}));
      // Made on an older view, handed in now.
      if (!late.empty() && random.below(3) == 0) {
        const std::vector<node_state> before{w.live.nodes().begin(), w.live.nodes().end()};
        const auto done = w.live.commit(job_key{100 + step}, late.back().view());
        if (done) {
          REQUIRE(w.live.release(job_key{100 + step}));
        } else {
          REQUIRE(done.error().code == cluster_errc::conflict);
          ++conflicts;
        }
        REQUIRE(before == std::vector<node_state>{w.live.nodes().begin(), w.live.nodes().end()});
        late.pop_back();
      }
      if (random.below(step % 200 < 150 ? 4 : 60) != 0) continue;
      const catch_up_result r = mine.catch_up();
      followed += r == catch_up_result::followed ? 1 : 0;
      recopied += r == catch_up_result::recopied ? 1 : 0;
      REQUIRE(differences(w.live, mine.view()) == none);
      const gang g = any_gang(w.needs, random);
      const decision a = w.place(g), b = there(g);
      REQUIRE(a.result == b.result);
      if (!a) continue;
      // Which of several starts is best may depend on what was asked before; that it commits does not.
      const proposal p{b.where};
      REQUIRE(w.live.commit(job_key{501}, p.view()));
      REQUIRE(w.live.release(job_key{501}));
      ++agreed;
      static_cast<void>(mine.catch_up());
      mine.assume(p.view());
      REQUIRE(differences(w.live, mine.view()) != none);
      mine.retract(p.tasks);
      REQUIRE(differences(w.live, mine.view()) == none);
      late.push_back(p);
    }
    CHECK(w.live.check_invariants());
  }
  CHECK(followed > 20);
  CHECK(recopied > 0);
  CHECK(conflicts > 5);
  CHECK(agreed > 20);
}

TEST_CASE("proposals under way on one GPU are assumed: seven instances, then none, until the writer says otherwise") {
  writer w;
  replica mine{w.live, w.feed};
  placer<> place{mine.view()};
  gang g;
  g.groups.push_back({.name = "g", .wanted = 1, .minimum = 1});
  g.groups[0].shape.part = w.needs[3];  // 1g.10gb
  std::uint64_t assumed = 0;
  for (decision d = place(g); d; d = place(g), ++assumed) mine.assume(d.where);
  std::uint64_t gpus = 0;
  for (std::uint32_t n = 0; n < w.live.node_count(); ++n)
    gpus += w.live.shape_of(node_id{n}).name == "h100" ? w.live.shape_of(node_id{n}).devices : 0U;
  CHECK(assumed == 7 * gpus);
  CHECK(mine.catch_up() == catch_up_result::current);
  // The writer took a whole GPU of every node: each publishes all that is really there.
  for (std::uint32_t n = 0; n < w.live.node_count(); ++n) {
    const task_placement t{bit(0), node_id{n}, 0};
    const task_shape one{.devices = 1};
    REQUIRE(w.live.commit(job_key{n}, {{&t, 1}, {&one, 1}}));
  }
  CHECK(mine.catch_up() == catch_up_result::followed);
  CHECK(differences(w.live, mine.view()) == none);
  CHECK(place(g));
}

TEST_CASE("a feed of node states alone leaves its replicas without parts") {
  writer w;
  const change_feed plain{w.live.nodes()};
  CHECK_FALSE(plain.has_parts());
  cluster copy = w.live;
  change_feed own{copy.nodes()};
  copy.attach(&own);
  replica mine{copy, own};
  gang g;
  g.groups.push_back({.name = "g", .wanted = 1, .minimum = 1});
  g.groups[0].shape.part = w.needs[0];
  placer<> place{mine.view()};
  CHECK(place(g).result == verdict::capacity_exhausted);
  copy.attach(nullptr);
}

TEST_CASE("taking back what was assumed on a node that became another harms no other node") {
  for (const bool larger : {false, true}) {
    writer w;
    const node_id n{0};
    REQUIRE(w.live.remove_node(node_id{11}));  // so that no device at all is a class that every view knows
    replica mine{w.live, w.feed};
    static_cast<void>(mine.catch_up());
    const task_shape one{.part = w.needs[3]};
    const auto commit = [&](std::uint64_t key, unsigned device) {
      part_places places;
      places.push(device, 0);
      const task_placement t{bit(device), n, 0};
      return w.live.commit(job_key{key}, {{&t, 1}, {&one, 1}, {}, {&places, 1}}).has_value();
    };
    REQUIRE(commit(1, 2));
    static_cast<void>(mine.catch_up());
    std::vector<detail::device_use> before;
    for (unsigned d = 0; d < 6; ++d) before.push_back(mine.view().inside().parts().use(1, d));
    REQUIRE(w.live.release(job_key{1}));
    REQUIRE(w.live.remove_node(n));
    if (larger) {  // six devices in place of four
      REQUIRE(w.live.add_node(w.live.tree().leaf_of(n), {"x", shape_id{1}, {}, cpus(20), gibibytes(200)}));
      REQUIRE(w.live.set_mig_switch(n, 5, mig_switch::on));
    }
    const task_placement t{bit(2), n, 0};
    mine.retract({&t, 1});
    for (unsigned d = 0; d < 6; ++d) CHECK(mine.view().inside().parts().use(1, d) == before[d]);
    CHECK(mine.view().inside().parts().devices_in(1, mine.view().inside().parts().first_state(0)) == 0);
    CHECK(mine.catch_up() == catch_up_result::rebuild);
  }
}

TEST_CASE("readers on other threads follow parts while one writer commits what they propose") {
  writer w{32};
  std::atomic<bool> stop{false};
  std::mutex guard;
  std::vector<proposal> waiting;
  std::atomic<std::uint64_t> proposed[2] = {0, 0};
  std::unique_ptr<cluster> copies[2] = {std::make_unique<cluster>(w.live), std::make_unique<cluster>(w.live)};
  std::unique_ptr<replica> replicas[2];
  std::vector<std::thread> readers;
  for (std::uint64_t i = 0; i < 2; ++i)
    readers.emplace_back([&, i] {
      replicas[i] = std::make_unique<replica>(*copies[i], w.feed);
      placer<> place{replicas[i]->view()};
      random_source random{50 + i};
      for (bool last = false; !last;) {
        last = stop.load();
        static_cast<void>(replicas[i]->catch_up());
        const decision d = place(any_gang(w.needs, random));
        if (last || !d) continue;
        const std::scoped_lock lock{guard};
        if (waiting.size() > 8) continue;
        waiting.emplace_back(d.where);
        ++proposed[i];
      }
    });
  random_source random{7};
  std::uint64_t next = 0, committed = 0, wrong = 0;
  const std::size_t steps = effort(20'000);
  for (std::size_t step = 0; step < steps || committed < 100 || proposed[0] == 0 || proposed[1] == 0; ++step) {
    std::vector<proposal> in;
    {
      const std::scoped_lock lock{guard};
      std::swap(in, waiting);
    }
    for (const proposal& p : in) {
      const auto done = w.live.commit(job_key{next++}, p.view());
      committed += done ? 1U : 0U;
      wrong +=
          done || done.error().code == cluster_errc::conflict || done.error().code == cluster_errc::capacity_exhausted
              ? 0U
              : 1U;
    }
    if (next > 20) static_cast<void>(w.live.release(job_key{next - 1 - random.below(21)}));
    if (step % 64 == 3)
      static_cast<void>(w.live.set_mig_switch(node_id{static_cast<std::uint32_t>(random.below(12))}, 0,
                                              static_cast<mig_switch>(random.below(3))));
    if (w.live.job_count() > 40)
      for (std::uint64_t k = 0; k < next; ++k) static_cast<void>(w.live.release(job_key{k}));
  }
  stop.store(true);
  for (auto& t : readers) t.join();
  CHECK(wrong == 0);
  CHECK(w.live.check_invariants());
  for (auto& r : replicas) {
    static_cast<void>(r->catch_up());
    CHECK(differences(w.live, r->view()) == none);
  }
}

}  // namespace
