#pragma once
/// \file
/// Bodies of `berth/cluster/part_setup.hpp`.

#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/part_setup.hpp"
#include "berth/topology/catalogue/gpu_models.hpp"
#include "berth/topology/mig_lookup.hpp"

namespace berth {

BERTH_INLINE part_catalogue make_part_catalogue(std::span<const node_shape> shapes, mig_geometry_options mig) {
  part_catalogue c;
  std::vector<const catalogue::mig_product_row*> known;
  for (const node_shape& s : shapes)
    for (const std::string& name : s.models) {
      bool met = false;
      for (const part_model& m : c.models) met = met || m.name == name;
      if (met) continue;
      part_model m;
      m.name = name;
      const auto product = find_mig_product(name);
      const catalogue::mig_product_row* row = product ? *product : nullptr;
      if (const catalogue::gpu_model* g = catalogue::find_gpu_model(name)) {
        m.memory_mib = g->memory_mib.value_or(0);
        row = nullptr;
        for (const auto& p : catalogue::mig_products)
          if (p.id == g->mig_product) row = &p;
      }
      std::size_t at = 0;
      while (at < known.size() && known[at] != row) ++at;
      if (row != nullptr && at == known.size()) {
        auto g = checked_mig_geometry(*row, mig);
        if (g && g->placements != 0) {
          known.push_back(row);
          c.products.emplace_back(*g);
        } else {
          c.without_mig.emplace_back(name, g ? "no profile on offer" : g.error().message());
          row = nullptr;
        }
      }
      if (row != nullptr) m.product = static_cast<std::uint8_t>(at);
      c.models.push_back(std::move(m));
    }
  return c;
}

BERTH_INLINE expected<mig_request, input_error> make_mig_request(const part_catalogue& c,
                                                                 std::span<const std::string_view> profiles) {
  const auto refuse = [](std::string found, std::string wanted) {
    return unexpected{input_error{"MIG request", 0, std::move(found), std::move(wanted)}};
  };
  if (c.products.empty()) {
    std::string wanted = "whole GPUs or shares: no GPU of the cluster is known to have MIG";
    for (const auto& [model, why] : c.without_mig) wanted += "; of " + model + " " + why;
    return refuse("MIG instances", std::move(wanted));
  }
  if (profiles.empty() || profiles.size() > max_task_instances)
    return refuse(std::to_string(profiles.size()) + " MIG instances on one GPU",
                  "1 to " + std::to_string(max_task_instances));
  mig_request out;
  for (const std::string_view p : profiles) out.name += (out.name.empty() ? "" : "+") + std::string{p.substr(0, 80)};
  out.products.resize(c.products.size());
  bool any = false, too_many = false;
  std::string ids;
  for (std::size_t i = 0; i < c.products.size(); ++i) {
    const mig_geometry& g = c.products[i].geometry();
    ids += (ids.empty() ? "" : ", ") + std::string{g.product->id};
    mig_request::on_product on;
    bool all = true;
    for (const std::string_view p : profiles) {
      const auto found = find_mig_profile(*g.product, p);
      if (found && found->compute_slices && *found->compute_slices != g.row(found->profile).compute)
        return refuse("'" + std::string{p.substr(0, 80)} + "', a part of an instance",
                      "whole instances: compute instances inside them are not handed out");
      if (!found || g.of_profile[found->profile] == 0) {
        all = false;
        break;
      }
      // The largest first, so that the order of the request does not matter.
      const auto larger = [&](unsigned a, unsigned b) {
        const auto x = g.row(a).size.value_or(0), y = g.row(b).size.value_or(0);
        return x != y ? x > y : a > b;
      };
      unsigned at = on.count++;
      for (; at > 0 && larger(found->profile, on.profiles[at - 1]); --at) on.profiles[at] = on.profiles[at - 1];
      on.profiles[at] = static_cast<std::uint8_t>(found->profile);
    }
    if (!all) continue;
    // Legal at all: some layout of an empty GPU holds it.
    const auto holds = [&](const auto& self, unsigned k, mig_state_id s) -> bool {
      if (k == on.count) return true;
      bool fits = false;
      for_each_bit(c.products[i].open(s, on.profiles[k]),
                   [&](unsigned p) { fits = fits || self(self, k + 1, c.products[i].after(s, p)); });
      return fits;
    };
    if (!holds(holds, 0, 0)) {
      too_many = true;
      continue;
    }
    any = true;
    out.products[i] = on;
  }
  if (any) return out;
  if (too_many) return refuse("'" + out.name + "' on one GPU", "instances that fit on one GPU together");
  if (profiles.size() == 1) {
    // What is wrong with the name is said best by the look-up.
    auto e = find_mig_profile(*c.products[0].geometry().product, profiles[0]);
    if (!e && c.products.size() == 1) return unexpected{std::move(e).error()};
  }
  return refuse("MIG profile" + std::string{profiles.size() > 1 ? "s" : ""} + " '" + out.name + "'",
                "profiles of one of the cluster's products: " + ids);
}

}  // namespace berth
