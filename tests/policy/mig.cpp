// Policies that choose GPU and start of MIG instances, over all GPUs of a cluster.
#include "berth/policy/mig.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/mig_view.hpp"
#include "berth/cluster/part_setup.hpp"
#include "berth/cluster/transaction.hpp"
#include "berth/core/random.hpp"
#include "berth/policy/mig_claim.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "berth/topology/mig_lookup.hpp"
#include "counting_new.hpp"

using namespace berth;

namespace {

/// Nodes whose GPUs are all in MIG mode, and a request per profile.
struct pool {
  cluster_spec spec;
  part_catalogue parts;
  cluster live;
  std::vector<gang> asked;

  pool(std::string_view model, std::uint32_t nodes, unsigned gpus = 8, std::size_t journal = 4096)
      : spec{machines(model, nodes, gpus)},
        parts{make_part_catalogue({spec.shapes.data(), spec.shapes.size()})},
        live{spec, {.jobs = 600, .tasks = 600, .live_shapes = 16, .journal = journal, .parts = &parts}} {
    for (std::uint32_t n = 0; n < nodes; ++n)
      for (unsigned d = 0; d < gpus; ++d) REQUIRE(live.set_mig_switch(node_id{n}, d, mig_switch::on).has_value());
    for (unsigned q = 0; q < geometry().profiles; ++q) asked.push_back(ask({geometry().row(q).name}));
  }
  static cluster_spec machines(std::string_view model, std::uint32_t nodes, unsigned gpus) {
    cluster_spec s;
    s.tree = domain_tree_builder::regular({"cluster"}, {}, nodes);
    s.shapes.push_back(make_plain_shape("node", gpus, std::string{model}, cpus(64), gibibytes(512)));
    s.nodes.resize(nodes, {"", shape_id{0}, {}, cpus(64), gibibytes(512)});
    return s;
  }
  const mig_state_table& table() const { return parts.products[0]; }
  const mig_geometry& geometry() const { return table().geometry(); }
  mig_view view() const { return {live, 0}; }
  unsigned profile(std::string_view name) const { return find_mig_profile(*geometry().product, name)->profile; }
  gang ask(const std::vector<std::string_view>& profiles) {
    gang g;
    g.groups.push_back({.shape = {.part = part_need::mig(live.add_mig_request(
                                      *make_mig_request(parts, {profiles.data(), profiles.size()})))}});
    return g;
  }
  /// Starts one instance as a job of its own.
  expected<void, cluster_error> put(std::uint64_t key, mig_instance i) {
    const unsigned q = i.placement < geometry().placements ? geometry().placement[i.placement].profile : 0U;
    part_places at;
    at.push(i.gpu.device, i.placement);
    const task_placement t{bit(i.gpu.device), i.gpu.node, 0};
    return live.commit(job_key{key}, {{&t, 1}, {&asked[q].groups[0].shape, 1}, {}, {&at, 1}});
  }
  mig_instance at(std::uint32_t node, unsigned device, std::string_view name, unsigned start) const {
    return {{node_id{node}, static_cast<std::uint8_t>(device)},
            static_cast<std::uint8_t>(*geometry().find(profile(name), start))};
  }
};

const std::string_view h100 = "h100-sxm5-80gb", a30 = "a30-24gb", rtx = "rtx-pro-6000-bw-se-96gb";

template <class Policy>
using placer_by = placer<fewest_domains, bin_pack, with_parts<best_bandwidth, Policy>>;
template <class Policy>
with_parts<best_bandwidth, Policy> by(Policy p) {
  return with_parts<best_bandwidth, Policy>{{}, p};
}

// Places, releases and rolls back at random; every answer must be legal, and a refusal must be the truth.
template <class Policy>
void walk(std::string_view model, Policy policy, std::uint64_t seed) {
  pool p{model, 9};
  placer_by<Policy> place{p.live, {}, {}, by(policy)};
  const mig_state_table& t = p.table();
  random_source random{seed};
  std::vector<std::uint64_t> live;
  for (std::uint64_t step = 0; step < 3000; ++step) {
    const auto q = static_cast<unsigned>(random.below(p.geometry().profiles));
    const decision d = place(p.asked[q]);
    bool fits = false;
    p.view().for_each_gpu([&](mig_gpu g) { fits = fits || t.open(p.view().state(g), q) != 0; });
    REQUIRE(static_cast<bool>(d) == fits);
    if (d) {
      REQUIRE(p.geometry().placement[d.where.parts[0].at[0].placement].profile == q);
      REQUIRE(p.live.commit(job_key{step}, d.where).has_value());
      live.push_back(step);
    }
    if (!live.empty() && random.below(100) < 48) {
      const auto k = random.below(live.size());
      REQUIRE(p.live.release(job_key{live[k]}).has_value());
      live[k] = live.back();
      live.pop_back();
    }
    if (step % 500 == 0) REQUIRE(p.live.check_invariants());
  }
}

// Requests of 1g, 2g, 3g, 4g, 7g in equal parts with exponential stays, at 80 % of the slices of 32 GPUs. How many were
// refused.
template <class Policy>
unsigned refused_in_churn(Policy policy, std::uint64_t seed) {
  pool p{h100, 4};
  placer_by<Policy> place{p.live, {}, {}, by(policy)};
  constexpr unsigned plain[] = {0, 3, 4, 5, 6};
  constexpr std::size_t requests = 12000;
  const double stay = 0.8 * 32 * 7 / 3.4;  // in requests
  random_source random{seed};
  std::vector<std::vector<std::uint64_t>> leaves(requests);
  unsigned refused = 0;
  for (std::size_t i = 0; i < requests; ++i) {
    for (const std::uint64_t x : leaves[i]) REQUIRE(p.live.release(job_key{x}).has_value());
    const unsigned q = plain[random.below(5)];
    const auto until = i + 1 + static_cast<std::size_t>(-std::log(1 - random.unit()) * stay);
    const decision d = place(p.asked[q]);
    refused += d ? 0U : 1U;
    if (!d) continue;
    REQUIRE(p.live.commit(job_key{i}, d.where).has_value());
    if (until < requests) leaves[until].push_back(i);
  }
  return refused;
}

}  // namespace

