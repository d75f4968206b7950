// Whole GPUs, MIG instances and shares come and go on one cluster, with broken GPUs, switches and undone transactions:
// every call does what the geometry and plain sums say, and undoing restores every bit.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "allocation_count.hpp"
#include "berth/cluster/part_setup.hpp"
#include "berth/cluster/transaction.hpp"
#include "berth/core/random.hpp"
#include "berth/solver/detail/part_ledger.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "effort.hpp"

namespace {

using namespace berth;

cluster_spec machines() {
  cluster_spec s;
  s.tree = domain_tree_builder::regular({"cluster", "leaf"}, {3}, 4);
  const auto add = [&](const char* name, unsigned devices, const char* model) {
    s.shapes.push_back(make_plain_shape(name, devices, model, cpus(64), gibibytes(512)));
  };
  add("h100", 4, "h100-sxm5-80gb");
  add("a30", 2, "a30-24gb");
  add("rtx", 2, "rtx-pro-6000-bw-se-96gb");
  add("plain", 3, "v100-sxm2-32gb");
  // Unlike GPUs in one machine.
  s.shapes.push_back(s.shapes[0]);
  s.shapes.back().name = "mixed";
  s.shapes.back().models = {"h100-sxm5-80gb", "a30-24gb", "h100-sxm5-80gb", "v100-sxm2-32gb"};
  for (std::uint32_t n = 0; n < s.tree.node_count(); ++n) {
    const std::uint16_t kind[] = {0, 0, 4, 1, 0, 2, 3, 4};
    s.nodes.push_back({"n" + std::to_string(n), shape_id{kind[n % 8]}, {}, cpus(20), gibibytes(200)});
  }
  return s;
}

/// Small instances may be shared: of H100s by three of one user, of A30s by whoever fits.
part_catalogue cut_up(const cluster_spec& s) {
  part_catalogue c = make_part_catalogue({s.shapes.data(), s.shapes.size()});
  c.inside.resize(c.products.size());
  for (std::size_t p = 0; p < c.products.size(); ++p) {
    const mig_geometry& g = c.products[p].geometry();
    c.inside[p].resize(g.profiles);
    for (unsigned q = 0; q < g.profiles; ++q) {
      if (g.row(q).name == "1g.10gb" || g.row(q).name == "2g.20gb") c.inside[p][q] = {9000, 1000, 3, true, false};
      if (g.row(q).name == "1g.6gb") c.inside[p][q] = {6000, 2000, 9, false, true};
    }
  }
  for (part_model& m : c.models) {
    if (m.name == "v100-sxm2-32gb") m.one_user = true, m.clients = 4;
    if (m.name == "a30-24gb") m.exclusive_whole = true, m.thousandths = 1500;
  }
  return c;
}

/// All that parts add to the state.
struct picture {
  std::vector<node_state> nodes;
  std::vector<detail::part_masks> masks;
  std::vector<detail::device_use> use;
  std::vector<detail::instance_use> shared;
  std::vector<std::uint32_t> census;
  explicit picture(const cluster& c) : nodes{c.nodes().begin(), c.nodes().end()} {
    const auto& parts = c.inside().parts();
    for (std::uint32_t n = 0; n < c.node_count(); ++n) {
      masks.push_back(parts.masks(n));
      for (unsigned d = 0; d < c.shape_of(node_id{n}).devices; ++d) {
        use.push_back(parts.use(n, d));
        for (unsigned k = 0; k < max_task_instances; ++k) shared.push_back(parts.shared_instances(n, d)[k]);
      }
    }
    for (unsigned p = 0; p < parts.catalogue().products.size(); ++p)
      for (std::size_t s = 0; s < parts.product(p).size(); ++s)
        census.push_back(parts.census(p, static_cast<mig_state_id>(s)));
  }
  friend bool operator==(const picture&, const picture&) = default;
};

/// The most placements of one profile that fit beside what a GPU holds, by the geometry alone.
unsigned room_of(const mig_geometry& g, mig_set held, unsigned profile, unsigned from = 0) {
  unsigned most = 0;
  for (unsigned p = from; p < g.placements; ++p) {
    const mig_set more = held | mig_set{1} << p;
    if (g.placement[p].profile != profile || more == held || !g.key_of(more)) continue;
    most = std::max(most, 1 + room_of(g, more, profile, p + 1));
  }
  return most;
}

/// How many shares fit, one after the other, by sums alone.
template <class Limits, class Use>
std::uint64_t by_turns(const Limits& l, const Use& u, const part_need& need) {
  std::uint64_t n = 0, clients = u.clients, t = u.thousandths, m = u.memory_mib;
  bool alone = clients == 1 && t == 1000;
  for (;; ++n) {
    if (clients == l.clients || t + need.thousandths() > l.thousandths ||
        m + need.memory_on(l.memory_mib) > l.memory_mib ||
        (l.one_user && clients != 0 && u.user != need.user() && n == 0))
      return n;
    if (l.exclusive_whole &&
        (alone || (need.thousandths() == 1000 && clients != 0) || (need.thousandths() == 0 && t == l.thousandths)))
      return n;
    alone = need.thousandths() == 1000;
    ++clients, t += need.thousandths(), m += need.memory_on(l.memory_mib);
  }
}

class walk {
 public:
  explicit walk(std::uint64_t seed)
      : spec_{machines()},
        setup_{cut_up(spec_)},
        c_{spec_, {.jobs = 300, .tasks = 1200, .live_shapes = 16, .journal = 256, .parts = &setup_}},
        place_{c_},
        careless_{c_},
        random_{seed} {
    for (const char* p : {"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "7g.80gb", "1g.10gb+me", "1g.6gb", "2g.12gb",
                          "1g.24gb", "2g.48gb", "1g.24gb+me.all"}) {
      const std::string_view name{p};
      const auto r = make_mig_request(setup_, {&name, 1});
      REQUIRE(r);
      const auto id = c_.add_mig_request(*r);
      single_.push_back(needs_.size());
      needs_.push_back(part_need::mig(id));
      if (random_.below(3) == 0) needs_.push_back(part_need::mig(id, 2, random_.below(2) == 0));
    }
    const std::vector<std::string_view> claim{"3g.40gb", "2g.20gb"};
    needs_.push_back(part_need::mig(c_.add_mig_request(*make_mig_request(setup_, claim))));
    for (const unsigned t : {100U, 334U, 500U})
      needs_.push_back(part_need::share(t, t * 20, 1 + static_cast<unsigned>(random_.below(2))));
    needs_.push_back(part_need::share(0, 9000));
    needs_.push_back(part_need::fraction(400, 400));
    needs_.push_back(part_need::share(1000, 0));
    needs_.push_back(part_need::share(0, 100).of_user(7));
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const mig_request_id id = needs_[single_[i == 0 ? 0 : 2]].request();  // 1g.10gb, 2g.20gb
      needs_.push_back(part_need::share(300, 2000).in_instance(id));
      needs_.push_back(part_need::fraction(0, 334).of_user(7).in_instance(id));
    }
    const mig_request_id small = needs_[single_[6]].request();  // 1g.6gb
    for (const unsigned t : {0U, 700U, 1000U}) needs_.push_back(part_need::share(t, 500).in_instance(small));
  }

