#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/quota/division/effective_throughput.hpp"
#include "berth/quota/division/policies.hpp"
#include "berth/solver/type_turns.hpp"

using namespace berth;

namespace {

struct row {
  quota_amount guarantee, demand, weight;
  quota_amount cap = unlimited;
  std::int32_t priority = 0;
};
division_problem group(quota_amount capacity, const std::vector<row>& rows) {
  division_problem p(static_cast<Eigen::Index>(rows.size()), 1);
  p.capacity[0] = capacity;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto i = static_cast<Eigen::Index>(k);
    p.guarantee(i, 0) = p.deserved(i, 0) = rows[k].guarantee;
    p.demand(i, 0) = rows[k].demand;
    p.weight(i, 0) = rows[k].weight;
    p.cap(i, 0) = rows[k].cap;
    p.priority[k] = rows[k].priority;
    p.created_at[k] = static_cast<std::int64_t>(k);
  }
  return p;
}
template <class P>
std::vector<quota_amount> shares(const division_problem& p, const P& policy) {
  const quota_matrix m = p.divided_by(policy);
  return {m.data(), m.data() + m.rows()};
}
using amounts = std::vector<quota_amount>;

}  // namespace

TEST_CASE("Weighted max-min: worked numbers") {
  // 10 units, needs 2, 2.6, 4, 5 (in tenths): the textbook division 2, 2.6, 2.7, 2.7.
  CHECK(shares(group(100, {{0, 20, 1}, {0, 26, 1}, {0, 40, 1}, {0, 50, 1}}), weighted_max_min{}) ==
        amounts{20, 26, 27, 27});
  // Weights 2.5, 4, 0.5, 1 of 16, needs 4, 2, 10, 4: 4, 2, 3.33, 6.67 but the last needs 4: 4, 2, 6, 4.
  CHECK(shares(group(16, {{0, 4, 25}, {0, 2, 40}, {0, 10, 5}, {0, 4, 10}}), weighted_max_min{}) == amounts{4, 2, 6, 4});
  // Guarantees first; the surplus of 4 goes to the older on equal remainders.
  CHECK(shares(group(10, {{4, 9, 1}, {2, 9, 1}, {0, 9, 1}}), weighted_max_min{}) == amounts{6, 3, 1});
  // Promises beyond what there is are cut in proportion.
  CHECK(shares(group(9, {{10, 10, 1}, {5, 5, 1}}), weighted_max_min{}) == amounts{6, 3});
  CHECK(shares(group(9, {{0, 10, 0}, {0, 5, 1}}), weighted_max_min{}) == amounts{0, 5});
  // Whole GPUs counted in thousandths: shares are multiples of 1000, needs need not be.
  auto p = group(5000, {{0, 9000, 1}, {0, 9000, 1}, {0, 500, 1}});
  p.unit[0] = 1000;
  CHECK(shares(p, weighted_max_min{}) == amounts{2500, 2000, 500});
}

TEST_CASE("Water-filling is exact near the largest amounts") {
  // Terabytes in bytes, with weights of the same size; against plain 128-bit arithmetic.
  random_source random{5};
  for (int k = 0; k < 2000; ++k) {
    const auto big = [&](int bits) { return static_cast<quota_amount>(1 + random.below(std::uint64_t{1} << bits)); };
    const int bits = 30 + static_cast<int>(random.below(28));
    const auto a = big(bits), c = big(61);
    const auto b = static_cast<quota_amount>(random.below(static_cast<std::uint64_t>(c) + 1));
    const auto q = quota_detail::multiply_divide(a, b, c);
    const auto product = static_cast<quota_detail::wide>(a) * b;
    REQUIRE(q.whole == static_cast<quota_amount>(product / c));
    REQUIRE(q.rest == static_cast<quota_amount>(product % c));
    const auto n = 2 + random.below(5);
    std::vector<row> rows;
    quota_detail::wide wanted = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      rows.push_back({0, big(bits), big(58)});
      wanted += rows.back().demand;
    }
    const auto capacity = big(bits + 1);
    const auto s = shares(group(capacity, rows), weighted_max_min{});
    quota_amount sum = 0;
    for (const auto x : s) sum += x;
    REQUIRE(sum == (wanted < capacity ? static_cast<quota_amount>(wanted) : capacity));
    // The definition: whoever is below his need has, within a unit, at least the level of everybody else.
    for (std::size_t i = 0; i < s.size(); ++i)
      for (std::size_t j = 0; j < s.size(); ++j)
        if (s[i] < rows[i].demand)
          REQUIRE(static_cast<quota_detail::wide>(s[i] + 1) * rows[j].weight >=
                  static_cast<quota_detail::wide>(s[j] - 1) * rows[i].weight);
  }
  const auto all = shares(group(max_quota, {{0, max_quota, max_quota}, {0, max_quota, max_quota}}), weighted_max_min{});
  CHECK(all[0] == max_quota / 2 + 1);
  CHECK(all[1] == max_quota / 2);
}

