// Parts of GPUs that want a network card beside them.

#include <doctest/doctest.h>

#include <cstdint>
#include <string_view>

#include "berth/cluster/part_setup.hpp"
#include "berth/solver/exhaustive.hpp"
#include "berth/solver/explain.hpp"
#include "berth/solver/placer.hpp"
#include "berth/solver/validate.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "berth/topology/mig_lookup.hpp"

namespace {

using namespace berth;

gang tasks_of(const part_need& need, std::uint32_t n) {
  gang g;
  g.groups.push_back({.name = "t", .shape = {.part = need}, .wanted = n, .minimum = n});
  return g;
}

}  // namespace

TEST_SUITE("parts of GPUs beside NICs") {
  TEST_CASE("parts beside a NIC are on GPUs with a working one, by placer, counters, commit and reference alike") {
    cluster_spec spec;
    spec.tree = domain_tree_builder::regular({"cluster"}, {}, 2);
    spec.shapes.push_back(make_plain_shape("h100", 4, "h100-sxm5-80gb", cpus(64), gibibytes(512)));
    spec.nodes.resize(2, {"", shape_id{0}, {}, cpus(64), gibibytes(512)});
    // Two GPUs beside a card, two beside none; on the second node all of them, half by half.
    spec.shapes.push_back(spec.shapes[0]);
    spec.shapes[0].nics = {{0b0110, {}, {}}};
    spec.shapes[1].nics = {{0b0011, {}, {}}, {0b1100, {}, {}}};
    spec.nodes[1].shape = shape_id{1};
    const part_catalogue parts = make_part_catalogue({spec.shapes.data(), spec.shapes.size()});
    const mig_geometry& g = parts.products[0].geometry();
    const std::string_view name = "3g.40gb";
    const mig_request request = *make_mig_request(parts, {&name, 1});
    for (const bool late : {false, true}) {
      cluster c{spec, {.jobs = 40, .tasks = 100, .bindings = !late, .parts = &parts}};
      if (late) c.reserve({.bindings = true});  // in the other order
      const part_need any = part_need::mig(c.add_mig_request(request)), near = any.beside_nic();
      const part_need half = part_need::share(500, 0).beside_nic();
      placer place{c};
      const auto most = [&](const part_need& need) { return c.counters({.part = need})->capacity(0, 0); };
      CHECK(most(any) == 16);
      CHECK(most(near) == 12);
      REQUIRE(c.set_nic_health(node_id{1}, 0, false).has_value());
      CHECK(most(near) == 8);
      REQUIRE(c.set_nic_health(node_id{0}, 0, false).has_value());
      const decision d = place(tasks_of(near, 4));
      REQUIRE(d);
      CHECK(validate(c, tasks_of(near, 4), d));
      for (const task_placement& t : d.where.tasks) CHECK((t.node == node_id{1} && (t.devices & 0b0011) == 0));
      CHECK(place(tasks_of(near, 5)).result == verdict::not_now);
      CHECK(place(tasks_of(near, 13)).result == verdict::never);
      CHECK(solve_exhaustively(c, tasks_of(near, 4), {0, 4'000'000}).result == exact_verdict::found);
      CHECK(solve_exhaustively(c, tasks_of(near, 5), {0, 4'000'000}).result == exact_verdict::impossible);
      // One alone goes by the states of all GPUs: one that is cut, but beside no NIC, does not serve it.
      REQUIRE(c.set_nic_health(node_id{0}, 0, true).has_value());
      part_places at;
      at.push(0, *g.find(find_mig_profile(*g.product, name)->profile, 4));
      const task_shape shape{.part = any}, beside{.part = near};
      const task_placement first{bit(0), node_id{0}, 0};
      CHECK(c.commit(job_key{1}, {{&first, 1}, {&beside, 1}, {}, {&at, 1}}).error().code == cluster_errc::conflict);
      REQUIRE(c.commit(job_key{1}, {{&first, 1}, {&shape, 1}, {}, {&at, 1}}).has_value());
      CHECK(place(tasks_of(any, 1)).where.tasks[0].devices == bit(0));
      for (const part_need& need : {near, half}) {
        const decision one = place(tasks_of(need, 1));
        REQUIRE(one);
        CHECK(validate(c, tasks_of(need, 1), one));
        CHECK((one.where.tasks[0].devices & (one.where.tasks[0].node == node_id{0} ? 0b0110U : 0b1100U)) != 0);
      }
      CHECK(place(tasks_of(half, 8)));
      CHECK(place(tasks_of(half, 9)).result == verdict::not_now);
      CHECK(c.check_invariants());
    }
    // A node without a card beside its GPUs is none that waiting would help.
    cluster_spec bare = spec;
    bare.shapes[0].nics.clear();
    cluster half_wired{bare, {.jobs = 4, .tasks = 40, .bindings = true, .parts = &parts}};
    const task_shape asks{.part = part_need::mig(half_wired.add_mig_request(request)).beside_nic()};
    CHECK(cause_of(half_wired, node_id{0}, asks, level_id{0}) == node_cause::too_few_devices);
    CHECK(cause_of(half_wired, node_id{1}, asks, level_id{0}) == node_cause::has_room);
    // Where nobody keeps the insides of nodes, it cannot be said.
    cluster blind{spec, {.jobs = 4, .tasks = 4, .parts = &parts}};
    placer place{blind};
    CHECK(place(tasks_of(part_need::mig(blind.add_mig_request(request)).beside_nic(), 1)).result ==
          verdict::capacity_exhausted);
  }
}
