#pragma once
/// \file
/// Parts of GPUs by the names that people use: what the models of a site may be cut into, and MIG requests.
///
/// \code
/// const auto parts = berth::make_part_catalogue(spec.shapes);
/// berth::cluster c{spec, {.jobs = 1000, .tasks = 8000, .parts = &parts}};
/// const auto one = berth::make_mig_request(parts, {"1g.10gb"});
/// if (one) g.groups[0].shape.part = berth::part_need::mig(c.add_mig_request(*one));
/// \endcode

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/cluster/part_catalogue.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/topology/catalogue/gpu_models.hpp"
#include "berth/topology/mig_geometry.hpp"
#include "berth/topology/mig_lookup.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth {

/// What the models of these machines may be cut into, as far as the catalogue of GPU models knows them: MIG where the
/// product's placements can be trusted, shares of any device. Memory is what drivers report, where a capture was seen,
/// else unknown. \param mig  which rows to trust, and which profiles the site offers. O(shapes × devices × models).
[[nodiscard]] inline part_catalogue make_part_catalogue(std::span<const node_shape> shapes,
                                                        mig_geometry_options mig = {}) {
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

/// Instances of these profiles, all on one GPU. Profiles by name, alias or id (`find_mig_profile`). Refused: more than
/// `max_task_instances`, names that no product here has all of, parts of instances ("1c.3g.20gb").
/// O(products × profiles).
[[nodiscard]] inline expected<mig_request, input_error> make_mig_request(const part_catalogue& c,
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
