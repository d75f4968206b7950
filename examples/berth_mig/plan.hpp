#pragma once
/// \file
/// berth-mig plan: the cheapest steps after which a queue of profiles, or a target mix, fits.

#include <optional>
#include <string>

#include "berth/topology/mig_geometry.hpp"

namespace berth_mig {

struct plan_options {
  std::string state;           ///< file with the GPUs, ours or what nvidia-smi mig -lgi prints
  std::string need, target;    ///< one of the two: "3g.40gb=2,whole=1"
  std::string costs;           ///< "create=2,drain=30", seconds
  std::optional<double> wait;  ///< seconds that what is left out waits; absent: all must be served
  bool restart_drained = false;
  bool json = false;
  std::string svg;
};
/// \returns the exit code
int plan(const berth::mig_geometry& g, const plan_options& o);

}  // namespace berth_mig
