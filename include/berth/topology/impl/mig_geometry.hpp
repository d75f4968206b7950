#pragma once
/// \file
/// Bodies of `berth/topology/mig_geometry.hpp`.

#include <string>

#include "berth/topology/mig_geometry.hpp"

namespace berth {

BERTH_INLINE expected<mig_geometry, input_error> checked_mig_geometry(const catalogue::mig_product_row& product,
                                                                      mig_geometry_options options) {
  const std::string what = "product '" + std::string{product.id} + "'";
  if (product.shape == catalogue::mig_shape::unknown)
    return unexpected{input_error{"MIG", 0, what + ", whose placements are not known",
                                  "a product with published placements (" + std::string{product.note} + ")"}};
  if (product.profiles.size() > max_mig_profiles)
    return unexpected{input_error{"MIG", 0, what + " with too many profiles", "at most 12"}};
  bool low = product.trust <= catalogue::confidence::low, inferred = false;
  for (const auto& q : product.profiles) {
    low |= q.trust <= catalogue::confidence::low || q.placements <= catalogue::confidence::low;
    inferred |= q.placements != catalogue::confidence::high;
  }
  if (low && !options.accept_low_confidence)
    return unexpected{input_error{"MIG", 0, what + ", whose row is of low confidence",
                                  "a row of medium or high confidence, or the opt-in to low confidence"}};
  if (inferred && !options.accept_low_confidence && !options.accept_inferred_placements)
    return unexpected{input_error{"MIG", 0, what + ", whose placements are inferred from a like product",
                                  "captured placements, or the opt-in to inferred placements"}};
  std::size_t placements = 0;
  for (const auto& q : product.profiles) placements += q.starts.size();
  if (placements > max_mig_placements)
    return unexpected{input_error{"MIG", 0, what + " with too many placements", "at most 32"}};
  return make_mig_geometry(product, options);
}

}  // namespace berth