  void step() {
    ++steps_;
    const std::uint64_t roll = random_.below(100);
    if (roll < 40) place_and_commit();
    else if (roll < 50) commit_anything();
    else if (roll < 72) release();
    else if (roll < 77) health();
    else if (roll < 82) switches();
    else if (roll < 92) transactions();
    else counters();
    if (steps_ % 64 == 0) good(c_.check_invariants(), "invariants");
  }
  void finish() {
    while (!open_.empty()) end(random_.below(2) == 0);
    for (std::uint64_t k = 0; k < 120; ++k) good(c_.release(job_key{k}).has_value(), "the last release");
    good(c_.check_invariants(), "invariants at the end");
    for (std::uint32_t n = 0; n < c_.node_count(); ++n) {
      const auto& m = c_.inside().parts().masks(n);
      good(c_.node(node_id{n}).held == m.on && m.mig == m.on && m.shared == 0, "something is left behind");
    }
  }
  [[nodiscard]] const std::string& fault() const { return fault_; }
  [[nodiscard]] const std::set<std::string>& seen() const { return seen_; }

 private:
  struct scope {
    std::unique_ptr<transaction> t;
    picture before;
  };
  void good(bool condition, const char* what) {
    if (!condition && fault_.empty()) fault_ = std::string{what} + " at step " + std::to_string(steps_);
  }
  gang any_gang() {
    gang g;
    const std::uint64_t groups = 1 + random_.below(2);
    for (std::uint64_t i = 0; i < groups; ++i) {
      task_group t{.name = std::to_string(i)};
      t.shape.part = needs_[random_.below(needs_.size())];
      if (random_.below(3) == 0) t.shape = {.devices = static_cast<std::uint32_t>(random_.between(1, 2))};
      if (random_.below(3) == 0) t.shape.cpu = cpus(static_cast<std::int64_t>(random_.between(1, 4)));
      t.wanted = static_cast<std::uint32_t>(random_.between(1, 3));
      g.groups.push_back(t);
    }
    return g;
  }
  void place_and_commit() {
    const gang g = any_gang();
    const decision d = random_.below(2) == 0 ? place_(g) : careless_(g);
    if (!d) return;
    const job_key key{random_.below(64)};
    bool known = false;
    c_.for_each_task(key, [&](const committed_task&) { known = true; });
    const auto r = c_.commit(key, d.where);
    latest_ = static_cast<std::uint64_t>(key);
    seen_.insert(r ? "placed" : r.error().code == cluster_errc::key_in_use ? "key in use" : "no room in the store");
    if (!r) {
      good(known || r.error().code == cluster_errc::capacity_exhausted, "a placement that does not commit");
      return;
    }
    const std::uint64_t epoch = c_.epoch();
    good(c_.commit(key, d.where).has_value() && c_.epoch() == epoch, "the same again");
    // What is stored is what was placed.
    std::size_t i = 0;
    c_.for_each_task(key, [&](const committed_task& t) {
      const task_shape& shape = d.where.shapes[d.where.tasks[i].group];
      good(c_.part_of(t) == shape.part, "the need of a task");
      if (shape.part.is_nested()) seen_.insert("inside an instance");
      if (shape.part.has_places()) good(c_.places_of(t) == d.where.parts[i], "where a task's instances are");
      ++i;
    });
    if (d.where.parts.empty()) return;
    // With an instance elsewhere it is another job.
    std::vector<part_places> other{d.where.parts.begin(), d.where.parts.end()};
    for (auto& p : other)
      if (p.count != 0) {
        p.at[0].placement ^= 1;
        placement q = d.where;
        q.parts = other;
        good(!c_.commit(key, q).has_value(), "another content under the same key");
        break;
      }
  }
  /// A task on any devices at any starts, legal or not; the ledger knows which.
  void commit_anything() {
    const node_id n{static_cast<std::uint32_t>(random_.below(c_.node_count()))};
    task_shape shape{.part = needs_[random_.below(needs_.size())]};
    task_placement t{0, n, 0};
    part_places places;
    const unsigned devices = c_.shape_of(n).devices;
    if (shape.part.has_places()) {
      const auto& parts = c_.inside().parts();
      for (unsigned k = 0; k < shape.part.count(); ++k) {
        const auto d = static_cast<unsigned>(random_.below(devices));
        const auto product = parts.limits(c_.node(n).node_class, d).product;
        if (product == part_model::no_product) continue;
        const auto& want = parts.request(shape.part.request()).products[product];
        const mig_geometry& g = parts.product(product).geometry();
        for (unsigned i = 0; i < want.count; ++i) {
          auto p = static_cast<unsigned>(random_.below(g.placements));
          for (unsigned tries = 0; tries < 20 && g.placement[p].profile != want.profiles[i]; ++tries)
            p = static_cast<unsigned>(random_.below(g.placements));
          places.push(d, p);
        }
      }
      t.devices = places.devices();
      if (random_.below(20) == 0) t.devices ^= 1;
      if (random_.below(20) == 0 && places.count != 0) places.at[0].placement = 31;
      if (random_.below(20) == 0 && places.count != 0) places.at[0].device = 60, t.devices = places.devices();
    } else {
      while (count_bits(t.devices) < shape.part.count())
        t.devices |= bit(static_cast<unsigned>(random_.below(devices)));
      if (random_.below(20) == 0) t.devices = bit(static_cast<unsigned>(random_.below(64)));
    }
    if (random_.below(20) == 0) shape.cpu = cpus(30);
    detail::part_ledger ledger{c_, n};
    bool legal = detail::enter_task(ledger, c_, shape, t, &places) && c_.node(n).usable && shape.cpu <= c_.node(n).cpu;
    for_each_bit(t.devices, [&](unsigned d) { legal = legal && d < devices; });
    const picture before{c_};
    const job_key key{100 + random_.below(20)};
    bool known = false;
    c_.for_each_task(key, [&](const committed_task&) { known = true; });
    if (known) return;
    const auto r = c_.commit(key, {{&t, 1}, {&shape, 1}, {}, {&places, 1}});
    if (!r && r.error().code == cluster_errc::capacity_exhausted) return;
    good(r.has_value() == legal, legal ? "a legal placement was refused" : "an illegal placement was taken");
    if (!r) good(before == picture{c_}, "a refusal changed something");
    seen_.insert(r ? "legal" : "illegal");
    if (r && random_.below(2) == 0) static_cast<void>(c_.release(key));
  }
  void release() {
    // What came last often goes before any counters are read.
    const std::uint64_t key = random_.below(3) == 0   ? latest_
                              : random_.below(2) == 0 ? random_.below(64)
                                                      : 100 + random_.below(20);
    good(c_.release(job_key{key}).has_value() || !open_.empty(), "release");
  }
  void health() {
    const node_id n{static_cast<std::uint32_t>(random_.below(c_.node_count()))};
    if (random_.below(4) == 0) static_cast<void>(c_.set_node_usable(n, random_.below(3) != 0));
    else static_cast<void>(c_.set_device_health(n, static_cast<unsigned>(random_.below(4)), random_.below(3) != 0));
  }
  void switches() {
    const node_id n{static_cast<std::uint32_t>(random_.below(c_.node_count()))};
    const auto d = static_cast<unsigned>(random_.below(5));
    const auto to = static_cast<mig_switch>(random_.below(3));
    const picture before{c_};
    const auto& parts = c_.inside().parts();
    bool there = d < c_.shape_of(n).devices, idle = true;
    if (there) {
      const auto& u = parts.use(n.raw(), d);
      const bool ready = (parts.masks(n.raw()).on & bit(d)) != 0;
      idle = u.instances == 0 && u.clients == 0 && ((c_.node(n).held & bit(d)) == 0 || ready);
      there = to != mig_switch::on || parts.limits(c_.node(n).node_class, d).product != part_model::no_product;
    }
    const bool same = there && parts.switch_of(n.raw(), d) == to;
    const auto r = c_.set_mig_switch(n, d, to);
    if (!r && r.error().code == cluster_errc::capacity_exhausted) return;
    good(r.has_value() == (there && (idle || same)), "a switch");
    if (!r) good(before == picture{c_}, "a refused switch changed something");
    if (r) good(parts.switch_of(n.raw(), d) == to, "a switch that was not set");
    seen_.insert(r ? "switched" : there ? "held" : "no such switch");
  }
  void transactions() {
    if (open_.size() < 3 && random_.below(2) == 0) open_.push_back({std::make_unique<transaction>(c_), picture{c_}});
    else if (!open_.empty()) end(random_.below(2) == 0);
  }
  void end(bool keep) {
    scope s = std::move(open_.back());
    open_.pop_back();
    if (keep) return s.t->commit();
    s.t->rollback();
    good(s.before == picture{c_}, "rollback left something changed");
    seen_.insert("undone");
  }
  /// Counters of needs that can be counted from the geometry or by sums alone.
  void counters() {
    task_shape shape{.part = needs_[random_.below(needs_.size())]};
    if (random_.below(2) == 0) shape.part = needs_[single_[random_.below(single_.size())]];
    if (shape.part.count() != 1 || (random_.below(3) == 0)) shape.cpu = cpus(2);
    const live_shape* live = c_.counters(shape);
    REQUIRE(live != nullptr);
    const auto& parts = c_.inside().parts();
    std::uint64_t all = 0;
    for (std::uint32_t n = 0; n < c_.node_count(); ++n) {
      const node_state& s = c_.node(node_id{n});
      all += live->fits(n);
      if (shape.part.count() != 1) continue;
      std::uint64_t room = 0;
      for (unsigned d = 0; d < c_.shape_of(node_id{n}).devices && s.usable; ++d) {
        const auto& m = parts.masks(n);
        const auto& u = parts.use(n, d);
        const auto& l = parts.limits(s.node_class, d);
        if ((s.unhealthy & bit(d)) != 0) continue;
        if (shape.part.is_share()) {
          if ((s.free & bit(d)) == 0 && (m.shared & bit(d)) == 0) continue;
          room += by_turns(l, u, shape.part);
        } else if (shape.part.is_nested()) {
          if (l.product == part_model::no_product || (((s.free & ~m.off) | m.mig) & bit(d)) == 0) continue;
          const auto& want = parts.request(shape.part.request()).products[l.product];
          const mig_geometry& g = parts.product(l.product).geometry();
          if (want.count != 1 || setup_.inside[l.product][want.profiles[0]].clients == 0) continue;
          const instance_limits& in = setup_.inside[l.product][want.profiles[0]];
          room += room_of(g, u.instances, want.profiles[0]) * by_turns(in, detail::instance_use{}, shape.part);
          for (unsigned k = 0; k < max_task_instances; ++k)
            if (const auto& one = parts.shared_instances(n, d)[k];
                one.clients != 0 && g.placement[one.placement].profile == want.profiles[0])
              room += by_turns(in, one, shape.part);
        } else if (l.product != part_model::no_product) {
          if ((s.free & ~m.off & bit(d)) == 0 && (m.mig & bit(d)) == 0) continue;
          const auto& want = parts.request(shape.part.request()).products[l.product];
          if (want.count == 1) room += room_of(parts.product(l.product).geometry(), u.instances, want.profiles[0]);
          if (want.count > 1) return;
        }
      }
      if (shape.cpu.count() != 0)
        room = std::min<std::uint64_t>(room, static_cast<std::uint64_t>(s.cpu.count() / shape.cpu.count()));
      good(live->fits(n) == room, "tasks that fit on a node");
    }
    // And as many can be placed, no more.
    if (all == 0 || all > 200) return;
    gang g;
    g.groups.push_back(
        {.shape = shape, .wanted = static_cast<std::uint32_t>(all), .minimum = static_cast<std::uint32_t>(all)});
    good(place_(g).result == verdict::placed, "all that fit");
    ++g.groups[0].wanted, ++g.groups[0].minimum;
    good(careless_(g).result != verdict::placed, "one more than fit");
    seen_.insert("counted");
  }

