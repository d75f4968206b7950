#include "berth/core/random.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

using berth::random_source;

static_assert(std::uniform_random_bit_generator<random_source>);

TEST_CASE("the sequence is that of xoshiro256** seeded by splitmix64") {
  // From an independent implementation, itself checked against the authors' vector for the state {1, 2, 3, 4}.
  struct known {
    std::uint64_t seed;
    std::array<std::uint64_t, 4> out;
  };
  for (const known& k : {
           known{0, {0x99ec5f36cb75f2b4, 0xbf6e1f784956452a, 0x1a5f849d4933e6e0, 0x6aa594f1262d2d2c}},
           known{1, {0xb3f2af6d0fc710c5, 0x853b559647364cea, 0x92f89756082a4514, 0x642e1c7bc266a3a7}},
           known{42, {0x15780b2e0c2ec716, 0x6104d9866d113a7e, 0xae17533239e499a1, 0xecb8ad4703b360a1}},
           known{~std::uint64_t{0}, {0x8f5520d52a7ead08, 0xc476a018caa1802d, 0x81de31c0d260469e, 0xbf658d7e065f3c2f}},
       }) {
    random_source r{k.seed};
    for (const std::uint64_t want : k.out) CHECK(r() == want);
  }
}

TEST_CASE("bounded and unit numbers are the same everywhere") {
  random_source r{0};
  for (const std::uint64_t want : {420U, 82U, 768U, 532U, 737U, 498U}) CHECK(r.below(1000) == want);
  // A bound just above 3 * 2^62: a quarter of all numbers is refused and drawn again.
  for (const std::uint64_t want : {7788427924976520344U, 9881088229871127103U, 1946447892517721904U})
    CHECK(r.below((std::uint64_t{3} << 62) + 1) == want);
  random_source u{42};
  CHECK(u.unit() == 0.08386297105988216);
  CHECK(u.unit() == 0.3789802506626686);
  constexpr std::uint64_t at_compile_time = [] {
    random_source c{42};
    return c();
  }();
  CHECK(at_compile_time == 0x15780b2e0c2ec716);
}

TEST_CASE("numbers below a bound are unbiased") {
  // With a bound of 3 * 2^62 a plain remainder would draw the lowest third twice as often as the others.
  random_source r{7};
  const std::uint64_t bound = std::uint64_t{3} << 62;
  constexpr int draws = 60'000;
  std::array<int, 3> thirds{};
  for (int i = 0; i < draws; ++i) {
    const std::uint64_t x = r.below(bound);
    REQUIRE(x < bound);
    ++thirds[static_cast<std::size_t>(x >> 62)];
  }
  for (const int n : thirds) CHECK(std::abs(n - draws / 3) < 700);  // 6 standard deviations

  std::array<int, 7> sevenths{};
  for (int i = 0; i < draws; ++i) ++sevenths[static_cast<std::size_t>(r.below(7))];
  double chi_squared = 0;
  for (const int n : sevenths) chi_squared += (n - draws / 7.0) * (n - draws / 7.0) / (draws / 7.0);
  CHECK(chi_squared < 32);  // 6 degrees of freedom: exceeded once in 60,000 sequences
}

TEST_CASE("a bound of one leaves one choice, and the whole range leaves all") {
  random_source r{3}, same{3};
  for (int i = 0; i < 100; ++i) CHECK(r.below(1) == 0);
  for (int i = 0; i < 100; ++i) same();
  CHECK(r.between(5, 5) == 5);
  same();
  CHECK(r.between(0, std::numeric_limits<std::uint64_t>::max()) == same());
  bool low = false, high = false;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t x = r.between(10, 12);
    REQUIRE(x >= 10);
    REQUIRE(x <= 12);
    low = low || x == 10;
    high = high || x == 12;
  }
  CHECK(low);
  CHECK(high);
}

TEST_CASE("unit numbers lie in [0, 1) and average one half") {
  random_source r{11};
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double x = r.unit();
    REQUIRE(x >= 0.0);
    REQUIRE(x < 1.0);
    sum += x;
  }
  CHECK(std::abs(sum / 100'000 - 0.5) < 0.005);
}
