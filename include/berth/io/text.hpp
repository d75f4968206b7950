#pragma once
/// \file
/// Small words of text that the readers share: counts, memory sizes, CPU amounts, device lists, UTF-8.
///
/// Every parser takes the whole text or nothing: a sign, blank or letter too many makes it fail. Cost O(length).

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "berth/core/bits.hpp"
#include "berth/core/units.hpp"

namespace berth::io_text {

/// More than any machine has; larger amounts in a file are refused as absurd.
inline constexpr std::int64_t max_cpus = 1'000'000;
/// 2^52 bytes (4 PiB) of memory per machine or task; larger amounts in a file are refused as absurd.
inline constexpr std::int64_t max_memory = std::int64_t{1} << 52;

[[nodiscard]] constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}
[[nodiscard]] constexpr bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}
[[nodiscard]] constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}
[[nodiscard]] inline std::string lower(std::string_view s) {
  std::string out{s};
  for (char& c : out) c = lower(c);
  return out;
}
/// Equal but for the case of ASCII letters.
[[nodiscard]] constexpr bool equal_nocase(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}
[[nodiscard]] constexpr std::string_view trim(std::string_view s) noexcept {
  while (!s.empty() && is_blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_blank(s.back())) s.remove_suffix(1);
  return s;
}

/// Text for a message: in single quotes, control characters as `\xNN`, long text cut after `most` bytes.
[[nodiscard]] inline std::string quoted(std::string_view s, std::size_t most = 80) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string out = "'";
  std::size_t n = s.size();
  if (n > most) {
    n = most;
    while (n > 0 && (static_cast<unsigned char>(s[n]) & 0xC0U) == 0x80U) --n;  // do not cut inside a character
  }
  for (const char c : s.substr(0, n)) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x20 || u == 0x7F) out += {'\\', 'x', hex[u >> 4], hex[u & 15U]};
    else out += c;
  }
  return out + (n < s.size() ? "…'" : "'");
}

/// Offset of the first byte that is not well-formed UTF-8; empty when all is. O(length).
[[nodiscard]] constexpr std::optional<std::size_t> find_bad_utf8(std::string_view s) noexcept {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  for (std::size_t i = 0; i < s.size();) {
    const unsigned char c = at(i);
    std::size_t more = 0;
    std::uint32_t code = 0;
    if (c < 0x80) {
      ++i;
      continue;
    }
    if (c >= 0xC2 && c <= 0xDF) more = 1, code = c & 0x1FU;
    else if (c >= 0xE0 && c <= 0xEF) more = 2, code = c & 0x0FU;
    else if (c >= 0xF0 && c <= 0xF4) more = 3, code = c & 0x07U;
    else return i;
    if (i + more >= s.size()) return i;
    for (std::size_t k = 1; k <= more; ++k) {
      if ((at(i + k) & 0xC0U) != 0x80U) return i;
      code = code << 6 | (at(i + k) & 0x3FU);
    }
    if ((more == 2 && (code < 0x800 || (code >= 0xD800 && code <= 0xDFFF))) ||
        (more == 3 && (code < 0x10000 || code > 0x10FFFF)))
      return i;
    i += more + 1;
  }
  return std::nullopt;
}

/// Decimal digits only, at most `most`; empty otherwise.
[[nodiscard]] constexpr std::optional<std::uint64_t> parse_count(
    std::string_view s, std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) noexcept {
  if (s.empty()) return std::nullopt;
  std::uint64_t v = 0;
  for (const char c : s) {
    if (!is_digit(c)) return std::nullopt;
    const auto d = static_cast<std::uint64_t>(c - '0');
    if (v > (most - d) / 10 || d > most) return std::nullopt;
    v = v * 10 + d;
  }
  return v;
}

/// `digits[.up to three digits]` in thousandths; empty otherwise or above `most` thousandths.
[[nodiscard]] constexpr std::optional<std::int64_t> parse_thousandths(std::string_view s, std::int64_t most) noexcept {
  const std::size_t dot = s.find('.');
  const auto whole = parse_count(s.substr(0, dot), static_cast<std::uint64_t>(most) / 1000);
  if (!whole) return std::nullopt;
  std::uint64_t fraction = 0;
  if (dot != std::string_view::npos) {
    const std::string_view f = s.substr(dot + 1);
    if (f.empty() || f.size() > 3 || !parse_count(f)) return std::nullopt;
    fraction = *parse_count(f);
    for (std::size_t i = f.size(); i < 3; ++i) fraction *= 10;
  }
  const auto v = static_cast<std::int64_t>(*whole * 1000 + fraction);
  if (v > most) return std::nullopt;
  return v;
}

/// CPUs such as `16` or `0.5`.
[[nodiscard]] constexpr std::optional<cpu_millis> parse_cpus(std::string_view s) noexcept {
  const auto v = parse_thousandths(s, max_cpus * 1000);
  if (!v) return std::nullopt;
  return cpu_millis{*v};
}
/// The shortest text that `parse_cpus` reads back.
[[nodiscard]] inline std::string cpus_text(cpu_millis c) {
  std::string out = std::to_string(c.count() / 1000);
  if (const auto rest = c.count() % 1000; rest != 0) {
    std::string f = std::to_string(1000 + rest).substr(1);
    while (f.back() == '0') f.pop_back();
    out += "." + f;
  }
  return out;
}

