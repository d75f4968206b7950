/// \file
/// What does fair-share quota cost in the scheduler's loop?
///
///   admit/queues:<n>             may a request of 3 of 8 resources be added to a queue at depth 4, queues at random
///   admit/resources:8/queues:<n> the same for a request of all 8
///   admit_mixed/queues:<n>       as `admit`, on a tree where about half of the requests are refused, by the caps and
///                                borrowing limits of teams
///   admit_refused/queues:<n>     as `admit`, where the root has nothing left of the last of the 3 resources: the whole
///                                path of all three is walked before the answer is no
///   update/queues:<n>            usage added and taken back again, 3 resources, depth 4, queues at random
///   divide/queues:<n>            weighted max-min of 8 resources among n siblings
///   divide/<policy>/queues:<n>   every other policy on the same numbers
///   share/queues:<n>             one queue's demand changes in a tree of depth 4, and its share is read
///   share/all/queues:<n>         all shares of the tree from nothing
///
/// n is 10, 1,000 or 100,000. Times of admit and update are per call (an update is two changes). `admitted` is the part
/// of requests that were, `by_cap`, `by_borrowing`, `by_root` the parts refused by each limit. Trees, requests and
/// numbers are seeded.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/quota/division/policies.hpp"
#include "berth/quota/queue_tree.hpp"
#include "berth/quota/share_book.hpp"

namespace {

constexpr std::uint16_t resources = 8;

/// A tree of depth 4: a root, about cbrt(n) departments, as many groups in each, and the rest as teams below the
/// groups. `tight`: caps and borrowing limits a little above guarantees, so that requests meet them.
berth::queue_tree make_tree(std::uint32_t n, bool tight) {
  berth::random_source random{1};
  berth::queue_tree_spec s;
  for (std::uint16_t r = 0; r < resources; ++r) s.resources.push_back({"r" + std::to_string(r), "", 1});
  const auto fan = static_cast<std::uint32_t>(std::lround(std::cbrt(static_cast<double>(n)) * 0.9));
  const auto departments = fan < 1 ? 1 : fan;
  const auto groups = n > 1 + departments + departments * departments ? departments * departments : departments;
  for (std::uint32_t i = 0; i < n; ++i) {
    berth::queue_spec q;
    q.name = "q" + std::to_string(i);
    std::uint32_t parent = 0;
    if (i > departments + groups) parent = 1 + departments + (i - 1 - departments - groups) % groups;
    else if (i > departments) parent = 1 + (i - 1 - departments) % departments;
    if (i > 0) q.parent = "q" + std::to_string(parent);
    q.weight = static_cast<berth::quota_amount>(500 + random.below(2000));
    for (std::uint16_t r = 0; r < resources; ++r) {
      berth::queue_quota k;
      if (i > departments + groups) k.guarantee = static_cast<berth::quota_amount>(4 + random.below(12));
      k.borrowing_limit = 1'000'000;
      if (random.below(4) == 0) k.lending_limit = static_cast<berth::quota_amount>(random.below(8));
      if (random.below(4) == 0) k.cap = 100'000'000;
      if (tight && i > departments + groups) {
        k.borrowing_limit = static_cast<berth::quota_amount>(random.below(16));
        if (k.cap < berth::unlimited) k.cap = k.guarantee + static_cast<berth::quota_amount>(random.below(16));
      }
      q.quota.push_back(k);
    }
    s.queues.push_back(std::move(q));
  }
  return std::move(*berth::queue_tree::build(std::move(s)));
}

struct walk {
  berth::queue_tree tree;
  std::vector<berth::queue_id> leaves;  ///< at random, many times each
  std::vector<std::array<berth::quota_demand, resources>> requests;

