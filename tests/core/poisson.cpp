#include "berth/core/poisson.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>

using berth::negative_binomial_at_least;
using berth::poisson_at_least;

TEST_CASE("The chance of many requests is a Poisson tail") {
  CHECK(poisson_at_least(2, 0) == 1);
  CHECK(poisson_at_least(0, 1) == 0);
  CHECK(poisson_at_least(2, 1) == doctest::Approx(1 - std::exp(-2.0)));
  CHECK(poisson_at_least(2, 3) == doctest::Approx(1 - 5 * std::exp(-2.0)));
  CHECK(poisson_at_least(400, 400) == doctest::Approx(poisson_at_least(401, 401)).epsilon(0.02));
  CHECK(poisson_at_least(10, 1000) < 1e-12);
}

TEST_CASE("Where the rate itself is uncertain the tail is longer") {
  CHECK(negative_binomial_at_least(2, 3, 0) == 1);
  CHECK(negative_binomial_at_least(0, 3, 1) == 0);
  CHECK(negative_binomial_at_least(7, 1, 9) == poisson_at_least(7, 9));
  CHECK(negative_binomial_at_least(7, 1 + 1e-5, 9) == doctest::Approx(poisson_at_least(7, 9)).epsilon(1e-3));
  // Mean 3, variance 7.5: the failures before the second success of chance 0.4.
  CHECK(negative_binomial_at_least(3, 2.5, 1) == doctest::Approx(1 - 0.16));
  CHECK(negative_binomial_at_least(3, 2.5, 2) == doctest::Approx(1 - 0.16 - 2 * 0.16 * 0.6));
  CHECK(negative_binomial_at_least(26, 4.25, 45) > 100 * poisson_at_least(26, 45));
  for (const double mean : {0.3, 5.0, 60.0, 450.0})
    for (const double spread : {1.5, 4.0, 20.0}) {
      // Tails add up to the mean and to the second moment.
      double first = 0, second = 0;
      for (std::int64_t n = 1; n < 40'000; ++n) {
        const double tail = negative_binomial_at_least(mean, spread, n);
        first += tail;
        second += static_cast<double>(2 * n - 1) * tail;
      }
      CAPTURE(mean);
      CAPTURE(spread);
      CHECK(first == doctest::Approx(mean).epsilon(1e-6));
      CHECK(second == doctest::Approx(mean * spread + mean * mean).epsilon(1e-6));
    }
  // The normal that takes over where no term can be had, and only there.
  CHECK(negative_binomial_at_least(739, 1.5, 760) ==
        doctest::Approx(negative_binomial_at_least(740, 1.5, 760)).epsilon(0.03));
  const double few = negative_binomial_at_least(399, 1500, 800), more = negative_binomial_at_least(401, 1500, 800);
  CHECK(few < more);
  CHECK(more == doctest::Approx(few).epsilon(0.01));
}
