// Gangs that ask for parts of GPUs: MIG instances and shares, in the same state and index as whole GPUs.

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/cluster/part_setup.hpp"
#include "berth/cluster/replica.hpp"
#include "berth/cluster/transaction.hpp"
#include "berth/core/random.hpp"
#include "berth/solver/exhaustive.hpp"
#include "berth/solver/explain.hpp"
#include "berth/solver/placer.hpp"
#include "berth/solver/validate.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "berth/topology/mig_lookup.hpp"
#include "sanitized.hpp"

namespace {

using namespace berth;

/// Nodes of these models, some GPUs each, two nodes a leaf.
struct site {
  cluster_spec spec;
  part_catalogue parts;
  cluster live;

  explicit site(const std::vector<std::string>& models, unsigned gpus = 2, std::uint32_t per_leaf = 2)
      : spec{make(models, gpus, per_leaf)},
        parts{make_part_catalogue({spec.shapes.data(), spec.shapes.size()})},
        live{spec, {.jobs = 400, .tasks = 4000, .parts = &parts}} {}

  static cluster_spec make(const std::vector<std::string>& models, unsigned gpus, std::uint32_t per_leaf) {
    cluster_spec s;
    std::vector<domain_declaration> domains;
    std::vector<std::uint32_t> at;
    for (std::uint32_t n = 0; n < models.size(); ++n) {
      if (n % per_leaf == 0)
        domains.push_back({"leaf-" + std::to_string(n / per_leaf), domain_declaration::no_parent, ""});
      at.push_back(n / per_leaf);
    }
    auto tree = domain_tree_builder::build(domains, at);
    REQUIRE(tree);
    s.tree = std::move(tree->tree);
    for (std::uint32_t n = 0; n < models.size(); ++n) {
      std::uint16_t k = 0;
      while (k < s.shapes.size() && s.shapes[k].models != std::vector<std::string>(gpus, models[n])) ++k;
      if (k == s.shapes.size())
        s.shapes.push_back(make_plain_shape(models[n], gpus, models[n], cpus(64), gibibytes(512)));
      s.nodes.push_back({"n" + std::to_string(n), shape_id{k}, {}, cpus(64), gibibytes(512)});
    }
    return s;
  }

  mig_request_id ask(const std::vector<std::string_view>& profiles) {
    const auto r = make_mig_request(parts, {profiles.data(), profiles.size()});
    REQUIRE_MESSAGE(r, (r ? "" : r.error().message()));
    return live.add_mig_request(*r);
  }
  part_need mig(std::string_view profile, unsigned count = 1, bool apart = false) {
    return part_need::mig(ask({profile}), count, apart);
  }
  /// "1g.10gb@0 3g.40gb@4" of one device.
  std::string shown(std::uint32_t node, unsigned device) const {
    const auto& parts_now = live.inside().parts();
    const auto product = parts_now.limits(live.node(node_id{node}).node_class, device).product;
    if (product == part_model::no_product) return "";
    const mig_geometry& g = parts_now.product(product).geometry();
    std::string out;
    for (unsigned start = 0; start < 12; ++start)
      for_each_bit(parts_now.use(node, device).instances, [&](unsigned p) {
        if (g.placement[p].start != start) return;
        out += (out.empty() ? "" : " ") + std::string{g.row(g.placement[p].profile).name} + "@" + std::to_string(start);
      });
    return out;
  }
};

gang tasks_of(const part_need& need, std::uint32_t n) {
  gang g;
  g.groups.push_back({.name = "t", .shape = {.part = need}, .wanted = n, .minimum = n});
  return g;
}
/// Commits one instance at a given start.
void put(site& s, std::uint64_t key, std::uint32_t node, unsigned device, std::string_view profile, unsigned start) {
  const task_shape shape{.part = s.mig(profile)};
  const auto& parts = s.live.inside().parts();
  const mig_geometry& g = parts.product(parts.limits(s.live.node(node_id{node}).node_class, device).product).geometry();
  part_places at;
  at.push(device, *g.find(find_mig_profile(*g.product, profile)->profile, start));
  const task_placement t{bit(device), node_id{node}, 0};
  REQUIRE(s.live.commit(job_key{key}, {{&t, 1}, {&shape, 1}, {}, {&at, 1}}).has_value());
}

const std::string h100 = "h100-sxm5-80gb", a100 = "a100-sxm4-40gb", a30 = "a30-24gb", rtx = "rtx-pro-6000-bw-se-96gb";

}  // namespace

