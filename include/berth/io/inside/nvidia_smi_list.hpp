#pragma once
/// \file
/// `nvidia-smi -L` and `nvidia-smi nvlink --status`: the GPUs of a machine with their UUIDs, MIG devices and the state
/// of their NVLinks. Plain text; needs Boost.Graph.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/inside/gpu_list.hpp"
#include "berth/io/inside/plain_lines.hpp"
#include "berth/io/site_report.hpp"

namespace berth {

namespace detail {

/// Whether `s` is a UUID such as 5269b708-678a-b1a8-60f0-c90406537486, some of its digits perhaps masked.
[[nodiscard]] constexpr bool is_uuid(std::string_view s) noexcept {
  for (std::size_t i = 0; i < s.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const char c = io_text::lower(s[i]);
    if (dash ? c != '-' : !io_text::is_digit(c) && (c < 'a' || c > 'f') && c != 'x' && c != '*') return false;
  }
  return s.size() == 36;
}
/// Takes "(UUID: PREFIX…)" from the end of a line: what stands in it after the prefix. Empty where there is none.
[[nodiscard]] inline std::optional<std::string_view> take_uuid(std::string_view& line, std::string_view prefix) {
  const std::size_t open = line.rfind("(UUID:");
  if (open == std::string_view::npos || !line.ends_with(')')) return std::nullopt;
  std::string_view in = io_text::trim(line.substr(open + 6, line.size() - open - 7));
  line = io_text::trim(line.substr(0, open));
  if (!in.starts_with(prefix)) return std::nullopt;
  return in.substr(prefix.size());
}
/// "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-…)"
[[nodiscard]] inline std::optional<inside_text::gpu_row> parse_gpu_line(std::string_view line) {
  line = io_text::trim(line);
  if (!line.starts_with("GPU ")) return std::nullopt;
  line.remove_prefix(4);
  const std::size_t colon = line.find(':');
  const auto number = io_text::parse_count(io_text::trim(line.substr(0, colon)), 9999);
  if (!number || colon == std::string_view::npos) return std::nullopt;
  inside_text::gpu_row r;
  r.number = static_cast<std::uint32_t>(*number);
  std::string_view rest = io_text::trim(line.substr(colon + 1));
  const auto uuid = take_uuid(rest, "GPU-");
  if (!uuid || !is_uuid(*uuid) || rest.empty() || rest.size() > 200) return std::nullopt;
  if (uuid->find_first_of("xX*") == std::string_view::npos)
    r.uuid = inside_text::real_uuid("GPU-" + std::string{*uuid});
  r.name = std::string{rest};
  return r;
}
/// Whether `s` is a MIG profile: "3g.40gb", "1g.10gb+me", "1c.3g.40gb".
[[nodiscard]] constexpr bool is_profile_word(std::string_view s) noexcept {
  const auto digits = [&s] {
    std::size_t n = 0;
    while (n < s.size() && io_text::is_digit(s[n])) ++n;
    s.remove_prefix(n);
    return n != 0;
  };
  const auto word = [&s](std::string_view w) {
    if (!s.starts_with(w)) return false;
    s.remove_prefix(w.size());
    return true;
  };
  if (s.size() > 40 || !digits()) return false;
  if (word("c.") && !digits()) return false;
  return word("g.") && digits() && word("gb") && (s.empty() || s[0] == '+' || s[0] == '-' || s[0] == '.');
}
/// "MIG 3g.40gb     Device  0: (UUID: MIG-…)": the profile. Older drivers write "MIG-GPU-…/7/0".
[[nodiscard]] inline std::optional<std::string> parse_mig_line(std::string_view line) {
  line = io_text::trim(line);
  auto uuid = take_uuid(line, "MIG-");
  const auto w = inside_text::words(line);
  if (!uuid || w.size() != 4 || w[0] != "MIG" || !is_profile_word(w[1]) || w[2] != "Device" || w[3].back() != ':' ||
      !io_text::parse_count(w[3].substr(0, w[3].size() - 1), 255))
    return std::nullopt;
  if (uuid->starts_with("GPU-")) uuid = uuid->substr(4, uuid->find('/') - 4);
  if (!is_uuid(*uuid)) return std::nullopt;
  return std::string{w[1]};
}
/// "Link 3: 25 GB/s" or "Link 3: <inactive>".
struct nvlink_line {
  std::uint32_t number = 0;
  std::optional<double> gbps;  ///< empty: inactive
};
[[nodiscard]] inline std::optional<nvlink_line> parse_link_line(std::string_view line) {
  const auto w = inside_text::words(line);
  if (w.size() < 3 || w[0] != "Link" || w[1].back() != ':') return std::nullopt;
  const auto number = io_text::parse_count(w[1].substr(0, w[1].size() - 1), 255);
  if (!number) return std::nullopt;
  nvlink_line out{static_cast<std::uint32_t>(*number), std::nullopt};
  if (w.size() == 3 && io_text::equal_nocase(w[2], "<inactive>")) return out;
  const auto rate = io_text::parse_thousandths(w[2], 1'000'000);
  if (!rate || w.size() != 4 || w[3] != "GB/s") return std::nullopt;
  out.gbps = static_cast<double>(*rate) / 1000;
  return out;
}

/// Reads both: lines of GPUs, with MIG devices or NVLinks below them.
[[nodiscard]] inline expected<site_report, input_error> read_gpu_lines(const named_text& in,
                                                                       const reader_options& options, bool links) {
  const auto lines = inside_text::plain_lines(in.name, in.text);
  if (!lines) return unexpected{lines.error()};
  site_report out;
  out.source = in.name;
  out.format = links ? "nvidia-smi nvlink --status" : "nvidia-smi -L";
  std::vector<inside_text::gpu_row> rows;
  struct state {
    std::vector<nvlink_line> links;
  };
  std::vector<state> states;
  std::size_t first = lines->empty() ? 0 : 1;
  for (const auto& l : *lines) {
    const std::string_view line = io_text::trim(l.text);
    const auto fail = [&](const char* wanted) {
      return unexpected{input_error{in.name, l.number, io_text::quoted(line), wanted}};
    };
    if (line.empty()) continue;
    if (auto gpu = parse_gpu_line(line)) {
      if (rows.empty()) first = l.number;
      if (rows.size() >= max_devices_per_node) return fail("at most 64 GPUs");
      gpu->line = l.number;
      rows.push_back(std::move(*gpu));
      states.emplace_back();
      continue;
    }
    if (rows.empty() && !line.starts_with("GPU") && !line.starts_with("MIG") && line.find("UUID") == line.npos)
      continue;  // a prompt, a title
    if (rows.empty()) return fail("\"GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-5269b708-678a-b1a8-60f0-c90406537486)\"");
    if (const auto mig = parse_mig_line(line)) {
      if (rows.back().profiles.size() >= 64) return fail("at most 64 MIG devices on a GPU");
      rows.back().mig = true;
      rows.back().profiles.push_back(*mig);
      continue;
    }
    if (const auto link = parse_link_line(line); link && links) {
      for (const auto& o : states.back().links)
        if (o.number == link->number) return fail("every link once");
      states.back().links.push_back(*link);
      continue;
    }
    return fail(links ? "\"GPU 0: … (UUID: GPU-…)\" or \"Link 0: 25 GB/s\""
                      : "\"GPU 0: … (UUID: GPU-…)\" or \"MIG 1g.10gb Device 0: (UUID: MIG-…)\"");
  }
  if (rows.empty())
    return unexpected{input_error{in.name, first, "no line \"GPU 0: …\"", "the list that nvidia-smi prints"}};
  std::vector<std::string> nvlinks;
  for (std::size_t i = 0; links && i < rows.size(); ++i) {
    std::size_t active = 0, inactive = 0;
    double rate = 0;
    bool equal = true;
    for (const auto& l : states[i].links) {
      if (!l.gbps) {
        ++inactive;
        continue;
      }
      equal = equal && (active == 0 || *l.gbps == rate);
      rate = *l.gbps;
      ++active;
    }
    std::string text = std::to_string(rate);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    nvlinks.push_back("gpu" + std::to_string(*rows[i].number) + ".nvlinks=" + std::to_string(active) +
                      (active != 0 && equal ? "x" + text + "GB/s" : ""));
    if (inactive != 0)
      out.assumptions.push_back(io_text::counted(inactive, "NVLink") + " of GPU " + std::to_string(*rows[i].number) +
                                " inactive: broken or not connected, the list does not tell");
  }
  auto m = inside_text::machine_of(std::move(rows), {in.name, first}, options, out.assumptions);
  if (!m) return unexpected{std::move(m).error()};
  m->labels.insert(m->labels.end(), nvlinks.begin(), nvlinks.end());
  out.assumptions.push_back(links ? "which GPUs the NVLinks lead to is not in this list" : inside_text::joined_unknown);
  out.machines.push_back(*std::move(m));
  return out;
}

/// True when a line of the first 16 KiB is a GPU's and (`links`) one below it a link's.
[[nodiscard]] inline bool looks_like_gpu_lines(std::string_view text, bool links) noexcept {
  text = text.substr(0, std::size_t{1} << 14);
  const std::size_t uuid = text.find("(UUID: GPU-");
  if (uuid == std::string_view::npos) return false;
  const std::size_t start = text.rfind('\n', uuid) == std::string_view::npos ? 0 : text.rfind('\n', uuid) + 1;
  const std::string_view line = io_text::trim(text.substr(start, uuid - start));
  if (!line.starts_with("GPU")) return false;
  for (std::size_t at = text.find("Link ", uuid); at != std::string_view::npos; at = text.find("Link ", at + 1)) {
    std::size_t i = at + 5;
    while (i < text.size() && io_text::is_digit(text[i])) ++i;
    if (i > at + 5 && i < text.size() && text[i] == ':') return links;
  }
  return !links;
}

}  // namespace detail

/// True for the output of `nvidia-smi -L`.
[[nodiscard]] inline bool looks_like_nvidia_smi_list(std::string_view text) noexcept {
  return detail::looks_like_gpu_lines(text, false);
}
/// True for the output of `nvidia-smi nvlink --status`.
[[nodiscard]] inline bool looks_like_nvlink_status(std::string_view text) noexcept {
  return detail::looks_like_gpu_lines(text, true);
}

/// Reads `nvidia-smi -L`: GPUs with models and UUIDs; MIG devices as labels "gpu0.mig=3g.40gb,1g.10gb".
/// Errors: lines after the first GPU that are neither a GPU nor a MIG device, a GPU twice, more than 64. O(length).
[[nodiscard]] inline expected<site_report, input_error> read_nvidia_smi_list(const named_text& in,
                                                                             const reader_options& options = {}) {
  return detail::read_gpu_lines(in, options, false);
}
/// Reads `nvidia-smi nvlink --status`: GPUs with models and UUIDs; their NVLinks as labels "gpu0.nvlinks=12x25GB/s",
/// since the list does not say where they lead. Errors as for the list. O(length).
[[nodiscard]] inline expected<site_report, input_error> read_nvlink_status(const named_text& in,
                                                                           const reader_options& options = {}) {
  return detail::read_gpu_lines(in, options, true);
}

}  // namespace berth
