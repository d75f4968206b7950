#pragma once
/// \file
/// What GPUs did, from the DCGM exporter (Prometheus text) or from CSV (`nvidia-smi --query-gpu=… --format=csv`, or
/// DCGM's field names as columns), as `gpu_sample`s. Standard library only.
///
/// Read are DCGM_FI_PROF_GR_ENGINE_ACTIVE and DCGM_FI_PROF_SM_ACTIVE (0..1; the former says for MIG what GPU_UTIL
/// cannot), DCGM_FI_DEV_GPU_UTIL (percent), DCGM_FI_DEV_FB_USED, _FREE, _RESERVED and _TOTAL (MiB); in CSV also uuid,
/// timestamp, utilization.gpu and memory.used, .free, .reserved, .total with the unit in the header, in the value, or
/// both. Of several utilisations SM_ACTIVE counts before GR_ENGINE_ACTIVE before GPU_UTIL. A device is its UUID, and
/// "/" GPU_I_ID for a MIG instance; the owner is "namespace/pod". Other metrics are counted in `other_lines`. Text
/// before the first metric or comment is left out, as scrapes are often kept with a title. Cost O(bytes).

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/csv.hpp"
#include "berth/io/prometheus.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"
#include "berth/quota/honest/weekly_report.hpp"

namespace berth {

/// The samples of one file.
struct gpu_samples {
  std::vector<gpu_sample> samples;  ///< one per device and time, in order of first appearance
  std::size_t other_lines = 0;      ///< metrics that say nothing about utilisation or memory
};

namespace dcgm_detail {

enum class field : std::uint8_t { none, sm, engine, percent, used, free, reserved, total };
[[nodiscard]] inline field field_of(std::string_view name) noexcept {
  struct known {
    std::string_view name;
    field what;
  };
  static constexpr known all[] = {{"DCGM_FI_PROF_SM_ACTIVE", field::sm},
                                  {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", field::engine},
                                  {"DCGM_FI_DEV_GPU_UTIL", field::percent},
                                  {"DCGM_FI_DEV_FB_USED", field::used},
                                  {"DCGM_FI_DEV_FB_FREE", field::free},
                                  {"DCGM_FI_DEV_FB_RESERVED", field::reserved},
                                  {"DCGM_FI_DEV_FB_TOTAL", field::total},
                                  {"utilization.gpu", field::percent},
                                  {"memory.used", field::used},
                                  {"memory.free", field::free},
                                  {"memory.reserved", field::reserved},
                                  {"memory.total", field::total}};
  for (const auto& k : all)
    if (k.name == name) return k.what;
  return field::none;
}
[[nodiscard]] inline std::optional<double> number(std::string_view s) {
  const std::string text{io_text::trim(s)};
  if (text.empty()) return std::nullopt;
  char* end = nullptr;
  const double v = std::strtod(text.c_str(), &end);
  if (*end != '\0') return std::nullopt;
  return v;
}

struct reading {
  gpu_sample sample;
  std::optional<double> sm, engine, percent;
  std::optional<std::int64_t> used, free, reserved, total;
};

/// False where the value makes no sense for the field.
inline bool put(reading& r, field f, double v) {
  if (std::isnan(v)) return true;  // a metric without a value
  if (v < 0) return false;
  if (f == field::sm || f == field::engine) {
    if (v > 1.000001) return false;
    (f == field::sm ? r.sm : r.engine) = std::fmin(1.0, v);
  } else if (f == field::percent) {
    if (v > 100) return false;
    r.percent = v / 100;
  } else {
    if (v > 1e9) return false;
    const auto b = static_cast<std::int64_t>(v * 1048576.0);
    (f == field::used ? r.used : f == field::free ? r.free : f == field::reserved ? r.reserved : r.total) = b;
  }
  return true;
}
[[nodiscard]] inline gpu_sample finished(reading r) {
  r.sample.utilisation = r.sm ? r.sm : r.engine ? r.engine : r.percent;
  r.sample.memory_used = r.used;
  if (r.total) r.sample.memory_total = r.total;
  else if (r.used && r.free) r.sample.memory_total = *r.used + *r.free + r.reserved.value_or(0);
  return std::move(r.sample);
}

}  // namespace dcgm_detail

/// Reads Prometheus text. `time`: when it was scraped, seconds; a line with its own timestamp (milliseconds) wins.
[[nodiscard]] inline expected<gpu_samples, input_error> read_dcgm_text(const named_text& file, double time) {
  using namespace dcgm_detail;
  gpu_samples out;
  std::map<std::pair<std::string, double>, std::size_t> at;
  std::vector<reading> readings;
  std::size_t line_number = 0;
  bool begun = false;
  const auto fail = [&](std::string found, std::string wanted) {
    return unexpected{input_error{file.name, line_number, std::move(found), std::move(wanted)}};
  };
  for (std::string_view rest = file.text; !rest.empty();) {
    const auto end = rest.find('\n');
    const auto line = io_text::trim(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    ++line_number;
    if (line.empty()) continue;
    if (line[0] == '#') {
      begun = true;
      continue;
    }
    std::size_t n = 0;
    while (n < line.size() && line[n] != '{' && line[n] != ' ') ++n;
    const auto name = line.substr(0, n);
    const bool metric = n < line.size() && line[n] == '{' &&
                        name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_:") ==
                            std::string_view::npos &&
                        !name.empty();
    if (!metric && !begun) continue;
    begun = true;
    const field f = field_of(name);
    if (f == field::none) {
      ++out.other_lines;
      continue;
    }
    const auto m = metric ? parse_prometheus(line) : std::nullopt;
    if (!m) return fail(io_text::quoted(line), "metric{label=\"value\"} number");
    const std::string_view tail = m->rest;
    const auto blank = tail.find(' ');
    const auto v = number(tail.substr(0, blank));
    double when = time;
    if (blank != std::string_view::npos) {
      const auto stamp = number(tail.substr(blank));
      if (!stamp || !std::isfinite(*stamp))
        return fail("timestamp " + io_text::quoted(tail.substr(blank + 1)), "milliseconds");
      when = *stamp / 1000;
    }
    if (!v) return fail("value " + io_text::quoted(tail), "a number");
    std::string device{m->label("UUID")};
    if (device.empty()) return fail(std::string{name} + " without a UUID", "the label UUID");
    if (const auto mig = m->label("GPU_I_ID"); !mig.empty()) device.append("/").append(mig);
    const auto [it, fresh] = at.emplace(std::pair{device, when}, readings.size());
    if (fresh) {
      readings.emplace_back();
      readings.back().sample.time = when;
      readings.back().sample.device = device;
    }
    auto& r = readings[it->second];
    if (const auto h = m->label("Hostname"); !h.empty()) r.sample.host = h;
    if (const auto p = m->label("pod"); !p.empty())
      r.sample.owner = std::string{m->label("namespace")} + "/" + std::string{p};
    if (!put(r, f, *v)) return fail(std::string{name} + " of " + std::string{tail}, "a value in the metric's range");
  }
  for (auto& r : readings) out.samples.push_back(finished(std::move(r)));
  return out;
}

namespace dcgm_detail {

/// "2026/07/14 09:00:44.579" (also with dashes or T) or seconds, as seconds since 1970, taken as UTC.
[[nodiscard]] inline std::optional<double> time_of(std::string_view s) {
  if (const auto n = number(s)) return std::isfinite(*n) ? n : std::nullopt;
  int part[6] = {};
  std::size_t i = 0;
  double fraction = 0;
  for (int k = 0; k < 6; ++k) {
    const std::size_t first = i;
    while (i < s.size() && io_text::is_digit(s[i])) ++i;
    const auto n = io_text::parse_count(s.substr(first, i - first), 9999);
    if (!n) return std::nullopt;
    part[k] = static_cast<int>(*n);
    if (k < 5 && (i >= s.size() || std::string_view{"/-T: "}.find(s[i]) == std::string_view::npos)) return std::nullopt;
    if (k < 5) ++i;
  }
  if (i < s.size()) {
    if (s[i] != '.') return std::nullopt;
    const auto f = number("0" + std::string{s.substr(i)});
    if (!f) return std::nullopt;
    fraction = *f;
  }
  if (part[1] < 1 || part[1] > 12 || part[2] < 1 || part[2] > 31 || part[3] > 23 || part[4] > 59 || part[5] > 60)
    return std::nullopt;
  // Days from the civil date (H. Hinnant's algorithm, public domain).
  const int y = part[0] - (part[1] <= 2 ? 1 : 0);
  const int era = y / 400, yoe = y - era * 400;
  const int doy = (153 * (part[1] + (part[1] > 2 ? -3 : 9)) + 2) / 5 + part[2] - 1;
  const int days = era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
  return static_cast<double>(days) * 86400.0 + part[3] * 3600 + part[4] * 60 + part[5] + fraction;
}

}  // namespace dcgm_detail

/// Reads CSV with a header line. `time`: of rows without a timestamp. "[N/A]" and such are absent values.
[[nodiscard]] inline expected<gpu_samples, input_error> read_gpu_csv(const named_text& file, double time) {
  using namespace dcgm_detail;
  gpu_samples out;
  std::size_t line_number = 0;
  const auto fail = [&](std::string found, std::string wanted) {
    return unexpected{input_error{file.name, line_number, std::move(found), std::move(wanted)}};
  };
  struct heading {
    field what = field::none;
    std::string name;
  };
  std::vector<heading> header;
  for (std::string_view rest = file.text; !rest.empty();) {
    const auto end = rest.find('\n');
    const auto line = io_text::trim(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    ++line_number;
    if (line.empty()) continue;
    const auto cell = csv_cells(line);
    if (header.empty()) {
      bool uuid = false;
      for (const auto c : cell) {
        const auto name = io_text::trim(c.substr(0, c.find('[')));
        header.push_back({field_of(name), io_text::lower(name)});
        uuid = uuid || header.back().name == "uuid";
      }
      if (!uuid) return fail("a header without uuid", "uuid, and utilization.gpu or DCGM_FI_ columns");
      continue;
    }
    if (cell.size() != header.size())
      return fail(std::to_string(cell.size()) + " columns", std::to_string(header.size()) + ", as in the header");
    reading r;
    r.sample.time = time;
    std::string space, pod, instance;
    for (std::size_t i = 0; i < cell.size(); ++i) {
      auto value = cell[i];
      const auto& h = header[i];
      if (h.name == "uuid") r.sample.device = value;
      else if (h.name == "hostname") r.sample.host = value;
      else if (h.name == "namespace") space = value;
      else if (h.name == "pod") pod = value;
      else if (h.name == "gpu_i_id") instance = value;
      else if (h.name == "timestamp") {
        const auto t = time_of(value);
        if (!t) return fail("timestamp " + io_text::quoted(value), "2026/07/14 09:00:44.579 or seconds");
        r.sample.time = *t;
      }
      if (h.what == field::none || value.empty() || value[0] == '[') continue;
      const auto blank = value.find(' ');
      const auto v = number(value.substr(0, blank));
      const auto unit = blank == std::string_view::npos ? std::string_view{} : io_text::trim(value.substr(blank));
      if (!v || !put(r, h.what, *v) || (!unit.empty() && unit != "%" && unit != "MiB"))
        return fail(h.name + " " + io_text::quoted(value), "a number in its range, with % or MiB");
    }
    if (r.sample.device.empty()) return fail("a row without a uuid", "a uuid");
    if (!instance.empty()) r.sample.device += "/" + instance;
    if (!pod.empty()) r.sample.owner = space + "/" + pod;
    out.samples.push_back(finished(std::move(r)));
  }
  if (header.empty()) return fail("an empty file", "a header and rows");
  return out;
}

}  // namespace berth