TEST_SUITE("parts of GPUs") {
  TEST_CASE("instances go into GPUs that are cut already, and whole GPUs stay whole") {
    site s{{h100, h100}};
    placer place{s.live};
    std::uint64_t key = 0;
    for (int i = 0; i < 7; ++i) {
      const decision d = place(tasks_of(s.mig("1g.10gb"), 1));
      REQUIRE(d);
      CHECK(validate(s.live, tasks_of(s.mig("1g.10gb"), 1), d));
      CHECK(d.where.tasks[0].node == node_id{0});
      CHECK(d.where.tasks[0].devices == bit(0));
      REQUIRE(s.live.commit(job_key{key++}, d.where).has_value());
      CHECK(s.live.node(node_id{0}).free == bit(1));
      CHECK(s.live.check_invariants());
    }
    // The seventh filled it; the next one opens the second GPU, and a whole-GPU gang still finds two others.
    CHECK(place(tasks_of(s.mig("1g.10gb"), 1)).where.tasks[0].devices == bit(1));
    gang whole;
    whole.groups.push_back({.shape = {.devices = 2}});
    CHECK(place(whole).where.tasks[0].node == node_id{1});
    for (std::uint64_t k = 0; k < key; ++k) REQUIRE(s.live.release(job_key{k}).has_value());
    CHECK(s.live.node(node_id{0}).free == 3);
    CHECK(s.live.check_invariants());
  }

  TEST_CASE("no whole GPU is broken in one leaf while another has one that is cut") {
    // Leaf 1 has less room, so that it would be the tighter one.
    site s{{h100, h100, h100}};
    put(s, 1, 0, 1, "1g.10gb", 0);
    placer place{s.live};
    CHECK(place(tasks_of(s.mig("2g.20gb"), 1)).where.tasks[0].node == node_id{0});
    placer<most_free_first> emptiest{s.live};
    CHECK(emptiest(tasks_of(s.mig("2g.20gb"), 1)).where.tasks[0].node == node_id{0});
    // Nothing is shared yet: the GPU is taken from the node that is broken already.
    CHECK(place(tasks_of(part_need::share(100, 0), 1)).where.tasks[0].node == node_id{0});
  }

  TEST_CASE("three 1g instances at 0, 1 and 5 leave no start for a 3g: fragmented, not full") {
    site s{{h100}, 1};
    for (const unsigned start : {0U, 1U, 5U}) put(s, start, 0, 0, "1g.10gb", start);
    placer place{s.live};
    const decision d = place(tasks_of(s.mig("3g.40gb"), 1));
    CHECK(d.result == verdict::not_now);
    const explanation e = explain(s.live, tasks_of(s.mig("3g.40gb"), 1), d);
    CHECK(e.causes[static_cast<std::size_t>(node_cause::fragmented)] == 1);
    // Full is another matter.
    site full{{h100}, 1};
    put(full, 1, 0, 0, "7g.80gb", 0);
    placer p2{full.live};
    const explanation f = explain(full.live, tasks_of(full.mig("3g.40gb"), 1), p2(tasks_of(full.mig("3g.40gb"), 1)));
    CHECK(f.causes[static_cast<std::size_t>(node_cause::devices_in_use)] == 1);
  }

  TEST_CASE("three 1g instances are started so that a 3g and a 4g keep a start") {
    site s{{h100}, 1};
    placer place{s.live};
    for (std::uint64_t k = 0; k < 3; ++k) {
      const decision d = place(tasks_of(s.mig("1g.10gb"), 1));
      REQUIRE(d);
      REQUIRE(s.live.commit(job_key{k}, d.where).has_value());
    }
    CHECK(place(tasks_of(s.mig("3g.40gb"), 1)));
    CHECK(place(tasks_of(s.mig("4g.40gb"), 1)));
  }

  TEST_CASE("one claim of 4g, 2g and 1g lies on one GPU, whatever its order") {
    const std::vector<std::vector<std::string_view>> orders{
        {"4g.40gb", "2g.20gb", "1g.10gb"}, {"1g.10gb", "2g.20gb", "4g.40gb"}, {"2g.20gb", "1g.10gb", "4g.40gb"}};
    for (const auto& order : orders) {
      site s{{h100, h100}};
      placer place{s.live};
      const gang g = tasks_of(part_need::mig(s.ask(order)), 1);
      const decision d = place(g);
      REQUIRE(d);
      CHECK(validate(s.live, g, d));
      REQUIRE(s.live.commit(job_key{1}, d.where).has_value());
      CHECK(s.shown(0, 0) == "4g.40gb@0 2g.20gb@4 1g.10gb@6");
    }
    // Four of them on four GPUs, and no fifth.
    site s{{h100, h100}};
    placer place{s.live};
    const auto claim = part_need::mig(s.ask(orders[0]));
    CHECK(place(tasks_of(claim, 4)));
    CHECK(place(tasks_of(claim, 5)).result == verdict::never);
  }

  TEST_CASE("0.8 of a GPU is not found in two halves") {
    site s{{h100, h100}};
    const task_shape half{.part = part_need::share(500, 0)};
    const task_placement both[] = {{bit(0), node_id{0}, 0}, {bit(1), node_id{0}, 0}};
    REQUIRE(s.live.commit(job_key{1}, {both, {&half, 1}}).has_value());
    const task_shape whole{.devices = 1};
    const task_placement one{bit(0), node_id{1}, 0};
    REQUIRE(s.live.commit(job_key{2}, {{&one, 1}, {&whole, 1}}).has_value());
    placer place{s.live};
    const decision d = place(tasks_of(part_need::share(800, 0), 1));
    REQUIRE(d);
    CHECK(d.where.tasks[0].node == node_id{1});
    CHECK(d.where.tasks[0].devices == bit(1));
    CHECK(place(tasks_of(part_need::share(800, 0), 2)).result == verdict::not_now);
  }

  TEST_CASE("sixteen halves at once are two on each of eight GPUs") {
    site s{{h100}, 8};
    placer place{s.live};
    const gang g = tasks_of(part_need::share(500, 0), 16);
    const decision d = place(g);
    REQUIRE(d);
    CHECK(validate(s.live, g, d));
    unsigned on[8] = {};
    for (const task_placement& t : d.where.tasks) ++on[lowest_bit(t.devices)];
    for (const unsigned n : on) CHECK(n == 2);
    REQUIRE(s.live.commit(job_key{1}, d.where).has_value());
    CHECK(place(tasks_of(part_need::share(1, 0), 1)).result == verdict::not_now);
  }

  TEST_CASE("shares are packed over devices or spread over them, whatever nodes do") {
    const auto devices_of = [](auto&& place, site& s) {
      device_mask used = 0;
      for (std::uint64_t k = 0; k < 4; ++k) {
        const decision d = place(tasks_of(part_need::share(250, 4000), 1));
        REQUIRE(d);
        used |= d.where.tasks[0].devices;
        REQUIRE(s.live.commit(job_key{k}, d.where).has_value());
      }
      return count_bits(used);
    };
    site one{{h100}, 4}, two{{h100}, 4};
    CHECK(devices_of(placer{one.live}, one) == 1);
    CHECK(devices_of(
              placer<fewest_domains, bin_pack, with_parts<best_bandwidth, keep_mig_options, share_spread>>{two.live},
              two) == 4);
    // Spread over nodes, packed on each: the second task is on the other node.
    site nodes{{h100, h100}, 4};
    placer<fewest_domains, spread> over_nodes{nodes.live};
    const decision d = over_nodes(tasks_of(part_need::share(250, 4000), 2));
    REQUIRE(d);
    CHECK(d.where.tasks[0].node != d.where.tasks[1].node);
  }

  TEST_CASE("memory of a GPU is counted per GPU and never past what it has") {
    site s{{h100}, 2};
    placer place{s.live};
    // 81,559 MiB: ten of 8,000 and no eleventh, although 0.1 of the compute each would allow ten as well.
    CHECK(place(tasks_of(part_need::share(0, 8000), 20)));
    CHECK(place(tasks_of(part_need::share(0, 8000), 21)).result == verdict::never);
    CHECK(place(tasks_of(part_need::share(300, 8000), 6)));
    CHECK(place(tasks_of(part_need::share(300, 8000), 7)).result == verdict::never);
    CHECK(place(tasks_of(part_need::share(10, 90'000), 1)).result == verdict::never);
    // Of two GPUs each: the parts of a task are on different ones.
    const decision d = place(tasks_of(part_need::share(500, 1000, 2), 2));
    REQUIRE(d);
    CHECK(d.where.tasks[0].devices == 3);
    CHECK(place(tasks_of(part_need::share(500, 1000, 3), 1)).result == verdict::never);
    // A GPU of unknown memory promises none, but thousandths.
    site unknown{{"mystery"}, 2};
    placer p2{unknown.live};
    CHECK(p2(tasks_of(part_need::share(100, 1), 1)).result == verdict::never);
    CHECK(p2(tasks_of(part_need::share(100, 0), 20)));
  }

  TEST_CASE("a GPU is whole, MIG or shared, one at a time") {
    site s{{h100}, 1};
    put(s, 1, 0, 0, "1g.10gb", 6);
    placer place{s.live};
    gang whole;
    whole.groups.push_back({.shape = {.devices = 1}});
    CHECK(place(whole).result == verdict::not_now);
    CHECK(place(tasks_of(part_need::share(10, 0), 1)).result == verdict::not_now);
    CHECK(place(tasks_of(s.mig("4g.40gb"), 1)));
    REQUIRE(s.live.release(job_key{1}).has_value());
    const decision d = place(tasks_of(part_need::share(10, 0), 1));
    REQUIRE(d);
    REQUIRE(s.live.commit(job_key{2}, d.where).has_value());
    CHECK(place(whole).result == verdict::not_now);
    CHECK(place(tasks_of(s.mig("1g.10gb"), 1)).result == verdict::not_now);
  }

  TEST_CASE("a site says which GPUs are in MIG mode, and only an idle one is switched") {
    site s{{h100}, 2};
    CHECK(s.live.set_mig_switch(node_id{0}, 0, mig_switch::on).has_value());
    CHECK(s.live.set_mig_switch(node_id{0}, 0, mig_switch::on).has_value());
    CHECK(s.live.set_mig_switch(node_id{0}, 1, mig_switch::off).has_value());
    CHECK(s.live.check_invariants());
    placer place{s.live};
    gang whole;
    whole.groups.push_back({.shape = {.devices = 1}, .wanted = 2});
    CHECK(place(whole).where.tasks.size() == 1);
    const gang seven = tasks_of(s.mig("7g.80gb"), 1);
    CHECK(place(tasks_of(s.mig("7g.80gb"), 2)).result == verdict::never);
    const decision d = place(seven);
    REQUIRE(d);
    CHECK(d.where.tasks[0].devices == bit(0));
    REQUIRE(s.live.commit(job_key{1}, d.where).has_value());
    CHECK(s.live.set_mig_switch(node_id{0}, 0, mig_switch::off).error().code == cluster_errc::still_in_use);
    CHECK(s.live.set_mig_switch(node_id{0}, 9, mig_switch::off).error().code == cluster_errc::bad_argument);
    REQUIRE(s.live.release(job_key{1}).has_value());
    CHECK(s.live.node(node_id{0}).free == bit(1));
    {
      transaction undone{s.live};
      REQUIRE(s.live.set_mig_switch(node_id{0}, 0, mig_switch::as_needed).has_value());
      CHECK(s.live.node(node_id{0}).free == 3);
    }
    CHECK(s.live.node(node_id{0}).free == bit(1));
    CHECK(s.live.check_invariants());
  }

  TEST_CASE("the traps of the tables: media extensions, 3g at 0, the A30 and twelve units") {
    {
      site s{{h100}, 1};
      placer place{s.live};
      CHECK(place(tasks_of(s.mig("1g.10gb+me"), 1)));
      CHECK(place(tasks_of(s.mig("1g.10gb+me"), 2)).result == verdict::never);
      // A 3g wants start 4, so that the other half keeps its four slices.
      const decision d = place(tasks_of(s.mig("3g.40gb"), 1));
      REQUIRE(d);
      REQUIRE(s.live.commit(job_key{1}, d.where).has_value());
      CHECK(s.shown(0, 0) == "3g.40gb@4");
      CHECK(place(tasks_of(s.mig("4g.40gb"), 1)));
      CHECK(place(tasks_of(s.mig("1g.10gb"), 4)));
    }
    {
      site s{{a30}, 1};
      placer place{s.live};
      CHECK(place(tasks_of(s.mig("1g.6gb"), 4)));
      CHECK(place(tasks_of(s.mig("1g.6gb"), 5)).result == verdict::never);
      CHECK(place(tasks_of(s.mig("2g.12gb"), 2)));
      CHECK_FALSE(make_mig_request(s.parts, std::vector<std::string_view>{"3g.20gb"}));
    }
    {
      site s{{rtx}, 1};
      placer place{s.live};
      CHECK(place(tasks_of(s.mig("1g.24gb"), 4)));
      CHECK(place(tasks_of(s.mig("1g.24gb"), 5)).result == verdict::never);
      CHECK(place(tasks_of(s.mig("2g.48gb"), 2)));
      // One instance with all media engines: what lies beside it must do without.
      const auto all = s.mig("1g.24gb+me.all");
      CHECK(place(tasks_of(all, 2)).result == verdict::never);
      const decision d = place(tasks_of(all, 1));
      REQUIRE(d);
      REQUIRE(s.live.commit(job_key{1}, d.where).has_value());
      CHECK(place(tasks_of(s.mig("1g.24gb"), 1)).result == verdict::not_now);
      CHECK(place(tasks_of(s.mig("1g.24gb-me"), 3)));
    }
  }

  TEST_CASE("a profile is found on every product that has it, and on no other") {
    site s{{a100, h100, "v100-sxm2-32gb"}, 1, 3};
    placer place{s.live};
    CHECK(place(tasks_of(s.mig("1g.5gb"), 7)).where.tasks[0].node == node_id{0});
    CHECK(place(tasks_of(s.mig("1g.5gb"), 8)).result == verdict::never);
    // 1g.10gb is one unit of an H100 and two of an A100 with 40 GB.
    CHECK(place(tasks_of(s.mig("1g.10gb"), 7)).where.tasks[0].node == node_id{1});
    CHECK(place(tasks_of(s.mig("1g.10gb"), 11)));
    CHECK(place(tasks_of(s.mig("1g.10gb"), 12)).result == verdict::never);
    const auto wrong = [&](std::vector<std::string_view> names) {
      const auto r = make_mig_request(s.parts, {names.data(), names.size()});
      REQUIRE_FALSE(r);
      return r.error().message();
    };
    CHECK(wrong({"9g.99gb"}).find("9g.99gb") != std::string::npos);
    CHECK(wrong({"1g.5gb", "3g.40gb"}).find("of one of the cluster's products") != std::string::npos);
    CHECK(wrong({"4g.40gb", "4g.40gb"}).find("fit on one GPU together") != std::string::npos);
    CHECK(wrong({"1c.3g.40gb"}).find("whole instances") != std::string::npos);
    CHECK(wrong({}).find("1 to 7") != std::string::npos);
    // Without the opt-in, products of low confidence have no MIG, and it is said why.
    site low{{"h20-96gb"}, 1};
    REQUIRE(low.parts.without_mig.size() == 1);
    CHECK(low.parts.without_mig[0].second.find("confidence") != std::string::npos);
  }

  TEST_CASE("several instances of a task: anywhere on a node, or on different GPUs") {
    site s{{h100, h100}};
    placer place{s.live};
    const gang anywhere = tasks_of(s.mig("3g.40gb", 3), 1), apart = tasks_of(s.mig("3g.40gb", 2, true), 1);
    decision d = place(anywhere);
    REQUIRE(d);
    CHECK(validate(s.live, anywhere, d));
    CHECK(d.where.parts[0].count == 3);
    d = place(apart);
    REQUIRE(d);
    CHECK(validate(s.live, apart, d));
    CHECK(d.where.tasks[0].devices == 3);
    CHECK(place(tasks_of(s.mig("3g.40gb", 3, true), 1)).result == verdict::never);
    CHECK(place(tasks_of(s.mig("3g.40gb", 2, true), 4)));
    CHECK(place(tasks_of(s.mig("3g.40gb", 2, true), 5)).result == verdict::never);
    // More than a task may have.
    CHECK(place(tasks_of(s.mig("1g.10gb", 8), 1)).result == verdict::invalid);
  }

  TEST_CASE("gangs of parts that need links between them are refused with the reason") {
    site s{{h100, h100}};
    placer place{s.live};
    gang g = tasks_of(s.mig("1g.10gb"), 2);
    g.between_nodes = bytes_per_second{1'000'000};
    CHECK(place(g).why.fault == gang_fault::parts_without_links);
    g.between_nodes = {};
    g.rails = rail_rule::same;
    CHECK(place(g).why.fault == gang_fault::parts_without_links);
  }

  TEST_CASE("a shape with parts and whole devices, or with wishes for the inside, is no shape") {
    const part_need share = part_need::share(100, 0);
    CHECK(task_shape{.part = share}.is_valid());
    CHECK_FALSE(task_shape{.devices = 1, .part = share}.is_valid());
    CHECK_FALSE(task_shape{.bind = {.numa = numa_rule::single_node}, .part = share}.is_valid());
    CHECK_FALSE(task_shape{.part = part_need::share(1001, 0)}.is_valid());
    CHECK_FALSE(task_shape{.part = part_need::share(0, 0)}.is_valid());
    CHECK_FALSE(task_shape{.part = part_need::share(70'000, 0)}.is_valid());
    CHECK_FALSE(task_shape{.part = part_need::share(10, 0, 64)}.is_valid());
    CHECK_FALSE(task_shape{.part = part_need::mig(mig_request_id{0}, 0)}.is_valid());
    CHECK_FALSE(task_shape{.part = part_need::mig({})}.is_valid());
    CHECK(part_need::mig(mig_request_id{3}, 2).request() == mig_request_id{3});
    CHECK_FALSE(part_need::mig(mig_request_id{3}, 2) == part_need::mig(mig_request_id{3}, 2, true));
    // Where parts are off, nobody hands them out.
    site s{{h100}};
    cluster off{s.spec, {.jobs = 4, .tasks = 4}};
    placer place{off};
    CHECK(place(tasks_of(share, 1)).result == verdict::capacity_exhausted);
    const task_shape shape{.part = share};
    const task_placement t{bit(0), node_id{0}, 0};
    CHECK(off.commit(job_key{1}, {{&t, 1}, {&shape, 1}}).error().code == cluster_errc::capacity_exhausted);
  }

  TEST_CASE("instance lists that contradict geometry, product or need are refused, and nothing changes") {
    site s{{h100, "v100-sxm2-32gb"}, 2};
    put(s, 1, 0, 0, "3g.40gb", 4);
    const mig_geometry& g = s.live.inside().parts().product(0).geometry();
    const auto at = [&](std::string_view profile, unsigned start) {
      return static_cast<std::uint8_t>(*g.find(find_mig_profile(*g.product, profile)->profile, start));
    };
    const std::vector<node_state> before{s.live.nodes().begin(), s.live.nodes().end()};
    const auto refused = [&](const part_need& need, device_mask devices, std::uint32_t node, part_places places) {
      const task_shape shape{.part = need};
      const task_placement t{devices, node_id{node}, 0};
      const bool no = !s.live.commit(job_key{9}, {{&t, 1}, {&shape, 1}, {}, {&places, 1}}).has_value();
      return no && std::vector<node_state>{s.live.nodes().begin(), s.live.nodes().end()} == before;
    };
    const part_need three = s.mig("3g.40gb"), one = s.mig("1g.10gb"), two = s.mig("1g.10gb", 2, true);
    CHECK(refused(three, 1, 0, {1, {{0, at("3g.40gb", 4)}}}));                       // held
    CHECK(refused(one, 1, 0, {1, {{0, at("1g.10gb", 5)}}}));                         // overlaps
    CHECK(refused(one, 1, 0, {1, {{0, at("2g.20gb", 0)}}}));                         // another profile
    CHECK(refused(one, 1, 0, {1, {{0, 31}}}));                                       // no such start
    CHECK(refused(one, 2, 0, {1, {{0, at("1g.10gb", 0)}}}));                         // not the GPU that is named
    CHECK(refused(one, 1, 0, {2, {{0, at("1g.10gb", 0)}, {0, at("1g.10gb", 1)}}}));  // one too many
    CHECK(refused(two, 1, 0, {2, {{0, at("1g.10gb", 0)}, {0, at("1g.10gb", 1)}}}));  // apart
    CHECK(refused(one, 1, 0, {0, {}}));                                              // none
    CHECK(refused(one, 1, 0, {200, {{0, at("1g.10gb", 0)}}}));                       // hostile
    CHECK(refused(one, 0, 0, {1, {{200, at("1g.10gb", 0)}}}));                       // hostile
    CHECK(refused(one, 1, 1, {1, {{0, at("1g.10gb", 0)}}}));                         // a GPU without MIG
    CHECK(refused(part_need::mig(mig_request_id{900}), 1, 0, {1, {{0, at("1g.10gb", 0)}}}));  // no such request
    CHECK_FALSE(refused(two, 3, 0, {2, {{0, at("1g.10gb", 0)}, {1, at("1g.10gb", 1)}}}));
    CHECK(s.live.check_invariants());
    // MIG without places at all.
    const task_shape shape{.part = one};
    const task_placement t{1, node_id{0}, 0};
    CHECK(s.live.commit(job_key{10}, {{&t, 1}, {&shape, 1}}).error().code == cluster_errc::bad_argument);
    // Shares: more than is left, more GPUs than there are, GPUs that are whole or MIG.
    const auto share = [&](const part_need& need, device_mask devices) {
      const task_shape sh{.part = need};
      const task_placement p{devices, node_id{1}, 0};
      return s.live.commit(job_key{11}, {{&p, 1}, {&sh, 1}}).has_value();
    };
    CHECK_FALSE(share(part_need::share(500, 0), 3));
    CHECK_FALSE(share(part_need::share(500, 0), 4));
    CHECK_FALSE(share(part_need::share(500, 0), 0));
    CHECK_FALSE(share(part_need::share(500, 40'000), 1));
    CHECK(share(part_need::share(500, 0, 2), 3));
    CHECK(s.live.check_invariants());
  }

  TEST_CASE("where a mix is given, it decides which GPUs are worth keeping") {
    // Only 7g are expected: an empty GPU is worth seven slices, whatever is left of one that is cut is worth nothing.
    site s{{h100}, 2};
    part_catalogue given = s.parts;
    std::vector<double> mix(given.products[0].geometry().profiles, 0);
    mix[find_mig_profile(*given.products[0].geometry().product, "7g.80gb")->profile] = 1;
    given.mix = {mix};
    cluster c{s.spec, {.jobs = 20, .tasks = 20, .parts = &given}};
    REQUIRE(c.set_mig_switch(node_id{0}, 0, mig_switch::on).has_value());
    REQUIRE(c.set_mig_switch(node_id{0}, 1, mig_switch::on).has_value());
    placer<fewest_domains, bin_pack, with_parts<best_bandwidth>> place{
        c, {}, {}, with_parts<best_bandwidth>{best_bandwidth{}, keep_mig_options{{}, mix}}};
    const auto ask = [&](std::string_view p) {
      return tasks_of(part_need::mig(c.add_mig_request(*make_mig_request(given, {&p, 1}))), 1);
    };
    for (std::uint64_t k = 0; k < 7; ++k) {
      const decision d = place(ask("1g.10gb"));
      REQUIRE(d);
      CHECK(d.where.tasks[0].devices == bit(0));
      REQUIRE(c.commit(job_key{k}, d.where).has_value());
    }
    CHECK(place(ask("7g.80gb")));
  }

  TEST_CASE("a replica follows which devices are held, and leaves parts to the writer") {
    site s{{h100, h100}};
    change_feed feed{s.live.nodes()};
    s.live.attach(&feed);
    replica mine{s.live, feed};
    put(s, 1, 0, 0, "1g.10gb", 0);
    CHECK(mine.catch_up() == catch_up_result::followed);
    placer place{mine.view()};
    CHECK(place(tasks_of(s.mig("1g.10gb"), 1)).result == verdict::capacity_exhausted);
    gang whole;
    whole.groups.push_back({.shape = {.devices = 1}, .wanted = 4});
    CHECK(place(whole).where.tasks.size() == 3);
    s.live.attach(nullptr);
  }
}

namespace {

/// A random need out of a few.
part_need any_need(site& s, random_source& random, const std::vector<part_need>& known) {
  static_cast<void>(s);
  return known[random.below(known.size())];
}

}  // namespace

TEST_SUITE("parts of GPUs against the exhaustive reference") {
  TEST_CASE("what fits somewhere is placed, whatever the policy; what is placed is valid") {
    // One shape: never a miss. Several: never a wrong answer, and "not now" only where nothing fits.
    std::size_t placed = 0, refused = 0, gave_up = 0;
    for (std::uint64_t seed = 1; seed <= (berth_test::sanitized ? 60U : 240U); ++seed) {
      random_source random{seed};
      site s{{random.below(3) == 0 ? a30 : h100, h100}, 2, 1 + static_cast<std::uint32_t>(random.below(2))};
      std::vector<part_need> known;
      for (const char* p : {"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb", "1g.10gb+me"})
        known.push_back(s.mig(p));
      known.push_back(s.mig("2g.20gb", 2));
      known.push_back(s.mig("3g.40gb", 2, true));
      known.push_back(part_need::mig(s.ask({"3g.40gb", "1g.10gb"})));
      known.push_back(part_need::mig(s.ask({"2g.20gb", "2g.20gb"})));
      for (const unsigned t : {200U, 350U, 500U}) known.push_back(part_need::share(t, 8000));
      known.push_back(part_need::share(400, 0, 2));
      // Some of it is taken.
      placer<tightest, bin_pack, with_parts<lowest_index, mig_first_fit>> careless{s.live};
      for (std::uint64_t k = 0; k < random.below(7); ++k) {
        gang g = tasks_of(any_need(s, random, known), 1);
        if (random.below(6) == 0) g.groups[0].shape = {.devices = 1};
        if (const decision d = careless(g)) REQUIRE(s.live.commit(job_key{k}, d.where).has_value());
      }
      if (random.below(3) == 0) static_cast<void>(s.live.set_device_health(node_id{0}, 0, false));
      REQUIRE(s.live.check_invariants());

      gang g;
      const std::uint64_t groups = 1 + random.below(3);
      for (std::uint64_t i = 0; i < groups; ++i) {
        task_group t{.name = "g" + std::to_string(i), .shape = {.part = any_need(s, random, known)}};
        if (random.below(5) == 0) t.shape = {.devices = 1, .cpu = cpus(2)};
        if (random.below(4) == 0) t.shape.cpu = cpus(static_cast<std::int64_t>(random.between(1, 40)));
        t.wanted = static_cast<std::uint32_t>(random.between(1, groups == 1 ? 4 : 2));
        t.minimum = t.wanted;
        g.groups.push_back(t);
      }
      if (random.below(4) == 0) g.where = locality::required, g.level = s.live.tree().leaf_level();
      const exact_answer best = solve_exhaustively(s.live, g, {0, 4'000'000});
      if (best.result == exact_verdict::too_large) continue;
      const auto check = [&](auto&& place) {
        const decision d = place(g);
        INFO("seed " << seed);
        if (d) {
          const placement_check v = validate(s.live, g, d);
          REQUIRE_MESSAGE(v, "fault " << static_cast<int>(v.fault) << " of " << v.subject);
          REQUIRE(best.result == exact_verdict::found);
          transaction undone{s.live};
          REQUIRE(s.live.commit(job_key{99}, d.where).has_value());
          REQUIRE(s.live.check_invariants());
          ++placed;
        } else if (d.result == verdict::gave_up) {
          REQUIRE(groups > 1);
          ++gave_up;
        } else {
          REQUIRE(best.result == exact_verdict::impossible);
          ++refused;
        }
        REQUIRE(s.live.check_invariants());
      };
      check(placer{s.live});
      check(placer<tightest, spread, with_parts<lowest_index, mig_spread, share_spread>>{s.live});
      check(placer<balanced, device_utilisation, with_parts<best_bandwidth, mig_pack>>{s.live});
      check(placer<tightest, bin_pack, with_parts<lowest_index, mig_preferred_start>>{s.live});
    }
    MESSAGE(placed << " placed, " << refused << " refused, " << gave_up << " undecided");
    CHECK(placed > 0);
    CHECK(refused > 0);
    CHECK(gave_up < placed / 10);
  }
}
