#include "berth/core/poisson.hpp"

#include <doctest/doctest.h>

#include <cmath>

using berth::poisson_at_least;

TEST_CASE("The chance of many requests is a Poisson tail") {
  CHECK(poisson_at_least(2, 0) == 1);
  CHECK(poisson_at_least(0, 1) == 0);
  CHECK(poisson_at_least(2, 1) == doctest::Approx(1 - std::exp(-2.0)));
  CHECK(poisson_at_least(2, 3) == doctest::Approx(1 - 5 * std::exp(-2.0)));
  CHECK(poisson_at_least(400, 400) == doctest::Approx(poisson_at_least(401, 401)).epsilon(0.02));
  CHECK(poisson_at_least(10, 1000) < 1e-12);
}
