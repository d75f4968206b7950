#pragma once
/// \file
/// Bodies of `berth/job/gang.hpp`.

#include "berth/job/gang.hpp"
#include "berth/topology/level_names.hpp"

namespace berth {

BERTH_INLINE bool wants_links(const gang& g, const domain_tree& tree) noexcept {
  return g.between_nodes.count() != 0 || g.rails == rail_rule::same ||
         (g.where == locality::required && is_nvlink_level(tree.level_name(g.level)));
}

}  // namespace berth