TEST_CASE("KAI: past usage moves weight away from who had more, and promises may exceed what there is") {
  auto p = group(8, {{0, 8, 1}, {0, 8, 1}});
  CHECK(shares(p, kai_division{}) == amounts{4, 4});
  p.past_usage(0, 0) = 0.75;
  p.past_usage(1, 0) = 0.25;
  // w = 1/2 each; 1/2 + (1/2 - 3/4) = 1/4 and 3/4.
  CHECK(shares(p, kai_division{1.0}) == amounts{2, 6});
  p.past_usage(0, 0) = 1;
  CHECK(shares(p, kai_division{1.0}) == amounts{0, 8});
  CHECK(shares(group(10000, {{5000, 7000, 1, 7000}, {5000, 5000, 1}, {5000, 2000, 1}}), kai_division{}) ==
        amounts{5000, 5000, 2000});
}

TEST_CASE("Koordinator: minima, lending by shared weight, and minima scaled down") {
  // 100 to divide: a and b ask more than their minima, c leaves 20 of its 40 to them in the ratio 60:30.
  CHECK(shares(group(100, {{40, 60, 60}, {20, 50, 30}, {40, 20, 50}}), koordinator_runtime{}) == amounts{53, 27, 20});
  auto p = group(100, {{40, 60, 60}, {20, 50, 30}, {40, 20, 50}});
  p.lends[2] = 0;
  CHECK(shares(p, koordinator_runtime{}) == amounts{40, 20, 40});
  // What a could not use of the first round goes to b in the second.
  CHECK(shares(group(100, {{0, 10, 50}, {0, 90, 50}}), koordinator_runtime{}) == amounts{10, 90});
  CHECK(shares(group(50, {{60, 60, 60}, {40, 40, 40}}), koordinator_runtime{}) == amounts{30, 20});
}

TEST_CASE("Volcano: weights and guarantees, capacity's three numbers, and when a queue is over-used") {
  // 9 by weights 1:2 -> 3:6; with a guarantee of 4 for the light one, the heavy one can have 5.
  CHECK(shares(group(9, {{0, 9, 1}, {0, 9, 2}}), volcano_proportion{}) == amounts{3, 6});
  CHECK(shares(group(9, {{4, 9, 1}, {0, 9, 2}}), volcano_proportion{}) == amounts{4, 5});
  CHECK(shares(group(20, {{0, 4, 1}, {0, 19, 1}, {0, 19, 2}}), volcano_proportion{}) == amounts{4, 5, 11});
  auto p = group(10, {{2, 9, 1, 6}, {0, 9, 1}});
  p.deserved(0, 0) = 7;
  p.deserved(1, 0) = 4;
  CHECK(shares(p, volcano_capacity{}) == amounts{6, 4});
  p.demand(0, 0) = 1;
  CHECK(shares(p, volcano_capacity{}) == amounts{2, 4});
  CHECK(volcano_real_capability(p.view(), 1, 0, 2) == 8);
  const quota_amount deserved[] = {4, 0, 10}, used[] = {3, 5, 9}, full[] = {4, 0, 0};
  CHECK_FALSE(volcano_over_used(deserved, used));
  CHECK(volcano_over_used(deserved, full));
}

