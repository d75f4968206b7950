#pragma once
/// \file
/// Measured throughput by job type, number of GPUs and GPU type, and lists of jobs, in the forms of Gavel
/// (stanford-futuredata/gavel, OSDI 2020). Needs nlohmann-json.
///
/// Throughput comes as the published JSON (`scheduler/simulation_throughputs.json`), of which the jobs running alone
/// are read, not the pairs that share a GPU:
///
///     { "v100": { "('A3C', 1)": { "null": 7.17577, "('A3C', 1)": [3.5, 3.5] } },
///       "v100_unconsolidated": { … } }
///
/// or as CSV, cells in double quotes where they hold commas:
///
///     job_type,num_gpus,k80,v100,v100_unconsolidated
///     "LM (batch size 10)",2,29.98486,163.12902,35.14049
///
/// Steps per second. `X_unconsolidated`: on type X with the workers on several servers. An empty cell, or a job type
/// that a type of the JSON does not list, is not measured. Jobs: columns job_id, job_type, total_steps, num_gpus and,
/// where there, priority_weight and submit_s. Faults name file and line.

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/csv_table.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"
#include "berth/solver/type_shares.hpp"

namespace berth {

/// Steps per second on one GPU type.
struct gavel_rate {
  std::optional<double> packed;  ///< on as few servers as possible
  std::optional<double> spread;  ///< on several servers
};
/// What a job type reaches on so many GPUs.
struct gavel_line {
  std::string job_type;
  std::uint32_t gpus = 1;
  std::vector<gavel_rate> on;  ///< by GPU type
};
struct gavel_table {
  std::vector<std::string> types;  ///< GPU types
  std::vector<gavel_line> lines;   ///< each (job type, GPUs) once, in the order of the file
  /// Null where it was not measured. O(lines).
  [[nodiscard]] const gavel_line* find(std::string_view job_type, std::uint32_t gpus) const noexcept {
    for (const gavel_line& l : lines)
      if (l.gpus == gpus && l.job_type == job_type) return &l;
    return nullptr;
  }
};
struct gavel_job {
  std::string id;
  std::size_t line = 0;    ///< of the table
  std::int64_t steps = 0;  ///< to do, > 0
  double weight = 1;       ///< > 0
  double submit_seconds = 0;
};

namespace gavel_detail {

inline constexpr std::size_t max_types = 64, max_lines = 100'000;
inline constexpr std::uint32_t max_gpus = 1'000'000;
inline constexpr std::string_view spread_suffix = "_unconsolidated";

/// Lines by what they are about.
using line_index = std::map<std::pair<std::string, std::uint32_t>, std::size_t>;

/// A plain decimal number from 0 to 10^12.
[[nodiscard]] inline std::optional<double> number(std::string_view text) noexcept {
  double v = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(v) || v < 0 || v > 1e12 || text.front() == '-') return std::nullopt;
  return v;
}

/// A cell as such a number.
[[nodiscard]] inline expected<double, input_error> real(const io_text::csv_table& s, std::size_t c) {
  if (const auto v = number(s.cell(c))) return *v;
  return unexpected{s.error(s.header()[c] + " " + io_text::quoted(s.cell(c)), "a number from 0 to 10^12")};
}

/// The type that a column or a member of the JSON is about, and whether for spread workers.
[[nodiscard]] inline std::pair<std::string_view, bool> type_of(std::string_view name) noexcept {
  const bool spread = name.size() > spread_suffix.size() && name.ends_with(spread_suffix);
  if (spread) name.remove_suffix(spread_suffix.size());
  return {name, spread};
}
/// Its number; the number of types where there are too many.
[[nodiscard]] inline std::size_t number_of(std::vector<std::string>& types, std::string_view name) {
  std::size_t t = 0;
  while (t < types.size() && types[t] != name) ++t;
  if (t == types.size() && t < max_types) types.emplace_back(name);
  return t;
}

[[nodiscard]] inline expected<gavel_table, input_error> read_csv(const named_text& file) {
  io_text::csv_table s{file};
  if (auto ok = s.read_header({"job_type", "num_gpus"}); !ok) return unexpected{std::move(ok).error()};
  const std::size_t name = *s.column("job_type"), gpus = *s.column("num_gpus");
  gavel_table out;
  struct place {
    std::size_t column, type;
    bool spread;
  };
  std::vector<place> places;
  for (std::size_t c = 0; c < s.header().size(); ++c) {
    if (c == name || c == gpus) continue;
    const auto [type, spread] = type_of(s.header()[c]);
    if (type.empty()) return unexpected{s.error("a column without a name", "a GPU type as its name")};
    const std::size_t t = number_of(out.types, type);
    if (t == max_types) return unexpected{s.error("one GPU type more", "at most 64 GPU types")};
    places.push_back({c, t, spread});
  }
  line_index lines;
  if (places.empty()) return unexpected{s.error("no column of a GPU type", "one column or more beside job_type")};
  for (;;) {
    const auto more = s.next();
    if (!more) return unexpected{more.error()};
    if (!*more) break;
    const auto n = s.count(gpus, 1, max_gpus);
    if (!n) return unexpected{n.error()};
    gavel_line l{s.cell(name), static_cast<std::uint32_t>(*n), std::vector<gavel_rate>(out.types.size())};
    if (l.job_type.empty()) return unexpected{s.error("no job_type", "a name")};
    if (!lines.emplace(std::pair{l.job_type, l.gpus}, out.lines.size()).second)
      return unexpected{s.error(io_text::quoted(l.job_type) + " on " + std::to_string(l.gpus) + " GPUs again",
                                "each job type and number of GPUs once")};
    for (const place& p : places) {
      if (s.cell(p.column).empty()) continue;
      const auto v = gavel_detail::real(s, p.column);
      if (!v) return unexpected{v.error()};
      (p.spread ? l.on[p.type].spread : l.on[p.type].packed) = *v;
    }
    if (out.lines.size() == max_lines)
      return unexpected{s.error("one line more", "at most " + std::to_string(max_lines) + " lines")};
    out.lines.push_back(std::move(l));
  }
  if (out.lines.empty()) return unexpected{input_error{file.name, 0, "no job type", "one or more"}};
  return out;
}

/// "('LM (batch size 10)', 2)".
[[nodiscard]] inline std::optional<std::pair<std::string_view, std::uint32_t>> key_of(std::string_view key) noexcept {
  if (!key.starts_with("('") || !key.ends_with(')')) return std::nullopt;
  const std::size_t quote = key.rfind("', ");
  if (quote == std::string_view::npos || quote <= 2) return std::nullopt;
  const auto n = io_text::parse_count(key.substr(quote + 3, key.size() - quote - 4), max_gpus);
  if (!n || *n == 0) return std::nullopt;
  return std::pair{key.substr(2, quote - 2), static_cast<std::uint32_t>(*n)};
}
[[nodiscard]] inline expected<gavel_table, input_error> read_json(const named_text& file) {
  const auto root = parse_json(file.text, file.name);
  if (!root) return unexpected{root.error()};
  const auto fault = [&](const json_value& at, std::string found, std::string wanted) {
    return unexpected{input_error{file.name, at.line, std::move(found), std::move(wanted)}};
  };
  if (root->type != json_value::kind::object) return fault(*root, root->described(), "an object of GPU types");
  gavel_table out;
  line_index lines;
  for (std::size_t i = 0; i < root->items.size(); ++i) {
    const json_value& jobs = root->items[i];
    const auto [type, spread] = type_of(root->keys[i]);
    if (type.empty()) return fault(jobs, "a GPU type without a name", "a name");
    const std::size_t t = number_of(out.types, type);
    if (t == max_types) return fault(jobs, "one GPU type more", "at most 64 GPU types");
    if (jobs.type != json_value::kind::object) return fault(jobs, jobs.described(), "an object of job types");
    for (std::size_t k = 0; k < jobs.items.size(); ++k) {
      const json_value& job = jobs.items[k];
      const auto key = key_of(jobs.keys[k]);
      if (!key) return fault(job, "key " + io_text::quoted(jobs.keys[k]), "a key such as ('A3C', 1)");
      const json_value* const alone = job.find("null");
      if (alone == nullptr) return fault(job, "no member \"null\" of " + io_text::quoted(jobs.keys[k]), "steps alone");
      if ((alone->type != json_value::kind::real && alone->type != json_value::kind::integer) || !(alone->real >= 0) ||
          alone->real > 1e12)
        return fault(*alone, alone->described(), "steps per second from 0 to 10^12");
      // At most 1000 keys an object and 64 types bound the number of lines.
      const auto [at, fresh] = lines.emplace(std::pair{std::string{key->first}, key->second}, out.lines.size());
      if (fresh) out.lines.push_back({at->first.first, key->second, {}});
      gavel_line& line = out.lines[at->second];
      if (line.on.size() <= t) line.on.resize(t + 1);
      (spread ? line.on[t].spread : line.on[t].packed) = alone->real;
    }
  }
  for (gavel_line& l : out.lines) l.on.resize(out.types.size());
  if (out.lines.empty()) return fault(*root, "no job type", "one or more");
  return out;
}

}  // namespace gavel_detail