TEST_SUITE("policy/mig") {
  TEST_CASE("Keeping options open refuses at most 0.6 times as many requests as first fit in churn") {
    unsigned first = 0, most = 0;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      first += refused_in_churn(mig_first_fit{}, seed);
      most += refused_in_churn(keep_mig_options{}, seed);
    }
    CAPTURE(first);
    CAPTURE(most);
    CHECK(first > 300);
    CHECK(most * 10 <= first * 6);
  }

  TEST_CASE("Deciding, committing, releasing, undoing and learning do not allocate") {
    pool p{h100, 13};
    placer place{p.live};
    random_source random{3};
    const auto before = counting_new::count();
    for (std::uint64_t i = 0; i < 5000; ++i) {
      const auto q = static_cast<unsigned>(random.below(p.asked.size()));
      const decision d = place(p.asked[q]);
      transaction undo{p.live};
      if (d) static_cast<void>(p.live.commit(job_key{i}, d.where));
      if (d && i % 3 == 0) static_cast<void>(p.live.release(job_key{i}));
      if (i % 2 == 0) undo.commit();
    }
    CHECK(counting_new::count() == before);
  }

  TEST_CASE("Every policy places what fits somewhere, only where it is legal, on all three geometries") {
    for (const std::string_view model : {h100, a30, rtx}) {
      walk(model, mig_first_fit{}, 1);
      walk(model, mig_preferred_start{}, 2);
      walk(model, mig_pack{}, 3);
      walk(model, mig_spread{}, 4);
      walk(model, mig_pack{mig_over::nodes}, 5);
      walk(model, mig_spread{mig_over::nodes}, 6);
      walk(model, keep_mig_options{}, 7);
    }
  }

  TEST_CASE("The simple policies do what they say, over all GPUs of the cluster") {
    pool p{h100, 3, 2};
    // 3 units on 0/0, 4 on 1/0, 5 on 2/0 and 1 beside it: node 2 is the fullest, and its first GPU.
    REQUIRE(p.put(1, p.at(0, 0, "2g.20gb", 0)));
    REQUIRE(p.put(2, p.at(0, 0, "1g.10gb", 6)));
    REQUIRE(p.put(3, p.at(1, 0, "4g.40gb", 0)));
    REQUIRE(p.put(4, p.at(2, 1, "2g.20gb", 0)));
    REQUIRE(p.put(5, p.at(2, 0, "1g.10gb", 3)));
    REQUIRE(p.put(6, p.at(2, 0, "2g.20gb", 0)));
    const unsigned one = p.profile("1g.10gb");
    const auto where = [&](auto policy) {
      placer_by<decltype(policy)> place{p.live, {}, {}, by(policy)};
      const decision d = place(p.asked[one]);
      REQUIRE(d);
      const part_place at = d.where.parts[0].at[0];
      return std::to_string(d.where.tasks[0].node.raw()) + "/" + std::to_string(at.device) + "@" +
             std::to_string(p.geometry().placement[at.placement].start);
    };
    CHECK(where(mig_first_fit{}) == "0/0@2");
    CHECK(where(mig_preferred_start{}) == "0/0@5");
    CHECK(where(mig_pack{}) == "1/0@6");
    CHECK(where(mig_pack{mig_over::nodes}) == "2/0@6");
    CHECK(where(mig_spread{}) == "0/1@6");
    CHECK(where(mig_spread{mig_over::nodes}) == "0/1@6");
    // A broken GPU, a node that is full of other work and one that is drained are passed over.
    REQUIRE(p.live.set_device_health(node_id{1}, 0, false).has_value());
    CHECK(where(mig_pack{}) == "0/0@5");
    REQUIRE(p.live.set_node_usable(node_id{0}, false).has_value());
    CHECK(where(mig_first_fit{}) == "1/1@0");
    const task_shape cpu_only{.cpu = cpus(64)};
    const task_placement all_of_1{0, node_id{1}, 0};
    REQUIRE(p.live.commit(job_key{7}, {{&all_of_1, 1}, {&cpu_only, 1}}).has_value());
    p.asked[one].groups[0].shape.cpu = cpus(1);
    CHECK(where(mig_first_fit{}) == "2/0@2");
    CHECK(where(keep_mig_options{})[0] == '2');
  }

  TEST_CASE("A rolled back transaction leaves every bit as it was; transactions nest") {
    pool p{h100, 5000, 1, 64};  // three levels of words
    REQUIRE(p.put(1, p.at(4999, 0, "3g.40gb", 4)));
    REQUIRE(p.put(2, p.at(4999, 0, "1g.10gb", 0)));
    REQUIRE(p.live.set_mig_switch(node_id{17}, 0, mig_switch::off).has_value());
    const auto buckets = [&] { return p.live.inside().parts().buckets(); };
    const detail::mig_buckets before = buckets();
    {
      transaction outer{p.live};
      REQUIRE(p.put(3, p.at(4999, 0, "2g.20gb", 2)));
      const detail::mig_buckets middle = buckets();
      {
        transaction inner{p.live};
        REQUIRE(p.live.release(job_key{1}).has_value());
        REQUIRE(p.put(4, p.at(4999, 0, "1g.10gb+me", 5)));
        REQUIRE(p.live.set_mig_switch(node_id{17}, 0, mig_switch::on).has_value());
        REQUIRE(p.put(5, p.at(17, 0, "7g.80gb", 0)));
        CHECK(p.live.inside().parts().agrees(p.live.nodes(), [](auto&&) {}) == false);  // it compares at all
        CHECK(p.view().next(p.view().state(p.at(17, 0, "7g.80gb", 0).gpu)) == mig_gpu{node_id{17}, 0});
      }
      CHECK(buckets() == middle);
      {
        transaction kept{p.live};
        REQUIRE(p.put(6, p.at(3, 0, "4g.40gb", 0)));
        kept.commit();
      }
      CHECK_FALSE(buckets() == middle);
    }
    CHECK(buckets() == before);
    CHECK(p.live.check_invariants());
  }

  TEST_CASE("What contradicts the geometry or the mode is an error, and the state is untouched") {
    pool p{h100, 1, 2, 3};
    REQUIRE(p.put(1, p.at(0, 0, "1g.10gb", 1)));
    REQUIRE(p.live.set_mig_switch(node_id{0}, 1, mig_switch::off).has_value());
    const detail::mig_buckets before = p.live.inside().parts().buckets();
    CHECK(p.put(2, p.at(0, 0, "2g.20gb", 0)).error().code == cluster_errc::conflict);
    CHECK(p.put(2, p.at(0, 1, "1g.10gb", 0)).error().code == cluster_errc::conflict);
    CHECK(p.put(2, {{node_id{1}, 0}, 0}).error().code == cluster_errc::bad_argument);
    CHECK(p.put(2, {{node_id{0}, 2}, 0}).error().code == cluster_errc::conflict);
    CHECK(p.put(2, {{node_id{0}, 0}, 31}).error().code == cluster_errc::conflict);
    CHECK(p.live.set_mig_switch(node_id{0}, 0, mig_switch::off).error().code == cluster_errc::still_in_use);
    // A list of a node's instances that contradicts the geometry: none of them is taken.
    for (const auto& [a, b] : {std::pair{p.at(0, 0, "1g.10gb", 0), p.at(0, 0, "2g.20gb", 0)},
                               std::pair{p.at(0, 0, "1g.10gb+me", 0), p.at(0, 0, "1g.10gb+me", 2)}}) {
      transaction all{p.live};
      REQUIRE(p.put(8, a).has_value());
      CHECK(p.put(9, b).error().code == cluster_errc::conflict);
    }
    CHECK(p.live.inside().parts().buckets() == before);
    // A full journal refuses, and what was done so far can still be undone.
    {
      transaction undo{p.live};
      REQUIRE(p.put(2, p.at(0, 0, "1g.10gb", 2)));
      REQUIRE(p.put(3, p.at(0, 0, "1g.10gb", 3)));
      REQUIRE(p.live.release(job_key{3}).has_value());
      CHECK(p.live.release(job_key{2}).error().code == cluster_errc::capacity_exhausted);
    }
    CHECK(p.live.inside().parts().buckets() == before);
    CHECK(p.live.check_invariants());
  }

  TEST_CASE("A19: scattered 1g instances are 'fragmented', not 'full', and looking ahead does not scatter them") {
    pool p{h100, 1, 1};
    for (const unsigned start : {0U, 1U, 5U}) REQUIRE(p.put(start, p.at(0, 0, "1g.10gb", start)));
    placer_by<mig_first_fit> first{p.live};
    for (const auto* big : {"3g.40gb", "4g.40gb"}) {
      CHECK_FALSE(first(p.asked[p.profile(big)]));
      const auto why = explain_mig_refusal(p.view(), p.profile(big));
      CHECK(why.open_gpus == 1);
      CHECK(why.fragmented == 1);
      CHECK(why.free_compute == 4);
    }
    CHECK(explain_mig_refusal(p.view(), p.profile("7g.80gb")).fragmented == 0);

    // Three 1g, one after the other, must leave a start for a 4g or a 3g beside them.
    pool fresh{h100, 1, 1};
    placer place{fresh.live};
    for (std::uint64_t i = 0; i < 3; ++i) {
      const decision d = place(fresh.asked[fresh.profile("1g.10gb")]);
      REQUIRE(d);
      REQUIRE(fresh.live.commit(job_key{i}, d.where).has_value());
    }
    CHECK(place(fresh.asked[fresh.profile("4g.40gb")]));
  }

  TEST_CASE("No start is chosen where another leaves room for all the same and for more") {
    // Beside a 1g at 0, the next one belongs at 1: at 2 no two 2g and no 2g beside a 3g would be left.
    pool p{h100, 1, 1};
    REQUIRE(p.put(0, p.at(0, 0, "1g.10gb", 0)));
    placer place{p.live};
    const decision d = place(p.asked[p.profile("1g.10gb")]);
    REQUIRE(d);
    CHECK(p.geometry().placement[d.where.parts[0].at[0].placement].start != 2);
    // Against the sets of instances that can follow, on every state of every product that can be enumerated.
    for (const char* id : {"a30-24gb", "h100-80gb", "a100-40gb"}) {
      const mig_state_table t{make_mig_geometry(**find_mig_product(id))};
      const auto& g = t.geometry();
      using counts = std::vector<std::uint8_t>;
      std::vector<std::set<counts>> follow(t.size());
      for (const mig_state_id s : t.fullest_first()) {
        follow[s].insert(counts(g.profiles, 0));
        for_each_bit(t.open(s), [&](unsigned at) {
          for (counts c : follow[t.after(s, at)]) {
            ++c[g.placement[at].profile];
            follow[s].insert(std::move(c));
          }
        });
      }
      std::size_t dominated = 0;
      for (const mig_state_id s : t.fullest_first())
        for_each_bit(t.dominated(s), [&](unsigned at) {
          ++dominated;
          bool less = false;
          for_each_bit(t.open(s, g.placement[at].profile) & ~t.dominated(s), [&](unsigned other) {
            const auto &a = follow[t.after(s, other)], &b = follow[t.after(s, at)];
            less = less || (a.size() > b.size() && std::includes(a.begin(), a.end(), b.begin(), b.end()));
          });
          CHECK(less);
        });
      CHECK(dominated > 0);
    }
  }

  TEST_CASE("A20: {4g, 2g, 1g} that must share a GPU get 4g at 0, 2g at 4, 1g at 6, whatever the order") {
    pool p{h100, 1, 4};
    placer place{p.live};
    const std::string_view four = "4g.40gb", two = "2g.20gb", one = "1g.10gb";
    const std::vector<std::vector<std::string_view>> orders{
        {four, two, one}, {one, two, four}, {two, four, one}, {one, four, two}};
    for (const auto& order : orders) {
      const decision d = place(p.ask(order));
      REQUIRE(d);
      const part_places at = d.where.parts[0];
      REQUIRE(at.count == 3);
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK(at.at[i].device == at.at[0].device);
        const mig_placement& x = p.geometry().placement[at.at[i].placement];
        if (x.profile == p.profile(four)) CHECK(x.start == 0);
        if (x.profile == p.profile(two)) CHECK(x.start == 4);
        if (x.profile == p.profile(one)) CHECK(x.start == 6);
      }
    }
    const std::string_view too_much[] = {four, four};
    CHECK_FALSE(make_mig_request(p.parts, too_much));
    CHECK_FALSE(make_mig_request(p.parts, {}));
  }

  TEST_CASE("Profiles that must not share a GPU find the only assignment there is") {
    pool p{h100, 3, 1};
    REQUIRE(p.put(1, p.at(0, 0, "4g.40gb", 0)));
    REQUIRE(p.put(2, p.at(2, 0, "7g.80gb", 0)));
    REQUIRE(p.put(3, p.at(1, 0, "4g.40gb", 0)));
    const auto free_cost = [](mig_state_id, unsigned) { return 0; };
    const unsigned want[] = {p.profile("3g.40gb"), p.profile("1g.10gb")};
    const auto claim = mig_choose_apart(p.view(), want, free_cost);
    REQUIRE(claim);
    CHECK(claim->at[0].gpu != claim->at[1].gpu);
    const unsigned three[] = {want[0], want[1], want[1]};
    CHECK_FALSE(mig_choose_apart(p.view(), three, free_cost));
    CHECK_FALSE(mig_choose_apart(p.view(), {}, free_cost));
    // A GPU that is broken serves nothing.
    REQUIRE(p.live.set_device_health(node_id{0}, 0, false).has_value());
    CHECK_FALSE(mig_choose_apart(p.view(), want, free_cost));
    // The first request must leave the only GPU that serves the second, though it comes first in the order of states.
    pool d{h100, 2, 1};
    REQUIRE(d.put(1, d.at(1, 0, "1g.10gb", 6)));
    const unsigned big_last[] = {want[1], d.profile("7g.80gb")};
    const auto both = mig_choose_apart(d.view(), big_last, free_cost);
    REQUIRE(both);
    CHECK(both->at[0].gpu.node == node_id{1});
    CHECK(both->at[1].gpu.node == node_id{0});
    REQUIRE(d.put(2, both->at[0]));
    REQUIRE(d.put(3, both->at[1]));
    // Three of one node, the same profile each.
    pool e{h100, 1, 3};
    const unsigned same[] = {want[1], want[1], want[1]};
    const auto all = mig_choose_apart(e.view(), same, free_cost);
    REQUIRE(all);
    CHECK((all->at[0].gpu < all->at[1].gpu && all->at[1].gpu < all->at[2].gpu));
  }

  TEST_CASE("A 3g goes to start 4, where it strands nothing, and the last empty GPU is kept for a 7g") {
    pool p{h100, 1, 4};
    placer_by<keep_mig_options> place{p.live, {}, {}, by(keep_mig_options{.mix = {4, 0, 0, 2, 2, 1, 1}})};
    const decision d = place(p.asked[p.profile("3g.40gb")]);
    REQUIRE(d);
    CHECK(p.geometry().placement[d.where.parts[0].at[0].placement].start == 4);
    const device_mask gpu = d.where.tasks[0].devices;
    REQUIRE(p.live.commit(job_key{9}, d.where).has_value());
    for (std::uint64_t i = 0; i < 4; ++i) {
      const decision one = place(p.asked[p.profile("1g.10gb")]);
      REQUIRE(one);
      CHECK(one.where.tasks[0].devices == gpu);
      REQUIRE(p.live.commit(job_key{i}, one.where).has_value());
    }
    mig_most_options m{p.table()};
    m.set_mix(std::vector<double>{4, 0, 0, 2, 2, 1, 1});
    CHECK(m.value(0) <= 7.13);  // a 3g takes half the memory, which counts for an eighth of a slice more
    CHECK(m.value(p.view().state({node_id{0}, static_cast<std::uint8_t>(lowest_bit(gpu))})) == 0);
  }

  TEST_CASE("The mix is learned from what is asked for, old requests fade, and what-ifs teach nothing") {
    pool p{h100, 1, 2};
    const unsigned one = p.profile("1g.10gb"), seven = p.profile("7g.80gb");
    REQUIRE(p.put(1, p.at(0, 0, "1g.10gb", 6)));
    // Only 7g are asked for, then a 1g: it goes beside the other. Only 1g were: which GPU does not matter, so the
    // prices tell the difference.
    const auto learned = [&](unsigned q, unsigned times) {
      mig_most_options m{p.table()};
      for (unsigned i = 0; i < times; ++i) m.arrived(detail::mig_census{p.live, 0}, q);
      return m;
    };
    CHECK(learned(seven, 500).price(seven) > 4 * learned(one, 500).price(seven));
    mig_most_options m = learned(seven, 500);
    for (unsigned i = 0; i < 60'000; ++i) m.arrived(detail::mig_census{p.live, 0}, one);
    CHECK(m.price(seven) < 0.1 * learned(seven, 500).price(seven));
    // Through the placer: values of the mix seen decide where an instance starts.
    placer place{p.live};
    const auto start_of = [&] {
      const decision d = place(p.asked[p.profile("2g.20gb")]);
      REQUIRE(d);
      return d.where.parts[0].at[0];
    };
    const part_place before = start_of();
    {
      transaction what_if{p.live};
      for (unsigned i = 0; i < 5000; ++i) static_cast<void>(place(p.asked[seven]));
      CHECK(start_of() == before);
    }
    CHECK(start_of() == before);
  }

  TEST_CASE("The value of a state is what random requests, each best placed, take of it on average") {
    const mig_state_table t{make_mig_geometry(**find_mig_product("a30-24gb"))};
    mig_most_options p{t};
    const double mix[] = {1, 0, 1, 0, 1};  // 1g, 2g, 4g
    p.set_mix(mix);
    // Empty: 4g fills it at once; after anything else a 2g or two 1g fill each half, unless 1g lie apart, which the
    // best never does.
    CHECK(p.value(0) == doctest::Approx(4));
    // One 1g: a 2g fits at the other half, a 1g beside it. All is filled whatever comes.
    CHECK(p.value(t.after(0, 0)) == doctest::Approx(3));
    const double small_only_two[] = {0, 0, 1, 0, 0};
    p.set_mix(small_only_two);
    CHECK(p.value(t.after(0, 0)) == doctest::Approx(2));
  }
}
