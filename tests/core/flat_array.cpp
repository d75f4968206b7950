#include "berth/core/flat_array.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

using berth::flat_array;

static_assert(sizeof(flat_array<std::uint64_t>) == 16);
static_assert(std::is_nothrow_move_constructible_v<flat_array<std::string>>);
static_assert(noexcept(std::declval<flat_array<int>&>().push(1)));

TEST_CASE("flat_array: what is pushed within the reserve stays where it is") {
  flat_array<std::uint32_t> a;
  a.reserve(100);
  const auto* const where = a.data();
  for (std::uint32_t i = 0; i < 100; ++i) a.push(i * 3);
  CHECK(a.data() == where);
  CHECK(a.size() == 100);
  CHECK(a[99] == 297);
  CHECK(a.back() == 297);
  CHECK(reinterpret_cast<std::uintptr_t>(where) % 64 == 0);
}

TEST_CASE("flat_array: growing, shrinking and copying keep the elements, also those that own memory") {
  flat_array<std::string> a;
  for (int i = 0; i < 1000; ++i) a.append("a string too long for a small buffer, number " + std::to_string(i));
  a.append(a[0]);  // an element of its own, while it grows or not
  CHECK(a.size() == 1001);
  CHECK(a.back() == a[0]);
  flat_array<std::string> b = a;
  CHECK(b == a);
  b[7] = "other";
  CHECK_FALSE(b == a);
  b.resize(3);
  CHECK(b.size() == 3);
  b.resize(5);
  CHECK(b[4].empty());
  a = b;
  CHECK(a == b);
  const flat_array<std::string>& same = a;
  a = same;
  CHECK(a == b);
  flat_array<std::string> c = std::move(a);
  CHECK(a.empty());
  CHECK(c == b);
  a = std::move(c);
  CHECK(a == b);
}

TEST_CASE("flat_array: new elements are value-initialised, memory that was used before included") {
  struct record {
    std::uint32_t id = 7;
    std::uint32_t rest = 0;
  };
  flat_array<std::uint64_t> words(10, 5);
  words.clear();
  words.resize(10);
  for (const std::uint64_t w : words) CHECK(w == 0);
  flat_array<record> records(3);
  CHECK(records[2].id == 7);
  records.assign(2, {9, 9});
  records.resize(3);
  CHECK(records[1].id == 9);
  CHECK(records[2].id == 7);
}

TEST_CASE("flat_array: large ones begin on a huge page and hold what they should") {
  flat_array<std::uint64_t> a(std::size_t{1} << 19, 3);  // 4 MiB
  CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % berth::detail::huge_page == 0);
  a.append(4);
  std::uint64_t sum = 0;
  for (const std::uint64_t w : a) sum += w;
  CHECK(sum == (std::uint64_t{3} << 19) + 4);
}

TEST_CASE("flat_array: more elements than can be counted are refused, and nothing changes") {
  flat_array<std::uint8_t> a(3, 1);
  CHECK_THROWS_AS(a.reserve(std::size_t{1} << 32), std::bad_alloc);
  CHECK(a.size() == 3);
  CHECK(a.capacity() == 3);
}

TEST_CASE("flat_array: a copy that fails half way leaves nothing behind") {
  struct fragile {
    explicit fragile(int* left) : left_{left}, owned_{std::make_unique<int>(1)} {}
    fragile(const fragile& o) : left_{o.left_}, owned_{std::make_unique<int>(*o.owned_)} {
      if (--*left_ == 0) throw 1;
    }
    fragile(fragile&&) noexcept = default;
    fragile& operator=(const fragile&) = delete;
    fragile& operator=(fragile&&) noexcept = default;
    ~fragile() = default;
    int* left_;
    std::unique_ptr<int> owned_;  // the leak checker sees what is not destroyed
  };
  int left = 3;
  flat_array<fragile> a;
  for (int i = 0; i < 5; ++i) a.append(fragile{&left});
  CHECK_THROWS_AS(flat_array<fragile>{a}, int);
  CHECK(a.size() == 5);
}