  walk(std::uint32_t n, bool tight) : tree{make_tree(n, tight)} {
    berth::random_source random{2};
    std::vector<berth::queue_id> deepest;
    for (std::uint32_t i = 0; i < n; ++i)
      if (tree.children(berth::queue_id{i}).second == 0) deepest.push_back(berth::queue_id{i});
    for (int i = 0; i < 1 << 18; ++i) leaves.push_back(deepest[random.below(deepest.size())]);
    for (int i = 0; i < 64; ++i) {
      requests.emplace_back();
      for (std::uint16_t r = 0; r < resources; ++r)
        requests.back()[r] = {berth::resource_id{r}, static_cast<berth::quota_amount>(1 + random.below(8))};
    }
    // Two of three queues are in use.
    for (std::size_t i = 0; i < deepest.size(); ++i)
      if (i % 3 != 0) (void)tree.admit(deepest[i], requests[i % 64]);
  }
};
enum class filled { a_little, at_limits, no_third };

/// Puts usage on the tree until its limits are felt.
void fill(walk& w, filled how) {
  berth::random_source random{4};
  auto& t = w.tree;
  const auto is_leaf = [&](std::uint32_t i) { return t.children(berth::queue_id{i}).second == 0; };
  if (how == filled::no_third) {
    // All that the root has of the third resource is in use, by anybody.
    const berth::resource_id third{2};
    for (std::uint32_t i = 0; i < t.queue_count(); ++i)
      if (const auto left = t.available(berth::queue_id{i}, third); is_leaf(i) && left > 0) {
        const berth::quota_demand d{third, left};
        (void)t.admit(berth::queue_id{i}, {&d, 1});
      }
    return;
  }
  // A fifth of all (queue, resource) is at its cap or borrowing limit, the others use up to a third of their guarantee.
  for (std::uint32_t i = 0; i < t.queue_count(); ++i)
    for (std::uint16_t r = 0; is_leaf(i) && r < resources; ++r) {
      const berth::queue_id q{i};
      const berth::resource_id k{r};
      const auto c = t.cell(q, k);
      const auto most = random.below(5) == 0 ? std::min(c.cap, c.ceiling) : c.guarantee / 3;
      const berth::quota_demand d{k, std::min(most - c.used, t.available(q, k))};
      if (d.amount > 0) (void)t.admit(q, {&d, 1});
    }
}

walk& walk_of(std::uint32_t n, filled how = filled::a_little) {
  static std::unique_ptr<walk> kept;
  static std::uint32_t size = 0;
  static filled with = filled::a_little;
  if (!kept || size != n || with != how) {
    kept.reset();
    kept = std::make_unique<walk>(n, how == filled::at_limits);
    if (how != filled::a_little) fill(*kept, how);
    size = n;
    with = how;
  }
  return *kept;
}

void admit(benchmark::State& state, std::uint32_t n, std::size_t asked, filled how = filled::a_little) {
  auto& w = walk_of(n, how);
  std::array<std::size_t, 16> by{};
  std::size_t i = 0;
  for (auto _ : state) {
    const auto a = w.tree.may_admit(w.leaves[i & ((1U << 18) - 1)], {w.requests[i & 63].data(), asked});
    ++by[static_cast<std::size_t>(a.refused_by)];
    ++i;
  }
  benchmark::DoNotOptimize(by);
  const auto part = [&](berth::quota_limit l) {
    return static_cast<double>(by[static_cast<std::size_t>(l)]) / static_cast<double>(i);
  };
  state.counters["admitted"] = part(berth::quota_limit::none);
  if (how == filled::a_little) return;
  state.counters["by_cap"] = part(berth::quota_limit::cap);
  state.counters["by_borrowing"] = part(berth::quota_limit::borrowing_limit);
  state.counters["by_root"] = part(berth::quota_limit::guarantees);
}

void update(benchmark::State& state, std::uint32_t n) {
  auto& w = walk_of(n);
  std::size_t i = 0;
  for (auto _ : state) {
    const auto q = w.leaves[i & ((1U << 18) - 1)];
    const std::span<const berth::quota_demand> d{w.requests[i & 63].data(), 3};
    benchmark::DoNotOptimize(w.tree.add_usage(q, d).refused_by);
    benchmark::DoNotOptimize(w.tree.remove_usage(q, d).refused_by);
    ++i;
  }
}

/// n siblings who want about twice what there is; a third of them want little.
berth::division_problem make_problem(Eigen::Index n) {
  berth::random_source random{3};
  berth::division_problem p(n, resources);
  for (Eigen::Index i = 0; i < n; ++i) {
    p.created_at[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(random.below(1U << 30));
    p.priority[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(random.below(3));
    const auto weight = static_cast<berth::quota_amount>(500 + random.below(2000));
    for (Eigen::Index r = 0; r < resources; ++r) {
      p.guarantee(i, r) = p.deserved(i, r) = static_cast<berth::quota_amount>(random.below(32));
      p.demand(i, r) = static_cast<berth::quota_amount>(random.below(random.below(3) == 0 ? 64 : 512));
      if (random.below(8) == 0) p.cap(i, r) = 128;
      p.weight(i, r) = weight;
    }
  }
  for (Eigen::Index r = 0; r < resources; ++r) p.capacity[static_cast<std::size_t>(r)] = n * 96 + 7;
  return p;
}

template <class Policy>
void divide(benchmark::State& state, const Policy& policy, Eigen::Index n) {
  const auto p = make_problem(n);
  const auto group = p.view();
  berth::quota_matrix share = berth::quota_matrix::Zero(n, resources);
  berth::division_workspace w;
  policy.divide(group, share, w);
  for (auto _ : state) {
    policy.divide(group, share, w);
    benchmark::DoNotOptimize(share.data());
    benchmark::ClobberMemory();
  }
}

void share_of_one(benchmark::State& state, std::uint32_t n) {
  auto& w = walk_of(n);
  berth::share_book<berth::kueue_cohort> book{w.tree};
  const berth::resource_id r{0};
  for (std::uint32_t i = 0; i < n; ++i)
    if (w.tree.children(berth::queue_id{i}).second == 0) (void)book.set_demand(berth::queue_id{i}, r, 10 + i % 20);
  (void)book.shares();
  const auto before = book.divisions();
  std::size_t i = 0;
  for (auto _ : state) {
    const auto q = w.leaves[i & ((1U << 18) - 1)];
    (void)book.set_demand(q, r, static_cast<berth::quota_amount>(10 + i % 23));
    benchmark::DoNotOptimize(book.share(q, r));
    ++i;
  }
  state.counters["divisions"] = static_cast<double>(book.divisions() - before) / static_cast<double>(i);
}

void share_of_all(benchmark::State& state, std::uint32_t n) {
  auto& w = walk_of(n);
  berth::share_book<berth::kueue_cohort> book{w.tree};
  const berth::resource_id r{0};
  std::vector<berth::queue_id> leaves;
  for (std::uint32_t i = 0; i < n; ++i)
    if (w.tree.children(berth::queue_id{i}).second == 0) leaves.push_back(berth::queue_id{i});
  berth::quota_amount k = 0;
  for (auto _ : state) {
    ++k;
    for (const auto q : leaves) (void)book.set_demand(q, r, 10 + (k + q.raw()) % 20);
    benchmark::DoNotOptimize(book.shares().data());
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::uint32_t n : {10U, 1000U, 100000U}) {
    const std::string size = "/queues:" + std::to_string(n);
    const auto add = [&](const std::string& name, auto&& f) { benchmark::RegisterBenchmark((name + size).c_str(), f); };
    add("admit", [n](benchmark::State& s) { admit(s, n, 3); });
    add("admit/resources:8", [n](benchmark::State& s) { admit(s, n, resources); });
    add("admit_mixed", [n](benchmark::State& s) { admit(s, n, 3, filled::at_limits); });
    add("admit_refused", [n](benchmark::State& s) { admit(s, n, 3, filled::no_third); });
    add("update", [n](benchmark::State& s) { update(s, n); });
    berth::for_each_division_policy([&](const auto& policy) {
      using policy_type = std::decay_t<decltype(policy)>;
      const bool first = std::is_same_v<policy_type, berth::weighted_max_min>;
      add(first ? "divide" : "divide/" + std::string{policy.name},
          [policy, n](benchmark::State& s) { divide(s, policy, n); });
    });
    add("share", [n](benchmark::State& s) { share_of_one(s, n); });
    add("share/all", [n](benchmark::State& s) { share_of_all(s, n); });
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
