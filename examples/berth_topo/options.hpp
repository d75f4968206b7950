#pragma once
// The command line of berth-topo.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/merge/site.hpp"

namespace berth_topo {

inline constexpr int exit_clean = 0;
inline constexpr int exit_findings = 1;
inline constexpr int exit_unreadable = 2;

struct options {
  std::string command;  // "show", "check", "convert", "distance", "bisect"; "" for help
  std::string help;     // what to print instead
  std::vector<std::string> files;
  bool json = false;
  bool ascii = false;
  bool shared = false;  // show --json: one inside for equal machines
  std::string svg;
  std::string to;                   // convert
  std::string name;                 // convert: of what is written
  std::vector<std::string> ends;    // distance
  std::vector<std::string> halves;  // bisect
  berth::merge_options merge;
  std::string gpu_model;  // for files that do not say it
};

[[nodiscard]] berth::expected<options, berth::input_error> parse_options(int argc, char** argv);

}  // namespace berth_topo
