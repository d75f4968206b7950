#pragma once
/// \file
/// Koordinator, as far as it needs no eviction.
///
/// | asked | answered by | source, in koordinator-sh/koordinator |
/// |---|---|---|
/// | place a gang on a network topology | `koordinator_topology` |
/// pkg/scheduler/plugins/coscheduling/core/network_topology_solver.go | | runtime quota | `koordinator_runtime` |
/// docs/proposals/scheduling/20220722-multi-hierarchy-elastic-quota-management.md |

#include "berth/profile/koordinator_topology.hpp"
#include "berth/quota/division/koordinator.hpp"