/// Reads either form. O(bytes + lines log lines).
[[nodiscard]] inline expected<gavel_table, input_error> read_gavel_throughputs(const named_text& file) {
  std::string_view text = file.text;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' ? gavel_detail::read_json(file)
                                                               : gavel_detail::read_csv(file);
}

/// Reads a list of jobs whose types were measured. O(bytes + (jobs + lines) log lines).
[[nodiscard]] inline expected<std::vector<gavel_job>, input_error> read_gavel_jobs(const named_text& file,
                                                                                   const gavel_table& table) {
  io_text::csv_table s{file};
  if (auto ok = s.read_header({"job_id", "job_type", "total_steps", "num_gpus"}); !ok)
    return unexpected{std::move(ok).error()};
  const std::size_t id = *s.column("job_id"), type = *s.column("job_type"), steps = *s.column("total_steps"),
                    gpus = *s.column("num_gpus");
  const auto weight = s.column("priority_weight"), submit = s.column("submit_s");
  gavel_detail::line_index lines;
  for (std::size_t l = 0; l < table.lines.size(); ++l)
    lines.emplace(std::pair{table.lines[l].job_type, table.lines[l].gpus}, l);
  std::vector<gavel_job> out;
  for (;;) {
    const auto more = s.next();
    if (!more) return unexpected{more.error()};
    if (!*more) break;
    gavel_job job;
    job.id = s.cell(id);
    if (job.id.empty()) return unexpected{s.error("no job_id", "a name")};
    const auto n = s.count(gpus, 1, gavel_detail::max_gpus), todo = s.count(steps, 1, std::uint64_t{1} << 53);
    for (const auto* v : {&n, &todo})
      if (!*v) return unexpected{v->error()};
    const auto line = lines.find({s.cell(type), static_cast<std::uint32_t>(*n)});
    if (line == lines.end())
      return unexpected{s.error("job type " + io_text::quoted(s.cell(type)) + " on " + std::to_string(*n) + " GPUs",
                                "one that was measured")};
    job.line = line->second;
    job.steps = static_cast<std::int64_t>(*todo);
    if (weight) {
      const auto v = gavel_detail::real(s, *weight);
      if (!v) return unexpected{v.error()};
      if (*v == 0) return unexpected{s.error("priority_weight 0", "a weight above 0")};
      job.weight = *v;
    }
    if (submit) {
      const auto v = gavel_detail::real(s, *submit);
      if (!v) return unexpected{v.error()};
      job.submit_seconds = *v;
    }
    if (out.size() == gavel_detail::max_lines)
      return unexpected{s.error("one job more", "at most " + std::to_string(gavel_detail::max_lines) + " jobs")};
    out.push_back(std::move(job));
  }
  if (out.empty()) return unexpected{input_error{file.name, 0, "no job", "one or more"}};
  return out;
}

