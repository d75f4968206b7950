#include "berth/io/text.hpp"

#include <doctest/doctest.h>

#include <string>

#include "berth/core/random.hpp"

namespace {

namespace t = berth::io_text;

TEST_SUITE("io/text") {
  TEST_CASE("counts: digits only, no overflow, the limit holds") {
    CHECK(t::parse_count("0") == 0U);
    CHECK(t::parse_count("18446744073709551615") == 18446744073709551615U);
    CHECK(!t::parse_count("18446744073709551616"));
    CHECK(t::parse_count("64", 64) == 64U);
    CHECK(!t::parse_count("65", 64));
    CHECK(!t::parse_count("7", 3));
    CHECK(t::parse_count("000") == 0U);
    for (const char* s : {"", "-1", "+1", " 1", "1 ", "1.0", "0x1", "a"}) CHECK_MESSAGE(!t::parse_count(s), s);
  }
  TEST_CASE("CPUs: up to three decimals, and back") {
    CHECK(t::parse_cpus("16") == berth::cpus(16));
    CHECK(t::parse_cpus("0.5") == berth::cpu_millis{500});
    CHECK(t::parse_cpus("1.025") == berth::cpu_millis{1025});
    for (const char* s : {"", ".5", "1.", "1.0001", "-1", "1e3", "1000001", "1.2.3"})
      CHECK_MESSAGE(!t::parse_cpus(s), s);
    for (const std::int64_t n : {0, 1, 10, 100, 1000, 1500, 1250, 96000})
      CHECK(t::parse_cpus(t::cpus_text(berth::cpu_millis{n})) == berth::cpu_millis{n});
  }
  TEST_CASE("memory: binary and decimal units, no bare numbers, exact fractions") {
    CHECK(t::parse_memory("64GiB") == berth::gibibytes(64));
    CHECK(t::parse_memory("1.5TiB") == berth::gibibytes(1536));
    CHECK(t::parse_memory("512MiB") == berth::mebibytes(512));
    CHECK(t::parse_memory("1KiB") == berth::bytes{1024});
    CHECK(t::parse_memory("100GB") == berth::bytes{100'000'000'000});
    CHECK(t::parse_memory("1kB") == berth::bytes{1000});
    CHECK(t::parse_memory("7B") == berth::bytes{7});
    CHECK(t::parse_memory("0") == berth::bytes{0});
    CHECK(t::parse_memory("4096TiB") == berth::bytes{std::int64_t{1} << 52});
    for (const char* s : {"", "64", "64G", "64Gi", "64gib", "GiB", "-1GiB", "64 GiB", "0.1B", "1.0001GiB", "4097TiB",
                          "99999999999999999999GiB", "9223372036854775807TiB", "1EiB", "1.iB", "1XB"})
      CHECK_MESSAGE(!t::parse_memory(s), s);
    berth::random_source rng{7};
    for (int i = 0; i < 1000; ++i) {
      const berth::bytes b{static_cast<std::int64_t>(rng() >> (12 + rng.below(52)))};
      CHECK(t::parse_memory(t::memory_text(b)) == b);
    }
  }
  TEST_CASE("device lists: ranges to masks and back") {
    CHECK(t::parse_device_list("0-3,6") == 0x4FU);
    CHECK(t::parse_device_list("63") == std::uint64_t{1} << 63);
    CHECK(t::parse_device_list("0-63") == ~std::uint64_t{0});
    for (const char* s : {"", "-", "1-", "-1", "64", "2-1", "0,0", "0-3,3", "0,,1", "0-1-2", "a"})
      CHECK_MESSAGE(!t::parse_device_list(s), s);
    berth::random_source rng{8};
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t m = (rng() & rng()) | 1U;
      CHECK(t::parse_device_list(t::device_list_text(m)) == m);
    }
    CHECK(t::device_list_text(0).empty());
  }
  TEST_CASE("UTF-8: what is well-formed and what is not") {
    CHECK(!t::find_bad_utf8("plain ü € 😀"));
    CHECK(t::find_bad_utf8("ab\xFF") == 2U);
    CHECK(t::find_bad_utf8("\xC0\x80") == 0U);          // overlong
    CHECK(t::find_bad_utf8("\xED\xA0\x80") == 0U);      // surrogate
    CHECK(t::find_bad_utf8("\xF4\x90\x80\x80") == 0U);  // beyond U+10FFFF
    CHECK(t::find_bad_utf8("x\xE2\x82") == 1U);         // cut short
  }
  TEST_CASE("quoting: control characters are spelled out and long text is cut between characters") {
    CHECK(t::quoted("a\nb\x7F") == "'a\\x0ab\\x7f'");
    CHECK(t::quoted("abcdef", 3) == "'abc…'");
    CHECK(t::quoted("aüb", 2) == "'a…'");
  }
}

}  // namespace
