#pragma once
/// \file
/// Bodies of `berth/cluster/uplinks.hpp`.

#include "berth/cluster/uplinks.hpp"

namespace berth::detail {

BERTH_INLINE void uplink_state::build(const domain_tree& tree, const uplink_rates& rates) {
  levels_ = tree.level_count();
  for (std::uint8_t l = 0; l < levels_; ++l) {
    const uplink_level* known = l != 0 && l < rates.levels.size() ? &rates.levels[l] : nullptr;
    unsigned planes = known != nullptr ? known->planes : 1;
    planes = planes == 0 || planes > max_rails ? 1 : planes;
    planes_[l] = planes;
    first_[l] = static_cast<std::uint32_t>(left_.size());
    for (std::uint32_t d = 0; d < tree.domain_count(level_id{l}); ++d)
      for (unsigned p = 0; p < planes; ++p) {
        std::int64_t amount = unknown;
        const std::size_t at = std::size_t{d} * planes + p;
        // What the builder put in to fill a gap is no switch, so that nothing passes through it.
        if (l == 0 || tree.at(level_id{l}, domain_id{d}).implicit) amount = unlimited;
        else if (known != nullptr && at < known->rates.size() && known->rates[at])
          amount = static_cast<std::int64_t>(known->rates[at]->count() * 1e6 * rates.usable_permille);
        left_.append(amount);
      }
  }
  count_.resize(left_.size());
  capacity_ = left_;
  tree_leaf_ = levels_ - 1U;
}

BERTH_INLINE void uplink_state::add_classes(std::span<const node_class> classes, std::span<const node_shape> shapes) {
  for (std::size_t c = nic_share_.size(); c < classes.size(); ++c) {
    const bool real = static_cast<bool>(classes[c].shape);
    nic_share_.append(real ? nic_share(shapes[classes[c].shape.index()]).count() : 0);
    for (unsigned r = 0; r < max_rails; ++r)
      on_rail_.append(real ? devices_on_rail(shapes[classes[c].shape.index()], r) : 0);
  }
}

BERTH_INLINE bool uplink_state::has_planes() const noexcept {
  for (unsigned l = 0; l < levels_; ++l)
    if (planes_[l] > 1) return true;
  return false;
}

BERTH_INLINE std::int64_t uplink_state::left(unsigned level, std::uint32_t domain, unsigned plane) const noexcept {
  const std::int64_t a = left_[at(level, domain, plane)];
  return a < 0 ? 0 : a;
}

BERTH_INLINE void uplink_state::set_rate(std::uint32_t job, std::int64_t rate) noexcept {
  if ((rated_ == 0 && rate == 0) || job >= rate_.size()) return;
  rated_ += (rate != 0 ? 1U : 0U) - (rate_[job] != 0 ? 1U : 0U);
  rate_[job] = rate;
}

BERTH_INLINE std::int64_t uplink_state::totals::needs(std::uint32_t inside, unsigned rail) const noexcept {
  const auto n = static_cast<std::int64_t>(inside);
  return n < on[rail] - n ? n : on[rail] - n;
}

BERTH_INLINE void uplink_state::reserve_jobs(std::size_t jobs) {
  if (jobs > rate_.size()) rate_.resize(jobs);
}

}  // namespace berth::detail
