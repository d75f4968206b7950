#include "berth/core/bits.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "berth/core/random.hpp"

using namespace berth;

TEST_CASE("the lowest n bits, up to all 64") {
  CHECK(low_bits(0) == 0);
  CHECK(low_bits(1) == 1);
  CHECK(low_bits(63) == ~std::uint64_t{0} >> 1);
  CHECK(low_bits(64) == ~std::uint64_t{0});
  CHECK(bit(63) == std::uint64_t{1} << 63);
  CHECK(lowest_bit(bit(63)) == 63);
}

TEST_CASE("counting, choosing and visiting bits agree with looking at them one by one") {
  random_source random{1};
  for (int round = 0; round < 2000; ++round) {
    std::uint64_t m = random();
    if (round % 3 == 0) m &= random();
    if (round % 5 == 0) m |= random();
    if (round == 0) m = 0;
    if (round == 1) m = ~std::uint64_t{0};
    std::vector<unsigned> set;
    for (unsigned i = 0; i < 64; ++i)
      if ((m >> i & 1) != 0) set.push_back(i);
    CHECK(count_bits(m) == set.size());
    if (m != 0) CHECK(lowest_bit(m) == set.front());
    std::vector<unsigned> seen;
    for_each_bit(m, [&](unsigned i) { seen.push_back(i); });
    CHECK(seen == set);
    for (unsigned n = 0; n <= 65; n += 5) {
      std::uint64_t want = 0;
      for (std::size_t i = 0; i < set.size() && i < n; ++i) want += std::uint64_t{1} << set[i];
      CHECK(lowest_set(m, n) == want);
    }
  }
}
