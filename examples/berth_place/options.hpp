#pragma once
// The command line of berth-place.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/units.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/topology/mig_geometry.hpp"
#include "berth_place/any_placer.hpp"

namespace berth_place {

enum class action { place, show_text };

struct options {
  action what = action::place;
  std::string text;  // what to show instead of placing: help or a list

  std::vector<std::string> cluster;
  std::string gpu_model;  // for files that do not say it
  std::string node_shape;
  std::optional<berth::cpu_millis> node_cpus;
  std::optional<berth::bytes> node_memory;

  std::vector<std::string> gangs;
  std::string job_file;
  std::vector<std::string> job_files;  // that one first, then what it may refer to
  std::string job_name;                // which job of the file; "" for the first
  // For every group of the gang, over what it says itself.
  std::optional<berth::numa_rule> numa;
  bool near_nic = false;
  bool keep_cpu_ratio = false;
  std::optional<berth::bytes_per_second> host_rate, between_nodes;
  bool same_rails = false;
  std::vector<std::string> tolerate;
  std::optional<unsigned> usable_permille;  // of the uplinks' rates
  berth::mig_geometry_options mig;          // which MIG tables to trust
  std::string sharing, instance_sharing;    // how GPUs and MIG instances are shared; "" for what their models allow

  std::string occupied;
  std::optional<std::uint32_t> fill;  // thousandths of all devices
  std::uint64_t seed = 1;

  policy_choice policy;
  std::uint64_t search_steps = 20'000;
  bool json = false;
  bool ascii = false;
  std::string svg;
};

[[nodiscard]] berth::expected<options, berth::input_error> parse_options(int argc, char** argv);

// The job of `--gang` (each one a task group) or `--job`.
struct job_request {
  berth::job_spec job;
  std::string source;
  std::vector<std::string> notes;  // what the job's file leaves open or holds besides
};
[[nodiscard]] berth::expected<job_request, berth::input_error> read_job(const options& o);

}  // namespace berth_place
