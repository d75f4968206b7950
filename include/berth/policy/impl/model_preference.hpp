#pragma once
/// \file
/// Bodies of `berth/policy/model_preference.hpp`.

#include <string>
#include <vector>

#include "berth/policy/model_preference.hpp"
#include "berth/topology/catalogue/gpu_models.hpp"

namespace berth::detail {

/// Every node gets the score of its shape.
BERTH_INLINE void score_shapes(const cluster& c, const std::vector<std::int64_t>& by_shape,
                               domain_scores& out) noexcept {
  out.use_means();
  for (std::uint32_t n = 0; n < c.node_count(); ++n) {
    const node_id id{n};
    const bool known = c.is_member(id) && c.class_of(id).shape.index() < by_shape.size();
    out.set(id, known ? by_shape[c.class_of(id).shape.index()] : 0);
  }
}

}  // namespace berth::detail

namespace berth {

BERTH_INLINE void score_models(const cluster& c, std::span<const std::string_view> order, domain_scores& out) {
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

BERTH_INLINE void score_small_first(const cluster& c, domain_scores& out) {
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