TEST_CASE("DRF: the example of the paper, with and without weights") {
  // 9 CPUs, 18 GB; tasks of (1, 4) and (3, 1): 3 tasks of the first, 2 of the second, dominant shares 2/3 each.
  division_problem p(2, 2);
  p.capacity = {9, 18};
  p.demand << 90, 360, 270, 90;
  quota_matrix s = p.divided_by(dominant_resource_fairness{});
  CHECK(s(0, 0) == 3);
  CHECK(s(0, 1) == 12);
  CHECK(s(1, 0) == 6);
  CHECK(s(1, 1) == 2);
  // Task by task the same.
  const std::vector<hdrf_node> nodes = {{0, 1000, {}, 0}, {0, 1000, {1, 4}, 90}, {0, 1000, {3, 1}, 90}};
  const quota_amount capacity[] = {9, 18};
  CHECK(hierarchical_drf::divide_tree(nodes, capacity) == std::vector<std::int64_t>{0, 3, 2});
  // A queue that is satisfied leaves the rest to the other.
  p.demand << 1, 4, 270, 90;
  s = p.divided_by(dominant_resource_fairness{});
  CHECK(s(0, 1) == 4);
  CHECK(s(1, 0) == 8);
}

TEST_CASE("Hierarchical DRF: a child that ran ahead while its sibling was blocked does not count against its parent") {
  // Two organisations on 480 CPUs and 480 GPUs, as in the H-DRF paper's starvation example: n1 has one leaf that wants
  // CPUs and GPUs; n2 one that wants CPUs only and one that wants GPUs only.
  const quota_amount capacity[] = {480, 480};
  const std::vector<hdrf_node> nodes = {{0, 1, {}, 0},       {0, 1, {}, 0},       {0, 1, {}, 0},
                                        {1, 1, {1, 1}, 999}, {2, 1, {1, 0}, 999}, {2, 1, {0, 1}, 999}};
  const auto n = hierarchical_drf::divide_tree(nodes, capacity);
  CHECK(n[3] == 240);
  CHECK(n[4] == 240);
  CHECK(n[5] == 240);
  // A leaf that is satisfied early does not hold its sibling back.
  auto less = nodes;
  less[4].tasks = 10;
  const auto k = hierarchical_drf::divide_tree(less, capacity);
  CHECK(k[4] == 10);
  CHECK(k[3] + k[5] == 480);
  CHECK(k[5] >= 230);
}

