#include <doctest/doctest.h>

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/quota/borrowing.hpp"
#include "berth/quota/division/policies.hpp"
#include "berth/quota/excess.hpp"
#include "berth/quota/share_book.hpp"
#include "counting_new.hpp"

using namespace berth;

namespace {

queue_spec queue(std::string name, std::string parent, std::vector<quota_amount> guarantees) {
  queue_spec q;
  q.name = std::move(name);
  q.parent = std::move(parent);
  for (const auto g : guarantees) {
    q.quota.emplace_back();
    q.quota.back().guarantee = g;
  }
  return q;
}
queue_tree_spec spec_of(std::vector<queue_spec> queues, quota_rule rule = quota_rule::cohort,
                        guarantee_rule guarantees = guarantee_rule::own_plus_children) {
  queue_tree_spec s;
  s.source = "tree";
  const auto n = queues.front().quota.size();
  for (std::size_t r = 0; r < n; ++r) s.resources.push_back({"r" + std::to_string(r), "", 1});
  s.queues = std::move(queues);
  s.rule = rule;
  s.guarantees = guarantees;
  return s;
}
constexpr resource_id gpu{0};
std::array<quota_demand, 1> gpus(quota_amount n) {
  return {{{gpu, n}}};
}

std::string fault(queue_tree_spec s) {
  auto t = queue_tree::build(std::move(s));
  return t ? "built" : t.error().message();
}

}  // namespace

TEST_CASE("What is wrong with a tree is said with the name of the queue") {
  auto a = queue("a", "", {1}), b = queue("b", "a", {1});
  a.line = 3;
  b.line = 7;
  CHECK(fault(spec_of({a, b})) == "built");
  CHECK(fault(spec_of({a, a})) == "tree:3: found the same name a second time at queue 'a', expected every queue once");
  auto other = b;
  other.parent = "c";
  CHECK(fault(spec_of({a, b, other})) == "tree:7: found two parents, 'a' and 'c', at queue 'b', expected one parent");
  other = b;
  other.parent = "x";
  CHECK(fault(spec_of({a, other})) == "tree:7: found unknown parent 'x' at queue 'b', expected the name of a queue");
  auto loop = a;
  loop.parent = "b";
  CHECK(fault(spec_of({loop, b})).find("a cycle of parents at queue '") != std::string::npos);
  auto self = a;
  self.parent = "a";
  CHECK(fault(spec_of({self})) ==
        "tree:3: found a cycle of parents at queue 'a', expected parents that lead to a root");
  auto bad = b;
  bad.quota[0].guarantee = -1;
  CHECK(fault(spec_of({a, bad})) == "tree:7: found guarantee -1 of r0 at queue 'b', expected an amount from 0 to 2^62");
  bad = b;
  bad.quota[0].cap = -5;
  CHECK(fault(spec_of({a, bad})).find("cap -5 of r0 at queue 'b'") != std::string::npos);
  bad = b;
  bad.quota[0].guarantee = max_quota;
  CHECK(fault(spec_of({a, bad})).find("add up to more than 2^62 at queue 'a'") != std::string::npos);
  // The sum of the children alone passes the range.
  auto half = b, other_half = b, nothing = a;
  half.quota[0].guarantee = other_half.quota[0].guarantee = max_quota / 2 + 1;
  other_half.name = "c";
  nothing.quota[0].guarantee = 0;
  for (const auto rule : {guarantee_rule::own_plus_children, guarantee_rule::at_least_children})
    CHECK(fault(spec_of({nothing, half, other_half}, quota_rule::cohort, rule))
              .find("guarantees of r0 that add up to more than 2^62 at queue 'a'") != std::string::npos);
  bad = b;
  bad.quota[0].guarantee = unlimited;
  CHECK(fault(spec_of({a, bad})).find("guarantee 9223372036854775807") != std::string::npos);
  bad = b;
  bad.weight = -1;
  CHECK(fault(spec_of({a, bad})).find("weight -1 at queue 'b'") != std::string::npos);
  bad = b;
  bad.quota.emplace_back();
  CHECK(fault(spec_of({a, bad})).find("2 resources at queue 'b', expected 1") != std::string::npos);
  bad = b;
  bad.name.clear();
  CHECK(fault(spec_of({a, bad})).find("no name") != std::string::npos);
  bad = b;
  bad.user_limits.push_back({"eve", {-2}});
  CHECK(fault(spec_of({a, bad})).find("limit -2 of user 'eve' at queue 'b'") != std::string::npos);
  // Guarantees of children above the parent's: fine with Kueue, an error with YuniKorn.
  auto much = b;
  much.quota[0].guarantee = 5;
  CHECK(fault(spec_of({a, much})) == "built");
  CHECK(fault(spec_of({a, much}, quota_rule::caps, guarantee_rule::at_least_children)) ==
        "tree:3: found children that are guaranteed 5 of r0 at queue 'a', expected at most the 1 of the queue itself");
  CHECK(fault(spec_of({a, much}, quota_rule::caps, guarantee_rule::as_given)) == "built");
  auto capped = queue("p", "", {0});
  capped.quota[0].cap = 4;
  much.parent = "p";
  CHECK(fault(spec_of({capped, much}, quota_rule::caps, guarantee_rule::at_least_children)).find("at most the cap 4") !=
        std::string::npos);
  CHECK(fault({}) == "built");
  // A chain of a hundred thousand queues needs no recursion.
  std::vector<queue_spec> chain;
  for (int i = 0; i < 100000; ++i) chain.push_back(queue(std::to_string(i), i == 0 ? "" : std::to_string(i - 1), {0}));
  auto deep = queue_tree::build(spec_of(chain));
  REQUIRE(deep);
  CHECK(deep->depth(deep->find("99999")) == 100000);
}

