#pragma once
// `berth-replay gavel`: which part of its time each job should run on which GPU type, from a throughput table, and what
// rounds of turns make of it.

#include <cstdint>
#include <string>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"

namespace berth_replay {

struct gavel_options {
  std::string table, jobs;  // files; without jobs there is one of every line of the table
  std::string gpus;         // "v100=8,k80=24"
  std::string goal = "max_min";
  bool by_job = false;
  bool spread = false;
  std::uint32_t rounds = 500;
  std::string json;
};

// What is printed, and what is written as JSON.
struct gavel_answer {
  std::string text, json;
};
[[nodiscard]] berth::expected<gavel_answer, std::string> run_gavel(const gavel_options& o);

}  // namespace berth_replay