namespace {

/// Hierarchical DRF as its paper words it: before every task everything is worked out anew.
std::vector<std::int64_t> hdrf_by_definition(const std::vector<hdrf_node>& nodes, std::vector<quota_amount> left) {
  const auto capacity = left;
  const std::size_t n = nodes.size(), m = left.size();
  std::vector<std::int64_t> given(n, 0);
  std::vector<bool> blocked(n, false), leaf(n, true);
  for (std::size_t i = 1; i < n; ++i) leaf[nodes[i].parent] = false;
  const auto weight = [&](std::size_t i) { return static_cast<double>(nodes[i].weight); };
  for (;;) {
    std::vector<double> share(n, 0);
    std::vector<std::vector<double>> vector(n, std::vector<double>(m, 0));
    for (std::size_t i = n; i-- > 0;) {
      bool open = false;
      if (leaf[i]) {
        open = nodes[i].task.size() == m && given[i] < nodes[i].tasks;
        bool any = false;
        for (std::size_t r = 0; open && r < m; ++r) open = nodes[i].task[r] <= left[r], any |= nodes[i].task[r] > 0;
        open = open && any;
      }
      for (std::size_t c = 1; c < n; ++c) open = open || (nodes[c].parent == i && c != i && !blocked[c]);
      if (!open || (i != 0 && nodes[i].weight == 0)) blocked[i] = true;
    }
    if (blocked[0]) return given;
    for (std::size_t i = n; i-- > 0;) {
      double smallest = HUGE_VAL;
      for (std::size_t c = 1; c < n; ++c)
        if (nodes[c].parent == i && !blocked[c] && share[c] > 0) smallest = std::min(smallest, share[c] / weight(c));
      for (std::size_t r = 0; r < m; ++r) {
        if (leaf[i] && nodes[i].task.size() == m && capacity[r] > 0)
          vector[i][r] =
              static_cast<double>(given[i]) * static_cast<double>(nodes[i].task[r]) / static_cast<double>(capacity[r]);
        for (std::size_t c = 1; c < n; ++c)
          if (nodes[c].parent == i)
            vector[i][r] += (!blocked[c] && share[c] > 0 ? smallest * weight(c) / share[c] : 1) * vector[c][r];
        share[i] = std::max(share[i], vector[i][r]);
      }
    }
    std::size_t at = 0;
    while (!leaf[at]) {
      std::size_t best = n;
      for (std::size_t c = 1; c < n; ++c)
        if (nodes[c].parent == at && !blocked[c] && (best == n || share[c] / weight(c) < share[best] / weight(best)))
          best = c;
      at = best;
    }
    ++given[at];
    for (std::size_t r = 0; r < m; ++r) left[r] -= nodes[at].task[r];
  }
}

/// One group, step by step: who has least of its dominant resource for its weight goes next, the older on ties.
quota_matrix hdrf_step_by_step(const division_problem& p, quota_amount finest) {
  const auto view = p.view();
  const auto n = p.demand.rows(), m = p.demand.cols();
  quota_matrix share = quota_matrix::Zero(n, m);
  std::vector<quota_amount> steps(static_cast<std::size_t>(n), 0), taken = steps, left = p.capacity;
  std::vector<double> rate(steps.size(), 0);
  std::vector<bool> out(steps.size(), false);
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    double dominant = 0;
    for (Eigen::Index r = 0; r < m; ++r) {
      const auto c = p.capacity[static_cast<std::size_t>(r)], unit = p.unit[static_cast<std::size_t>(r)];
      if (view.need(i, r) == 0) continue;
      if (c == 0) out[k] = true;
      steps[k] = std::max({steps[k], quota_amount{1}, view.need(i, r) / unit});
      dominant = std::max(dominant, static_cast<double>(view.need(i, r)) / static_cast<double>(c));
    }
    steps[k] = std::min(steps[k], finest);
    if (steps[k] == 0 || p.weight(i, 0) == 0) out[k] = true;
    rate[k] = dominant / static_cast<double>(steps[k]) / static_cast<double>(p.weight(i, 0));
  }
  for (;;) {
    std::size_t best = steps.size();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (out[i]) continue;
      const double x = static_cast<double>(taken[i]) * rate[i];
      const double y = best == steps.size() ? HUGE_VAL : static_cast<double>(taken[best]) * rate[best];
      if (x < y || (x == y && view.older(i, best))) best = i;
    }
    if (best == steps.size()) return share;
    const auto i = static_cast<Eigen::Index>(best);
    out[best] = taken[best] == steps[best];
    std::vector<quota_amount> next;
    for (Eigen::Index r = 0; r < m && !out[best]; ++r) {
      const auto all = view.need(i, r), unit = p.unit[static_cast<std::size_t>(r)], k = taken[best] + 1;
      next.push_back(k == steps[best] ? all : all / unit * k / steps[best] * unit);
      if (next.back() - share(i, r) > left[static_cast<std::size_t>(r)]) out[best] = true;
    }
    if (out[best]) continue;
    ++taken[best];
    for (Eigen::Index r = 0; r < m; ++r) {
      left[static_cast<std::size_t>(r)] -= next[static_cast<std::size_t>(r)] - share(i, r);
      share(i, r) = next[static_cast<std::size_t>(r)];
    }
  }
}

}  // namespace

