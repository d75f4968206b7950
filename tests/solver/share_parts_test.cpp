// Sharing in a cluster: as many tasks are placed as the terms of each mode allow on every GPU.
#include "berth/cluster/share_parts.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "berth/cluster/part_setup.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/domain_tree_builder.hpp"

using namespace berth;

TEST_SUITE("solver/share_parts") {
  TEST_CASE("a gang in a cluster gets as many shares as the terms admit on each GPU, and not one more") {
    share_host h;
    h.memory_mib = 80'000;
    const auto ask = [](std::uint32_t memory, unsigned cores, unsigned replicas) {
      return share_ask{memory, static_cast<std::uint16_t>(cores), static_cast<std::uint16_t>(replicas), 0};
    };
    struct row {
      share_terms terms;
      share_ask ask;
      unsigned per_gpu;
    };
    const row table[] = {
        {*time_slice_terms(h, 7), ask(1000, 0, 1), 7},
        {*time_slice_terms(h, 7), ask(30'000, 0, 1), 2},
        {*time_slice_terms(h, 7, false), ask(0, 0, 3), 2},
        {*shard_terms(h, 12), ask(0, 0, 5), 2},
        {*shard_terms(h, 3), ask(0, 0, 1), 3},
        {*fraction_terms(h), ask(8'000, 30, 1), 3},
        {*fraction_terms(h), ask(8'000, 5, 1), 10},
        {*fraction_terms(h, 30), ask(3'000, 3, 1), 26},
        {*fraction_terms(h, 30, 1500, 1500), ask(40'000, 50, 1), 3},
        {*fraction_terms(h), ask(100, 100, 1), 1},
        {*mps_terms(h, 48), ask(1'000, 80, 1), 48},
        {*mps_terms(h, 48, 1000), ask(1'000, 30, 1), 3},
        {*kubernetes_mps_terms(h, 9), ask(8'000, 0, 1), 9},
    };
    for (const auto& r : table) {
      CAPTURE(&r - table);
      CHECK(share_room(r.terms, {}, r.ask) == r.per_gpu);
      cluster_spec spec;
      auto tree =
          domain_tree_builder::build(std::vector<domain_declaration>{{"leaf", domain_declaration::no_parent, ""}},
                                     std::vector<std::uint32_t>{0, 0});
      REQUIRE(tree);
      spec.tree = std::move(tree->tree);
      spec.shapes.push_back(make_plain_shape("node", 2, "some-gpu", cpus(64), gibibytes(512)));
      for (const char* name : {"a", "b"}) spec.nodes.push_back({name, shape_id{0}, {}, cpus(64), gibibytes(512)});
      part_catalogue parts;
      part_model m;
      m.name = "some-gpu";
      REQUIRE(set_share_terms(m, r.terms));
      parts.models.push_back(m);
      cluster live{spec, {.jobs = 10, .tasks = 1000, .parts = &parts}};
      placer p{live};
      const auto need = share_need(r.terms, r.ask);
      REQUIRE(need);
      const auto place = [&](std::uint32_t tasks) {
        gang g;
        task_group t;
        t.shape.part = *need;
        t.minimum = t.wanted = tasks;
        g.groups.push_back(t);
        return p(g);
      };
      CHECK_FALSE(place(4 * r.per_gpu + 1));
      const decision d = place(4 * r.per_gpu);
      REQUIRE(d);
      REQUIRE(live.commit(job_key{1}, d.where));
      CHECK_FALSE(place(1));
    }
    CHECK(share_need(*fraction_terms(h), ask(90'000, 10, 1)).error() == share_fault::beyond_memory);
    CHECK(share_need(*time_slice_terms(h, 4), ask(1, 0, 2)).error() == share_fault::one_replica_only);
    part_model off;
    CHECK(set_share_terms(off, {}));
    CHECK_FALSE(off.shares);
  }
}
