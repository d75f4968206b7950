#pragma once
// `berth-replay openb`: arrivals without departures on the openb cluster, policies side by side.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/sim/packing_run.hpp"

namespace berth_replay {

struct openb_options {
  std::vector<std::string> pods;  // one or more lists
  std::string nodes;
  std::vector<std::string> policies;
  std::uint64_t first_seed = 42, last_seed = 51;
  double load = 1.3;
  std::string ties = "random";  // or "name": which node gets a task among those that score alike
  std::string json, html;
};

struct openb_result {
  std::string policy, pods;
  std::uint64_t seed = 0;
  std::uint64_t capacity = 0;
  berth::packing_run run;
};

struct policy_help {
  const char* name;
  const char* text;
};
// What --policy takes.
[[nodiscard]] const std::vector<policy_help>& openb_policies();

// Whether it is a policy of `openb_policies`.
[[nodiscard]] bool is_openb_policy(const std::string& name);

// Runs everything; notes go to standard error, progress too where that is a terminal.
[[nodiscard]] berth::expected<std::vector<openb_result>, berth::input_error> run_openb(const openb_options& o);

[[nodiscard]] std::string openb_table(const std::vector<openb_result>& results);
[[nodiscard]] std::string openb_json(const std::vector<openb_result>& results);
[[nodiscard]] std::string openb_html(const std::vector<openb_result>& results);

// Allocated at a percent of load: as after the last arrival that rounds to no more. Empty where the run ended before.
[[nodiscard]] std::optional<double> allocated_at(const berth::packing_run& r, std::size_t percent);

}  // namespace berth_replay
