#include "berth/core/max_tree.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include "berth/core/random.hpp"

namespace {

using namespace berth;

std::size_t first_largest(const std::vector<double>& keys) {
  std::size_t best = keys.size();
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (keys[i] != max_tree::none && (best == keys.size() || keys[i] > keys[best])) best = i;
  return best;
}

TEST_CASE("The largest of changing numbers is the one that looking at all finds, the lowest place among equals") {
  random_source random{4};
  for (const std::size_t n : {1U, 15U, 16U, 17U, 256U, 257U, 5000U}) {
    CAPTURE(n);
    std::vector<double> plain(n, max_tree::none);
    max_tree tree;
    tree.assign(n);
    CHECK(tree.size() == n);
    CHECK(tree.best() == n);
    for (int i = 0; i < 2000; ++i) {
      const std::size_t at = random.below(n);
      plain[at] = random.below(4) == 0 ? max_tree::none : static_cast<double>(random.below(50)) - 25;
      tree.set(at, plain[at]);
      REQUIRE(tree.best() == first_largest(plain));
      REQUIRE(tree[at] == plain[at]);
    }
    for (std::size_t i = 0; i < n; ++i) {
      plain[i] = static_cast<double>(random.below(1000));
      tree.put(i, plain[i]);
    }
    tree.settle();
    CHECK(tree.best() == first_largest(plain));
    for (std::size_t i = 0; i < n; ++i) tree.set(i, max_tree::none);
    CHECK(tree.best() == n);
  }
  CHECK(max_tree{}.best() == 0);
  CHECK(max_tree{}.size() == 0);
}

}  // namespace
