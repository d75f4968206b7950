#pragma once
/// \file
/// Bodies of `berth/cluster/presets.hpp`.

#include <optional>
#include <utility>

#include "berth/cluster/presets.hpp"
#include "berth/topology/catalogue/node_graphs.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"

namespace berth {

BERTH_INLINE uplink_rates make_uplinks(const fabric_spec& f, const domain_tree& tree) {
  uplink_rates out;
  out.levels.resize(tree.level_count());
  const double cable = static_cast<double>(f.nic_gbit) / 8;
  for (std::uint8_t l = 1; l < tree.level_count(); ++l) {
    const std::string& name = tree.level_name(level_id{l});
    uplink_level& u = out.levels[l];
    u.planes = name == "spine" || f.rails > max_rails ? 1 : f.rails;
    for (std::uint32_t d = 0; d < tree.domain_count(level_id{l}); ++d) {
      double cables = 0;  // of all planes
      if (name == "leaf") cables = static_cast<double>(f.uplinks_per_leaf) * f.rails;
      else if (name == "nvlink")
        cables = static_cast<double>(f.nics_per_node) * tree.at(level_id{l}, domain_id{d}).nodes.size();
      else if (name == "spine") cables = static_cast<double>(f.uplinks_per_spine) * f.spines;
      for (unsigned p = 0; p < u.planes; ++p)
        u.rates.push_back(cables > 0 ? std::optional{gigabytes_per_second{cable * cables / u.planes}} : std::nullopt);
    }
  }
  return out;
}

BERTH_INLINE expected<cluster_spec, std::string> make_cluster(const fabric_spec& f) {
  auto shape = catalogue_shape(f.shape);
  if (!shape) return unexpected{"no machine \"" + f.shape + "\" in the catalogue"};
  cluster_spec c;
  c.tree = make_tree(f);
  c.uplinks = make_uplinks(f, c.tree);
  c.assumptions = f.assumptions;
  if (const auto* row = catalogue::find_node_graph(f.shape)) {
    bool counted = true;
    for (const auto& n : row->numa) counted = counted && n.cpus.has_value();
    if (!counted)
      c.assumptions.push_back("a CPU of " + f.shape + " is a physical core: its hardware threads are not known");
  }
  shape->memory = gibibytes(f.memory_gib);
  // Evenly over the NUMA nodes; what does not divide goes to the first.
  const auto numas = static_cast<std::int64_t>(shape->numa.size());
  for (std::size_t i = 0; i < shape->numa.size(); ++i)
    shape->numa[i].memory = bytes{shape->memory.count() / numas + (i == 0 ? shape->memory.count() % numas : 0)};
  c.nodes.resize(f.nodes);
  for (std::uint32_t n = 0; n < f.nodes; ++n) {
    node_spec& node = c.nodes[n];
    node.name = "node-" + std::to_string(n);
    node.shape = shape_id{0};
    node.cpu = shape->cpu;
    node.memory = shape->memory;
  }
  c.shapes.push_back(*std::move(shape));
  return c;
}

BERTH_INLINE expected<cluster_spec, std::string> make_preset(std::string_view name_with_params) {
  auto f = parse_preset(name_with_params);
  if (!f) return unexpected{f.error()};
  return make_cluster(*f);
}

}  // namespace berth
