#pragma once
/// \file
/// Nodes of shared GPUs and tasks, as the tests of packing policies write them.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/cluster/share_node.hpp"
#include "berth/core/random.hpp"

namespace packing_test {

using namespace berth;

inline share_node node_with(std::int64_t cores, std::vector<unsigned> free, unsigned model = 0) {
  share_node n;
  n.cpu = cpus(cores);
  n.memory = gibibytes(512);
  n.devices = static_cast<std::uint8_t>(free.size());
  n.model = static_cast<std::uint8_t>(model);
  for (std::size_t g = 0; g < free.size(); ++g) n.free[g] = static_cast<std::uint16_t>(free[g]);
  return n;
}
inline share_task task(std::int64_t cores, unsigned devices, unsigned share = 1000) {
  share_task t;
  t.cpu = cpus(cores);
  t.devices = static_cast<std::uint8_t>(devices);
  t.share = static_cast<std::uint16_t>(devices == 0 ? 0 : share);
  return t;
}

/// Any kind of task, some for some of three models only.
inline share_task random_task(random_source& random) {
  share_task t;
  t.cpu = cpus(static_cast<std::int64_t>(random.below(6)));
  t.memory = gibibytes(static_cast<std::int64_t>(random.below(8)));
  t.devices = static_cast<std::uint8_t>(random.below(4) == 0 ? random.below(4) : 1);
  t.share = t.devices == 0  ? std::uint16_t{0}
            : t.devices > 1 ? whole_device
                            : static_cast<std::uint16_t>(100 * (1 + random.below(10)));
  if (random.below(4) == 0) t.models = 1 + random.below(7);
  return t;
}

}  // namespace packing_test
