#pragma once
/// \file
/// Values of sbatch's options: node counts, sizes, times, GRES lists, constraints, arrays.
///
/// Source: the manual page of sbatch; `src/common/proc_args.c` of Slurm for suffixes and ranges.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/units.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/text.hpp"

namespace berth::sbatch_detail {

/// Digits with an optional k or m (1024 and 1024²), as counts of nodes and tasks may have.
[[nodiscard]] inline std::optional<std::uint32_t> parse_tasks(std::string_view s) noexcept {
  std::uint64_t factor = 1;
  if (!s.empty() && io_text::lower(s.back()) == 'k') factor = 1024;
  if (!s.empty() && io_text::lower(s.back()) == 'm') factor = 1024 * 1024;
  if (factor != 1) s.remove_suffix(1);
  const auto n = io_text::parse_count(s, max_tasks);
  if (!n || *n * factor > max_tasks) return std::nullopt;
  return static_cast<std::uint32_t>(*n * factor);
}

struct node_range {
  std::uint32_t least = 1, most = 1;
};
/// `4`, `2-4`.
[[nodiscard]] inline std::optional<node_range> parse_nodes(std::string_view s) noexcept {
  const std::size_t dash = s.find('-');
  const auto a = parse_tasks(s.substr(0, dash));
  const auto b = dash == std::string_view::npos ? a : parse_tasks(s.substr(dash + 1));
  if (!a || !b || *a == 0 || *b < *a) return std::nullopt;
  return node_range{*a, *b};
}

/// A size in megabytes unless K, M, G or T follows (a B may too).
[[nodiscard]] inline std::optional<bytes> parse_megabytes(std::string_view s) noexcept {
  if (s.size() > 2 && io_text::lower(s.back()) == 'b') s.remove_suffix(1);
  int power = 2;
  if (!s.empty() && !io_text::is_digit(s.back())) {
    switch (io_text::lower(s.back())) {
      case 'k':
        power = 1;
        break;
      case 'm':
        power = 2;
        break;
      case 'g':
        power = 3;
        break;
      case 't':
        power = 4;
        break;
      default:
        return std::nullopt;
    }
    s.remove_suffix(1);
  }
  const auto n = io_text::parse_count(s, static_cast<std::uint64_t>(io_text::max_memory) >> (10 * power));
  if (!n) return std::nullopt;
  return bytes{static_cast<std::int64_t>(*n << (10 * power))};
}
inline constexpr const char* megabytes_form = "a size such as 64G or 500M (megabytes without a letter)";

/// Minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes, days-hours:minutes:seconds; in
/// seconds. 0 for no limit.
[[nodiscard]] inline std::optional<std::uint64_t> parse_time(std::string_view s) noexcept {
  constexpr std::uint64_t most = 100'000'000;
  if (io_text::equal_nocase(s, "infinite") || io_text::equal_nocase(s, "unlimited") || s == "-1") return 0;
  std::uint64_t days = 0;
  const std::size_t dash = s.find('-');
  if (dash != std::string_view::npos) {
    const auto d = io_text::parse_count(s.substr(0, dash), most);
    if (!d) return std::nullopt;
    days = *d;
    s.remove_prefix(dash + 1);
  }
  std::uint64_t part[3] = {0, 0, 0};
  std::size_t n = 0;
  for (;;) {
    const std::size_t colon = s.find(':');
    const auto v = io_text::parse_count(s.substr(0, colon), most);
    if (!v || n == 3) return std::nullopt;
    part[n++] = *v;
    if (colon == std::string_view::npos) break;
    s.remove_prefix(colon + 1);
  }
  if (dash != std::string_view::npos) return ((days * 24 + part[0]) * 60 + part[1]) * 60 + part[2];
  if (n == 1) return part[0] * 60;
  if (n == 2) return part[0] * 60 + part[1];
  return (part[0] * 60 + part[1]) * 60 + part[2];
}

/// One entry of a GRES list.
struct gres_entry {
  std::string name;  ///< "gpu", "mps", "shard", …
  std::string type;  ///< "" for any
  std::int64_t count = 1;
};
[[nodiscard]] inline std::optional<std::int64_t> parse_gres_count(std::string_view s) noexcept {
  int shift = 0;
  if (!s.empty() && !io_text::is_digit(s.back())) {
    const std::size_t at = std::string_view{"kmgtp"}.find(io_text::lower(s.back()));
    if (at == std::string_view::npos) return std::nullopt;
    shift = 10 * (static_cast<int>(at) + 1);
    s.remove_suffix(1);
  }
  const auto n = io_text::parse_count(s, (std::uint64_t{1} << 52) >> shift);
  if (!n) return std::nullopt;
  return static_cast<std::int64_t>(*n << shift);
}
/// `name[:type][:count],…`; `gres/` in front and `=` before the count are allowed.
/// \param plain  the name of entries that have none, as in `--gpus=a100:4`; "" where names are needed
[[nodiscard]] inline std::optional<std::vector<gres_entry>> parse_gres(std::string_view s, std::string_view plain) {
  std::vector<gres_entry> out;
  if (plain.empty() && io_text::equal_nocase(s, "none")) return out;
  for (;;) {
    const std::size_t comma = s.find(',');
    std::string_view item = s.substr(0, comma);
    if (item.starts_with("gres/")) item.remove_prefix(5);
    if (item.starts_with("gres:")) item.remove_prefix(5);
    gres_entry e;
    std::vector<std::string_view> parts;
    for (std::string_view rest = item;;) {
      const std::size_t at = rest.find_first_of(":=");
      parts.push_back(rest.substr(0, at));
      if (at == std::string_view::npos) break;
      rest.remove_prefix(at + 1);
    }
    std::size_t i = 0;
    if (plain.empty()) e.name = std::string{parts[i++]};
    else e.name = std::string{plain};
    if (e.name.empty() || parts.size() > i + 2) return std::nullopt;
    if (parts.size() > i) {
      const auto last = parse_gres_count(parts.back());
      const bool counted = last && io_text::is_digit(parts.back().front());
      if (counted) e.count = *last;
      if (parts.size() == i + 2 && !counted) return std::nullopt;
      if (parts.size() == i + 2 || !counted) e.type = std::string{parts[i]};
      if (e.type.empty() && (parts.size() == i + 2 || !counted)) return std::nullopt;
    }
    out.push_back(std::move(e));
    if (comma == std::string_view::npos) return out;
    s.remove_prefix(comma + 1);
  }
}

/// Whether a GPU type is a MIG profile, and which: "1g.10gb", "a100_3g.20gb", "nvidia_a100_1g.5gb".
[[nodiscard]] inline std::string mig_profile_in(std::string_view type) {
  const std::size_t g = type.find("g.");
  if (g == 0 || g == std::string_view::npos || !io_text::is_digit(type[g - 1])) return {};
  std::size_t first = g;
  while (first > 0 && io_text::is_digit(type[first - 1])) --first;
  std::size_t last = g + 2;
  while (last < type.size() && io_text::is_digit(type[last])) ++last;
  if (last == g + 2 || !type.substr(last).starts_with("gb") || (first > 0 && type[first - 1] != '_')) return {};
  return std::string{type.substr(first)};
}

/// Features as labels: joined by `&` all are needed; of `(a|b)`, `[a|b]` or a plain `a|b` one is.
/// Fills the labels of `g`; false where the expression says more (counts, mixed operators).
[[nodiscard]] inline bool parse_constraint(std::string_view s, group_spec& g) {
  const auto is_name = [](std::string_view w) { return !w.empty() && w.find_first_of("&|()[]*,!") == w.npos; };
  std::vector<std::string_view> terms;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= s.size(); ++i) {
    if (i == s.size() || ((s[i] == '&' || s[i] == ',') && depth == 0)) {
      terms.push_back(io_text::trim(s.substr(start, i - start)));
      start = i + 1;
    } else if (s[i] == '(' || s[i] == '[') {
      if (++depth > 1) return false;
    } else if (s[i] == ')' || s[i] == ']') {
      if (--depth < 0) return false;
    }
  }
  if (depth != 0) return false;
  for (std::string_view t : terms) {
    if (is_name(t)) {
      g.labels.emplace_back(t);
      continue;
    }
    const bool round = t.starts_with('(') && t.ends_with(')');
    const bool matching = t.starts_with('[') && t.ends_with(']');
    if (matching && g.wanted > 1) return false;  // all nodes alike: more than a list of labels says
    if (round || matching) t = t.substr(1, t.size() - 2);
    else if (terms.size() != 1) return false;
    std::vector<std::string> choice;
    for (const auto& word : job_detail::parse_choice(t)) {
      if (!is_name(word)) return false;
      choice.push_back(word);
    }
    if (choice.size() == 1) g.labels.push_back(choice.front());
    else g.any_labels.push_back(std::move(choice));
  }
  return true;
}

