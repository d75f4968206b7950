// Choosing shared devices: pack and spread over nodes and devices, and what others got wrong (A04, A05, A21, A22).
#include "berth/policy/share_choice.hpp"

#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "berth/core/random.hpp"

using namespace berth;

namespace {

share_terms fractions(unsigned clients = 10) {
  share_host h;
  h.memory_mib = 80'000;
  return *fraction_terms(h, clients);
}
share_task_ask part(unsigned percent, unsigned gpus = 1) {
  return {{percent * 800, static_cast<std::uint16_t>(percent), 1, 0}, static_cast<std::uint8_t>(gpus)};
}
share_table cluster_of(std::uint32_t nodes, std::uint32_t gpus) {
  share_table t{{nodes * gpus, 16, 1000, 1000}};
  for (std::uint32_t n = 0; n < nodes; ++n)
    for (std::uint32_t g = 0; g < gpus; ++g) REQUIRE(t.add_gpu(n, fractions()));
  return t;
}
void use(share_table& t, std::uint64_t key, share_unit unit, unsigned percent) {
  const share_grant g[] = {{unit, false, part(percent).ask}};
  REQUIRE(t.commit(key, g));
}
std::multiset<share_unit> units_of(const share_table& t, std::uint64_t key) {
  std::multiset<share_unit> out;
  t.for_each_grant(key, [&](const share_grant& g) { out.insert(g.unit); });
  return out;
}
using set = std::multiset<share_unit>;

}  // namespace

