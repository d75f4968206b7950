#include "berth/solver/type_shares.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

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

}  // namespace
