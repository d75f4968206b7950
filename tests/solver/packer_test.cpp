#include "berth/solver/packer.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/policy/fragmentation.hpp"
#include "berth/policy/future_value.hpp"
#include "berth/policy/packing_fit.hpp"
#include "policy/packing_support.hpp"

namespace {

using namespace berth;
using packing_test::random_task;

std::vector<share_node> random_nodes(random_source& random, std::size_t count) {
  std::vector<share_node> out;
  for (std::size_t i = 0; i < count; ++i) {
    share_node n;
    n.devices = static_cast<std::uint8_t>(random.below(5));
    n.model = static_cast<std::uint8_t>(n.devices == 0 ? 0 : random.below(3));
    n.cpu = cpus(static_cast<std::int64_t>(8 + random.below(24)));
    n.memory = gibibytes(64);
    for (unsigned g = 0; g < n.devices; ++g) n.free[g] = whole_device;
    out.push_back(n);
  }
  return out;
}
// Scores every node anew for every task: what the packer must agree with.
template <class Policy>
class plain_packer {
 public:
  plain_packer(std::vector<share_node> nodes, Policy policy)
      : policy_{std::move(policy)}, installed_{std::move(nodes)}, now_{installed_} {
    counts_.assign(installed_.size(), {0, std::vector<std::uint32_t>(2 + max_shared_devices)});
    if constexpr (learning_packing_policy<Policy>) policy_.begin(installed_);
  }
  std::optional<packed_task> place(const share_task& t) {
    if constexpr (learning_packing_policy<Policy>) policy_.arrived(t, now_, installed_);
    std::optional<packed_task> best;
    for (std::uint32_t n = 0; n < now_.size(); ++n) {
      if (!fits(now_[n], t)) continue;
      const auto& c = counts_[n];
      const packing_view v{now_[n], installed_[n], c.tasks, c.kinds[packing_kind(t)], c.tasks - c.kinds[0]};
      const auto s = policy_.score(v, t);
      if (!best || s.value > best->score) best = {n, s.devices, s.value};
    }
    if (best) change(t, *best, true);
    return best;
  }
  void release(const share_task& t, const packed_task& where) { change(t, where, false); }

 private:
  struct live {
    std::uint32_t tasks;
    std::vector<std::uint32_t> kinds;
  };
  void change(const share_task& t, const packed_task& w, bool takes) {
    const share_node before = now_[w.node];
    if (takes) take(now_[w.node], t, w.devices);
    else give_back(now_[w.node], t, w.devices);
    counts_[w.node].tasks += takes ? 1U : ~0U;
    counts_[w.node].kinds[packing_kind(t)] += takes ? 1U : ~0U;
    if constexpr (learning_packing_policy<Policy>) policy_.changed(before, now_[w.node], installed_[w.node]);
  }
  Policy policy_;
  std::vector<share_node> installed_, now_;
  std::vector<live> counts_;
};

template <class Policy>
void compare(Policy policy, std::uint64_t seed, std::size_t steps, std::size_t count = 24) {
  random_source random{seed};
  const auto nodes = random_nodes(random, count);
  packer<Policy> fast{nodes, policy};
  plain_packer<Policy> plain{nodes, policy};
  struct held {
    share_task task;
    packed_task where;
  };
  std::vector<held> running;
  std::size_t placed = 0, refused = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    if (!running.empty() && random.below(3) == 0) {
      const std::size_t k = random.below(running.size());
      fast.release(running[k].task, running[k].where);
      plain.release(running[k].task, running[k].where);
      running[k] = running.back();
      running.pop_back();
      continue;
    }
    const auto t = random_task(random);
    std::optional<bool> room;
    if (i % 4 == 0) room = fast.has_room(t);
    const auto a = fast.place(t), b = plain.place(t);
    if (room) REQUIRE(*room == a.has_value());
    REQUIRE(a.has_value() == b.has_value());
    if (!a) {
      ++refused;
      continue;
    }
    ++placed;
    REQUIRE(a->node == b->node);
    REQUIRE(a->devices == b->devices);
    REQUIRE(a->score == b->score);
    running.push_back({t, *a});
  }
  CHECK(placed > steps / 4);
  if (count == 24) CHECK(refused > 0);
  CHECK(fast.class_count() > 10);
}

