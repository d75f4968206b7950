#include "berth_replay/gavel.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "berth/io/gavel.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"
#include "berth/solver/type_shares.hpp"
#include "berth/solver/type_turns.hpp"

namespace berth_replay {

namespace {

using berth::unexpected;

constexpr std::size_t most_pairs = 1500;  // of kinds of jobs and types: the linear program is dense

// GPUs by type of the table.
berth::expected<std::vector<std::uint32_t>, std::string> parse_gpus(const std::string& text,
                                                                    const std::vector<std::string>& types) {
  std::vector<std::uint32_t> out(types.size(), 0);
  std::vector<bool> given(types.size(), false);
  std::string known;
  for (const auto& t : types) known += (known.empty() ? "" : ", ") + t;
  const auto fault = [&](std::string_view part) {
    return unexpected{"--gpus: found " + berth::io_text::quoted(part) + ", expected TYPE=NUMBER, each type once, of " +
                      known};
  };
  std::string_view rest = text;
  for (;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) return fault(part);
    const auto n = berth::io_text::parse_count(part.substr(equals + 1), 1'000'000);
    std::size_t t = 0;
    while (t < types.size() && types[t] != part.substr(0, equals)) ++t;
    if (!n || t == types.size() || given[t]) return fault(part);
    given[t] = true;
    out[t] = static_cast<std::uint32_t>(*n);
    if (comma == std::string_view::npos) return out;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace

berth::expected<gavel_answer, std::string> run_gavel(const gavel_options& o) {
  const auto table_file = berth::read_text_file(o.table);
  if (!table_file) return unexpected{table_file.error().message()};
  const auto table = berth::read_gavel_throughputs(*table_file);
  if (!table) return unexpected{table.error().message()};
  const auto devices = parse_gpus(o.gpus, table->types);
  if (!devices) return unexpected{devices.error()};
  std::vector<berth::gavel_job> jobs;
  if (o.jobs.empty()) {
    for (std::size_t l = 0; l < table->lines.size(); ++l) jobs.push_back({std::to_string(l), l, 1, 1, 0});
  } else {
    const auto job_file = berth::read_text_file(o.jobs);
    if (!job_file) return unexpected{job_file.error().message()};
    auto read = berth::read_gavel_jobs(*job_file, *table);
    if (!read) return unexpected{read.error().message()};
    jobs = std::move(*read);
  }
  auto c = berth::classes_of(*table, jobs, o.spread, !o.by_job);
  if (c.lines.size() * table->types.size() > most_pairs)
    return unexpected{fmt::format("{}: found {} kinds of jobs on {} types, expected at most {} pairs",
                                  o.jobs.empty() ? o.table : o.jobs, c.lines.size(), table->types.size(), most_pairs)};
  const std::size_t types = table->types.size(), lines = c.lines.size();
  double all = 0, wanted = 0;
  for (const auto d : *devices) all += d;
  for (const auto& l : c.lines) wanted += 1.0 * l.count * l.devices;
  // What a job has when each has the same part of the time, its own part of every type.
  const double equal_part = wanted > all ? all / wanted : 1;
  for (std::size_t m = 0; m < lines; ++m) {
    bool served = false;
    for (std::size_t t = 0; t < types; ++t) {
      // A job runs on all of its GPUs at a time: time on a type with fewer would come to nothing.
      if ((*devices)[t] < c.lines[m].devices) c.lines[m].throughput[t] = 0;
      served |= c.lines[m].throughput[t] > 0;
    }
    if (!served) {
      const auto& l = table->lines[c.table_line[m]];
      return unexpected{
          fmt::format("--gpus: found no type on which {} on {} was measured{} and that has as many, expected one",
                      berth::io_text::quoted(l.job_type), berth::io_text::counted(c.lines[m].devices, "GPU"),
                      o.spread ? " spread" : "")};
    }
  }
  const auto shares = o.goal == "max_min" ? berth::max_min_type_shares(c.lines, *devices)
                                          : berth::max_throughput_type_shares(c.lines, *devices);
  if (!shares) return unexpected{o.table + ": found no shares, expected a job and a type that serves it"};
  std::vector<double> equal = shares->usual;
  for (double& e : equal) e *= equal_part;

  // The same in rounds: what jobs then got.
  berth::type_turns turns{types};
  for (const auto line : c.line_of) static_cast<void>(turns.add(c.lines[line].devices, shares->part[line]));
  for (std::uint32_t r = 0; r < o.rounds; ++r) static_cast<void>(turns.round(*devices, 360));
  std::vector<double> realised(lines, 0);
  double worst = 0;
  for (std::uint32_t j = 0; j < jobs.size(); ++j) {
    const auto line = c.line_of[j];
    for (std::size_t t = 0; t < types; ++t) {
      const double got = turns.received(j, t);
      realised[line] += c.lines[line].throughput[t] * got / c.lines[line].count;
      worst = std::fmax(worst, std::fabs(got - shares->part[line][t]));
    }
  }

  gavel_answer out;
  auto to = std::back_inserter(out.text);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  fmt::format_to(to, "{:36}{:>6}{:>6}{:>9}", "job type", "GPUs", "jobs", "weight");
  for (const auto& t : table->types) fmt::format_to(to, "{:>9}", t + " %");
  fmt::format_to(to, "{:>12}{:>10}{:>10}\n", "steps/s", "x equal", "in rounds");
  double sum = 0, rounds_sum = 0;
  for (std::size_t m = 0; m < lines; ++m) {
    const auto& l = table->lines[c.table_line[m]];
    const auto& job = c.lines[m];
    const double steps = shares->throughput(job, m);
    sum += job.count * steps / equal[m];
    rounds_sum += job.count * realised[m] / equal[m];
    fmt::format_to(to, "{:36}{:6}{:6}{:9.3g}", l.job_type, l.gpus, job.count, job.weight);
    nlohmann::ordered_json by_type;
    for (std::size_t t = 0; t < types; ++t) {
      fmt::format_to(to, "{:9.1f}", 100 * shares->part[m][t]);
      by_type[table->types[t]] = shares->part[m][t];
    }
    fmt::format_to(to, "{:12.4g}{:10.3f}{:10.3f}\n", steps, steps / equal[m], realised[m] / equal[m]);
    list.push_back({{"job_type", l.job_type},
                    {"gpus", l.gpus},
                    {"jobs", job.count},
                    {"weight", job.weight},
                    {"shares", std::move(by_type)},
                    {"steps_per_second", steps},
                    {"of_equal_shares", steps / equal[m]},
                    {"of_equal_shares_in_rounds", realised[m] / equal[m]}});
  }
  const double mean = sum / static_cast<double>(jobs.size()), in_rounds = rounds_sum / static_cast<double>(jobs.size());
  fmt::format_to(to, "{}: {}, mean throughput {:.3f} x equal shares, in {} {:.3f} (largest gap {:.1f} %)\n", o.goal,
                 berth::io_text::counted(jobs.size(), "job"), mean, berth::io_text::counted(o.rounds, "round"),
                 in_rounds, 100 * worst);
  out.json = nlohmann::ordered_json{{"goal", o.goal},
                                    {"level", shares->level},
                                    {"mean_of_equal_shares", mean},
                                    {"mean_in_rounds", in_rounds},
                                    {"largest_gap", worst},
                                    {"jobs", std::move(list)}}
                 .dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
             "\n";
  return out;
}

}  // namespace berth_replay
