#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "berth/cluster/share_node.hpp"
#include "berth/core/random.hpp"
#include "berth/policy/fragmentation.hpp"
#include "berth/policy/future_value.hpp"
#include "berth/policy/packing_fit.hpp"
#include "policy/packing_support.hpp"

namespace {

using namespace berth;
using namespace packing_test;

TEST_CASE("A shared GPU is offered once per distinct amount free, whole GPUs as the lowest free ones") {
  const auto n = node_with(64, {1000, 300, 500, 300, 1000, 0});
  std::vector<device_mask> ways;
  for_each_choice(n, task(1, 1, 300), [&](device_mask m) { ways.push_back(m); });
  CHECK(ways == std::vector<device_mask>{bit(0), bit(1), bit(2)});
  CHECK(tightest_choice(n, task(1, 1, 300)) == bit(1));
  CHECK(tightest_choice(n, task(1, 1, 301)) == bit(2));
  CHECK(tightest_choice(n, task(1, 2)) == (bit(0) | bit(4)));
  CHECK(tightest_choice(n, task(1, 0)) == 0);
  CHECK_FALSE(fits(n, task(1, 3)));
  CHECK_FALSE(fits(n, task(65, 0)));
  auto typed = task(1, 1);
  typed.models = bit(3);
  CHECK_FALSE(fits(n, typed));
}

TEST_CASE("Taking and giving back restores a node") {
  random_source random{5};
  auto n = node_with(64, {1000, 700, 1000, 250});
  for (int i = 0; i < 1000; ++i) {
    const auto t = random.below(2) == 0 ? task(1, 1, static_cast<unsigned>(1 + random.below(999))) : task(2, 2);
    if (!fits(n, t)) continue;
    const auto before = n;
    std::vector<device_mask> ways;
    for_each_choice(n, t, [&](device_mask m) { ways.push_back(m); });
    REQUIRE_FALSE(ways.empty());
    for (const auto m : ways) {
      take(n, t, m);
      CHECK(n.free_total() + t.demand() == before.free_total());
      give_back(n, t, m);
      CHECK(n == before);
    }
  }
}

TEST_CASE("The fragmentation of a node by the formula, worked by hand") {
  // One class asks half a GPU and 4 cores, one a whole GPU and 8 cores, one no GPU.
  const std::vector<workload_class> w{{task(4, 1, 500), 0.5}, {task(8, 1), 0.3}, {task(1, 0), 0.2}};
  // 400 is too small for both GPU classes, 600 for the second.
  const auto n = node_with(10, {400, 600, 1000});
  CHECK(fragmented_share(n, w) == doctest::Approx(0.5 * 400 + 0.3 * 1000 + 0.2 * 2000));
  // Too little CPU for the second class: all of the free share is a fragment for it.
  CHECK(fragmented_share(node_with(7, {400, 600, 1000}), w) == doctest::Approx(0.5 * 400 + 0.3 * 2000 + 0.2 * 2000));
  // FGD puts half a GPU on the 600, not on the whole one: growth 100 × 0.5 + 600·… is the least there.
  const packing_view v{n, n, 0, 0};
  CHECK(fragmentation_gradient{w}.score(v, task(0, 1, 500)).devices == bit(1));
}

TEST_CASE("A target workload keeps the most frequent classes until they cover their part") {
  std::vector<share_task> tasks(90, task(1, 1));
  tasks.insert(tasks.end(), 6, task(2, 1));
  tasks.insert(tasks.end(), 4, task(3, 1));
  const auto w = target_workload(tasks, 0.95);
  REQUIRE(w.size() == 2);
  CHECK(w[0].popularity == doctest::Approx(90.0 / 96));
  CHECK(w[1].task == task(2, 1));
  // Of those asked for equally often the larger ones, in whatever order they come.
  auto models = task(2, 1);
  models.models = bit(3);
  const std::vector<share_task> falling{task(3, 1, 100), task(2, 4),      task(2, 2), models,
                                        task(2, 1),      task(2, 1, 500), task(2, 0)};
  const std::vector<share_task> rising(falling.rbegin(), falling.rend());
  const auto equal = target_workload(rising, 0.7);
  REQUIRE(equal.size() == 5);
  for (std::size_t i = 0; i < equal.size(); ++i) CHECK(equal[i].task == falling[i]);
}

TEST_CASE("Fitting policies rank as their formulas say") {
  const auto big = node_with(128, std::vector<unsigned>(8, 1000)), used = node_with(32, {1000, 1000, 0, 0, 0, 0, 0, 0});
  const auto t = task(8, 1);
  const packing_view empty{big, big, 0, 0}, busy{used, big, 6, 2};
  CHECK(best_fit_packing{}.score(busy, t).value > best_fit_packing{}.score(empty, t).value);
  CHECK(best_fit_packing{}.score(busy, t).value == doctest::Approx(100 * (1 - (24.0 / 128 + 1.0 / 8) / 2)));
  CHECK(worst_fit_packing{}.score(busy, t).value < worst_fit_packing{}.score(empty, t).value);
  CHECK(most_allocated_packing{}.score(busy, t).value > most_allocated_packing{}.score(empty, t).value);
  CHECK(least_allocated_packing{}.score(busy, t).value < least_allocated_packing{}.score(empty, t).value);
  CHECK(dot_product_packing{}.score(busy, t).value == doctest::Approx(-(32.0 / 128 * 8.0 / 128 + 2.0 / 8 / 8)));
  CHECK(gpu_packing{}.score(busy, t).value > gpu_packing{}.score(empty, t).value);
  CHECK(gpu_clustering{}.score(busy, t).value > gpu_clustering{}.score(empty, t).value);
  CHECK(requested_to_capacity_packing{}.score(busy, t).value == doctest::Approx(5 + 4 * (0.875 - 0.5) / 0.4));
  CHECK(balanced_packing{}.score(busy, t).value <= 0);
}

TEST_CASE("The future is worth what the demand can use") {
  future_value p;
  const auto n = node_with(16, {1000, 1000});
  const std::vector<share_node> nodes{n};
  p.begin(nodes);
  // Tasks of 8 cores and one GPU: both GPUs can be used, and with 8 cores left only one.
  for (int i = 0; i < 64; ++i) p.arrived(task(8, 1), nodes, nodes);
  CHECK(p.value(n) == doctest::Approx(2000));
  CHECK(p.value(node_with(15, {1000, 1000})) == doctest::Approx(1000));
  CHECK(p.value(node_with(16, {999, 999})) == 0);
  // So a task without GPUs goes where it strands none.
  const auto full = node_with(16, {0, 0});
  const packing_view whole{n, n, 0, 0}, spent{full, n, 2, 0};
  CHECK(p.score(spent, task(1, 0)).value == doctest::Approx(0).epsilon(1e-3));
  CHECK(p.score(whole, task(1, 0)).value <= -1000);
}

}  // namespace