// Prices of two kinds of node that move with every third request. `bound` is added to the drift of every request: that
// may rise while nothing moves.
template <bool Charges>
struct priced {
  packing_charge prices[3]{};
  double fallen = 7, bound = 0;
  std::uint32_t moved = 0, requests = 0;
  void begin(std::span<const share_node>) {}
  void arrived(const share_task& t, std::span<const share_node>, std::span<const share_node>) {
    fallen += bound;
    if (++requests % 3 != 0) return;
    packing_charge& c = prices[1 + requests / 3 % 2];
    const packing_charge old = c;
    c = {(requests * 7 + t.share) % 50 * 0.25, requests * 5 % 11 * 0.125};
    fallen += (c.fixed < old.fixed ? old.fixed - c.fixed : 0) + (c.rate < old.rate ? 8 * (old.rate - c.rate) : 0);
    ++moved;
  }
  void changed(const share_node&, const share_node&, const share_node&) {}
  [[nodiscard]] std::uint64_t version() const { return requests / 200; }
  [[nodiscard]] double drift(unsigned) const { return fallen; }
  [[nodiscard]] std::uint32_t moves(unsigned) const { return moved; }
  [[nodiscard]] const packing_charge* charges() const requires Charges { return prices; }
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const {
    packing_score s;
    s.devices = tightest_choice(v.now, t);
    s.drift = v.installed.devices % 2 == 0 ? 1 : 2;
    s.charge = s.drift;
    s.follows_charge = v.tasks % 5 != 4;
    s.amount = static_cast<float>(v.tasks % 8);
    s.base = 3.0 * v.same - v.now.free_total() / 100;
    s.value = charged(s.base, prices[s.charge], s.amount);
    return s;
  }
};
static_assert(learning_packing_policy<priced<false>> && !charging_packing_policy<priced<false>>);
static_assert(charging_packing_policy<priced<true>>);

// Says which charge it would be, but has no list of them.
struct without_charges {
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const {
    packing_score s;
    s.devices = tightest_choice(v.now, t);
    s.value = v.tasks;
    s.charge = 1;
    return s;
  }
};

TEST_CASE("A policy's drift is a bound: where it rises while no score moves, the best node is taken all the same") {
  for (const double bound : {0.0, 0.25}) {
    CAPTURE(bound);
    compare(priced<false>{.bound = bound}, 5, 1500);
    compare(priced<true>{.bound = bound}, 5, 1500);
  }
}

TEST_CASE("Without a list of charges a policy's charge says nothing") {
  compare(without_charges{}, 6, 1500);
}

TEST_CASE("Kept scores give the node that scoring everything gives, with departures") {
  compare(first_fit_packing{}, 1, 4000);
  compare(best_fit_packing{}, 2, 4000);
  compare(worst_fit_packing{}, 3, 4000);
  compare(gpu_clustering{}, 4, 4000);
  compare(gpu_clustering{score_rule::as_published}, 4, 2000);
  compare(gpu_packing{score_rule::as_published}, 4, 2000);
  std::vector<share_task> list;
  random_source random{9};
  for (int i = 0; i < 200; ++i) list.push_back(random_task(random));
  compare(fragmentation_gradient{target_workload(list)}, 5, 1500);
  future_value_settings quick;
  quick.samples = 4;
  quick.draws = 20;
  quick.window = 256;
  quick.price_every = 16;
  compare(future_value{quick}, 6, 1500);
  // Prices that move with every request, also to nothing and back.
  quick.price_every = 1;
  for (std::uint64_t seed = 7; seed < 11; ++seed) {
    quick.samples = static_cast<unsigned>(seed);
    quick.scarcity = 0.3 * static_cast<double>(seed);
    compare(future_value{quick}, seed, 1500);
  }
  // So many nodes that their bounds are settled all at once.
  quick.samples = 4;
  compare(future_value{quick}, 12, 2500, 800);
}

