#include "berth/policy/packing_rules.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/policy/device_requirements.hpp"
#include "berth/policy/fragmentation.hpp"
#include "berth/solver/packer.hpp"
#include "berth/topology/catalogue/gpu_models.hpp"
#include "policy/packing_support.hpp"

namespace {

using namespace berth;
using namespace packing_test;

template <class Policy>
double value(const Policy& p, const share_node& now, const share_node& installed, const share_task& t) {
  return p.score({now, installed, 0, 0, 0}, t).value;
}

TEST_CASE("The published simulator's whole scores, worked by hand") {
  const auto installed = node_with(96, {1000, 1000, 1000, 1000}), used = node_with(60, {1000, 250, 1000, 0});
  constexpr auto rule = score_rule::as_published;
  const packing_view idle{installed, installed, 0, 0, 0}, busy{used, installed, 2, 1, 2};
  // 250 thousandths are 25 %: 100 - 25 / 10. One free GPU of a node in use: 50 - 1. Four idle GPUs: 33 - 4.
  CHECK(gpu_packing{rule}.score(busy, task(1, 1, 200)).value == 98);
  CHECK(gpu_packing{rule}.score(busy, task(1, 1)).value == 49);
  CHECK(gpu_packing{rule}.score(busy, task(1, 2)).value == 48);
  CHECK(gpu_packing{rule}.score(idle, task(1, 1)).value == 29);
  CHECK(gpu_packing{rule}.score(busy, task(1, 0)).value == 0);
  // 2250 left of 8000: 25 × 5750 / 8000 = 17.97 -> 17; beside others of the same kind 50, alone 75, idle 25.
  CHECK(gpu_clustering{rule}.score(busy, task(1, 1)).value == 67);
  CHECK(gpu_clustering{rule}.score({used, installed, 2, 2, 2}, task(1, 1)).value == 92);
  CHECK(gpu_clustering{rule}.score({used, installed, 2, 0, 2}, task(1, 1)).value == 17);
  CHECK(gpu_clustering{rule}.score(idle, task(1, 1)).value == 25 + 12);
  CHECK(gpu_clustering{rule}.score(idle, task(1, 0)).value == 0);
  // (52 / 128 + 1.25 / 8) / 2 is left: 100 - 28.1.
  CHECK(best_fit_packing{{}, rule}.score(busy, task(8, 1)).value == 71);
  // 60 / 128 × 8 / 128 + 2.25 / 8 × 1 / 8 = 0.0645: 100 - 3.2.
  CHECK(dot_product_packing{{}, rule}.score(busy, task(8, 1)).value == 96);
  // FGD between GPUs of one node: both ways round to 50, so the first GPU is taken, though the other fragments less.
  const std::vector<workload_class> w{{task(1, 1), 0.001}, {task(1, 0), 0.999}};
  CHECK(fragmentation_gradient{w, rule}.score(busy, task(1, 1, 200)).devices == bit(0));
  CHECK(fragmentation_gradient{w, score_rule::exact}.score(busy, task(1, 1, 200)).devices == bit(1));
}

TEST_CASE("Power: a GPU in use costs nothing more, a new CPU package does") {
  power_packing<> p;
  const auto* t4 = catalogue::find_gpu_model("t4");
  const auto* a100 = catalogue::find_gpu_model("a100-sxm4-80gb");
  REQUIRE(t4 != nullptr);
  REQUIRE(a100 != nullptr);
  p.power.of[0].gpu = {10, static_cast<double>(t4->tdp_watts)};
  p.power.of[1].gpu = {50, static_cast<double>(a100->tdp_watts)};
  const auto small = node_with(64, {1000, 1000}), large = node_with(64, {1000, 1000}, 1);
  // Two packages of 32 threads, all idle: 2 × 15 + 2 × 10. Half a GPU and 8 cores: + (70 - 10) + (120 - 15).
  CHECK(p.power.watts(small, small) == doctest::Approx(50));
  CHECK(value(p, small, small, task(8, 1, 500)) == doctest::Approx(-165).epsilon(1e-3));
  CHECK(value(p, large, large, task(8, 1, 500)) == doctest::Approx(-455).epsilon(1e-3));
  // A GPU and a package in use already.
  const auto running = node_with(56, {500, 1000}, 1);
  CHECK(value(p, running, large, task(8, 1, 500)) == doctest::Approx(0).epsilon(0.02));
  CHECK(p.score({running, large, 1, 1, 1}, task(8, 1, 500)).devices == bit(0));
  CHECK(value(p, running, large, task(25, 1, 500)) == doctest::Approx(-105).epsilon(1e-3));
}

TEST_CASE("Power: nothing that fits would have grown the draw less, at every step of a random run") {
  power_packing<fragmentation_gradient> p{{}, {{{task(4, 1, 300), 1.0}}, score_rule::exact}, 16'000};
  p.power.of[0] = {{10, 70}, {20, 165}, cpus(48)};
  p.power.of[1] = {{30, 300}, {20, 185}, cpus(32)};
  p.power.of[2] = {{50, 400}, {20, 270}, cpus(64)};
  std::vector<share_node> nodes;
  for (unsigned n = 0; n < 12; ++n) nodes.push_back(node_with(96, {1000, 1000, 1000, 1000}, n % 3));
  packer<power_packing<fragmentation_gradient>> place{nodes, p};
  random_source random{7};
  for (int i = 0; i < 150; ++i) {
    const auto cores = static_cast<std::int64_t>(random.below(12));
    const auto t = random.below(3) == 0 ? task(cores, static_cast<unsigned>(random.below(4)))
                                        : task(cores, 1, static_cast<unsigned>(random.between(1, 999)));
    double least = 1e300;
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
      if (!fits(place.node(n), t)) continue;
      for_each_choice(place.node(n), t, [&](device_mask m) {
        share_node after = place.node(n);
        take(after, t, m);
        const double grows = p.power.watts(after, nodes[n]) - p.power.watts(place.node(n), nodes[n]);
        least = grows < least ? grows : least;
      });
    }
    std::vector<share_node> before;
    for (std::uint32_t n = 0; n < nodes.size(); ++n) before.push_back(place.node(n));
    const auto where = place.place(t);
    REQUIRE(where.has_value() == (least < 1e300));
    if (!where) continue;
    const std::uint32_t n = where->node;
    CHECK(p.power.watts(place.node(n), nodes[n]) - p.power.watts(before[n], nodes[n]) == doctest::Approx(least));
  }
}

TEST_CASE("Scarcity: tasks that any type serves stay off types that others need") {
  const std::vector<share_node> nodes{node_with(64, {1000, 1000}, 0), node_with(64, {1000, 1000}, 1)};
  packer<scarcity_packing<>> p{nodes, scarcity_packing<>{}};
  auto typed = task(1, 1, 100);
  typed.models = bit(0);
  // All demand so far was for type 0, which is half the capacity: pressure 2, cut to 1.
  const auto first = p.place(typed);
  REQUIRE(first);
  CHECK(first->node == 0);
  CHECK(p.policy().pressure(0) == doctest::Approx(1));
  CHECK(p.policy().pressure(1) == 0);
  const auto next = p.place(task(1, 1, 100));  // best fit alone would fill node 0
  REQUIRE(next);
  CHECK(next->node == 1);
  // 20 points off the score of best fit there.
  const auto s = p.policy().score({nodes[0], nodes[0], 0, 0, 0}, task(1, 1, 100)).value;
  CHECK(s == doctest::Approx(value(best_fit_packing{}, nodes[0], nodes[0], task(1, 1, 100)) - 20));
}

TEST_CASE("Ratio, size, order of types and whole nodes, worked by hand") {
  const auto installed = node_with(64, {1000, 1000, 1000, 1000});
  // 8 of 64 cores and 1 of 4 GPUs used: 1/8 and 1/4.
  CHECK(value(ratio_packing{}, installed, installed, task(8, 1)) == doctest::Approx(-0.125));
  CHECK(value(ratio_packing{}, installed, installed, task(16, 1)) == doctest::Approx(0));

  right_size_packing<> sized;
  sized.size[0] = 1;
  sized.size[1] = 0.25;
  const auto other = node_with(64, {1000, 1000, 1000, 1000}, 1);
  CHECK(value(sized, other, other, task(1, 1, 100)) - value(sized, installed, installed, task(1, 1, 100)) ==
        doctest::Approx(20 * 0.75 * 0.9));
  CHECK(value(sized, other, other, task(1, 1)) == doctest::Approx(value(sized, installed, installed, task(1, 1))));

  first_type_packing<> ordered;
  ordered.rank[0] = 1;  // type 1 first, type 0 else
  packer<first_type_packing<>> p{{installed, node_with(64, {1000}, 1)}, ordered};
  CHECK(p.place(task(1, 1))->node == 1);
  CHECK(p.place(task(1, 1))->node == 0);

  // Nodes without GPUs are of no type.
  const auto bare = node_with(64, {}, no_device_model);
  const auto asks_cpus = task(1, 0);
  const double as_base = value(best_fit_packing{}, bare, bare, asks_cpus);
  CHECK(value(sized, bare, bare, asks_cpus) == as_base);
  CHECK(value(ordered, bare, bare, asks_cpus) == as_base);
  power_model watts;
  watts.of[0] = {{1000, 2000}, {1000, 2000}, cpus(1)};
  CHECK(watts.watts(node_with(63, {}, no_device_model), bare) == 120 + 15);

  // Worst fit likes idle nodes; kept whole, it takes the broken one as long as that serves.
  packer<keep_whole_packing<worst_fit_packing>> whole{{installed, installed}, {}};
  for (int i = 0; i < 4; ++i) CHECK(whole.place(task(1, 1))->node == 0);
  CHECK(whole.place(task(1, 1))->node == 1);
  const auto halves = packer<keep_whole_packing<worst_fit_packing>>{{installed}, {}};
  const packing_view broken{node_with(60, {1000, 500, 1000, 1000}), installed, 1, 1, 1};
  CHECK(halves.policy().score(broken, task(1, 1, 300)).devices == bit(1));
}

TEST_CASE("Models by memory, rate and capability, from the catalogue") {
  const catalogue::gpu_model* const of_cluster[] = {
      catalogue::find_gpu_model("t4"), catalogue::find_gpu_model("v100-sxm2-32gb"),
      catalogue::find_gpu_model("a100-sxm4-80gb"), catalogue::find_gpu_model("h100-sxm5-80gb"), nullptr};
  device_requirements r;
  CHECK(models_that_meet(of_cluster, r) == 0b01111);
  r.least_memory_gb = 32;
  CHECK(models_that_meet(of_cluster, r) == 0b01110);
  r.least_capability = "8.0";
  CHECK(models_that_meet(of_cluster, r) == 0b01100);
  r.below_capability = "9.0";
  CHECK(models_that_meet(of_cluster, r) == 0b00100);
  r = {};
  r.least_fp16_tflops = 300;
  CHECK(models_that_meet(of_cluster, r) == 0b01100);
  const std::string_view list[] = {"t4", "h100-sxm5-80gb"};
  r = {};
  r.models = list;
  CHECK(models_that_meet(of_cluster, r) == 0b01001);
  r.least_capability = "eight";
  CHECK(models_that_meet(of_cluster, r) == 0);
  CHECK(capability_number("10.3") > capability_number("9.0"));
  CHECK_FALSE(capability_number("9"));
}

}  // namespace