TEST_CASE("A request that is none changes nothing") {
  auto t = *queue_tree::build(spec_of({queue("a", "", {4, 4})}));
  const auto refused = [&](std::vector<quota_demand> d, queue_id q = queue_id{0}) {
    return t.may_admit(q, d).refused_by == quota_limit::invalid_request &&
           t.add_usage(q, d).refused_by == quota_limit::invalid_request &&
           t.remove_usage(q, d).refused_by == quota_limit::invalid_request;
  };
  CHECK(refused({{gpu, -1}}));
  CHECK(refused({{resource_id{2}, 1}}));
  CHECK(refused({{resource_id{}, 1}}));
  CHECK(refused({{gpu, 1}, {gpu, 1}}));
  CHECK(refused({{resource_id{1}, 1}, {gpu, 1}}));
  CHECK(refused({{gpu, 1}}, queue_id{7}));
  CHECK(refused({{gpu, unlimited}}));
  CHECK(t.may_admit(queue_id{0}, {}));
  REQUIRE(t.add_usage(queue_id{0}, gpus(max_quota)));
  CHECK(t.add_usage(queue_id{0}, gpus(1)).refused_by == quota_limit::invalid_request);
  CHECK(t.cell(queue_id{0}, gpu).used == max_quota);
  CHECK(t.may_admit(queue_id{0}, gpus(0)));
  CHECK_FALSE(t.may_admit(queue_id{0}, gpus(1)));
}

