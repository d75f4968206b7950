#include "berth/core/id.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

TEST_CASE("an id is none until it is given a number") {
  const berth::node_id none, first{0}, other{7};
  CHECK_FALSE(none);
  CHECK(first);
  CHECK(none.raw() == std::numeric_limits<std::uint32_t>::max());
  CHECK(other.raw() == 7);
  CHECK(other.index() == 7);
  CHECK_FALSE(berth::node_id{std::numeric_limits<std::uint32_t>::max()});
}

TEST_CASE("ids order by number and none comes last") {
  using berth::level_id;
  std::vector<level_id> v{level_id{}, level_id{3}, level_id{0}, level_id{3}};
  std::sort(v.begin(), v.end());
  CHECK(v == std::vector{level_id{0}, level_id{3}, level_id{3}, level_id{}});
  CHECK(level_id{2} == level_id{2});
  CHECK(level_id{2} != level_id{3});
}

TEST_CASE("the index of a narrow id is its number") {
  CHECK(berth::level_id{254}.index() == 254);
  CHECK(berth::class_id{65'534}.index() == 65'534);
  CHECK(static_cast<std::uint64_t>(berth::job_key{~std::uint64_t{0}}) == ~std::uint64_t{0});
}
