#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/presets.hpp"
#include "berth/cluster/transaction.hpp"
#include "berth/core/random.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace {

using namespace berth;

constexpr std::int64_t giga = 1'000'000'000;

/// Two pods of two leaves of two machines; leaves carry 100 GB/s up, pods 150.
cluster_spec two_pods(unsigned permille = 1000) {
  cluster_spec s;
  s.tree = domain_tree_builder::regular({"cluster", "pod", "leaf"}, {2, 2}, 2);
  s.shapes = {*catalogue_shape("azure-ndv5")};
  for (std::uint32_t n = 0; n < 8; ++n)
    s.nodes.push_back({"n" + std::to_string(n), shape_id{0}, {}, cpus(8), bytes{0}});
  s.uplinks.usable_permille = permille;
  s.uplinks.levels = {{}, {1, {2, gigabytes_per_second{150}}}, {1, {4, gigabytes_per_second{100}}}};
  return s;
}
std::vector<task_placement> on(const std::vector<std::pair<std::uint32_t, device_mask>>& where) {
  std::vector<task_placement> out;
  for (const auto& [n, m] : where) out.push_back({m, node_id{n}, 0});
  return out;
}
std::int64_t left(const cluster& c, unsigned level, std::uint32_t d, unsigned plane = 0) {
  return c.uplinks().left(level, d, plane);
}

}  // namespace

TEST_CASE("a leaf that holds n of N devices reserves min(n, N - n) times the rate on its uplinks, a pod likewise") {
  cluster c{two_pods(), {.jobs = 8, .tasks = 64}};
  const task_shape four[] = {{.devices = 4}};
  const auto tasks = on({{0, 0xf}, {1, 0xf}, {2, 0xf}, {4, 0xf}});  // 8 | 4 in pod 0, 4 in pod 1
  REQUIRE(c.commit(job_key{1}, {tasks, four, bytes_per_second{10 * giga}}));
  CHECK(left(c, 2, 0) == 20 * giga);  // min(8, 8) × 10
  CHECK(left(c, 2, 1) == 60 * giga);  // min(4, 12)
  CHECK(left(c, 2, 2) == 60 * giga);
  CHECK(left(c, 2, 3) == 100 * giga);
  CHECK(left(c, 1, 0) == 110 * giga);  // min(12, 4)
  CHECK(left(c, 1, 1) == 110 * giga);
  // The same content again is no second reservation; at another rate it is another job.
  CHECK(c.commit(job_key{1}, {tasks, four, bytes_per_second{10 * giga}}).has_value());
  CHECK(c.commit(job_key{1}, {tasks, four, bytes_per_second{9 * giga}}).error().code == cluster_errc::key_in_use);
  CHECK(left(c, 2, 0) == 20 * giga);

  // What does not fit is refused whole, and the link that lacks it has a name.
  const auto more = on({{0, 0xf0}, {2, 0xf0}});
  const placement p{more, four, bytes_per_second{6 * giga}};
  const auto lack = c.lacking(p);
  REQUIRE(lack.has_value());
  CHECK(lack->level == level_id{2});
  CHECK(lack->domain == domain_id{0});
  CHECK(lack->needs == 24 * giga);
  CHECK(lack->left == 20 * giga);
  const auto before = c.node(node_id{0});
  CHECK(c.commit(job_key{2}, p).error().code == cluster_errc::conflict);
  CHECK(c.node(node_id{0}) == before);
  CHECK(left(c, 2, 1) == 60 * giga);
  CHECK(c.commit(job_key{2}, {more, four, bytes_per_second{5 * giga}}).has_value());
  CHECK(left(c, 2, 0) == 0);
  // Inside one leaf nothing is reserved, inside one machine not even the NICs count.
  const auto inside = on({{6, 0xf}, {7, 0xf}});
  CHECK(c.commit(job_key{3}, {inside, four, bytes_per_second{50 * giga}}).has_value());
  CHECK(left(c, 2, 3) == 100 * giga);
  const auto alone = on({{5, 0xf}});
  CHECK(c.commit(job_key{4}, {alone, four, bytes_per_second{500 * giga}}).has_value());
  const auto pair = on({{6, 0xf0}, {7, 0xf0}});
  const auto nic = c.lacking({pair, four, bytes_per_second{51 * giga}});
  REQUIRE(nic.has_value());
  CHECK_FALSE(static_cast<bool>(nic->domain));
  CHECK(nic->node == node_id{6});
  CHECK(nic->left == 50 * giga);

  for (const std::uint64_t key : {1U, 2U, 3U, 4U}) REQUIRE(c.release(job_key{key}));
  CHECK(c.uplinks().is_untouched());
}

