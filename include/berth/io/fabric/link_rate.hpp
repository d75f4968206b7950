#pragma once
/// \file
/// InfiniBand link rates: width and speed as the tools print them, to GB/s of data in one direction.
///
/// A lane carries, in Gb/s of data after the line code (InfiniBand Architecture Specification, volume 1, link speeds;
/// the words and the signalling rates are those that `ibnetdiscover` and `iblinkinfo` of rdma-core print):
///   SDR 2 (2.5), DDR 4 (5), QDR 8 (10), FDR10 10 (10.3125), FDR 13.64 (14.0625), EDR 25 (25.78125), HDR 50 (53.125),
///   NDR 100 (106.25), XDR 200 (212.5)

#include <cstddef>
#include <optional>
#include <string_view>

#include "berth/core/units.hpp"
#include "berth/io/text.hpp"

namespace berth::fabric_detail {

struct lane_speed {
  std::string_view word;    ///< as ibnetdiscover prints it
  std::string_view signal;  ///< as iblinkinfo prints it, trailing zeros aside
  std::string_view opensm;  ///< as opensm-subnet.lst prints it
  double gbit;              ///< data rate of one lane
};
inline constexpr lane_speed lane_speeds[] = {{"SDR", "2.5", "2.5", 2},        {"DDR", "5", "5", 4},
                                             {"QDR", "10", "10", 8},          {"FDR10", "10.3125", "FDR10", 10},
                                             {"FDR", "14.0625", "14", 13.64}, {"EDR", "25.78125", "25", 25},
                                             {"HDR", "53.125", "50", 50},     {"NDR", "106.25", "100", 100},
                                             {"XDR", "212.5", "200", 200}};

/// Lanes of a width such as `4x` or `4X`; empty for `??` and the like.
[[nodiscard]] constexpr std::optional<unsigned> parse_width(std::string_view s) noexcept {
  if (s.size() < 2 || (s.back() != 'x' && s.back() != 'X')) return std::nullopt;
  const auto n = io_text::parse_count(s.substr(0, s.size() - 1), 12);
  if (!n || (*n != 1 && *n != 2 && *n != 4 && *n != 8 && *n != 12)) return std::nullopt;
  return static_cast<unsigned>(*n);
}

/// Whether a tool printed question marks, for what it does not know: `??`, `???`.
[[nodiscard]] constexpr bool is_unknown_word(std::string_view s) noexcept {
  for (const char c : s)
    if (c != '?') return false;
  return s.size() >= 2;
}
/// Whether the two are a width and a speed as ibnetdiscover prints them, known to it (`4x`, `EDR`) or not (`??`).
[[nodiscard]] constexpr bool are_rate_words(std::string_view width, std::string_view speed) noexcept {
  if (!parse_width(width) && !is_unknown_word(width)) return false;
  if (is_unknown_word(speed)) return true;
  for (const auto& s : lane_speeds)
    if (s.word == speed) return true;
  return false;
}
/// What `are_rate_words` takes, for messages.
inline constexpr const char* rate_words_form = "a width of 1x, 2x, 4x, 8x or 12x and a speed from SDR to XDR";

/// GB/s of a link of that many lanes.
[[nodiscard]] constexpr gigabytes_per_second rate_of(unsigned lanes, double lane_gbit) noexcept {
  return gigabytes_per_second{lanes * lane_gbit / 8};
}

/// `4x`, `HDR` to GB/s; empty where either is unknown (`???`).
[[nodiscard]] constexpr std::optional<gigabytes_per_second> rate_of_words(std::string_view width,
                                                                          std::string_view speed) noexcept {
  const auto lanes = parse_width(width);
  if (!lanes) return std::nullopt;
  for (const auto& s : lane_speeds)
    if (s.word == speed) return rate_of(*lanes, s.gbit);
  return std::nullopt;
}

/// `4X`, `53.125` (Gb/s of signal per lane) to GB/s. `fdr10`: the tool said "10.0 Gbps (FDR10)".
[[nodiscard]] constexpr std::optional<gigabytes_per_second> rate_of_signal(std::string_view width,
                                                                           std::string_view signal,
                                                                           bool fdr10) noexcept {
  const auto lanes = parse_width(width);
  if (!lanes) return std::nullopt;
  if (fdr10) return rate_of(*lanes, 10);
  if (signal.find('.') != std::string_view::npos) {
    while (signal.ends_with('0')) signal.remove_suffix(1);
    if (signal.ends_with('.')) signal.remove_suffix(1);
  }
  for (const auto& s : lane_speeds)
    if (s.signal == signal) return rate_of(*lanes, s.gbit);
  // Newer tools print the round data rate of the lane.
  for (const auto& s : lane_speeds)
    if (s.gbit >= 25 && s.opensm == signal) return rate_of(*lanes, s.gbit);
  return std::nullopt;
}

/// `PHY=4x SPD=25` of opensm to GB/s.
[[nodiscard]] constexpr std::optional<gigabytes_per_second> rate_of_opensm(std::string_view width,
                                                                           std::string_view speed) noexcept {
  const auto lanes = parse_width(width);
  if (!lanes) return std::nullopt;
  for (const auto& s : lane_speeds)
    if (s.opensm == speed) return rate_of(*lanes, s.gbit);
  return rate_of_signal(width, speed, false);
}

}  // namespace berth::fabric_detail
