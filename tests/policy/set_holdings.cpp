#include "berth/policy/set_holdings.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "berth/core/random.hpp"

namespace {

using namespace berth;

struct place {
  unsigned model, whole;
  std::int64_t cpu;
};

TEST_CASE("Holdings count and price the sets of nodes as counting every set on every node does") {
  random_source random{21};
  for (unsigned round = 0; round < 200; ++round) {
    std::vector<whole_set> sets;
    for (std::size_t i = 1 + random.below(6); i-- != 0;) {
      whole_set s;
      s.devices = static_cast<std::uint8_t>(2 + random.below(7));
      s.cpu = cpu_millis{static_cast<std::int64_t>(500 * random.below(40))};
      s.models = 1 + random.below(15);
      s.price = static_cast<double>(random.below(2000)) / 1024;
      sets.push_back(s);
    }
    double most_whole[max_device_models]{};
    for (unsigned m = 0; m < 4; ++m) most_whole[m] = static_cast<double>(random.below(max_shared_devices + 1));
    set_holdings holdings;
    CHECK(holdings.of(0, 8, 1000) == set_holdings::none);  // before it knows any
    holdings.build(sets, 15, most_whole);
    holdings.price(sets);

    std::vector<place> nodes;
    for (unsigned n = 0; n < 40; ++n) {
      const auto model = static_cast<unsigned>(random.below(4));
      const auto whole = static_cast<unsigned>(random.below(static_cast<std::size_t>(most_whole[model]) + 1));
      nodes.push_back({model, whole, static_cast<std::int64_t>(random.below(100'000))});
      // Where a set just fits, and where it just does not.
      if (random.below(2) == 0) nodes.back().cpu = sets[0].cpu.count() * 2 - static_cast<std::int64_t>(random.below(2));
      if (nodes.back().cpu < 0) nodes.back().cpu = 0;
    }
    std::vector<std::int64_t> left(sets.size());
    std::vector<set_holdings::number> held;
    for (const auto& n : nodes) {
      const auto h = holdings.of(n.model, n.whole, n.cpu);
      held.push_back(h);
      std::int64_t all = 0, large = 0;
      double worth = 0;
      for (std::size_t i = 0; i < sets.size(); ++i) {
        if ((sets[i].models >> n.model & 1U) == 0) continue;
        const std::int64_t count = sets[i].count_in(n.whole, n.cpu);
        all += count;
        large += sets[i].devices >= 4 ? count : 0;
        worth += static_cast<double>(count) * sets[i].price;
        left[i] += count;
      }
      REQUIRE(holdings.sets_in(h) == all);
      REQUIRE(holdings.large_sets_in(h) == large);
      REQUIRE(holdings.worth(h) == worth);
      holdings.count(h, 1);
    }
    holdings.tell_left(sets);
    for (std::size_t i = 0; i < sets.size(); ++i) REQUIRE(sets[i].left == left[i]);
    for (const auto h : held) holdings.count(h, -1);
    holdings.tell_left(sets);
    for (const auto& s : sets) REQUIRE(s.left == 0);
  }
}

}  // namespace