  cluster_spec spec_;
  part_catalogue setup_;
  cluster c_;
  placer<> place_;
  placer<tightest, spread, with_parts<lowest_index, mig_first_fit, share_spread>> careless_;
  random_source random_;
  std::vector<part_need> needs_;
  std::vector<std::size_t> single_;
  std::vector<scope> open_;
  std::uint64_t latest_ = 0;  ///< key of the latest placement
  std::set<std::string> seen_;
  std::string fault_;
  int steps_ = 0;
};

}  // namespace

TEST_CASE("whole GPUs, instances and shares share one state, and undoing restores every bit") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    walk w{seed};
    for (std::size_t i = 0; i < effort(1500); ++i) {
      w.step();
      REQUIRE_MESSAGE(w.fault().empty(), "seed " << seed << ": " << w.fault());
    }
    w.finish();
    REQUIRE_MESSAGE(w.fault().empty(), "seed " << seed << ": " << w.fault());
    seen.insert(w.seen().begin(), w.seen().end());
  }
  for (const char* what :
       {"placed", "legal", "illegal", "switched", "held", "no such switch", "undone", "counted", "inside an instance"})
    CHECK_MESSAGE(seen.count(what) == 1, what);
}

TEST_CASE("what was asked for before parts and insides are kept is counted once they are") {
  cluster_spec spec = machines();
  for (node_shape& s : spec.shapes) s.numa = {{low_bits(s.devices), s.cpu, s.memory}};
  const part_catalogue setup = cut_up(spec);
  cluster c{spec, {.jobs = 4, .tasks = 16}};
  const task_shape half{.part = part_need::share(500, 0)};
  task_shape near{.devices = 1};
  near.bind.numa = numa_rule::single_node;
  CHECK(c.counters(half)->capacity(0, 0) == 0);
  CHECK(c.counters(near)->capacity(0, 0) == 0);
  c.reserve({.bindings = true});
  std::uint64_t devices = 0;
  for (const node_state& n : c.nodes()) devices += count_bits(n.free);
  CHECK(c.counters(near)->capacity(0, 0) == devices);
  CHECK(c.counters(half)->capacity(0, 0) == 0);
  c.reserve({.parts = &setup});
  const cluster from_the_start{spec, {.jobs = 4, .tasks = 16, .bindings = true, .parts = &setup}};
  CHECK(c.counters(half)->capacity(0, 0) == from_the_start.counters(half)->capacity(0, 0));
  CHECK(c.counters(half)->capacity(0, 0) > devices);
  CHECK(c.check_invariants());
}

