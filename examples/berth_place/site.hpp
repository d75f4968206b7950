#pragma once
// The cluster with who holds what on it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/part_setup.hpp"
#include "berth/cluster/spec.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/hold_parts.hpp"
#include "berth/io/resolve_spread.hpp"
#include "berth/io/stated_by.hpp"
#include "berth/io/text_file.hpp"
#include "berth_place/options.hpp"

namespace berth_place {

struct site {
  berth::cluster_spec spec;
  std::unique_ptr<berth::part_catalogue> parts;  // where the gang asks for parts of GPUs; outlives `live`
  std::unique_ptr<berth::cluster> live;
  berth::user_names users;                                         // of shares; ids in needs stand for them
  std::vector<berth::running_job> running;                         // the same, as rules of spreading see them
  std::vector<std::string> jobs;                                   // names; job i is committed under key_of(i)
  std::vector<std::pair<std::string, std::string>> level_aliases;  // {other name, level}
  std::vector<std::string> occupied;                               // what holds parts of it before the gang came
  std::vector<std::string> conflicts;                              // between its files
  std::vector<std::string> notes;                                  // all else that was decided on the way
};

[[nodiscard]] constexpr berth::job_key key_of(std::size_t job) noexcept {
  return berth::job_key{job};
}

// How a user states what the cluster's files leave open.
[[nodiscard]] berth::stated_by ways_to_state();

// Reads the cluster and occupies it, ready for such a job. Nodes that the job names become labels, in both.
[[nodiscard]] berth::expected<site, berth::input_error> load_site(const options& o, job_request& request);

// What a file is that holds no job, and what takes it: a program, or one of our options.
struct file_use {
  std::string what, taker;
};
// \param may_be_occupancy  whether text of no known kind is tried as that, whose lines have no mark of their own
[[nodiscard]] std::optional<file_use> other_use(const berth::named_text& file, bool may_be_occupancy);

// The job of `--job`, whatever kind of file it is.
[[nodiscard]] berth::expected<job_request, berth::input_error> read_job_file(const options& o);

}  // namespace berth_place
