#include "berth/solver/type_shares.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/io/gavel.hpp"
#include "berth/io/text_file.hpp"
#include "berth/solver/type_turns.hpp"

namespace {

using namespace berth;

// Steps per second alone on one K80, P100, V100, from Gavel's published measurements
// (github.com/stanford-futuredata/gavel, scheduler/simulation_throughputs.json, MIT).
std::vector<typed_job> measured() {
  return {{{3.43877, 5.68135, 7.17577}, 1, 1},    // A3C
          {{0.50477, 2.40267, 4.42609}, 1, 1},    // CycleGAN
          {{6.05420, 21.15753, 28.23996}, 1, 1},  // LM (batch size 80)
          {{2.69878, 5.54844, 2.84151}, 1, 1},    // Recommendation (batch size 8192)
          {{1.80653, 11.67550, 17.99491}, 1, 1},  // ResNet-18 (batch size 128)
          {{0.61903, 2.61947, 4.39477}, 1, 1},    // ResNet-50 (batch size 64)
          {{0.98158, 3.07354, 5.44611}, 1, 1}};   // Transformer (batch size 128)
}
double sum_of(const std::vector<typed_job>& jobs, const std::vector<std::uint32_t>& devices, const type_shares& s) {
  double all = 0, sum = 0;
  for (const auto d : devices) all += d;
  for (std::size_t m = 0; m < jobs.size(); ++m) {
    double usual = 0;
    for (std::size_t t = 0; t < devices.size(); ++t) usual += jobs[m].throughput[t] * devices[t] / all;
    sum += s.throughput(jobs[m], m) / usual;
  }
  return sum;
}
void check_feasible(const std::vector<typed_job>& jobs, const std::vector<std::uint32_t>& devices,
                    const type_shares& s) {
  std::vector<double> used(devices.size(), 0);
  for (std::size_t m = 0; m < jobs.size(); ++m) {
    double time = 0;
    for (std::size_t t = 0; t < devices.size(); ++t) {
      CHECK(s.part[m][t] >= -1e-9);
      time += s.part[m][t];
      used[t] += s.part[m][t] * jobs[m].devices;
    }
    CHECK(time <= 1 + 1e-9);
  }
  for (std::size_t t = 0; t < devices.size(); ++t) CHECK(used[t] <= devices[t] + 1e-9);
}

/// Whether prices prove an answer best: both keep their conditions, and are worth the same.
void check_proof(const small_lp& p, const small_lp::solution& s) {
  const double tolerance = 1e-7;
  double worth = 0, second_worth = 0, most = 0;
  for (std::size_t r = 0; r < p.rows.size(); ++r) {
    double used = 0;
    for (std::size_t c = 0; c < p.columns; ++c) used += p.rows[r][c] * s.x[c];
    CHECK(used <= p.limits[r] + tolerance);
    CHECK(s.price[r] >= -tolerance);
    worth += s.price[r] * p.limits[r];
  }
  const auto reduced = [&](std::size_t c, const std::vector<double>& price, const std::vector<double>& gain) {
    double sum = -gain[c];
    for (std::size_t r = 0; r < p.rows.size(); ++r) sum += price[r] * p.rows[r][c];
    return sum;
  };
  double value = 0, second = 0;
  for (std::size_t c = 0; c < p.columns; ++c) {
    CHECK(s.x[c] >= -tolerance);
    CHECK(reduced(c, s.price, p.gain) >= -tolerance);
    value += p.gain[c] * s.x[c];
  }
  CHECK(value == doctest::Approx(worth).epsilon(tolerance));
  CHECK(value == doctest::Approx(s.value).epsilon(tolerance));
  if (p.then.empty()) return;
  // With the first goal times a large enough number on top, the second's prices are such a proof too.
  for (std::size_t c = 0; c < p.columns; ++c) {
    const double first = reduced(c, s.price, p.gain), then = reduced(c, s.then_price, p.then);
    if (then < -tolerance) {
      REQUIRE(first > 1e-10);
      most = std::fmax(most, -then / first);
    }
    second += p.then[c] * s.x[c];
  }
  for (std::size_t r = 0; r < p.rows.size(); ++r) {
    if (s.then_price[r] < -tolerance) {
      REQUIRE(s.price[r] > 1e-10);
      most = std::fmax(most, -s.then_price[r] / s.price[r]);
    }
  }
  for (std::size_t r = 0; r < p.rows.size(); ++r) second_worth += (s.then_price[r] + most * s.price[r]) * p.limits[r];
  CHECK(second + most * value == doctest::Approx(second_worth).epsilon(tolerance));
  CHECK(second == doctest::Approx(s.then_value).epsilon(tolerance));
}
/// Effective throughputs as parts of those of the average GPU.
std::vector<double> levels(const std::vector<typed_job>& jobs, const std::vector<std::uint32_t>& devices,
                           const type_shares& s) {
  double all = 0;
  for (const auto d : devices) all += d;
  std::vector<double> out;
  for (std::size_t m = 0; m < jobs.size(); ++m) {
    double usual = 0;
    for (std::size_t t = 0; t < devices.size(); ++t) usual += jobs[m].throughput[t] * devices[t] / all;
    out.push_back(s.throughput(jobs[m], m) / usual);
  }
  return out;
}
/// What everybody has when each has the same part of the time.
double equal_part(const std::vector<typed_job>& jobs, const std::vector<std::uint32_t>& devices) {
  double all = 0, wanted = 0;
  for (const auto d : devices) all += d;
  for (const auto& j : jobs) wanted += 1.0 * j.count * j.devices;
  return wanted > all ? all / wanted : 1;
}
/// The largest level of two jobs on two types by trying: the first job's shares on a grid, the second's best for each.
double level_of_two(const std::vector<typed_job>& jobs, const std::vector<std::uint32_t>& devices) {
  // The second job's best is greedy: its faster type first.
  double best = 0;
  type_shares s;
  s.part.assign(2, std::vector<double>(2, 0));
  constexpr int grid = 400;
  for (int a = 0; a <= grid; ++a)
    for (int b = 0; a + b <= grid; ++b) {
      auto& x = s.part[0];
      x = {1.0 * a / grid, 1.0 * b / grid};
      double left[2], time = 1;
      bool fits = true;
      for (unsigned t = 0; t < 2; ++t) {
        left[t] = devices[t] - x[t] * jobs[0].devices;
        fits = fits && left[t] >= -1e-12;
      }
      if (!fits) continue;
      const unsigned fast = jobs[1].throughput[0] >= jobs[1].throughput[1] ? 0 : 1;
      for (const unsigned t : {fast, 1 - fast}) {
        s.part[1][t] = std::fmin(time, std::fmax(left[t], 0) / jobs[1].devices);
        time -= s.part[1][t];
      }
      const auto l = levels(jobs, devices, s);
      best = std::fmax(best, std::fmin(l[0] / jobs[0].weight, l[1] / jobs[1].weight));
    }
  return best;
}

TEST_CASE("A small linear program, worked by hand, and one without a bound") {
  // 3x + 2y with x + y <= 4, x + 3y <= 6, x <= 3: the corner (3, 1).
  const small_lp p{2, {3, 2}, {{1, 1}, {1, 3}, {1, 0}}, {4, 6, 3}};
  const auto s = p.maximise();
  REQUIRE(s);
  CHECK(s->value == doctest::Approx(11));
  CHECK(s->x[0] == doctest::Approx(3));
  CHECK(s->x[1] == doctest::Approx(1));
  CHECK_FALSE(small_lp{1, {1}, {{-1}}, {0}}.maximise());
  // A program on which the largest-gain rule goes round for ever (Beale, 1955).
  const small_lp beale{
      4, {0.75, -150, 0.02, -6}, {{0.25, -60, -0.04, 9}, {0.5, -90, -0.02, 3}, {0, 0, 1, 0}}, {0, 0, 1}};
  const auto b = beale.maximise();
  REQUIRE(b);
  CHECK(b->value == doctest::Approx(0.05));
  check_proof(p, *s);
  check_proof(beale, *b);
}

TEST_CASE("A second goal chooses among the best for the first, and prices prove it") {
  // All of x + y = 4 is best; then the least x.
  const small_lp p{2, {1, 1}, {{1, 1}, {0, 1}}, {4, 3}, {-1, 0}};
  const auto s = p.maximise();
  REQUIRE(s);
  CHECK(s->value == doctest::Approx(4));
  CHECK(s->x == std::vector<double>{1, 3});
  CHECK(s->then_value == doctest::Approx(-1));
  check_proof(p, *s);
  CHECK_FALSE(small_lp{2, {1, 0}, {{1, 0}}, {1}, {0, 1}}.maximise());  // the second has no bound
  random_source random{31};
  for (int round = 0; round < 60; ++round) {
    small_lp q;
    q.columns = static_cast<std::size_t>(random.between(1, 7));
    const auto rows = random.between(1, 7);
    const auto number = [&] { return static_cast<double>(random.below(7)); };
    for (std::size_t c = 0; c < q.columns; ++c) q.gain.push_back(number()), q.then.push_back(number() - 3);
    for (std::uint64_t r = 0; r < rows; ++r) {
      auto& row = q.rows.emplace_back();
      for (std::size_t c = 0; c < q.columns; ++c) row.push_back(number() - (random.below(3) == 0 ? 3 : 0));
      q.limits.push_back(number());
    }
    q.rows.emplace_back(q.columns, 1.0);  // bounded
    q.limits.push_back(50);
    CAPTURE(round);
    const auto best = q.maximise();
    REQUIRE(best);
    check_proof(q, *best);
  }
}

TEST_CASE("Programs with gains and losses: the prices prove the answer, or the value has no bound") {
  random_source random{34};
  int unbounded = 0;
  for (int round = 0; round < 500; ++round) {
    small_lp p;
    p.columns = static_cast<std::size_t>(random.between(1, 6));
    p.rows.resize(static_cast<std::size_t>(random.between(1, 6)));
    for (auto& row : p.rows) {
      for (std::size_t c = 0; c < p.columns; ++c) row.push_back(static_cast<double>(random.below(7)) - 1);
      p.limits.push_back(static_cast<double>(random.below(6)));
    }
    for (std::size_t c = 0; c < p.columns; ++c) p.gain.push_back(static_cast<double>(random.below(7)) - 2);
    CAPTURE(round);
    if (const auto best = p.maximise()) {
      check_proof(p, *best);
      continue;
    }
    ++unbounded;
    // With every column at most 1e6 the value is about that large.
    for (std::size_t c = 0; c < p.columns; ++c) {
      p.rows.emplace_back(p.columns, 0.0)[c] = 1;
      p.limits.push_back(1e6);
    }
    const auto large = p.maximise();
    REQUIRE(large);
    CHECK(large->value > 1e4);
  }
  CHECK(unbounded > 0);
  CHECK(unbounded < 250);
}

TEST_CASE("Two jobs on two types get the types that they are fast on") {
  // The first gains nothing from the fast type, so the second gets all of it.
  const std::vector<typed_job> jobs{{{1, 1}, 1, 1}, {{1, 4}, 1, 1}};
  const auto best = max_throughput_type_shares(jobs, {1, 1});
  REQUIRE(best);
  CHECK(best->part[0][0] == doctest::Approx(1));
  CHECK(best->part[1][1] == doctest::Approx(1));
  const auto fair = max_min_type_shares(jobs, {1, 1});
  REQUIRE(fair);
  CHECK(fair->level == doctest::Approx(1));  // the first cannot have more than its usual throughput
}

TEST_CASE("Gavel's measured throughputs: as good as an LP solver's answers") {
  const auto jobs = measured();
  struct expected_case {
    std::vector<std::uint32_t> devices;
    double level, fair_sum, best_sum;
  };
  // By COIN-OR CBC on the same programs.
  const expected_case cases[] = {{{2, 2, 2}, 0.96560351, 6.7592245, 7.1584582}};
  for (const auto& c : cases) {
    const auto fair = max_min_type_shares(jobs, c.devices), best = max_throughput_type_shares(jobs, c.devices);
    REQUIRE(fair);
    REQUIRE(best);
    check_feasible(jobs, c.devices, *fair);
    check_feasible(jobs, c.devices, *best);
    CHECK(fair->level == doctest::Approx(c.level).epsilon(1e-6));
    CHECK(sum_of(jobs, c.devices, *fair) == doctest::Approx(c.fair_sum).epsilon(1e-6));
    CHECK(sum_of(jobs, c.devices, *best) == doctest::Approx(c.best_sum).epsilon(1e-6));
  }
  auto uneven = jobs;
  uneven[1].devices = uneven[4].devices = 2;
  uneven[3].weight = 2;
  const auto fair = max_min_type_shares(uneven, {4, 2, 1});
  REQUIRE(fair);
  check_feasible(uneven, {4, 2, 1}, *fair);
  CHECK(fair->level == doctest::Approx(0.77437028).epsilon(1e-6));
  CHECK(sum_of(uneven, {4, 2, 1}, *fair) == doctest::Approx(6.1949622).epsilon(1e-6));
  CHECK(sum_of(uneven, {4, 2, 1}, *max_throughput_type_shares(uneven, {4, 2, 1})) ==
        doctest::Approx(7.3565950).epsilon(1e-6));
}

TEST_CASE("Throughput tables that make no sense give nothing") {
  CHECK_FALSE(max_min_type_shares({{{1}, 1, 1}}, {1, 1}));
  CHECK_FALSE(max_min_type_shares({{{1, -1}, 1, 1}}, {1, 1}));
  CHECK_FALSE(max_min_type_shares({{{0, 0}, 1, 1}}, {1, 1}));
  CHECK_FALSE(max_min_type_shares({{{1, 1}, 1, 0}}, {1, 1}));
  CHECK_FALSE(max_throughput_type_shares({{{1, 1}, 0, 1}}, {1, 1}));
}

TEST_CASE("The worked example of Gavel's paper, section 4.1") {
  const std::vector<typed_job> jobs{{{4, 1}, 1, 1}, {{3, 1}, 1, 1}, {{2, 1}, 1, 1}};
  const auto s = max_min_type_shares(jobs, {1, 1});
  REQUIRE(s);
  const double published[3][2] = {{0.45, 0.0}, {0.45, 0.09}, {0.09, 0.91}};
  for (std::size_t m = 0; m < 3; ++m) {
    for (std::size_t t = 0; t < 2; ++t) CHECK(std::fabs(s->part[m][t] - published[m][t]) < 0.005);
    // "About 10 % higher throughput" than a third of both GPUs.
    CHECK(levels(jobs, {1, 1}, *s)[m] / equal_part(jobs, {1, 1}) == doctest::Approx(12.0 / 11));
  }
}

TEST_CASE("Two jobs on two types: no share on a fine grid is fairer") {
  random_source random{5};
  for (int round = 0; round < 12; ++round) {
    std::vector<typed_job> jobs(2);
    for (auto& j : jobs) {
      j.throughput = {1.0 + static_cast<double>(random.below(9)), 1.0 + static_cast<double>(random.below(9))};
      j.devices = static_cast<std::uint32_t>(random.between(1, 3));
      j.weight = static_cast<double>(random.between(1, 2));
    }
    const std::vector<std::uint32_t> devices{static_cast<std::uint32_t>(random.between(1, 3)),
                                             static_cast<std::uint32_t>(random.between(1, 3))};
    const auto s = max_min_type_shares(jobs, devices);
    REQUIRE(s);
    check_feasible(jobs, devices, *s);
    const double found = level_of_two(jobs, devices);
    CAPTURE(round);
    CHECK(s->level >= found - 1e-9);
    CHECK(s->level <= found * 1.02 + 0.01);  // the grid is that fine
  }
}

struct measured_list {
  gavel_table table;
  std::vector<gavel_job> jobs;
};
measured_list real_list() {
  const std::string folder = "examples/data/gavel/";
  const auto t = read_text_file(folder + "throughput_steps_per_s.csv");
  const auto j = read_text_file(folder + "physical_max_min_fairness.csv");
  REQUIRE(t);
  REQUIRE(j);
  auto table = read_gavel_throughputs(*t);
  REQUIRE(table);
  auto jobs = read_gavel_jobs(*j, *table);
  REQUIRE(jobs);
  return {*table, *jobs};
}
const std::vector<std::uint32_t> paper_cluster{24, 16, 8};  // K80, P100, V100, as in the paper's physical cluster

TEST_CASE("The measured jobs on the paper's cluster: proven best, fair, and nobody can gain alone") {
  const auto real = real_list();
  for (const bool spread : {false, true}) {
    const auto c = classes_of(real.table, real.jobs, spread, false);
    for (const bool fair : {true, false}) {
      CAPTURE(spread);
      CAPTURE(fair);
      const auto usual = detail::usual_throughput(c.lines, paper_cluster);
      REQUIRE(usual);
      const auto p = detail::type_share_program(c.lines, paper_cluster, *usual, fair);
      const auto proof = p.maximise();
      REQUIRE(proof);
      check_proof(p, *proof);
      const auto s =
          fair ? max_min_type_shares(c.lines, paper_cluster) : max_throughput_type_shares(c.lines, paper_cluster);
      REQUIRE(s);
      // Jobs of a line are as many jobs: the same written out.
      std::vector<double> used(3, 0);
      double sum = 0;
      const auto l = levels(c.lines, paper_cluster, *s);
      for (std::size_t m = 0; m < c.lines.size(); ++m) {
        double time = 0;
        for (std::size_t t = 0; t < 3; ++t) {
          CHECK(s->part[m][t] >= 0);
          time += s->part[m][t];
          used[t] += s->part[m][t] * c.lines[m].devices * c.lines[m].count;
        }
        CHECK(time <= 1 + 1e-9);
        sum += c.lines[m].count * l[m];
        if (fair) CHECK(l[m] >= equal_part(c.lines, paper_cluster) - 1e-9);  // sharing incentive
        if (fair) CHECK(l[m] >= s->level - 1e-9);
      }
      for (std::size_t t = 0; t < 3; ++t) CHECK(used[t] <= paper_cluster[t] + 1e-6);
      CHECK(sum == doctest::Approx(fair ? proof->then_value : proof->value).epsilon(1e-7));
      CHECK(s->level == doctest::Approx(fair ? proof->value : s->level).epsilon(1e-7));
    }
  }
  // Lines with a count, and the same jobs one by one, have the same level and sum.
  const auto c = classes_of(real.table, real.jobs, false, true);
  std::vector<typed_job> single;
  for (const auto line : c.line_of) {
    single.push_back(c.lines[line]);
    single.back().count = 1;
  }
  single.resize(30);  // a dense program of 96 lines takes seconds without optimisation
  gavel_classes few = classes_of(real.table, {real.jobs.begin(), real.jobs.begin() + 30}, false, true);
  const auto a = max_min_type_shares(few.lines, paper_cluster), b = max_min_type_shares(single, paper_cluster);
  REQUIRE(a);
  REQUIRE(b);
  CHECK(a->level == doctest::Approx(b->level).epsilon(1e-7));
  double sums[2] = {0, 0};
  for (std::size_t m = 0; m < few.lines.size(); ++m)
    sums[0] += few.lines[m].count * levels(few.lines, paper_cluster, *a)[m];
  for (const double l : levels(single, paper_cluster, *b)) sums[1] += l;
  CHECK(sums[0] == doctest::Approx(sums[1]).epsilon(1e-6));
}

TEST_CASE("On unlike GPUs of one speed the shares are plain max-min fairness") {
  const std::vector<typed_job> jobs{{{2, 2}, 1, 1}, {{5, 5}, 1, 1}, {{1, 1}, 1, 2}};
  const auto s = max_min_type_shares(jobs, {1, 1});
  REQUIRE(s);
  CHECK(levels(jobs, {1, 1}, *s)[0] == doctest::Approx(0.5));
  CHECK(levels(jobs, {1, 1}, *s)[1] == doctest::Approx(0.5));
  CHECK(levels(jobs, {1, 1}, *s)[2] == doctest::Approx(1.0));
}

TEST_CASE("Turns follow the shares: by hand, and on the measured jobs") {
  type_turns one{2};
  const double shares[] = {0.75, 0.25};
  CHECK(one.add(1, shares) == 0);
  const std::uint32_t free[] = {1, 1};
  for (int i = 0; i < 8; ++i) {
    const auto next = one.type_for(0, free);
    CHECK(next == one.round(free, 60)[0]);
  }
  CHECK(one.received(0, 0) == 0.75);
  CHECK(one.received(0, 1) == 0.25);
  one.start_again();
  for (const std::size_t type : {0U, 1U, 0U, 0U, 0U, 1U, 0U, 0U, 0U, 1U}) {
    CHECK(one.round(free, 60)[0] == type);
  }
  const std::uint32_t full[] = {0, 1}, none[] = {0, 0};
  CHECK(one.type_for(0, full) == 1U);
  CHECK_FALSE(one.type_for(0, none));
  const double never[] = {1.0, 0.0};
  one.set_shares(0, never);
  CHECK_FALSE(one.type_for(0, full));
  CHECK(one.priority(0, 1) == 0);
  CHECK(one.add(2, shares) == 1);
  one.remove(0);
  CHECK_FALSE(one.round(free, 60)[1]);  // two GPUs of a type, where each has one
  CHECK(one.add(1, shares) == 0);
  CHECK(one.received(0, 0) == 0);

  const auto real = real_list();
  const auto c = classes_of(real.table, real.jobs);
  const auto s = max_min_type_shares(c.lines, paper_cluster);
  REQUIRE(s);
  type_turns turns{3};
  for (const auto line : c.line_of) static_cast<void>(turns.add(c.lines[line].devices, s->part[line]));
  for (int r = 0; r < 400; ++r) {
    const auto on = turns.round(paper_cluster, 360);
    std::vector<std::uint32_t> used(3, 0);
    for (std::uint32_t m = 0; m < on.size(); ++m) {
      if (!on[m]) continue;
      used[*on[m]] += c.lines[c.line_of[m]].devices;
      CHECK(s->part[c.line_of[m]][*on[m]] > 0);
    }
    for (std::size_t t = 0; t < 3; ++t) CHECK(used[t] <= paper_cluster[t]);
  }
  for (std::uint32_t m = 0; m < real.jobs.size(); ++m)
    for (std::size_t t = 0; t < 3; ++t) CHECK(std::fabs(turns.received(m, t) - s->part[c.line_of[m]][t]) < 0.02);
}

}  // namespace
