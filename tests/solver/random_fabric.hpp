#pragma once
// Random small fabrics.

#include <cstdint>
#include <string>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/presets.hpp"
#include "berth/core/random.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace berth_test {

using namespace berth;

/// A random tree of two or three levels with random uplinks; equal nodes of four GPUs.
inline cluster_spec random_fabric(random_source& r) {
  cluster_spec s;
  const bool pods = r.below(2) == 0;
  const auto leaves = static_cast<std::uint32_t>(r.between(2, 3));
  s.tree = pods ? domain_tree_builder::regular({"cluster", "pod", "leaf"}, {2, 2},
                                               static_cast<std::uint32_t>(r.between(1, 2)))
                : domain_tree_builder::regular({"cluster", "leaf"}, {leaves}, 2);
  s.shapes = {*catalogue_shape("gb200-tray")};  // four GPUs, 50 GB/s each
  for (std::uint32_t n = 0; n < s.tree.node_count(); ++n)
    s.nodes.push_back({"n" + std::to_string(n), shape_id{0}, {}, cpus(64), gibibytes(1)});
  s.uplinks.usable_permille = 1000;
  s.uplinks.levels.resize(s.tree.level_count());
  for (std::uint8_t l = 1; l < s.tree.level_count(); ++l)
    for (std::uint32_t d = 0; d < s.tree.domain_count(level_id{l}); ++d) {
      auto& rates = s.uplinks.levels[l].rates;
      if (r.below(12) == 0) rates.emplace_back();
      else rates.emplace_back(gigabytes_per_second{static_cast<double>(r.between(0, 12) * 10)});
    }
  return s;
}

}  // namespace berth_test
