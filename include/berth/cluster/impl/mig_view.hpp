#pragma once
/// \file
/// Bodies of `berth/cluster/mig_view.hpp`.

#include "berth/cluster/mig_view.hpp"

namespace berth {

BERTH_INLINE std::optional<mig_gpu> mig_view::next(mig_state_id s, std::optional<mig_gpu> after) const noexcept {
  const detail::mig_buckets& b = parts().buckets();
  const std::uint32_t state = parts().first_state(product_) + s;
  std::uint32_t n = after ? after->node.raw() : b.first(state);
  device_mask skip = after ? low_bits(after->device + 1U) : 0;
  for (; n != detail::mig_buckets::none; n = b.next(state, n), skip = 0) {
    const node_state& host = cluster_->node(node_id{n});
    const device_mask able = host.usable ? parts().devices_in(n, state) & ~host.unhealthy & ~skip : 0;
    if (able != 0) return mig_gpu{node_id{n}, static_cast<std::uint8_t>(lowest_bit(able))};
  }
  return std::nullopt;
}

BERTH_INLINE unsigned mig_free_compute(const mig_geometry& g, mig_set held) noexcept {
  unsigned used = 0;
  for_each_bit(held, [&](unsigned p) { used += g.compute_of(p); });
  return *g.product->compute - used;
}

BERTH_INLINE mig_refusal explain_mig_refusal(const mig_view& v, unsigned profile) noexcept {
  mig_refusal r;
  const mig_state_table& t = v.table();
  const auto& row = t.geometry().row(profile);
  v.for_each_state([&](mig_state_id s) {
    for (auto g = v.next(s); g; g = v.next(s, g)) {
      const unsigned units = t.free_units(s), compute = mig_free_compute(t.geometry(), v.instances(*g));
      ++r.open_gpus;
      r.free_units += units;
      r.free_compute += compute;
      if (row.size && units >= *row.size && compute >= row.compute && t.open(s, profile) == 0) ++r.fragmented;
    }
  });
  return r;
}

}  // namespace berth
