#pragma once
/// \file
/// What an InfiniBand node description says: the host and device of an adapter, the name of a switch.
///
/// Adapters     "host mlx5_5", "host HCA-6" (rdma-ndd writes "%h %d"; older stacks "%h HCA-<n>" with n from 1), or a
///              host alone. "MT4129 ConnectX7   Mellanox Technologies", "localhost mlx5_0" and the like name no host.
/// Not hosts    the SHARP aggregation node inside a switch ("… Aggregation Node"), adapters of gateways ("MF0;…").
/// Switches     "MF0;name:MODEL/U1"; line and spine cards of a chassis are told apart by "/L01", "/S01".

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "berth/io/text.hpp"
#include "berth/io/text_lines.hpp"

namespace berth::fabric_detail {

struct adapter_words {
  std::string_view host;    ///< "" when the description names none
  std::string_view device;  ///< "" likewise
};

/// Host and device of an adapter's description. O(length).
[[nodiscard]] constexpr adapter_words words_of_adapter(std::string_view description) noexcept {
  std::string_view rest = description;
  const std::string_view host = io_text::take_word(rest), device = io_text::take_word(rest);
  if (!io_text::trim(rest).empty() || host.empty()) return {};
  if (host.find_first_of(";:\"'()[],{}") != std::string_view::npos) return {};
  if (io_text::equal_nocase(host, "localhost") || host.starts_with("localhost.")) return {};
  bool digit = device.empty();
  for (const char c : device) digit = digit || io_text::is_digit(c);
  if (!digit) return {};
  // A chip's name ("MT25408 ConnectX", "ConnectX6") in place of a host's.
  if (host.starts_with("MT") && host.size() > 4 && io_text::is_digit(host[2]) && io_text::is_digit(host[3])) return {};
  if (host.starts_with("ConnectX") || host.starts_with("Mellanox")) return {};
  return {host, device};
}

/// True for an adapter that belongs to a switch or gateway.
[[nodiscard]] constexpr bool is_part_of_a_switch(std::string_view description) noexcept {
  return description.find("Aggregation Node") != std::string_view::npos || description.starts_with("MF0;");
}

/// A device name as a place among the devices of its host: `mlx5_5` and `HCA-6` are both number 5. Names without such
/// a number (`ibp11s0f0`) come after all numbers, in order of their text.
struct device_place {
  std::uint32_t number = 0;
  std::string text;
  friend auto operator<=>(const device_place&, const device_place&) = default;
};
[[nodiscard]] inline device_place place_of_device(std::string_view device) {
  constexpr std::uint32_t unnumbered = 1U << 20;
  const auto after = [&](std::string_view prefix, std::uint32_t first) -> std::uint32_t {
    if (!device.starts_with(prefix)) return unnumbered;
    const auto n = io_text::parse_count(device.substr(prefix.size()), 4096);
    return !n || *n < first ? unnumbered : static_cast<std::uint32_t>(*n) - first;
  };
  for (const std::string_view driver : {"mlx5_", "mlx4_", "hfi1_", "qib"})
    if (const auto n = after(driver, 0); n != unnumbered) return {n, ""};
  if (const auto n = after("HCA-", 1); n != unnumbered) return {n, ""};
  return {unnumbered, std::string{device}};
}

/// The name of a switch: what an administrator calls it, with its card in a chassis; the description itself where it
/// has another form. O(length).
[[nodiscard]] inline std::string name_of_switch(std::string_view description) {
  const std::size_t semicolon = description.find(';');
  const std::size_t colon = description.rfind(':');
  if (semicolon == std::string_view::npos || colon == std::string_view::npos || colon < semicolon)
    return std::string{description};
  std::string out{description.substr(semicolon + 1, colon - semicolon - 1)};
  if (out.empty()) return std::string{description};
  // MODEL/CARD/CHIP; "/U1" alone is the only chip of a plain switch.
  std::string_view rest = description.substr(colon + 1);
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return out;
  rest.remove_prefix(slash);
  if (rest.ends_with("/U1")) rest.remove_suffix(3);
  return out + std::string{rest};
}

}  // namespace berth::fabric_detail
