#pragma once
/// \file
/// Layouts of MIG GPUs as text and SVG.

#include <string>
#include <vector>

#include "berth/topology/mig_geometry.hpp"

namespace berth_mig {

/// One row of placement units: "[3g.40gb@0      ][1g@4]..", dots for free units.
std::string as_line(const berth::mig_geometry& g, berth::mig_set instances);

/// "3g.40gb@0 1g.10gb@4", by start.
std::string as_words(const berth::mig_geometry& g, berth::mig_set instances);

/// Profiles that still fit beside the instances, a line each: how many, and the legal starts.
std::string what_fits(const berth::mig_geometry& g, berth::mig_set instances);

struct labelled_layout {
  std::string label;
  berth::mig_set instances = 0;
};
/// A picture with a row per layout.
std::string as_svg(const berth::mig_geometry& g, const std::vector<labelled_layout>& rows);

}  // namespace berth_mig
