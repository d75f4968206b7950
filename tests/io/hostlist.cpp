#include "berth/io/hostlist.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "berth/core/random.hpp"

namespace {

using names = std::vector<std::string>;

names all(std::string_view expression, std::size_t limit = berth::default_hostlist_limit) {
  auto n = berth::expand_hostlist(expression, limit);
  REQUIRE_MESSAGE(n.has_value(), std::string{expression} << ": " << n.error().found);
  return *n;
}
std::string fault(std::string_view expression, std::size_t limit = berth::default_hostlist_limit) {
  const auto n = berth::expand_hostlist(expression, limit);
  REQUIRE_MESSAGE(!n.has_value(), std::string{expression});
  return n.error().found;
}
bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

TEST_SUITE("io/hostlist") {
  TEST_CASE("hostlist: single names, comma lists and ranges") {
    CHECK(all("gpu1") == names{"gpu1"});
    CHECK(all("a,b,c") == names{"a", "b", "c"});
    CHECK(all("n[1-4]") == names{"n1", "n2", "n3", "n4"});
    CHECK(all("n[1-2,7,9-10]") == names{"n1", "n2", "n7", "n9", "n10"});
    CHECK(all("x,n[1-2],y[3]") == names{"x", "n1", "n2", "y3"});
    CHECK(all("gpu-st-gpu-g38xlarge-[1-1]") == names{"gpu-st-gpu-g38xlarge-1"});
    CHECK(all("[1101-1102]") == names{"1101", "1102"});
  }
  TEST_CASE("hostlist: the padding of the first number is kept, and grows where the numbers outgrow it") {
    CHECK(all("gpu[001-003,200]") == names{"gpu001", "gpu002", "gpu003", "gpu200"});
    CHECK(all("n[098-101]") == names{"n098", "n099", "n100", "n101"});
    CHECK(all("n[08-11]") == names{"n08", "n09", "n10", "n11"});
    CHECK(all("n[8-11]") == names{"n8", "n9", "n10", "n11"});
    CHECK(all("n[998-1001]") == names{"n998", "n999", "n1000", "n1001"});
    CHECK(all("n[0-1]") == names{"n0", "n1"});
    CHECK(all("n[00-01]") == names{"n00", "n01"});
    CHECK(all("gpu[001-128,200]").size() == 129);
  }
  TEST_CASE("hostlist: several groups vary from right to left, suffixes and dots stay") {
    CHECK(all("r[1-2]n[01-03]") == names{"r1n01", "r1n02", "r1n03", "r2n01", "r2n02", "r2n03"});
    CHECK(all("node[1-2]-ib") == names{"node1-ib", "node2-ib"});
    CHECK(all("a[1-2]b[3-4]c") == names{"a1b3c", "a1b4c", "a2b3c", "a2b4c"});
    CHECK(all("switch.2.[1-2]") == names{"switch.2.1", "switch.2.2"});
    CHECK(all("block_5e797fc6-0f46-421a-8724-0e102c0f723c") == names{"block_5e797fc6-0f46-421a-8724-0e102c0f723c"});
    CHECK(all("[1-2][5-6]") == names{"15", "16", "25", "26"});
    CHECK(all("/dev/nvidia[0-2]") == names{"/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia2"});
    CHECK(all("/dev/dri/renderD[136,128]") == names{"/dev/dri/renderD136", "/dev/dri/renderD128"});
  }
  TEST_CASE("hostlist: faults are named with their place") {
    CHECK(contains(fault(""), "an empty host list"));
    CHECK(contains(fault("n[4-1]"), "range '4-1'"));
    CHECK(contains(fault("n[1-2"), "'[' without"));
    CHECK(contains(fault("n1-2]"), "']' without"));
    CHECK(contains(fault("n[1-[2-3]]"), "'[' without"));
    CHECK(contains(fault("n[]"), "empty item in brackets"));
    CHECK(contains(fault("n[1,,2]"), "empty item in brackets"));
    CHECK(contains(fault("n[1,]"), "empty item in brackets"));
    CHECK(contains(fault("a,,b"), "an empty item"));
    CHECK(contains(fault("a,"), "an empty item"));
    CHECK(contains(fault(",a"), "an empty item"));
    CHECK(contains(fault("n[a-c]"), "range 'a-c'"));
    CHECK(contains(fault("n[1-2-3]"), "range '1-2-3'"));
    CHECK(contains(fault("n[-3]"), "range '-3'"));
    CHECK(contains(fault("n[3-]"), "range '3-'"));
    CHECK(contains(fault("n[1-04]"), "range '1-04'"));
    CHECK(contains(fault("n[0-99999999999999999999]"), "range"));
    CHECK(contains(fault("a b"), "blank"));
    CHECK(contains(fault(std::string(300, 'x')), "more than 255"));
    const auto e = berth::expand_hostlist("ok,n[4-1]");
    REQUIRE(!e.has_value());
    CHECK(e.error().position == 5);
    CHECK(e.error().at("f.conf", 7).message() ==
          "f.conf:7: found range '4-1' at character 6, expected the smaller number first");
  }
  TEST_CASE("hostlist: the size is checked before anything is expanded") {
    // Each of these would take more memory than any machine has.
    CHECK(contains(fault("n[0-999999999999]"), "too many names"));
    CHECK(contains(fault("n[0-999999999999999999]"), "too many names"));
    CHECK(contains(fault("a[0-9999]b[0-9999]c[0-9999]d[0-9999]"), "too many names"));
    CHECK(contains(fault("a[0-999999999],b[0-999999999]"), "too many names"));
    std::string nested = "n";
    for (int i = 0; i < 100; ++i) nested += "[0-9]";
    CHECK(contains(fault(nested), "too many names"));
    CHECK(all("n[1-1000000]").size() == 1'000'000);
    CHECK(contains(fault("n[1-1000001]"), "too many names"));
    CHECK(all("n[1-3]", 3).size() == 3);
    CHECK(contains(fault("n[1-3]", 2), "too many names"));
    CHECK(contains(fault("a,b", 1), "too many names"));
    CHECK(contains(fault("a", 0), "too many names"));
  }

  TEST_CASE("compress_hostlist: ranges, padding, suffixes, loners") {
    CHECK(berth::compress_hostlist({}) == "");
    CHECK(berth::compress_hostlist({"login"}) == "login");
    CHECK(berth::compress_hostlist({"n1"}) == "n1");
    CHECK(berth::compress_hostlist({"n1", "n2", "n3", "n5"}) == "n[1-3,5]");
    CHECK(berth::compress_hostlist({"n3", "n1", "n2"}) == "n[1-3]");
    CHECK(berth::compress_hostlist({"gpu001", "gpu002", "gpu100"}) == "gpu[001-002,100]");
    CHECK(berth::compress_hostlist({"n099", "n100", "n101"}) == "n[099-101]");
    CHECK(berth::compress_hostlist({"n9", "n10"}) == "n[9-10]");
    CHECK(berth::compress_hostlist({"n1", "n01", "n001"}) == "n[1,01,001]");
    CHECK(berth::compress_hostlist({"n1-ib", "n2-ib", "login", "n1"}) == "n[1-2]-ib,login,n1");
    CHECK(berth::compress_hostlist({"r1n01", "r1n02", "r2n01"}) == "r1n[01-02],r2n01");
    CHECK(berth::compress_hostlist({"1101", "1102"}) == "[1101-1102]");
    CHECK(berth::compress_hostlist({"n123456789012345678901"}) == "n123456789012345678901");
  }
  TEST_CASE("compress_hostlist: expanding gives the same names again, on random lists") {
    berth::random_source rng{20240611};
    for (int round = 0; round < 3000; ++round) {
      names given;
      const auto count = rng.between(1, 30);
      for (std::uint64_t i = 0; i < count; ++i) {
        std::string n = rng.below(2) == 0 ? "n" : "rack-";
        std::string digits = std::to_string(rng.below(rng.below(2) == 0 ? 12 : 1200));
        if (rng.below(3) == 0) digits.insert(0, rng.below(4), '0');
        n += digits;
        if (rng.below(4) == 0) n += "-ib";
        if (rng.below(10) == 0) n = "login";
        given.push_back(n);
      }
      auto back = all(berth::compress_hostlist(given));
      std::sort(given.begin(), given.end());
      std::sort(back.begin(), back.end());
      REQUIRE(back == given);
    }
  }
}

}  // namespace