struct array_size {
  std::uint32_t jobs = 0, at_once = 0;
};
/// `0-15`, `1,3,5-9:2`, `0-99%10`.
[[nodiscard]] inline std::optional<array_size> parse_array(std::string_view s) noexcept {
  array_size out;
  if (const std::size_t percent = s.find('%'); percent != std::string_view::npos) {
    const auto n = io_text::parse_count(s.substr(percent + 1), max_tasks);
    if (!n || *n == 0) return std::nullopt;
    out.at_once = static_cast<std::uint32_t>(*n);
    s = s.substr(0, percent);
  }
  std::uint64_t total = 0;
  for (;;) {
    const std::size_t comma = s.find(',');
    std::string_view item = s.substr(0, comma);
    std::uint64_t step = 1;
    if (const std::size_t colon = item.find(':'); colon != std::string_view::npos) {
      const auto n = io_text::parse_count(item.substr(colon + 1), max_tasks);
      if (!n || *n == 0 || item.find('-') == std::string_view::npos) return std::nullopt;
      step = *n;
      item = item.substr(0, colon);
    }
    const std::size_t dash = item.find('-');
    const auto a = io_text::parse_count(item.substr(0, dash), max_tasks);
    const auto b = dash == std::string_view::npos ? a : io_text::parse_count(item.substr(dash + 1), max_tasks);
    if (!a || !b || *b < *a) return std::nullopt;
    total += (*b - *a) / step + 1;
    if (total > max_tasks) return std::nullopt;
    if (comma == std::string_view::npos) break;
    s.remove_prefix(comma + 1);
  }
  out.jobs = static_cast<std::uint32_t>(total);
  return out;
}

/// Words between commas.
[[nodiscard]] inline std::vector<std::string> comma_list(std::string_view s) {
  std::vector<std::string> out;
  while (!s.empty()) {
    const std::size_t comma = s.find(',');
    if (const auto word = io_text::trim(s.substr(0, comma)); !word.empty()) out.emplace_back(word);
    s.remove_prefix(comma == std::string_view::npos ? s.size() : comma + 1);
  }
  return out;
}

}  // namespace berth::sbatch_detail
