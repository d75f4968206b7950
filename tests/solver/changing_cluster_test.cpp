// One placer, one cluster that keeps changing: what the placer and the index remember must never make it refuse what
// fits, or place what does not.
#include <doctest/doctest.h>

#include <optional>
#include <vector>

#include "berth/cluster/transaction.hpp"
#include "berth/solver/exact.hpp"
#include "berth/solver/placer.hpp"
#include "berth/solver/validate.hpp"
#include "solver/random_instance.hpp"
#include "solver/sanitized.hpp"

using namespace berth;
using namespace berth_test;

namespace {

/// A random change that the placer did not make. Returns false when a call fails that must not.
bool change_something(instance_maker& make, cluster& c) {
  const node_id n{make.between(0, c.node_count() - 1)};
  switch (make.between(0, 7)) {
    case 0:
    case 1:
    case 6:
    case 7: {
      std::vector<job_key> jobs;
      c.for_each_job([&](job_key k) { jobs.push_back(k); });
      return jobs.empty() ||
             static_cast<bool>(c.release(jobs[make.between(0, static_cast<std::uint32_t>(jobs.size()) - 1)]));
    }
    case 2: {
      const device_mask all = c.node(n).installed;
      if (all == 0) return true;
      const unsigned k = make.between(1, count_bits(all));
      const unsigned d = lowest_bit(lowest_set(all, k) & ~lowest_set(all, k - 1));
      return static_cast<bool>(c.set_device_health(n, d, make.chance(80)));
    }
    case 3:
      return static_cast<bool>(c.set_node_usable(n, make.chance(80)));
    case 4: {
      const auto l = static_cast<std::uint8_t>(make.between(0, c.tree().level_count() - 1U));
      if (l == 0) return true;
      const domain_id d{make.between(0, c.tree().domain_count(level_id{l}) - 1)};
      return static_cast<bool>(c.set_uplink_health(level_id{l}, d, make.chance(80)));
    }
    default:
      return static_cast<bool>(
          c.relabel(n, make.chance(50) ? std::vector<std::string>{"x", "z"} : std::vector<std::string>{"y"}));
  }
}

/// The same gang, asking for a little more or less.
gang vary(instance_maker& make, gang g) {
  task_group& t = g.groups[make.between(0, static_cast<std::uint32_t>(g.groups.size()) - 1)];
  switch (make.between(0, 4)) {
    case 0:
      if (!g.segments) ++t.wanted, ++t.minimum;
      break;
    case 1:
      if (!g.segments && t.minimum > 1) --t.minimum;
      break;
    case 2:
      t.shape.cpu += cpu_millis{250};
      break;
    case 3:
      if (t.shape.devices > 1) --t.shape.devices;
      break;
    default:
      break;
  }
  return g;
}

}  // namespace

TEST_CASE("what a placer remembers never makes it refuse what fits or place what does not") {
  const std::uint64_t clusters = sanitized ? 200 : 1500;
  std::uint64_t placed = 0, refused = 0, gave_up = 0, asked = 0;
  for (std::uint64_t seed = 1; seed <= clusters; ++seed) {
    CAPTURE(seed);
    instance_maker make{seed * 3571, {8, 8, 10, 400}};
    const cluster_spec spec = make.make_spec();
    cluster c{spec, {.jobs = 200, .tasks = 2000, .live_shapes = make.between(1, 12)}};
    placer<> packing{c};
    placer<balanced, spread, lowest_index> spreading{c};
    std::vector<gang> pool;
    for (std::size_t k = 0; k < 10; ++k)
      pool.push_back(make.make_gang(c, static_cast<gang_kind>(k % gang_kinds), make.chance(30)));
    std::uint64_t next_job = 1;
    for (int step = 0; step < 120; ++step) {
      CAPTURE(step);
      if (make.chance(50)) REQUIRE(change_something(make, c));
      gang g = pool[make.between(0, 9)];
      if (make.chance(40)) g = vary(make, std::move(g));
      const bool speculative = make.chance(10);  // also inside a transaction that is undone
      const std::vector<node_state> before(c.nodes().begin(), c.nodes().end());
      {
        // Nothing is remembered inside a transaction, so most of the questions are asked outside.
        std::optional<transaction> undone;
        if (speculative) {
          undone.emplace(c);
          REQUIRE(change_something(make, c));
        }
        INFO(describe(g), describe(c));
        const exact_answer best = solve_exactly(c, g);
        REQUIRE((best.result == exact_verdict::found || best.result == exact_verdict::impossible));
        ++asked;
        const auto hold_against = [&](const decision& d) {
          INFO(describe(d, c));
          REQUIRE(d.result != verdict::invalid);
          REQUIRE(d.result != verdict::capacity_exhausted);
          if (d.result == verdict::placed) {
            ++placed;
            REQUIRE(static_cast<int>(validate(c, g, d).fault) == 0);
            REQUIRE(best.result == exact_verdict::found);
          } else if (d.result == verdict::gave_up) {
            ++gave_up;
          } else {
            ++refused;
            REQUIRE(best.result == exact_verdict::impossible);
          }
        };
        hold_against(spreading(g));
        const decision d = packing(g);
        hold_against(d);
        if (!speculative && d && make.chance(60)) REQUIRE(c.commit(job_key{next_job++}, d.where));
      }
      if (speculative) {
        bool same = true;
        for (std::uint32_t n = 0; n < before.size(); ++n) same = same && c.node(node_id{n}) == before[n];
        REQUIRE(same);
      }
    }
    REQUIRE(c.check_invariants());
  }
  MESSAGE("changing clusters: ", asked, " gangs asked twice, ", placed, " placed, ", refused, " refused, ", gave_up,
          " given up");
  CHECK(placed > asked / 3);
  CHECK(refused > asked / 4);
  CHECK(gave_up * 1000 <= 2 * asked);
}
