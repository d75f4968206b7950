#pragma once
/// \file
/// Whether two node shapes are the same hardware.

#include <cstddef>

#include "berth/topology/node_shape.hpp"

namespace berth {

/// Equal in everything but the name. O(devices²).
[[nodiscard]] inline bool same_hardware(const node_shape& a, const node_shape& b) {
  if (a.devices != b.devices || a.models != b.models || !(a.bandwidth == b.bandwidth) || a.cpu != b.cpu ||
      a.memory != b.memory || a.numa.size() != b.numa.size() || a.pcie_switches != b.pcie_switches ||
      a.nics.size() != b.nics.size() || a.host_links.size() != b.host_links.size() ||
      !(a.numa_bandwidth == b.numa_bandwidth))
    return false;
  for (std::size_t i = 0; i < a.host_links.size(); ++i)
    if (a.host_links[i].devices != b.host_links[i].devices || a.host_links[i].rate != b.host_links[i].rate)
      return false;
  for (std::size_t i = 0; i < a.numa.size(); ++i)
    if (a.numa[i].devices != b.numa[i].devices || a.numa[i].cpu != b.numa[i].cpu ||
        a.numa[i].memory != b.numa[i].memory)
      return false;
  for (std::size_t i = 0; i < a.nics.size(); ++i)
    if (a.nics[i].devices != b.nics[i].devices || a.nics[i].rate != b.nics[i].rate || a.nics[i].rail != b.nics[i].rail)
      return false;
  return true;
}

}  // namespace berth
