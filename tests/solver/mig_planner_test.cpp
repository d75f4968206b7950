// The repartition planner against a search over single steps that knows nothing of choices per GPU, prices or bounds.
#include "berth/solver/mig_planner.hpp"

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "berth/cluster/part_setup.hpp"
#include "berth/core/random.hpp"
#include "berth/solver/mig_plan_cluster.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "berth/topology/mig_lookup.hpp"

using namespace berth;

namespace {

constexpr unsigned kinds = max_mig_profiles + 1;
using goal = mig_plan_request::goal;

mig_geometry plain(std::string_view product, mig_geometry_options o = {}) {
  const auto& row = **find_mig_product(product);
  o.profiles = 0;
  for (unsigned q = 0; q < row.profiles.size(); ++q)
    if (row.profiles[q].variant == catalogue::mig_variant::plain) o.profiles |= mig_set{1} << q;
  return *checked_mig_geometry(row, o);
}
unsigned profile(const mig_geometry& g, std::string_view name) {
  return find_mig_profile(*g.product, name)->profile;
}
std::uint8_t at(const mig_geometry& g, std::string_view name, unsigned start) {
  return static_cast<std::uint8_t>(*g.find(profile(g, name), start));
}

// Walks over all states that single steps lead one GPU to, and the least cost to each.
struct gpu_state {
  mig_mode mode = mig_mode::on;
  mig_set running = 0, idle = 0;
  bool whole = false;
  friend bool operator<(const gpu_state& a, const gpu_state& b) {
    return std::tuple{a.mode, a.running, a.idle, a.whole} < std::tuple{b.mode, b.running, b.idle, b.whole};
  }
};
std::map<gpu_state, std::int64_t> reachable(const mig_geometry& g, const mig_plan_costs& c, const mig_gpu_now& n) {
  const std::int64_t all = *g.product->compute;
  const std::int64_t toggle = (c.toggle_ms + (g.product->reset_to_toggle.value_or(true) ? c.reset_ms : 0)) * all;
  gpu_state first{n.mode, 0, n.idle, n.whole.has_value()};
  for (const auto& r : n.running) first.running |= mig_set{1} << r.placement;
  std::map<gpu_state, std::int64_t> done, open{{first, 0}};
  while (!open.empty()) {
    auto least = open.begin();
    for (auto i = open.begin(); i != open.end(); ++i)
      if (i->second < least->second) least = i;
    const auto [s, cost] = *least;
    open.erase(least);
    done[s] = cost;
    const std::int64_t so_far = cost;
    const auto go = [&](const gpu_state& to, std::int64_t by) {
      if (done.count(to) != 0) return;
      const auto [i, fresh] = open.emplace(to, so_far + by);
      if (!fresh && so_far + by < i->second) i->second = so_far + by;
    };
    for (unsigned p = 0; p < g.placements; ++p) {
      const mig_set bit = mig_set{1} << p;
      const std::int64_t slices = g.row(g.placement[p].profile).compute;
      gpu_state to = s;
      if ((s.idle & bit) != 0) {
        to.idle &= ~bit;
        go(to, c.destroy_ms * slices);
      } else if ((s.running & bit) != 0) {
        for (const auto& r : n.running)
          if (r.placement == p && r.who.drainable) {
            to.running &= ~bit;
            to.idle |= bit;
            go(to, (r.who.lost_ms + c.drain_ms + c.restart_ms) * slices);
          }
      } else if (s.mode == mig_mode::on && g.key_of(s.running | s.idle | bit)) {
        to.idle |= bit;
        go(to, c.create_ms * slices);
      }
    }
    gpu_state to = s;
    if (s.whole && n.whole->drainable) {
      to.whole = false;
      to.mode = mig_mode::off;
      go(to, (n.whole->lost_ms + c.drain_ms + c.restart_ms) * all);
    } else if (s.mode == mig_mode::off) {
      to.mode = mig_mode::on;
      go(to, toggle);
    } else if (s.mode == mig_mode::on && s.running == 0 && s.idle == 0) {
      to.mode = mig_mode::off;
      go(to, toggle);
    }
  }
  return done;
}

// What counts of a GPU towards the need.
std::array<int, kinds> counted(const mig_geometry& g, const mig_plan_request& r, const mig_gpu_now& n,
                               const gpu_state& s) {
  std::array<int, kinds> out{};
  mig_set was = 0;
  for (const auto& x : n.running) was |= mig_set{1} << x.placement;
  const mig_set counts = r.what == goal::target ? s.idle | s.running : s.idle;
  for_each_bit(counts, [&](unsigned p) { ++out[g.placement[p].profile]; });
  if (s.mode == mig_mode::off || (r.what == goal::target && s.mode == mig_mode::whole)) ++out[mig_whole_gpu];
  if (r.what == goal::queue && r.restart_drained) {
    for_each_bit(was & ~s.running, [&](unsigned p) { --out[g.placement[p].profile]; });
    if (n.whole && !s.whole) --out[mig_whole_gpu];
  }
  return out;
}

struct verdict {
  std::int64_t unserved = 0, cost = 0;  // slices; slice-milliseconds, waiting included where it has a cost
};
verdict everything(const mig_geometry& g, const mig_plan_costs& c, const std::vector<mig_gpu_now>& gpus,
                   const mig_plan_request& r) {
  std::map<std::array<int, kinds>, std::int64_t> sums{{{}, 0}};
  for (const auto& n : gpus) {
    std::map<std::array<int, kinds>, std::int64_t> one, next;
    for (const auto& [s, cost] : reachable(g, c, n)) {
      if (r.what == goal::target || r.restart_drained)
        if (n.mode == mig_mode::shared && !s.whole) continue;  // sharers cannot be placed again
      const auto [i, fresh] = one.emplace(counted(g, r, n, s), cost);
      if (!fresh && cost < i->second) i->second = cost;
    }
    for (const auto& [have, cost] : sums)
      for (const auto& [more, by] : one) {
        auto both = have;
        for (unsigned q = 0; q < kinds; ++q) both[q] += more[q];
        const auto [i, fresh] = next.emplace(both, cost + by);
        if (!fresh && cost + by < i->second) i->second = cost + by;
      }
    sums = next;
  }
  std::optional<verdict> best;
  for (const auto& [have, cost] : sums) {
    verdict v{0, cost};
    for (unsigned q = 0; q < kinds; ++q)
      if (const int miss = static_cast<int>(r.need[q]) - have[q]; miss > 0)
        v.unserved += miss * (q == mig_whole_gpu ? *g.product->compute : g.row(q).compute);
    if (c.wait_ms) v.cost += v.unserved * *c.wait_ms, v.unserved = 0;
    if (!best || v.unserved < best->unserved || (v.unserved == best->unserved && v.cost < best->cost)) best = v;
  }
  return *best;
}

// Instances at random until some do not fit; some of them idle, some not to be drained.
mig_gpu_now random_gpu(const mig_geometry& g, random_source& random, bool modes) {
  mig_gpu_now n;
  const auto kind = modes ? random.below(10) : 9;
  const auto lost = [&] { return static_cast<std::int64_t>(random.below(4) * 100'000); };
  if (kind < 4) {
    n.mode = kind == 0 ? mig_mode::off : kind == 1 ? mig_mode::whole : kind == 2 ? mig_mode::shared : mig_mode::out;
    if (kind == 1 || kind == 2) n.whole = mig_occupant{7, lost(), random.below(3) != 0};
    return n;
  }
  mig_set held = 0;
  for (auto tries = random.below(7); tries-- > 0;) {
    const auto p = static_cast<unsigned>(random.below(g.placements));
    const mig_set bit = mig_set{1} << p;
    if ((held & bit) != 0 || !g.key_of(held | bit)) continue;
    held |= bit;
    if (random.below(4) == 0) n.idle |= bit;
    else n.running.push_back({static_cast<std::uint8_t>(p), {100 + p, lost(), random.below(3) != 0}});
  }
  return n;
}

std::int64_t slices_of(const mig_geometry& g, const mig_need& need) {
  std::int64_t out = 0;
  for (unsigned q = 0; q < kinds; ++q)
    if (need[q] != 0) out += need[q] * std::int64_t{q == mig_whole_gpu ? *g.product->compute : g.row(q).compute};
  return out;
}

// The plan runs on what was given, costs what it says, and leaves out what it says.
void check_valid(const mig_geometry& g, const std::vector<mig_gpu_now>& gpus, const mig_plan_request& r,
                 const mig_plan& p) {
  const auto after = replay_mig_plan(g, gpus, p);
  REQUIRE_MESSAGE(after, after.error().message());
  std::array<int, kinds> have{};
  std::int64_t cost = 0;
  for (const auto& s : p.steps) cost += s.cost;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    gpu_state s{(*after)[i].mode, 0, (*after)[i].idle, (*after)[i].whole.has_value()};
    for (const auto& x : (*after)[i].running) s.running |= mig_set{1} << x.placement;
    const auto c = counted(g, r, gpus[i], s);
    for (unsigned q = 0; q < kinds; ++q) have[q] += c[q];
  }
  CHECK(cost == p.cost);
  for (unsigned q = 0; q < kinds; ++q) {
    const int miss = static_cast<int>(r.need[q]) - have[q];
    CHECK(p.unserved[q] == static_cast<std::uint32_t>(miss > 0 ? miss : 0));
  }
  CHECK(p.lower_bound <= p.cost + p.waiting);
}

}  // namespace

TEST_SUITE("solver/mig_planner") {
  TEST_CASE("random inputs of one to three GPUs: as cheap as a search over all single steps, and proven so") {
    random_source random{3};
    unsigned nothing = 0, drains = 0, switches = 0, cases = 0;
    for (const auto* product : {"a30-24gb", "a100-40gb", "h100-80gb"}) {
      const auto g = plain(product);
      const bool small = product[1] == '3';
      for (int i = 0; i < (small ? 150 : 45); ++i, ++cases) {
        std::vector<mig_gpu_now> gpus(1 + random.below(small ? 3 : 2));
        for (auto& n : gpus) n = random_gpu(g, random, true);
        mig_plan_request r;
        r.what = random.below(3) == 0 ? goal::target : goal::queue;
        r.restart_drained = random.below(3) == 0;
        for (unsigned q = 0; q < g.profiles; ++q)
          if (g.of_profile[q] != 0) r.need[q] = static_cast<std::uint32_t>(random.below(3) * random.below(2));
        r.need[mig_whole_gpu] = random.below(4) == 0 ? 1 : 0;
        mig_planner planner{g};
        if (random.below(2) == 0) planner.costs.wait_ms = static_cast<std::int64_t>(random.below(5) * 60'000);
        const auto p = planner.plan(gpus, r);
        REQUIRE(p);
        check_valid(g, gpus, r, *p);
        const auto want = everything(g, planner.costs, gpus, r);
        if (!planner.costs.wait_ms) CHECK(slices_of(g, p->unserved) == want.unserved);
        CHECK(p->cost + p->waiting == want.cost);
        CHECK(p->optimal);
        CHECK(p->lower_bound == want.cost);
        nothing += p->nothing_to_do() ? 1U : 0U;
        for (const auto& s : p->steps) {
          drains += s.what == mig_step::kind::drain ? 1U : 0U;
          switches += s.what == mig_step::kind::mig_on || s.what == mig_step::kind::mig_off ? 1U : 0U;
        }
      }
    }
    CHECK(cases == 240);
    CHECK(nothing > 20);  // every kind of answer occurs
    CHECK(drains > 20);
    CHECK(switches > 10);
  }

  TEST_CASE("large inputs: plans are valid, bounded from below, and mostly proven the cheapest") {
    random_source random{4};
    const auto g = plain("h100-80gb");
    unsigned proven = 0;
    for (int i = 0; i < 12; ++i) {
      std::vector<mig_gpu_now> gpus(i < 10 ? 48 : 256);
      for (auto& n : gpus) n = random_gpu(g, random, i % 2 == 0);
      mig_plan_request r;
      r.restart_drained = i % 3 == 0;
      for (unsigned q = 0; q < g.profiles; ++q)
        if (g.of_profile[q] != 0) r.need[q] = static_cast<std::uint32_t>(random.below(12));
      mig_planner planner{g};
      planner.budget = i == 5 ? 100 : 60'000;  // hardly any search: a plan all the same
      const auto p = planner.plan(gpus, r);
      REQUIRE(p);
      check_valid(g, gpus, r, *p);
      proven += p->optimal ? 1U : 0U;
      CHECK((p->cost + p->waiting - p->lower_bound) * 10 <= p->cost + p->waiting);
    }
    CHECK(proven >= 10);
  }

  TEST_CASE("a plan for GPUs of a cluster is done on its state, all or nothing") {
    cluster_spec spec;
    spec.tree = domain_tree_builder::regular({"cluster"}, {}, 6);
    spec.shapes = {make_plain_shape("h100", 4, "h100-sxm5-80gb", cpus(64), gibibytes(512))};
    spec.shapes.push_back(make_plain_shape("a30", 2, "a30-24gb", cpus(64), gibibytes(512)));
    spec.nodes.resize(6, {"", shape_id{0}, {}, cpus(64), gibibytes(512)});
    spec.nodes[2].shape = shape_id{1};
    const part_catalogue parts = make_part_catalogue({spec.shapes.data(), spec.shapes.size()});
    const mig_geometry& g = parts.products[0].geometry();
    unsigned drains = 0, creates = 0, switches = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      random_source random{seed};
      cluster c{spec, {.jobs = 400, .tasks = 400, .parts = &parts}};
      std::vector<mig_request_id> requests;
      for (unsigned q = 0; q < g.profiles; ++q) {
        const std::string_view name = g.row(q).name;
        requests.push_back(c.add_mig_request(*make_mig_request(parts, {&name, 1})));
      }
      REQUIRE(c.set_mig_switch(node_id{0}, 0, mig_switch::on).has_value());
      REQUIRE(c.set_mig_switch(node_id{0}, 1, mig_switch::off).has_value());
      REQUIRE(c.set_device_health(node_id{0}, 2, false).has_value());
      REQUIRE(c.set_node_usable(node_id{3}, false).has_value());
      placer place{c};
      for (std::uint64_t k = 0; k < 30; ++k) {
        gang what;
        const std::uint64_t kind = random.below(8);
        task_group t{.wanted = kind == 7 ? 2U : 1U, .minimum = 1};
        if (kind == 0) t.shape.devices = static_cast<std::uint32_t>(1 + random.below(2));
        else if (kind == 1) t.shape.part = part_need::share(500, 0);
        else t.shape.part = part_need::mig(requests[random.below(requests.size())]);
        what.groups.push_back(t);
        if (const auto d = place(what)) REQUIRE(c.commit(job_key{k}, d.where).has_value());
        if (random.below(3) == 0) REQUIRE(c.release(job_key{random.below(30)}).has_value());
      }
      const mig_view view{c, 0};
      const auto who = [](job_key k) {
        return mig_occupant{0, static_cast<std::int64_t>(k) * 1000, static_cast<std::uint64_t>(k) % 4 != 0};
      };
      const mig_gpus_of_cluster gpus = mig_gpus_of(view, who);
      REQUIRE(gpus.now.size() == 20);  // and none of the A30
      for (std::size_t i = 0; i < gpus.now.size(); ++i) {
        mig_set held = 0;
        for (const mig_running& r : gpus.now[i].running) held |= mig_set{1} << r.placement;
        CHECK((gpus.now[i].mode == mig_mode::out || held == view.instances(gpus.at[i])));
        CHECK((gpus.now[i].whole.has_value()) ==
              (gpus.now[i].mode == mig_mode::whole || gpus.now[i].mode == mig_mode::shared));
      }
      mig_plan_request r;
      for (unsigned q = 0; q < g.profiles; ++q)
        if (g.of_profile[q] != 0) r.need[q] = static_cast<std::uint32_t>(random.below(4));
      const auto p = mig_planner{g}.plan(gpus.now, r);
      REQUIRE(p);
      for (const mig_step& s : p->steps) {
        drains += s.what == mig_step::kind::drain ? 1U : 0U;
        creates += s.what == mig_step::kind::create ? 1U : 0U;
        switches += s.what == mig_step::kind::mig_on ? 1U : 0U;
      }
      const auto key = [](std::size_t i) { return job_key{1000 + i}; };
      const detail::mig_buckets before = c.inside().parts().buckets();
      auto broken = *p;
      broken.steps.push_back({mig_step::kind::destroy, 0, 31, false, 0, 0});
      CHECK_FALSE(apply_mig_plan(c, gpus, broken, 0, requests, key));
      CHECK(c.inside().parts().buckets() == before);
      CHECK(c.check_invariants());
      REQUIRE(apply_mig_plan(c, gpus, *p, 0, requests, key).has_value());
      CHECK(c.check_invariants());
      // The state is what replaying the steps on the description says.
      const auto then = replay_mig_plan(g, gpus.now, *p);
      REQUIRE(then);
      for (std::size_t i = 0; i < gpus.at.size(); ++i) {
        mig_set held = (*then)[i].idle;
        for (const mig_running& x : (*then)[i].running) held |= mig_set{1} << x.placement;
        if (gpus.now[i].mode != mig_mode::out) CHECK(view.instances(gpus.at[i]) == held);
      }
    }
    CHECK(drains > 10);
    CHECK(creates > 30);
    CHECK(switches > 3);
  }

  TEST_CASE("A19: three scattered 1g: the cheapest of them makes room for a 3g; waiting a little is cheaper still") {
    const auto g = plain("h100-80gb");
    std::vector<mig_gpu_now> gpus(1);
    const auto job = [](std::uint64_t owner, std::int64_t lost, bool drainable = true) {
      return mig_occupant{owner, lost, drainable};
    };
    gpus[0].running = {{at(g, "1g.10gb", 0), job(1, 5'000)},
                       {at(g, "1g.10gb", 1), job(2, 5'000)},
                       {at(g, "1g.10gb", 5), job(3, 9'000)}};
    mig_plan_request r;
    r.need[profile(g, "3g.40gb")] = 1;
    mig_planner planner{g};
    auto p = *planner.plan(gpus, r);
    REQUIRE(p.steps.size() == 3);  // one is drained instead of two, though it loses more
    CHECK(p.steps[0].what == mig_step::kind::drain);
    CHECK(p.steps[0].owner == 3);
    CHECK(p.steps[1].what == mig_step::kind::destroy);
    CHECK(p.steps[2] == mig_step{mig_step::kind::create, 0, at(g, "3g.40gb", 4), false, 0, 6000});
    CHECK(p.cost == 9'000 + 30'000 + 60'000 + 1000 + 6000);
    CHECK(p.optimal);

    gpus[0].running[2].who.drainable = false;  // now two have to go
    p = *planner.plan(gpus, r);
    CHECK(p.steps.size() == 5);
    CHECK(p.steps.back().placement == at(g, "3g.40gb", 0));
    planner.costs.wait_ms = 20'000;  // 3 slices × 20 s are cheaper than draining anybody
    p = *planner.plan(gpus, r);
    CHECK(p.nothing_to_do());
    CHECK(p.waiting == 60'000);
    CHECK(p.unserved[profile(g, "3g.40gb")] == 1);
    CHECK_FALSE(p.serves_all());
  }

  TEST_CASE("an idle instance of the profile is used as it is; an idle one in the way goes before anybody is drained") {
    const auto g = plain("h100-80gb");
    std::vector<mig_gpu_now> gpus(2);
    gpus[0].idle = mig_set{1} << at(g, "4g.40gb", 0);
    gpus[1].running = {{at(g, "7g.80gb", 0), {1, 0, true}}};
    mig_plan_request r;
    r.need[profile(g, "4g.40gb")] = 1;
    CHECK(mig_planner{g}.plan(gpus, r)->nothing_to_do());
    r.need[profile(g, "4g.40gb")] = 0;
    r.need[profile(g, "2g.20gb")] = 3;
    const auto p = *mig_planner{g}.plan(gpus, r);
    REQUIRE(p.steps.size() == 4);
    CHECK(p.steps[0].what == mig_step::kind::destroy);
    for (const auto& s : p.steps) CHECK(s.gpu == 0);
    r.need[profile(g, "4g.40gb")] = 1;  // now both are wanted, and the job on the other GPU has to make room
    CHECK(mig_planner{g}.plan(gpus, r)->steps.size() == 5);
  }

  TEST_CASE("switching MIG mode costs a reset on Ampere only, needs an idle GPU, and is not done for its own sake") {
    for (const auto* product : {"a100-40gb", "h100-80gb"}) {
      const auto g = plain(product);
      std::vector<mig_gpu_now> gpus(2);
      gpus[0].mode = mig_mode::off;
      gpus[1].running = {{at(g, product[0] == 'a' ? "7g.40gb" : "7g.80gb", 0), {1, 0, false}}};
      mig_plan_request r;
      r.need[profile(g, product[0] == 'a' ? "1g.5gb" : "1g.10gb")] = 1;
      const mig_planner planner{g};
      const auto p = *planner.plan(gpus, r);
      REQUIRE(p.steps.size() == 2);
      CHECK(p.steps[0].what == mig_step::kind::mig_on);
      CHECK(p.steps[0].cost == 7 * (product[0] == 'a' ? 32'000 : 2'000));
      gpus[0].mode = mig_mode::out;  // a GPU that is out is not touched; the other may not be drained
      CHECK(planner.plan(gpus, r)->nothing_to_do());
      CHECK_FALSE(planner.plan(gpus, r)->serves_all());
      // A whole GPU out of one in MIG mode, after its job was drained.
      mig_plan_request whole;
      whole.need[mig_whole_gpu] = 1;
      CHECK_FALSE(planner.plan(gpus, whole)->serves_all());
      gpus[1].running[0].who.drainable = true;
      const auto q = *planner.plan(gpus, whole);
      REQUIRE(q.steps.size() == 3);
      CHECK(q.steps[0].what == mig_step::kind::drain);
      CHECK(q.steps[2].what == mig_step::kind::mig_off);
    }
  }

  TEST_CASE("a target mix counts what runs, and jobs that are drained for it keep a place") {
    const auto g = plain("a30-24gb");
    std::vector<mig_gpu_now> gpus(2);
    gpus[0].running = {{at(g, "1g.6gb", 0), {1, 0, true}}};
    gpus[1].running = {{at(g, "1g.6gb", 2), {2, 50'000, true}}};
    mig_plan_request r;
    r.what = goal::target;
    r.need[profile(g, "1g.6gb")] = 2;
    CHECK(mig_planner{g}.plan(gpus, r)->nothing_to_do());
    r.need[profile(g, "4g.24gb")] = 1;
    const auto p = *mig_planner{g}.plan(gpus, r);
    CHECK(p.serves_all());
    REQUIRE(p.steps.size() == 4);
    CHECK(p.steps[0] ==
          mig_step{mig_step::kind::create, 1, p.steps[0].placement, false, 0, 2000});  // its new place first
    CHECK(p.steps[1].owner == 1);                                                      // the one that loses less
  }

  TEST_CASE("what contradicts itself is refused, and what is too large is said to be") {
    const auto g = plain("h100-80gb");
    const mig_planner planner{g};
    mig_plan_request r;
    r.need[profile(g, "1g.10gb")] = 1;
    const auto refused = [&](mig_gpu_now n, mig_plan_request q = {}) {
      const auto p = planner.plan({n}, q);
      return p ? std::string{} : p.error().message();
    };
    mig_gpu_now n;
    n.idle = mig_set{1} << at(g, "3g.40gb", 0) | mig_set{1} << at(g, "4g.40gb", 0);
    CHECK(refused(n).find("contradict") != std::string::npos);
    n.idle = mig_set{1} << at(g, "3g.40gb", 0);
    n.running = {{at(g, "3g.40gb", 0), {}}};
    CHECK(refused(n).find("contradict") != std::string::npos);
    n.running = {{200, {}}};
    CHECK(refused(n).find("unknown placement") != std::string::npos);
    n.running = {{at(g, "1g.10gb", 6), {1, -5, true}}};
    CHECK(refused(n).find("-5 ms") != std::string::npos);
    n.running.clear();
    n.mode = mig_mode::whole;
    CHECK(refused(n).find("not in MIG mode") != std::string::npos);
    n.idle = 0;
    n.mode = mig_mode::on;
    n.whole = mig_occupant{};
    CHECK(refused(n).find("another mode") != std::string::npos);
    mig_plan_request none;
    none.need[11] = 1;
    CHECK(refused({}, none).find("does not have") != std::string::npos);
    none.need[11] = 0;
    none.need[profile(g, "1g.20gb")] = 1;
    CHECK(refused({}, none).find("does not offer") != std::string::npos);
    none.need[profile(g, "1g.20gb")] = 0;
    none.need[0] = 20'000;
    CHECK(refused({}, none).find("20000") != std::string::npos);
    mig_planner dear{g};
    dear.costs.drain_ms = -1;
    CHECK_FALSE(dear.plan({{}}, r));
    std::vector<mig_gpu_now> many(mig_planner::max_gpus + 1);
    CHECK_FALSE(planner.plan(many, r));
    many.assign(4000, {});
    for (auto& m : many) m.running = {{at(g, "7g.80gb", 0), {1, mig_planner::max_ms, true}}};
    CHECK(planner.plan(many, r).error().message().find("64 bits") != std::string::npos);
    // A plan that does not fit the state is refused with its step.
    mig_plan p;
    p.steps = {{mig_step::kind::create, 0, at(g, "7g.80gb", 0), false, 0, 0},
               {mig_step::kind::create, 0, at(g, "1g.10gb", 0), false, 0, 0}};
    CHECK(replay_mig_plan(g, {{}}, p).error().line == 2);
  }
}