TEST_CASE("Stopped queues, caps, users and budgets each refuse by name") {
  auto root = queue("root", "", {0}), team = queue("team", "root", {0}), stopped = queue("stopped", "root", {0});
  team.quota[0].cap = 10;
  team.quota[0].budget = 3600 * 10;
  team.user_limits = {{"*", {4}}, {"ann", {6}}};
  stopped.active = false;
  auto s = spec_of({root, team, stopped}, quota_rule::caps, guarantee_rule::as_given);
  s.capacity = {12};
  auto t = *queue_tree::build(s);
  t.reserve_users(3);
  const auto q = t.find("team");
  const auto ann = t.find_user("ann");
  const user_id bob{50}, eve{51}, zoe{52};
  REQUIRE(bool(ann));
  CHECK(t.may_admit(t.find("stopped"), gpus(1)).refused_by == quota_limit::inactive);
  CHECK(t.may_admit(q, gpus(7), ann).refused_by == quota_limit::user_limit);
  CHECK(t.may_admit(q, gpus(5), bob).available == 4);
  CHECK(t.admit(q, gpus(6), ann));
  CHECK(t.admit(q, gpus(3), bob));
  CHECK(t.user_usage(q, ann, gpu) == 6);
  const auto capped = t.may_admit(q, gpus(2), eve);
  CHECK(capped.refused_by == quota_limit::cap);
  CHECK(capped.queue == q);
  CHECK(capped.available == 1);
  CHECK(t.add_usage(q, gpus(1), eve));
  CHECK(t.add_usage(q, gpus(1), zoe).refused_by == quota_limit::capacity_exhausted);
  CHECK(t.cell(q, gpu).used == 10);
  CHECK(t.add_usage(q, gpus(3)));  // running work is counted, limits or not
  CHECK(t.may_admit(t.find("root"), gpus(1)).refused_by == quota_limit::guarantees);
  CHECK(t.remove_usage(q, gpus(4), bob).refused_by == quota_limit::invalid_request);
  CHECK(t.remove_usage(q, gpus(3)));
  CHECK(t.remove_usage(q, gpus(3), bob));
  CHECK(t.user_usage(q, bob, gpu) == 0);

  // Ten GPU-hours: an hour of 3 is reserved, used, and charged.
  CHECK(t.admit(q, gpus(3), bob, 3600));
  CHECK(t.budget_left(q, gpu) == 7 * 3600);
  CHECK(t.remove_usage(q, gpus(3), bob, 3600));
  CHECK(t.charge(q, gpu, 3 * 3600));
  CHECK(t.budget_left(q, gpu) == 7 * 3600);
  const auto broke = t.may_admit(q, gpus(3), bob, 3 * 3600);
  CHECK(broke.refused_by == quota_limit::budget);
  CHECK(broke.asked == 9 * 3600);
  CHECK(broke.available == 7 * 3600);
  CHECK(t.charge(q, gpu, 7 * 3600));
  CHECK(t.may_admit(q, gpus(1), bob).refused_by == quota_limit::budget);  // nothing left, however short it runs
  CHECK_FALSE(t.charge(q, gpu, -11 * 3600));
  t.set_spent(q, gpu, 0);  // a new window
  CHECK(t.may_admit(q, gpus(1), bob));
  CHECK(t.may_admit(q, gpus(1), bob, unlimited).refused_by == quota_limit::budget);
}

TEST_CASE("Asking and counting do not allocate") {
  std::vector<queue_spec> queues{queue("root", "", {100, 100})};
  queues[0].quota[0].budget = 1'000'000;
  for (int i = 0; i < 50; ++i)
    queues.push_back(queue("q" + std::to_string(i), i < 5 ? "root" : "q" + std::to_string(i / 5 - 1), {2, 2}));
  queues[1].user_limits = {{"*", {50, 50}}};
  auto t = *queue_tree::build(spec_of(queues));
  t.reserve_users(20);
  share_book<weighted_max_min> book{t};
  for (std::uint32_t i = 1; i < t.queue_count(); ++i) REQUIRE(book.set_demand(queue_id{i}, gpu, 5));
  (void)book.shares();
  const quota_demand d[] = {{gpu, 2}, {resource_id{1}, 1}};
  const auto before = counting_new::count();
  long admitted = 0;
  for (std::uint32_t i = 0; i < t.queue_count(); ++i) {
    const queue_id q{i};
    admitted += t.admit(q, d, user_id{i % 7}, 10) ? 1 : 0;
    (void)t.may_admit(q, d);
    (void)t.charge(q, gpu, 1);
    REQUIRE(book.set_demand(q, gpu, i % 3));
    (void)book.share(q, gpu);
  }
  const auto after = counting_new::count();
  CHECK(admitted > 30);
  CHECK(after == before);
}

