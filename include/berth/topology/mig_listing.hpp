#pragma once
/// \file
/// What nodes and users say about MIG in words, checked against the table: the instances that a GPU is said to have,
/// and claims for several profiles. Each contradiction is an error that names it; nothing is taken over in part.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/mig_geometry.hpp"

namespace berth {

/// A GPU instance as a node lists it.
struct mig_listed_instance {
  std::string_view profile;  ///< name, alias, resource name or id (`find_mig_profile`)
  unsigned start = 0;
  std::optional<unsigned> size;     ///< placement units, where the list says
  std::vector<unsigned> compute{};  ///< slices of the compute instances inside; empty: not said
};

/// The instances of one GPU, or what is wrong with the list: a profile that the product does not have, or the site does
/// not offer, a start that is none of the profile's, another size, an instance twice, instances that overlap or break a
/// limit on media extensions or engines, compute instances that do not fit. O(instances × placements).
[[nodiscard]] expected<mig_set, input_error> read_mig_listing(const mig_geometry& g,
                                                              std::span<const mig_listed_instance> list,
                                                              const std::string& source = "MIG instances");

/// One item of a claim: a product (or nothing, where the claim says it elsewhere) and a profile.
struct mig_claim_item {
  std::string_view product, profile;
};
/// A claim, understood.
struct mig_named_claim {
  const catalogue::mig_product_row* product = nullptr;
  std::vector<unsigned> profiles;  ///< in the order of the claim
};

/// Profiles of one product. Refused: an empty claim or one with more than 12 items, unknown products and profiles, a
/// profile of another product, items of several products, a claim that names no product. O(items × profiles).
[[nodiscard]] expected<mig_named_claim, input_error> read_mig_claim(std::span<const mig_claim_item> items);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/topology/impl/mig_listing.hpp"
#endif
