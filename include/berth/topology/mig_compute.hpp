#pragma once
/// \file
/// Compute instances inside a GPU instance: which there are, and whether one more fits. They share the memory of their
/// GPU instance and divide its compute slices. What is known of each profile stands in the table of products; a compute
/// instance that no row names is refused, as products differ in which exist.

#include <cstdint>

#include "berth/core/expected.hpp"
#include "berth/topology/catalogue/mig_rows.hpp"

namespace berth {

/// The compute instances of one GPU instance, by their slices. Integers: taking out restores it.
struct mig_compute_use {
  std::uint8_t count[8]{};  ///< by slices, 1 to 7
  [[nodiscard]] constexpr unsigned slices() const noexcept {
    unsigned n = 0;
    for (unsigned s = 1; s < 8; ++s) n += s * count[s];
    return n;
  }
  friend constexpr bool operator==(const mig_compute_use&, const mig_compute_use&) noexcept = default;
};

enum class mig_compute_fault : std::uint8_t {
  no_such_instance,  ///< the profile is not known to have it
  too_many,          ///< as many of its kind as the profile allows are there
  no_slices_left,
  not_there,  ///< nothing to take out
};

/// Adds a compute instance of so many slices, or says why not. O(kinds of compute instances).
constexpr expected<void, mig_compute_fault> add_compute_instance(const catalogue::mig_profile_row& profile,
                                                                 mig_compute_use& use, unsigned slices) noexcept {
  unsigned most = slices == profile.compute ? 1 : 0;  // the one that fills the GPU instance always exists
  for (const auto& c : profile.compute_instances)
    if (c.slices == slices) most = c.most;
  if (most == 0 || slices == 0 || slices > 7) return unexpected<mig_compute_fault>{mig_compute_fault::no_such_instance};
  if (use.slices() + slices > profile.compute) return unexpected<mig_compute_fault>{mig_compute_fault::no_slices_left};
  if (use.count[slices] >= most) return unexpected<mig_compute_fault>{mig_compute_fault::too_many};
  ++use.count[slices];
  return {};
}
/// Takes one out.
constexpr expected<void, mig_compute_fault> remove_compute_instance(mig_compute_use& use, unsigned slices) noexcept {
  if (slices == 0 || slices > 7 || use.count[slices] == 0)
    return unexpected<mig_compute_fault>{mig_compute_fault::not_there};
  --use.count[slices];
  return {};
}

}  // namespace berth
