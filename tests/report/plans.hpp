#pragma once
/// \file
/// Floor plans for the tests of the drawings.

#include <cstdint>
#include <string>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/report/floor_plan.hpp"
#include "berth/topology/domain_tree.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace plans {

/// Every device free, nodes named n0, n1, …
inline berth::floor_plan empty(const berth::domain_tree& tree, std::size_t devices) {
  berth::floor_plan p;
  p.tree = &tree;
  for (std::uint32_t n = 0; n < tree.node_count(); ++n)
    p.nodes.push_back({"n" + std::to_string(n), std::vector<berth::device_owner>(devices, berth::free_device), false});
  return p;
}

/// Jobs of random sizes one after the other, some broken devices, and a gang on whole nodes from the middle on.
inline berth::floor_plan random(const berth::domain_tree& tree, std::uint32_t gang, std::uint64_t seed) {
  berth::random_source rng{seed};
  auto p = empty(tree, 8);
  const std::uint32_t count = tree.node_count();
  for (std::uint32_t n = 0; n < count;) {
    const auto job = static_cast<berth::device_owner>(p.jobs.size());
    p.jobs.push_back("job-" + std::to_string(job));
    for (auto left = 1 + rng.below(count / 20 + 1); left > 0 && n < count; --left, ++n) {
      for (std::uint64_t d = rng.below(9); d < 8; ++d) p.nodes[n].devices[d] = job;
      if (rng.below(50) == 0) p.nodes[n].devices[0] = berth::unhealthy_device;
    }
  }
  p.chosen = static_cast<std::uint32_t>(p.jobs.size());
  p.jobs.emplace_back("train");
  for (std::uint32_t n = count / 2; n < count / 2 + gang; ++n) {
    p.nodes[n].chosen = true;
    for (auto& d : p.nodes[n].devices) d = static_cast<berth::device_owner>(*p.chosen);
  }
  return p;
}

/// Two spines of unlike depth: s1 holds leaves a (2 nodes) and b (1 node), c (1 node) stands alone.
inline berth::domain_tree uneven() {
  auto r = berth::domain_tree_builder::build({{"s1", berth::domain_declaration::no_parent, ""},
                                              {"a", 0, ""},
                                              {"b", 0, ""},
                                              {"c", berth::domain_declaration::no_parent, ""}},
                                             {1, 1, 2, 3});
  return std::move(r->tree);
}

}  // namespace plans