TEST_CASE("Amounts are exact to the byte and the millicore, however large") {
  share_node n;
  n.cpu = cpu_millis{(std::int64_t{1} << 33) + 500};
  n.memory = bytes{(std::int64_t{10} << 20) + 1000};
  packer<best_fit_packing> p{{n}, {}};
  share_task t;
  t.memory = bytes{1};
  REQUIRE(p.place(t));
  t.memory = bytes{(std::int64_t{10} << 20) + 1};
  for (int i = 0; i < 3; ++i) CHECK(p.place(t).has_value() == (i == 0));
  t = {};
  t.cpu = cpu_millis{std::int64_t{1} << 33};
  REQUIRE(p.place(t));
  CHECK_FALSE(p.place(t));
  t.cpu = cpu_millis{501};
  CHECK_FALSE(p.place(t));
  t.cpu = cpu_millis{500};
  CHECK(p.place(t));
  CHECK(p.node(0).cpu == cpu_millis{0});
  CHECK(p.node(0).memory == bytes{998});
}

TEST_CASE("Before the first request the node with the least left is best, as by best fit") {
  random_source random{5};
  auto nodes = random_nodes(random, 40);
  for (auto& n : nodes)
    for (unsigned g = 0; g < n.devices; ++g) n.free[g] = static_cast<std::uint16_t>(100 * random.below(11));
  share_task t;
  t.devices = 1;
  t.share = 500;
  packer<future_value> p{nodes, future_value{}};
  CHECK(p.has_room(t));
  future_value fresh;
  fresh.begin(nodes);
  for (const auto& n : nodes)
    for (const auto& o : nodes) {
      if (!fits(n, t) || !fits(o, t)) continue;
      const double one = fresh.score({n, n}, t).value, other = fresh.score({o, o}, t).value;
      CHECK(one == doctest::Approx(500).epsilon(1e-3));  // as if nothing else were to come
      const auto left = [](const share_node& x) { return x.free_total() + x.cpu.count() / 1000; };
      CHECK((one > other) == (left(n) < left(o)));
    }
  CHECK(p.place(t));
}

TEST_CASE("Scores follow the prices: nodes that did not change are not scored again when prices move") {
  future_value_settings often;
  often.price_every = 1;
  std::vector<share_node> nodes;
  for (unsigned i = 0; i < 400; ++i) {
    share_node n;
    n.devices = 8;
    n.cpu = cpus(96);
    n.memory = gibibytes(512);
    for (unsigned g = 0; g < n.devices; ++g) n.free[g] = whole_device;
    nodes.push_back(n);
  }
  const auto task = [](unsigned devices, std::int64_t cpu) {
    share_task t;
    t.devices = static_cast<std::uint8_t>(devices);
    t.share = whole_device;
    t.cpu = cpus(cpu);
    t.memory = gibibytes(8);
    return t;
  };
  const share_task kinds[] = {task(1, 8), task(2, 16), task(4, 40), task(8, 90)};
  packer<future_value> p{nodes, future_value{often}};
  random_source random{8};
  std::uint64_t decisions = 0, scores = 0, moves = 0;
  double price = -1;
  for (unsigned taken = 0; taken < 400 * 8 * 9 / 10;) {
    const share_task& t = kinds[random.below(3) == 0 ? random.below(4) : 0];
    const auto version = p.policy().version();
    const std::uint64_t before = p.scores();
    const auto where = p.place(t);
    REQUIRE(where);
    taken += t.devices;
    if (p.policy().version() != version) continue;  // all is scored anew
    ++decisions;
    scores += p.scores() - before;
    if (p.policy().charges()[1].fixed != price) ++moves;
    price = p.policy().charges()[1].fixed;
  }
  CHECK(decisions > 1000);
  CHECK(moves > 100);
  CHECK(scores < 8 * decisions);
}

TEST_CASE("Scores are kept: a task of a known kind looks only at what changed") {
  random_source random{3};
  packer<best_fit_packing> p{random_nodes(random, 1000), {}};
  share_task t;
  t.cpu = cpus(1);
  t.devices = 1;
  t.share = 250;
  REQUIRE(p.place(t));
  const auto first = p.scores();
  CHECK(first <= 1000);
  CHECK(first > 0);
  for (int i = 0; i < 500; ++i) REQUIRE(p.place(t));
  CHECK(p.scores() - first <= 500);  // a node that got full is not scored
}

}  // namespace
