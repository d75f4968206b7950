// "This, else that" for gangs and for shared tasks, and GPU models as conditions and preferences.

#include "berth/solver/first_choice.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/policy/compose.hpp"
#include "berth/policy/device_requirements.hpp"
#include "berth/policy/domain_fit.hpp"
#include "berth/policy/model_preference.hpp"
#include "berth/policy/node_fit.hpp"
#include "berth/policy/packing_fit.hpp"
#include "berth/policy/packing_rules.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/catalogue/gpu_models.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "policy/packing_support.hpp"

namespace {

using namespace berth;
using packing_test::node_with;
using packing_test::task;

/// Three racks of two nodes with four devices: of L4, of A30, of A100 80 GB.
cluster three_models() {
  cluster_spec s;
  s.tree = domain_tree_builder::regular({"cluster", "rack"}, {3}, 2);
  for (const char* m : {"a100-sxm4-80gb", "l4", "a30-24gb"})
    s.shapes.push_back(make_plain_shape(m, 4, m, cpus(64), gibibytes(512)));
  for (std::uint32_t n = 0; n < 6; ++n)
    s.nodes.push_back({"", shape_id{static_cast<std::uint16_t>(n / 2)}, {}, cpus(64), gibibytes(512)});
  return cluster{s, {.jobs = 50, .tasks = 200}};
}
gang tasks_of(std::uint32_t count, std::uint32_t devices, filter_id filter = task_shape{}.filter) {
  gang g;
  g.groups.push_back({.name = "w", .shape = {.devices = devices}, .wanted = count, .minimum = count});
  g.groups[0].shape.filter = filter;
  return g;
}

}  // namespace

TEST_SUITE("solver/first_choice") {
  TEST_CASE("a gang goes to its first model while that has room, then to the next") {
    cluster c = three_models();
    const auto only = [&](const char* m) { return c.add_filter({.models = {m}}); };
    const std::vector<gang> choices{tasks_of(1, 4, only("l4")), tasks_of(1, 4, only("a30-24gb"))};
    placer place{c};
    std::string seen;
    for (std::uint64_t k = 0; k < 5; ++k) {
      const auto got = place_first(place, choices);
      seen += got.answer ? std::to_string(got.which) : "-";
      if (!got.answer) {
        CHECK(got.answer.result == verdict::not_now);
        CHECK(got.which == 0);
        continue;
      }
      CHECK(c.tree().leaf_of(got.answer.where.tasks[0].node) == domain_id{got.which == 0 ? 1U : 2U});
      REQUIRE(c.commit(job_key{k}, got.answer.where));
    }
    CHECK(seen == "0011-");
    // A choice that no such node could ever serve does not hide that another one may be served later.
    const std::vector<gang> hopeless{tasks_of(1, 8, only("l4")), tasks_of(1, 4, only("l4"))};
    const auto got = place_first(place, hopeless);
    CHECK(got.answer.result == verdict::not_now);
    CHECK(got.which == 1);
    CHECK(place_first(place, std::vector<gang>{tasks_of(1, 8), tasks_of(1, 9)}).which == 0);
  }

  TEST_CASE("a shared task goes to its first models, and a policy that learns sees one request") {
    const std::vector<share_node> nodes{node_with(64, {1000, 1000}, 0), node_with(64, {1000}, 1)};
    packer<scarcity_packing<>> pack{nodes, scarcity_packing<>{}};
    const std::uint64_t choices[] = {bit(1), bit(0)};
    std::vector<first_models> got;
    std::string seen;
    for (int i = 0; i < 4; ++i) {
      const auto x = place_first(pack, task(1, 1), choices);
      seen += x ? std::to_string(x->which) : "-";
      if (x) got.push_back(*x);
    }
    CHECK(seen == "011-");
    CHECK(got[0].where.node == 1);
    CHECK(got[0].as.models == bit(1));
    pack.release(got[0].as, got[0].where);
    CHECK(place_first(pack, task(1, 1), choices)->which == 0);
    auto not_there = task(1, 1);
    not_there.models = bit(0);
    CHECK_FALSE(place_first(pack, not_there, choices));  // its only model is full
  }

  TEST_CASE("in any state the first choice with room is taken, by trying all nodes") {
    random_source random{3};
    std::vector<share_node> nodes;
    for (unsigned n = 0; n < 9; ++n) nodes.push_back(node_with(16, {1000, 1000}, n % 3));
    packer<best_fit_packing> pack{nodes, {}};
    for (int i = 0; i < 60; ++i) {
      const std::uint64_t choices[] = {random.below(8), random.below(8)};
      const auto t =
          task(static_cast<std::int64_t>(random.between(1, 4)), 1, static_cast<unsigned>(random.between(100, 1000)));
      std::size_t first = 2;
      for (std::size_t k = 2; k-- > 0;)
        for (std::uint32_t n = 0; n < nodes.size(); ++n) {
          auto narrowed = t;
          narrowed.models = choices[k];
          if (fits(pack.node(n), narrowed)) first = k;
        }
      const auto got = place_first(pack, t, choices);
      CHECK((got ? got->which : 2) == first);
      if (got) CHECK((choices[got->which] >> nodes[got->where.node].model & 1U) == 1);
    }
  }
}

TEST_SUITE("policy/model_preference") {
  TEST_CASE("models in order, and small GPUs first, decide between racks and nodes") {
    cluster c = three_models();
    domain_scores s{c.tree()};
    const std::string_view order[] = {"a30-24gb", "l4", "h100-sxm5-80gb"};
    score_models(c, order, s);
    CHECK(s.at(node_id{4}) == 1000);
    CHECK(s.at(node_id{2}) == 666);
    CHECK(s.at(node_id{0}) == 0);
    CHECK(s.at(level_id{1}, domain_id{1}) == 666);
    placer place{c, lexicographic{preferred_domain{&s}, tightest{}}, lexicographic{preferred_node{&s}, bin_pack{}}};
    CHECK(place(tasks_of(2, 4)).domain == domain_id{2});
    CHECK(place(tasks_of(1, 1)).domain == domain_id{2});
    score_small_first(c, s);
    CHECK(s.at(node_id{2}) == 700);  // 24 of 80 GB
    CHECK(s.at(node_id{0}) == 0);
    CHECK(place(tasks_of(1, 1)).domain == domain_id{1});
    for (std::uint32_t n = 2; n < 6; ++n) c.hold(node_id{n}, 0xf, cpus(0), bytes{});
    CHECK(place(tasks_of(1, 1)).domain == domain_id{0});
  }

  TEST_CASE("ranges of models as a filter of the placer") {
    cluster c = three_models();
    device_requirements r;
    r.least_memory_gb = 24;
    r.most_memory_gb = 40;
    r.least_capability = "8.0";
    r.below_capability = "8.5";
    const auto ids = model_ids_that_meet(catalogue::gpu_models, r);
    CHECK(ids == std::vector<std::string>{"a30-24gb", "a100-pcie-40gb", "a100-sxm4-40gb"});
    placer place{c};
    const gang g = tasks_of(2, 4, c.add_filter({.models = ids}));
    CHECK(place(g).domain == domain_id{2});
    r.most_memory_gb = 20;
    CHECK(model_ids_that_meet(catalogue::gpu_models, r).empty());
  }
}
