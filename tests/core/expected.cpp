#include "berth/core/expected.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using berth::expected;
using berth::unexpected;

/// Counts its living instances; copying throws on demand, moving never does.
struct tracked {
  static inline int living = 0;
  static inline int copies_until_throw = -1;  // negative: never
  int value = 0;
  explicit tracked(int v) : value{v} { ++living; }
  tracked(const tracked& o) : value{o.value} {
    if (copies_until_throw == 0) throw std::runtime_error{"copy"};
    if (copies_until_throw > 0) --copies_until_throw;
    ++living;
  }
  tracked(tracked&& o) noexcept : value{std::exchange(o.value, -1)} { ++living; }
  tracked& operator=(const tracked&) = delete;
  ~tracked() { --living; }
};

/// Moving may throw.
struct throws_on_move {
  static inline bool armed = false;
  static inline int living = 0;
  throws_on_move() { ++living; }
  throws_on_move(const throws_on_move&) { ++living; }
  throws_on_move(throws_on_move&&) noexcept(false) {
    if (armed) throw std::runtime_error{"move"};
    ++living;
  }
  ~throws_on_move() { --living; }
};

using owner = expected<std::unique_ptr<int>, std::string>;
using text = expected<std::string, int>;

static_assert(std::is_nothrow_move_constructible_v<owner> && std::is_nothrow_move_assignable_v<owner>);
static_assert(!std::is_copy_constructible_v<owner> && !std::is_copy_assignable_v<owner>);
static_assert(std::is_copy_constructible_v<text> && std::is_copy_assignable_v<text>);
static_assert(std::is_copy_constructible_v<expected<throws_on_move, int>>);
static_assert(!std::is_nothrow_move_constructible_v<expected<throws_on_move, int>>);
static_assert(!std::is_move_assignable_v<expected<throws_on_move, int>>,
              "assigning would end the old value before it could fail to make the new one");
static_assert(!std::is_convertible_v<owner, bool>, "only in conditions");
static_assert(std::is_same_v<decltype(*std::declval<const text&>()), const std::string&>);
static_assert(std::is_same_v<decltype(*std::declval<text&>()), std::string&>);
static_assert(std::is_same_v<decltype(*std::declval<text>()), std::string&&>);
static_assert(std::is_same_v<decltype(std::declval<const text&>().error()), const int&>);
static_assert(std::is_same_v<decltype(std::declval<owner>().error()), std::string&&>);

constexpr int evaluated_by_the_compiler() {
  expected<int, char> a{3}, b = unexpected{'x'};
  a = b;
  b = 4;
  return (a.has_value() ? 100 : a.error() == 'x' ? 10 : 0) + *b;
}
static_assert(evaluated_by_the_compiler() == 14);

}  // namespace

TEST_CASE("expected holds a value or an error, never both") {
  text good{"yes"}, bad = unexpected{7};
  REQUIRE(good.has_value());
  CHECK(*good == "yes");
  CHECK(good->size() == 3);
  REQUIRE_FALSE(bad.has_value());
  CHECK_FALSE(static_cast<bool>(bad));
  CHECK(bad.error() == 7);

  const text& read_only = good;
  CHECK(*read_only == "yes");
  CHECK(read_only->size() == 3);
  *good += "!";
  CHECK(*read_only == "yes!");
}

TEST_CASE("expected carries types that can only be moved") {
  owner a{std::make_unique<int>(5)};
  owner b = std::move(a);
  REQUIRE(b);
  CHECK(**b == 5);
  REQUIRE(a);  // moved from, still a value
  CHECK(*a == nullptr);
  const std::unique_ptr<int> taken = *std::move(b);
  CHECK(*taken == 5);

  a = owner{unexpected{std::string{"gone"}}};
  REQUIRE_FALSE(a);
  const std::string why = std::move(a).error();
  CHECK(why == "gone");
  a = owner{std::make_unique<int>(6)};
  REQUIRE(a);
  CHECK(**a == 6);
}

TEST_CASE("an error converts to what the result's error can be made of") {
  const expected<int, std::string> e = unexpected{"literal"};
  CHECK(e.error() == "literal");
  const expected<void, std::string> v = unexpected{"literal"};
  CHECK(v.error() == "literal");
}

TEST_CASE("assignment covers all four pairs of states, and oneself") {
  for (const bool from : {false, true})
    for (const bool to : {false, true}) {
      CAPTURE(from);
      CAPTURE(to);
      const text source = from ? text{std::string(40, 's')} : text{unexpected{1}};
      text target = to ? text{std::string(40, 't')} : text{unexpected{2}};
      target = source;
      CHECK(target.has_value() == from);
      if (from) CHECK(*target == *source);
      else CHECK(target.error() == source.error());
      const text& self = target;
      target = self;
      CHECK(target.has_value() == from);
      if (from) CHECK(*target == *source);
      text moved = std::move(target);
      CHECK(moved.has_value() == from);
    }
}

TEST_CASE("expected makes and ends its parts exactly once, also when copies throw") {
  REQUIRE(tracked::living == 0);
  {
    using result = expected<tracked, std::string>;
    result a{tracked{1}};
    CHECK(tracked::living == 1);
    result b = a;
    CHECK(tracked::living == 2);
    b = unexpected{std::string{"none"}};
    CHECK(tracked::living == 1);

    tracked::copies_until_throw = 0;
    CHECK_THROWS_AS(static_cast<void>(result{a}), std::runtime_error);
    CHECK(tracked::living == 1);
    CHECK_THROWS_AS(b = a, std::runtime_error);
    REQUIRE_FALSE(b.has_value());
    CHECK(b.error() == "none");  // the target is as it was
    result c{tracked{2}};
    CHECK_THROWS_AS(c = a, std::runtime_error);
    REQUIRE(c.has_value());
    CHECK(c->value == 2);
    CHECK(a->value == 1);
    tracked::copies_until_throw = -1;

    std::vector<result> grown;  // moves, never copies
    for (int i = 0; i < 20; ++i) grown.push_back(tracked{i});
    for (int i = 0; i < 20; ++i) CHECK(grown[static_cast<std::size_t>(i)]->value == i);
  }
  CHECK(tracked::living == 0);
}

TEST_CASE("a move that throws while an expected is made leaves nothing behind") {
  {
    expected<throws_on_move, int> a{throws_on_move{}};
    CHECK(throws_on_move::living == 1);
    throws_on_move::armed = true;
    using result = expected<throws_on_move, int>;
    CHECK_THROWS_AS(static_cast<void>(result{std::move(a)}), std::runtime_error);
    CHECK_THROWS_AS(static_cast<void>(result{throws_on_move{}}), std::runtime_error);
    throws_on_move::armed = false;
    CHECK(throws_on_move::living == 1);
  }
  CHECK(throws_on_move::living == 0);
}

TEST_CASE("expected<void, E> says whether something went well") {
  expected<void, std::string> ok;
  CHECK(ok);
  expected<void, std::string> bad = unexpected{std::string{"why"}};
  REQUIRE_FALSE(bad);
  CHECK(bad.error() == "why");
  ok = bad;
  REQUIRE_FALSE(ok);
  CHECK(ok.error() == "why");
  bad = {};
  CHECK(bad);
}
