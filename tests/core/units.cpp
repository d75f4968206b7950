#include "berth/core/units.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace berth;

TEST_CASE("amounts start at zero, add, subtract and scale") {
  bytes b;
  CHECK(b.count() == 0);
  b += bytes{5};
  b -= bytes{2};
  CHECK(b == bytes{3});
  CHECK(b + bytes{4} == bytes{7});
  CHECK(bytes{4} - b == bytes{1});
  CHECK(b * 3 == bytes{9});
  CHECK(3 * b == bytes{9});
  CHECK(bytes{1} - bytes{4} == bytes{-3});  // a shortage is a negative amount
}

TEST_CASE("amounts compare within their unit") {
  CHECK(cpu_millis{999} < cpus(1));
  CHECK(cpus(1) == cpu_millis{1000});
  CHECK(cpus(2) >= cpus(2));
  CHECK(gigabytes_per_second{450.0} > gigabytes_per_second{64.0});
}

TEST_CASE("binary multiples are powers of two, and large amounts stay exact") {
  CHECK(mebibytes(1).count() == 1'048'576);
  CHECK(gibibytes(1).count() == 1'073'741'824);
  CHECK(gibibytes(1) == 1024 * mebibytes(1));
  // Adding and taking away again is exact where floating point would not be.
  const bytes large{(std::int64_t{1} << 62) + 1};
  bytes sum = large;
  sum += bytes{1};
  sum -= bytes{1};
  CHECK(sum == large);
  CHECK(cpus(std::numeric_limits<std::int64_t>::max() / 1000).count() % 1000 == 0);
}
