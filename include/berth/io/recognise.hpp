#pragma once
/// \file
/// Which reader a file belongs to, by its content alone. One row per format; the first row whose test holds reads it.
/// Heavy: includes every reader, and with them nlohmann-json, pugixml and yaml-cpp.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/inside/topo_m.hpp"
#include "berth/io/job_json.hpp"
#include "berth/io/merge/site_json.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/text.hpp"

namespace berth {

/// One kind of file.
struct input_format {
  std::string_view name;  ///< what messages call it
  bool (*looks_like)(std::string_view text);
  expected<site_report, input_error> (*read)(const named_text& file, const reader_options& options);
};

namespace recognise_detail {

using result = expected<site_report, input_error>;

/// Makes a report of a reader of jobs.
template <auto Read>
[[nodiscard]] result jobs_of(const named_text& file, const reader_options& options) {
  auto jobs = Read(file, options);
  if (!jobs) return unexpected{std::move(jobs).error()};
  site_report out;
  out.source = file.name;
  out.jobs = std::move(*jobs);
  return out;
}

[[nodiscard]] inline bool starts_with_brace(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return first != std::string_view::npos && text[first] == '{';
}
[[nodiscard]] inline bool looks_like_our_cluster(std::string_view text) {
  return starts_with_brace(text) && text.find("\"berth_cluster\"") != std::string_view::npos;
}
[[nodiscard]] inline result read_our_cluster(const named_text& file, const reader_options& options) {
  const auto s = read_site_json(file, catalogue_shape, options.max_machines, options.max_parts);
  if (!s) return unexpected{s.error()};
  return report_of_site(*s, file.name);
}
/// Our job file has task groups at its top and no kind.
[[nodiscard]] inline bool looks_like_our_job(std::string_view text) {
  return starts_with_brace(text) && text.find("\"groups\"") != std::string_view::npos &&
         text.find("\"kind\"") == std::string_view::npos && text.find("\"apiVersion\"") == std::string_view::npos;
}
[[nodiscard]] inline result read_our_job(const named_text& file, const reader_options&) {
  auto job = read_job_json(file);
  if (!job) return unexpected{std::move(job).error()};
  site_report out;
  out.source = file.name;
  out.jobs.push_back(std::move(*job));
  return out;
}

inline constexpr input_format formats[] = {
    {"berth cluster", looks_like_our_cluster, read_our_cluster},
    {"berth job", looks_like_our_job, read_our_job},
    {"nvidia-smi topo -m", looks_like_topo_m, read_topo_m},
};

}  // namespace recognise_detail

/// All formats, in the order in which they are tried.
[[nodiscard]] inline std::span<const input_format> input_formats() noexcept {
  return recognise_detail::formats;
}

/// The format of a text, or null. O(formats × length) at most; most tests look at the beginning alone.
[[nodiscard]] inline const input_format* recognise(std::string_view text) {
  for (const auto& f : input_formats())
    if (f.looks_like(text)) return &f;
  return nullptr;
}

}  // namespace berth
