#pragma once
/// \file
/// A job as its owner writes it, and the compact text form of one gang. Levels, GPU models and labels are words here:
/// what they mean is known only beside a concrete cluster.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/units.hpp"
#include "berth/io/text.hpp"
#include "berth/job/gang.hpp"

namespace berth {

/// Tasks that ask the same, by words.
struct group_spec {
  std::string name = "tasks";
  std::uint32_t wanted = 1;
  std::uint32_t minimum = 1;        ///< 1 … wanted
  std::uint32_t gpus = 0;           ///< whole GPUs per task; more than any node has is legal here and never placeable
  cpu_millis cpu{};                 ///< per task
  bytes memory{};                   ///< per task
  std::string gpu_model;            ///< "" for any
  std::vector<std::string> labels;  ///< every one must be on the node

  friend bool operator==(const group_spec&, const group_spec&) = default;
};

/// Equal chunks of a gang, each inside one domain of a level.
struct segment_spec {
  std::uint32_t count = 1;
  std::string level;
  segment_layout layout = segment_layout::free;

  friend bool operator==(const segment_spec&, const segment_spec&) = default;
};

/// A gang by words.
struct job_spec {
  std::string name = "job";
  std::vector<group_spec> groups;
  locality where = locality::unconstrained;
  std::string level;  ///< read unless `where` is unconstrained
  std::optional<segment_spec> segments;

  friend bool operator==(const job_spec&, const job_spec&) = default;
};

/// Most tasks of one group; more is refused as absurd.
inline constexpr std::uint32_t max_tasks = 10'000'000;

/// What is wrong with a job by itself, as {found, expected}; empty when nothing is. O(groups).
[[nodiscard]] inline std::optional<std::pair<std::string, std::string>> fault_of(const job_spec& job) {
  using fault = std::pair<std::string, std::string>;
  if (job.groups.empty()) return fault{"no task group", "at least one"};
  for (std::size_t i = 0; i < job.groups.size(); ++i) {
    const auto& g = job.groups[i];
    const std::string who = "group " + io_text::quoted(g.name);
    if (g.wanted == 0) return fault{who + " with 0 tasks", "at least 1 task"};
    if (g.minimum == 0) return fault{who + " with a minimum of 0 tasks", "at least 1"};
    if (g.minimum > g.wanted)
      return fault{
          who + " with a minimum of " + std::to_string(g.minimum) + " of " + std::to_string(g.wanted) + " tasks",
          "a minimum of at most the number of tasks"};
    if (g.gpus == 0 && g.cpu.count() == 0 && g.memory.count() == 0)
      return fault{who + " that asks for nothing", "gpus, cpus or memory above 0"};
    if (job.segments && (g.wanted % job.segments->count != 0 || g.minimum % (g.wanted / job.segments->count) != 0))
      return fault{who + " with " + std::to_string(g.wanted) + " tasks (at least " + std::to_string(g.minimum) +
                       ") in " + io_text::counted(job.segments->count, "segment"),
                   "tasks that the segments divide evenly, and a minimum that is a whole number of segments"};
    for (std::size_t k = 0; k < i; ++k)
      if (job.groups[k].name == g.name) return fault{"two groups named " + io_text::quoted(g.name), "each name once"};
  }
  return std::nullopt;
}

/// The layout of that name.
[[nodiscard]] inline std::optional<segment_layout> parse_segment_layout(std::string_view s) noexcept {
  if (s == "free") return segment_layout::free;
  if (s == "spread") return segment_layout::spread;
  if (s == "consolidate") return segment_layout::consolidate;
  return std::nullopt;
}

/// Reads `tasks=8,min=4,gpus=8,cpus=16,memory=100GiB,within=leaf,segments=2:leaf:spread`.
///
/// Keys: name, tasks (1), min (as tasks), gpus, cpus, memory (each per task), model, label (may come several times),
/// within or prefer LEVEL, segments COUNT:LEVEL[:free|spread|consolidate].
/// \param source  what messages call the text, such as "--gang".
[[nodiscard]] inline expected<job_spec, input_error> parse_gang(std::string_view text, const std::string& source) {
  static constexpr const char* keys =
      "name, tasks, min, gpus, cpus, memory, model, label, within, prefer or segments, as key=value with commas "
      "between";
  const auto fail = [&](std::string found, std::string expected_text) {
    return unexpected{input_error{source, 0, std::move(found), std::move(expected_text)}};
  };
  if (io_text::find_bad_utf8(text)) return fail("bytes that are no UTF-8", "text");
  job_spec job;
  job.groups.emplace_back();
  group_spec& g = job.groups.front();
  bool has_minimum = false;
  std::vector<std::string_view> seen;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = io_text::trim(rest.substr(0, comma));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals + 1 == item.size()) return fail(io_text::quoted(item), keys);
    const std::string_view key = item.substr(0, equals), value = item.substr(equals + 1);
    const auto wrong = [&](std::string form) { return fail(io_text::quoted(item), std::move(form)); };
    for (const auto s : seen)
      if (s == key && key != "label") return fail("key " + io_text::quoted(key) + " twice", "each key once");
    seen.push_back(key);
    if (key == "name") {
      job.name = std::string{value};
    } else if (key == "tasks" || key == "min") {
      const auto n = io_text::parse_count(value, max_tasks);
      if (!n || *n == 0) return wrong("a number of tasks from 1 to " + std::to_string(max_tasks));
      (key == "min" ? g.minimum : g.wanted) = static_cast<std::uint32_t>(*n);
      has_minimum = has_minimum || key == "min";
    } else if (key == "gpus") {
      const auto n = io_text::parse_count(value, max_tasks);
      if (!n) return wrong("a number of GPUs per task");
      g.gpus = static_cast<std::uint32_t>(*n);
    } else if (key == "cpus") {
      const auto n = io_text::parse_cpus(value);
      if (!n) return wrong("CPUs per task such as 16 or 0.5");
      g.cpu = *n;
    } else if (key == "memory") {
      const auto n = io_text::parse_memory(value);
      if (!n) return wrong(io_text::memory_form);
      g.memory = *n;
    } else if (key == "model") {
      g.gpu_model = std::string{value};
    } else if (key == "label") {
      g.labels.emplace_back(value);
    } else if (key == "within" || key == "prefer") {
      if (job.where != locality::unconstrained) return fail("both within= and prefer=", "one of them");
      job.where = key == "within" ? locality::required : locality::preferred;
      job.level = std::string{value};
    } else if (key == "segments") {
      const std::size_t a = value.find(':');
      const std::size_t b = a == std::string_view::npos ? a : value.find(':', a + 1);
      const auto n = io_text::parse_count(value.substr(0, a), max_tasks);
      segment_spec s;
      if (a != std::string_view::npos)
        s.level = std::string{value.substr(a + 1, b == std::string_view::npos ? b : b - a - 1)};
      const auto layout =
          b == std::string_view::npos ? segment_layout::free : parse_segment_layout(value.substr(b + 1));
      if (!n || *n == 0 || s.level.empty() || !layout)
        return wrong("COUNT:LEVEL or COUNT:LEVEL:LAYOUT with LAYOUT free, spread or consolidate");
      s.count = static_cast<std::uint32_t>(*n);
      s.layout = *layout;
      job.segments = std::move(s);
    } else {
      return fail("key " + io_text::quoted(key), keys);
    }
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (!has_minimum) g.minimum = g.wanted;
  if (auto f = fault_of(job)) return fail(std::move(f->first), std::move(f->second));
  return job;
}

}  // namespace berth
