#pragma once
/// \file
/// Every question one can ask a hardware graph: paths between two devices, bandwidth inside a set and across its
/// middle.

#include "berth/topology/graph/bisection.hpp"
#include "berth/topology/graph/paths.hpp"
