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
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/topology/mig_compute.hpp"
#include "berth/topology/mig_geometry.hpp"
#include "berth/topology/mig_lookup.hpp"

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
[[nodiscard]] inline expected<mig_set, input_error> read_mig_listing(const mig_geometry& g,
                                                                     std::span<const mig_listed_instance> list,
                                                                     const std::string& source = "MIG instances") {
  mig_set held = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const mig_listed_instance& x = list[i];
    const std::string name = std::string{x.profile.substr(0, 80)} + "@" + std::to_string(x.start);
    const auto refuse = [&](std::string found, std::string wanted) {
      return unexpected{input_error{source, i + 1, std::move(found), std::move(wanted)}};
    };
    const auto q = find_mig_profile(*g.product, x.profile);
    if (!q) return refuse(q.error().found, q.error().expected);
    const auto& row = g.row(q->profile);
    if (g.of_profile[q->profile] == 0)
      return refuse(name + ", which the site does not offer", "a profile that it offers");
    const auto p = g.find(q->profile, x.start);
    if (!p) {
      std::string starts;
      for (const auto s : row.starts) starts += " " + std::to_string(s);
      return refuse(name, "one of its starts:" + starts);
    }
    if (x.size && *x.size != *row.size)
      return refuse(name + " of " + std::to_string(*x.size) + " placement units", std::to_string(*row.size));
    if ((held >> *p & 1U) != 0) return refuse(name + " twice", "every instance once");
    if (!g.key_of(held | mig_set{1} << *p))
      return refuse(name + " beside what is listed before it", "instances that may lie beside each other");
    mig_compute_use inside;
    for (const unsigned c : x.compute)
      if (!add_compute_instance(row, inside, c))
        return refuse(name + " with compute instances of more or other slices than it has",
                      "compute instances of " + std::string{row.name} + " that fit its " + std::to_string(row.compute) +
                          " slices");
    held |= mig_set{1} << *p;
  }
  return held;
}

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
[[nodiscard]] inline expected<mig_named_claim, input_error> read_mig_claim(std::span<const mig_claim_item> items) {
  const auto refuse = [](std::size_t line, std::string found, std::string wanted) {
    return unexpected{input_error{"MIG claim", line, std::move(found), std::move(wanted)}};
  };
  if (items.empty() || items.size() > 12)
    return refuse(0, std::to_string(items.size()) + " instances in one claim", "1 to 12");
  mig_named_claim out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].product.empty()) continue;
    const auto p = find_mig_product(items[i].product);
    if (!p) return refuse(i + 1, p.error().found, p.error().expected);
    if (out.product != nullptr && out.product != *p)
      return refuse(i + 1, std::string{(*p)->id} + " beside " + std::string{out.product->id}, "one product per claim");
    out.product = *p;
  }
  if (out.product == nullptr) return refuse(0, "no product", "the product of the GPUs");
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto q = find_mig_profile(*out.product, items[i].profile);
    if (!q) return refuse(i + 1, q.error().found, q.error().expected);
    out.profiles.push_back(q->profile);
  }
  return out;
}

}  // namespace berth