TEST_CASE("Shares are worked out lazily, and only along the groups that a change affects") {
  // 10 departments of 10 teams; a policy that is asked for one team divides two groups.
  std::vector<queue_spec> queues;
  for (int d = 0; d < 10; ++d) {
    queues.push_back(queue("d" + std::to_string(d), "", {0}));
    for (int i = 0; i < 10; ++i)
      queues.push_back(queue("t" + std::to_string(d * 10 + i), "d" + std::to_string(d), {0}));
  }
  auto s = spec_of(queues, quota_rule::caps, guarantee_rule::as_given);
  s.capacity = {1000};
  auto t = *queue_tree::build(s);
  share_book<weighted_max_min> book{t};
  for (int i = 0; i < 100; ++i) REQUIRE(book.set_demand(t.find("t" + std::to_string(i)), gpu, 20));
  CHECK(book.divisions() == 0);
  CHECK(book.share(t.find("t7"), gpu) == 10);
  CHECK(book.divisions() == 2);
  CHECK(book.share(t.find("t8"), gpu) == 10);
  CHECK(book.divisions() == 2);
  (void)book.shares();
  CHECK(book.divisions() == 11);
  // A change that its department does not feel at the top: demand stays far above the share.
  REQUIRE(book.set_demand(t.find("t7"), gpu, 30));
  CHECK(book.share(t.find("t55"), gpu) == 10);
  CHECK(book.divisions() == 12);  // the roots, whose demands changed; the shares did not
  CHECK(book.share(t.find("t7"), gpu) == 10);
  CHECK(book.divisions() == 13);
  // One that the others feel: what t0..t9 leave goes to them.
  for (int i = 0; i < 10; ++i) REQUIRE(book.set_demand(t.find("t" + std::to_string(i)), gpu, 1));
  CHECK(book.share(t.find("t55"), gpu) == 11);
  CHECK(book.divisions() == 15);
  CHECK(book.share(t.find("d0"), gpu) == 10);
  CHECK_FALSE(book.set_demand(t.find("t1"), gpu, -1));
  CHECK_FALSE(book.set_demand(queue_id{}, gpu, 1));
  REQUIRE(book.set_demand(t.find("t1"), gpu, max_quota - 5000));
  CHECK_FALSE(book.set_demand(t.find("t2"), gpu, 6000));  // the department's sum would leave the range
  CHECK(book.demand(t.find("t2"), gpu) == 1);
}

TEST_CASE("On thousands of random trees: conservation, guarantees, and laziness that changes no result") {
  random_source random{77};
  const auto below = [&](quota_amount n) {
    return static_cast<quota_amount>(random.below(static_cast<std::uint64_t>(n)));
  };
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    const bool cohort = random.below(2) == 0;
    std::vector<queue_spec> queues;
    const auto n = 2 + random.below(14);
    for (std::uint64_t i = 0; i < n; ++i) {
      // One statement per number: the order in which arguments are worked out differs between compilers.
      const std::string parent = i == 0 ? "" : "q" + std::to_string(random.below(i));
      const quota_amount guarantee = below(6);
      queues.push_back(queue("q" + std::to_string(i), parent, {guarantee}));
      auto& k = queues.back().quota[0];
      queues.back().weight = 1 + below(4);
      if (random.below(4) == 0) k.cap = 20 + below(30);
      if (cohort && random.below(3) == 0) k.lending_limit = below(6);
      if (cohort && random.below(3) == 0) k.borrowing_limit = below(6);
      if (!cohort) k.guarantee = 0;
    }
    // Without cohorts, guarantees of leaves and what parents need for them.
    if (!cohort)
      for (std::uint64_t i = 1; i < n; ++i) queues[i].quota[0].guarantee = below(4);
    auto s = spec_of(queues, cohort ? quota_rule::cohort : quota_rule::caps,
                     cohort ? guarantee_rule::own_plus_children : guarantee_rule::as_given);
    if (!cohort) s.capacity = {below(60)};
    auto built = queue_tree::build(s);
    if (!built) {  // a cap that cuts into what is guaranteed below it
      REQUIRE(built.error().expected.find("cap") != std::string::npos);
      ++refused;
      continue;
    }
    auto& t = *built;
    const auto check = [&](auto policy) {
      using policy_type = decltype(policy);
      share_book<policy_type> lazy{t, policy};
      for (int step = 0; step < 6; ++step) {
        for (int k = 0; k < 4; ++k) {
          const queue_id q{static_cast<std::uint32_t>(random.below(n))};
          if (t.children(q).second == 0) REQUIRE(lazy.set_demand(q, gpu, below(30)));
        }
        for (int k = 0; k < 2; ++k) (void)lazy.share(queue_id{static_cast<std::uint32_t>(random.below(n))}, gpu);
      }
      share_book<policy_type> fresh{t, policy};
      for (std::uint32_t i = 0; i < n; ++i)
        if (t.children(queue_id{i}).second == 0)
          REQUIRE(fresh.set_demand(queue_id{i}, gpu, lazy.demand(queue_id{i}, gpu)));
      const quota_matrix& all = fresh.shares();
      for (std::uint32_t i = 0; i < n; ++i) REQUIRE(lazy.share(queue_id{i}, gpu) == all(i, 0));
      for (std::uint32_t p = 0; p < n; ++p) {
        const auto [first, count] = t.children(queue_id{p});
        if (count == 0) continue;
        quota_amount climbs = 0, promised = 0;
        for (auto i = first; i < first + count; ++i) {
          const auto c = t.cell(queue_id{i}, gpu);
          climbs += std::max<quota_amount>(0, all(i, 0) - c.local);
          const auto need = std::min(lazy.demand(queue_id{i}, gpu), c.cap);
          promised += std::min(c.subtree, need);
          REQUIRE(all(i, 0) <= need);
          REQUIRE(all(i, 0) <= c.ceiling);
        }
        INFO(policy_type::name);
        REQUIRE(climbs <= all(p, 0));
        // Nobody with unmet demand is below its guarantee while a sibling is above its own.
        for (auto i = first; i < first + count; ++i) {
          const auto c = t.cell(queue_id{i}, gpu);
          const auto need = std::min(lazy.demand(queue_id{i}, gpu), c.cap);
          if (all(i, 0) >= std::min(c.subtree, need)) continue;
          for (auto j = first; j < first + count; ++j) REQUIRE(all(j, 0) <= t.cell(queue_id{j}, gpu).subtree);
        }
      }
    };
    if (cohort) check(kueue_cohort{});
    else check(weighted_max_min{});
  }
  CHECK(refused > 0);
  CHECK(refused < 1000);
}

