/// \file
/// The placer's answers for gangs of one task shape, which come from the capacity index without a search, against a
/// plain scan of all nodes: on random clusters, through a million random operations.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/transaction.hpp"
#include "berth/core/random.hpp"
#include "berth/policy/domain_fit.hpp"
#include "berth/solver/placer.hpp"
#include "cluster/effort.hpp"
#include "solver/plain_scan.hpp"

namespace {

using namespace berth;

struct totals {
  std::uint64_t operations = 0, asked = 0, placed = 0, not_now = 0, never = 0;
};

/// `operations` on one cluster: gangs are asked for and mostly committed, jobs end, things break and are repaired.
template <class Domain, class Node>
void run(const cluster_spec& spec, std::uint64_t seed, std::size_t operations, std::uint32_t most_tasks, totals& sum) {
  cluster c{spec, {.jobs = 4096, .tasks = 65'536, .live_shapes = 8, .journal = 256}};
  placer<Domain, Node> place{c, {}, {}, {}, {.tasks = 4096, .groups = 1}};
  berth_test::random_events events{c, spec, seed};
  berth_test::plain_scan scan{c};
  random_source& random = events.random();
  // Shapes come again, so that their counters are brought up to date; now and then one is replaced.
  std::vector<task_shape> shapes;
  for (int i = 0; i < 7; ++i) shapes.push_back(events.make_shape(8));
  const auto ask = [&] {
    const gang g = events.make_gang(shapes[random.below(shapes.size())], most_tasks);
    const decision d = place(g);
    const berth_test::scan_answer expected = scan.ask(g);
    const std::string wrong = berth_test::disagreement(c, g, d, scan, expected);
    CAPTURE(seed);
    CAPTURE(sum.operations);
    REQUIRE(wrong == "");
    ++sum.asked;
    ++(d ? sum.placed : d.result == verdict::never ? sum.never : sum.not_now);
    return d;
  };
  for (std::size_t i = 0; i < operations; ++i, ++sum.operations) {
    switch (random.below(16)) {
      case 0:
        events.incident();
        break;
      case 1:
      case 2:
      case 3:
        REQUIRE(events.release_one());
        break;
      case 4:
        if (random.below(64) == 0) shapes[random.below(shapes.size())] = events.make_shape(8);
        break;
      case 5:
        if (random.below(8) == 0) {  // something that did not happen after all
          transaction what_if{c};
          if (const decision d = ask()) static_cast<void>(c.commit(job_key{0}, d.where));
          static_cast<void>(ask());
        }
        break;
      default: {
        const decision d = ask();
        if (d && random.below(2) == 0) REQUIRE(events.commit(d.where));
        break;
      }
    }
    while (events.jobs() > 3000) REQUIRE(events.release_one());
  }
  REQUIRE(c.check_invariants());
}

void report(const totals& t) {
  MESSAGE(t.operations << " operations, " << t.asked << " gangs: " << t.placed << " placed, " << t.not_now
                       << " not now, " << t.never << " never");
  CHECK(t.placed > t.asked / 10);
  CHECK(t.not_now > t.asked / 10);
  CHECK(t.never > t.asked / 200);
}

TEST_CASE("the index answers as a plain scan does, on small clusters") {
  const std::size_t each = 25'000, runs = effort(900'000) / each;
  totals sum;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    random_source random{seed};
    const cluster_spec spec = berth_test::random_events::make_spec(random, 3, 4, 6);
    switch (seed % 4) {
      case 0:
        run<tightest, spread>(spec, seed, each, 12, sum);
        break;
      case 1:
        run<most_free_first, bin_pack>(spec, seed, each, 12, sum);
        break;
      case 2:
        run<balanced, bin_pack>(spec, seed, each, 12, sum);
        break;
      default:
        run<fewest_domains, bin_pack>(spec, seed, each, 40, sum);
        break;
    }
  }
  report(sum);
}

TEST_CASE("the index answers as a plain scan does, where capacities run into the thousands") {
  totals sum;
  random_source random{99};
  const cluster_spec spec = berth_test::random_events::make_spec(random, 4, 8, 40);
  MESSAGE(spec.nodes.size() << " nodes");
  run<fewest_domains, bin_pack>(spec, 99, effort(60'000), 1500, sum);
  run<least_free_first, bin_pack>(spec, 98, effort(60'000), 1500, sum);
  report(sum);
}

}  // namespace
