#pragma once
/// \file
/// A cluster as read from files or made by a preset, before it becomes live state: the domain tree, the kinds of
/// machine, and every node by name. Plain data; readers fill it, `cluster` is built from it.

#include <cstdint>
#include <string>
#include <vector>

#include "berth/cluster/uplinks.hpp"
#include "berth/core/id.hpp"
#include "berth/core/units.hpp"
#include "berth/topology/domain_tree.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth {

/// One node. Its id is its index in `cluster_spec::nodes`, which is the order of the domain tree.
struct node_spec {
  std::string name{};
  shape_id shape{};
  std::vector<std::string> labels{};  ///< "key=value" or bare words, such as Slurm features; sorted, without duplicates
  cpu_millis cpu{};                   ///< schedulable CPUs
  bytes memory{};                     ///< schedulable memory
  bool usable = true;                 ///< false: down or drained when the files were written; nothing new lands there
};

/// A whole cluster, nothing allocated.
struct cluster_spec {
  domain_tree tree{};
  std::vector<node_shape> shapes{};
  std::vector<node_spec> nodes{};          ///< by node id
  uplink_rates uplinks{};                  ///< what the links between domains carry, where it is known
  std::vector<std::string> assumptions{};  ///< what no file stated, one sentence each; tools must print them
};

}  // namespace berth
