#pragma once
/// \file
/// Preferences between GPU models as scores of nodes and domains (`domain_score.hpp`): "this model, else that one", and
/// small GPUs for small tasks. Conditions are `node_filter::models`; see `device_requirements.hpp` for ranges of
/// memory, rate and capability.
///
/// \code
/// const std::string_view order[] = {"l4", "a30-24gb", "a100-sxm4-80gb"};
/// berth::score_models(c, order, scores);
/// berth::placer place{c, berth::lexicographic{berth::preferred_domain{&scores}, berth::tightest{}},
///                     berth::lexicographic{berth::preferred_node{&scores}, berth::bin_pack{}}};
/// \endcode
///
/// Where the second choice may be taken only if the first has no room anywhere, in whatever domain, ask for one after
/// the other: `solver/first_choice.hpp`.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "berth/cluster/cluster.hpp"
#include "berth/core/separate.hpp"
#include "berth/policy/domain_score.hpp"

namespace berth {

/// The n-th of N models in order has 1000 × (N - n) / N, rounded down, n counted from 0; models that are not listed and
/// nodes without devices have 0. A node of several models has the score of the best. O(nodes × levels + shapes ×
/// devices × N).
void score_models(const cluster& c, std::span<const std::string_view> order, domain_scores& out);

/// Small GPUs first: 1000 × (1 - memory / memory of the cluster's largest model), by the catalogue's memory; of a node
/// of several models the largest counts. Models that the catalogue does not know have 0, as the largest has; nodes
/// without devices have 1000. O(nodes × levels + shapes × devices × models).
void score_small_first(const cluster& c, domain_scores& out);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/model_preference.hpp"
#endif
