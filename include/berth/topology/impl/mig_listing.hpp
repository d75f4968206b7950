#pragma once
/// \file
/// Bodies of `berth/topology/mig_listing.hpp`.

#include <utility>

#include "berth/topology/mig_compute.hpp"
#include "berth/topology/mig_listing.hpp"
#include "berth/topology/mig_lookup.hpp"

namespace berth {

BERTH_INLINE expected<mig_set, input_error> read_mig_listing(const mig_geometry& g,
                                                             std::span<const mig_listed_instance> list,
                                                             const std::string& source) {
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

BERTH_INLINE expected<mig_named_claim, input_error> read_mig_claim(std::span<const mig_claim_item> items) {
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
