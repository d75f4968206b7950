#pragma once
/// \file
/// Bodies of `berth/cluster/part_limits.hpp`.

#include "berth/cluster/part_limits.hpp"

namespace berth::detail {

BERTH_INLINE void part_limits::add_classes(const part_catalogue& catalogue, std::span<const node_class> classes,
                                           std::span<const node_shape> shapes) {
  products_ = catalogue.products.size();
  if (first_.empty()) first_.append(0);
  for (std::size_t c = mig_able_.size(); c < classes.size(); ++c) {
    device_mask mig = 0, shared = 0;
    const node_shape* const s = classes[c].shape ? &shapes[classes[c].shape.index()] : nullptr;
    for (unsigned d = 0; s != nullptr && d < s->devices; ++d) {
      device_limits l;
      for (const part_model& m : catalogue.models)
        if (d < s->models.size() && m.name == s->models[d]) {
          l = {m.memory_mib, m.thousandths, m.clients, m.product, m.one_user, m.exclusive_whole};
          if (m.product != part_model::no_product) mig |= bit(d);
          if (m.shares) shared |= bit(d);
          break;
        }
      of_.append(l);
    }
    for (unsigned p = 0; p < products_; ++p) {
      device_mask of = 0;
      for_each_bit(mig, [&](unsigned d) { of |= of_[first_[c] + d].product == p ? bit(d) : 0; });
      able_of_.append(of);
    }
    mig_able_.append(mig);
    share_able_.append(shared);
    first_.append(static_cast<std::uint32_t>(of_.size()));
  }
}

}  // namespace berth::detail
