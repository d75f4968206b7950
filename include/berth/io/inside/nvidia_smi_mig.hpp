#pragma once
/// \file
/// What `nvidia-smi mig -lgi` prints: the GPU instances of a machine.
///
///     | GPU instances:                                        |
///     | GPU   Name             Profile  Instance   Placement  |
///     |                          ID       ID       Start:Size |
///     |=======================================================|
///     |   0  MIG 3g.20gb          9        1          4:4     |
///
/// The table does not name the product, so its geometry is given. Name, profile id, start and size of every row have to
/// agree with it and with the rows before: a list that contradicts the geometry is refused with its line.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"
#include "berth/io/text_lines.hpp"
#include "berth/topology/mig_geometry.hpp"
#include "berth/topology/mig_listing.hpp"
#include "berth/topology/mig_lookup.hpp"

namespace berth {

/// One GPU of the list.
struct mig_listed_gpu {
  unsigned index = 0;  ///< as nvidia-smi counts
  mig_set instances = 0;
  std::vector<std::pair<unsigned, unsigned>> ids;  ///< {placement, the driver's instance id}, in the order of the list
};

namespace mig_table_detail {

/// A whole number up to `most`, or nothing.
[[nodiscard]] inline std::optional<unsigned> number(std::string_view s, unsigned most) noexcept {
  if (s.empty() || s.size() > 6) return std::nullopt;
  unsigned n = 0;
  for (const char c : s) {
    if (c < '0' || c > '9') return std::nullopt;
    n = n * 10 + static_cast<unsigned>(c - '0');
  }
  if (n > most) return std::nullopt;
  return n;
}
/// The words of a row, without its bars.
[[nodiscard]] inline std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> out;
  std::size_t i = 0;
  while (i < line.size()) {
    const auto gap = [&](char c) { return c == ' ' || c == '\t' || c == '|' || c == '\r'; };
    while (i < line.size() && gap(line[i])) ++i;
    const std::size_t from = i;
    while (i < line.size() && !gap(line[i])) ++i;
    if (i != from) out.push_back(line.substr(from, i - from));
  }
  return out;
}

}  // namespace mig_table_detail

/// Whether a text is such a table.
[[nodiscard]] inline bool is_mig_instance_table(std::string_view text) noexcept {
  return text.find("GPU instances:") != std::string_view::npos || text.find("No GPU instances found") == 0;
}

/// The GPUs with instances, in the order in which they come. O(bytes + rows × placements).
[[nodiscard]] inline expected<std::vector<mig_listed_gpu>, input_error> read_mig_instance_table(
    const mig_geometry& g, const named_text& file) {
  std::vector<mig_listed_gpu> out;
  bool heading = false;
  io_text::line_cursor lines{file};
  while (lines.next()) {
    const std::string_view line = io_text::trim(lines.line());
    const auto refuse = [&](std::string found, std::string wanted) {
      return unexpected{lines.error(std::move(found), std::move(wanted))};
    };
    const auto words = mig_table_detail::words(line);
    if (words.empty() || line.front() == '+' || line.starts_with("|==")) continue;
    if (line.starts_with("No GPU instances found")) {
      heading = true;
      continue;
    }
    if (words[0] == "GPU" || words[0] == "ID") {
      heading = heading || (words.size() > 1 && words[1] == "instances:");
      continue;
    }
    constexpr const char* form = "a row such as '|   0  MIG 3g.20gb          9        1          4:4     |'";
    const auto gpu = mig_table_detail::number(words[0], 1023);
    if (!heading || words.size() != 6 || !gpu || words[1] != "MIG")
      return refuse(io_text::quoted(std::string{line.substr(0, 80)}), form);
    const auto id = mig_table_detail::number(words[3], 255), instance = mig_table_detail::number(words[4], 65535);
    const std::size_t colon = words[5].find(':');
    const auto start = mig_table_detail::number(words[5].substr(0, colon), 255);
    const auto size = colon == std::string_view::npos ? std::optional<unsigned>{}
                                                      : mig_table_detail::number(words[5].substr(colon + 1), 255);
    if (!id || !instance || !start || !size) return refuse(io_text::quoted(std::string{line.substr(0, 80)}), form);
    const auto profile = find_mig_profile(*g.product, words[2]);
    if (!profile) return refuse(profile.error().found, profile.error().expected);
    const auto& row = g.row(profile->profile);
    if (row.id && *row.id != *id)
      return refuse(std::string{words[2]} + " with profile id " + std::to_string(*id), std::to_string(*row.id));
    std::size_t at = 0;
    while (at < out.size() && out[at].index != *gpu) ++at;
    if (at == out.size()) out.push_back({*gpu, 0, {}});
    // The row by itself, and beside those before it.
    const mig_listed_instance one[] = {{words[2], *start, *size, {}}};
    const auto held = read_mig_listing(g, one, file.name);
    if (!held) return refuse(held.error().found, held.error().expected);
    if ((out[at].instances & *held) != 0 || !g.key_of(out[at].instances | *held))
      return refuse(std::string{words[2]} + "@" + std::to_string(*start) + " beside the rows before it",
                    "instances that may lie beside each other");
    out[at].instances |= *held;
    out[at].ids.emplace_back(lowest_bit(*held), *instance);
  }
  if (!heading)
    return unexpected{input_error{file.name, 0, "no list of GPU instances", "what nvidia-smi mig -lgi prints"}};
  return out;
}

}  // namespace berth