TEST_CASE("Debtors are the siblings above their guarantee, as far up as the guarantee is missing") {
  auto t = *queue_tree::build(spec_of({queue("org", "", {0}), queue("left", "org", {0}), queue("right", "org", {0}),
                                       queue("a", "left", {4}), queue("b", "left", {4}), queue("c", "right", {4})}));
  const auto a = t.find("a"), b = t.find("b"), c = t.find("c");
  REQUIRE(t.add_usage(c, gpus(8)));
  REQUIRE(t.add_usage(b, gpus(4)));
  auto d = debtors(t, a, gpu, 4);
  REQUIRE(d.size() == 1);
  CHECK(t.name(d[0].queue) == "right");
  CHECK(d[0].above == 4);
  REQUIRE(t.remove_usage(c, gpus(8)));
  REQUIRE(t.add_usage(b, gpus(6)));
  d = debtors(t, a, gpu, 4);
  REQUIRE(d.size() == 1);
  CHECK(d[0].queue == b);
  CHECK(debtors(t, a, gpu, 0).empty());
}

TEST_CASE("Half for half is granted, one more is not, and nothing flips back") {
  // pains A25: 8 units, two equal queues; Q1 runs 8, Q2 asks 6, 5, 4, 3 by the share that is due to it.
  auto s = spec_of({queue("q1", "", {0}), queue("q2", "", {0})}, quota_rule::caps, guarantee_rule::as_given);
  s.capacity = {8};
  auto t = *queue_tree::build(s);
  share_book<weighted_max_min> book{t};
  const auto q1 = t.find("q1"), q2 = t.find("q2");
  REQUIRE(book.set_demand(q1, gpu, 8));
  for (const quota_amount asks : {6, 5, 4, 3}) {
    REQUIRE(book.set_demand(q2, gpu, asks));
    CHECK((asks <= book.share(q2, gpu)) == (asks <= 4));
  }
  REQUIRE(book.set_demand(q2, gpu, 4));
  CHECK(book.share(q1, gpu) == 4);  // after two of four gangs of 2 left, q1 stays at what is due to it
  CHECK(book.share(q2, gpu) == 4);
}