TEST_CASE("derating: only a share of an uplink's rate is given out; what nobody knows is not promised") {
  cluster c{two_pods(800), {.jobs = 4, .tasks = 8}};
  CHECK(left(c, 2, 0) == 80 * giga);
  CHECK(uplink_rates{}.usable_permille == 800);
  auto spec = two_pods();
  spec.uplinks.levels[2].rates[1].reset();
  cluster d{spec, {.jobs = 4, .tasks = 8}};
  const task_shape one[] = {{.devices = 1}};
  const auto tasks = on({{0, 1}, {2, 1}});
  const auto lack = d.lacking({tasks, one, bytes_per_second{1}});
  REQUIRE(lack.has_value());
  CHECK(lack->unknown);
  CHECK(lack->domain == domain_id{1});
  CHECK_FALSE(d.lacking({tasks, one, {}}).has_value());
  spec.uplinks = {};
  cluster e{spec, {.jobs = 4, .tasks = 8}};
  CHECK(e.lacking({tasks, one, bytes_per_second{1}}).has_value());
  CHECK(e.commit(job_key{1}, {tasks, one}).has_value());
}

TEST_CASE("on a rail-optimised fabric every rail's uplinks stand by themselves") {
  const auto spec = make_preset("rail:nodes=8,per-leaf=4,oversubscription=2");
  REQUIRE(spec.has_value());
  cluster c{*spec, {.jobs = 8, .tasks = 64}};
  const level_id leaf = c.tree().leaf_level();
  REQUIRE(c.uplinks().planes(leaf.raw()) == 8);
  CHECK(left(c, leaf.raw(), 0, 3) == 80 * giga);  // two cables of 50 GB/s, of which 800 in 1000 are given out
  const task_shape two[] = {{.devices = 2}};
  const auto tasks = on({{0, 0b11}, {4, 0b11}});
  REQUIRE(c.commit(job_key{1}, {tasks, two, bytes_per_second{30 * giga}}));
  for (unsigned p = 0; p < 8; ++p) CHECK(left(c, leaf.raw(), 0, p) == (p < 2 ? 50 : 80) * giga);
  const auto others = on({{1, 0b11}, {2, 0b11}, {5, 0b11}, {6, 0b11}});
  const auto lack = c.lacking({others, two, bytes_per_second{30 * giga}});
  REQUIRE(lack.has_value());
  CHECK(lack->plane == 0);
  const auto elsewhere = on({{1, 0b1100}, {2, 0b1100}, {5, 0b1100}, {6, 0b1100}});
  CHECK_FALSE(c.lacking({elsewhere, two, bytes_per_second{30 * giga}}).has_value());
  REQUIRE(c.release(job_key{1}));
  CHECK(c.uplinks().is_untouched());
}

