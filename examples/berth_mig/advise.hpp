#pragma once
/// \file
/// berth-mig advise: which kind of device suits a request, and what would do for a job that uses little of its own.

#include <cstdint>
#include <optional>
#include <string>

#include "berth/topology/mig_geometry.hpp"

namespace berth_mig {

struct advise_options {
  std::string rules;  ///< file; empty: the table that berth comes with
  bool print_rules = false;
  std::string kind, latency = "none";
  std::uint32_t gpus = 1;
  bool linked = false;
  std::optional<std::uint32_t> memory_mib, gpu_memory_mib, peak_memory_mib;
  std::optional<unsigned> utilisation, peak_compute;
  std::string holds;  ///< profile; empty: the whole GPU
  double hours = 24;
  std::string cuda = "12.0";
  bool json = false;
};
/// \param g  null: the GPU has no MIG that can be trusted \returns the exit code
int advise(const berth::mig_geometry* g, const advise_options& o);

}  // namespace berth_mig