TEST_SUITE("policy/share_choice") {
  TEST_CASE("A04: pack puts three small tasks on one GPU, spread on three; nodes and devices are separate settings") {
    const share_task_ask three[] = {part(25), part(25), part(25)};
    const auto got = [&](share_over nodes, share_over devices) {
      auto t = cluster_of(3, 4);
      share_choice c{nodes, devices, 16};
      REQUIRE(c.place(t, 1, three));
      return units_of(t, 1);
    };
    CHECK(got(share_over::pack, share_over::pack) == set{0, 0, 0});
    CHECK(got(share_over::pack, share_over::spread) == set{0, 1, 2});
    CHECK(got(share_over::spread, share_over::pack) == set{0, 4, 8});
    const share_task_ask six[] = {part(25), part(25), part(25), part(25), part(25), part(25)};
    auto t = cluster_of(3, 4);
    share_choice c{share_over::spread, share_over::pack, 16};
    REQUIRE(c.place(t, 1, six));
    CHECK(units_of(t, 1) == set{0, 0, 4, 4, 8, 8});
  }

  TEST_CASE("A05: spread takes the least loaded GPU, whichever socket it is on") {
    auto t = cluster_of(1, 4);
    use(t, 11, 0, 90), use(t, 12, 1, 70), use(t, 13, 2, 30), use(t, 14, 3, 10);
    share_choice c{share_over::pack, share_over::spread, 4};
    const share_task_ask one[] = {part(10)};
    REQUIRE(c.place(t, 1, one));
    CHECK(units_of(t, 1) == set{3});
  }

  TEST_CASE("A21: halves free on two GPUs do not serve a task that needs 0.8 of one") {
    auto t = cluster_of(2, 2);
    use(t, 11, 0, 50), use(t, 12, 1, 50), use(t, 13, 3, 100);
    share_choice c{share_over::pack, share_over::pack, 4};
    const share_task_ask one[] = {part(80)};
    REQUIRE(c.place(t, 1, one));
    CHECK(units_of(t, 1) == set{2});
    const share_table before = t;
    const auto no = c.place(t, 2, one);
    REQUIRE_FALSE(no);
    CHECK(no.error().enough_on_a_node_in_sum);
    CHECK(no.error().devices == 4);
    CHECK(no.error().by_fault[static_cast<unsigned>(share_fault::no_memory_left)] == 4);
    CHECK(t == before);
  }

  TEST_CASE(
      "A22: sixteen halves at once on eight GPUs are two on each, whatever the policy; a seventeenth gets nothing") {
    for (const auto nodes : {share_over::pack, share_over::spread})
      for (const auto devices : {share_over::pack, share_over::spread}) {
        auto t = cluster_of(2, 4);
        share_choice c{nodes, devices, 32};
        const std::vector<share_task_ask> all(16, part(50)), more(17, part(50));
        const share_table before = t;
        const auto no = c.place(t, 1, more);
        REQUIRE_FALSE(no);
        CHECK(no.error().tasks_placed == 16);
        CHECK(t == before);
        REQUIRE(c.place(t, 1, all));
        CHECK(units_of(t, 1) == set{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7});
        REQUIRE(t.release(1));
        CHECK(t == before);
      }
  }

  TEST_CASE(
      "several GPUs of one task are different physical ones; the second try packs equal tasks where any packing does") {
    auto t = cluster_of(1, 3);
    share_choice c{share_over::pack, share_over::pack, 8};
    const share_task_ask four[] = {part(10, 4)};
    CHECK_FALSE(c.place(t, 1, four));
    // Room for 2, 1 and 1 halves: packing first would take the two fuller ones together and strand a half.
    use(t, 11, 1, 40), use(t, 12, 2, 40);
    const share_task_ask pairs[] = {part(50, 2), part(50, 2)};
    REQUIRE(c.place(t, 1, pairs));
    CHECK(units_of(t, 1) == set{0, 0, 1, 2});
    // On one GPU cut into instances, a task with two GPUs finds but one.
    share_table cut{{1, 2, 10, 10}};
    REQUIRE(cut.add_gpu(0, fractions()));
    REQUIRE(cut.open_instance(0, fractions()));
    REQUIRE(cut.open_instance(0, fractions()));
    const share_task_ask two[] = {part(10, 2)}, one[] = {part(10)};
    CHECK_FALSE(c.place(cut, 1, two));
    REQUIRE(c.place(cut, 1, one));
    CHECK(units_of(cut, 1) == set{1});
  }

  TEST_CASE("equal tasks on random loads: a gang is placed exactly where each GPU's room adds up to it") {
    random_source random{2};
    unsigned yes = 0, no = 0;
    for (int i = 0; i < 300; ++i) {
      auto t = cluster_of(3, 3);
      for (share_unit u = 0; u < 9; ++u)
        if (const auto p = static_cast<unsigned>(random.below(11)) * 10; p != 0) use(t, 100 + u, u, p);
      const auto want =
          part(10 * (1 + static_cast<unsigned>(random.below(6))), 1 + static_cast<unsigned>(random.below(2)));
      const auto tasks = 1 + static_cast<unsigned>(random.below(14));
      // By node, the most tasks n with sum of min(room, n) >= n × GPUs.
      unsigned room = 0;
      for (share_unit first = 0; first < 9; first += 3)
        for (unsigned n = 20; n > 0; --n) {
          unsigned sum = 0;
          for (share_unit u = first; u < first + 3; ++u) {
            const unsigned r = share_room(t.terms(u), t.use(u), want.ask);
            sum += r < n ? r : n;
          }
          if (sum < n * want.gpus) continue;
          room += n;
          break;
        }
      share_choice c{random.below(2) == 0 ? share_over::pack : share_over::spread,
                     random.below(2) == 0 ? share_over::pack : share_over::spread, 64};
      const bool placed = static_cast<bool>(c.place(t, 1, std::vector<share_task_ask>(tasks, want)));
      CHECK(placed == (room >= tasks));
      (placed ? yes : no) += 1;
    }
    CHECK(yes > 40);
    CHECK(no > 50);
  }

  TEST_CASE("limits and keys: more grants than there is room for, and a key that holds something else") {
    auto t = cluster_of(1, 2);
    share_choice c{share_over::pack, share_over::pack, 2};
    const std::vector<share_task_ask> three(3, part(10)), two(2, part(10));
    CHECK(c.place(t, 1, three).error().capacity_exhausted);
    REQUIRE(c.place(t, 1, two));
    const share_task_ask other[] = {part(20)};
    CHECK(c.place(t, 1, other).error().conflicting_job);
    const share_task_ask none[] = {part(10, 0)};
    CHECK_FALSE(c.place(t, 2, none));
  }
}