TEST_CASE("random gangs with rates inside transactions: what is left is what the rule says, and undoing restores it") {
  random_source r{12};
  cluster c{two_pods(), {.jobs = 32, .tasks = 256}};
  struct job {
    std::vector<task_placement> tasks;
    std::int64_t rate = 0;
  };
  std::vector<std::optional<job>> jobs(12);
  const auto check = [&] {
    for (const unsigned level : {1U, 2U})
      for (std::uint32_t d = 0; d < c.tree().domain_count(level_id{static_cast<std::uint8_t>(level)}); ++d) {
        std::int64_t sum = level == 1 ? 150 * giga : 100 * giga;
        for (const auto& j : jobs) {
          if (!j) continue;
          std::int64_t in = 0, all = 0;
          for (const auto& t : j->tasks) {
            all += count_bits(t.devices);
            if (c.tree().domain_of(t.node, level_id{static_cast<std::uint8_t>(level)}) == domain_id{d})
              in += count_bits(t.devices);
          }
          sum -= std::min(in, all - in) * j->rate;
        }
        CHECK(left(c, level, d) == sum);
        CHECK(sum >= 0);
      }
  };
  const task_shape one[] = {{.devices = 1}};
  int taken = 0;
  for (int step = 0; step < 300; ++step) {
    const auto k = static_cast<std::size_t>(r.below(jobs.size()));
    const auto amounts = c.uplinks().amounts();
    transaction t{c};
    std::optional<job> next = jobs[k];
    if (jobs[k]) {
      REQUIRE(c.release(job_key{k}));
      next.reset();
    } else {
      job j;
      j.rate = static_cast<std::int64_t>(r.between(0, 9)) * giga;
      for (std::uint32_t n = 0; n < 8; ++n) {
        device_mask free = c.node(node_id{n}).free;
        for (auto m = r.below(4); m != 0 && free != 0; --m, free &= free - 1)
          j.tasks.push_back({bit(lowest_bit(free)), node_id{n}, 0});
      }
      if (j.tasks.empty()) continue;
      if (c.commit(job_key{k}, {j.tasks, one, bytes_per_second{j.rate}})) next = j, ++taken;
      else CHECK(c.uplinks().amounts() == amounts);
    }
    if (r.below(2) == 0) {
      t.rollback();
      CHECK(c.uplinks().amounts() == amounts);
    } else {
      t.commit();
      jobs[k] = next;
    }
    check();
    REQUIRE(c.check_invariants());
  }
  CHECK(taken > 50);
}

TEST_CASE("many devices at a high rate need more than a number holds, and do not get it") {
  // 131,072 devices on either side of the top, at 105,553 GB/s each.
  cluster_spec s;
  s.tree = domain_tree_builder::regular({"cluster", "leaf"}, {2}, 2048);
  s.shapes = {make_plain_shape("wide", 64, "m", cpus(64), gibibytes(64))};
  for (unsigned d = 0; d < 64; ++d) {
    nic_shape& card = s.shapes[0].nics.emplace_back();
    card.devices = bit(d);
    card.rail = std::uint8_t{0};
    card.rate = gigabytes_per_second{150'000};
  }
  std::vector<task_placement> tasks;
  for (std::uint32_t n = 0; n < s.tree.node_count(); ++n) {
    s.nodes.push_back({"", shape_id{0}, {}, cpus(64), gibibytes(64)});
    tasks.push_back({~device_mask{0}, node_id{n}, 0});
  }
  s.uplinks.usable_permille = 1000;
  s.uplinks.levels = {{}, {1, {2, gigabytes_per_second{100}}}};
  cluster c{s, {.jobs = 2, .tasks = tasks.size()}};
  const task_shape all{.devices = 64};
  const placement p{tasks, {&all, 1}, bytes_per_second{(std::int64_t{1} << 46) + (std::int64_t{1} << 45)}};
  const auto lack = c.lacking(p);
  REQUIRE(lack);
  CHECK(lack->needs == std::numeric_limits<std::int64_t>::max());
  CHECK(lack->left == 100 * giga);
  CHECK(c.commit(job_key{1}, p).error().code == cluster_errc::conflict);
  CHECK(c.uplinks().is_untouched());
  CHECK(c.check_invariants());
}
