// Sharing in a cluster: as many tasks are placed as the terms of each mode allow on every GPU.
#include "berth/cluster/share_parts.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cluster/part_setup.hpp"
#include "berth/policy/part_choice.hpp"
#include "berth/policy/share_refusal.hpp"
#include "berth/solver/placer.hpp"
#include "berth/solver/validate.hpp"
#include "berth/topology/domain_tree_builder.hpp"

using namespace berth;

namespace {

// What the issues of other schedulers ask for (A04, A05, A21, A22): GPUs of 80 GB shared as HAMi does.
struct shared_site {
  cluster_spec spec;
  part_catalogue parts;
  cluster live;
  shared_site(std::uint32_t nodes, unsigned gpus)
      : spec{machines(nodes, gpus)}, parts{terms()}, live{spec, {.jobs = 100, .tasks = 500, .parts = &parts}} {}
  static cluster_spec machines(std::uint32_t nodes, unsigned gpus) {
    cluster_spec s;
    s.tree = domain_tree_builder::regular({"cluster"}, {}, nodes);
    s.shapes.push_back(make_plain_shape("node", gpus, "some-gpu", cpus(64), gibibytes(512)));
    for (std::uint32_t n = 0; n < nodes; ++n)
      s.nodes.push_back({std::to_string(n), shape_id{0}, {}, cpus(64), gibibytes(512)});
    return s;
  }
  static part_catalogue terms() {
    share_host h;
    h.memory_mib = 80'000;
    part_catalogue c;
    c.models.emplace_back().name = "some-gpu";
    static_cast<void>(set_share_terms(c.models[0], *fraction_terms(h)));
    return c;
  }
  /// A share that runs on a GPU.
  void use(std::uint64_t key, std::uint32_t node, unsigned gpu, unsigned percent) {
    const task_placement t{bit(gpu), node_id{node}, 0};
    const task_shape shape{.part = part(percent)};
    REQUIRE(live.commit(job_key{key}, {{&t, 1}, {&shape, 1}}));
  }
  static part_need part(unsigned percent, unsigned gpus = 1) {
    return part_need::share(percent * 10, percent * 800, gpus);
  }
  static gang of(std::uint32_t tasks, const part_need& need) {
    gang g;
    g.groups.push_back({.shape = {.part = need}, .wanted = tasks, .minimum = tasks});
    return g;
  }
  /// "0:0 0:1": node and GPU of each task, or why not.
  template <class Placer>
  static std::string where(Placer& place, const gang& g) {
    const decision d = place(g);
    std::string out;
    for (const task_placement& t : d.where.tasks)
      for_each_bit(t.devices, [&](unsigned gpu) {
        out += (out.empty() ? "" : " ") + std::to_string(t.node.raw()) + ":" + std::to_string(gpu);
      });
    return d ? out : "refused";
  }
};
template <class Node, class Share>
using sharing = placer<fewest_domains, Node, with_parts<lowest_index, mig_first_fit, Share>>;

}  // namespace

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

  TEST_CASE("A04: packing and spreading over nodes and over the GPUs of a node are two settings") {
    const shared_site s{3, 4};
    const gang three = shared_site::of(3, shared_site::part(25));
    cluster c = s.live;
    sharing<bin_pack, share_best_fit> pack_pack{c};
    sharing<bin_pack, share_spread> pack_spread{c};
    sharing<spread, share_best_fit> spread_pack{c};
    CHECK(shared_site::where(pack_pack, three) == "0:0 0:0 0:0");
    CHECK(shared_site::where(pack_spread, three) == "0:0 0:1 0:2");
    CHECK(shared_site::where(spread_pack, three) == "0:0 1:0 2:0");
  }
  TEST_CASE("A05: spreading takes the least loaded GPU, whichever it is") {
    shared_site s{1, 4};
    s.use(11, 0, 0, 90), s.use(12, 0, 1, 70), s.use(13, 0, 2, 30), s.use(14, 0, 3, 10);
    sharing<bin_pack, share_spread> place{s.live};
    CHECK(shared_site::where(place, shared_site::of(1, shared_site::part(10))) == "0:3");
  }
  TEST_CASE("A21: halves free on two GPUs do not serve a task that needs 0.8 of one, and the refusal says so") {
    shared_site s{2, 2};
    s.use(11, 0, 0, 50), s.use(12, 0, 1, 50), s.use(13, 1, 1, 100);
    placer place{s.live};
    const gang one = shared_site::of(1, shared_site::part(80));
    CHECK(shared_site::where(place, one) == "1:0");
    s.use(14, 1, 0, 60);
    CHECK(shared_site::where(place, one) == "refused");
    const share_refusal why = explain_share(s.live, one.groups[0].shape);
    CHECK(why.enough_on_a_node_in_sum);
    CHECK(why.devices == 4);
    CHECK(why.no_memory == 4);
    CHECK(why.fits == 0);
    // One user's device, a broken one, one held whole.
    REQUIRE(s.live.set_device_health(node_id{0}, 0, false));
    REQUIRE(s.live.release(job_key{12}));
    const task_placement whole{bit(1), node_id{0}, 0};
    const task_shape shape{.devices = 1};
    REQUIRE(s.live.commit(job_key{20}, {{&whole, 1}, {&shape, 1}}));
    const share_refusal now = explain_share(s.live, {.part = part_need::share(0, 100)});
    CHECK(now.out_of_use == 1);
    CHECK(now.held_whole == 1);
    CHECK(now.no_memory == 1);  // one client has all of it
    CHECK(now.fits == 1);
  }
  TEST_CASE("A22: sixteen halves at once on eight GPUs are two on each, whatever the policy; one more gets nothing") {
    shared_site s{2, 4};
    const auto check = [&](auto&& place) {
      CHECK(shared_site::where(place, shared_site::of(17, shared_site::part(50))) == "refused");
      const decision d = place(shared_site::of(16, shared_site::part(50)));
      REQUIRE(d);
      REQUIRE(s.live.commit(job_key{1}, d.where));
      for (std::uint32_t n = 0; n < 2; ++n)
        for (unsigned g = 0; g < 4; ++g) CHECK(s.live.inside().parts().use(n, g).clients == 2);
      REQUIRE(s.live.release(job_key{1}));
    };
    check(sharing<bin_pack, share_best_fit>{s.live});
    check(sharing<bin_pack, share_spread>{s.live});
    check(sharing<spread, share_best_fit>{s.live});
    // Of tasks with two GPUs each: those are different ones, and packing first strands nothing.
    shared_site t{1, 3};
    t.use(11, 0, 1, 40), t.use(12, 0, 2, 40);
    placer place{t.live};
    CHECK(shared_site::where(place, shared_site::of(2, shared_site::part(50, 2))) != "refused");
    CHECK(shared_site::where(place, shared_site::of(1, shared_site::part(10, 4))) == "refused");
  }
  TEST_CASE(
      "MPS inside MIG instances: as many clients as the instance's slices allow, of one user each, never beside it") {
    cluster_spec spec = shared_site::machines(1, 1);
    spec.shapes[0].models = {"h100-sxm5-80gb"};
    part_catalogue parts = make_part_catalogue({spec.shapes.data(), spec.shapes.size()});
    const mig_geometry& g = parts.products[0].geometry();
    parts.inside.resize(1);
    parts.inside[0].resize(g.profiles);
    unsigned small = 0;
    while (g.row(small).name != "1g.10gb") ++small;
    share_host h;
    h.memory_mib = 9'984;
    h.slices = 1, h.of = 7;
    const auto terms = mps_terms(h, 6);
    REQUIRE(terms);
    REQUIRE(set_share_terms(parts.inside[0][small], *terms));
    cluster live{spec, {.jobs = 100, .tasks = 500, .parts = &parts}};
    placer place{live};
    const std::string_view name{"1g.10gb"};
    const mig_request_id id = live.add_mig_request(*make_mig_request(parts, {&name, 1}));
    const auto clients = [&](std::uint32_t n, std::uint32_t user) {
      return shared_site::of(n, share_need(*terms, {1'000, 30, 1, user})->in_instance(id));
    };
    CHECK_FALSE(place(clients(43, 1)));
    const decision all = place(clients(42, 1));  // seven instances of six
    REQUIRE(all);
    CHECK(validate(live, clients(42, 1), all.where));
    const decision four = place(clients(4, 1));
    REQUIRE(four);
    REQUIRE(live.commit(job_key{1}, four.where));
    const auto count = [&] {
      unsigned n = 0;
      for (unsigned k = 0; k < max_task_instances; ++k)
        n += live.inside().parts().shared_instances(0, 0)[k].clients != 0;
      return n;
    };
    CHECK(count() == 1);
    REQUIRE(live.commit(job_key{2}, place(clients(2, 2)).where));  // another user: an instance of their own
    CHECK(count() == 2);
    CHECK(place(clients(2 + 5 * 6, 1)));
    CHECK_FALSE(place(clients(2 + 5 * 6 + 1, 1)));
    CHECK_FALSE(place(shared_site::of(1, part_need::share(100, 100))));  // nothing beside the instances
    REQUIRE(live.release(job_key{1}));
    REQUIRE(live.release(job_key{2}));
    CHECK(count() == 0);
    CHECK(place(shared_site::of(1, part_need::share(100, 100))));
    CHECK(live.check_invariants());

    // An instance that has room comes before another is cut, on whichever node, also where cutting there spoils
    // nothing.
    cluster_spec two = shared_site::machines(2, 1);
    two.shapes[0].models = {"h100-sxm5-80gb"};
    cluster both{two, {.jobs = 100, .tasks = 500, .parts = &parts}};
    placer choose{both};
    const mig_request_id here = both.add_mig_request(*make_mig_request(parts, {&name, 1}));
    const task_shape mine{.part = share_need(*terms, {1'000, 30, 1, 1})->in_instance(here)};
    const task_shape whole{.part = part_need::mig(here)};
    const auto put = [&](std::uint64_t key, std::uint32_t node, unsigned start, const task_shape& t) {
      const task_placement at{bit(0), node_id{node}, 0};
      part_places places;
      places.push(0, *g.find(small, start));
      REQUIRE(both.commit(job_key{key}, {{&at, 1}, {&t, 1}, {}, {&places, 1}}));
    };
    put(1, 1, 6, mine);
    for (const unsigned start : {0U, 1U, 2U, 3U, 4U, 5U}) put(2 + start, 0, start, whole);
    const decision joined = choose(shared_site::of(1, mine.part));
    REQUIRE(joined);
    CHECK(joined.where.tasks[0].node == node_id{1});
  }
}