/// What `parse_memory` reads, for messages.
inline constexpr const char* memory_form = "a size with its unit, such as 64GiB, 1.5TiB, 512MiB or 100GB";

/// A size with unit: KiB, MiB, GiB, TiB (powers of 1024), kB, KB, MB, GB, TB (powers of 1000) or B. A bare number has
/// no unit and is refused, except 0. Fractions must come out as whole bytes.
[[nodiscard]] constexpr std::optional<bytes> parse_memory(std::string_view s) noexcept {
  if (s == "0") return bytes{0};
  std::size_t n = 0;
  while (n < s.size() && (is_digit(s[n]) || s[n] == '.')) ++n;
  std::string_view unit = s.substr(n);
  std::int64_t factor = 1;
  if (unit != "B") {
    if (unit.size() < 2 || unit.size() > 3 || unit.back() != 'B') return std::nullopt;
    const std::int64_t base = unit.size() == 3 ? 1024 : 1000;
    if (base == 1024 && unit[1] != 'i') return std::nullopt;
    const char c = unit.front();
    int power = 0;
    if (c == 'K' || (c == 'k' && base == 1000)) power = 1;
    else if (c == 'M') power = 2;
    else if (c == 'G') power = 3;
    else if (c == 'T') power = 4;
    else return std::nullopt;
    for (int i = 0; i < power; ++i) factor *= base;
  }
  const auto v = parse_thousandths(s.substr(0, n), std::numeric_limits<std::int64_t>::max() / 2);
  if (!v || *v / 1000 > max_memory / factor) return std::nullopt;
  const std::int64_t whole = *v / 1000 * factor;
  const std::int64_t part = *v % 1000 * factor;
  if (part % 1000 != 0 || whole + part / 1000 > max_memory) return std::nullopt;
  return bytes{whole + part / 1000};
}
/// The size in the largest binary unit that divides it; `parse_memory` reads it back.
[[nodiscard]] inline std::string memory_text(bytes b) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::int64_t v = b.count();
  std::size_t u = 0;
  while (v != 0 && v % 1024 == 0 && u < 4) v /= 1024, ++u;
  return std::to_string(v) + units[u];
}

/// What `parse_rate` reads, for messages.
inline constexpr const char* rate_form = "GB/s with at most three decimals, such as 25, 12.5GB/s or 400Gb/s";

/// Bandwidth in one direction: `25` and `25GB/s` (10^9 bytes per second), `400Gb/s` (bits); below 100,000 GB/s.
[[nodiscard]] constexpr std::optional<bytes_per_second> parse_rate(std::string_view s) noexcept {
  const bool bits = s.ends_with("Gb/s");
  if (bits || s.ends_with("GB/s")) s.remove_suffix(4);
  const auto v = parse_thousandths(s, 99'999'999);
  if (!v) return std::nullopt;
  return bytes_per_second{bits ? *v * 125'000 : *v * 1'000'000};
}
/// The rate in GB/s, rounded to MB/s; `parse_rate` reads it back.
[[nodiscard]] inline std::string rate_text(bytes_per_second r) {
  return cpus_text(cpu_millis{(r.count() + 500'000) / 1'000'000}) + "GB/s";
}

/// What `parse_device_list` reads, for messages.
inline constexpr const char* device_list_form = "device indices below 64 such as 0-3,6";

/// Device indices and ranges, such as `0-3,6`; an index twice is refused.
[[nodiscard]] constexpr std::optional<device_mask> parse_device_list(std::string_view s) noexcept {
  device_mask out = 0;
  for (;;) {
    const std::size_t comma = s.find(',');
    const std::string_view item = s.substr(0, comma);
    const std::size_t dash = item.find('-');
    const auto lo = parse_count(item.substr(0, dash), max_devices_per_node - 1);
    const auto hi = dash == std::string_view::npos ? lo : parse_count(item.substr(dash + 1), max_devices_per_node - 1);
    if (!lo || !hi || *lo > *hi) return std::nullopt;
    const device_mask m = low_bits(static_cast<unsigned>(*hi + 1)) & ~low_bits(static_cast<unsigned>(*lo));
    if ((out & m) != 0) return std::nullopt;
    out |= m;
    if (comma == std::string_view::npos) return out;
    s.remove_prefix(comma + 1);
  }
}
/// The mask as ranges, such as `0-3,6`; "" for no device.
[[nodiscard]] inline std::string device_list_text(device_mask m) {
  std::string out;
  for (unsigned i = 0; i < max_devices_per_node; ++i) {
    if ((m >> i & 1U) == 0) continue;
    unsigned last = i;
    while (last + 1 < max_devices_per_node && (m >> (last + 1) & 1U) != 0) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(i);
    if (last != i) out += "-" + std::to_string(last);
    i = last;
  }
  return out;
}

/// `1 node`, `3 nodes`.
[[nodiscard]] inline std::string counted(std::size_t n, std::string_view word) {
  return std::to_string(n) + " " + std::string{word} + (n == 1 ? "" : "s");
}

}  // namespace berth::io_text