TEST_CASE("Hierarchical DRF takes many steps at once and ends where single steps end") {
  random_source random{14};
  const auto below = [&](std::uint64_t n) { return static_cast<quota_amount>(random.below(n)); };
  for (int round = 0; round < 1500; ++round) {
    const auto n = static_cast<Eigen::Index>(1 + below(round % 10 == 0 ? 40 : 6)), m = 1 + Eigen::Index{below(3)};
    division_problem p(n, m);
    const std::uint64_t size = round % 3 == 0 ? 6 : 300;
    for (Eigen::Index r = 0; r < m; ++r) {
      p.capacity[static_cast<std::size_t>(r)] = below(size * static_cast<std::uint64_t>(n));
      if (below(4) == 0) p.unit[static_cast<std::size_t>(r)] = 10;
    }
    for (Eigen::Index i = 0; i < n; ++i) {
      p.created_at[static_cast<std::size_t>(i)] = below(3);
      const auto weight = below(5);
      for (Eigen::Index r = 0; r < m; ++r) {
        p.demand(i, r) = below(4) == 0 ? 0 : below(size);
        if (below(5) == 0) p.cap(i, r) = below(size);
        p.weight(i, r) = weight;
      }
    }
    const auto finest = round % 2 == 0 ? hierarchical_drf{}.finest : 50;
    REQUIRE(p.divided_by(hierarchical_drf{finest}) == hdrf_step_by_step(p, finest));
  }
  // Large needs in many steps.
  constexpr quota_amount large = 8'000'000'000'000;
  division_problem p(3, 2);
  p.capacity = {large, large / 3};
  p.demand << large, large / 2, large / 5, large, 7, large / 8;
  p.weight << 1, 1, 2, 2, 3, 3;
  REQUIRE(p.divided_by(hierarchical_drf{100'000}) == hdrf_step_by_step(p, 100'000));
}

TEST_CASE("Hierarchical DRF on random trees is what its definition says") {
  random_source random{15};
  for (int round = 0; round < 400; ++round) {
    const auto n = 2 + random.below(9), m = 1 + random.below(3);
    std::vector<hdrf_node> nodes(n);
    std::vector<quota_amount> capacity(m);
    for (auto& c : capacity) c = static_cast<quota_amount>(random.below(40));
    for (std::size_t i = 1; i < n; ++i) {
      nodes[i].parent = static_cast<std::uint32_t>(random.below(i));
      nodes[i].weight = static_cast<quota_amount>(random.below(8) == 0 ? 0 : 1 + random.below(3));
      nodes[i].tasks = static_cast<std::int64_t>(random.below(20));
      for (std::size_t r = 0; r < m; ++r) nodes[i].task.push_back(static_cast<quota_amount>(random.below(4)));
    }
    REQUIRE(hierarchical_drf::divide_tree(nodes, capacity) == hdrf_by_definition(nodes, capacity));
  }
}

TEST_CASE("Gavel: who does not care gives up the fast GPU, and nobody is worse off than under an equal split") {
  throughput_problem p;
  p.throughput.resize(3, 2);
  p.throughput << 4, 1, 4, 1, 1, 1;
  p.gpus = {1, 1, 1};
  p.weight = {1, 1, 1};
  p.capacity = {1, 1};
  CHECK(equal_split(p)(0) == doctest::Approx(5.0 / 3));
  // The third runs 5/6 of the time on the slow one, the others share the fast one and what is left.
  const auto s = gavel_max_min(p);
  CHECK(s.level == doctest::Approx(1.25));
  CHECK(s.time(2, 0) == doctest::Approx(0));
  CHECK(s.time(2, 1) == doctest::Approx(5.0 / 6));
  CHECK(s.time(0, 0) + s.time(1, 0) == doctest::Approx(1));
  // In rounds everybody comes to his target.
  type_turns rounds{2};
  for (int j = 0; j < 3; ++j) rounds.add(1, std::vector<double>{s.time(j, 0), s.time(j, 1)});
  const std::vector<std::uint32_t> one_each{1, 1};
  for (int k = 0; k < 6000; ++k) {
    const auto on = rounds.round(one_each, 60);
    REQUIRE(std::count(on.begin(), on.end(), 0U) <= 1);
    REQUIRE(std::count(on.begin(), on.end(), 1U) <= 1);
  }
  for (std::uint32_t j = 0; j < 3; ++j)
    for (std::uint32_t k = 0; k < 2; ++k) CHECK(std::abs(rounds.received(j, k) - s.time(j, k)) < 0.01);
  p.weight = {2, 1, 1};
  const auto w = gavel_max_min(p);
  const Eigen::VectorXd got = (w.time.array() * p.throughput.array()).rowwise().sum();
  CHECK(got(0) >= doctest::Approx(2 * w.level * 5.0 / 3));
  CHECK(got(1) >= doctest::Approx(w.level * 5.0 / 3));

  random_source random{33};
  for (int round = 0; round < 200; ++round) {
    const auto jobs = static_cast<Eigen::Index>(1 + random.below(7)),
               types = static_cast<Eigen::Index>(1 + random.below(3));
    throughput_problem q;
    q.throughput.resize(jobs, types);
    for (Eigen::Index j = 0; j < jobs; ++j) {
      q.gpus.push_back(1);
      q.weight.push_back(1);
      for (Eigen::Index k = 0; k < types; ++k) q.throughput(j, k) = static_cast<double>(random.below(9));
    }
    for (Eigen::Index k = 0; k < types; ++k) q.capacity.push_back(static_cast<std::int64_t>(random.below(5)));
    const auto x = gavel_max_min(q);
    if (equal_split(q).maxCoeff() > 0) REQUIRE(x.level >= 1 - 1e-9);
    for (Eigen::Index j = 0; j < jobs; ++j) REQUIRE(x.time.row(j).sum() <= 1 + 1e-9);
    for (Eigen::Index k = 0; k < types; ++k)
      REQUIRE(x.time.col(k).sum() <= static_cast<double>(q.capacity[static_cast<std::size_t>(k)]) + 1e-9);
  }
}

TEST_CASE("Entitlements and head-room: worked numbers") {
  CHECK(shares(group(100, {{0, 0, 1}, {0, 9, 2}, {0, 9, 1}}), slurm_shares{}) == amounts{25, 50, 25});
  // Item 30: 50 %: one active keeps 50 %, two keep 25 %.
  CHECK(head_room{50}.reserved(1) == doctest::Approx(0.5));
  CHECK(head_room{50}.reserved(2) == doctest::Approx(0.25));
  CHECK(shares(group(100, {{0, 200, 1}, {0, 0, 1}}), head_room{50}) == amounts{50, 0});
  CHECK(shares(group(100, {{0, 200, 1}, {0, 200, 1}}), head_room{50}) == amounts{38, 37});
  CHECK(shares(group(100, {{0, 200, 1}, {0, 200, 1}}), head_room{0}) == amounts{50, 50});
}

TEST_CASE("The contract: owed, free, and the protected minimum") {
  CHECK(shares(group(10, {{6, 9, 1}, {4, 1, 1}}), contract_division{}) == amounts{9, 1});
  const run_contract c{3600, true}, free_rider{3600, false};
  CHECK_FALSE(c.may_evict(0, 3599));
  CHECK(c.may_evict(0, 3600));
  CHECK(free_rider.may_evict(0, 1));
  CHECK(run_contract{8 * 3600, true}.valid());
  CHECK_FALSE(run_contract{8 * 3600 + 1, true}.valid());
  contract_ledger a, b, nothing;
  for (int h = 0; h < 200; ++h) {
    a.close_hour(8, 10, h < 100 ? 8 : 2);
    b.close_hour(8, 4, 3);
    nothing.close_hour(0, 4, 3);
  }
  CHECK(a.owed() == 8 * 168);
  CHECK(b.owed() == 4 * 168);
  CHECK(a.used() == 68 * 8 + 100 * 2);  // the first 32 hours have left the week
  CHECK(goes_before(a, b));             // 744/1344 < 504/672
  CHECK(goes_before(b, nothing));
  CHECK_FALSE(goes_before(nothing, b));
}

TEST_CASE("Kueue's cohort lends what lending limits leave and borrows up to borrowing limits") {
  auto p = group(20, {{10, 0, 1}, {6, 20, 1}, {4, 20, 1}});
  CHECK(shares(p, kueue_cohort{}) == amounts{0, 11, 9});
  p.local(0, 0) = 7;  // lends 3 of 10
  CHECK(shares(p, kueue_cohort{}) == amounts{0, 8, 5});
  p.ceiling(1, 0) = 6;
  CHECK(shares(p, kueue_cohort{}) == amounts{0, 6, 7});
  p.weight(2, 0) = 0;
  p.weight(1, 0) = 0;
  p.ceiling(1, 0) = unlimited;
  CHECK(shares(p, kueue_cohort{}) == amounts{0, 8, 5});
}