/// Jobs for `type_shares`, those of one kind as one line.
struct gavel_classes {
  std::vector<typed_job> lines;
  std::vector<std::size_t> table_line;  ///< of each line, in the table
  std::vector<std::uint32_t> line_of;   ///< by job
};
/// What is not measured counts as not served. \param spread  rates with the workers on several servers
/// \param per_gpu  weights are priority / GPUs, as Gavel's published objective has them, instead of the priority
/// O(jobs log jobs).
[[nodiscard]] inline gavel_classes classes_of(const gavel_table& table, const std::vector<gavel_job>& jobs,
                                              bool spread = false, bool per_gpu = true) {
  gavel_classes out;
  std::map<std::pair<std::size_t, double>, std::uint32_t> known;
  for (const gavel_job& job : jobs) {
    const auto [at, fresh] = known.emplace(std::pair{job.line, job.weight}, static_cast<std::uint32_t>(known.size()));
    out.line_of.push_back(at->second);
    if (!fresh) {
      ++out.lines[at->second].count;
      continue;
    }
    const gavel_line& l = table.lines[job.line];
    typed_job t;
    for (const gavel_rate& r : l.on) t.throughput.push_back((spread ? r.spread : r.packed).value_or(0));
    t.devices = l.gpus;
    t.weight = per_gpu ? job.weight / l.gpus : job.weight;
    out.lines.push_back(std::move(t));
    out.table_line.push_back(job.line);
  }
  return out;
}

}  // namespace berth