// A share of an instance can only be made of a share; of anything else it would ask for less than that did.
static_assert(part_need::share(300, 0).in_instance(mig_request_id{1}).is_valid());
static_assert(!part_need::mig(mig_request_id{1}).in_instance(mig_request_id{1}).is_valid());
static_assert(!part_need{}.in_instance(mig_request_id{1}).is_valid());
static_assert(!task_shape{.cpu = cpus(1), .part = part_need{}.in_instance(mig_request_id{1})}.is_valid());

TEST_CASE("nodes with parts that come and go, larger and smaller, take no more memory each time") {
  const cluster_spec spec = machines();
  const part_catalogue setup = cut_up(spec);
  cluster c{spec, {.jobs = 4, .tasks = 16, .bindings = true, .parts = &setup}};
  const std::string_view one{"1g.10gb"};
  const task_shape instance{.part = part_need::mig(c.add_mig_request(*make_mig_request(setup, {&one, 1})))};
  const node_id n{2};
  const auto come_and_go = [&](std::uint32_t times) {
    bool ok = true;
    for (std::uint32_t i = 0; ok && i < times; ++i) {
      const shape_id kind{static_cast<std::uint16_t>(i % 5)};
      ok = c.remove_node(n).has_value() &&
           c.add_node(c.tree().leaf_of(n), {"new", kind, {}, cpus(20), gibibytes(200)}).has_value();
      if (kind.raw() != 0) continue;
      // What one leaves behind is not there for the next.
      const task_placement t{bit(1), n, 0};
      part_places places;
      places.push(1, 0);
      ok = ok && c.set_mig_switch(n, 0, mig_switch::on) && c.set_mig_switch(n, 2, mig_switch::off) &&
           c.commit(job_key{1}, {{&t, 1}, {&instance, 1}, {}, {&places, 1}}) && c.release(job_key{1});
    }
    return ok;
  };
  REQUIRE(come_and_go(10));
  const std::size_t before = c.memory();
  const std::uint64_t allocations = counting_new::count();
  CHECK(come_and_go(10'000));
  CHECK(c.memory() == before);
  CHECK(counting_new::count() == allocations);
  CHECK(c.check_invariants());
}

TEST_CASE("placing, committing, undoing and releasing parts allocates nothing") {
  const cluster_spec spec = machines();
  const part_catalogue setup = cut_up(spec);
  cluster c{spec, {.jobs = 64, .tasks = 256, .parts = &setup}};
  placer place{c};
  placer<tightest, spread, with_parts<lowest_index, mig_pack, share_spread>> other{c};
  gang mixed, alike;
  const std::string_view one{"1g.10gb"}, three{"3g.40gb"};
  const auto ask = [&](const std::string_view& p) {
    return part_need::mig(c.add_mig_request(*make_mig_request(setup, {&p, 1})));
  };
  alike.groups.push_back({.name = "a", .shape = {.part = ask(one)}, .wanted = 5, .minimum = 5});
  mixed.groups.push_back({.name = "a", .shape = {.part = ask(three)}, .wanted = 2, .minimum = 1});
  mixed.groups.push_back({.name = "b", .shape = {.devices = 1}, .wanted = 1, .minimum = 1});
  mixed.groups.push_back({.name = "c", .shape = {.part = part_need::share(250, 1000)}, .wanted = 3, .minimum = 3});
  mixed.groups.push_back(
      {.name = "d",
       .shape = {.part = part_need::share(100, 500).in_instance(alike.groups[0].shape.part.request())},
       .wanted = 4,
       .minimum = 4});
  const auto round = [&] {
    bool ok = true;
    for (std::uint64_t k = 0; k < 30; ++k) {
      for (const gang* g : {&mixed, &alike}) {
        transaction t{c};
        const decision d = k % 2 == 0 ? place(*g) : other(*g);
        if (d) ok = ok && c.commit(job_key{k * 2 + (g == &alike ? 1 : 0)}, d.where).has_value();
        if (k % 3 != 0) t.commit();
      }
      if (k > 4) ok = ok && c.release(job_key{(k - 4) * 2}).has_value();
    }
    for (std::uint64_t k = 0; k < 64; ++k) ok = ok && c.release(job_key{k}).has_value();
    return ok;
  };
  CHECK(round());
  const std::uint64_t before = counting_new::count();
  const bool ok = round();
  CHECK(counting_new::count() == before);
  CHECK(ok);
  CHECK(c.check_invariants());
}
