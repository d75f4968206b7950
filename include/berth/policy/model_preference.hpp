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
#include <string>
#include <string_view>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/policy/domain_score.hpp"
#include "berth/topology/catalogue/gpu_models.hpp"

namespace berth {

namespace detail {

/// Every node gets the score of its shape.
inline void score_shapes(const cluster& c, const std::vector<std::int64_t>& by_shape, domain_scores& out) noexcept {
  out.use_means();
  for (std::uint32_t n = 0; n < c.node_count(); ++n) {
    const node_id id{n};
    const bool known = c.is_member(id) && c.class_of(id).shape.index() < by_shape.size();
    out.set(id, known ? by_shape[c.class_of(id).shape.index()] : 0);
  }
}

}  // namespace detail

/// The n-th of N models in order has 1000 × (N - n) / N, rounded down, n counted from 0; models that are not listed and
/// nodes without devices have 0. A node of several models has the score of the best. O(nodes × levels + shapes ×
/// devices × N).
inline void score_models(const cluster& c, std::span<const std::string_view> order, domain_scores& out) {
  std::vector<std::int64_t> by_shape;
  for (const node_shape& s : c.shapes()) {
    std::int64_t best = 0;
    for (const std::string& m : s.models)
      for (std::size_t n = 0; n < order.size(); ++n) {
        if (order[n] != m) continue;
        const auto left = static_cast<std::int64_t>(order.size() - n);
        const std::int64_t score = domain_scores::full * left / static_cast<std::int64_t>(order.size());
        best = score > best ? score : best;
      }
    by_shape.push_back(best);
  }
  detail::score_shapes(c, by_shape, out);
}

/// Small GPUs first: 1000 × (1 - memory / memory of the cluster's largest model), by the catalogue's memory; of a node
/// of several models the largest counts. Models that the catalogue does not know have 0, as the largest has; nodes
/// without devices have 1000. O(nodes × levels + shapes × devices × models).
inline void score_small_first(const cluster& c, domain_scores& out) {
  std::vector<std::int64_t> memory;
  std::int64_t largest = 0;
  for (const node_shape& s : c.shapes()) {
    std::int64_t most = 0;
    bool known = true;
    for (const std::string& m : s.models) {
      const catalogue::gpu_model* const row = catalogue::find_gpu_model(m);
      known = known && row != nullptr;
      if (row != nullptr && row->memory_gb > most) most = row->memory_gb;
    }
    memory.push_back(known ? most : -1);
    largest = most > largest ? most : largest;
  }
  for (std::int64_t& m : memory)
    m = m < 0 ? 0 : largest == 0 ? domain_scores::full : domain_scores::full * (largest - m) / largest;
  detail::score_shapes(c, memory, out);
}

}  // namespace berth
